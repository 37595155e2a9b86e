"""The list of a package's LOBs, held against what another reader finds in archive and METS."""

from __future__ import annotations

import shutil
import tracemalloc
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.building import build
from metspack.errors import ConfigError, SourceError
from metspack.limits import Budgets, Limits
from metspack.packages.listing import LobEntry, LobListing, selected, the_lob
from metspack.packages.package import Package
from metspack.siard.metadata import Column, Table
from metspack.siard.tables import RowValues, pieces
from tests import siards
from tests.conftest import CHECKOUT
from tests.packages import forge
from tests.restoring import splitting
from tests.restoring.splitting import LOBS, SPLIT
from tests.shared_data import ARCHIVES, shared

OPTIONS = build.BuildOptions(created="2024-05-06T07:08:09Z", limits=Limits(files=3, bytes=100))
GOLDEN = CHECKOUT / "samples" / "northwind" / "golden"
LARGE = replace(OPTIONS, limits=Limits(files=100_000, bytes=10**9))
_HREF = "{http://www.w3.org/1999/xlink}href"


def listed(root: Path, **options: Any) -> list[LobEntry]:
    with Package(root) as opened:
        return list(LobListing(opened, **options))


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _all(element: ET.Element, *path: str) -> list[ET.Element]:
    found = [element]
    for name in path:
        found = [each for above in found for each in above if _name(each) == name]
    return found


def _text_of(element: ET.Element, name: str) -> str:
    return next((each.text or "" for each in _all(element, name)), "")


Row = tuple[str, str, int, str | None, str | None, dict[str, str]]


def rows(siard: Path) -> Iterator[Row]:
    """Yield schema, table, row, length, digest and key of each LOB of an archive."""
    with zipfile.ZipFile(siard) as archive:
        root = ET.fromstring(archive.read("header/metadata.xml"))  # noqa: S314 -- a test's own archive
        for schema in _all(root, "schemas", "schema"):
            for table in _all(schema, "tables", "table"):
                columns = [_text_of(each, "name") for each in _all(table, "columns", "column")]
                keys = [each.text or "" for each in _all(table, "primaryKey", "column")]
                folder = _text_of(table, "folder")
                document = archive.read(f"content/{_text_of(schema, 'folder')}/{folder}/{folder}.xml")
                named = _text_of(schema, "name"), _text_of(table, "name")
                for number, row in enumerate(ET.fromstring(document), 1):  # noqa: S314
                    key: dict[str, str] = {}
                    for cell in row:
                        column = columns[int(_name(cell)[1:]) - 1]
                        if column in keys:
                            key[column] = cell.text or ""
                    for each in row.iter():  # LOBs of fields and of elements of arrays too
                        if "file" in each.attrib:
                            digest = each.get("digest")
                            yield *named, number, each.get("length"), digest and digest.lower(), key


def files(root: Path) -> dict[str, tuple[str, str]]:
    """Return size and digest of each file that any METS of a package lists, by its path in it."""
    found = {}
    for path in root.rglob("*"):
        if path.name.lower() == "mets.xml":
            for file in ET.parse(path).iter("{http://www.loc.gov/METS/}file"):  # noqa: S314
                for place in file:
                    if _HREF in place.attrib:
                        name = (path.parent / unquote(place.attrib[_HREF])).relative_to(root).as_posix()
                        found[name] = file.get("SIZE", ""), file.get("CHECKSUM", "").lower()
    return found


def agree(root: Path) -> int:
    """Compare the list of a package with another reader's; return the number of its LOBs."""
    (siard,) = (each for each in root.rglob("*.siard") if each.is_file())
    entries, stated = listed(root), files(root)
    found = [(each.schema, each.table, each.row, dict(each.primary_key)) for each in entries]
    assert found == [(*row[:3], row[5]) for row in rows(siard)]
    for each, (*_, length, digest, _key) in zip(entries, rows(siard), strict=True):
        assert not each.fault
        for file in each.files:
            assert file.digest is not None
            assert stated[file.path] == (str(file.size), file.digest.value)
            assert (root / file.path).stat().st_size == file.size
        assert sum(file.size or 0 for file in each.files) == each.size
        assert length is None or int(length) <= (each.size or 0)  # characters, where it is text
        assert digest is None or digest in each.digests.values()
    return len(entries)


@pytest.mark.parametrize(
    ("name", "count"),
    [("Northwind", 8), ("Northwind-full", 46), ("Northwind-csip", 8), ("Northwind-merged", 8)],
)
def test_the_golden_packages_are_listed_as_another_reader_sees_them(name: str, count: int) -> None:
    assert agree(GOLDEN / name) == count


@pytest.mark.slow
@pytest.mark.parametrize("name", ARCHIVES, ids="/".join)
def test_packages_of_real_archives(name: tuple[str, str], tmp_path: Path) -> None:
    build.build(shared("data", *name), tmp_path / "out", LARGE)
    agree(tmp_path / "out")


def test_a_split_lob_is_one_entry_with_all_its_parts(tmp_path: Path) -> None:
    entries = listed(splitting.forged(tmp_path / "package"))
    assert [each.id for each in entries] == [lob.id for lob in LOBS]
    (split,) = (each for each in entries if each.id == SPLIT)
    assert [file.path for file in split.files] == [
        f"Northwind_lobseg_{number}/{LOBS[1].path(number)}" for number in range(3)
    ]
    assert [file.segment for file in split.files] == [f"ID_Northwind_lobseg_{n}_mets" for n in range(3)]
    assert split.size == len(LOBS[1].data)
    assert split.digests["MD5"] == forge.md5(LOBS[1].data)


def test_a_lob_that_stayed_in_the_archive_is_listed_there(tmp_path: Path) -> None:
    inside = "content/schema0/table2/lob4/record4.bin"
    lobs = [*forge.LOBS]
    root = forge.forge(tmp_path / "package", lobs)
    cell = f'<c4 file="{inside}" length="4" digestType="MD5" digest="{forge.md5(b"here")}"/>'
    row = f"<row><c1>5</c1>{cell}</row></table>"
    table = forge.table(lobs, "Northwind").replace(b"</table>", row.encode())
    (root / "Northwind.siard").write_bytes(forge.siard(table, entries=[(inside, b"here")], rows=5))
    last = listed(root)[-1]
    assert (last.id, last.file_name, last.size) == ("s0.t2.c4.r5", "record4.bin", 4)
    assert [(file.path, file.entry, file.size) for file in last.files] == [("Northwind.siard", inside, 4)]
    assert last.digests == {"MD5": forge.md5(b"here")}


def test_a_package_without_an_archive_is_listed_from_its_mets(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "package")
    source = tmp_path / "folder"
    for segment in root.glob("Northwind_lobseg_*"):
        shutil.copytree(segment / "content", source / "content", dirs_exist_ok=True)
    build.build(source, tmp_path / "out", OPTIONS)
    entries = listed(tmp_path / "out")
    assert len(entries) == len(forge.LOBS)
    assert {(each.archive, each.database, each.fault) for each in entries} == {("", "", "")}
    assert all(each.files and each.row for each in entries)
    assert len(listed(tmp_path / "out", table="s0.t2", column="c4")) == len(entries)
    with pytest.raises(ConfigError, match="no LOBs of the table 'Categories'"):
        listed(tmp_path / "out", table="Categories")


@pytest.mark.parametrize(
    ("table", "column"), [("dbo.Categories", "Picture"), ("Categories", "c4"), ("s0.t2", ""), ("", "Picture")]
)
def test_tables_and_columns_by_name_and_number(table: str, column: str, tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "package")
    assert len(listed(root, table=table, column=column)) == len(forge.LOBS)


def test_tables_and_columns_that_do_not_exist(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "package")
    with pytest.raises(ConfigError, match="no LOBs of the table 'Category'") as found:
        listed(root, table="Category")
    assert "dbo.Categories" in found.value.hint
    with pytest.raises(ConfigError, match="no LOBs of the table 'Categories' and column 'c9'") as found:
        listed(root, table="Categories", column="c9")
    assert "dbo.Categories.Picture" in found.value.hint


def test_a_cell_that_leads_nowhere_and_a_lob_of_no_cell(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "package")
    table = forge.table(forge.LOBS, "Northwind").replace(b"record1.bin", b"record9.bin")
    forge_table = table.replace(b"<c1>2</c1>", b"<c1>2</c1><c2>gone</c2>")
    (root / "Northwind.siard").write_bytes(forge.siard(forge_table))
    entries = listed(root)
    by_id = {each.id: each for each in entries}
    assert len(entries) == len(forge.LOBS), "METS has it by its ID, whatever the cell names"
    assert not by_id["s0.t2.c4.r2"].fault
    shutil.rmtree(root / "Northwind_lobseg_1")
    with Package(root) as opened:
        found = LobListing(opened)
        lost = [each for each in found if each.fault]
    assert [each.id for each in lost] == ["s0.t2.c4.r3", "s0.t2.c4.r4"]
    assert found.faulty == 2
    assert all(not each.files and "Northwind_lobseg_1" in each.fault for each in lost)


def test_lobs_of_no_cell_come_last(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "package")
    (root / "Northwind.siard").write_bytes(forge.siard(forge.table(forge.LOBS[1:], "Northwind"), rows=3))
    *_, last = listed(root)
    # The rows have moved up: the last row of METS is none of the table's.
    assert (last.id, last.fault, len(last.files)) == ("s0.t2.c4.r4", "no cell of an archive names it", 1)


def test_an_archive_that_cannot_be_read_is_reported_behind_what_mets_lists(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "package")
    (root / "Northwind.siard").write_bytes(b"PK\3\4 no archive")
    with Package(root) as opened:
        found, entries = LobListing(opened), list[LobEntry]()
        with pytest.raises(SourceError, match=r"Northwind\.siard"):
            entries.extend(found)
    with Package(root) as opened:
        found = LobListing(opened)
        entries = [next(found) for _ in forge.LOBS]
    assert [each.id for each in entries] == [f"s0.t2.c4.r{lob.row}" for lob in forge.LOBS]


def test_keys_of_several_columns_and_texts_that_are_escaped(tmp_path: Path) -> None:
    given = siards.parts(siards.lobs(b"one", b"two"))
    key = b"<primaryKey><name>PK</name><column>content</column><column>id</column></primaryKey>"
    given[siards.METADATA] = given[siards.METADATA].replace(b"</columns>", b"</columns>" + key)
    given[siards.TABLE] = given[siards.TABLE].replace(b"<c1>2</c1>", rb"<c1>a\u005cb&amp;c</c1>")
    build.build(siards.packed(tmp_path / "Small.siard", given), tmp_path / "out", OPTIONS)
    assert [each.primary_key for each in listed(tmp_path / "out")] == [
        {"content": "", "id": "1"},
        {"content": "", "id": r"a\b&c"},
    ]
    assert [each.id for each in listed(tmp_path / "out", key=["", r"a\b&c"])] == ["s0.t0.c2.r2"]
    with pytest.raises(
        ConfigError, match=r"no row with a LOB has the key '1' \(.+ by content, id\)"
    ) as found:
        listed(tmp_path / "out", key=["1"])
    assert "metspack list" in found.value.hint
    with Package(tmp_path / "out") as opened:
        assert the_lob(opened, "", "", ["", "1"]) == "s0.t0.c2.r1"
        assert selected(opened, "s0.t0", "", []) == ("s0.t0.c2",)
        with pytest.raises(ConfigError, match=r"expected one LOB, found s0\.t0\.c2\.r1 and s0\.t0\.c2\.r2"):
            the_lob(opened, "", "", [])


TABLE = Table(
    schema=0,
    number=0,
    name="T",
    schema_name="S",
    folder="table0",
    schema_folder="schema0",
    rows=None,
    columns=tuple[Column, ...](),
)


@given(
    texts=st.lists(
        st.tuples(*[st.none() | st.text("ab<&é\U0001f600 ", max_size=5)] * 3), min_size=1, max_size=20
    ),
    wanted=st.permutations([1, 2, 3]),
    cut=st.integers(1, 60),
)
def test_values_of_rows_however_the_document_is_cut(
    texts: list[tuple[str | None, ...]], wanted: list[int], cut: int
) -> None:
    root = ET.Element("table")
    for row in texts:
        element = ET.SubElement(root, "row")
        for number, text in enumerate(row, 1):
            if text is not None:
                ET.SubElement(element, f"c{number}").text = text
    data = ET.tostring(root, encoding="utf-8")
    values = RowValues(TABLE, wanted[:2], Budgets())
    found = []
    for piece, final in pieces(data[at : at + cut] for at in range(0, len(data), cut)):
        before = values.stop
        values.feed(piece, final=final)
        found += [values.of(row) for row in range(before, values.stop)]
        values.forget(values.stop)
    assert found == [tuple(row[number - 1] for number in wanted[:2]) for row in texts]


def test_a_value_beyond_the_budget_is_refused() -> None:
    values = RowValues(TABLE, [1], Budgets(attribute=10))
    with pytest.raises(SourceError, match="longer than 10 characters"):
        values.feed(b"<table><row><c1>" + b"x" * 11, final=False)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    def most(count: int) -> int:
        root = tmp_path / str(count)
        root.mkdir()
        key = b"</columns><primaryKey><name>PK</name><column>id</column></primaryKey>"
        given = siards.parts(siards.lobs(*(b"%d" % each for each in range(count))))
        given[siards.METADATA] = given[siards.METADATA].replace(b"</columns>", key)
        build.build(siards.packed(root / "Small.siard", given), root / "out", LARGE)
        with Package(root / "out") as opened:
            assert opened.segments
            tracemalloc.start()
            try:
                assert sum(1 for _ in LobListing(opened)) == count
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    assert most(12_000) < most(4_000) + 1_000_000


@pytest.mark.parametrize(("identifier", "are_lobs"), [("t1", False), ("s0.t2.c4.r1", True)])
def test_the_mets_of_a_transfer_among_the_files_gives_only_lobs_of_a_database(
    identifier: str, are_lobs: bool, tmp_path: Path
) -> None:
    form = CHECKOUT / "tests" / "packages" / "forms" / "archivematica"
    root = Path(shutil.copytree(form / "data", tmp_path / "aip"))
    (mets,) = root.glob("METS.*.xml")
    text = mets.read_text()
    transfer = root / "objects" / "submissionDocumentation" / "t" / "METS.xml"
    entry = text.partition("<mets:file ")[2].partition("</mets:file>")[0].replace('ID="', 'ID="t-')
    entry = entry.replace("objects/letter.txt", transfer.relative_to(root).as_posix())
    mets.write_text(text.replace("</mets:fileGrp>", f"<mets:file {entry}</mets:file>\n</mets:fileGrp>"))
    transfer.parent.mkdir(parents=True)
    own = text.partition(' ID="file-')[2].partition('"')[0]
    transfer.write_text(text.replace("letter.txt", "lost.txt").replace(f"file-{own}", identifier))
    assert any(each.fault for each in listed(root)) is are_lobs
