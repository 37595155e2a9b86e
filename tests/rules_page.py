# ruff: noqa: E501 -- the page is written as it is read: a table's row is a line
"""Writes docs/rules.md from the tables of requirements; run as a module, it writes the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from metspack.checking import Code
from metspack.checking.eark.faults import REQUIREMENTS
from metspack.checking.eark.requirements import Need, Requirement, Standard, State

PAGE = Path(__file__).resolve().parents[1] / "docs" / "rules.md"
_BEFORE = f"""# E-ARK requirements

A validator names a requirement, and you want to know whether metspack checks it, and how. `metspack check` validates packages against CSIP 2.2.0, E-ARK SIP 2.2.0 and CITS SIARD 1.0, or against the older version of CSIP
and SIP that they declare ([conformance.md](conformance.md) has the differences, and what is read how). What is broken is a
finding: {Code.REQUIREMENT_BROKEN.id} (error) for a MUST, {Code.RECOMMENDATION_NOT_FOLLOWED.id} (warning) for a SHOULD,
{Code.OPTION_INCOMPLETE.id} (information) for an option used in part. Its name is the requirement, its
line is that of the first place, and places of one METS that break the same requirement are counted in one finding.
`metspack explain CSIP60` shows what to write.

## When they apply

By default (`--profile auto`) each METS is validated against the standards that it declares; packages of the recommendation of 2016
are not touched.

| standard | applies to |
|---|---|
| CSIP | a METS with `csip:` attributes on its root or header, with a PROFILE of E-ARK, or called METS.xml beside a folder representations; the METS of its representations |
| SIP | a package whose PROFILE is that of E-ARK SIP, or whose `csip:OAISPACKAGETYPE` is SIP unless its PROFILE is that of CSIP alone |
| CITS SIARD | a package or representation whose `csip:CONTENTINFORMATIONTYPE` is citssiard_v1_0, or whose PROFILE is that of CITS SIARD; a representation whose group in the package is of that type |

`--profile csip`, `sip` and `cits-siard` hold every METS against CSIP alone, CSIP and SIP, CSIP and CITS SIARD, whatever
it says; PROFILE then has to be exactly that standard's. `--profile recommendation` holds none against any.

A METS inside another's `representations` folder is that of a representation, any other one that of a package. Each
child of a divided package is a package of its own.
"""
_TITLES = "| id | level | place | what is asked | state | reading, or why not |\n|---|---|---|---|---|---|"


def page() -> str:
    """Return the page."""
    parts = [_BEFORE, "## How many are checked\n", *_counts(), ""]
    for standard, rows in REQUIREMENTS.items():
        parts += [f"## {standard.value}\n", _TITLES, *map(_row, rows), ""]
    return "\n".join(parts)


def _counts() -> Iterator[str]:
    yield f"| standard | MUST | {State.CHECKED.value} | SHOULD | {State.CHECKED.value} |"
    yield "|---|---|---|---|---|"
    for standard in Standard:
        rows = REQUIREMENTS[standard]
        must = [each for each in rows if each.need in {Need.MUST, Need.MUST_NOT}]
        should = [each for each in rows if each.need is Need.SHOULD]
        yield f"| {standard.value} | {len(must)} | {_checked(must)} | {len(should)} | {_checked(should)} |"


def _checked(rows: Sequence[Requirement]) -> int:
    return sum(each.state is State.CHECKED for each in rows)


def _row(each: Requirement) -> str:
    where = f"`{each.where}`".replace("|", "\\|") if each.where else ""
    notes = [each.note] if each.note else []
    if each.codes:
        notes.append(f"Findings: {', '.join(each.codes)}.")
    return (
        f"| {each.id} | {each.need.value} | {where} | {each.says} | {each.state.value} | {' '.join(notes)} |"
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
