# ruff: noqa: E501 -- the page is written as it is read
"""Writes docs/findings.md from the catalogue of codes and tests/faults.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from metspack.checking.codes import ALL_CODES, RETIRED

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "findings.md"
_BEFORE = """# Findings

A check has reported a code, and you want to know what it means and what to do: search this page for the code, or run
`metspack explain CODE`. Or you know what happened to a package: search for the fault. Each fault stands below the code that reports it,
with packages in `tests/packages` that have it; a package's name lists all codes found there. They can be used to try other software,
too. Codes are never renumbered and never reused.

What a check cannot see: a change that nothing else in the package repeats (a label, a note, a date), followed by new digests in all METS
and both manifests. Only a copy of the [seal](checking.md#the-seal-proof-against-rewriting) or of `manifest-sha256.txt` that is kept elsewhere
reveals it. Every other changed byte is found.

What it does not look at: rules of SIARD that do not concern LOBs (KOST-Val and DBPTK check them), and PREMIS's own schema.
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


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault of a package, the codes that report it, if any, and its proof."""

    area: str
    what: str
    codes: tuple[str, ...]
    shown_by: tuple[str, ...]

    @property
    def row(self) -> str:
        """Return the line below the first code, or among the accepted faults."""
        others = f" (and {', '.join(self.codes[1:])})" if self.codes[1:] else ""
        return f"- {self.what}{others}: {' '.join(f'`{each}`' for each in self.shown_by)}"


def faults() -> Iterator[Fault]:
    """Yield what the file lists, in its order."""
    with (HERE / "faults.toml").open("rb") as file:
        for area, rows in tomllib.load(file).items():
            for what, (codes, *shown_by) in rows.items():
                yield Fault(area=area, what=what, codes=tuple(codes.split()), shown_by=tuple(shown_by))


def page() -> str:
    """Return the page."""
    below: dict[str, list[str]] = {}
    for fault in faults():
        below.setdefault(fault.codes[0] if fault.codes else "", []).append(fault.row)
    parts = [_BEFORE]
    for letter, title in _LETTERS.items():
        parts.append(f"## {letter}: {title}\n")
        for each in sorted((each for each in ALL_CODES if each.id[0] == letter), key=lambda each: each.id):
            head = f"**{each.id} {each.title}** ({each.severity.value}; {each.clause})  "
            parts.append(f"{head}\n{each.why} {each.remedy}\n")
            parts += ["\n".join((*below[each.id], ""))] if each.id in below else []
    parts += ["## What is accepted\n", "No finding reports these forms:\n", "\n".join((*below[""], ""))]
    retired = f"Earlier versions reported these, and no version will again: {', '.join(RETIRED)}."
    return "\n".join((*parts, "## Retired codes\n", f"{retired}\n"))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
