"""Similarity of identifiers."""

from hypothesis import example, given
from hypothesis import strategies as st

from metspack.checking.similarity import RecentEdits, TextEdit, likeness, nearest
from tests.tables import tabled

IDENTIFIERS = st.text(st.sampled_from("abAB:-."), max_size=8)


@tabled
def test_likeness_in_words(one: str, other: str, expected: str) -> None:
    assert likeness(one, other) == expected


def test_the_nearest_is_similar_or_ends_with_it() -> None:
    longer = "archive/of/another/disk/segment_12"
    assert nearest("segment_12", ["other", longer]) == longer
    assert nearest("segment_12", [longer, "Segment_12", "segment_13"]) == "Segment_12"
    assert nearest("segment_12", ["nothing"]) == ""


@given(IDENTIFIERS, IDENTIFIERS)
@example(":::", "::::::")
def test_likeness_goes_both_ways(one: str, other: str) -> None:
    """In letters they differ by as many; what one has more, the other has less."""
    there, back = likeness(one, other), likeness(other, one)
    assert bool(there) == bool(back)
    assert there == back or not (there + back).count("differs")


@given(IDENTIFIERS, st.integers(0, 8), st.sampled_from("xyz"))
def test_a_letter_put_in_is_one_letter_off(text: str, at: int, letter: str) -> None:
    assert likeness(text, text[:at] + letter + text[at:]) == "differs by 1 character"


@tabled
def test_equal_changes_have_one_edit(pairs: list[tuple[str, str]], same: bool) -> None:
    first, second = (TextEdit.of(*pair) for pair in pairs)
    assert (first == second) is same


@given(IDENTIFIERS, IDENTIFIERS)
def test_an_edit_makes_the_other_of_a_text(text: str, other: str) -> None:
    edit = TextEdit.of(text, other)
    applied = edit.applied(text)
    assert applied == other or (edit.is_case and applied.casefold() == other.casefold())


@given(IDENTIFIERS, IDENTIFIERS)
def test_an_edit_within_leaves_out_what_the_texts_begin_with(text: str, other: str) -> None:
    edit, within = TextEdit.of(text, other), TextEdit.within(text, other)
    if edit.is_case:
        assert within == edit
        return
    start = edit.before.removesuffix(within.before)
    assert (start + within.before, start + within.now) == (edit.before, edit.now)
    assert not (within.before and within.now) or within.before[0] != within.now[0]


def test_the_edits_met_last_decide_what_is_meant() -> None:
    edits = RecentEdits()
    for number in range(20):
        edits.learn(f"{number}_a", f"{number}x_a")
    assert list(edits.meant("19_b")) == ["19x_b"]
    assert not list(edits.meant("1_b"))
    edits.learn("A.xml", "a.xml")
    assert next(edits.meant("b/A.xml")) == "b/a.xml"
