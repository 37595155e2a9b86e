from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import SourceError
from metspack.locations import Convention
from metspack.locations import candidates as locations_candidates
from metspack.locations.candidates import (
    Candidate,
    Candidates,
    candidate,
    candidates,
    is_lob_folder,
    lob_folders,
    renamed,
)
from metspack.locations.conventions import DESPITE_ERRORS, WAYS
from metspack.locations.statement import Levels, LocationError, Place
from metspack.siard.metadata import Field
from metspack.uris import Repair
from tests.laws import law
from tests.siard.convention_archives import TABLE
from tests.tables import tabled

PLAIN = Levels(database=None, column=None, table=TABLE, file="lobs/record0.bin")
REAL = set(Convention) - {
    Convention.SIARD_FOLDER,
    Convention.LOB_ROOT,
    Convention.RENAMED,
}


def names(levels: Levels) -> list[tuple[str, str]]:
    return [(each.convention.letter, each.place.text) for each in candidates(levels)]


def test_conventions_have_a_letter_of_their_own_and_say_what_they_are() -> None:
    letters = [each.letter for each in Convention]
    assert len(set(letters)) == len(letters)
    assert {each.letter for each in REAL} == set("ABCDEFGHIJK")
    for each in Convention:
        assert each.text.endswith(".")
        assert each.title
        assert each.source


@given(st.sampled_from([None, "content/"]), st.lists(st.sampled_from(["content/a", "a", "x/content/a"])))
def test_full_names_are_counted_as_each_by_itself(database: str | None, files: list[str]) -> None:
    found = Candidates(replace(PLAIN, database=database))
    assert found.all_named_in_full(files) == Counter(map(found.named_in_full, files))


def test_only_the_statement_and_the_repeated_content_need_no_warning() -> None:
    assert {each for each in Convention if each.is_statement} == {Convention.C, Convention.F}


def test_the_order_is_fixed() -> None:
    levels = replace(PLAIN, database="../X_lobs/", column="s0_t2_c4/", file="seg_0/r.bin")
    assert names(levels) == [
        ("C", "../X_lobs/s0_t2_c4/seg_0/r.bin"),
        ("A", "./X_lobs/s0_t2_c4/seg_0/r.bin"),
        ("H", "seg_0/r.bin"),
        ("G", "s0_t2_c4/seg_0/r.bin"),
        ("G", "content/s0_t2_c4/seg_0/r.bin"),
        ("I", "content/schema0/table2/s0_t2_c4/seg_0/r.bin"),
        ("S", "./s0_t2_c4/seg_0/r.bin"),
        ("S", "./seg_0/r.bin"),
        ("L", "./X_lobs/s0_t2_c4/seg_0/r.bin"),
        ("L", "./s0_t2_c4/seg_0/r.bin"),
        ("L", "./seg_0/r.bin"),
        ("R", "../X_lobs/s0_t2_c4/seg_0/r.bin"),
        ("R", "./X_lobs/s0_t2_c4/seg_0/r.bin"),
    ]


@pytest.mark.parametrize("database", [None, "file:///D:/old/"])
def test_only_a_folder_outside_below_a_granted_one_may_be_renamed(database: str | None) -> None:
    levels = replace(PLAIN, database=database, file="X_lobs/r.bin")
    found = list(candidates(levels))
    assert any(each.place.inside for each in found)
    again = [each for each in found if each.convention is Convention.RENAMED]
    assert again
    assert not [each for each in again if each.place.inside or each.place.absolute]


def test_below_content_is_inside() -> None:
    assert ("G", "content/x/r.bin") in names(replace(PLAIN, column="x/", file="r.bin"))
    for column in ("../../x/", "../../../x/"):
        found = candidates(replace(PLAIN, column=column, file="r.bin"))
        assert not [each for each in found if each.convention is Convention.G]


def test_levels_of_fields_are_chained_and_the_innermost_is_taken_by_itself() -> None:
    levels = replace(PLAIN, column="../lobs/", fields=(None, "../lobs/field/"), file="record0.txt")
    found = names(levels)
    assert found[0] == ("C", "../lobs/field/record0.txt")
    assert ("H", "./lobs/field/record0.txt") in found


def test_a_fields_folder_may_stand_for_the_whole_chain() -> None:
    levels = replace(PLAIN, database="./lobs/", column="a/", fields=("b/",), file="r.bin")
    assert names(levels)[:2] == [("C", "./lobs/a/b/r.bin"), ("C", "./lobs/b/r.bin")]
    assert [each.stated for each in candidates(levels)][:3] == [True, True, False]


def test_an_absolute_column_with_its_cells_in_the_zip_is_still_looked_for_there() -> None:
    found = names(replace(PLAIN, column="D:\\tmp\\lobs\\", file=f"{TABLE}/lob1/record0.bin"))
    assert found[0] == ("C", f"D:/tmp/lobs/{TABLE}/lob1/record0.bin")
    assert ("H", f"{TABLE}/lob1/record0.bin") in found


def test_a_rooted_cell_keeps_the_drive_of_the_column() -> None:
    found = names(replace(PLAIN, column="D:/tmp/", fields=("/lobs/",), file="r.bin"))
    assert found[0] == ("C", "D:/lobs/r.bin")
    assert ("L", "./lobs/r.bin") in found


@pytest.mark.parametrize("folder", ["../lob1", "/lob1", "C:\\lob1"])
def test_a_column_folder_that_leaves_the_table_gives_no_place(folder: str) -> None:
    assert not [each for each in names(replace(PLAIN, folder=folder)) if each[0] == "I"]


def test_the_refusal_of_one_level_leaves_the_others() -> None:
    refusals: list[SourceError] = []
    found = list(candidates(replace(PLAIN, database="http://host/lobs/", file=f"{TABLE}/r.bin"), refusals))
    assert found[0].convention is Convention.C
    assert found[0].place == Place(inside=True, segments=(*TABLE.split("/"), "r.bin"))
    assert [each.message for each in refusals] == [
        "the database's lobFolder: the reference 'http://host/lobs/' has the scheme 'http'"
    ]


def test_an_absolute_cell_is_not_put_right_where_its_column_is() -> None:
    found = candidate(replace(PLAIN, column="a b\\", file="/p/r.bin"), DESPITE_ERRORS[0])
    assert found is not None
    assert (found.place.text, found.repairs) == ("/p/r.bin", ())


@pytest.mark.parametrize("database", [None, "http://host/"])
@pytest.mark.parametrize("file", ["/srv/record0.bin", "D:\\record0.bin", "file:///D:/record0.bin"])
def test_an_absolute_cell_is_an_error_with_b_as_the_only_way_out(database: str | None, file: str) -> None:
    refusals: list[SourceError] = []
    found = list(candidates(replace(PLAIN, database=database, file=file), refusals))
    assert [each.convention for each in found] == [Convention.B]
    assert isinstance(refusals[0], LocationError)
    assert "is absolute; expected a relative one" in refusals[0].message


def test_a_pseudo_absolute_cell_is_an_error_with_b_and_k_as_the_ways_out() -> None:
    assert names(replace(PLAIN, file="file:///Northwind_lobseg_0/r.bin")) == [
        ("B", "/Northwind_lobseg_0/r.bin"),
        ("K", "./Northwind_lobseg_0/r.bin"),
    ]


def test_a_pseudo_absolute_uri_says_that_it_was_repaired() -> None:
    found = list(candidates(replace(PLAIN, file="file:///Northwind_lobseg_0/a b.bin")))[-1]
    assert found.convention is Convention.K
    assert found.repairs == (Repair.PSEUDO_ABSOLUTE, Repair.SPACE)


def test_an_absolute_column_below_a_database_folder_is_an_error_too() -> None:
    refusals: list[SourceError] = []
    levels = replace(PLAIN, database="./lobs/", column="file:///X/", file="r.bin")
    found = [(each.convention.letter, each.place.text) for each in candidates(levels, refusals)]
    assert found == [("B", "/X/r.bin"), ("K", "./X/r.bin")]
    assert isinstance(refusals[0], LocationError)
    assert "is absolute though the database has one" in refusals[0].message


@pytest.mark.parametrize("file", ["lobs/", ".", "..", "lobs/.."])
@pytest.mark.parametrize("database", [None, "http://host/"])
def test_a_cell_that_names_a_folder_has_no_candidates(file: str, database: str | None) -> None:
    refusals: list[SourceError] = []
    assert not list(candidates(replace(PLAIN, database=database, file=file), refusals))
    (refused,) = (each for each in refusals if isinstance(each, LocationError))
    assert "names a folder; expected a file" in refused.message


def test_the_way_of_one_cell_makes_the_place_of_the_next() -> None:
    levels = replace(PLAIN, database="../old.siard_lobs", column="s1_t1_c3", file="seg_0/r1.bin")
    for each in candidates(levels):
        again = candidate(replace(levels, file="seg_0/r2.bin"), each.way)
        assert again is not None
        assert again.convention is each.convention
        assert again.place.segments == (*each.place.segments[:-1], "r2.bin")
        assert again.renamed == each.renamed


@pytest.mark.parametrize("file", ["lobs/", "/srv/r.bin", "http://host/x"])
def test_a_remembered_way_makes_nothing_of_an_error(file: str) -> None:
    assert candidate(replace(PLAIN, file=file), 2) is None


def test_a_remembered_way_that_no_longer_applies_makes_nothing() -> None:
    levels = replace(PLAIN, file="r.bin")
    assert candidate(levels, 11) is None
    renamed_way = next(
        each.way
        for each in candidates(replace(levels, column="x.siard_lobs/"))
        if each.convention is Convention.RENAMED
    )
    assert candidate(levels, renamed_way) is None


def test_a_renamed_folder_is_that_of_the_archive_first() -> None:
    siblings = ["zz.siard_lobs", "after.siard_lobs", "aa.siard_lobs", "old.siard_lobs", "lobs", "after.siard"]
    assert renamed("old.siard_lobs", siblings, "after.siard") == [
        "after.siard_lobs",
        "aa.siard_lobs",
        "zz.siard_lobs",
    ]


def test_a_renamed_segment_keeps_its_number() -> None:
    siblings = ["after_lobseg_1", "after.siard_lobseg_12", "after.siard_lobseg_1", "after_lobs"]
    assert renamed("old.siard_lobseg_1", siblings, "after.siard") == [
        "after.siard_lobseg_1",
        "after_lobseg_1",
    ]


def test_what_is_no_lob_folder_is_not_renamed() -> None:
    assert renamed("content", ["other"], "x.siard") == []
    assert is_lob_folder("Northwind_lobs")
    assert is_lob_folder("WinMed 2.siard_documents")
    assert not is_lob_folder("Northwind_lobseg_x")


TEXTS = st.one_of(
    st.none(),
    st.lists(
        st.sampled_from(
            [
                *("..", ".", "/", "\\", "content", "lobs", "a b", "x.siard_lobs", "n_lobseg_1", "seg_0"),
                *("r.bin", "file:", "file://", "C:", "%2e", "%00", "http:", "host", "", "content/schema0"),
            ]
        ),
        min_size=1,
        max_size=5,
    ).map("/".join),
    st.text(max_size=8),
)


@given(
    levels=st.builds(
        Levels,
        database=TEXTS,
        column=TEXTS,
        fields=st.lists(TEXTS, max_size=2).map(tuple),
        folder=TEXTS,
        table=st.just(TABLE),
        file=TEXTS.map(lambda text: text or "r.bin"),
    )
)
@law(200)
def test_any_levels_give_places_that_are_names_and_each_once(levels: Levels) -> None:
    refusals: list[SourceError] = []
    found = list(candidates(levels, refusals))
    assert found or refusals
    seen: set[tuple[Convention | None, Place]] = set()
    for each in found:
        special = each.convention in {Convention.LOB_ROOT, Convention.RENAMED}
        key = (each.convention if special else None, each.place)
        assert key not in seen or each.convention is Convention.RENAMED
        seen.add(key)
        check(each)
        if each.convention is not Convention.RENAMED:
            assert candidate(levels, each.way) == each


def check(found: Candidate) -> None:
    segments = found.place.segments
    steps = segments.count("..")
    assert segments[:steps] == ("..",) * steps
    assert not steps or not (found.place.inside or found.place.absolute)
    assert len(segments) > steps
    assert all(name and "/" not in name and "\0" not in name and name != "." for name in segments)
    if found.renamed is not None:
        assert is_lob_folder(segments[found.renamed])


def test_candidates_made_once_for_a_folder_are_those_of_every_cell_in_it() -> None:
    levels = replace(PLAIN, database="../old.siard_lobs", column="s1_t1_c3")
    column = Candidates(levels)
    for file in ("seg_0/r1.bin", "seg_0/r2.bin", "seg_1/r2.bin", "seg_0", "content", "r.bin", "q.bin", "a b"):
        refusals: list[SourceError] = []
        assert list(column.of(file, refusals)) == list(candidates(replace(levels, file=file)))


@pytest.mark.parametrize("file", ["r.bin", "s.bin", "a b"])
def test_what_is_refused_is_reported_for_every_cell(file: str) -> None:
    levels = replace(PLAIN, column="http://host/lobs/")
    column = Candidates(levels)
    for _again in range(2):
        refusals: list[SourceError] = []
        assert list(column.of(file, refusals)) == list(candidates(replace(levels, file=file)))
        assert [each.message for each in refusals] == [
            "the column's lobFolder: the reference 'http://host/lobs/' has the scheme 'http'"
        ]


def described(kind: str, lob_folder: str | None = None, folder: str | None = None) -> Field:
    return Field(
        number=1, name="x", type=kind, lob_folder=lob_folder, folder=folder, mime_type=None, fields=()
    )


def test_the_levels_of_a_field_are_those_of_its_column_and_the_fields_around_it() -> None:
    chain = [described("x", "a/", "f1"), described("x", None, "f2"), described("CLOB", "c/", None)]
    found = Candidates.of_field(chain, "../db/", TABLE)
    assert found.levels == Levels(
        database="../db/", column="a/", fields=(None, "c/"), folder="f2", table=TABLE, file="x"
    )
    assert (found.is_inside, found.is_content, found.is_text) == (False, False, True)
    found = Candidates.of_field(chain[:1], None, TABLE)
    assert found.levels == Levels(database=None, column="a/", folder="f1", table=TABLE, file="x")
    found = Candidates.of_field([], "content", TABLE)
    assert found.levels == Levels(database="content", column=None, table=TABLE, file="x")
    assert (found.is_inside, found.is_content, found.is_text) == (True, True, True)


@pytest.mark.parametrize("database", ["content", "content/", " ./content\\", ".\\content"])
def test_a_database_folder_that_is_content_in_any_writing(database: str) -> None:
    assert Candidates(replace(PLAIN, database=database)).is_content


@tabled
def test_a_length_counts_characters_unless_the_innermost_type_has_none(
    types: list[str], is_text: bool
) -> None:
    found = Candidates.of_field([described(each) for each in types], None, TABLE)
    assert found.is_text is is_text
    assert found.fits(3, None)
    assert found.fits(3, 3)
    assert found.fits(5, 3) is is_text  # three characters may take five bytes
    assert not found.fits(2, 3) or is_text
    assert not found.fits(100, 3)


def test_the_one_place_of_a_way_stands_for_every_plain_name() -> None:
    levels = replace(PLAIN, column="../x_lobs/", file=Candidates.of_field([], None, TABLE).levels.file)
    for each in candidates(replace(levels, file="x")):
        assert candidate(levels, each.way) == each
    assert candidate(levels, 11) is None


@tabled
def test_each_rule_gives_its_place_and_name(
    levels: dict[str, Any], places: list[str], repaired: list[int]
) -> None:
    """``places`` are those of ``r.bin`` by each rule before the guesses."""
    count = len(WAYS) - 9
    fields = tuple(each or None for each in levels.get("fields", ()))
    stated = Levels(**{"database": None, "column": None, "table": TABLE} | levels | {"fields": fields})
    found = [candidate(stated, way) for way in range(count)]
    shown = [each and f"{each.convention.letter} {each.place.text}" for each in found]
    assert shown == [f"{each}r.bin" if each else None for each in (*places, *[""] * (count - len(places)))]
    assert {way for way, each in enumerate(found) if each and each.repairs} == set(repaired)
    for each in found:
        if each is not None:
            inside = not each.place.text.startswith((".", "/"))
            assert (each.place.inside, each.way) == (inside, found.index(each))


GUESSED = {Convention.SIARD_FOLDER, Convention.LOB_ROOT}


def test_an_absolute_chain_is_looked_for_in_granted_folders_but_not_beside_the_archive() -> None:
    levels = replace(PLAIN, column="D:/a b/", file="r.bin")
    found = [each for each in candidates(levels) if each.convention in GUESSED]
    assert [(each.convention.letter, each.place.text) for each in found] == [
        ("S", "./r.bin"),
        ("L", "./a b/r.bin"),
        ("L", "./r.bin"),
    ]
    assert [each.repairs for each in found] == [(), (Repair.SPACE,), ()]


@pytest.mark.parametrize(("folder", "is_inside"), [(None, True), (" \t\r\n", True), ("\u00a0", False)])
def test_a_lob_folder_of_xml_white_space_only_is_none(folder: str | None, *, is_inside: bool) -> None:
    column = Candidates(replace(PLAIN, column=folder))
    assert column.is_inside is is_inside
    assert next(column.of("r.bin", [])).place.inside is is_inside


def test_few_folders_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locations_candidates, "_REMEMBERED", 2)
    column = Candidates(PLAIN)
    for number in range(9):
        assert list(column.of(f"seg_{number}/r.bin", []))


def test_the_folders_of_other_archives_are_theirs() -> None:
    names = [
        "a_lobseg_0",
        "a.siard_lobs",
        "b_lobseg_0",
        "b.siard_lobs",
        "b_documents",
        "c_lobs",
        "b_2_lobs",
        "x",
    ]
    own = ["a_lobseg_0", "a.siard_lobs", "c_lobs", "b_2_lobs"]
    assert lob_folders(names, ["a.siard", "b.siard"], "a.siard") == own
    assert lob_folders(names, ["a.siard"], "a.siard") == names[:-1]
