"""A list of LOBs is read in any of its spellings, and what is wrong with it is said with line and column."""

from __future__ import annotations

import os
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import SourceError
from metspack.model import FileExtent, LobPlace, LobRef, one_by_one
from metspack.sources import csvlist
from metspack.sources.csvlist import COLUMNS, LobList
from tests.laws import law

HEADER = "schema,table,column,row,path"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "base"
    (folder / "scans").mkdir(parents=True)
    for number in range(30):
        (folder / "scans" / f"{number}.tif").write_bytes(b"x" * number)
    return folder


def saved(base: Path, *lines: str, end: str = "\n", encoding: str = "utf-8") -> Path:
    path = base.parent / "list.csv"
    path.write_bytes("".join(line + end for line in lines).encode(encoding))
    return path


def read(base: Path, *lines: str, end: str = "\n", encoding: str = "utf-8") -> list[LobRef]:
    with LobList(saved(base, *lines, end=end, encoding=encoding), base) as listed:
        return list(one_by_one(listed.lob_runs()))


def refused(base: Path, *lines: str, header: str = HEADER) -> str:
    path = saved(base, header, *lines)
    with pytest.raises(SourceError) as caught:
        LobList(path, base)
    assert caught.value.message.startswith(f"{path}: ")
    assert caught.value.hint
    return caught.value.message.removeprefix(f"{path}: ")


def test_a_lob_knows_its_file(base: Path) -> None:
    (lob,) = read(base, HEADER, "0,2,4,1,scans/7.tif")
    assert lob.place == LobPlace(schema=0, table=2, cell="c4", row=1)
    (extent,) = lob.extents
    assert isinstance(extent, FileExtent)
    status = (base / "scans" / "7.tif").stat()
    assert (extent.root, extent.path) == (0, ("scans", "7.tif"))
    assert (extent.size, extent.modified, extent.inode) == (7, status.st_mtime_ns, status.st_ino)
    assert (lob.size, lob.extension, lob.media_type) == (7, "tif", "image/tiff")


def test_lobs_come_by_schema_table_row_and_cell_as_numbers(base: Path) -> None:
    lobs = read(
        base,
        HEADER,
        "10,0,1,1,scans/1.tif",
        "2,10,1,1,scans/2.tif",
        "2,9,10,9,scans/3.tif",
        "2,9,9,9,scans/4.tif",
        "2,9,9,10,scans/5.tif",
        "2,9,c9.u10,8,scans/6.tif",
        "2,9,c9.u9,8,scans/7.tif",
    )
    assert [lob.size for lob in lobs] == [7, 6, 4, 3, 5, 2, 1]


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("order", list(permutations(range(5)))[::17])
def test_columns_have_any_order(
    base: Path, delimiter: str, end: str, encoding: str, order: tuple[int, ...]
) -> None:
    header = [COLUMNS[each].upper() for each in order]
    values = [("schema0", "table2", "c3.u2.u3", "5", '"scans/1.tif"')[each] for each in order]
    (lob,) = read(base, delimiter.join(header), delimiter.join(values), end=end, encoding=encoding)
    assert lob.place.id == "s0.t2.c3.u2.u3.r5"
    assert lob.cell.file == "scans/1.tif"


@pytest.mark.parametrize(
    ("line", "id_"),
    [
        ("0,0,1,1,scans/1.tif", "s0.t0.c1.r1"),
        ("Schema1,TABLE02, C4 , 007 ,scans/1.tif", "s1.t2.c4.r7"),
        ("1,2,3.U2.a10,1,scans/1.tif", "s1.t2.c3.u2.a10.r1"),
    ],
)
def test_numbers_are_taken_as_people_write_them(base: Path, line: str, id_: str) -> None:
    (lob,) = read(base, HEADER, line)
    assert lob.place.id == id_


def test_other_columns_and_lines_without_values_are_passed_over(base: Path) -> None:
    (lob,) = read(base, f"note, {HEADER}", "", "first,0,0,1,1,scans/1.tif", ",,,,,", " , ,,,,", "")
    assert lob.place.id == "s0.t0.c1.r1"


def test_a_last_line_without_an_end_counts(base: Path) -> None:
    assert len(read(base, f"{HEADER}\n0,0,1,1,scans/1.tif\n0,0,1,2,scans/2.tif", end="")) == 2


@law(40)
@given(
    st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="/\\"), min_size=1, max_size=30)
)
def test_a_path_is_its_own_letters(name: str) -> None:
    def refuse(*_: object) -> SourceError:
        return SourceError("refused")

    try:
        assert csvlist._path(refuse, f"a/{name}") == ("a", name)
    except SourceError:
        assert name in {".", ".."}


def test_names_are_not_decoded(base: Path) -> None:
    for name in ("a%20b.bin", " led.bin", 'quo"ted.bin', "com,ma.bin", "C:x"):
        (base / name).write_bytes(b"")
        quoted = name.replace('"', '""')
        (lob,) = read(base, HEADER, f'0,0,1,1,"{quoted}"')
        assert lob.cell.file == name


def test_a_file_may_stand_in_several_places(base: Path) -> None:
    path = saved(
        base,
        HEADER,
        "0,0,1,1,scans/2.tif",
        "0,0,1,2,scans/1.tif",
        "0,0,1,3,scans/2.tif",
        "0,0,1,4,scans/2.tif",
        "0,0,1,5,scans/3.tif",
        "0,0,1,6,scans/1.tif",
    )
    with LobList(path, base) as lobs:
        assert lobs.count == 6
        assert len(list(one_by_one(lobs.lob_runs()))) == 6
        assert list(lobs.lob_runs()) == list(lobs.lob_runs())


# What is refused


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x,0,1,1,a", "column schema: expected a number from 0 on, or schema0; found 'x'"),
        ("-1,0,1,1,a", "column schema: expected a number from 0 on, or schema0; found '-1'"),
        ("table0,0,1,1,a", "column schema: expected a number from 0 on, or schema0; found 'table0'"),
        ("0,,1,1,a", "column table: expected a number from 0 on, or table0; found ''"),
        ("0,1.0,1,1,a", "column table: expected a number from 0 on, or table0; found '1.0'"),
        ("0,\u0663,1,1,a", "column table: expected a number from 0 on, or table0; found '\u0663'"),
        ("0,0,1,0,a", "column row: expected a number from 1 on; found '0'"),
        (
            "0,0,1,1000000000000000000,a",
            "column row: expected a number from 1 on; found '1000000000000000000'",
        ),
        ("0,0,0,1,a", "column column: expected a cell with numbers from 1 on"),
        ("0,0,c3.u0,1,a", "column column: expected a cell with numbers from 1 on"),
        ("0,0,c3.x1,1,a", "column column: expected a cell with numbers from 1 on"),
        ("0,0,picture,1,a", "found 'picture'"),
        ("0,0,1,1,/a", "column path: expected a relative path; found '/a'"),
        ("0,0,1,1,C:/a", "column path: expected a relative path; found 'C:/a'"),
        ("0,0,1,1,../a", "column path: expected a path of names; '..' is not a name; found '../a'"),
        ("0,0,1,1,./a", "column path: expected a path of names; '.' is not a name; found './a'"),
        ("0,0,1,1,a//b", "column path: expected a path of names; '' is not a name; found 'a//b'"),
        ("0,0,1,1,a/", "column path: expected a path of names; '' is not a name; found 'a/'"),
        ("0,0,1,1,", "column path: expected a path of names; '' is not a name; found ''"),
        ("0,0,1,1,a\\b", "column path: expected a path without a backslash; found 'a\\\\b'"),
        ("0,0,1,1,a\x07", "column path: expected a path without control characters (U+0007)"),
        ("0,0,1,1", "has 4 values; expected 5, as the header has"),
        ("0,0,1,1,a,b", "has 6 values; expected 5, as the header has"),
        ('0,0,1,1,"a"b', "cannot be read as CSV"),
        ('0,0,1,1,"a', "cannot be read as CSV"),
        ("0,0,1,1," + "x" * (1 << 20), "has more than 1,048,576 bytes"),
    ],
)
def test_a_wrong_value_is_named_with_line_and_column(base: Path, line: str, said: str) -> None:
    message = refused(base, "0,0,1,1,scans/1.tif", "", line)
    assert message.startswith("line 4: ")
    assert said in message
    assert message.isprintable()


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("schema,table,column,row", "the column path is missing"),
        ("0,0,1,1,scans/1.tif", "the column schema is missing"),
        ("schema,table,column,row,path,Path", "the column path is given twice"),
        ("schema;table;column,row;path", "the column column is missing"),
        ('"schema,table', "cannot be read as CSV"),
        ("\n", "the column schema is missing"),
    ],
)
def test_a_header_without_the_columns_is_refused(base: Path, header: str, said: str) -> None:
    message = refused(base, header=header)
    assert message.startswith("line 1: ")
    assert said in message


def test_an_empty_list_is_refused(base: Path) -> None:
    assert "line 2: the list ends" in refused(base)
    path = saved(base)
    with pytest.raises(SourceError, match=r"is empty; expected the header schema,table"):
        LobList(path, base)


def test_what_is_not_utf8_is_refused(base: Path) -> None:
    path = saved(base, HEADER, "0,0,1,1,scans/ä.tif", encoding="latin-1")
    with pytest.raises(SourceError, match=r"line 2: byte 15 is 0xe4; expected UTF-8"):
        LobList(path, base)


def test_a_place_named_twice_is_refused_with_its_lines(base: Path) -> None:
    lines = [f"0,0,1,{1 + number % 2},scans/{number}.tif" for number in range(4)]
    message = refused(base, *lines, "0,0,1,3,scans/1.tif")
    assert message == "places named more than once: 2 found: s0.t0.c1.r1: lines 2, 4; s0.t0.c1.r2: lines 3, 5"


def test_a_place_named_very_often_is_told_shortly(base: Path) -> None:
    message = refused(base, *["0,0,1,1,scans/1.tif"] * 23)
    assert message.endswith("20, 21 and 3 more")


def test_all_missing_files_are_counted_and_20_are_named(base: Path) -> None:
    lines = [f"0,0,1,{number + 1},scans/{number}.tif" for number in range(53)]
    message = refused(base, *lines)
    assert message.startswith(f"files that cannot be read (expected regular files below {base}): 23 found: ")
    assert f"line 32, column path: {str(base / 'scans/30.tif')!r} not found; line 33" in message
    assert message.endswith("; and 3 more")


def test_what_is_no_file_is_not_read(base: Path, tmp_path: Path) -> None:
    (base / "link.tif").symlink_to(base / "scans" / "1.tif")
    (base / "more").symlink_to(base / "scans")
    (base / "out").symlink_to(tmp_path)
    os.mkfifo(base / "pipe")
    message = refused(
        base,
        "0,0,1,1,link.tif",
        "0,0,1,2,more/1.tif",
        "0,0,1,3,out/list.csv",
        "0,0,1,4,pipe",
        "0,0,1,5,scans",
        "0,0,1,6,scans/1.tif/x",
    )
    for line, said in (
        (2, "is a symbolic link"),
        (3, "lies beyond 'more', a symbolic link"),
        (4, "lies beyond 'out', a symbolic link"),
        (5, "is a named pipe"),
        (6, "is a folder"),
        (7, "not found"),
    ):
        assert any(
            part.strip().startswith(f"line {line}, ") and said in part
            for part in message.partition(" found: ")[2].split("; ")
        )


def test_a_base_or_list_that_cannot_be_read_is_refused(base: Path, tmp_path: Path) -> None:
    path = saved(base, HEADER, "0,0,1,1,scans/1.tif")
    for wrong in (tmp_path / "none", path):
        with pytest.raises(SourceError, match="cannot be read as a folder"):
            LobList(path, wrong)
    with pytest.raises(SourceError, match="cannot be read: No such file"):
        LobList(tmp_path / "none.csv", base)
    with pytest.raises(SourceError, match="cannot be read: Is a directory"):
        LobList(base, base)
