"""What a check tells of links in the packages that are data, word for word; run as a module, writes it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from metspack.checking import Level, check
from metspack.model import Finding
from metspack.reporting import model as reporting
from tests.findings import ordered
from tests.packages.cases import HERE, Case, cases

TOLD = HERE / "links.txt"
_ALSO = {"F011", "F012", "M003", "M036", "M038", "P003", "P011"}
"""Codes of other kinds that the check of links gives as well."""


def is_of_links(code: str) -> bool:
    """Return whether a code may be given by the check of links."""
    return code.startswith("L") or code in _ALSO


def has_links(case: Case) -> bool:
    """Return whether something is to be told of links in a case."""
    return any(map(is_of_links, case.codes))


def lines(findings: Iterable[Finding], beside: Path) -> list[str]:
    """Return what findings tell of links, in lines: the message of each, its facts and further places.

    The folder in which the package lies is called ``DIR``.
    """
    return [
        text.replace(str(beside), "DIR")
        for each in findings
        if is_of_links(each.code)
        for text in (
            reporting.line(each),
            *(f"  {name} = {value!r}" for name, value in each.facts),
            *(f"  also {place}" for place in reporting.places(each)),
        )
    ]


def findings(case: Case, folder: Path) -> tuple[Sequence[Finding], Path]:
    """Return what a check of a case finds, made in an empty folder, and where the package lies."""
    package = case.made(folder)
    given = [package, *(package.with_name(each) for each in case.also)]
    roots = [package.with_name(each) for each in case.roots]
    return ordered(check(given, Level(case.level), roots=roots, strict=case.strict)), package.parent


@cache
def told() -> Mapping[str, list[str]]:
    """Return the lines that are recorded of each case."""
    blocks = TOLD.read_text(encoding="utf-8").strip("\n").split("\n\n")
    return {name: rest for name, *rest in (block.split("\n") for block in blocks)}


def write() -> None:
    """Record what is told now."""
    blocks = []
    for case in cases():
        if has_links(case):
            with tempfile.TemporaryDirectory() as folder:
                blocks.append("\n".join([case.id, *lines(*findings(case, Path(folder)))]))
    TOLD.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
