"""The checker finds LOBs as the reader of archives does, by any convention."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metspack.checking import Code, Level, check, explained
from metspack.checking import inventory as checking_walking
from metspack.checking.archives.forms import Entries
from metspack.checking.archives.mapping import Mapping
from metspack.checking.archives.packagefiles import Files
from metspack.checking.catalogue import Catalogue
from metspack.checking.options import Looking
from metspack.checking.segments import Agreement
from metspack.checking.tree import CheckedTree
from metspack.containers.zipreader import ZipContainer
from metspack.locations import Convention
from metspack.locations.errors import LobUnresolved
from metspack.locations.listedsearch import ListedSearch, LobFiles, Lost
from metspack.locations.resolver import Resolver
from metspack.model import Finding, Severity
from metspack.packages.files import FolderTree
from metspack.siard import metadata as siard_metadata
from tests import siards
from tests.findings import ordered
from tests.laws import law
from tests.packages import forge
from tests.packages.placed import describe, packaged
from tests.siard.convention_archives import BINARY, SAMPLES, SECOND, TABLE, Row, Sample, absolute

OUTSIDE = {"Northwind_lobseg_0/record0.bin": BINARY, "Northwind_lobseg_0/record1.bin": SECOND}
ROWS = (Row(file="Northwind_lobseg_0/record0.bin"), Row(file="Northwind_lobseg_0/record1.bin", data=SECOND))


def found(root: Path, level: Level = Level.FULL) -> list[Finding]:
    return ordered(check(root, level))


def codes(root: Path, level: Level = Level.FULL) -> list[str]:
    return [each.code for each in found(root, level)]


# --- the statement's table ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("database", "column", "cell"),
    [
        (database, column, "/nowhere/r.bin")
        for database in (None, "./a/", "/a/")
        for column in (None, "b/", "/b/")
    ]
    + [("./a/", "/b/", "r.bin"), ("/a/", "/b/", "r.bin")],
)
def test_the_11_errors_are_errors_where_nothing_is_there(
    tmp_path: Path, database: str | None, column: str | None, cell: str
) -> None:
    sample = Sample(letter="B", database=database, column=column, rows=(Row(file=cell),))
    (finding,) = found(packaged(tmp_path / "package", sample))
    assert (finding.code, finding.severity) == ("Z012", Severity.ERROR)
    assert "absolute" in finding.message


# --- conventions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample.letter == "C"])
def test_what_the_statement_finds_needs_no_word(tmp_path: Path, name: str) -> None:
    assert codes(packaged(tmp_path / "package", SAMPLES[name])) == []


def test_every_convention_has_a_code_but_the_statement() -> None:
    by_letter = {each.letter: Code.of_convention(each) for each in Convention}
    assert by_letter.pop("C") is None
    assert {letter: code and code.id for letter, code in by_letter.items()} == {
        letter: f"P1{' ABCDEFGHIJKLMNOPQRSTUVWXYZ'.index(letter):02d}" for letter in "ABDEFGHIJKLRS"
    }
    warned = {letter for letter, code in by_letter.items() if code and code.severity is Severity.WARNING}
    assert warned == by_letter.keys() - {"F"}


@pytest.mark.parametrize("convention", [each for each in Convention if each is not Convention.C])
def test_a_conventions_code_says_whose_it_is_and_what_to_write(convention: Convention) -> None:
    code = Code.of_convention(convention)
    assert code is not None
    words = explained(code.id)
    assert convention.title in words.title
    assert convention.text in words.meaning
    assert convention.source in words.clause
    assert "lobFolder" in words.remedy


def test_a_link_in_the_way_to_the_package_is_no_other_package(tmp_path: Path) -> None:
    """An absolute cell may be written with either of the package's paths."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    root = tmp_path / "link/package"
    packaged(root, absolute(tmp_path / "real/package")["B-cell"])
    # P120 where the folder of temporary files has a blank in its name.
    assert [each for each in codes(root) if each != "P120" or " " not in str(root)] == ["P102"]


def test_of_several_the_one_is_taken_that_a_mets_gives_the_cells_digest(tmp_path: Path) -> None:
    """Both fit in length; without a digest the METS may decide."""
    sample = Sample(
        letter="H",
        column="../lobs/",
        rows=(Row(file="a/r.bin"),),
        outside={"lobs/a/r.bin": BINARY[::-1], "a/r.bin": BINARY},
    )
    undigested = Row(file="a/r.bin", digest=None)
    unknown = replace(undigested, data=SECOND * 99, length=None)
    for number, (row, place, is_reported) in enumerate(
        (
            (sample.rows[0], "a/r.bin", True),
            (undigested, "a/r.bin", True),
            (unknown, "lobs/a/r.bin", False),
        )
    ):
        root = packaged(tmp_path / str(number), replace(sample, rows=(row,)))
        reported = {each.code: dict(each.facts) for each in check(root, Level.STRUCTURE)}
        assert reported["P108" if place.startswith("lobs") else "P119"]["found"] == place
        assert ("Z030" in reported) is not is_reported


def test_of_several_the_one_is_taken_whose_bytes_have_the_cells_digest(tmp_path: Path) -> None:
    """No METS has a digest; a check that reads no LOB's bytes cannot tell, and does not say."""
    sample = Sample(
        letter="H",
        column="../lobs/",
        rows=(Row(file="a/r.bin"),),
        outside={"lobs/a/r.bin": BINARY[::-1], "a/r.bin": BINARY},
    )
    root = packaged(tmp_path / "package", sample)
    for child in root.glob("*/**/mets.xml"):
        child.write_text(re.sub(' CHECKSUM="[0-9a-f]*" CHECKSUMTYPE="MD5"', "", child.read_text()))
    forge.seal(root)
    assert set(codes(root)) == {"F005", "P119"}
    assert set(codes(root, Level.STRUCTURE)) == {"F005", "P108", "Z017", "Z022"}


def test_places_with_the_same_bytes_are_one_lob(tmp_path: Path) -> None:
    """Two copies have equal digests in METS, or two entries equal sums in the archive."""
    row = Row(file="a/r.bin", digest=None, length=None)
    outside = Sample(
        letter="H", column="../lobs/", rows=(row,), outside={"lobs/a/r.bin": SECOND, "a/r.bin": SECOND}
    )
    assert "Z030" not in codes(packaged(tmp_path / "outside", outside))
    inside = Sample(
        letter="I",
        folder="lob1",
        rows=(row,),
        inside={f"{TABLE}/lob1/a/r.bin": SECOND, "lob1/a/r.bin": SECOND},
    )
    assert "Z030" not in codes(packaged(tmp_path / "inside", inside))


def test_one_undecided_cell_does_not_say_where_the_next_is(tmp_path: Path) -> None:
    undecided = Row(file="a/r.bin", data=SECOND * 99, length=None, digest=None)
    rows = (undecided, Row(file="b.bin", data=SECOND))
    files = {"lobs/a/r.bin": BINARY[::-1], "a/r.bin": BINARY, "lobs/a/b.bin": SECOND, "lobs/b.bin": SECOND}
    root = packaged(tmp_path / "package", Sample(letter="H", column="../lobs/", rows=rows, outside=files))
    (reported,) = [each for each in check(root, Level.STRUCTURE) if each.code[:2] == "P1"]
    assert dict(reported.facts)["count"] == "2"


# --- what is lost ---------------------------------------------------------------------------------------


def test_thousands_of_guesses_are_not_made(tmp_path: Path) -> None:
    rows = tuple(Row(file=f"Northwind_lobseg_0/record{number:02d}.bin") for number in range(60))
    root = packaged(tmp_path / "package", Sample(letter="C", column="./", rows=rows, outside=OUTSIDE))
    (root / "Northwind_lobseg_0/record.bin").touch()  # which no METS lists
    guessed = ["nearest" in dict(each.facts) for each in check(root) if each.code == "Z010"]
    assert guessed == [True] * 50 + [False] * 10


def test_a_lost_lob_that_several_cells_name_is_reported(tmp_path: Path) -> None:
    outside = {ROWS[0].file: BINARY}
    root = packaged(tmp_path / "package", Sample(letter="C", column="./", rows=ROWS * 2, outside=outside))
    assert "Z010" in codes(root)


# --- split LOBs -----------------------------------------------------------------------------------------


def test_a_lob_named_like_a_part_is_none(tmp_path: Path) -> None:
    rows = (ROWS[0], replace(ROWS[1], file="Northwind_lobseg_0/record0.bin.0"))
    files = {rows[0].file: BINARY, rows[1].file: SECOND}
    root = packaged(tmp_path / "package", Sample(letter="C", column="./", rows=rows, outside=files))
    assert codes(root) == []


# --- packages of other tools and forms ------------------------------------------------------------------


def test_children_may_have_any_name_and_lie_at_any_depth(tmp_path: Path) -> None:
    files = {"deep/er/batch A/r.bin": BINARY, "deep/er/batch A/lost.bin": SECOND}
    row = Row(file="deep/er/batch%20A/r.bin")
    root = packaged(tmp_path / "package", Sample(letter="C", column="./", rows=(row,), outside=files))
    # The space in the folder's name is in an ID as well, which no ID may have.
    assert [(each.code, each.path) for each in found(root) if each.code != "M020"] == [
        ("Z017", "deep/er/batch A/lost.bin")
    ]


def test_a_child_that_holds_no_lobs_holds_no_lost_ones(tmp_path: Path) -> None:
    root = tmp_path / "package"
    sample = Sample(letter="C", column="./", rows=ROWS, outside=OUTSIDE)
    packaged(root, sample)
    (root / "documentation").mkdir()
    (root / "documentation/manual.pdf").write_bytes(b"%PDF")
    lobs = {"record0.bin": "s0.t2.c1.r1", "record1.bin": "s0.t2.c1.r2"}
    describe(root, sample.siard, {"Northwind_lobseg_0": lobs, "documentation": {"manual.pdf": "doc"}})
    assert codes(root) == []


@pytest.mark.parametrize("name", ["Northwind.SIARD", "Northwind.zip"])
def test_the_archive_is_found_by_its_group_or_extension(tmp_path: Path, name: str) -> None:
    sample = Sample(letter="C", siard=name, column="./", rows=ROWS, outside=OUTSIDE)
    root = packaged(tmp_path / "package", sample)
    named = [] if name.lower().endswith(".siard") else ["Z038"]
    assert codes(root) == named
    sample = replace(sample, rows=(*ROWS, Row(file="Northwind_lobseg_0/record2.bin")))
    assert sorted(codes(packaged(tmp_path / "lost", sample))) == ["Z010", *named]


def test_of_several_files_in_the_archives_group_those_named_so_are_archives(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "package")
    (root / "readme.txt").write_text("about")
    more = f"{forge._file('ID_README', b'about', 'readme.txt')}</mets:fileGrp>"
    forge.edit(root / "mets.xml", "</mets:fileGrp>", more)
    forge.edit(root / "mets.xml", "<mets:fptr ", '<mets:fptr FILEID="ID_README"/><mets:fptr ')
    forge.seal(root)
    assert codes(root) == []
    forge.edit(root / "mets.xml", "Northwind.siard", "Northwind.db")
    (root / "Northwind.siard").rename(root / "Northwind.db")
    forge.seal(root)
    assert codes(root) == ["Z007"]


# --- where the package lies -----------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["cut", "flipped", "below"])
def test_no_message_names_the_folder_of_the_package(tmp_path: Path, damage: str) -> None:
    reported = []
    for where in ("here", "else/where"):
        root = forge.forge(tmp_path / where / "package")
        archive = root / "Northwind.siard"
        data = bytearray(archive.read_bytes())
        if damage == "cut":
            data = data[:-30]
        else:
            data[80] ^= 1
        archive.write_bytes(data)
        if damage == "below":
            (root / "archive").mkdir()
            archive.rename(root / "archive/Northwind.siard")
            forge.edit(root / "mets.xml", '"Northwind.siard"', '"archive/Northwind.siard"')
        forge.seal(root)
        reported.append(found(root))
    assert reported[0] == reported[1] != []
    assert all(str(tmp_path) not in f"{each.message}{each.facts}" for each in reported[0])


# --- the reader of archives as oracle -------------------------------------------------------------------

_FOLDERS = st.sampled_from(
    [None, "./", "content", "content/", "../", "../lobs/", "./lobs/", "x.siard_lobs", "../x.siard_lobs",
     "lob1", "file:///lobs/", "seg_0\\", "/lobs/", "a b/"]
)  # fmt: skip
_FILES = [
    *("lobs/r.bin", "r.bin", "content/r.bin", "content/lob1/r.bin", "lob1/r.bin", "y.siard_lobs/r.bin"),
    *("y.siard_lobs/lob1/r.bin", "seg_0/r.bin", "lobs/seg_0/r.bin", "lobs/lobs/r.bin", "lobs/r.bin.0"),
    *("lobs/r.bin.z", "seg_0/r.bin_part001", "seg_1/r.bin_part002", "a b/r.bin", f"{TABLE}/lob1/r.bin"),
]
_FIRST_PARTS = (".0", "_part001")
_CELLS = st.sampled_from(
    ["r.bin", "lobs/r.bin", "../lobs/r.bin", "content/r.bin", "seg_0/r.bin", "seg_0\\r.bin", "../r.bin",
     "file:///lobs/r.bin", "lob1/r.bin", "/lobs/r.bin", "../x.siard_lobs/r.bin", "../../r.bin", "a%20b/r.bin"]
)  # fmt: skip


def _document(container: Entries, name: str) -> bytes:
    extent = container.extent(name)
    assert extent is not None
    return b"".join(container.contents(extent))


@contextmanager
def finder(root: Path) -> Iterator[ListedSearch]:
    with Catalogue() as catalogue, ZipContainer.opened(root / "y.siard") as container:
        nothing = Agreement(root, Looking(), catalogue)
        list(checking_walking.findings(catalogue, CheckedTree(FolderTree(root), nothing, 0), whole=True))
        files = Files(catalogue, root, nothing)
        mapping = Mapping(catalogue, files, b"y.siard")
        yield ListedSearch(files, container, b"y.siard", files.prefix(b"y.siard"), mapping.of)


@law(25)
@example(
    database=None,
    column="../lobs/",
    folder=None,
    cells=["lobs/r.bin", "r.bin"],
    there={"lobs/r.bin", "r.bin"},
    within=set(),
)
@example(
    database=None,
    column="../lobs/",
    folder=None,
    cells=["seg_0/r.bin", "r.bin"],
    there={"lobs/seg_0/r.bin", "lobs/r.bin"},
    within={"r.bin"},
)
@example(
    database=None,
    column="../lobs/",
    folder=None,
    cells=["../../r.bin", "seg_0/r.bin"],
    there={"r.bin", "lobs/seg_0/r.bin", "lobs/r.bin"},
    within=set(),
)
@given(
    database=_FOLDERS,
    column=_FOLDERS,
    folder=st.sampled_from([None, "lob1", "content/lob1"]),
    cells=st.lists(_CELLS, min_size=1, max_size=3),
    there=st.sets(st.sampled_from(_FILES), max_size=5),
    within=st.sets(st.sampled_from(_FILES), max_size=3),
)
def test_the_checker_finds_what_the_reader_of_archives_finds(  # noqa: PLR0917 -- by name
    tmp_path_factory: pytest.TempPathFactory,
    database: str | None,
    column: str | None,
    folder: str | None,
    cells: list[str],
    there: set[str],
    within: set[str],
) -> None:
    root = tmp_path_factory.mktemp("law")
    sample = Sample(
        letter="C",
        database=database,
        column=column,
        folder=folder,
        siard="y.siard",
        rows=tuple(Row(file=each, length=None, digest=None) for each in cells),
        inside={name: b"inside" + name.encode() for name in sorted(within)},
        # A whole beside its first part is no place for the reader, and a finding of its own here.
        outside={
            name: name.encode()
            for name in sorted(there)
            if not (name.endswith(_FIRST_PARTS) and re.sub(r"(\.0|_part001)$", "", name) in there)
        },
    )
    sample.build(root)
    with finder(root) as ours:
        container = ours.container
        metadata = siard_metadata.read(_document(container, siard_metadata.NAME))
        (table,) = metadata.tables
        reader = Resolver(container, [root, root], siard_name="y.siard", lob_folder=metadata.lob_folder)
        ours_column = ours.column(metadata, table, "c1")
        for cell in siards.cells([_document(container, table.path)], table):
            outcome = ours.find(ours_column, cell)
            try:
                resolution = reader.resolved(table, cell)
            except LobUnresolved:
                # Several places differ, and no digest decides; or there is none.
                assert isinstance(outcome, Lost) or outcome.rival is not None
                continue
            assert isinstance(outcome, LobFiles)
            assert outcome.rival is None
            assert (outcome.convention, len(outcome.paths)) == (
                resolution.convention,
                len(resolution.extents),
            )
    shutil.rmtree(root)
