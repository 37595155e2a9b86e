"""The report for people: grouped by code, bounded where asked, printable whatever the names are."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from metspack.checking import Code
from metspack.reporting import text
from tests.reporting.reports import holding

MISSING = [
    Code.FILE_MISSING.at(f"a/{number}", 0, "", expected=f"a/{number}", source="mets.xml line 3")
    for number in range(4)
]
UNLISTED = Code.UNLISTED.at("z", found="1")


def test_totals_are_the_heads_only() -> None:
    with holding(*MISSING[:2], UNLISTED) as (_, kept):
        printed = [text.plain(each) for each in text.totals(kept)]
    assert printed == ["error F001 File missing (2 findings)\n", f"error F010 {Code.UNLISTED.title}\n"]


def test_of_each_code_at_most_so_many_then_how_many_more() -> None:
    with holding(*MISSING, UNLISTED) as (_, kept):
        printed = [text.plain(each) for each in text.grouped(kept, 3)]
    assert printed[4] == "  ... and 1 more finding F001 (--max-per-code 0 shows all)\n"
    assert len(printed) == 7
    with holding(*MISSING) as (_, kept):
        assert "more finding" not in "".join(text.plain(each) for each in text.grouped(kept, 4))


def test_styles_follow_the_severity() -> None:
    with holding(*MISSING[:1]) as (frame, kept):
        first, second = text.grouped(kept)
        assert [style for _, style in first] == ["error", ""]
        assert [style for _, style in second] == ["faint", ""]
        (verdict,) = text.verdict(frame)
        assert verdict[-1][1] == "error"
    with holding(Code.LOB_IN_NO_CELL.at("b")) as (frame, _):
        assert next(text.verdict(frame))[-1][1] == "warning"
    with holding() as (frame, _):
        assert next(text.verdict(frame))[-1][1] == "good"


def test_the_whole_report_says_what_it_is_of_and_whether_it_is_all() -> None:
    with holding(*MISSING) as (frame, kept):
        looked = replace(frame.summary, packages=1, bytes=12_000, infos=2)
        stopped = replace(frame, is_complete=False, created="2026-05-01T12:00:00Z", summary=looked)
        lines = list(text.document(stopped, kept))
    assert lines[0] == "metspack check of out, level full, 2026-05-01T12:00:00Z\n"
    assert lines[1].startswith("The check was interrupted")
    assert lines[2] == (
        "out: 1 METS file, 0 listed files, 0 links, 12,000 bytes read; level full: "
        "4 errors, 0 warnings, 2 notes\n"
    )
    assert lines[3] == "\n"
    assert len(lines) == 9, "a report file holds all"


@given(st.text(), st.text(), st.text())
def test_every_line_is_one_printable_line(path: str, place: str, reason: str) -> None:
    with holding(Code.REFUSED.at(path, 0, place, reason=reason)) as (frame, kept):
        named = replace(frame, path=path)
        assert all(line[:-1].isprintable() and line[-1] == "\n" for line in text.document(named, kept))


STYLES = ("", "error", "warning", "info", "good", "faint")
PIECES = st.lists(st.tuples(st.text("ab 国e\u0301", max_size=30), st.sampled_from(STYLES)), max_size=5)


@given(PIECES, st.integers(8, 40))
def test_wrapped_lines_hold_the_same_words_and_fit(pieces: list[tuple[str, str]], width: int) -> None:
    rows = list(text.wrapped(tuple(pieces), width))
    # A word that goes over two pieces may be broken where they meet.
    whole = "".join(word for row in rows for word, _ in row)
    assert "".join(whole.split()) == "".join("".join(printed for printed, _ in pieces).split())
    for number, row in enumerate(rows):
        printed = "".join(word for word, _ in row)
        assert not number or printed.startswith("    ")
        assert printed.strip() or len(rows) == 1
        assert cell_len(printed.rstrip()) <= width or len(printed.split()) <= 1
    for style in STYLES:
        styled = "".join(word for row in rows for word, own in row if own == style)
        assert "".join(styled.split()) == "".join("".join(s for s, own in pieces if own == style).split())


def test_what_follows_is_indented() -> None:
    line = (("  mets.xml: ", "faint"), ("one two three", ""))
    rows = [text.plain(row) for row in text.wrapped(line, 20)]
    assert rows == ["  mets.xml: one two\n", "    three\n"]
    assert [text.plain(row) for row in text.wrapped(line, 200)] == ["  mets.xml: one two three\n"]
