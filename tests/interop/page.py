"""Write the tables of docs/interop.md from the results of the last run of these tests.

What a rule means stays as the page has it. A tool that was not there keeps its table.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from tests.interop import known, tools


def observations() -> list[known.Observed]:
    """Return the results of the tools; empty without a run."""
    if not tools.OBSERVED.exists():
        return []
    observed = map(json.loads, tools.OBSERVED.read_text(encoding="utf-8").splitlines())
    return [known.Observed(**{**each, "rules": tuple(each["rules"])}) for each in observed]


def with_rows(page: str, table: str, rows: Sequence[str]) -> str:
    """Return the page with other rows in one of its tables."""
    lines = page.splitlines()
    lines[known.stretch(lines, table)] = rows
    return "\n".join(lines) + "\n"


def page(text: str, observed: Sequence[known.Observed]) -> str:
    """Return the page with the tables that were observed."""
    for tool in known.TABLES:
        if any(each.tool == tool for each in observed):
            text = with_rows(text, tool, known.table(tool, observed))
    return text


if __name__ == "__main__":
    found = observations()
    known.PAGE.write_text(page(known.PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
    missing = [tool for tool in known.TABLES if all(each.tool != tool for each in found)]
    sys.stdout.write("".join(f"{tool} was not run: its table is as it was\n" for tool in missing))
