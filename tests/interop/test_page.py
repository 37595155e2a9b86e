"""The page tells of every known difference as the tables have it."""

from __future__ import annotations

from tests.conftest import CHECKOUT
from tests.interop import known

PAGE = CHECKOUT / "docs" / "interop.md"


def test_the_page_has_the_tables() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith(("| CSIP", "| SIP", "| AIP"))]
    assert rows == [each.row for table in known.TABLES for each in table]
