"""Write the tables of docs/interop.md anew from what the tools said in the last run of the tests here.

What a rule means is said in ``known``. A tool that was not there keeps its table.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from tests.conftest import CHECKOUT
from tests.interop import known, tools

PAGE = CHECKOUT / "docs" / "interop.md"
_HEADERS = {
    "eark-validator": "| rule | rules of | profiles |",
    "commons-ip": "| rule | packages | profiles |",
    "written": "| tool | how | check says |",
}


def observations() -> list[known.Observed]:
    """Return what the tools said, none when nothing was run."""
    if not tools.OBSERVED.exists():
        return []
    said = map(json.loads, tools.OBSERVED.read_text(encoding="utf-8").splitlines())
    return [known.Observed(**{**each, "rules": tuple(each["rules"])}) for each in said]


def with_rows(page: str, table: str, rows: Sequence[str]) -> str:
    """Return the page with other rows in one of its tables."""
    lines = page.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(_HEADERS[table])) + 2
    end = next(n for n in range(start, len(lines) + 1) if n == len(lines) or not lines[n].startswith("|"))
    return "\n".join([*lines[:start], *rows, *lines[end:]]) + "\n"


def page(text: str, observed: Sequence[known.Observed]) -> str:
    """Return the page with the tables that were observed."""
    for tool in known.TABLES:
        if any(each.tool == tool for each in observed):
            text = with_rows(text, tool, known.table(tool, observed))
    return with_rows(text, "written", [each.row for each in known.WRITTEN])


if __name__ == "__main__":
    found = observations()
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
    missing = [tool for tool in known.TABLES if all(each.tool != tool for each in found)]
    sys.stdout.write("".join(f"{tool} was not run: its table is as it was\n" for tool in missing))
