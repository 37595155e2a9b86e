"""How identifiers are alike."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metspack.checking.similarity import RecentEdits, TextEdit, likeness, nearest

IDENTIFIERS = st.text(st.sampled_from("abAB:-."), max_size=8)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a", "a", ""),
        ("ID_North", "id_north", "differs only in case"),
        ("urn:x:one", "one", "differs only in its URN prefix"),
        ("lobseg_1", "lobseg_2", "differs by 1 character"),
        ("lobseg_1", "lobsg_2", "differs by 2 characters"),
        ("lobseg_one", "lobseg_1", "'1' where 'one' was expected"),
        ("lobseg_one", "record_1", ""),
        ("a" * 500, "a" * 499, ""),
        ("ID.AVID.RA.18005", "IP.AVID.SA.18005", "differs by 2 characters"),
        ("ID.AVID.RA.18005.godfather", "IP_AVID.RA.18005.godfather", "differs by 2 characters"),
        ("ID.AVID.RA.18005.godfather", "ID.AVID.Other.18005.godfather", "'Other' where 'RA' was expected"),
        ("AVID.18005", "ID.AVID.18005", "'ID.' before it"),
        ("ID.AVID.18005", "AVID.18005", "without 'ID.'"),
        ("abc", "xyz", ""),
        ("a/representations/rep1/METS.xml", "b/x/rep1/METS.xml", ""),
        ("Gr\u00fcn.bin", "Gru\u0308n.bin", "differs only in its Unicode form"),
    ],
)
def test_likeness_in_words(one: str, other: str, expected: str) -> None:
    assert likeness(one, other) == expected


def test_the_nearest_is_alike_or_ends_with_it() -> None:
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


@pytest.mark.parametrize(
    ("pairs", "same"),
    [
        ([("IP_a", "ID_a"), ("IP_b_1", "ID_b_1")], True),
        ([("a", "urn:uuid:a"), ("b", "urn:uuid:b")], True),
        ([("lobseg_1/x", "seg_1/x"), ("lobseg_2/x", "seg_2/x")], True),
        ([("a/METS.xml", "a/mets.xml"), ("b/METS.xml", "b/mets.xml")], True),
        ([("Ab-Cd", "ab-cd"), ("EF-Gh", "ef-gh")], True),
        ([("Ab-cD", "aB-cd"), ("Ab-cE", "aB-ce")], False),
        ([("ab-Cd", "AB-CD"), ("eF-gh", "EF-GH")], True),
        ([("Ab", "ab"), ("Cb", "cb")], False),
        ([("a_1", "a_2"), ("b_1", "b_2")], False),
        ([("IP_a", "ID_a"), ("IC_a", "ID_a")], False),
    ],
)
def test_what_was_changed_alike_has_one_edit(pairs: list[tuple[str, str]], same: bool) -> None:
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


def test_what_is_meant_is_told_by_the_edits_met_last() -> None:
    edits = RecentEdits()
    for number in range(20):
        edits.learn(f"{number}_a", f"{number}x_a")
    assert list(edits.meant("19_b")) == ["19x_b"]
    assert not list(edits.meant("1_b"))
    edits.learn("A.xml", "a.xml")
    assert next(edits.meant("b/A.xml")) == "b/a.xml"
