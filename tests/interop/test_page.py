"""The page tells of every difference, and is what a run makes of it."""

from __future__ import annotations

from itertools import product

from tests.interop import known
from tests.interop.page import page

_TEXT = known.PAGE.read_text(encoding="utf-8")


def _expected() -> list[known.Observed]:
    """Return what the tools are expected to say."""
    return [
        known.Observed(tool=tool, subject=subject, profile=profile, rules=(each.rule,))
        for tool, rows in known.TABLES.items()
        for each in rows
        for subject, profile in product(each.subjects_of, each.profiles)
    ]


def test_rows_are_read_as_they_are_written() -> None:
    rows = [line for line in _TEXT.splitlines() if line.startswith(("| CSIP", "| SIP", "| AIP"))]
    assert rows == [each.row for table in known.TABLES.values() for each in table]


def test_a_run_without_surprises_leaves_the_page_as_it_is() -> None:
    assert page(_TEXT, _expected()) == _TEXT


def test_without_a_tool_its_table_stays() -> None:
    assert page(_TEXT, []) == _TEXT


def test_what_nobody_has_explained_comes_last_and_what_is_gone_is_gone() -> None:
    observed = [each for each in _expected() if each.rules != ("SIP15",)]
    new = known.Observed(tool="commons-ip", subject=known.CHILD, profile="sip", rules=("CSIP1", "CSIP4"))
    made = page(_TEXT, [*observed, new])
    assert "| SIP15 |" not in made
    rows = made.splitlines()
    place = rows.index("| CSIP1 | child | sip | not explained yet |")
    assert rows[place - 1].startswith("| AIP9 |")
