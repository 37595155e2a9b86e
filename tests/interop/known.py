"""Rules of other validators that fail for right packages: each rule with why it is no fault of the package.

The tables are those of docs/interop.md. The tests ask for exactly these rules: one that no longer comes fails
as well as a new one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from tests.conftest import CHECKOUT

_OLD, _NEW = "V2.0.4", "V2.1.0"
_BOTH = (_OLD, _NEW)
_ALL = ("csip", "sip", "cits-siard", "aip")


PARENT, CHILD, PACKED_PARENT, PACKED_CHILD = "parent", "child", "packed parent", "packed child"
PACKED_BY_OBJID = "packed parent by OBJID"
_IPS = (PARENT, CHILD, PACKED_PARENT, PACKED_CHILD, PACKED_BY_OBJID)


def named(values: tuple[str, ...]) -> str:
    """Return versions, packages or profiles as the page has them."""
    return "all" if values in {_ALL, _IPS} else ", ".join(each.removeprefix("V") for each in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A rule that fires, and why the package stays as it is.

    ``subjects_of`` are the versions of the rules or the packages with it, ``profiles`` their profiles.
    """

    rule: str
    subjects_of: tuple[str, ...]
    profiles: tuple[str, ...]
    why: str

    @property
    def row(self) -> str:
        """Its line in the page's table."""
        subjects_of = named(self.subjects_of)
        profiles = named(self.profiles)
        return f"| {self.rule} | {subjects_of} | {profiles} | {self.why} |"


def _rule_of(row: list[str]) -> Explained:
    rule, subjects_of, profiles, why = row
    subjects = (f"V{each}" if each[0].isdigit() else each for each in subjects_of.split(", "))
    return Explained(
        rule=rule,
        subjects_of=_IPS if subjects_of == "all" else tuple(subjects),
        profiles=_ALL if profiles == "all" else tuple(profiles.split(", ")),
        why=why,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The result of a tool in a run: failed rules, of a version or a package, in a profile."""

    tool: str
    subject: str
    profile: str
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The findings on packages of a tool: codes, and the requirements of M030 and M031."""

    codes: tuple[str, ...]
    rules: tuple[str, ...]


def _written(row: list[str]) -> Written:
    found = row[2].split(", ")
    codes = tuple(each for each in found if re.fullmatch("[A-Z][0-9]{3}", each))
    return Written(codes=codes, rules=tuple(each for each in found if each not in codes))


PAGE = CHECKOUT / "docs" / "interop.md"
HEADERS = {
    "eark-validator": "| rule | rules of | profiles |",
    "commons-ip": "| rule | packages | profiles |",
    "written": "| tool | how | check says |",
}


def stretch(lines: Sequence[str], table: str) -> slice:
    """Return where the rows of one of the page's tables are among its lines."""
    start = next(n for n, line in enumerate(lines) if line.startswith(HEADERS[table])) + 2
    return slice(start, start + sum(1 for _ in takewhile(lambda line: line.startswith("|"), lines[start:])))


def _rows(table: str) -> Iterator[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return (line[2:-2].split(" | ") for line in lines[stretch(lines, table)])


EARK_VALIDATOR, COMMONS_IP = (tuple(map(_rule_of, _rows(each))) for each in ("eark-validator", "commons-ip"))
WRITTEN = tuple(map(_written, _rows("written")))
"""The packages of other tools, each with the sample archive in one representation."""

IS_ADVICE = frozenset({"CSIP4"})
"""The rules that commons-ip reports as warnings."""

TABLES = {"eark-validator": EARK_VALIDATOR, "commons-ip": COMMONS_IP}
"""The tables by the tools that they are of, in the order of the page."""


def rules(table: tuple[Explained, ...], subject: str, profile: str) -> list[str]:
    """Return the rules of a table that are expected of a version of the rules, or of a package."""
    return sorted(each.rule for each in table if subject in each.subjects_of and profile in each.profiles)


def table(tool: str, observed: Iterable[Observed]) -> list[str]:
    """Return the rows of a tool's table from a run; unexplained rules come last."""
    seen: dict[str, list[Observed]] = {}
    for each in observed:
        if each.tool == tool:
            for rule in each.rules:
                seen.setdefault(rule, []).append(each)
    explained = {each.rule: each for each in TABLES[tool]}
    subjects = _IPS if tool == "commons-ip" else _BOTH
    rows = []
    for rule in (*explained, *sorted(seen.keys() - explained.keys())):
        if rule in seen:
            subjects_of = {each.subject for each in seen[rule]}
            profiles = {each.profile for each in seen[rule]}
            row = Explained(
                rule=rule,
                subjects_of=tuple(each for each in subjects if each in subjects_of),
                profiles=tuple(each for each in _ALL if each in profiles),
                why=explained[rule].why if rule in explained else "not explained yet",
            )
            rows.append(row.row)
    return rows
