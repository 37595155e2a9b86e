"""Restore gives the packaged bytes: files, one archive, and the package built from that again."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from metspack.building import build
from metspack.building.build import BuildOptions, Built
from metspack.building.convert import convert_package
from metspack.building.inplace import describe_in_place
from metspack.building.options import PackageOptions
from metspack.errors import ConfigError, SourceError, TargetError
from metspack.layouts import LAYOUTS
from metspack.limits import Limits
from metspack.packages import source as packages_source
from metspack.planning.division import Split
from metspack.restoring import files as restoring_files
from metspack.restoring.dryrun import DryRun
from metspack.restoring.files import RestoreOptions, restore_files
from metspack.restoring.siard import Into, restore_archive
from metspack.sources.archive import Archive
from metspack.sources.lobstream import PART_DIGEST, OpenSources
from tests import segmented_folders, siards
from tests.conftest import CHECKOUT
from tests.kept import copied
from tests.laws import THOROUGH, spread
from tests.packages import forge
from tests.packages.cases import Case, cases
from tests.planning.lobruns import lobs_of
from tests.restoring import damages, splitting
from tests.shared_data import shared
from tests.trees import names, tree

SAMPLES = CHECKOUT / "samples" / "northwind"
SMALL = (
    ("sample", "Northwind.siard"),
    ("sample", "Northwind-full.siard"),
    ("northwind", "Northwind.siard"),
    ("siard", "dbptk-example.siard"),
    ("siard", "sample-datalink-2.2.siard"),
    ("siard", "sql2008", "sql2008.siard"),
)
LARGE = (
    (("siard", "sfdbsakila-2.2.siard"), "siard22", Split.FILL),
    (("siard", "sfdbsakila-2.1.siard"), "lobseg", None),
)
"""Twins with thousands of LOBs: the small archives are built in the other ways."""
CASES = [
    *((parts, layout, Split.FILL) for parts, layout in spread(product(SMALL, sorted(LAYOUTS)), 5)),
    *((SMALL[1], layout, split) for layout in LAYOUTS for split in (None, Split.SEPARATE)),
    *(LARGE if THOROUGH else ()),
]
OPTIONS = BuildOptions(created="2020-01-01T00:00:00Z", limits=Limits(files=3))


def lobs(siard: Path) -> Iterator[tuple[str, str, int]]:
    """Yield id, SHA-256 and number of entries of every LOB of an archive."""
    with Archive(siard) as archive:
        found = list(lobs_of(archive))
        with OpenSources(archive.byte_sources()) as shelf:
            for lob in found:
                hashed = hashlib.sha256()
                for extent in lob.extents:
                    for block in shelf.contents(extent, ""):
                        hashed.update(block)
                yield lob.place.id, hashed.hexdigest(), len(lob.entries)


def third(siard: Path) -> int:
    """Return a little more than a third of the bytes of an archive's largest LOB."""
    with Archive(siard) as archive:
        return max((lob.size for lob in lobs_of(archive)), default=0) // 3 + 1


def raw(siard: Path) -> dict[str, bytes]:
    """Return the compressed bytes of every entry."""
    data = siard.read_bytes()
    with zipfile.ZipFile(siard) as archive:
        found = {}
        for entry in archive.infolist():
            at = entry.header_offset
            start = at + 30 + int.from_bytes(data[at + 26 : at + 28], "little")
            start += int.from_bytes(data[at + 28 : at + 30], "little")
            found[entry.filename] = data[start : start + entry.compress_size]
        return found


def manifest_holds(folder: Path) -> bool:
    """Return whether the manifests name every file of a folder with its digest, in order."""
    for name, kind in (("manifest-md5.txt", "md5"), ("manifest-sha256.txt", "sha256")):
        expected = [
            f"{hashlib.new(kind, data, usedforsecurity=False).hexdigest()}  {path}\n"
            for path, data in sorted(tree(folder).items())
            if not path.endswith("/") and not path.startswith("manifest-")
        ]
        if (folder / name).read_text(encoding="utf-8") != "".join(expected):
            return False
    return True


def built(source: Path, target: Path, options: BuildOptions = OPTIONS) -> Built:
    return build.build(source, target, options)


def packed(sample: Path, target: Path, options: BuildOptions = OPTIONS) -> None:
    """Make a package of a sample, which is built once for all tests."""
    copied((sample, repr(options)), target, lambda out: build.build(sample, out, options))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "layout", "split"), CASES, ids=lambda each: each[-1] if isinstance(each, tuple) else str(each)
)
def test_every_archive_comes_back_and_gives_the_same_package_again(
    parts: tuple[str, ...], layout: str, split: Split | None, tmp_path: Path
) -> None:
    source = SAMPLES / parts[1] if parts[0] == "sample" else shared("data", *parts)
    expected = list(lobs(source))
    with Archive(source) as archive:
        entries = {name for lob in lobs_of(archive) for name in lob.entries}
        tables = {table.path for table in archive.metadata.tables}
    files = max(3, len(expected) // 40)  # thousands of LOBs need no thousand segments
    limits = Limits(files=files, bytes=None if split is None else third(source))
    options = replace(OPTIONS, layout=layout, split=split or Split.FILL, limits=limits)
    first = built(source, tmp_path / "first", options)

    back = tmp_path / f"{first.name}.siard"
    restored = restore_archive(tmp_path / "first", back)
    assert (restored.lobs, restored.bytes, restored.warnings) == (first.files, first.bytes, ())
    assert restored.split == first.split
    assert restored.size == back.stat().st_size
    assert restored.sha256 == hashlib.sha256(back.read_bytes()).hexdigest()
    assert list(lobs(back)) == [(lob, digest, 1) for lob, digest, _ in expected]
    before, after = raw(source), raw(back)
    spliced = {name for name in tables if b" file=" in before_text(source, name)} | {"header/metadata.xml"}
    folders = {name for name in before.keys() ^ after.keys() if name.endswith("/")}
    kept = before.keys() - entries - spliced - folders
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    added = after.keys() - kept - spliced - folders
    assert len(added) == first.files

    built(back, tmp_path / "again", options)
    assert without_notes(tmp_path / "again") == without_notes(tmp_path / "first")


def without_notes(package: Path) -> dict[str, bytes]:
    """Return the files of a package without METS's note on a wrong messageDigest of the source."""
    found = tree(package)
    agent = rb'(?s)\s*<mets:agent ROLE="OTHER" OTHERROLE="SOURCE.*?</mets:agent>'
    mets, count = re.subn(agent, b"", found["mets.xml"])
    if count:
        found["mets.xml"] = mets
        for name, algorithm in (("manifest-md5.txt", "md5"), ("manifest-sha256.txt", "sha256")):
            line = rb"[0-9a-f]+(?=  mets\.xml\n)"
            found[name] = re.sub(line, hashlib.new(algorithm, mets).hexdigest().encode(), found[name])
    return found


def before_text(siard: Path, name: str) -> bytes:
    with zipfile.ZipFile(siard) as archive:
        return archive.read(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "layout"),
    spread(product(SMALL, sorted(LAYOUTS)), 7),
    ids=lambda each: each[-1] if isinstance(each, tuple) else each,
)
def test_an_archive_and_its_folder(parts: tuple[str, ...], layout: str, tmp_path: Path) -> None:
    source = SAMPLES / parts[1] if parts[0] == "sample" else shared("data", *parts)
    options = replace(OPTIONS, layout=layout, limits=Limits(files=3, bytes=third(source)))
    first = built(source, tmp_path / "first", options)
    folder = tmp_path / "folder"
    restore_archive(tmp_path / "first", folder, Into.FOLDER)
    siard = folder / f"{first.name}.siard"
    found = list(lobs(siard))
    assert found == [(lob, digest, 0) for lob, digest, _ in lobs(source)]
    beside = {f"{first.name}_lobs"} if found else set()
    assert names(folder) == {siard.name, "manifest-md5.txt", "manifest-sha256.txt", *beside}
    assert manifest_holds(folder)
    built(siard, tmp_path / "again", options)
    assert without_notes(tmp_path / "again") == without_notes(tmp_path / "first")


@pytest.mark.slow
def test_lobs_that_stayed_in_the_archive_are_restored_too(northwind_full: Path, tmp_path: Path) -> None:
    options = replace(OPTIONS, min_size=1_000)
    package = tmp_path / "package"
    first = built(northwind_full, package, options)
    assert 0 < first.kept < 46
    restored = restore_files(package, tmp_path / "files")
    assert (restored.lobs, restored.inside) == (46, first.kept)
    everything = restore_files(package.with_name("package"), tmp_path / "again")
    assert everything.bytes == restored.bytes

    back = tmp_path / "Northwind-full.siard"
    one = restore_archive(package, back)
    assert (one.lobs, one.inside) == (first.files, first.kept)
    assert {count for *_, count in lobs(back)} == {1}
    built(back, tmp_path / "rebuilt", options)
    assert tree(tmp_path / "rebuilt") == tree(package)

    restore_archive(package, tmp_path / "folder", Into.FOLDER)
    beside = tmp_path / "folder" / f"{first.name}.siard"
    assert sorted(count for *_, count in lobs(beside)) == [0] * first.files + [1] * first.kept
    built(beside, tmp_path / "third", options)
    assert tree(tmp_path / "third") == tree(package)


def test_an_archive_all_of_whose_lobs_stayed_is_copied(northwind: Path, tmp_path: Path) -> None:
    built(northwind, tmp_path / "package", replace(OPTIONS, min_size=1_000_000))
    restored = restore_archive(tmp_path / "package", tmp_path / "Northwind.siard")
    assert (restored.lobs, restored.inside) == (0, 8)
    assert (tmp_path / "Northwind.siard").read_bytes() == northwind.read_bytes()


@pytest.mark.parametrize("into", Into)
def test_cells_that_name_one_file_share_it_again(into: Into, tmp_path: Path) -> None:
    name = "content/schema0/table0/lob2/shared.bin"
    twice = [siards.Lob(data=b"one for two", file=name), siards.Lob(data=b"one for two", file=name)]
    source = siards.packed(tmp_path / "Twice.siard", siards.parts([*twice, siards.Lob(data=b"a third")]))
    built(source, tmp_path / "package")
    target = tmp_path / ("Back.siard" if into is Into.INSIDE else "back")
    restored = restore_archive(tmp_path / "package", target, into)
    assert restored.lobs == 2
    assert restored.warnings == (
        "1 cell with a LOB that another cell names too: s0.t0.c2.r2 names that of s0.t0.c2.r1, for example",
    )
    siard = target if into is Into.INSIDE else target / "Twice.siard"
    built(siard, tmp_path / "again", replace(OPTIONS, name="Twice"))
    assert tree(tmp_path / "again") == tree(tmp_path / "package")
    files = restore_files(tmp_path / "package", tmp_path / "files")
    assert (files.lobs, files.warnings) == (2, restored.warnings)
    with_r2 = RestoreOptions(only=("s0.t0.c2.r2",))
    restore_files(tmp_path / "package", tmp_path / "second", with_r2)
    assert (tmp_path / "second/content/schema0/table0/lob2/record1.bin").read_bytes() == b"one for two"


@pytest.mark.parametrize("into", Into)
def test_bytes_that_two_columns_share_stay_one_entry_and_become_two_files(into: Into, tmp_path: Path) -> None:
    source = siards.two_columns(tmp_path / "Twice.siard", [b"one for two", b"other"], [(0, 0), (0, 1)])
    built(source, tmp_path / "package")
    target = tmp_path / ("Back.siard" if into is Into.INSIDE else "back")
    restored = restore_archive(tmp_path / "package", target, into)
    copies = [each for each in restored.warnings if each.startswith("1 LOB placed as a separate file")]
    assert (restored.lobs, len(copies)) == ((2, 0) if into is Into.INSIDE else (3, 1))
    siard = target if into is Into.INSIDE else target / "Twice.siard"
    assert [each[:2] for each in lobs(siard)] == [each[:2] for each in lobs(source)]
    built(siard, tmp_path / "again", replace(OPTIONS, name="Twice"))
    assert (tree(tmp_path / "again") == tree(tmp_path / "package")) == (into is Into.INSIDE)


@pytest.mark.parametrize(("version", "method"), [("1.0", 0), ("2.0", 0), ("2.2", 8)])
def test_entries_are_packed_as_the_tables_are(version: str, method: int, tmp_path: Path) -> None:
    parts = siards.parts(siards.lobs(b"a" * 500), version=version)
    if version in {"1.0", "2.0"}:
        digest = "" if version == "1.0" else f' messageDigest="MD5{siards.md5(b"a" * 500)}"'
        cell = f'length="500" digestType="MD5" digest="{siards.md5(b"a" * 500)}"'
        parts[siards.TABLE] = parts[siards.TABLE].replace(cell.encode(), f'length="500"{digest}'.encode())
    source = siards.packed(tmp_path / "Small.siard", parts, method=8 if version == "2.2" else 0)
    built(source, tmp_path / "package")
    restore_archive(tmp_path / "package", tmp_path / "Back.siard")
    with zipfile.ZipFile(tmp_path / "Back.siard") as archive:
        entry = archive.getinfo("content/schema0/table0/lob2/record0.bin")
        assert entry.compress_type == method
        assert b"lobFolder" not in archive.read(siards.METADATA)
        assert archive.read(siards.TABLE) == parts[siards.TABLE]


def test_entries_lie_below_the_folder_that_the_metadata_give_the_table(tmp_path: Path) -> None:
    parts = siards.parts(siards.lobs(b"x"))
    renamed = {
        name.replace("table0", "tab le").replace("schema0", "S"): data.replace(b"schema0", b"S").replace(
            b"table0", b"tab le" if name == siards.METADATA else b"tab%20le"
        )
        for name, data in parts.items()
    }
    source = siards.packed(tmp_path / "Odd.siard", renamed)
    built(source, tmp_path / "package")
    restore_archive(tmp_path / "package", tmp_path / "Back.siard")
    assert {count for *_, count in lobs(tmp_path / "Back.siard")} == {1}
    with zipfile.ZipFile(tmp_path / "Back.siard") as archive:
        assert archive.read("content/S/tab le/lob2/record0.bin") == b"x"
        assert b'file="content/S/tab%20le/lob2/record0.bin"' in archive.read("content/S/tab le/tab le.xml")


def two_columns(small: bytes | None, large: bytes, *, taken: dict[str, bytes]) -> dict[str, bytes]:
    """Return an archive whose second column's usual names are taken: by the first one's LOB, or orphans."""
    parts = siards.parts([siards.Lob(data=large, file="content/schema0/table0/other/x.bin")])
    if small is not None:
        name = "content/schema0/table0/lob2/record0.bin"
        cell = f'<c1 file="{name}" length="{len(small)}" digestType="MD5" digest="{siards.md5(small)}"/>'
        parts[siards.TABLE] = parts[siards.TABLE].replace(b"<c1>1</c1>", cell.encode())
        parts[siards.METADATA] = parts[siards.METADATA].replace(b"INTEGER", b"BLOB")
        taken = {name: small, **taken}
    return {**taken, **parts}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("small", "taken", "expected", "unpacked"),
    [
        (b"stays", {}, "record0_1.bin", True),
        (None, {"record0.bin": b"orphan"}, "record0_1.bin", False),
        (b"stays", {"record0_1.bin": b"orphan", "record0_2.bin/y": b"below"}, "record0_3.bin", False),
        (None, {"record0.bin/y": b"below"}, "record0_1.bin", True),
    ],
)
def test_an_entry_whose_usual_name_is_taken_gets_the_next_that_is_free(
    small: bytes | None, taken: dict[str, bytes], expected: str, tmp_path: Path, *, unpacked: bool
) -> None:
    folder = "content/schema0/table0/lob2"
    large = b"large" * 100
    entries = two_columns(small, large, taken={f"{folder}/{name}": data for name, data in taken.items()})
    source = siards.packed(tmp_path / "Small.siard", entries)
    if unpacked:
        with zipfile.ZipFile(source) as archive:
            archive.extractall(tmp_path / "folder" / "Small")
        source = tmp_path / "folder" / "Small"
    options = replace(OPTIONS, min_size=100)
    built(source, tmp_path / "package", options)
    restore_archive(tmp_path / "package", tmp_path / "Back.siard")
    with zipfile.ZipFile(tmp_path / "Back.siard") as archive:
        assert archive.read(f"{folder}/{expected}") == large
        assert f'<c2 file="{folder}/{expected}"'.encode() in archive.read(siards.TABLE)
        assert all(archive.read(f"{folder}/{name}") == data for name, data in taken.items())
        if small is not None:
            assert archive.read(f"{folder}/record0.bin") == small
    assert [count for *_, count in lobs(tmp_path / "Back.siard")] == [1] * (1 + (small is not None))
    built(tmp_path / "Back.siard", tmp_path / "again", replace(options, name="Small"))
    again = restore_archive(tmp_path / "again", tmp_path / "Once more.siard")
    assert again.sha256 == hashlib.sha256((tmp_path / "Back.siard").read_bytes()).hexdigest()


@pytest.mark.parametrize("pack", [None, "tar"])
def test_a_package_without_an_archive_restored(pack: str | None, northwind: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(northwind) as archive:
        for name in archive.namelist():
            if "/lob" in name:
                archive.extract(name, tmp_path / "loose")
    built(tmp_path / "loose", tmp_path / "package", replace(OPTIONS, limits=Limits(bytes=9_000), pack=pack))
    restore_files(tmp_path / "package", tmp_path / "files")
    expected = tree(tmp_path / "loose")
    assert {name: tree(tmp_path / "files")[name] for name in expected} == expected
    with pytest.raises(SourceError, match="holds no archive into which its LOBs could be put"):
        restore_archive(tmp_path / "package", tmp_path / "Back.siard")


@pytest.mark.slow
def test_files_of_slices_equal(northwind_full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed(northwind_full, tmp_path / "package", replace(OPTIONS, limits=Limits(bytes=30_000)))
    result = restore_files(tmp_path / "package", tmp_path / "at once", RestoreOptions(jobs=1))
    monkeypatch.setattr(restoring_files, "_FILES_AT_ONCE", 5)
    monkeypatch.setattr(restoring_files, "_MERGED", 3)
    again = restore_files(tmp_path / "package", tmp_path / "in slices", RestoreOptions(jobs=2))
    assert replace(again, target=result.target) == result
    assert tree(tmp_path / "in slices") == tree(tmp_path / "at once")


def test_few_files_are_open_for_many_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forge.forge(tmp_path / "package", forge.lobs(75, 75))
    result = restore_files(tmp_path / "package", tmp_path / "at once", RestoreOptions(jobs=1))
    monkeypatch.setattr(restoring_files, "_FILES_AT_ONCE", 1)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    here = len(os.listdir("/dev/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (here + 128, limits[1]))  # macOS allows 256, of all there are
    try:
        again = restore_files(tmp_path / "package", tmp_path / "in slices", RestoreOptions(jobs=1))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert replace(again, target=result.target) == result
    assert tree(tmp_path / "in slices") == tree(tmp_path / "at once")


@pytest.mark.slow
def test_the_first_damaged_lob(northwind_full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restoring_files, "_FILES_AT_ONCE", 5)
    packed(northwind_full, tmp_path / "package")
    for number in (12, 3):
        (file, *_) = sorted((tmp_path / f"package/Northwind-full_lobseg_{number}").rglob("record*"))
        data = file.read_bytes()
        file.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    with pytest.raises(SourceError, match=r"lobseg_3/.* but METS says"):
        restore_files(tmp_path / "package", tmp_path / "files", RestoreOptions(jobs=2))
    assert not (tmp_path / "files").exists()


def test_a_selection_reads_no_more_than_it_needs(northwind_full: Path, tmp_path: Path) -> None:
    package = tmp_path / "package"
    packed(northwind_full, package)
    shutil.rmtree(package / "Northwind-full_lobseg_15")  # what is not asked for may be missing
    restored = restore_files(package, tmp_path / "files", RestoreOptions(only=("s0.t4", "s0.t2.c4.r1")))
    found = [name for name in tree(tmp_path / "files") if name.startswith("content/") and "." in name]
    assert len(found) == restored.lobs > 1
    assert {name.split("/")[2] for name in found} == {"table4", "table2"}
    with pytest.raises(SourceError, match=r"lobseg_15/mets\.xml cannot be read"):
        restore_files(package, tmp_path / "all")
    assert names(tmp_path) == {"package", "files"}


# What is wrong with a package


INTO = {"files": None, "Back.siard": Into.INSIDE, "folder": Into.FOLDER}


def restore(root: Path, target: Path, into: Into | None) -> None:
    if into is None:
        restore_files(root, target)
    else:
        restore_archive(root, target, into)


def refused(tmp_path: Path, root: Path) -> str:
    """Restore in every way, expect refusals without files left, and return the message of files."""
    assert not DryRun(root).ok
    messages = []
    for target, into in INTO.items():
        with pytest.raises(SourceError) as refusal:
            restore(root, tmp_path / target, into)
        messages.append(" ".join((refusal.value.message, *refusal.value.details)))
        assert refusal.value.hint
    assert names(tmp_path) == {root.name}
    return messages[0]


NEEDED = {"S011", "S012", "S013", "S014", "S016", "S017", "S023", "S024", "S026", "S027"}
GIVEN_BACK = ("premis_digest_of_a_split_lob", "label_of_another")
IN_PARTS = [
    each
    for each in cases()
    if each.kind == "bad" and each.code in NEEDED and not each.folder.name.endswith(GIVEN_BACK)
]
"""Packages with a LOB whose parts are not right, in what a restore needs of them."""


@pytest.mark.parametrize("case", spread(IN_PARTS, 6), ids=lambda case: case.folder.name)
def test_a_lob_with_faulty_parts_is_neither_restored_nor_converted(case: Case, tmp_path: Path) -> None:
    root = case.made(tmp_path)
    refused(tmp_path, root)
    with pytest.raises(SourceError):
        convert_package(root, tmp_path / "new", OPTIONS)
    assert names(tmp_path) == {"package"}


@pytest.mark.parametrize("damage", damages.DAMAGES, ids=lambda each: each.name)
def test_the_lob_whose_part_is_at_fault_is_named(damage: damages.Damage, root: Path, tmp_path: Path) -> None:
    damage.change(root)
    splitting.agreed(root)
    assert splitting.SPLIT in refused(tmp_path, root)


def test_a_file_that_no_mets_lists(root: Path, tmp_path: Path) -> None:
    document = root / splitting.mets(2)
    text = document.read_text(encoding="utf-8")
    start = text.index('<mets:file ID="s0.t2.c4.r3"')
    stop = text.index("</mets:file>", start) + len("</mets:file>")
    document.write_text(text[:start] + text[stop:], encoding="utf-8")
    splitting.agreed(root)
    assert "is listed by no METS of the package" in refused(tmp_path, root)


def test_cells_that_changed_places(tmp_path: Path) -> None:
    """Two cells without digests name each other's file: only the ids in METS tell."""
    source = siards.packed(
        tmp_path / "Bare.siard",
        siards.parts([siards.Lob(data=b"one", attributes=""), siards.Lob(data=b"two", attributes="")]),
    )
    built(source, tmp_path / "package")
    source.unlink()
    siard = tmp_path / "package" / "Bare.siard"
    with zipfile.ZipFile(siard) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    table = parts[siards.TABLE]
    first, second = (f"record{number}.bin".encode() for number in range(2))
    parts[siards.TABLE] = table.replace(first, b"##").replace(second, first).replace(b"##", second)
    siards.packed(siard, parts)
    with pytest.raises(SourceError) as refusal:
        restore_files(tmp_path / "package", tmp_path / "files")
    file = "'Bare_lobseg_0/content/schema0/table0/lob2/record1.bin'"
    assert refusal.value.message == (
        f"LOB s0.t0.c2.r1: its cell names {file}, which METS lists as s0.t0.c2.r2, and s0.t0.c2.r1 elsewhere"
    )


def test_a_lob_that_no_cell_names_is_restored_only_as_a_file(root: Path, tmp_path: Path) -> None:
    cells = [forge.Lob(lob.segment, lob.row, lob.data, lob.extension) for lob in splitting.LOBS[:1]]
    sealed(root, forge.siard(forge.table(cells, "Northwind")))
    restored = restore_files(root, tmp_path / "files")
    assert restored.warnings == ("2 LOBs that METS lists and no cell names: restored nevertheless",)
    assert (restored.lobs, restored.split) == (3, 1)
    path = tmp_path / "files/content/schema0/table2/lob4/record1.bin"
    assert path.read_bytes() == splitting.LOBS[1].data
    one = restore_archive(root, tmp_path / "Back.siard")
    named, rows = one.warnings
    assert (one.lobs, named) == (1, "2 LOBs that METS lists and no cell names: left out")
    assert "has 1 row where metadata.xml says 4" in rows


def sealed(root: Path, archive: bytes) -> None:
    """Put another archive into a package, and its digest into METS."""
    digest = forge.md5((root / "Northwind.siard").read_bytes())
    (root / "Northwind.siard").write_bytes(archive)
    splitting.edit(root / "mets.xml", digest, forge.md5(archive))


@pytest.mark.parametrize("into", Into)
def test_a_lob_in_parts_inside_the_archive_is_joined(into: Into, root: Path, tmp_path: Path) -> None:
    cells = [forge.Lob(lob.segment, lob.row, lob.data, lob.extension) for lob in splitting.LOBS]
    name = "content/schema0/table2/lob4/record3.bin"
    stated = f'length="6" digestType="MD5" digest="{forge.md5(b"onetwo")}"'
    row = f'<row><c1>4</c1><c4 file="{name}" {stated}/></row>'
    table = forge.table(cells, "Northwind").replace(b"</table>", f"{row}</table>".encode())
    parts = [(f"{name}_part001", b"one"), (f"{name}_part002", b"two")]
    sealed(root, forge.siard(table, entries=parts))
    files = restore_files(root, tmp_path / "files")
    assert (files.lobs, files.split, files.inside) == (4, 2, 1)
    assert (tmp_path / "files" / name).read_bytes() == b"onetwo"
    restore(root, target := tmp_path / ("x.siard" if into is Into.INSIDE else "x"), into)
    siard = target if into is Into.INSIDE else target / "Northwind.siard"
    found = {lob: digest for lob, digest, _ in lobs(siard)}
    assert found["s0.t2.c4.r4"] == hashlib.sha256(b"onetwo").hexdigest()
    with zipfile.ZipFile(siard) as archive:
        assert not [each for each in archive.namelist() if "_part" in each]
        assert (name in archive.namelist()) == (into is Into.INSIDE)


def test_an_archive_in_pieces_is_proven_piece_by_piece(root: Path, tmp_path: Path) -> None:
    first, *_, last = damages.in_pieces(root)
    assert restore_archive(root, tmp_path / "x.siard").lobs == 3
    assert convert_package(root, tmp_path / "new", OPTIONS).files == 3
    for name in (first, last):
        forge.edit(root / "mets.xml", forge.md5((root / name).read_bytes()), "0" * 32)
        with pytest.raises(SourceError, match=rf"^{name} has the MD5 \w+, but METS says 0{{32}}$"):
            restore_archive(root, tmp_path / "y.siard")
        forge.edit(root / "mets.xml", "0" * 32, forge.md5((root / name).read_bytes()))
    assert names(tmp_path) == {"package", "x.siard", "new"}


def test_a_selected_lob_of_a_child_that_cannot_be_read(root: Path, tmp_path: Path) -> None:
    (root / splitting.mets(0)).write_text("no METS", encoding="utf-8")
    with pytest.raises(SourceError, match="is in no METS that could be read: Northwind_lobseg_0"):
        restore_files(root, tmp_path / "files", RestoreOptions(only=("s0.t2.c4.r1",)))
    restore_files(root, tmp_path / "files", RestoreOptions(only=("s0.t2.c4.r3",)))


@pytest.mark.parametrize(
    ("data", "words"), [(None, "cannot be opened: No such file"), (b"short", "has 5 bytes; expected 35")]
)
def test_a_file_of_a_package_without_an_archive(
    data: bytes | None, words: str, root: Path, tmp_path: Path
) -> None:
    splitting.edit(root / "mets.xml", '"Northwind.siard"', '"Northwind.txt"')
    path = root / "Northwind_lobseg_0" / splitting.LOBS[0].path(0)
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(SourceError, match=words):
        restore_files(root, tmp_path / "files")
    assert names(tmp_path) == {"package"}


def test_an_id_that_is_no_place(tmp_path: Path) -> None:
    root = splitting.forged(tmp_path / "package", splitting.LOBS[:1])
    (root / "Northwind.siard").unlink()
    text = (root / "mets.xml").read_text(encoding="utf-8")
    (root / "mets.xml").write_text(text.replace("Northwind.siard", "Northwind.txt"), encoding="utf-8")
    document = root / splitting.mets(0)
    document.write_text(document.read_text(encoding="utf-8").replace("s0.t2.c4.r1", "ID1"), encoding="utf-8")
    splitting.agreed(root)
    with pytest.raises(SourceError, match="LOB 'ID1': its id is not a place in a database"):
        restore_files(root, tmp_path / "files")


def test_a_digest_that_cannot_be_computed_is_a_warning(root: Path, tmp_path: Path) -> None:
    splitting.edit(root / splitting.mets(2), 'CHECKSUMTYPE="MD5"', 'CHECKSUMTYPE="TIGER"', count=2)
    restored = restore_files(root, tmp_path / "files")
    assert restored.warnings[0].startswith("2 digests that METS does not give, or by an algorithm that")


def test_the_digest_of_a_last_part_is_taken_where_mets_proves_all(northwind: Path, tmp_path: Path) -> None:
    pictures = segmented_folders.pictures(northwind)
    folder = segmented_folders.dbptk_22(tmp_path / "folder", pictures, whole_digests=False)
    accepted = frozenset({PART_DIGEST})
    describe_in_place(folder, PackageOptions(created=OPTIONS.created, accepted=accepted))
    restore_files(folder, tmp_path / "files")
    found = [
        (tmp_path / "files/content/schema1/table1/lob3" / f"record{n}.bin").read_bytes()
        for n in range(len(pictures))
    ]
    assert found == pictures


@pytest.mark.parametrize("into", [*Into])
def test_omissions_of_a_restored_archive_are_reported(northwind: Path, tmp_path: Path, into: Into) -> None:
    folder = segmented_folders.dbptk_21(tmp_path / "folder", segmented_folders.pictures(northwind))
    (archive,) = folder.glob("*.siard")
    with zipfile.ZipFile(archive) as zipped:
        given = {f"around/{name}": zipped.read(name) for name in zipped.namelist()}
    name = b"<name>Picture</name>"
    assert name in given["around/header/metadata.xml"]
    given["around/header/metadata.xml"] = given["around/header/metadata.xml"].replace(
        name, name + b"<folder>lob3</folder>"
    )
    siards.packed(archive, given | {"beside.txt": b""})
    describe_in_place(folder, PackageOptions(created=OPTIONS.created))
    notes = restore_archive(folder, tmp_path / "out", into).warnings
    assert notes[0] == (
        "the folder around/ around the archive's entries is left out, and so is what lies beside it: 1 entry"
        ", the first beside.txt"
    )
    assert notes[1].endswith(
        ".Picture: its folder 'lob3' is left out of metadata.xml, as its cells now name the LOBs without it"
    )
    (written,) = (tmp_path / "out").glob("*.siard")
    with zipfile.ZipFile(written) as zipped:
        assert "beside.txt" not in zipped.namelist()
        assert b"<folder>lob3</folder>" not in zipped.read("header/metadata.xml")


# The target


@pytest.mark.parametrize("into", [None, Into.INSIDE])
def test_a_target_that_is_there_or_inside(into: Into | None, root: Path, tmp_path: Path) -> None:
    before = tree(tmp_path)
    for target, words in (
        (root / "x.siard", "lies inside the package"),
        (root, "lies inside the package"),
        (tmp_path / "none" / "x.siard", "is not a folder"),
    ):
        with pytest.raises(ConfigError if "inside" in words else TargetError, match=words):
            restore(root, target, into)
    (tmp_path / "x.siard").write_bytes(b"mine")
    with pytest.raises(TargetError, match="exists already"):
        restore_archive(root, tmp_path / "x.siard")
    (tmp_path / "x.siard").unlink()
    assert tree(tmp_path) == before


def test_a_package_of_two_archives_is_refused(root: Path) -> None:
    text = (root / "mets.xml").read_text(encoding="utf-8")
    start = text.index("<mets:file ", text.index("ID_SIARD_FILES"))
    stop = text.index("</mets:file>", start) + len("</mets:file>")
    other = text[start:stop].replace("Northwind.siard", "Other.siard").replace("ID_SIARD_DDL", "ID_OTHER")
    (root / "mets.xml").write_text(text[:stop] + other + text[stop:], encoding="utf-8")
    with pytest.raises(SourceError, match="holds 2 archives: Northwind"):
        packages_source.opened(root)


def test_an_archive_is_no_package(northwind: Path, root: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is a SIARD archive, expected a package"):
        restore_files(northwind, tmp_path / "files")
    with pytest.raises(SourceError) as refusal:
        packages_source.opened(root / "Northwind.siard")
    assert str(root) in refusal.value.hint
