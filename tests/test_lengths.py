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


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_text_in_utf_16_is_told_by_its_mark(codec: str, size: int) -> None:
    text = "aé€\U0001f600b\U00010000ÿ"
    data = ("\ufeff" + text).encode(codec)
    lengths = Lengths()
    for at in range(0, len(data), size):
        lengths.update(data[at : at + size])
    assert (lengths.bytes, lengths.characters, lengths.utf16_units) == (20, 8, 10)
    assert [lengths.unit(each) for each in (20, 7, 8, 9, 10, 6)] == [
        "bytes",
        "characters",
        "characters",
        "UTF-16 units",
        "UTF-16 units",
        None,
    ]


@pytest.mark.parametrize("data", [b"", b"\xff", b"a", "é€".encode()])
def test_without_a_mark_text_is_utf_8(data: bytes) -> None:
    lengths = Lengths()
    for each in data:
        lengths.update(bytes([each]))
    assert not lengths.is_utf16
    assert lengths.bytes == len(data)
    assert lengths.characters == len(data.decode(errors="replace"))
