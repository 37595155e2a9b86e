import itertools
import pickle
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import ConfigError
from metspack.sizes import (
    ByteRange,
    Histogram,
    SizeClass,
    TextLength,
    count,
    counted,
    impossible_sql,
    is_possible,
    parsed_range,
    rounded,
    shown,
    size,
)
from tests.laws import of_each
from tests.tables import read_table, tabled


@of_each(
    [*read_table(__file__, "sizes"), ("4GiB", 4 << 30), ("1EiB", 1 << 60), ("none", None), (" None ", None)]
)
def test_sizes_are_decimal_or_binary(text: str, expected: int | None) -> None:
    assert size(text, "--max-bytes") == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-1",
        "4 XB",
        "1.",
        "1e3",
        "\u0664GB",
        "1 2",
        "9" * 5000,
        "0." + "1" * 5000,
    ],
)
def test_what_is_no_size_is_refused_by_name(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^--max-bytes .* is not a size$") as caught:
        size(text, "--max-bytes")
    assert "4GiB (binary)" in caught.value.hint


@pytest.mark.parametrize("text", ["0", "0.5", "0 GB", "0.0001kB"])
def test_a_size_under_one_byte_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--max-bytes .* is too small") as caught:
        size(text, "--max-bytes")
    assert "at least one byte" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "expected"), [("10000", 10_000), ("10,000", 10_000), (" 7 ", 7), ("NONE", None)]
)
def test_counts_are_whole_numbers(text: str, expected: int | None) -> None:
    assert count(text, "--max-files") == expected


@pytest.mark.parametrize("text", ["", "few", "1.5", "-3", "10k", "\u0661", "9" * 5000])
def test_what_is_no_count_is_refused_by_name(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^--max-files .* is not a number of files$"):
        count(text, "--max-files")


def test_a_count_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="--max-files 0 is too small") as caught:
        count("0", "--max-files")
    assert "at least one file" in caught.value.hint


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        *read_table(__file__, "shown"),
        (4 * 10**9, "4,000,000,000 bytes (4.0 GB)"),
        (10**22, "10,000,000,000,000,000,000,000 bytes (10000.0 EB)"),
    ],
)
def test_sizes_are_shown_exactly_and_then_rounded(number: int, expected: str) -> None:
    assert shown(number) == expected


@given(st.integers(1, 10**18))
def test_what_is_shown_can_be_given(number: int) -> None:
    assert size(shown(number).partition(" (")[0].replace("bytes", "B").replace("byte", "B"), "-") == number


@tabled
def test_numbers_go_with_their_nouns(number: int, words: tuple[str, ...], expected: str) -> None:
    assert counted(number, *words) == expected


@tabled
def test_sizes_are_rounded_down_to_a_unit(number: int, expected: str) -> None:
    assert rounded(number) == expected


@tabled
def test_a_range_is_first_and_last_byte_or_open(text: str, size: int, offsets: list[int]) -> None:
    assert parsed_range(text).within(size) == range(*offsets)


@of_each([*read_table(__file__, "no_ranges"), ("1-" + 19 * "9", "is not a range")])
def test_what_is_no_range_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        parsed_range(text)
    assert "2100-3599" in caught.value.hint


@tabled
def test_a_range_outside_the_lob_is_an_error_with_the_size(text: str, size: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
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


def classes(*sizes: int) -> list[SizeClass]:
    histogram = Histogram()
    for each in sizes:
        histogram.add_all([each])
    return list(histogram.classes())


def test_many_sizes_are_counted_as_each() -> None:
    histogram = Histogram()
    histogram.add_all([0, 1, 999, 1_000])
    assert list(histogram.classes()) == classes(0, 1, 999, 1_000)


def test_nothing_has_no_classes() -> None:
    assert classes() == []


def test_classes_are_powers_of_ten_with_those_between() -> None:
    found = classes(0, 1, 999, 1_000, 99_999, 100_000)
    assert [(each.label, each.lobs, each.bytes) for each in found] == [
        ("empty", 1, 0),
        ("below 1 kB", 2, 1_000),
        ("1 kB to 10 kB", 1, 1_000),
        ("10 kB to 100 kB", 1, 99_999),
        ("100 kB to 1 MB", 1, 100_000),
    ]
    assert [each.lobs for each in classes(500, 50_000)] == [1, 0, 1]


def test_the_last_class_has_no_bound() -> None:
    (last,) = classes(5 * 10**12, 10**12)
    assert (last.label, last.least, last.below, last.lobs) == ("1 TB and more", 10**12, None, 2)
    assert classes(10**12 - 1)[0].label == "100 GB to 1 TB"


@given(st.lists(st.integers(min_value=0, max_value=10**14)))
def test_every_size_is_in_one_class_that_holds_it(sizes: list[int]) -> None:
    found = classes(*sizes)
    assert (sum(each.lobs for each in found), sum(each.bytes for each in found)) == (len(sizes), sum(sizes))
    for each in found:
        within = [size for size in sizes if each.least <= size and (each.below is None or size < each.below)]
        assert (each.lobs, each.bytes) == (len(within), sum(within))
    assert all(one.below == other.least for one, other in itertools.pairwise(found))


TEXTS = st.text(st.characters(codec="utf-8"))
MARKED = "aé€\U0001f600b\U00010000ÿ"


def lengths(data: bytes, size: int) -> TextLength:
    length = TextLength()
    for start in range(0, len(data), size):
        length.update(data[start : start + size])
    return length


@given(TEXTS, st.integers(1, 9))
def test_text_is_counted_in_three_units_wherever_it_is_cut(text: str, size: int) -> None:
    found = lengths(text.encode(), size)
    assert found.is_text
    assert found.bytes == len(text.encode())
    assert found.characters == len(text)
    assert found.utf16_units == len(text.encode("utf-16-le")) // 2


@given(st.binary(), st.integers(1, 9))
def test_any_bytes_are_counted(data: bytes, size: int) -> None:
    found = lengths(data, size)
    assert found.bytes == len(data)
    assert found.unit(len(data)) == "bytes"


@pytest.mark.parametrize(
    ("length", "unit"), [(7, "bytes"), (3, "characters"), (4, "UTF-16 units"), (5, None), (0, None)]
)
def test_a_length_is_named_by_its_unit(length: int, unit: str | None) -> None:
    assert lengths("aé\U0001f600".encode(), 2).unit(length) == unit


def test_nothing_is_zero_bytes() -> None:
    assert TextLength().unit(0) == "bytes"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_text_in_utf_16_is_recognised_by_its_mark(codec: str, size: int) -> None:
    found = lengths(("\ufeff" + MARKED).encode(codec), size)
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
    found = lengths(("\ufeff" + text).encode(codec), size)
    assert found.is_text
    assert found.characters == len(text) + 1
    assert found.utf16_units == len(text.encode(codec)) // 2 + 1


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_half_of_a_surrogate_pair_is_a_character(size: int) -> None:
    found = lengths("\ufeff\ud83da\ude00".encode("utf-16-le", "surrogatepass"), size)
    assert (found.is_text, found.characters, found.utf16_units) == (True, 4, 4)


@pytest.mark.parametrize("data", [b"", b"a", "é€".encode()])
def test_without_a_mark_text_is_utf_8(data: bytes) -> None:
    found = lengths(data, 1)
    assert not found.is_utf16
    assert found.is_text
    assert found.characters == len(data.decode())


@pytest.mark.parametrize("data", [b"\xff", b"ab\xc3", b"\x80abc", b"\xff\xfea", b"\xfe\xff\x00a\x00"])
@pytest.mark.parametrize("size", [1, 2, 100])
def test_other_data_has_a_length_in_bytes_only(data: bytes, size: int) -> None:
    found = lengths(data, size)
    assert not found.is_text
    assert str(found) == f"{len(data)} bytes"
    assert [each for each in range(9) if found.unit(each) is not None] == [len(data)]


def test_a_count_under_way_can_be_sent_to_another_process() -> None:
    sent = pickle.loads(pickle.dumps(lengths("aé€".encode()[:-1], 100)))  # noqa: S301 -- our own
    sent.update("é€".encode()[-1:])
    assert sent.unit(3) == "characters"


@given(TEXTS, st.sampled_from(["utf-8", "utf-16-le", "utf-16-be"]))
def test_every_length_that_a_text_has_is_possible(text: str, codec: str) -> None:
    data = text.encode() if codec == "utf-8" else ("\ufeff" + text).encode(codec)
    found = lengths(data, 100)
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
