from pathlib import Path

import pytest

from metspack.errors import SourceError
from metspack.inspecting import Inspection, inspected
from metspack.siard.archive import Archive
from tests.shared_data import shared
from tests.siard.forging import Table, column, field, siard

MD5 = f"digestType='MD5' digest='{'0' * 32}'"
TABLES = [
    Table(
        folder="table1",
        name="people",
        columns=(
            column("ID", "INTEGER"),
            column("PHOTO").replace("</type>", "</type><mimeType>image/png</mimeType>"),
            column("S", fields=field("f") + field("g")),
            column("OUT", lob_folder="../lobs/"),
        ),
        rows=(
            f"<c1>1</c1><c2 file='content/1' {MD5}/><c3><u2 file='content/2'/></c3><c4 file='x'/>",
            "<c1>2</c1><c2 file='content/3'/><c3><u2 file='content/none'/></c3><c4 file='y'/>",
            "<c1>3</c1><c2>0A0B</c2><c3><u2 file='content/never'/></c3>",
            f"<c2 file='content/0' {MD5}/>",
        ),
    ),
    Table(folder="table2", name="empty"),
]
LOBS = {"content/0": b"", "content/1": b"x" * 10, "content/2": b"x" * 30, "content/3": b"x" * 20}


def inspection(path: Path) -> Inspection:
    with Archive(path) as archive:
        return inspected(archive)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return siard(tmp_path / "s.siard", tables=TABLES, lobs=LOBS)


def test_an_archive_is_summed_up(archive: Path) -> None:
    found = inspection(archive)
    assert (found.version, found.dbname, found.product) == ("2.2", "Näme & more", "")
    assert (found.tables, found.rows, found.inline) == (2, 4, 1)
    assert (found.inside, found.outside, found.missing, found.bytes) == (4, 2, 2, 60)


def test_each_column_with_lobs_is_summed_up(archive: Path) -> None:
    photo, nested, outside = inspection(archive).columns
    assert (photo.id, photo.table, photo.name, photo.type) == ("s0.t1.c2", "s.people", "PHOTO", "BLOB")
    assert (photo.media_type, photo.inside, photo.bytes, photo.digests) == ("image/png", 3, 30, 2)
    assert (photo.largest, photo.largest_lob) == (20, "s0.t1.c2.r2")
    assert (nested.id, nested.name, nested.type, nested.media_type) == ("s0.t1.c3.u2", "S.g", "", None)
    assert (nested.inside, nested.missing, nested.first_missing) == (1, 2, "s0.t1.c3.u2.r2")
    assert (outside.name, outside.outside, outside.inside, outside.missing) == ("OUT", 2, 0, 0)


def test_the_column_with_the_largest_lob_is_known(archive: Path) -> None:
    largest = inspection(archive).largest
    assert largest is not None
    assert (largest.id, largest.largest) == ("s0.t1.c3.u2", 30)


def test_an_empty_lob_alone_is_the_largest(tmp_path: Path) -> None:
    table = Table(rows=("<c1 file='content/0'/>",))
    largest = inspection(siard(tmp_path / "s.siard", tables=[table], lobs={"content/0": b""})).largest
    assert largest is not None
    assert (largest.largest, largest.largest_lob) == (0, "s0.t0.c1.r1")


def test_without_lobs_nothing_is_the_largest(tmp_path: Path) -> None:
    found = inspection(siard(tmp_path / "s.siard", tables=TABLES[1:]))
    assert (found.largest, found.columns, found.tables) == (None, [], 1)


def test_progress_counts_the_bytes_of_the_documents(archive: Path) -> None:
    class Heard:
        def __init__(self) -> None:
            self.stages: list[tuple[str, int | None]] = []
            self.amount = 0

        def stage(self, name: str, total: int | None) -> None:
            self.stages.append((name, total))

        def advance(self, amount: int) -> None:
            self.amount += amount

    heard = Heard()
    with Archive(archive) as opened:
        inspected(opened, heard)
    assert heard.stages == [("Reading tables", sum(len(each.data) for each in TABLES))]
    assert heard.amount == heard.stages[0][1]


def test_a_table_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    path = siard(tmp_path / "s.siard", tables=[Table(document=b"<table>")])
    with pytest.raises(SourceError, match="not well-formed"):
        inspection(path)


def test_a_real_archive_with_lobs_inside_and_outside_is_inspected() -> None:
    found = inspection(shared("data", "siard", "sql2008", "sql2008.siard"))
    assert (found.inside, found.outside, found.missing) == (5, 3, 0)


def test_the_sample_is_inspected(northwind: Path) -> None:
    found = inspection(northwind)
    assert (found.inside, found.missing, found.outside) == (8, 0, 0)
