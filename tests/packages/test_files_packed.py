"""Packed IPs are read where they are, and give what the same IPs give unpacked."""

from __future__ import annotations

import random
import re
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from metspack import checking
from metspack.building import build, convert
from metspack.building.build import BuildOptions
from metspack.errors import SourceError
from metspack.files import reading
from metspack.limits import Limits
from metspack.mets.dialects.csip.package import CsipOptions
from metspack.mets.dialects.interface import Software
from metspack.packages.package import Package
from metspack.restoring.dryrun import DryRun
from metspack.restoring.files import restore_files
from metspack.restoring.joining import extract, open_lob
from metspack.restoring.shards.writing import shards
from metspack.restoring.siard import restore_archive
from metspack.sizes import parsed_range
from tests import siards
from tests.kept import copied
from tests.trees import tree

DIALECTS = {"recommendation": "MD5", "csip": "SHA-256"}
CONTENTS = (b"a" * 40, b"b" * 30, bytes(range(250)), b"d", b"")
SPLIT = "s0.t0.c2.r3"


def built(folder: Path, dialect: str, pack: str | None, layout: str = "lobseg") -> Path:
    source = folder / "N.siard"
    if not source.exists():
        siards.siard(source, *CONTENTS)
    wanted = options(dialect, pack, layout)
    target = folder / f"{dialect}-{pack}"
    return copied((__name__, repr(wanted)), target, lambda out: build.build(source, out, wanted))


def options(dialect: str, pack: str | None, layout: str = "lobseg") -> BuildOptions:
    return BuildOptions(
        created="2023-11-14T22:13:20Z",
        software=Software(name="metspack", version="metspack 0"),
        limits=Limits(files=3, bytes=100),
        dialect=dialect,
        checksum=DIALECTS[dialect],
        layout=layout,
        objid="N",
        pack=pack,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dialect", "layout", "pack"), [("recommendation", "siard22", "tar"), ("csip", "lobseg", "zip")]
)
def test_what_is_given_back_is_what_the_unpacked_package_gives(
    tmp_path: Path, dialect: str, layout: str, pack: str
) -> None:
    plain = built(tmp_path, dialect, None, layout)
    package = built(tmp_path, dialect, pack, layout)
    before = tree(package)
    for each in (plain, package):
        restore_archive(each, each.with_suffix(".siard"))
        restore_files(each, each.with_suffix(".files"))
    assert package.with_suffix(".siard").read_bytes() == plain.with_suffix(".siard").read_bytes()
    assert tree(package.with_suffix(".files")) == tree(plain.with_suffix(".files"))
    with Package(package) as opened:
        run = DryRun(package)
        assert [each.message for each in run] == []
        assert run.restored.lobs == len(CONTENTS)
        with open_lob(opened, SPLIT) as file:
            file.seek(120)
            assert file.read(60) == CONTENTS[2][120:180]
        ranges = [parsed_range("95-105"), parsed_range("-1")]
        assert b"".join(extract(opened, SPLIT, ranges)) == CONTENTS[2][95:106] + CONTENTS[2][-1:]
        for shard in shards(opened):
            whole = b"".join(
                (package / each.url).read_bytes()[each.offset : each.offset + each.length]
                for each in shard.files
            )
            assert whole == b"".join(extract(opened, shard.lob))
    assert tree(package) == before


@pytest.mark.slow
def test_a_packed_package_is_divided_anew(tmp_path: Path) -> None:
    package = built(tmp_path, "csip", "tar")
    convert.convert_package(package, tmp_path / "new", options("csip", None))
    assert tree(tmp_path / "new") == tree(built(tmp_path, "csip", None))
    again = replace(options("csip", None), pack="tar")
    convert.convert_package(tmp_path / "new", tmp_path / "again", again)
    assert tree(tmp_path / "again") == tree(package)


def test_lobs_without_an_archive_are_read_where_they_are(tmp_path: Path) -> None:
    lobs = tmp_path / "content" / "schema0" / "table2" / "lob4"
    lobs.mkdir(parents=True)
    (lobs / "record0.bin").write_bytes(b"x" * 250)
    build.build(tmp_path, tmp_path.with_name("out"), options("recommendation", "tar"))
    with Package(tmp_path.with_name("out")) as opened:
        assert b"".join(extract(opened, "s0.t2.c4.r1")) == b"x" * 250
    restore_files(tmp_path.with_name("out"), tmp_path.with_name("files"))
    (found,) = tmp_path.with_name("files").rglob("record0.bin")
    assert found.read_bytes() == b"x" * 250


# --- Zip files of other tools, whose entries are compressed ---------------------------------------------


def recompressed(package: Path) -> Path:
    """Compress the LOBs of all packs, as a zip program does by default."""
    for path in package.glob("*.zip"):
        with zipfile.ZipFile(path) as file:
            entries = {each: file.read(each) for each in file.namelist()}
        with zipfile.ZipFile(path, "w") as file:
            for name, data in entries.items():
                file.writestr(
                    name, data, zipfile.ZIP_STORED if name.endswith(".siard") else zipfile.ZIP_DEFLATED
                )
    return package


@pytest.mark.slow
def test_compressed_lobs_are_given_back_from_where_they_are(tmp_path: Path) -> None:
    plain = built(tmp_path, "csip", None)
    package = recompressed(built(tmp_path, "csip", "zip"))
    for each in (plain, package):
        restore_archive(each, each.with_suffix(".siard"))
        restore_files(each, each.with_suffix(".files"))
    assert package.with_suffix(".siard").read_bytes() == plain.with_suffix(".siard").read_bytes()
    assert tree(package.with_suffix(".files")) == tree(plain.with_suffix(".files"))
    convert.convert_package(package, tmp_path / "new", options("csip", None))
    assert tree(tmp_path / "new") == tree(plain)
    assert [each.message for each in DryRun(package)] == []


@pytest.mark.parametrize("verify", [True, False])
def test_any_place_of_a_compressed_lob_can_be_read_in_any_order(tmp_path: Path, verify: bool) -> None:
    package = recompressed(built(tmp_path, "recommendation", "zip"))
    with Package(package) as opened:
        for lob, contents in enumerate(CONTENTS, 1):
            assert b"".join(extract(opened, f"s0.t0.c2.r{lob}", verify=verify)) == contents
        ranges = [parsed_range(each) for each in ("200-249", "95-105", "0-0")]
        found = b"".join(extract(opened, SPLIT, ranges, verify=verify))
        assert found == CONTENTS[2][200:] + CONTENTS[2][95:106] + CONTENTS[2][:1]
        with open_lob(opened, "s0.t0.c2.r5", verify=verify) as empty:
            assert empty.read() == b""


def test_a_compressed_lob_of_several_blocks_is_sought_in(tmp_path: Path) -> None:
    contents = random.Random(1).randbytes(reading.CHUNK * 2 + 7)  # noqa: S311 -- any bytes will do
    siards.siard(tmp_path / "N.siard", contents)
    build.build(
        tmp_path / "N.siard", tmp_path / "out", replace(options("recommendation", "zip"), limits=Limits())
    )
    recompressed(tmp_path / "out")
    with Package(tmp_path / "out") as opened, open_lob(opened, "s0.t0.c2.r1", verify=False) as file:
        for place in (len(contents) - 3, 5, reading.CHUNK - 1, reading.CHUNK * 2, 0):
            file.seek(place)
            assert file.read(10) == contents[place : place + 10]


def edited(package: Path, edit: Callable[[bytes], bytes], more: dict[str, bytes]) -> Path:
    """Compress a child with more files and another METS, whose bytes the parent leaves out."""
    path = package / "N_lobseg_0.zip"
    with zipfile.ZipFile(path) as file:
        entries = {each: file.read(each) for each in file.namelist()} | more
    entries["N_lobseg_0/mets.xml"] = edit(entries["N_lobseg_0/mets.xml"])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    parent = package / "mets.xml"
    parent.write_bytes(re.sub(rb'(<mets:file ID="ID_N_lobseg_0_mets")[^>]*>', rb"\1>", parent.read_bytes()))
    return path


def test_a_compressed_lob_without_a_digest_is_proven_by_its_entry(tmp_path: Path) -> None:
    package = built(tmp_path, "recommendation", "zip")
    bare = re.compile(rb' CHECKSUM(TYPE)?="[^"]*"')
    path = edited(package, lambda mets: bare.sub(b"", mets), {})
    with Package(package) as opened:
        assert b"".join(extract(opened, "s0.t0.c2.r1", [parsed_range("0-1")], warned=len)) == CONTENTS[0][:2]
    miscounted(path, "")
    with Package(package) as opened, pytest.raises(SourceError, match="has CRC-32"):
        list(extract(opened, "s0.t0.c2.r1", [parsed_range("0-1")], warned=len))


def test_a_compressed_lob_that_no_cell_names_is_restored_too(tmp_path: Path) -> None:
    package = built(tmp_path, "recommendation", "zip")
    listed = (
        b'<mets:file ID="s0.t0.c2.r9"><mets:FLocat LOCTYPE="URL" xlink:type="simple" '
        b'xlink:href="content/x.bin"/></mets:file></mets:fileGrp>'
    )
    edited(
        package,
        lambda mets: mets.replace(b"</mets:fileGrp>", listed, 1),
        {"N_lobseg_0/content/x.bin": b"nobody's"},
    )
    restored = restore_files(package, tmp_path / "files")
    assert any("no cell names" in each for each in restored.warnings)
    assert (tmp_path / "files" / "content/schema0/table0/lob2/record8.bin").read_bytes() == b"nobody's"


def test_a_compressed_lob_is_no_shard(tmp_path: Path) -> None:
    package = recompressed(built(tmp_path, "recommendation", "zip"))
    with (
        Package(package) as opened,
        pytest.raises(SourceError, match=r"it compressed in N_lobseg_0\.zip"),
    ):
        list(shards(opened))


def test_a_compressed_archive_in_a_pack_is_to_be_unpacked_first(tmp_path: Path) -> None:
    package = built(tmp_path, "csip", "zip")
    for path in package.glob("*.zip"):
        compressed(path, "")
    with pytest.raises(SourceError, match=r"N\.siard is compressed in") as caught:
        restore_files(package, tmp_path / "files")
    assert "Unpack it" in caught.value.hint


# --- What is damaged or misleading ----------------------------------------------------------------------


def cut(path: Path, inside: str) -> None:
    del inside
    path.write_bytes(path.read_bytes()[:-700])


def repacked(path: Path, names: Callable[[str], str], method: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path) as file:
        entries = {names(each): file.read(each) for each in file.namelist()}
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in entries.items():
            file.writestr(name, data)


def climbing(path: Path, inside: str) -> None:
    repacked(path, lambda name: f"{inside}/../x" if name.endswith(".bin") else name)


def renamed(path: Path, inside: str) -> None:
    repacked(path, lambda name: name.replace(inside, "other", 1))


def encrypted(path: Path, inside: str) -> None:
    del inside
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    path.write_bytes(data)


def compressed(path: Path, inside: str) -> None:
    del inside
    repacked(path, str, zipfile.ZIP_DEFLATED)


def miscounted(path: Path, inside: str) -> None:
    """Let the zip's directory promise another CRC-32 of a compressed LOB than it has."""
    compressed(path, inside)
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as file:
        entry = next(each for each in file.infolist() if each.filename.endswith(".bin"))
    local, wrong = entry.header_offset + 14, (entry.CRC ^ 1).to_bytes(4, "little")
    central = data.index(entry.filename.encode(), file.start_dir) - 46 + 16
    data[local : local + 4] = data[central : central + 4] = wrong
    path.write_bytes(data)


@pytest.mark.parametrize("dialect", ["recommendation", "csip"])
def test_a_packed_segment_is_read_whatever_its_folder_is_called(tmp_path: Path, dialect: str) -> None:
    package = built(tmp_path, dialect, "zip")
    for pack in package.glob("*seg_0.zip"):
        renamed(pack, pack.stem)
    restore_files(package, tmp_path / "files")
    (tmp_path / "again").mkdir()
    restore_files(built(tmp_path / "again", dialect, "zip"), tmp_path / "expected")
    assert tree(tmp_path / "files") == tree(tmp_path / "expected")


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (cut, "no zip|is not a zip|end of|ends"),
        (climbing, r"\.\."),
        (encrypted, "encrypted"),
        (miscounted, "has CRC-32"),
    ],
)
def test_a_bad_zip_file_is_refused_and_reported(
    tmp_path: Path, damage: Callable[[Path, str], None], found: str
) -> None:
    package = built(tmp_path, "recommendation", "zip")
    damage(package / "N_lobseg_0.zip", "N_lobseg_0")
    with pytest.raises(SourceError, match=found):
        restore_files(package, tmp_path / "files")
    assert not (tmp_path / "files").exists()
    assert "error" in {each.severity.value for each in checking.check(package)}


def test_a_tar_file_that_was_cut_off_is_refused_and_reported(tmp_path: Path) -> None:
    package = built(tmp_path, "recommendation", "tar")
    path = package / "N_lobseg_0.tar"
    path.write_bytes(path.read_bytes()[:530])
    with pytest.raises(SourceError, match=r"N_lobseg_0.tar.* is cut off"):
        restore_files(package, tmp_path / "files")
    assert "error" in {each.severity.value for each in checking.check(package)}


def test_a_changed_byte_in_a_pack_is_found_by_what_is_read(tmp_path: Path) -> None:
    package = built(tmp_path, "recommendation", "tar")
    path = package / "N_lobseg_0.tar"
    path.write_bytes(path.read_bytes().replace(b"a" * 40, b"a" * 39 + b"b"))
    with pytest.raises(SourceError, match="MD5"), Package(package) as opened:
        list(extract(opened, "s0.t0.c2.r1"))
    assert {each.code for each in checking.check(package)} >= {"F003", "F026"}


def test_a_pack_that_is_gone_is_reported_as_a_child_that_is(tmp_path: Path) -> None:
    package = built(tmp_path, "csip", "zip")
    with Package(package) as opened:
        parent = opened.mets.partition("/")[0]
    for path in package.glob("*.zip"):
        if path.stem != parent:
            path.unlink()
            break
    with pytest.raises(SourceError, match=r"METS\.xml cannot be read: No such file"):
        restore_files(package, tmp_path / "files")
    shutil.rmtree(package)
    package.mkdir()
    with pytest.raises(SourceError, match="so it is not a package"):
        Package(package)


def in_one_file(folder: Path, form: str, link: str) -> tuple[Path, Path]:
    """Return parent and children in folders, and in one zip or tar file beside other folders."""
    source = folder / "N.siard"
    siards.siard(source, *CONTENTS)
    plain = folder / "plain"
    build.build(source, plain, replace(options("csip", None), dialect_options=CsipOptions(child_links=link)))
    shutil.copytree(plain, folder / "all/a/set")
    pack = Path(shutil.make_archive(str(folder / "set"), form, folder / "all"))
    (folder / "in").mkdir()
    pack = pack.rename(folder / "in" / pack.name)
    if form == "zip":  # what is read anywhere is stored
        with zipfile.ZipFile(pack, "w") as stored:
            for path in sorted((folder / "all").rglob("*")):
                stored.write(path, path.relative_to(folder / "all"))
    for each in (each for each in plain.iterdir() if each.is_dir()):
        shutil.copytree(each, pack.parent / each.name)
        (pack.parent / each.name / "METS.xml").write_text("<mets/>")
    return plain, pack


@pytest.mark.parametrize("form", ["zip", "tar"])
@pytest.mark.parametrize("link", ["location", "objid"])
def test_parent_and_children_in_one_file_are_read_from_it(tmp_path: Path, form: str, link: str) -> None:
    plain, pack = in_one_file(tmp_path, form, link)
    lobs = {}
    for name, path in (("plain", plain), ("packed", pack)):
        with Package(path) as package:
            assert not package.faults
            lobs[name] = {each: b"".join(extract(package, each)) for each in package.ids()}
    assert lobs["plain"] == lobs["packed"]
    assert len(lobs["packed"]) == len(CONTENTS)
