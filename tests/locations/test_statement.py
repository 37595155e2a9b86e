import itertools
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.locations.statement import (
    LevelLocation,
    LocationError,
    Outcome,
    folders,
    located,
    outcome,
)
from metspack.uris import ReferenceRefused, walked
from tests.laws import law, of_each
from tests.tables import tabled

LAW = law(300)
NIL, REL, ABS = LevelLocation.NIL, LevelLocation.RELATIVE, LevelLocation.ABSOLUTE

# The statement's appendix, one line for each database level: columns nil, rel, abs; cells nil, rel, abs.
APPENDIX = {
    NIL: "nil in ERR | nil out ERR | nil out ERR",
    REL: "nil in ERR | nil out ERR | nil ERR ERR",
    ABS: "nil in ERR | nil out ERR | nil ERR ERR",
}
TABLE = {
    (database, column, cell): Outcome(word)
    for database, line in APPENDIX.items()
    for column, words in zip(LevelLocation, line.split("|"), strict=True)
    for cell, word in zip(LevelLocation, words.split(), strict=True)
}
SAMPLES = {
    "database": {NIL: None, REL: "./Northwind_lobs/", ABS: "file:///S:/Archives/Northwind/"},
    "column": {NIL: None, REL: "s0_t2_c4/", ABS: "/mnt/lobs/"},
    "cell": {NIL: None, REL: "seg_0/t2_c4_r1.bin", ABS: "file:///seg_0/t2_c4_r1.bin"},
}


def test_the_table_has_27_cases_and_exactly_11_errors() -> None:
    words = list(TABLE.values())
    counts = {each: words.count(each) for each in Outcome}
    assert counts == {Outcome.NO_LOB: 9, Outcome.INSIDE: 3, Outcome.OUTSIDE: 4, Outcome.ERROR: 11}


@of_each(TABLE.items())
def test_an_outcome_is_that_of_the_table(
    levels: tuple[LevelLocation, LevelLocation, LevelLocation], expected: Outcome
) -> None:
    assert outcome(*levels) is expected


@of_each(TABLE.items())
def test_a_place_is_that_of_the_table(
    levels: tuple[LevelLocation, LevelLocation, LevelLocation], expected: Outcome
) -> None:
    database, column, cell = levels
    texts = SAMPLES["database"][database], SAMPLES["column"][column], SAMPLES["cell"][cell]
    if expected is Outcome.ERROR:
        with pytest.raises(LocationError) as caught:
            located(*texts)
        error = caught.value
        assert ("cell's location" if cell is ABS else "lobFolder is absolute though") in error.message
        assert f"(database {database.value}, column {column.value}, cell {cell.value})" in error.message
        assert error.hint
    else:
        place = located(*texts)
        if place is None:
            assert expected is Outcome.NO_LOB
        else:
            assert place.inside is (expected is Outcome.INSIDE)


@tabled
def test_locations_are_concatenated(database: str | None, column: str | None, cell: str, text: str) -> None:
    place = located(database, column, cell)
    assert place is not None
    assert place.text == text


@tabled
def test_a_fields_folder_is_below_the_enclosing_one(
    fields: list[str], text: str, database: str | None, column: str | None
) -> None:
    place = located(database, column, "r.bin", fields=[each or None for each in fields])
    assert place is not None
    assert place.text == text


@pytest.mark.parametrize(
    ("column", "fields"), [("/c", ("f",)), ("c", ("/f",)), (None, ("/f",)), (None, ("C:/f", "g"))]
)
def test_an_absolute_folder_anywhere_in_the_chain_is_an_error_under_a_database_level(
    column: str | None, fields: tuple[str, ...]
) -> None:
    with pytest.raises(LocationError, match="the column's lobFolder is absolute though the database has one"):
        located("db", column, "r.bin", fields=fields)


@pytest.mark.parametrize("cell", ["x/", ".", "./", "..", "x/..", "x/."])
@pytest.mark.parametrize("column", [None, "c"])
def test_a_cell_that_names_a_folder_is_an_error(column: str | None, cell: str) -> None:
    with pytest.raises(LocationError, match="names a folder; expected a file") as caught:
        located(None, column, cell)
    assert caught.value.hint


@tabled
def test_a_text_that_is_no_reference_is_refused_saying_where(
    cell: str, where: str, rule: str, database: str | None, column: str | None
) -> None:
    with pytest.raises(ReferenceRefused) as caught:
        located(database, column, cell)
    assert caught.value.rule == rule
    assert caught.value.message.startswith(where)


def test_a_refused_field_folder_is_named() -> None:
    with pytest.raises(ReferenceRefused, match=r"^a field's lobFolder: "):
        located(None, "c", "r.bin", fields=("a#b",))


def test_no_location_in_the_cell_asks_nothing_of_the_others() -> None:
    assert located("http://a/", "C:x", None, fields=("?",)) is None


def test_an_error_crosses_process_boundaries() -> None:
    with pytest.raises(LocationError) as caught:
        located("db", None, "/x")
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 -- our own bytes
    assert type(again) is LocationError
    assert (again.message, again.hint) == (caught.value.message, caught.value.hint)


# Laws


STEPS = ("a", "b", "..", "seg_0", "..", "c d")
DRAW = st.binary(max_size=16)  # one draw, cut up, is many times faster than several


def steps(draw: bytes) -> list[str]:
    return [STEPS[number % len(STEPS)] for number in draw]


@given(DRAW)
@LAW
def test_concatenation_is_walking_the_levels_in_turn(draw: bytes) -> None:
    database, column, cell = draw[1::3], draw[2::3], draw[3::3]
    slash = "/" if draw[:1] < b"\x80" else ""
    folders = ["/".join((".", *steps(each))) + slash for each in (database, column)]
    place = located(folders[0], folders[1], "/".join((*steps(cell), "r1.bin")))
    assert place is not None
    # Seen from deep enough below a root, the place and the plain walk end at the same file.
    deep = tuple(f"up{number}" for number in range(12))
    assert walked(deep, place.segments) == walked(deep, (*steps(database + column + cell), "r1.bin"))
    climbs = list(itertools.takewhile(lambda each: each == "..", place.segments))
    assert ".." not in place.segments[len(climbs) :]


PIECES = (
    "a",
    "b/",
    "/",
    "..",
    "../",
    "./",
    "C:",
    "c:/",
    "file://",
    "\\",
    "%2e",
    " ",
    "å",
    "?",
    "\0",
    "c.bin",
    "d",
)


def text(draw: bytes) -> str | None:
    if draw[:1] < b"\x40":
        return None
    return "".join(PIECES[number % len(PIECES)] for number in draw[1:])


@given(DRAW)
@LAW
def test_any_levels_give_a_place_or_none_or_an_error(draw: bytes) -> None:
    database, column, field, cell = (text(draw[start::4]) for start in range(4))
    try:
        place = located(database, column, cell, fields=[field])
    except (LocationError, ReferenceRefused):
        return
    assert (place is None) is (cell is None)
    if place is not None:
        assert place.segments
        assert place.drive is None or place.absolute
        assert not (place.inside and place.absolute)
        if place.inside or place.absolute:
            assert ".." not in place.segments


# A real archive


def test_a_folder_on_a_share_has_the_share_as_its_drive() -> None:
    (found,) = folders("lobFolder of column 4", r"\\srv01\archive\lobs")
    assert (found.drive, found.segments) == (r"\\SRV01\ARCHIVE", ("lobs",))
    with pytest.raises(ReferenceRefused, match="lobFolder of column 4: "):
        folders("lobFolder of column 4", "https://srv01/archive/lobs")
