"""Check of the structMaps of a METS that name children: each of them names all, or one of them is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from metspack.checking.catalogue import Catalogue
from metspack.checking.codes import Code
from metspack.model import MOST_PLACES, Finding

_FORGET = ("DELETE FROM naming", "DELETE FROM named_in", "DELETE FROM times_named", "DELETE FROM left_out")
_NAMING = """
INSERT INTO naming SELECT DISTINCT q.map FROM edge d JOIN mptr q ON q.id = d.mptr AND q.childward
WHERE d.parent = ?
"""
_NAMED_IN = """
INSERT OR IGNORE INTO named_in SELECT d.child, q.map FROM edge d JOIN mptr q ON q.id = d.mptr
WHERE d.parent = ? AND d.child IS NOT NULL AND q.map IN naming
"""
_TIMES_NAMED = "INSERT INTO times_named SELECT child, count(*) FROM named_in GROUP BY child"
_BY_FEWER = """
FROM edge e JOIN mptr p ON p.id = e.mptr AND p.childward JOIN times_named t ON t.child = e.child
WHERE e.parent = ?1 AND t.maps < ?2
"""
_LINKS = f"SELECT e.child, e.href, p.line, p.map {_BY_FEWER} ORDER BY p.id"
_NUMBER = f"SELECT sum(?2 - t.maps) {_BY_FEWER}"
_IS_KNOWN = "SELECT 1 FROM left_out WHERE child = ?"
_LEFT_OUT = """
INSERT INTO left_out SELECT ?1, n.map FROM naming n
WHERE NOT EXISTS (SELECT 1 FROM named_in i WHERE i.child = ?1 AND i.map = n.map)
"""
_WITHOUT = """
SELECT s.name FROM left_out l JOIN structmap s ON s.id = l.map WHERE l.child = ? ORDER BY s.name LIMIT ?
"""
_NAME = "SELECT name FROM structmap WHERE id = ?"


def findings(catalogue: Catalogue, mets: int, path: str, most: int) -> Iterator[Finding]:
    """Yield a finding for each structMap without a child that another names; ``most`` are told singly.

    The work grows with the links and with what is told: all that are only counted are so from the number of
    structMaps that name each child.
    """
    for sql in _FORGET:
        catalogue.put(sql)
    catalogue.put(_NAMING, mets)
    maps = catalogue.number("SELECT count(*) FROM naming")
    if maps <= 1:
        return
    catalogue.put(_NAMED_IN, mets)
    catalogue.put(_TIMES_NAMED)
    last = most + MOST_PLACES
    for number, (line, reason) in enumerate(_reasons(catalogue, mets, maps, last + 1)):
        finding = Code.STYLES_DISAGREE.at(path, line, reason=reason)
        if number < last:
            yield finding
        else:
            yield replace(finding, count=catalogue.number(_NUMBER, mets, maps) - last)
            return


def _reasons(catalogue: Catalogue, mets: int, maps: int, most: int) -> Iterator[tuple[int, str]]:
    """Yield the line of each link and how a structMap disagrees with it, in the order of the links."""
    for child, href, line, here in catalogue.rows(_LINKS, mets, maps):
        if catalogue.row(_IS_KNOWN, child) is None:
            catalogue.put(_LEFT_OUT, child)
        (name,) = catalogue.row(_NAME, here) or ("",)
        for (there,) in catalogue.rows(_WITHOUT, child, most):
            yield line, f"{_shown(name)} names the child {href!r}, {_shown(there)} does not"


def _shown(name: str) -> str:
    """Return the name of a structMap for messages."""
    kind, _, label = name.partition("\n")
    return f"the structMap labelled {label!r}" if label != "None" else f"the structMap of type {kind!r}"
