import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.lengths import Lengths


def counted(data: bytes, size: int) -> Lengths:
    lengths = Lengths()
    for start in range(0, len(data), size):
        lengths.update(data[start : start + size])
    return lengths


@given(st.text(st.characters(codec="utf-8")), st.integers(1, 9))
def test_text_is_counted_in_three_units_wherever_it_is_cut(text: str, size: int) -> None:
    found = counted(text.encode(), size)
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
    assert Lengths().unit(0) == "bytes"
