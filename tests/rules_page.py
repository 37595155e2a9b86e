# ruff: noqa: E501 -- the page is written as it is read: a table's row is a line
"""Writes docs/rules.md from the tables of requirements; run as a module, it writes the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from metspack.checking import Code
from metspack.checking.eark.faults import REQUIREMENTS
from metspack.checking.eark.requirements import NEWEST, Need, Requirement, RequirementTable, Standard, State
from metspack.checking.eark.standards import TABLES, table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "rules.md"
_BEFORE = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").format(Code=Code)
_EACH_MAY = "What may be absent is not reported; what is present and empty is M032."
_ONLY_ONE = "A second one is M032."
_READINGS = {
    "CSIP3": "OTHERTYPE beside another TYPE does not break it.",
    "CSIP5 CSIP63": "The text requires a name where the type is OTHER, and nothing else; published test cases refuse more.",
    "CSIP26 CSIP40 CSIP53 CSIP68": "An empty value counts as absent. RFC 6838 allows 127 characters on each side of the slash. Metadata files, documentation and schemas that begin like PDF, PNG, JPEG, GIF, TIFF or XML must be declared so.",
    "CSIP93 CSIP97 CSIP101": "Two of a kind break it, as none does.",
    "CSIP105": "A representation without a METS breaks only CSIPSTR12.",
    "CSIP107 CSIP108 CSIP109": "If label, title and location name different representations, the one that differs from both others is wrong.",
    "CSIPSTR6 CSIPSTR7": "In the package or in one of its representations.",
    "SIP1 SIP3 SIP6 SIP8 SIP32 SIP33 SIP34 SIP35": _EACH_MAY,
    "SIP5 SIP7": f"{_EACH_MAY} At most one.",
    "SIP9 SIP26": _ONLY_ONE,
}
"""Readings of requirements where texts, schemas and test cases differ, beside their tables."""
READINGS = {name: text for names, text in _READINGS.items() for name in names.split()}
_TITLES = "| id | level | place | what is asked | state | reading, or why not |\n|---|---|---|---|---|---|"


def page() -> str:
    """Return the page."""
    parts = [_BEFORE, "## How many are checked\n", *_counts(), ""]
    for standard, rows in REQUIREMENTS.items():
        parts += [f"## {standard.value}\n", _TITLES, *map(_row, rows), ""]
        parts += [line for each in TABLES[standard] for line in _later(each)]
    return "\n".join(parts)


def _later(each: RequirementTable) -> Iterator[str]:
    """Yield the requirements that a version after the one that is assumed has in another form."""
    if each.version.number > NEWEST.number:
        before = table(each.standard, NEWEST).rows
        yield f"## {each.name}\n"
        own, earlier = (sum(not name.startswith("REF_") for name in rows) for rows in (each.rows, before))
        yield f"Those that differ from {NEWEST.value}; {own} requirements in all, {earlier} before.\n"
        yield _TITLES
        yield from (_row(row, {}) for name, row in each.rows.items() if row != before.get(name))
        yield ""


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


def _row(each: Requirement, readings: Mapping[str, str] = READINGS) -> str:
    where = f"`{each.where}`".replace("|", "\\|") if each.where else ""
    notes = [text for text in (each.note, readings.get(each.id, "")) if text]
    if each.codes:
        notes.append(f"Findings: {', '.join(each.codes)}.")
    return (
        f"| {each.id} | {each.need.value} | {where} | {each.says} | {each.state.value} | {' '.join(notes)} |"
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
