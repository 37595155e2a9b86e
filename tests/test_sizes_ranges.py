"""Ranges as a person writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import ConfigError
from metspack.sizes import ByteRange, parsed_range
from tests.laws import of_each


@pytest.mark.parametrize(
    ("text", "size", "offsets"),
    [
        ("2100-3599", 4000, range(2100, 3600)),
        ("2100-3599", 3600, range(2100, 3600)),
        ("-500", 4000, range(3500, 4000)),
        ("-500", 500, range(500)),
        ("2100-", 4000, range(2100, 4000)),
        (" 0-0 ", 1, range(1)),
        ("0-", 0, range(0)),
    ],
)
def test_a_range_is_first_and_last_byte_or_open(text: str, size: int, offsets: range) -> None:
    assert parsed_range(text).within(size) == offsets


@of_each(
    [
        ("", "is not a range"),
        ("-", "is not a range"),
        ("5", "is not a range"),
        ("1-2-3", "is not a range"),
        ("a-b", "is not a range"),
        ("--5", "is not a range"),
        ("1-2,4-5", "is not a range"),
        ("٣-٤", "is not a range"),
        ("1-" + 19 * "9", "is not a range"),
        ("-0", "is empty"),
        ("7-6", "ends before it begins"),
    ]
)
def test_what_is_no_range_is_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        parsed_range(text)
    assert "2100-3599" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "size", "said"),
    [
        ("0-10", 10, r"0-10 lies outside the LOB, which has 10 bytes \(the last byte is 9\)"),
        ("10-", 10, "10- lies outside the LOB, which has 10 bytes"),
        ("-11", 10, "-11 lies outside"),
        ("12-14", 10, "12-14 lies outside"),
        ("0-0", 0, "it is empty"),
        ("1-", 0, "it is empty"),
        ("-1", 0, "it is empty"),
    ],
)
def test_a_range_outside_the_lob_is_an_error_with_the_size(text: str, size: int, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parsed_range(text).within(size)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_range_is_read_back_from_its_text(first: int, more: int) -> None:
    for each in (
        ByteRange(first=first, last=first + more),
        ByteRange(first=first, last=None),
        ByteRange(first=None, last=first + 1),
    ):
        assert parsed_range(str(each)) == each


@given(st.binary(min_size=1, max_size=50), st.data())
def test_a_range_within_a_lob_is_pythons_slice(data: bytes, draw: st.DataObject) -> None:
    first = draw.draw(st.integers(0, len(data) - 1))
    last = draw.draw(st.integers(first, len(data) - 1))

    def of(text: str) -> bytes:
        offsets = parsed_range(text).within(len(data))
        return data[offsets.start : offsets.stop]

    assert of(f"{first}-{last}") == data[first : last + 1]
    assert of(f"{first}-") == data[first:]
    assert of(f"-{last + 1}") == data[-last - 1 :]
