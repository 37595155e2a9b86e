# ruff: noqa: E501 -- the page is written as it is read
"""Writes docs/findings.md from the catalogue of codes; run as a module, it writes the page."""

from __future__ import annotations

from pathlib import Path

from metspack.checking.codes import ALL_CODES, RETIRED

PAGE = Path(__file__).resolve().parents[1] / "docs" / "findings.md"
_BEFORE = """# Findings

A check has reported a code, and you want to know what it means and what to do: search this page for the code, or run
`metspack explain CODE`. Codes are never renumbered and never reused. Packages in which each of them is found, and nothing else is wrong than what
their names say, lie in `tests/packages`: they can be used to try other software too.

What a check cannot see: a change of what no other part of the package repeats (a label, a note, a date, a media type),
followed by a recomputation of the digests of all METS and both manifests. Without that, every changed byte is
found, for both manifests cover every file, and a manifest has one canonical form. Only a copy of `manifest-sha256.txt` that is kept elsewhere protects against deliberate
tampering.

What it does not look at: rules of SIARD that say nothing of LOBs, such as the form of metadata.xml and tables, whether values
fit their types, whether the schemas of tables are there, and what PREMIS's own schema asks for. Validators of SIARD (KOST-Val, DBPTK) and
of PREMIS do.
"""
_LETTERS = {
    "L": "Links between parent and children",
    "F": "Fixity",
    "S": "Segments and parts",
    "P": "Paths and locations",
    "M": "METS",
    "Z": "The SIARD archive",
    "N": "Names",
    "X": "XML",
}


def page() -> str:
    """Return the page."""
    parts = [_BEFORE]
    for letter, title in _LETTERS.items():
        parts.append(f"## {letter}: {title}\n")
        codes = sorted((each for each in ALL_CODES if each.id[0] == letter), key=lambda each: each.id)
        parts += [
            f"**{each.id} {each.title}** ({each.severity.value}; {each.clause})  \n{each.why} {each.remedy}\n"
            for each in codes
        ]
    parts.append(
        f"## Retired codes\n\nEarlier versions reported these, and no version will again: {', '.join(RETIRED)}.\n"
    )
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
