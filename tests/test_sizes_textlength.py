import pickle
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.sizes import TextLength, impossible_sql, is_possible

TEXTS = st.text(st.characters(codec="utf-8"))
MARKED = "aé€\U0001f600b\U00010000ÿ"


def counted(data: bytes, size: int) -> TextLength:
    length = TextLength()
    for start in range(0, len(data), size):
        length.update(data[start : start + size])
    return length


@given(TEXTS, st.integers(1, 9))
def test_text_is_counted_in_three_units_wherever_it_is_cut(text: str, size: int) -> None:
    found = counted(text.encode(), size)
    assert found.is_text
    assert found.bytes == len(text.encode())
    assert found.characters == len(text)
    assert found.utf16_units == len(text.encode("utf-16-le")) // 2


@given(st.binary(), st.integers(1, 9))
def test_any_bytes_are_counted(data: bytes, size: int) -> None:
    found = counted(data, size)
    assert found.bytes == len(data)
    assert found.unit(len(data)) == "bytes"


@pytest.mark.parametrize(
    ("length", "unit"), [(7, "bytes"), (3, "characters"), (4, "UTF-16 units"), (5, None), (0, None)]
)
def test_a_length_is_named_by_its_unit(length: int, unit: str | None) -> None:
    assert counted("aé\U0001f600".encode(), 2).unit(length) == unit


def test_nothing_is_zero_bytes() -> None:
    assert TextLength().unit(0) == "bytes"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_text_in_utf_16_is_told_by_its_mark(codec: str, size: int) -> None:
    found = counted(("\ufeff" + MARKED).encode(codec), size)
    assert (found.bytes, found.characters, found.utf16_units) == (20, 8, 10)
    assert str(found) == "20 bytes, 8 characters, 10 UTF-16 units"
    assert [found.unit(each) for each in (20, 7, 8, 9, 10, 6)] == [
        "bytes",
        "characters",
        "characters",
        "UTF-16 units",
        "UTF-16 units",
        None,
    ]


@given(TEXTS, st.sampled_from(["utf-16-le", "utf-16-be"]), st.integers(1, 9))
def test_utf_16_is_counted_wherever_it_is_cut(text: str, codec: str, size: int) -> None:
    found = counted(("\ufeff" + text).encode(codec), size)
    assert found.is_text
    assert found.characters == len(text) + 1
    assert found.utf16_units == len(text.encode(codec)) // 2 + 1


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_half_of_a_surrogate_pair_is_a_character(size: int) -> None:
    found = counted("\ufeff\ud83da\ude00".encode("utf-16-le", "surrogatepass"), size)
    assert (found.is_text, found.characters, found.utf16_units) == (True, 4, 4)


@pytest.mark.parametrize("data", [b"", b"a", "é€".encode()])
def test_without_a_mark_text_is_utf_8(data: bytes) -> None:
    found = counted(data, 1)
    assert not found.is_utf16
    assert found.is_text
    assert found.characters == len(data.decode())


@pytest.mark.parametrize("data", [b"\xff", b"ab\xc3", b"\x80abc", b"\xff\xfea", b"\xfe\xff\x00a\x00"])
@pytest.mark.parametrize("size", [1, 2, 100])
def test_what_is_no_text_has_a_length_in_bytes_alone(data: bytes, size: int) -> None:
    found = counted(data, size)
    assert not found.is_text
    assert str(found) == f"{len(data)} bytes"
    assert [each for each in range(9) if found.unit(each) is not None] == [len(data)]


def test_a_count_under_way_can_be_sent_to_another_process() -> None:
    sent = pickle.loads(pickle.dumps(counted("aé€".encode()[:-1], 100)))  # noqa: S301 -- our own
    sent.update("é€".encode()[-1:])
    assert sent.unit(3) == "characters"


@given(TEXTS, st.sampled_from(["utf-8", "utf-16-le", "utf-16-be"]))
def test_every_length_that_a_text_has_is_possible(text: str, codec: str) -> None:
    data = text.encode() if codec == "utf-8" else ("\ufeff" + text).encode(codec)
    found = counted(data, 100)
    for length in range(len(data) + 2):
        if found.unit(length) is not None:
            assert is_possible(length, len(data))


def test_sql_says_the_same() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        query = f"SELECT {impossible_sql('?1', '?2')}"
        for length in range(8):
            for size in range(40):
                (impossible,) = database.execute(query, (length, size)).fetchone()
                assert bool(impossible) is not is_possible(length, size), (length, size)
    database.close()


def test_one_mark_that_is_not_counted_may_be_more_than_the_longest_characters() -> None:
    assert is_possible(1, len("\ufeff\U0001f600".encode("utf-16-le")))
    assert not is_possible(1, 5)
    assert not is_possible(1, 7)
