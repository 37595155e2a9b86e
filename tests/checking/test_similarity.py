"""How identifiers are alike."""

from hypothesis import given
from hypothesis import strategies as st

from metspack.checking.similarity import likeness

IDENTIFIERS = st.text(st.sampled_from("abAB:-."), max_size=8)


def test_likeness_in_words() -> None:
    assert likeness("a", "a") == ""
    assert likeness("ID_North", "id_north") == "differs only in case"
    assert likeness("urn:x:one", "one") == "differs only in its URN prefix"
    assert likeness("lobseg_1", "lobseg_2") == "one letter off"
    assert likeness("lobseg_1", "lobsg_2") == "two letters off"
    assert likeness("lobseg_one", "lobseg_1") == "'1' where 'one' was expected"
    assert likeness("lobseg_one", "record_1") == ""
    assert likeness("a" * 500, "a" * 499) == ""


@given(IDENTIFIERS, IDENTIFIERS)
def test_likeness_goes_both_ways(one: str, other: str) -> None:
    assert likeness(one, other) == likeness(other, one)


@given(IDENTIFIERS, st.integers(0, 8), st.sampled_from("xyz"))
def test_a_letter_put_in_is_one_letter_off(text: str, at: int, letter: str) -> None:
    assert likeness(text, text[:at] + letter + text[at:]) == "one letter off"


def test_names_that_look_the_same_are_told_apart_by_their_form() -> None:
    assert likeness("Gr\u00fcn.bin", "Gru\u0308n.bin") == "differs only in its Unicode form"
