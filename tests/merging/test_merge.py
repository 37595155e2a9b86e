"""Containers merged into one package: the same bytes and cells, and no file replaced."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack import api, checking
from metspack.building import build
from metspack.building.options import BuildOptions, PackageOptions
from metspack.digests import OCTETS
from metspack.errors import ConfigError, SourceError
from metspack.limits import Budgets, Limits
from metspack.merging import datafiles, dataindex, merge
from metspack.merging.dataindex import MOST, DataIndex
from metspack.merging.merge import Merged, merge_ips
from metspack.mets.dialects.csip.package import CsipOptions
from metspack.mets.dialects.csip.terms import Agents
from metspack.model import Severity
from metspack.packages.delivery import only_package
from metspack.sources.mediatypes import DEFAULT
from tests import siards
from tests.laws import law
from tests.mets.dialects.csip.test_csip import CONTENTS, OPTIONS, built, csip, findings
from tests.official import mets_faults, premis_faults
from tests.trees import names, tree

WHOLE = PackageOptions(
    created="2021-01-01T00:00:00Z",
    checksum="SHA-256",
    dialect="csip",
)
DATA = "representations/rep1/data/"
SCHEMAS = {f"schemas/{name}.xsd" for name in ("csip", "mets", "sip", "xlink")}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A parent with four children, with a LOB that is in three of them; treat it as read-only."""
    return built(tmp_path_factory.mktemp("containers"))


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    """A copy of that package, to be changed."""
    return Path(shutil.copytree(made, tmp_path / "out"))


def put_together(*paths: Path, target: Path, **options: Any) -> Merged:
    return merge_ips(paths, target, replace(WHOLE, **options))


def data(package: Path) -> dict[str, bytes]:
    """Return the data files of all IPs in a folder, by their paths below the data folder."""
    found: dict[str, bytes] = {}
    for ip in package.iterdir():
        if ip.is_dir():
            for path, content in tree(ip).items():
                if path.startswith(DATA) and not path.endswith("/"):
                    assert found.setdefault(path.removeprefix(DATA), content) == content
    return found


def test_every_data_file_is_there_and_the_rest_is_made_anew(made: Path, tmp_path: Path) -> None:
    before = tree(made)
    result = put_together(made, target=tmp_path / "whole")
    assert (result.objid, result.containers, result.files, result.warnings) == ("N", 5, 9, ())
    assert result.bytes == sum(map(len, data(made).values()))
    assert tree(made) == before
    assert names(tmp_path / "whole") == {"N", "manifest-md5.txt", "manifest-sha256.txt"}
    assert data(tmp_path / "whole") == data(made)
    ours = {
        path for path in tree(tmp_path / "whole/N") if not path.endswith("/") and not path.startswith(DATA)
    }
    assert ours == {
        "METS.xml",
        "documentation/about-this-package.txt",
        "metadata/descriptive/dublin-core.xml",
        "metadata/preservation/premis.xml",
        "representations/rep1/METS.xml",
        "representations/rep1/metadata/preservation/premis.xml",
        *SCHEMAS,
    }
    assert findings(tmp_path / "whole") == []


_SMALL = tuple(bytes([65 + number]) * (number % 7 * 10) for number in range(26))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A parent with two children that have runs of small LOBs; treat it as read-only."""
    folder = tmp_path_factory.mktemp("many")
    source = siards.packed(folder / "N.siard", siards.parts(siards.lobs(*_SMALL)))
    build.build(source, folder / "out", replace(OPTIONS, limits=Limits(files=20)))
    return folder / "out"


_FILE = "N_lobseg_0/representations/rep1/data/N_lobseg_0/content/schema0/table0/lob2/record9.bin"


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [lambda file: file.write_bytes(b"!" * 20), lambda file: os.truncate(file, 3)],
    ids=["another", "shorter"],
)
def test_a_fault_within_a_run_is_the_same_for_any_jobs(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    out = Path(shutil.copytree(many, tmp_path / "out"))
    change(out / _FILE)
    for module in (merge, dataindex):
        monkeypatch.setattr(module, "LONGEST", 4)
    reported = []
    for jobs in (1, 2):
        with pytest.raises(SourceError, match=r"record9\.bin") as caught:
            merge_ips([out], tmp_path / "whole", WHOLE, jobs=jobs)
        reported.append((caught.value.message, caught.value.hint))
    assert reported[0] == reported[1]
    assert names(tmp_path) == {"out"}


@pytest.mark.slow
@pytest.mark.parametrize(("pack", "jobs"), [(None, 7), ("zip", 2), (None, 1)])
def test_the_package_is_the_same_for_any_number_of_processes(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: str | None, jobs: int
) -> None:
    given = [many if pack is None else built(tmp_path, replace(OPTIONS, pack=pack), "packed")]
    one = merge_ips(given, tmp_path / "one", WHOLE)
    for module in (merge, dataindex):
        monkeypatch.setattr(module, "LONGEST", 3)
    monkeypatch.setattr(datafiles, "SMALL", len(_SMALL[4]))  # in this process: files above it are large
    assert replace(merge_ips(given, tmp_path / "other", WHOLE, jobs=jobs), target=one.target) == one
    assert tree(tmp_path / "other") == tree(tmp_path / "one")


_HREFS = ["data/a/{}", "data/b/{}", "../r2/data/{}", "data/{}/METS.xml", "documentation/{}", "../../data/{}"]
_KINDS = _HREFS, ["", ' GROUPID="g"', ' GROUPID="g" SEQ="2"', ' SEQ="1"'], [5, 2 << 20], ["MD5", "SHA-256"]
_FILE_SECTION = """<mets xmlns="http://www.loc.gov/METS/" xmlns:xlink="http://www.w3.org/1999/xlink"><fileSec>
<fileGrp>{}</fileGrp></fileSec></mets>"""


@law(100)
@given(
    kinds=st.lists(
        st.tuples(*(st.sampled_from(each) for each in _KINDS), st.sampled_from([1, 9])), max_size=6
    ),
    between=st.sampled_from(["", "<!-- no run -->"]),
)
def test_data_files_are_held_as_runs(made: Path, kinds: list[Any], between: str) -> None:
    listed, expected = "", []
    files = [kind for *kind, count in kinds for _ in range(count)]
    for number, (href, part, size, algorithm) in enumerate(files):
        path, digest = href.format(number), f"{number:02x}" * OCTETS[algorithm]
        listed += f"""{between}<file ID="i{number}" SIZE="{size}" CHECKSUM="{digest}"
            CHECKSUMTYPE="{algorithm}"{part}><FLocat LOCTYPE="URL" xlink:href="{path}"/></file>\n"""
        part_of, sequence = ("g", 2) if 'GROUPID="g" SEQ' in part else ("", 0)
        file = path.rpartition("data/")[2], f"i{number}", DEFAULT, size, digest, sequence, 2 * number + 2
        expected += [(algorithm, part_of, *file)] if href in _HREFS[:3] else []
    path = ("N", "representations", "r", "METS.xml")
    with DataIndex(made, "N/METS.xml") as index:
        index.read(number := index.enter(path), path, [_FILE_SECTION.format(listed).encode()])
        runs = index.all("SELECT algorithm, part_of, columns FROM run WHERE mets = ? ORDER BY id", number)
        data = index.all(
            "SELECT path, xml_id FROM data WHERE run > (SELECT count(*) - ? FROM run)", len(runs)
        )
        assert len(index.all("SELECT 1 FROM entry WHERE mets = ?", number)) == len(files) - len(expected)
    columns = [(shared, json.loads(text)) for *shared, text in runs]
    assert [(*shared, *file) for shared, each in columns for file in zip(*each, strict=True)] == expected
    assert data == [each[2:4] for each in expected]
    assert all(len(each[3]) == 1 or sum(each[3]) <= MOST for _, each in columns)


def test_every_lob_is_given_back(made: Path, tmp_path: Path) -> None:
    put_together(made, target=tmp_path / "whole")
    assert list(api.restore_dry_run(tmp_path / "whole")) == []
    api.restore(tmp_path / "whole", tmp_path / "lobs")
    records = [tmp_path / f"lobs/content/schema0/table0/lob2/record{n}.bin" for n in range(len(CONTENTS))]
    assert [each.read_bytes() for each in records] == list(CONTENTS)
    assert b"".join(api.cat(tmp_path / "whole", "s0.t0.c2.r3")) == CONTENTS[2]
    api.restore_siard(made, tmp_path / "a.siard")
    api.restore_siard(tmp_path / "whole", tmp_path / "b.siard")
    assert (tmp_path / "a.siard").read_bytes() == (tmp_path / "b.siard").read_bytes()


def test_the_bytes_are_the_same_however_the_containers_are_named(made: Path, tmp_path: Path) -> None:
    put_together(made, target=tmp_path / "one")
    ips = [name for name in sorted(names(made)) if "." not in name]
    moved = [Path(shutil.copytree(made / name, tmp_path / f"disk/x{name}")) for name in ips]
    put_together(*reversed(moved), target=tmp_path / "two")
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


def test_a_named_child_replaces_that_in_its_place(made: Path, out: Path, tmp_path: Path) -> None:
    put_together(made, target=tmp_path / "one")
    child = Path(shutil.copytree(out / "N_lobseg_1", tmp_path / "copy"))
    (out / "N_lobseg_1/METS.xml").write_text("damaged")
    given = [out / name for name in sorted(names(out)) if "." not in name and name != "N_lobseg_1"]
    (tmp_path / "link").symlink_to(out / "N")
    for number, parent in enumerate((out / "N", tmp_path / "link")):
        paths = [parent if each.name == "N" else each for each in given]
        put_together(*paths, child, target=tmp_path / f"two{number}")
        assert tree(tmp_path / "one") == tree(tmp_path / f"two{number}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("style", "layout"), [("aip", "siard22"), ("csip-large", "lobseg"), ("recommendation", "siard22")]
)
def test_every_style_of_links_and_layout_is_put_together(tmp_path: Path, style: str, layout: str) -> None:
    options = replace(csip(link_style=style), objid=None, layout=layout)
    package = built(tmp_path, options)
    agents = Agents(submitter="National Archives")
    put_together(
        package, target=tmp_path / "whole", dialect_options=CsipOptions(profile="sip", agents=agents)
    )
    assert data(tmp_path / "whole") == data(package)
    assert findings(tmp_path / "whole") == []
    assert list(api.restore_dry_run(tmp_path / "whole")) == []
    for each in (tmp_path / "whole").rglob("METS.xml"):
        assert list(mets_faults(each)) == []
        assert b"E-ARK-SIP-v2-2-0.xml" in each.read_bytes()
    for each in (tmp_path / "whole").rglob("premis.xml"):
        assert list(premis_faults(each)) == []


def described(folder: Path) -> BuildOptions:
    """Write documentation and a description in a folder; return options with them."""
    (folder / "documents/sub").mkdir(parents=True)
    (folder / "documents/sub/manual.txt").write_text("how it was used")
    (folder / "ead.xml").write_text('<ead xmlns="http://ead3.archivists.org/schema/"/>')
    return csip(documentation=folder / "documents", descriptive=folder / "ead.xml")


def test_what_a_person_wrote_goes_along_unless_there_is_something_else(tmp_path: Path) -> None:
    package = built(tmp_path, described(tmp_path))
    put_together(package, target=tmp_path / "whole")
    assert (tmp_path / "whole/N/documentation/sub/manual.txt").read_text() == "how it was used"
    assert 'MDTYPE="EAD"' in (tmp_path / "whole/N/METS.xml").read_text()
    assert findings(tmp_path / "whole") == []
    other = tmp_path / "other"
    other.mkdir()
    (other / "new.txt").write_text("new")
    (tmp_path / "mods.xml").write_text('<mods xmlns="http://www.loc.gov/mods/v3"/>')
    options = CsipOptions(documentation=other, descriptive=tmp_path / "mods.xml")
    put_together(package, target=tmp_path / "again", dialect_options=options)
    ours = tree(tmp_path / "again/N")
    assert {path for path in ours if path.startswith(("documentation/", "metadata/descriptive/"))} == {
        "documentation/",
        "documentation/about-this-package.txt",
        "documentation/new.txt",
        "metadata/descriptive/",
        "metadata/descriptive/mods.xml",
    }
    (package / "N/documentation/sub/manual.txt").write_text("how it was abused")
    with pytest.raises(SourceError, match=r"manual\.txt has 17 bytes, but .*METS\.xml says 15"):
        put_together(package, target=tmp_path / "third")


def test_a_child_with_unproven_mets_is_reported(out: Path, tmp_path: Path) -> None:
    mets = out / "N/METS.xml"
    lines = mets.read_text().splitlines(keepends=True)
    at = next(
        number for number, line in enumerate(lines) if "../N_lobseg_1/METS.xml" in line and "FLocat" in line
    )
    start, end = at - 1, at + 1
    text = "".join(lines[:start] + lines[end + 1 :])
    identifier = lines[start].partition('ID="')[2].partition('"')[0]
    mets.write_text(text.replace(f'<mets:fptr FILEID="{identifier}"/>', ""))
    result = put_together(out, target=tmp_path / "whole")
    assert [each for each in result.warnings if "N_lobseg_1" in each and "no digest" in each]


def unpacked_but(package: Path, folder: str) -> None:
    """Leave one IP of a package as a folder that was packed as the others are."""
    (path,) = package.glob(f"{folder}.*")
    shutil.unpack_archive(path, package)
    path.unlink()


@pytest.mark.slow
@pytest.mark.parametrize(("pack", "is_mixed"), [("zip", True), ("tar", False)])
def test_packed_containers_are_put_together_where_they_are(tmp_path: Path, pack: str, is_mixed: bool) -> None:
    options = described(tmp_path)
    plain = built(tmp_path, options)
    packed = built(tmp_path, replace(options, pack=pack), pack)
    if is_mixed:
        unpacked_but(packed, "N_lobseg_1")
    before = tree(packed)
    one = put_together(plain, target=tmp_path / "one")
    two = put_together(packed, target=tmp_path / "two")
    assert replace(two, target=one.target) == one
    assert tree(tmp_path / "two") == tree(tmp_path / "one")
    assert tree(packed) == before
    put_together(*sorted(packed.glob("N*"), reverse=True), target=tmp_path / "three")
    assert tree(tmp_path / "three") == tree(tmp_path / "one")


def zipped_again(path: Path, more: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path) as file:
        entries = {each: file.read(each) for each in file.namelist()} | more
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in entries.items():
            file.writestr(name, content)


@pytest.mark.slow
def test_lobs_that_are_compressed_in_a_packed_container_are_put_together(tmp_path: Path) -> None:
    package = built(tmp_path, replace(OPTIONS, pack="zip"))
    zipped_again(package / "N_lobseg_0.zip", {}, zipfile.ZIP_DEFLATED)
    put_together(package, target=tmp_path / "whole")
    put_together(built(tmp_path, target="plain"), target=tmp_path / "other")
    assert tree(tmp_path / "whole") == tree(tmp_path / "other")


def with_a_link(package: Path) -> None:
    with tarfile.open(package / "N_lobseg_0.tar", "a") as file:
        link = tarfile.TarInfo(f"N_lobseg_0/{DATA}link")
        link.type, link.linkname = tarfile.SYMTYPE, "x"
        file.addfile(link)


PACKED_REFUSED: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "a compressed archive": (
        "zip",
        lambda package: zipped_again(package / "N.zip", {}, zipfile.ZIP_DEFLATED),
        r"N\.siard is compressed in .*N\.zip",
    ),
    "a file beside the folder": (
        "zip",
        lambda package: zipped_again(package / "N_lobseg_0.zip", {"x": b""}),
        r"N_lobseg_0\.zip holds 'x', expected files in the folder N_lobseg_0 only",
    ),
    "a file called as the folder": (
        "zip",
        lambda package: zipped_again(package / "N_lobseg_0.zip", {"N_lobseg_0": b""}),
        r"N_lobseg_0\.zip holds 'N_lobseg_0', expected files in the folder N_lobseg_0 only",
    ),
    "a link": ("tar", with_a_link, "N_lobseg_0.tar holds .*link"),
    "no zip file": (
        "zip",
        lambda package: (package / "N_lobseg_0.zip").write_bytes(b"x" * 100),
        r"N_lobseg_0\.zip: is not a zip file",
    ),
}


def test_a_packed_container_may_be_called_otherwise_than_its_folder(tmp_path: Path) -> None:
    package = built(tmp_path, replace(csip(), pack="zip"))
    (package / "N_lobseg_0.zip").rename(package / "other.zip")
    put_together(package, target=tmp_path / "whole")
    assert list(api.restore_dry_run(tmp_path / "whole")) == []


def test_a_file_in_place_of_the_data_is_left_out(tmp_path: Path) -> None:
    package = built(tmp_path, replace(OPTIONS, pack="zip"))
    zipped_again(package / "N_lobseg_0.zip", {f"N_lobseg_0/{DATA[:-1]}": b""})
    merged = put_together(package, target=tmp_path / "whole")
    assert any("1 file of the containers left out" in each for each in merged.warnings)


def test_a_representation_is_no_container(tmp_path: Path) -> None:
    package = built(tmp_path)
    with pytest.raises(SourceError, match=r"holds no METS\.xml"):
        put_together(package, next(package.rglob("representations/*/METS.xml")), target=tmp_path / "whole")


@pytest.mark.parametrize("case", PACKED_REFUSED)
def test_packed_containers_that_cannot_be_put_together_are_refused(tmp_path: Path, case: str) -> None:
    pack, change, pattern = PACKED_REFUSED[case]
    package = built(tmp_path, replace(OPTIONS, pack=pack))
    change(package)
    with pytest.raises(SourceError, match=pattern) as caught:
        put_together(package, target=tmp_path / "whole")
    assert caught.value.hint
    assert sorted(each.name for each in tmp_path.iterdir()) == ["N.siard", "out"]


def changed(path: str, old: str, new: str) -> Callable[[Path], None]:
    def change(out: Path) -> None:
        text = (out / path).read_text()
        assert old in text
        (out / path).write_text(text.replace(old, new))

    return change


def moved(old: str, new: str) -> Callable[[Path], object]:
    return lambda out: (out / old).rename(out / new)


def copied(old: str, new: str) -> Callable[[Path], None]:
    """Copy an IP under another OBJID."""

    def change(out: Path) -> None:
        shutil.copytree(out / old, out / new)
        changed(f"{new}/METS.xml", f'OBJID="{old}"', f'OBJID="{new}"')(out)

    return change


def same_path(out: Path) -> None:
    """Give the second child what the first has, with METS that agree."""
    folder = out / "N_lobseg_1"
    (folder / DATA / "N_lobseg_1").rename(folder / DATA / "N_lobseg_0")
    record = folder / DATA / "N_lobseg_0/content/schema0/table0/lob2"
    (record / "record2.bin.1").rename(record / "record0.bin")
    mets = folder / "representations/rep1/METS.xml"
    text = mets.read_text().replace("N_lobseg_1/content", "N_lobseg_0/content")
    mets.write_text(text.replace("record2.bin.1", "record0.bin"))
    forget(out, "N_lobseg_1")


def restated(child: str, old: str, new: str) -> Callable[[Path], None]:
    """Change the METS of a child's representation, and those that prove it."""

    def change(out: Path) -> None:
        changed(f"{child}/representations/rep1/METS.xml", old, new)(out)
        forget(out, child)

    return change


def forget(out: Path, child: str) -> None:
    """Restate the representation's METS in that of the package, and this one in the parent's."""
    own, inner = out / child / "METS.xml", "representations/rep1/METS.xml"
    for below, mets, href in (
        (out / child / inner, own, f'"{inner}"'),
        (own, out / "N/METS.xml", f'"../{child}/METS.xml"'),
    ):
        lines = mets.read_text().splitlines(keepends=True)
        at = next(n for n, line in enumerate(lines) if "FLocat" in line and href in line) - 1
        digest = lines[at].partition('CHECKSUM="')[2].partition('"')[0]
        size = lines[at].partition('SIZE="')[2].partition('"')[0]
        new = hashlib.sha256(below.read_bytes()).hexdigest()
        lines[at] = lines[at].replace(digest, new).replace(f'SIZE="{size}"', f'SIZE="{below.stat().st_size}"')
        mets.write_text("".join(lines))


def two_mets(out: Path) -> None:
    moved("N_lobseg_1/METS.xml", "N_lobseg_0/METS2.xml")(out)
    changed("N/METS.xml", "../N_lobseg_1/METS.xml", "../N_lobseg_0/METS2.xml")(out)


_RECORD = f"N_lobseg_0/{DATA}N_lobseg_0/content/schema0/table0/lob2/record1.bin"
_REPRESENTATION = "N_lobseg_1/representations/rep"


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a child is missing": (
        moved("N_lobseg_1", "../elsewhere"),
        "^/.*/N/METS.xml names the child N_lobseg_1, which is not among",
    ),
    "the parent is missing": (moved("N", "../elsewhere"), "no parent is among the containers: .* names N"),
    "a sub-path twice": (
        same_path,
        "N_lobseg_0 and .*N_lobseg_1 both have the path 'N_lobseg_0/content/schema0/table0/lob2/record0.bin'",
    ),
    "an ID twice": (
        restated("N_lobseg_1", 'ID="s0.t0.c2.r3.p1"', 'ID="s0.t0.c2.r1"'),
        "both have the ID 's0.t0.c2.r1'",
    ),
    "two names of a representation": (
        moved(f"{_REPRESENTATION}1", f"{_REPRESENTATION}2"),
        "called rep1 in .*N and rep2 in .*N_lobseg_1",
    ),
    "two representations": (
        lambda out: (out / f"{_REPRESENTATION}2").mkdir(),
        r"N_lobseg_1 has 2 representations \(rep1, rep2\)",
    ),
    "another byte": (
        lambda out: (out / _RECORD).write_bytes(b"B" * 30),
        "record1.bin has the SHA-256 digest .* but .*METS.xml line .* says",
    ),
    "a file is gone": (
        lambda out: (out / _RECORD).unlink(),
        "record1.bin cannot be read: No such file",
    ),
    "a file more": (
        lambda out: (out / f"N_lobseg_0/{DATA}x.bin").write_bytes(b""),
        "N_lobseg_0 holds 'representations/rep1/data/x.bin', which its METS do not list",
    ),
    "a child's METS was changed": (
        changed("N_lobseg_1/METS.xml", "<mets:name>", "<mets:name >"),
        r"/N_lobseg_1/METS\.xml: this METS has .* bytes; expected .* \(/.*/N/METS\.xml line",
    ),
    "a representation's METS was changed": (
        changed("N_lobseg_1/representations/rep1/METS.xml", "<mets:name>", "<mets:name >"),
        r"rep1/METS\.xml: this METS has .* bytes; expected",
    ),
    "no digest": (
        restated("N_lobseg_0", 'CHECKSUMTYPE="SHA-256"', 'CHECKSUMTYPE="TIGER"'),
        r"'N_lobseg_0/.*record0\.bin' has no digest that can be compared",
    ),
    "no OBJID": (
        changed("N_lobseg_1/METS.xml", ' OBJID="N_lobseg_1"', ""),
        "N_lobseg_1/METS.xml has no OBJID",
    ),
    "not XML": (
        changed("N_lobseg_1/METS.xml", "</mets:mets>", ""),
        r"N_lobseg_1/METS.xml line [0-9]+, column",
    ),
    "a path that leads out": (
        changed("N/representations/rep1/METS.xml", '"data/N.siard"', '"../../../../../N.siard"'),
        "METS.xml line",
    ),
    "the same IP twice": (
        lambda out: shutil.copytree(out / "N_lobseg_1", out / "copy"),
        "out/N_lobseg_1 and .*out/copy are both N_lobseg_1",
    ),
    "two METS": (two_mets, r"/N_lobseg_0/METS2\.xml is a second METS in the folder of an IP"),
    "two parents": (copied("N", "M"), r"out/M \(M\) and .*out/N \(N\) are both parents"),
    "a child of another": (
        copied("N_lobseg_1", "N_lobseg_9"),
        r"N_lobseg_9 \(N_lobseg_9\) is not a child that .*N/METS\.xml names",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_put_together_is_refused(out: Path, tmp_path: Path, case: str) -> None:
    change, pattern = REFUSED[case]
    change(out)
    with pytest.raises(SourceError, match=pattern) as caught:
        put_together(out, target=tmp_path / "whole")
    assert caught.value.hint
    assert not (tmp_path / "whole").exists()
    assert not (tmp_path / "whole.partial").exists()


def test_folders_that_hold_no_containers_are_refused(made: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=r"empty holds no METS\.xml"):
        put_together(tmp_path / "empty", target=tmp_path / "whole")
    with pytest.raises(SourceError, match=r"manifest-md5\.txt is text"):
        put_together(made / "manifest-md5.txt", target=tmp_path / "whole")
    with pytest.raises(ConfigError, match="lies inside"):
        put_together(made, target=made / "N/whole")


def test_a_child_may_hold_parts_of_several_lobs_and_be_named_by_urn(tmp_path: Path) -> None:
    """Each part is named in the map of split LOBs, and so the child more than once."""
    source = siards.packed(tmp_path / "N.siard", siards.parts(siards.lobs(b"a" * 90, b"b" * 90, b"c" * 90)))
    options = replace(OPTIONS, objid=None, limits=Limits(files=9, bytes=60))
    build.build(source, tmp_path / "out", options)
    assert findings(tmp_path / "out") == []
    put_together(tmp_path / "out", target=tmp_path / "whole")
    assert findings(tmp_path / "whole") == []
    assert list(api.restore_dry_run(tmp_path / "whole")) == []


def test_parts_are_joined_in_their_order_however_children_are_named(out: Path, tmp_path: Path) -> None:
    text = (out / "N/METS.xml").read_text()
    child = re.compile(r'<mets:div [^>]*LABEL="child SIP">.*?</mets:div>', re.DOTALL)
    children = child.findall(text)
    (out / "N/METS.xml").write_text(child.sub(lambda _: children.pop(), text))
    put_together(out, target=tmp_path / "whole")
    assert list(api.restore_dry_run(tmp_path / "whole")) == []


@pytest.mark.parametrize("named", [str.upper, lambda objid: f" urn:NA.dk:{objid} "], ids=["case", "prefix"])
def test_another_spelling_of_a_uuid_names_the_same_child(tmp_path: Path, named: Callable[[str], str]) -> None:
    """Take the same children as ``check`` and ``restore`` do (RFC 9562 §4, CSIP)."""
    package = built(tmp_path, replace(csip(link_style="aip"), objid=None))
    found = only_package(package, Budgets())
    assert found is not None
    mets = found.path / "METS.xml"
    text = re.sub(r'(?<=xlink:href=")urn:uuid:[^"]+', lambda found: named(found[0]), mets.read_text())
    mets.write_text(text)
    for manifest in package.glob("manifest-*.txt"):
        manifest.unlink()  # they prove the METS, which was changed
    assert [each for each in checking.check(package) if each.severity is Severity.ERROR] == []
    assert list(api.shards(package))
    assert list(api.restore_dry_run(package)) == []
    put_together(package, target=tmp_path / "whole")
    assert data(tmp_path / "whole") == data(package)


def test_a_second_archive_is_refused(out: Path, tmp_path: Path) -> None:
    mets = out / "N_lobseg_1/representations/rep1/METS.xml"
    folder = out / f"N_lobseg_1/{DATA}N_lobseg_1/content/schema0/table0/lob2"
    (folder / "record2.bin.1").rename(folder / "other.siard")
    mets.write_text(mets.read_text().replace("record2.bin.1", "other.siard"))
    forget(out, "N_lobseg_1")
    with pytest.raises(SourceError, match=r"hold N\.siard, .*other\.siard, expected one archive"):
        put_together(out, target=tmp_path / "whole")


def test_a_package_is_described_once(tmp_path: Path) -> None:
    """The parent has one descriptive file of a person's; of two, the first goes along."""
    (tmp_path / "source").mkdir()
    (tmp_path / "ead.xml").write_text('<ead xmlns="http://ead3.archivists.org/schema/"/>')
    package = built(tmp_path / "source", csip(descriptive=tmp_path / "ead.xml"))
    mets = package / "N/METS.xml"
    (package / "N/metadata/descriptive/zzz.xml").write_bytes(b"<x/>")
    size, digest = 4, hashlib.sha256(b"<x/>").hexdigest()
    section = (
        f'<mets:dmdSec ID="z" CREATED="2020-01-01T00:00:00Z"><mets:mdRef LOCTYPE="URL" MDTYPE="OTHER" '
        f'xlink:type="simple" xlink:href="metadata/descriptive/zzz.xml" SIZE="{size}" CHECKSUM="{digest}" '
        'CHECKSUMTYPE="SHA-256"/></mets:dmdSec>'
    )
    mets.write_text(mets.read_text().replace("<mets:amdSec", f"{section}<mets:amdSec", 1))
    result = put_together(package, target=tmp_path / "whole")
    assert [each for each in result.warnings if "zzz.xml is left out" in each]
    assert (tmp_path / "whole/N/metadata/descriptive/ead.xml").exists()
    assert not (tmp_path / "whole/N/metadata/descriptive/zzz.xml").exists()
