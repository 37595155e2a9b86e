"""A LOB folder yields its LOBs in order, each once and whole, or reports the fault."""

from __future__ import annotations

import os
import random
import resource
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import SourceError
from metspack.layouts import lobseg
from metspack.model import SMALL, FileExtent, LobPlace, LobRef
from metspack.sources import lobfolder
from metspack.sources.lobfolder import cell_key, cell_of
from tests.laws import law
from tests.planning.lobruns import one_by_one
from tests.tables import read_table
from tests.trees import put

LOB4 = "content/schema0/table2/lob4"


def written(root: Path, *names: str) -> Path:
    """Write files that hold their own names."""
    return put(root, {name: name.encode() for name in names})


def lobs(folder: Path) -> Iterator[LobRef]:
    return one_by_one(lobfolder.lob_runs(folder))


def ids(folder: Path) -> list[str]:
    return [lob.place.id for lob in lobs(folder)]


def refused(folder: Path) -> SourceError:
    with pytest.raises(SourceError) as caught:
        next(lobs(folder))
    assert caught.value.message.startswith(str(folder))
    assert caught.value.hint
    return caught.value


def names(lob: LobRef) -> list[str]:
    return [extent.path[-1] for extent in lob.extents if isinstance(extent, FileExtent)]


def test_the_content_folder_itself_will_do(tmp_path: Path) -> None:
    written(tmp_path, f"{LOB4}/record0.bin")
    (lob,) = lobs(tmp_path / "content")
    assert lob.place.id == "s0.t2.c4.r1"
    assert lob.cell.file == "schema0/table2/lob4/record0.bin"


def test_empty_folders_are_no_files(tmp_path: Path) -> None:
    written(tmp_path, f"{LOB4}/record0.bin")
    (tmp_path / "content" / "anything").mkdir()
    assert ids(tmp_path) == ["s0.t2.c4.r1"]


PLACES = st.builds(
    LobPlace,
    schema=st.integers(0, 12),
    table=st.integers(0, 12),
    cell=st.builds(
        lambda column, below: ".".join([f"c{column}", *below]),
        st.integers(1, 12),
        st.lists(st.from_regex(r"[ua][1-9]", fullmatch=True), max_size=3),
    ),
    row=st.integers(1, 12) | st.integers(1, 10**17),
)


def order(place: LobPlace) -> tuple[int, int, int, list[tuple[str, int]]]:
    levels = [(each[0], int(each[1:])) for each in place.cell.split(".")]
    return place.schema, place.table, place.row, levels


@law(25)
@given(st.sets(PLACES, min_size=1, max_size=12))
def test_what_the_layout_places_is_found_in_order(places: set[LobPlace]) -> None:
    with TemporaryDirectory() as folder:
        written(Path(folder), *(lobseg.LAYOUT.lob_path(place, "txt") for place in places))
        assert [lob.place for lob in lobs(Path(folder))] == sorted(places, key=order)


@given(PLACES, PLACES)
def test_keys_sort_as_cells_do(one: LobPlace, other: LobPlace) -> None:
    assert cell_of(cell_key(one.cell)) == one.cell
    assert (cell_key(one.cell) < cell_key(other.cell)) == (order(one)[3] < order(other)[3])


# Parts


def test_parts_of_the_recommendation_are_one_lob(tmp_path: Path) -> None:
    expected = [f"record14.pdf.{each}" for each in [*range(12), "z"]]
    written(tmp_path, *(f"{LOB4}/{name}" for name in expected), f"{LOB4}/record15.pdf")
    lob, other = lobs(tmp_path)
    assert names(lob) == expected
    assert (lob.extension, lob.media_type) == ("pdf", "application/pdf")
    assert lob.size == sum((tmp_path / LOB4 / name).stat().st_size for name in expected)
    assert names(other) == ["record15.pdf"]


@pytest.mark.parametrize(
    "there",
    [
        ["record1.bin.0", "record1.bin.z"],
        ["record1.bin.00", "record1.bin.01", "record1.bin.z"],
        ["record1.bin.0", "record1.bin.01", "record1.bin.z"],
        ["record1.bin_part1", "record1.bin_part02", "record1.bin_part0003"],
        [f"record1.bin_part{each:03d}" for each in range(1, 12)],
    ],
)
def test_other_whole_sets_of_parts_are_taken(tmp_path: Path, there: list[str]) -> None:
    written(tmp_path, *(f"{LOB4}/{name}" for name in there))
    (lob,) = lobs(tmp_path)
    assert (names(lob), lob.extension) == (there, "bin")


@pytest.mark.parametrize(("there", "words"), read_table(__file__, "incomplete"))
def test_a_lob_that_is_not_once_and_whole_is_refused(tmp_path: Path, there: str, words: str) -> None:
    written(tmp_path, *(f"{LOB4}/record3.bin{suffix}" for suffix in there.split(" ")))
    written(tmp_path, f"{LOB4}/record2.bin")
    assert (
        refused(tmp_path).message
        == f"{tmp_path}: LOBs that are not there once and whole: 1 found: {LOB4}: {words}"
    )


def test_two_files_for_one_cell_are_refused(tmp_path: Path) -> None:
    written(tmp_path, f"{LOB4}/record3.bin", f"{LOB4}/record3.txt")
    words = "'record3.bin' and 'record3.txt' are different files for one LOB"
    assert words in refused(tmp_path).message


def test_all_that_is_wrong_with_lobs_is_counted_and_20_are_named_in_order(tmp_path: Path) -> None:
    written(tmp_path, *(f"{LOB4}/record{number}.bin.0" for number in range(23)))
    message = refused(tmp_path).message
    assert ": 23 found: " in message
    assert message.endswith("; and 3 more")
    at = [message.index(f"'record{number}.bin.z'") for number in range(20)]
    assert at == sorted(at)


# What is no LOB


@pytest.mark.parametrize("name", read_table(__file__, "unplaced"))
def test_a_file_that_fits_no_pattern_is_refused(tmp_path: Path, name: str) -> None:
    written(tmp_path, f"{LOB4}/record0.bin", name)
    message = refused(tmp_path).message
    assert "files that are not named as LOBs" in message
    assert repr(name) in message


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    written(tmp_path, f"{LOB4}/record0.bin")
    try:
        os.close(os.open(os.fsencode(tmp_path / LOB4) + b"/record1.b\xe4", os.O_CREAT | os.O_WRONLY))
    except OSError as error:
        pytest.skip(f"the file system takes no such name: {error}")
    assert f"'{LOB4}/record1.b\\udce4'" in refused(tmp_path).message


def test_all_that_does_not_fit_is_counted_and_20_are_named(tmp_path: Path) -> None:
    written(tmp_path, f"{LOB4}/record0.bin", *(f"note{number:04d}" for number in range(1021)))
    message = refused(tmp_path).message
    assert ": 1,021 found: " in message
    assert message.endswith("'note0018'; 'note0019'; and 1,001 more")


@pytest.mark.parametrize("names", [[], ["content/schema0"]])
def test_a_folder_without_files_is_refused(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).mkdir(parents=True)
    assert "holds no file" in refused(tmp_path).message


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in refused(tmp_path / "none").message


@pytest.mark.parametrize("where", ["content", f"{LOB4}/record1.bin"])
def test_a_link_is_refused(tmp_path: Path, where: str) -> None:
    written(tmp_path / "there", f"{LOB4}/record0.bin")
    folder = tmp_path / "here"
    if where == "content":
        folder.mkdir()
    else:
        written(folder, f"{LOB4}/record0.bin")
    (folder / where).symlink_to(tmp_path / "there" / where.partition("/")[0])
    assert f"{where!r} is a symbolic link" in refused(folder).message


def test_a_named_pipe_is_refused(tmp_path: Path) -> None:
    written(tmp_path, f"{LOB4}/record0.bin")
    os.mkfifo(tmp_path / LOB4 / "record1.bin")
    assert "is a named pipe" in refused(tmp_path).message


# Sorting


def test_lobs_come_together_as_far_as_their_facts_are_equal(tmp_path: Path) -> None:
    written(tmp_path, *(f"{LOB4}/record{row}.{'bin' if row < 1_200 else 'txt'}" for row in range(1_300)))
    written(tmp_path, f"{LOB4}/record2000.txt.0", f"{LOB4}/record2000.txt.z")
    (tmp_path / LOB4 / "record3000.txt").write_bytes(bytes(SMALL + 1))
    found = list(lobfolder.lob_runs(tmp_path))
    assert [len(each) for each in found] == [1_000, 200, 100, 1, 1]
    assert [each.place.row for each in found if each.detail] == [2_001, 3_001]


@pytest.mark.slow
def test_many_lobs_take_no_more_memory_than_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metspack.files.walking.statuses", lambda *given: [(1, 10**20, 1, 1)] * len(given[2]))

    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def sorted_out(count: int) -> int:
        rows = list(range(count))
        random.Random(0).shuffle(rows)  # noqa: S311 - any disorder will do
        with lobfolder.FilesByPlace(tmp_path) as finds:
            for row in rows:
                finds.put_files((0, 0, cell_key("c1")), "a", [(row + 1, -1, f"record{row}.bin")])
            assert finds.count == count
            assert [row for run in finds.lob_runs() for row in run.rows] == list(range(1, count + 1))
            assert not list(finds.crowded())
        return peak()

    before = sorted_out(1_000)
    # Rows and names held would be 30 MB and more; the list of numbers here is 1 MB.
    scale = 1 if os.uname().sysname == "Darwin" else 1024
    assert (sorted_out(60_000) - before) * scale < 20_000_000


def test_what_became_of_files_meanwhile_is_reported(tmp_path: Path) -> None:
    """They are looked at when their LOBs are asked for."""
    written(tmp_path, *(f"{LOB4}/record{row}.bin" for row in range(2_000)))
    last = tmp_path / LOB4 / "record1999.bin"
    found = lobfolder.lob_runs(tmp_path)
    next(found)
    last.unlink()
    with pytest.raises(SourceError, match=r"the file .*record1999\.bin' cannot be read: No such file"):
        list(found)
    last.touch()
    found = lobfolder.lob_runs(tmp_path)
    next(found)
    last.unlink()
    last.symlink_to("record0.bin")
    with pytest.raises(SourceError, match=r"record1999\.bin"):
        list(found)


def test_a_time_of_more_than_64_bits_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the year 5138, which some file systems take."""
    written(tmp_path, f"{LOB4}/record0.bin")
    monkeypatch.setattr("metspack.files.walking.statuses", lambda *_: [(1, 10**20, 1, 1)])
    (run,) = lobfolder.lob_runs(tmp_path)
    assert run.extents[1] == [10**20]
