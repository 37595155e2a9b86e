import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import ConfigError
from metspack.sizes import count, counted, rounded, shown, size
from tests.laws import of_each


@of_each(
    [
        ("45000", 45_000),
        ("45_000", 45_000),
        (" 1 B ", 1),
        ("45kB", 45_000),
        ("1.5 MB", 1_500_000),
        ("0.001kB", 1),
        ("4GB", 4_000_000_000),
        ("4GiB", 4 << 30),
        ("1EiB", 1 << 60),
        ("none", None),
        (" None ", None),
    ]
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
        (0, "0 bytes"),
        (1, "1 byte"),
        (9_999, "9,999 bytes"),
        (10_000, "10,000 bytes (10.0 kB)"),
        (999_949, "999,949 bytes (999.9 kB)"),
        (999_950, "999,950 bytes (1.0 MB)"),
        (45_000_000, "45,000,000 bytes (45.0 MB)"),
        (4 * 10**9, "4,000,000,000 bytes (4.0 GB)"),
        (10**22, "10,000,000,000,000,000,000,000 bytes (10000.0 EB)"),
    ],
)
def test_sizes_are_shown_exactly_and_then_rounded(number: int, expected: str) -> None:
    assert shown(number) == expected


@given(st.integers(1, 10**18))
def test_what_is_shown_can_be_given(number: int) -> None:
    assert size(shown(number).partition(" (")[0].replace("bytes", "B").replace("byte", "B"), "-") == number


@pytest.mark.parametrize(
    ("number", "words", "expected"),
    [
        (1, ("file",), "1 file"),
        (0, ("file",), "0 files"),
        (2604, ("file",), "2,604 files"),
        (2, ("entry", "entries"), "2 entries"),
        (1, ("entry", "entries"), "1 entry"),
    ],
)
def test_numbers_go_with_their_nouns(number: int, words: tuple[str, ...], expected: str) -> None:
    assert counted(number, *words) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (4_000_000_000, "4 GB"), (10**12, "1 TB"), (1999, "1 kB")],
)
def test_sizes_are_rounded_down_to_a_unit(number: int, expected: str) -> None:
    assert rounded(number) == expected
