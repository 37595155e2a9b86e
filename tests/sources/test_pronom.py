"""Formats told by the bytes of LOBs: what is written of them in both dialects, and what is not told."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from itertools import product
from pathlib import Path

import pytest
from lxml import etree

from metspack import api, checking
from metspack.building import build, convert, inplace
from metspack.building.build import BuildOptions
from metspack.errors import ConfigError
from metspack.merging.merge import merge_ips
from metspack.mets.dialects.interface import Software
from metspack.model import Format, Limits
from metspack.sources import pronom
from metspack.sources.pronom import IdentifiedFormat, Identifying
from tests import segmented_folders, siards
from tests.conftest import CHECKOUT
from tests.laws import spread
from tests.official import mets_faults, premis_faults
from tests.trees import tree

pytest.importorskip("pygfried", reason="pygfried is not installed: pip install 'metspack[identify]'")

M = "{http://www.loc.gov/METS/}"
P = "{http://www.loc.gov/premis/v3}"
S = "{https://DILCIS.eu/XML/METS/SIPExtensionMETS}"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(50) + b"\0\0\0\0IEND\xaeB\x60\x82"
PDF = b"%PDF-1.4\n" + b"1 0 obj" * 20 + b"\n%%EOF\n"
LONG = b"%PDF-1.4\n" + b"2 0 obj " * 200 + b"\n%%EOF\n"
TEXT = b"a,b\n1,2\n"
UNKNOWN = bytes(range(256)) * 2
NAMES = {"fmt/11": "Portable Network Graphics", "fmt/18": "Acrobat PDF 1.4 - Portable Document Format"}
OPTIONS = BuildOptions(
    created="2020-01-01T00:00:00Z",
    software=Software(name="metspack", version="metspack 0"),
    limits=Limits(bytes=600),
    layout="lobseg",
    objid="N",
    identify=True,
)
CSIP = replace(OPTIONS, dialect="csip", checksum="SHA-256")


def source(folder: Path, *contents: bytes, mime: str = "") -> Path:
    entries = siards.parts(siards.lobs(*contents), version="2.1")
    declared = f"<type>BLOB</type><mimeType>{mime}</mimeType>".encode() if mime else b"<type>BLOB</type>"
    entries[siards.METADATA] = entries[siards.METADATA].replace(b"<type>BLOB</type>", declared)
    return siards.packed(folder / "N.siard", entries)


def built(folder: Path, options: BuildOptions, *contents: bytes, mime: str = "") -> Path:
    path = folder / "N.siard"
    build.build(path if path.exists() else source(folder, *contents, mime=mime), folder / "out", options)
    return folder / "out"


def said(package: Path) -> dict[str, tuple[str | None, ...]]:
    """Return what METS files say of each LOB: its media type, then name, version and key of its format."""
    found = {}
    for path in sorted(package.rglob("*.xml")):
        for file in etree.parse(path).iter(f"{M}file"):
            if (identifier := file.get("ID", "")).startswith(("s0.", "s1.")):
                kind = (file.get(f"{S}{name}") for name in ("FILEFORMATNAME", "FILEFORMATVERSION"))
                registry, key = file.get(f"{S}FORMATREGISTRY"), file.get(f"{S}FORMATREGISTRYKEY")
                assert registry == ("PRONOM" if key else None)
                found[identifier] = (file.get("MIMETYPE"), *kind, key)
    return found


def known(package: Path) -> dict[str, tuple[str | None, str | None]]:
    """Return what METS files say of each LOB: its media type, and the key of its format."""
    return {identifier: (each[0], each[-1]) for identifier, each in said(package).items()}


def premis(package: Path) -> dict[str, tuple[str | None, ...]]:
    """Return what PREMIS says of the format of each LOB: name, version and key."""
    found = {}
    for path in sorted(package.rglob("premis.xml")):
        for each in etree.parse(path).iter(f"{P}object"):
            identifier = each.findtext(f"{P}objectIdentifier/{P}objectIdentifierValue") or ""
            if identifier.startswith("s0."):
                registries = {name.text for name in each.iter(f"{P}formatRegistryName")}
                assert registries <= {"PRONOM"}
                texts = (f"{P}formatName", f"{P}formatVersion", f"{P}formatRegistryKey")
                found[identifier] = tuple(each.findtext(f".//{name}") for name in texts)
    return found


def faultless(package: Path) -> None:
    assert [each for each in checking.check(package) if each.code != "S010"] == []
    valid(package)


def valid(package: Path) -> None:
    for path in package.rglob("*.xml"):
        if path.name.lower() == "mets.xml":
            assert list(mets_faults(path)) == []
        elif path.name == "premis.xml":
            assert list(premis_faults(path)) == []


def test_mets_of_the_recommendation_has_media_type_and_format(tmp_path: Path) -> None:
    package = built(tmp_path, OPTIONS, PNG, PDF, UNKNOWN, TEXT, b"")
    assert said(package) == {
        "s0.t0.c2.r1": ("image/png", NAMES["fmt/11"], "1.0", "fmt/11"),
        "s0.t0.c2.r2": ("application/pdf", NAMES["fmt/18"], "1.4", "fmt/18"),
        "s0.t0.c2.r3": ("application/octet-stream", None, None, None),
        "s0.t0.c2.r4": ("text/plain", "Plain Text File", None, "x-fmt/111"),
        "s0.t0.c2.r5": ("application/octet-stream", None, None, None),
    }
    faultless(package)
    header = etree.parse(package / "mets.xml").find(f".//{M}agent[@OTHERROLE='FORMAT IDENTIFICATION']")
    registry = pronom.registry()
    notes = [registry.version, f"PRONOM: {registry.signatures}"]
    assert header is not None
    assert [each.text for each in header] == [registry.software, *notes]
    assert "DROID_SignatureFile_V" in registry.signatures


def test_mets_and_premis_of_csip_have_them_and_say_what_told_them(tmp_path: Path) -> None:
    package = built(tmp_path, CSIP, PNG, UNKNOWN)
    kind = (NAMES["fmt/11"], "1.0", "fmt/11")
    assert said(package)["s0.t0.c2.r1"] == ("image/png", *kind)
    assert premis(package) == {
        "s0.t0.c2.r1": kind,
        "s0.t0.c2.r2": ("application/octet-stream", None, None),
    }
    faultless(package)
    child = etree.parse(package / "N_lobseg_0/representations/rep1/metadata/preservation/premis.xml")
    (event,) = (
        each for each in child.iter(f"{P}event") if each.findtext(f"{P}eventType") == "format identification"
    )
    registry = pronom.registry()
    assert registry.signatures in (event.findtext(f".//{P}eventDetail") or "")
    assert event.findtext(f".//{P}linkingAgentIdentifierValue") == "siegfried"
    agents = {each.findtext(f"{P}agentName"): each for each in child.iter(f"{P}agent")}
    assert agents["siegfried"].findtext(f"{P}agentVersion") == registry.version
    assert agents["siegfried"].findtext(f"{P}agentNote") == f"PRONOM: {registry.signatures}"
    # Where there was no LOB to look at, nobody did.
    parent = (package / "N/representations/rep1/metadata/preservation/premis.xml").read_text()
    assert "siegfried" not in parent


def test_without_the_option_nothing_is_looked_at(tmp_path: Path) -> None:
    package = built(tmp_path, replace(CSIP, identify=False), PNG)
    assert known(package) == {"s0.t0.c2.r1": ("application/octet-stream", None)}
    assert premis(package) == {"s0.t0.c2.r1": ("application/octet-stream", None, None)}


@pytest.mark.parametrize("options", [OPTIONS, CSIP], ids=["recommendation", "csip"])
def test_the_media_type_of_the_column_is_written(tmp_path: Path, options: BuildOptions) -> None:
    package = built(tmp_path, replace(options, identify=False), PNG, UNKNOWN, mime="image/jp2")
    assert known(package) == {f"s0.t0.c2.r{row}": ("image/jp2", None) for row in (1, 2)}


def test_bytes_tell_more_than_the_column_unless_they_are_just_text(tmp_path: Path) -> None:
    package = built(tmp_path, OPTIONS, PNG, TEXT, UNKNOWN, mime="text/csv")
    assert known(package) == {
        "s0.t0.c2.r1": ("image/png", "fmt/11"),
        "s0.t0.c2.r2": ("text/csv", "x-fmt/111"),
        "s0.t0.c2.r3": ("text/csv", None),
    }


@pytest.mark.parametrize("options", [OPTIONS, CSIP], ids=["recommendation", "csip"])
def test_the_whole_of_a_split_lob_is_identified_and_its_parts_are_not(
    tmp_path: Path, options: BuildOptions
) -> None:
    package = built(tmp_path, options, LONG, PNG)
    found = known(package)
    parts = {f"s0.t0.c2.r1.p{part}": ("application/octet-stream", None) for part in range(3)}
    assert found == parts | (
        {"s0.t0.c2.r2": ("image/png", "fmt/11")}
        | ({"s0.t0.c2.r1": ("application/pdf", "fmt/18")} if options is OPTIONS else {})
    )
    if options is CSIP:
        assert premis(package)["s0.t0.c2.r1"] == (NAMES["fmt/18"], "1.4", "fmt/18")
    faultless(package)


def test_the_same_is_said_whoever_does_the_work_and_packed_or_not(tmp_path: Path) -> None:
    package = built(tmp_path, CSIP, PNG, LONG, PDF, UNKNOWN)
    build.build(tmp_path / "N.siard", tmp_path / "two", replace(CSIP, jobs=2))
    assert tree(tmp_path / "two") == tree(package)
    build.build(tmp_path / "N.siard", tmp_path / "packed", replace(CSIP, pack="zip"))
    with zipfile.ZipFile(tmp_path / "packed/N_lobseg_0.zip") as pack:
        name = "N_lobseg_0/representations/rep1/METS.xml"
        assert pack.read(name) == (package / name).read_bytes()
    assert [each for each in tree(tmp_path / "packed") if "probe" in each] == []


def test_shards_say_the_format_of_whole_files(tmp_path: Path) -> None:
    package = built(tmp_path, CSIP, PNG, LONG, UNKNOWN)
    found = {each.lob: [file.format_uri for file in each.files] for each in api.shards(package)}
    assert found == {
        "s0.t0.c2.r1": ["info:pronom/fmt/11"],
        "s0.t0.c2.r2": [None, None, None],
        "s0.t0.c2.r3": [None],
    }


def test_convert_identifies_anew_and_merge_keeps_what_was_told(tmp_path: Path) -> None:
    package = built(tmp_path, CSIP, PNG, PDF)
    convert.convert_package(package, tmp_path / "new", CSIP)
    assert tree(tmp_path / "new") == tree(package)
    merge_ips([package], tmp_path / "whole", replace(CSIP, identify=False, objid=None))
    assert known(tmp_path / "whole") == known(package)
    assert premis(tmp_path / "whole") == premis(package)
    faultless(tmp_path / "whole")


def test_merge_keeps_the_format_of_a_split_lob(tmp_path: Path) -> None:
    package = built(tmp_path, CSIP, PNG, LONG)
    merge_ips([package], tmp_path / "whole", replace(CSIP, identify=False, objid=None))
    assert premis(package)["s0.t0.c2.r2"] == (NAMES["fmt/18"], "1.4", "fmt/18")
    assert premis(tmp_path / "whole") == premis(package)
    faultless(tmp_path / "whole")


@pytest.mark.parametrize(
    ("size", "first", "last"), spread(product([600, 4_000], [OPTIONS, CSIP], [OPTIONS, CSIP]), 3)
)
def test_convert_keeps_what_was_told_before(
    tmp_path: Path, first: BuildOptions, last: BuildOptions, size: int
) -> None:
    options = replace(last, limits=Limits(bytes=size), identify=False)
    package = built(tmp_path, first, PNG, LONG, UNKNOWN, TEXT)
    convert.convert_package(package, tmp_path / "kept", options)
    build.build(tmp_path / "N.siard", tmp_path / "told", replace(options, identify=True))
    told, kept = known(tmp_path / "told"), known(tmp_path / "kept")
    assert {lob: each[1] for lob, each in kept.items()} == {lob: each[1] for lob, each in told.items()}
    assert premis(tmp_path / "kept") == premis(tmp_path / "told")
    if first is OPTIONS or (last is CSIP and size == CSIP.limits.bytes):  # PREMIS has no media type
        assert kept == told
    faultless(tmp_path / "kept")


def test_formats_in_premis_are_those_of_the_lob_that_it_means(tmp_path: Path) -> None:
    package = built(tmp_path, CSIP, LONG)
    path = package / "N/representations/rep1/metadata/preservation/premis.xml"
    text = path.read_text()
    path.write_text(text.replace(f"<premis:size>{len(LONG)}<", "<premis:size>7<"))
    plain = replace(OPTIONS, limits=Limits(), identify=False)
    convert.convert_package(package, tmp_path / "other", plain)
    path.write_text(text.replace("</premis:premis>", ""))
    result = convert.convert_package(package, tmp_path / "damaged", plain)
    path.unlink()
    convert.convert_package(package, tmp_path / "gone", plain)
    for name in ("other", "damaged", "gone"):
        assert known(tmp_path / name)["s0.t0.c2.r1"][1] is None
    (said,) = result.warnings
    assert "premis.xml cannot be read, so formats of split LOBs are not known" in said


def test_segments_that_stand_are_identified_in_place(tmp_path: Path) -> None:
    pictures = segmented_folders.pictures(CHECKOUT / "samples/northwind/Northwind.siard")
    folder = segmented_folders.dbptk_22(tmp_path / "folder", pictures)
    inplace.describe_in_place(folder, replace(OPTIONS, objid=None))
    found = known(folder)
    assert {each for name, each in found.items() if ".p" not in name} == {("image/png", "fmt/11")}
    assert {each for name, each in found.items() if ".p" in name} <= {("application/octet-stream", None)}
    valid(folder)


@pytest.fixture
def found(tmp_path: Path) -> Callable[..., IdentifiedFormat | None]:
    """What is told of bytes that go by in blocks of 100."""
    identifying = Identifying(tmp_path / "probe")

    def told(data: bytes, extension: str = "bin") -> IdentifiedFormat | None:
        probe = identifying.probe(extension)
        for start in range(0, len(data), 100):
            probe.take(data[start : start + 100])
        result = probe.identify()
        assert list(tmp_path.iterdir()) == []
        return result

    return told


def zipped(*members: tuple[str, bytes]) -> bytes:
    target = BytesIO()
    with zipfile.ZipFile(target, "w") as container:
        for name, content in members:
            container.writestr(name, content)
    return target.getvalue()


TYPES = (
    b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName='
    b'"/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.'
    b'document.main+xml"/></Types>'
)
WORD = zipped(("[Content_Types].xml", TYPES), ("word/document.xml", bytes(5_000)))


def test_of_a_large_lob_the_first_and_the_last_bytes_are_seen(
    monkeypatch: pytest.MonkeyPatch, found: Callable[..., IdentifiedFormat | None]
) -> None:
    monkeypatch.setattr(pronom, "WHOLE", 1_000)
    monkeypatch.setattr(pronom, "TAIL", 250)
    told = found(LONG)
    assert told is not None
    assert told.format.puid == "fmt/18"
    assert found(LONG[:-1_000] + bytes(300)) is None


def test_a_container_seen_in_part_is_not_called_by_its_shell(
    monkeypatch: pytest.MonkeyPatch, found: Callable[..., IdentifiedFormat | None]
) -> None:
    told = found(WORD)
    assert told is not None
    assert (told.format.puid, told.media_type.rpartition(".")[2]) == ("fmt/412", "document")
    monkeypatch.setattr(pronom, "WHOLE", 1_000)
    monkeypatch.setattr(pronom, "TAIL", 250)
    assert found(WORD) is None


@pytest.mark.parametrize("extension", ["png", "x/y", "bin"])
def test_an_extension_alone_tells_nothing(
    found: Callable[..., IdentifiedFormat | None], extension: str
) -> None:
    assert found(UNKNOWN, extension) is None


def test_an_extension_tells_what_text_it_is(found: Callable[..., IdentifiedFormat | None]) -> None:
    plain = Format(puid="x-fmt/111", name="Plain Text File", version="")
    assert found(TEXT, "txt") == IdentifiedFormat(format=plain, media_type="text/plain", is_text=True)


def match(puid: str, basis: str = "byte match at 0, 4", mime: str = "image/x") -> dict[str, str]:
    return {"ns": "pronom", "id": puid, "format": "X", "version": "", "mime": mime, "basis": basis}


@pytest.mark.parametrize(
    ("matches", "expected"),
    [
        ([match("fmt/1"), match("fmt/2")], None),
        ([match("UNKNOWN", basis="", mime="")], None),
        ([match("fmt/1", mime="audio/mpeg, audio/mp3")], "audio/mpeg"),
        ([match("fmt/1", mime="")], ""),
        ([match("fmt/1", mime="no media type")], ""),
    ],
)
def test_what_the_library_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, matches: list[dict[str, str]], expected: str | None
) -> None:
    identifying = Identifying(tmp_path / "probe")
    monkeypatch.setattr(identifying, "ask", lambda *_: {"files": [{"matches": matches}]})
    probe = identifying.probe("bin")
    probe.take(b"x")
    told = probe.identify()
    assert (None if told is None else told.media_type) == expected
    if told is not None:
        assert told.type_beside("text/csv") == (expected or "text/csv")


def test_without_the_library_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygfried", None)
    for options in (OPTIONS, CSIP):
        with pytest.raises(
            ConfigError, match="pygfried, which identifies formats, is not installed"
        ) as caught:
            built(tmp_path, options, PNG)
        assert "pip install 'metspack[identify]'" in caught.value.hint
        assert not (tmp_path / "out").exists()
