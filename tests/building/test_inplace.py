"""A folder of segments becomes a package in place, and its files stay untouched."""

from __future__ import annotations

import errno
import os
import re
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from metspack import checking
from metspack.building import build, inplace, manifests
from metspack.building.build import BuildOptions
from metspack.building.inplace import Described
from metspack.building.options import PackageOptions
from metspack.building.segmentedfolder import SegmentedFolder, segment_folder
from metspack.errors import ConfigError, MetspackError, SourceError, TargetError
from metspack.files import journal
from metspack.files.transaction import Transaction
from metspack.limits import Limits
from metspack.mets.dialects.interface import ParentContent
from metspack.mets.dialects.recommendation.dialect import Recommendation
from metspack.model import Severity
from metspack.sources.archive import Grants
from tests import official, segmented_folders, siards
from tests.siard import forging
from tests.tables import tabled
from tests.trees import names, tree

CREATED = "2016-02-23T00:00:00Z"
OPTIONS = PackageOptions(created=CREATED)
MANIFESTS = ("manifest-md5.txt", "manifest-sha256.txt")


class Stat(NamedTuple):
    inode: int
    modified: int
    links: int
    mode: int
    data: bytes


def stats(folder: Path) -> dict[str, Stat]:
    """Return what must not change of every file below a folder."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            status = path.stat()
            found[str(path.relative_to(folder))] = Stat(
                status.st_ino, status.st_mtime_ns, status.st_nlink, status.st_mode, path.read_bytes()
            )
    return found


def described(folder: Path, **changes: Any) -> Described:
    return inplace.describe_in_place(folder, replace(OPTIONS, **changes))


def codes(folder: Path, severity: Severity | None = None) -> set[str]:
    found = checking.check(folder, checking.Level.FULL)
    return {each.code for each in found if severity is None or each.severity is severity}


def added(before: dict[str, Stat], folder: Path) -> set[str]:
    """Return the files that were added, when all others are as they were."""
    after = stats(folder)
    assert {name: after[name] for name in before} == before
    return after.keys() - before.keys()


def with_lobs(folder: Path, lobs: dict[str, str], archive: str = "x.siard") -> Path:
    """Write LOBs, and an archive whose cells name them in this order."""
    rows = [segmented_folders.cell("c3", file, data.encode()) for file, data in lobs.items()]
    segmented_folders.siard(folder / archive, rows, database="./", column="./", version="2.2")
    for file, data in lobs.items():
        segmented_folders.write(folder / file, data.encode())
    return folder


@pytest.fixture
def pictures(northwind: Path) -> list[bytes]:
    return segmented_folders.pictures(northwind)


@pytest.fixture
def folder(tmp_path: Path, pictures: list[bytes]) -> Path:
    """A folder as DBPTK leaves one for SIARD 2.1, with 3 segments."""
    (tmp_path / "in").mkdir()
    return segmented_folders.dbptk_21(tmp_path / "in", pictures)


@pytest.fixture
def divided(tmp_path: Path, pictures: list[bytes]) -> Path:
    """A folder as DBPTK leaves one for SIARD 2.2, with split LOBs."""
    (tmp_path / "in").mkdir()
    return segmented_folders.dbptk_22(tmp_path / "in", pictures)


# --- what is found, and what it becomes ---------------------------------------------------------------


def test_what_dbptk_writes_for_siard_2_1(folder: Path, pictures: list[bytes]) -> None:
    before = stats(folder)
    result = described(folder)
    segments = [f"x.siard_lobseg_{number}" for number in (1, 2, 3)]
    assert added(before, folder) == {"mets.xml", *MANIFESTS, *(f"{each}/mets.xml" for each in segments)}
    assert names(folder.parent) == {"in"}
    assert codes(folder) == {"S002", "P105"}
    assert (result.name, result.segments, result.files) == ("x", 3, 8)
    assert (result.bytes, result.inside, result.unreferenced) == (sum(map(len, pictures)), 0, 0)
    parent = (folder / "mets.xml").read_text()
    assert re.findall(r'mets:file ID="(ID_x[^"]*_mets)"', parent) == [f"ID_{each}_mets" for each in segments]
    child = (folder / "x.siard_lobseg_2/mets.xml").read_text()
    assert 'OBJID="ID_x.siard_lobseg_2_mets"' in child
    assert 'mets:fileGrp ID="seg_2"' in child
    assert re.findall(r'fptr FILEID="([^"]*)"', child) == ["s1.t1.c4.r4", "s1.t1.c4.r5", "s1.t1.c4.r6"]
    assert 'href="content/schema1/table1/lob4/record4.bin"' in child
    assert f'mptr xlink:type="simple" xlink:href="{result.objid}"' in child


def test_what_dbptk_writes_for_siard_2_2_with_parts(divided: Path, pictures: list[bytes]) -> None:
    before = stats(divided)
    result = described(divided)
    assert codes(divided, Severity.ERROR) == set()
    assert codes(divided, Severity.WARNING) == {"P104", "P120"}
    assert all(name.endswith(("mets.xml", *MANIFESTS)) for name in added(before, divided))
    assert result.files == 8
    assert result.bytes == sum(map(len, pictures))
    child = (divided / "x.siard_lobs/s1_t1_c3/seg_1/mets.xml").read_text()
    assert 'OBJID="ID_x.siard_s1_t1_c3_seg_1_mets"' in child
    assert re.findall(r'file ID="(s[^"]*)" SEQ="(\d+)".*GROUPID="([^"]*)"', child) == [
        ("s1.t1.c3.r2.p1", "1", "s1.t1.c3.r2")
    ]
    parent = (divided / "mets.xml").read_text()
    parts = re.findall(
        r'div ORDER="(\d)" LABEL="(s1\.t1\.c3\.r2\.p\d)">\s*<mets:mptr [^>]*href="([^"]*)"', parent
    )
    assert parts == [(str(n + 1), f"s1.t1.c3.r2.p{n}", f"ID_x.siard_s1_t1_c3_seg_{n}_mets") for n in range(3)]
    whole = re.search(r'file ID="s1\.t1\.c3\.r2" [^>]*SIZE="(\d+)" [^>]*CHECKSUM="([^"]*)"/>', parent)
    assert whole
    assert whole.groups() == (str(len(pictures[1])), siards.md5(pictures[1]))


@pytest.mark.parametrize(("layout", "most"), [("lobseg", 45_000), ("siard22", 9_000)])
def test_own_layouts_get_builds_bytes(tmp_path: Path, northwind_full: Path, layout: str, most: int) -> None:
    out = tmp_path / "out"
    limits = Limits(files=4, bytes=most)
    build.build(northwind_full, out, BuildOptions(created=CREATED, limits=limits, layout=layout))
    built = tree(out)
    for path in [*out.rglob("mets.xml"), *out.glob("manifest-*.txt")]:
        path.unlink()
    result = described(out, verify=True)
    assert tree(out) == built
    assert result.warnings == ()


def test_another_tree_has_a_segment_for_each_of_its_top_folders(tmp_path: Path) -> None:
    folder = with_lobs(tmp_path / "in", {"lobs b/x/1.bin": "one", "lobs a/2.bin": "two"}, "My db.siard")
    result = described(folder)
    assert codes(folder) == {"P120"}  # the cells have spaces
    assert (result.name, result.segments) == ("My_db", 2)
    parent = (folder / "mets.xml").read_text()
    assert 'href="My%20db.siard"' in parent
    # In the order of the LOBs; those without a number are numbered by their names.
    assert re.findall(r'file ID="ID_(lobs_.)_mets"', parent) == ["lobs_b", "lobs_a"]
    assert 'mets:fileGrp ID="seg_1"' in (folder / "lobs b/mets.xml").read_text()


def test_files_that_no_cell_names_are_listed_and_reported(folder: Path) -> None:
    strangers = [f"x.siard_lobseg_2/content/{name}" for name in ("Thumbs.db", "a.txt", "b c.txt", "d.txt")]
    for each in strangers:
        segmented_folders.write(folder / each, each.encode())
    segmented_folders.write(folder / "mapping.txt", b"")
    segmented_folders.write(folder / "notes.pdf", b"notes")
    segmented_folders.write(folder / "documents/manual/how.txt", b"so")
    result = described(folder)
    child = (folder / "x.siard_lobseg_2/mets.xml").read_text()
    assert re.findall(r'fptr FILEID="([^"]*)"', child) == [
        *(f"s1.t1.c4.r{n}" for n in (4, 5, 6)),
        *(f"unreferenced.{n}" for n in (2, 3, 4, 5)),
    ]
    assert 'href="content/b%20c.txt"' in child
    assert result.unreferenced == 5
    assert (
        "5 files in segments that no cell names (documents/manual/how.txt, "
        "x.siard_lobseg_2/content/Thumbs.db, x.siard_lobseg_2/content/a.txt, ...): listed as unreferenced"
        in result.warnings
    )
    assert 'file ID="other.2" MIMETYPE="application/pdf"' in (folder / "mets.xml").read_text()
    assert codes(folder, Severity.ERROR) == set()
    assert "Z017" in codes(folder)


def test_notes_among_the_folders_of_segments_are_the_parents(divided: Path) -> None:
    segmented_folders.write(divided / "x.siard_lobs/notes.txt", b"notes")
    described(divided)
    assert 'href="x.siard_lobs/notes.txt"' in (divided / "mets.xml").read_text()
    assert not (divided / "x.siard_lobs/mets.xml").exists()
    assert codes(divided, Severity.ERROR) == set()


def test_lobs_among_the_folders_of_segments_make_them_one_segment(tmp_path: Path) -> None:
    folder = with_lobs(tmp_path / "in", {"x_lobs/s0_t0_c1/seg_0/1.bin": "one", "x_lobs/2.bin": "two"})
    assert described(folder).segments == 1
    assert (folder / "x_lobs/mets.xml").is_file()
    assert codes(folder, Severity.ERROR) == set()


def shared(folder: Path, *cells: str) -> Path:
    segmented_folders.siard(folder / "x.siard", cells, database="./", column="./", version="2.2")
    segmented_folders.write(folder / "x_lobseg_0/1.bin", b"one")
    return folder


def test_a_file_that_two_cells_name_is_listed_once(tmp_path: Path) -> None:
    one = segmented_folders.cell("c3", "x_lobseg_0/1.bin", b"one")
    without = '<c3 file="x_lobseg_0/1.bin" length="3"/>'
    folder = shared(tmp_path / "in", one, one, without)
    result = described(folder)
    child = (folder / "x_lobseg_0/mets.xml").read_text()
    assert re.findall(r'fptr FILEID="([^"]*)"', child) == ["s1.t1.c3.r1"]
    assert result.files == 1
    assert "2 cells name a LOB that another cell names too: s1.t1.c3.r2 that of s1.t1.c3.r1" in str(
        result.warnings
    )
    assert "1 LOB without a digest" in str(result.warnings)
    assert codes(folder, Severity.ERROR) == set()


def test_each_of_two_cells_is_compared_with_the_file(tmp_path: Path) -> None:
    one = segmented_folders.cell("c3", "x_lobseg_0/1.bin", b"one")
    folder = shared(tmp_path / "in", one, segmented_folders.cell("c3", "x_lobseg_0/1.bin", b"eno"))
    with pytest.raises(SourceError, match=r"LOB s1\.t1\.c3\.r2 .* but its cell says"):
        described(folder)


def test_lobs_inside_the_archive_are_left_to_it(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    inside = "content/schema0/table0/lob1/record0.bin"
    table = forging.Table(
        columns=(forging.column(), forging.column("B", lob_folder="./")),
        rows=(
            segmented_folders.cell("c1", inside, b"inside")
            + segmented_folders.cell("c2", "x_lobseg_0/1.bin", b"one"),
        ),
    )
    forging.siard(folder / "x.siard", tables=[table], lobs={inside: b"inside"}, lob_folder="./")
    segmented_folders.write(folder / "x_lobseg_0/1.bin", b"one")
    result = described(folder)
    assert (result.files, result.inside) == (1, 1)
    assert "1 LOB inside the archive: METS lists only the archive" in result.warnings
    assert codes(folder) == set()


def test_an_archive_in_parts_is_listed_part_by_part(folder: Path) -> None:
    data = (folder / "x.siard").read_bytes()
    (folder / "x.siard").unlink()
    for number, at in enumerate(range(0, len(data), 1000), start=1):
        (folder / f"x.siard_part{number:03d}").write_bytes(data[at : at + 1000])
    before = stats(folder)
    result = described(folder)
    assert result.name == "x"
    added(before, folder)
    parent = (folder / "mets.xml").read_text()
    assert re.findall(r'file ID="(ID_X[^"]*)" SEQ="(\d)"', parent)[:2] == [
        ("ID_X.SIARD.1", "0"),
        ("ID_X.SIARD.2", "1"),
    ]
    assert 'fptr FILEID="ID_SIARD_DDL"' in parent
    assert codes(folder, Severity.ERROR) == set()


@pytest.mark.parametrize("name", ["x.siard", "x"])
def test_an_unpacked_archive_is_listed_file_by_file(folder: Path, name: str) -> None:
    with zipfile.ZipFile(folder / "x.siard") as archive:
        (folder / "x.siard").rename(folder.parent / "x.zip")
        archive.extractall(folder / name)
    result = described(folder)
    assert result.name == "x"
    parent = (folder / "mets.xml").read_text()
    assert f'href="{name}/header/metadata.xml"' in parent
    assert f"  {name}/header/metadata.xml\n" in (folder / MANIFESTS[0]).read_text()
    assert codes(folder, Severity.ERROR) == set()


def test_a_changed_messagedigest_is_reported_and_left(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    digest = f"<messageDigest><digestType>MD5</digestType><digest>{'0' * 32}</digest></messageDigest>"
    forging.siard(folder / "x.siard", tables=[forging.Table()], digests=digest)
    before = stats(folder)
    result = described(folder)
    assert "the archive was changed after it was sealed" in str(result.warnings)
    assert added(before, folder) == {"mets.xml", *MANIFESTS}
    for path in added(before, folder):
        (folder / path).unlink()
    assert described(folder, check_message_digest=False).warnings == ()


def test_all_mets_are_valid(divided: Path) -> None:
    data = (divided / "x.siard").read_bytes()
    (divided / "x.siard").unlink()
    for number, at in enumerate(range(0, len(data), 1000), start=1):
        (divided / f"x.siard_part{number:03d}").write_bytes(data[at : at + 1000])
    (divided / "notes.txt").write_bytes(b"notes")
    segmented_folders.write(divided / "x.siard_lobs/s1_t1_c3/seg_0/notes.txt", b"notes")
    described(divided)
    for document in divided.rglob("mets.xml"):
        assert not list(official.mets_faults(document))


def test_ids_and_agents_are_those_given(folder: Path) -> None:
    result = described(
        folder, name="My name", objid="ID.1", agents=("National Archives",), checksum="SHA-256"
    )
    assert (result.name, result.objid) == ("My_name", "ID.1")
    parent = (folder / "mets.xml").read_text()
    assert 'ID="ID_MY_NAME.SIARD"' in parent
    assert "National Archives" in parent
    assert 'CHECKSUMTYPE="SHA-256"' in parent
    assert codes(folder, Severity.ERROR) == set()


# --- what is refused ----------------------------------------------------------------------------------


def refused(folder: Path, kind: type[MetspackError], match: str, **changes: Any) -> MetspackError:
    """Assert that a folder is refused and left as it was, without anything beside it."""
    before, beside = stats(folder), names(folder.parent)
    with pytest.raises(kind, match=match) as caught:
        described(folder, **changes)
    assert caught.value.hint
    assert added(before, folder) == set()
    assert names(folder.parent) == beside
    return caught.value


@pytest.mark.parametrize(
    "name",
    ["mets.xml", "METS.xml", "x.siard_lobseg_2/mets.xml", "x.siard_lobseg_1/content/METS.XML", *MANIFESTS],
)
def test_what_is_described_already_is_refused(folder: Path, name: str) -> None:
    segmented_folders.write(folder / name, b"mine")
    error = refused(folder, TargetError, f"has METS files or manifests already: {name}")
    assert error.details == (name,)


def test_one_archive_is_expected(folder: Path) -> None:
    shutil.copy(folder / "x.siard", folder / "y.siard")
    refused(folder, SourceError, r"holds 2 SIARD archives \(x\.siard, y\.siard\); expected one")
    for name in ("x.siard", "y.siard"):
        (folder / name).unlink()
    refused(folder, SourceError, "holds no SIARD archive")


def test_a_folder_is_expected(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is not a folder"):
        described(tmp_path / "none")


@pytest.mark.parametrize("where", ["outside", "inside"])
def test_a_lob_in_a_further_root(folder: Path, tmp_path: Path, where: str) -> None:
    root = tmp_path / "far" if where == "outside" else folder / "far"
    root.mkdir()
    (folder / "x.siard_lobseg_1").rename(root / "x.siard_lobseg_1")
    grants = Grants(lob_roots=(root,))
    if where == "outside":
        refused(folder, SourceError, f"lies outside {folder}", grants=grants)
    else:
        with pytest.raises(SourceError, match="is not a valid package"):
            described(folder, grants=grants)  # nothing in the package tells where they are


def test_a_packed_segment_is_refused(folder: Path) -> None:
    with zipfile.ZipFile(folder / "x.siard_lobseg_1.zip", "w") as archive:
        for path in (folder / "x.siard_lobseg_1").rglob("*.bin"):
            archive.write(path, path.relative_to(folder / "x.siard_lobseg_1"))
    shutil.rmtree(folder / "x.siard_lobseg_1")
    refused(folder, SourceError, "lies in a packed segment")


def test_a_lob_that_is_missing_is_named(folder: Path) -> None:
    (folder / "x.siard_lobseg_1/content/schema1/table1/lob4/record2.bin").unlink()
    refused(folder, SourceError, "row 2")


@tabled
def test_folders_of_lobs_that_are_no_segments_are_refused(
    tmp_path: Path, words: str, lobs: dict[str, str], beside: list[str] | None
) -> None:
    folder = with_lobs(tmp_path / "in", lobs)
    for each in beside or ():
        segmented_folders.write(folder / each, b"")
    refused(folder, SourceError, words)


def test_an_id_that_is_a_childs_is_refused(folder: Path) -> None:
    refused(folder, ConfigError, "is that of a child", objid="ID_x.siard_lobseg_1_mets")


@pytest.mark.parametrize("changes", [{"agents": (" ",)}, {"mets_profile": ""}])
def test_empty_words_are_refused(folder: Path, changes: dict[str, Any]) -> None:
    refused(folder, ConfigError, "is empty", **changes)


def test_links_and_other_things_are_refused(folder: Path) -> None:
    (folder / "x.siard_lobseg_1/link").symlink_to("content")
    refused(folder, SourceError, "is a symbolic link")
    (folder / "x.siard_lobseg_1/link").unlink()
    os.mkfifo(folder / "x.siard_lobseg_1/pipe")
    refused(folder, SourceError, "is a named pipe")


@pytest.mark.parametrize("name", ["a\nb", "a\\b"])
def test_names_that_no_mets_can_hold_are_refused(folder: Path, name: str) -> None:
    (folder / "x.siard_lobseg_1" / name).write_bytes(b"")
    refused(folder, SourceError, "cannot be the name of a file")


def test_parts_of_two_lobs_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    whole, first = b"onetwo", b"one"
    rows = [
        segmented_folders.cell("c3", "x_lobs/a/seg_0/1.bin_part001", first),
        segmented_folders.cell("c3", "x_lobs/a/seg_0/1.bin", whole),
    ]
    segmented_folders.siard(folder / "x.siard", rows, database="./", column="./", version="2.2")
    segmented_folders.write(folder / "x_lobs/a/seg_0/1.bin_part001", first)
    segmented_folders.write(folder / "x_lobs/a/seg_0/1.bin_part002", b"two")
    refused(folder, SourceError, r"has parts that belong to another LOB as well \(s1\.t1\.c3\.r1\)")


def test_a_read_only_folder_is_refused_before_reading(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, _mode: not str(path).endswith("lobseg_2"))
    refused(folder, TargetError, "no file can be added to .*lobseg_2")


def test_a_file_system_of_its_own_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lstat = os.lstat

    class Elsewhere:
        st_dev = -1

    def looked_at(path: Any, **options: Any) -> Any:
        return Elsewhere() if path == folder else lstat(path, **options)

    monkeypatch.setattr(os, "lstat", looked_at)
    refused(folder, TargetError, "is a mount point")


def test_a_folder_that_changes_meanwhile_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = manifests.write

    def late(*arguments: Any) -> None:
        write(*arguments)
        (folder / "x.siard_lobseg_1/new").write_bytes(b"")

    monkeypatch.setattr(manifests, "write", late)
    with pytest.raises(SourceError, match=r"'x\.siard_lobseg_1/new' was added"):
        described(folder)
    assert not list(folder.rglob("mets.xml"))


def test_what_does_not_check_is_taken_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_parent = Recommendation.write_parent

    def wrong(self: Recommendation, package: Path, content: ParentContent) -> Any:
        return write_parent(self, package, replace(content, objid="another"))

    monkeypatch.setattr(Recommendation, "write_parent", wrong)
    error = refused(folder, SourceError, "is not a valid package: .* was added was removed again")
    assert any("L020" in each for each in error.details)


# --- stopped in between -------------------------------------------------------------------------------


def stop_at(monkeypatch: pytest.MonkeyPatch, turn: int, error: BaseException) -> list[Path]:
    """Let the nth link into the folder raise; return the earlier links."""
    link, done = os.link, list[Path]()

    def stopping(source: str, target: str, *, dst_dir_fd: int, **options: Any) -> None:
        if len(done) == turn:
            raise error
        done.append(Path(os.readlink(f"/proc/self/fd/{dst_dir_fd}"), target))
        link(source, target, dst_dir_fd=dst_dir_fd, **options)

    monkeypatch.setattr(os, "link", stopping)
    return done


@pytest.mark.parametrize(
    ("turn", "error"),
    [
        (0, KeyboardInterrupt()),
        (2, OSError(errno.ENOSPC, "No space left on device")),
        (5, KeyboardInterrupt()),
    ],
)
def test_stop_undone(folder: Path, monkeypatch: pytest.MonkeyPatch, turn: int, error: BaseException) -> None:
    before = stats(folder)
    done = stop_at(monkeypatch, turn, error)
    with pytest.raises((TargetError, KeyboardInterrupt)):
        described(folder)
    assert len(done) == turn
    assert added(before, folder) == set()
    assert names(folder.parent) == {"in"}


def test_the_order_is_children_manifests_parent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = stop_at(monkeypatch, 99, OSError())
    described(folder)
    assert [str(path.relative_to(folder)) for path in done] == [
        *(f"x.siard_lobseg_{n}/mets.xml" for n in (1, 2, 3)),
        *MANIFESTS,
        "mets.xml",
    ]
    assert all(path.stat().st_nlink == 1 for path in done)


def kill_at(folder: Path, monkeypatch: pytest.MonkeyPatch, turn: int) -> None:
    """Stop at the nth link as SIGKILL does: all that was put stays."""
    with monkeypatch.context() as patched:
        stop_at(patched, turn, KeyboardInterrupt())

        def killed(staging: Transaction, *_: object) -> None:
            staging.journal.close()

        patched.setattr(Transaction, "__exit__", killed)
        with pytest.raises(KeyboardInterrupt):
            described(folder)


@pytest.mark.parametrize("turn", [0, 2, 5])
def test_after_a_kill_a_run_begins_anew(folder: Path, monkeypatch: pytest.MonkeyPatch, turn: int) -> None:
    before = stats(folder)
    kill_at(folder, monkeypatch, turn)
    assert journal.interrupted(folder)
    assert len(added(before, folder)) == turn
    described(folder)
    assert len(added(before, folder)) == 6
    assert names(folder.parent) == {"in"}
    assert not journal.interrupted(folder)


def test_two_runs_at_once_are_refused(folder: Path) -> None:
    staging = Transaction(folder, "mets.xml", list)
    with pytest.raises(TargetError, match="another run is at work"):
        described(folder)
    assert not journal.interrupted(folder)
    staging.discard()
    described(folder)


@tabled
def test_a_partial_folder_that_is_not_ours_is_left(folder: Path, words: bytes | None) -> None:
    partial = journal.partial_of(folder)
    (partial / "package").mkdir(parents=True)
    (partial / "package" / "file").write_bytes(b"mine")
    if words is not None:
        (partial / "journal.jsonl").write_bytes(words)
    before = tree(partial)
    with pytest.raises(TargetError, match="its origin is unknown"):
        described(folder)
    assert tree(partial) == before
    assert not journal.interrupted(folder)


# --- names --------------------------------------------------------------------------------------------


@tabled
def test_the_segment_of_a_path(path: str, segment: str, series: str, number: int | None, word: str) -> None:
    found = segment_folder(path)
    assert found
    assert (found.path, found.series, found.number, found.word) == (segment, series, number, word)
    assert segment_folder("file") is None


GROWN: list[Callable[[Path], object]] = [
    lambda path: path.write_bytes(b"longer than it was"),
    lambda path: path.unlink(),
]


@pytest.mark.parametrize("change", GROWN, ids=["changed", "gone"])
def test_every_file_is_looked_at_again(folder: Path, change: Callable[[Path], object]) -> None:
    segmented_folders.write(folder / "notes.txt", b"")
    with SegmentedFolder(folder) as found:
        found.check_unchanged()
        change(folder / "notes.txt")
        with pytest.raises(
            SourceError, match=r"was changed while it was read: ('notes|1 of 10 files are gone)"
        ):
            found.check_unchanged()
        with pytest.raises(SourceError, match="was added"):
            found.claim("other.txt", "s0.t0.c1.r1")
