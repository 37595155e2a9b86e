# ruff: noqa: E501 -- the page is written as it is read
"""Writes docs/threats.md from tests/threats.toml; run as a module, it writes the page."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from metspack.checking.codes import ALL_CODES
from tests.findings_page import faults

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "threats.md"
_BEFORE = """# Threats, one by one

The [threat model](threat-model.md) says what is promised. Here is what a source, a package or a machine may do, what happens then, and which
packages in `tests/packages` and which tests hold it. What a check finds in a package stands with its [finding](findings.md) and not here. All
tests run under a watch (`tests/watching`): whatever reaches for the network, changes files elsewhere than in temporary folders, or, on
hostile input, opens a file that was not granted, fails there.

The page is written from `tests/threats.toml` (`just threats`).
"""
_TITLES = {each.id: each for each in ALL_CODES}


@dataclass(frozen=True, kw_only=True)
class Threat:
    """One thing that may happen; ``outcome`` is empty where the packages' findings are it."""

    area: str
    what: str
    outcome: str
    held_by: tuple[str, ...]

    @property
    def packages(self) -> tuple[str, ...]:
        return tuple(each for each in self.held_by if not each.startswith("tests/"))

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(each for each in self.held_by if each.startswith("tests/"))

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes that its packages are for, each once."""
        named = (each.partition("/")[2].partition("__") for each in self.packages)
        return tuple(dict.fromkeys(name[:4] for name, found, _ in named if found))


def threats() -> Iterator[Threat]:
    """Yield what the file lists, in its order."""
    with (HERE / "threats.toml").open("rb") as file:
        for area, rows in tomllib.load(file).items():
            for what, (outcome, *held_by) in rows.items():
                yield Threat(area=area, what=what, outcome=outcome, held_by=tuple(held_by))


def _happens(threat: Threat) -> str:
    found = [f"{_TITLES[code].severity.value} {code} {_TITLES[code].title}" for code in threat.codes]
    if threat.outcome:
        codes = f" ({', '.join(threat.codes)})" if threat.codes else ""
        return f"{threat.outcome}{codes}"
    return "; ".join(found) or "accepted"


def page() -> str:
    """Return the page; what shows a fault on the page of findings is not repeated."""
    shown = {each for fault in faults() for each in fault.shown_by}
    lines, area = [_BEFORE], ""
    for threat in threats():
        held_by = [each for each in threat.held_by if each not in shown]
        if not held_by:
            continue
        if threat.area != area:
            area = threat.area
            lines += [f"\n## {area}\n", "| what | what happens | held by |", "|---|---|---|"]
        what = threat.what.replace("|", "\\|")
        lines.append(f"| {what} | {_happens(threat)} | {' '.join(f'`{each}`' for each in held_by)} |")
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
