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
_BEFORE = f"""# E-ARK requirements

A validator names a requirement, and you want to know whether and how metspack checks it. `metspack check` validates packages against
CSIP 2.2.0, E-ARK SIP 2.2.0 and CITS SIARD 1.0, or against the older version of CSIP and SIP that they declare. A broken requirement is a
finding for each METS: {Code.REQUIREMENT_BROKEN.id} (error) for a MUST, {Code.RECOMMENDATION_NOT_FOLLOWED.id} (warning) for a SHOULD,
{Code.OPTION_INCOMPLETE.id} (information) for an option used in part. The finding has the requirement's name, the line of the first place, and the
number of places. `metspack explain CSIP60` shows what to write.

## When they apply

By default (`--profile auto`) each METS is validated against the standards that it declares; packages of the recommendation of 2016
are not affected.

| standard | applies to |
|---|---|
| CSIP | a METS with `csip:` attributes on its root or header, with a PROFILE of E-ARK, or called METS.xml beside a folder representations; the METS of its representations |
| SIP | a package whose PROFILE is that of E-ARK SIP, or whose `csip:OAISPACKAGETYPE` is SIP unless its PROFILE is that of CSIP alone |
| CITS SIARD | a package or representation whose `csip:CONTENTINFORMATIONTYPE` is citssiard_v1_0, or whose PROFILE is that of CITS SIARD; a representation whose group in the package is of that type |

`--profile csip`, `sip` and `cits-siard` validate every METS against CSIP alone, CSIP and SIP, CSIP and CITS SIARD, whatever
it declares; PROFILE must then be exactly that standard's. `--profile recommendation` validates none against any.

A METS inside another's `representations` folder is that of a representation, any other one that of a package. Each
child of a divided package is a package of its own.

## What differs between versions

CSIP 2.3.0 is not published; the last column is E-ARK SIP 2.3.0 after its draft, on CSIP 2.2.0.

| requirement | 2.0.4 | 2.1.0 | 2.2.0 | 2.3.0 (SIP alone) |
|---|---|---|---|---|
| CSIP26, CSIP40, CSIP53, CSIP68 | the IANA media type, MUST | as 2.0.4 | IANA's list SHOULD be used; that it is a media type, and the file's, MUST | |
| CSIP3 | any name | no term of the vocabulary of TYPE | as 2.1.0 | |
| CSIP62, CSIP114 | USE is `Representations` (or begins so) | USE begins with `Representations` and has the folder | as 2.1.0 | |
| CSIP86 | LABEL of the top division is the OBJID, MUST | removed | removed | |
| CSIP96, CSIP100, CSIP104 | MUST | MUST | SHOULD | |
| CSIP107 | the path of the METS, or as 2.1.0 | `Representations/` and the folder | as 2.1.0 | |
| SIP2 | the address without a version | as 2.0.4 | the address with the version | as 2.2.0 |
| SIP9 to SIP14 | the archival creator | as 2.0.4 | as 2.0.4; SIP12 is MUST | the submitting agent, with the role OTHER and the OTHERROLE SUBMITTER |
| SIP15 | one submitting agent | as 2.0.4 | as 2.0.4 | removed |
| SIP16 to SIP19 | the submitting agent, with the role CREATOR | as 2.0.4 | as 2.0.4; SIP18 is MUST | name, version, registry and key of a file's format: SIP32 to SIP35 before |
| SIP20 to SIP35 | code of the submitting agent, contact person, preservation agent, formats | as 2.0.4 | as 2.0.4; SIP29 is MUST | removed |
"""
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
"""How a requirement is read where texts, schemas and test cases differ, beside what its own table says."""
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
