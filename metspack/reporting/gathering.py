"""The figures that a report shows, read from what a check has in its catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice

from metspack.checking.catalogue import Catalogue, Row, shown
from metspack.checking.graph import Graph, graph
from metspack.checking.looking import Level
from metspack.reporting import relations
from metspack.reporting.model import Child, Fixity, ReportFacts, Segment, SplitLob, SplitPart, State, Top

_DIGITS = re.compile("([0-9]{1,18})")
_SPLITS = 1_000
"""Split LOBs that a report has pictures of; more are counted."""

_UP = """
SELECT count(*) FROM mptr p JOIN mets m ON m.id = p.mets JOIN mets a ON a.id = ?
WHERE p.mets = ? AND p.up AND (p.url OR p.href = a.objid)
"""
_LISTED = "SELECT count(*) FROM mets WHERE id = ? AND parent IS NOT NULL"
_NAMED = "SELECT xml_id FROM entry WHERE mets = ? AND path = (SELECT path FROM mets WHERE id = ?) ORDER BY id"
_HELD = """
SELECT count(*), coalesce(sum(e.size), 0) FROM entry e WHERE e.mets = ? AND e.element = 'file'
AND e.path IS NOT NULL AND NOT EXISTS (SELECT 1 FROM mets c WHERE c.path = e.path)
"""
_PARTS = """
SELECT p.part, p.href, x.groupid, x.size, p.mets, x.path IS NOT NULL AND d.path IS NULL FROM mptr p
LEFT JOIN entry e ON e.id = (SELECT min(id) FROM entry WHERE mets = p.mets AND xml_id = p.href)
LEFT JOIN mets c ON c.path = e.path
LEFT JOIN entry x ON x.id = (SELECT min(id) FROM entry WHERE mets = c.id AND xml_id = p.part)
LEFT JOIN disk d ON d.path = x.path AND d.kind = 'f'
WHERE p.part IS NOT NULL ORDER BY p.id
"""
_WHOLE = "SELECT size FROM entry WHERE mets = ? AND xml_id = ?"
# Of statements that are all wrong the check keeps the first alone, and says of the others that they are too.
_FAILED = """
EXISTS (SELECT 1 FROM wrong w WHERE w.path = s.path AND (
    w.algorithm = s.algorithm AND w.found <> s.digest OR w.others LIKE '%disagree with the file too'))
"""
_METS_DIGESTS = """
SELECT 'METS' AS source, path, algorithm, digest FROM entry
WHERE path IS NOT NULL AND digest IS NOT NULL GROUP BY path, algorithm, digest
"""
_MANIFEST_DIGESTS = """
SELECT f.name AS source, l.path, f.algorithm, l.digest FROM listed l JOIN manifest f ON f.id = l.manifest
"""
_FIXITY = """
SELECT s.source, s.algorithm, count(*), coalesce(sum(coalesce(m.size, d.size)), 0),
    coalesce(sum({read}), 0), coalesce(sum({failed}), 0)
FROM ({statements}) s
LEFT JOIN mets m ON m.path = s.path LEFT JOIN disk d ON d.path = s.path AND d.kind = 'f'
GROUP BY s.source, s.algorithm ORDER BY s.source, s.algorithm
"""
_METS_READ = "m.size IS NOT NULL"
_ALL_READ = "m.size IS NOT NULL OR d.size IS NOT NULL"
_SAMPLE_READ = "m.size IS NOT NULL OR (d.size IS NOT NULL AND s.path IN sampled)"
_NONE_READ = "0"


def facts_of(
    catalogue: Catalogue, level: Level, *, is_complete: bool = True, prefix: str = ""
) -> ReportFacts:
    """Return the figures of one package from its check's catalogue, before that is closed.

    A check that was interrupted (not ``is_complete``) has no figures for what was read. ``prefix`` is
    what the paths of the package's findings begin with, without the last ``/``.
    """
    catalogue.index()
    above = f"{prefix}/" if prefix else ""
    links = graph(catalogue, "")
    children = tuple(sorted(_children(catalogue, links, above), key=_by_name))
    # Files are looked for on the disk from the second level on, all of them by its end.
    splits = _splits(catalogue, is_looked=is_complete and level > Level.LINKS)
    shown_splits = tuple(islice(splits, _SPLITS))
    return ReportFacts(
        tops=tuple(
            Top(objid=objid or "", mets=f"{above}{shown(path)}")
            for objid, path in catalogue.rows("SELECT objid, path FROM mets WHERE id = 1")
        ),
        parents=tuple(relations.parents(links, above)),
        children=children,
        segments=tuple(
            Segment(name=each.folder or each.mets, files=each.files, bytes=each.bytes)
            for each in children
            if each.mets and each.state is not State.MISSING
        ),
        splits=shown_splits,
        splits_left_out=sum(1 for _ in splits),
        fixity=tuple(_fixity(catalogue, level, above, is_complete=is_complete)),
    )


def together(parts: Sequence[ReportFacts]) -> ReportFacts:
    """Return the figures of several packages as one."""
    return ReportFacts(
        tops=tuple(chain.from_iterable(each.tops for each in parts)),
        parents=tuple(chain.from_iterable(each.parents for each in parts)),
        children=tuple(chain.from_iterable(each.children for each in parts)),
        segments=tuple(chain.from_iterable(each.segments for each in parts)),
        splits=tuple(chain.from_iterable(each.splits for each in parts)),
        splits_left_out=sum(each.splits_left_out for each in parts),
        fixity=tuple(chain.from_iterable(each.fixity for each in parts)),
    )


def _children(catalogue: Catalogue, links: Graph, above: str) -> Iterator[Child]:
    there = {node.id for node in links.nodes if node.is_there}
    numbers = {f"{above}{node.path}": node.id for node in links.nodes if node.path}
    for edge, child in relations.children(links, above):
        state, up, objid = child.state, child.up, child.objid
        number = numbers.get(child.mets, 0)
        if edge is not None:
            if edge.child in there and not catalogue.number(_LISTED, edge.child):
                state = State.EXTRA
            up = up or (state is State.BROKEN and catalogue.number(_UP, edge.parent, edge.child) > 0)
            called = None if objid else catalogue.row(_NAMED, edge.parent, edge.child)
            objid = called[0] if called else objid
        files, size = catalogue.row(_HELD, number) or (0, 0)
        yield replace(child, state=state, up=up, objid=objid, files=files, bytes=size)


def _by_name(child: Child) -> tuple[bool, list[str | int], str]:
    """Return what sorts ``_lobseg_10`` after ``_lobseg_9``."""
    # Text and digits take turns, so that like is compared with like.
    pieces = _DIGITS.split(child.mets)
    name = [int(each) if number % 2 else each for number, each in enumerate(pieces)]
    return not child.mets, name, child.mets or child.objid


def _splits(catalogue: Catalogue, *, is_looked: bool) -> Iterator[SplitLob]:
    def lob(row: Row) -> tuple[int, str]:
        part, _child, group, _size, mets, _lost = row
        return mets, group or part.rpartition(".p")[0] or part

    for (mets, identifier), rows in groupby(catalogue.rows(_PARTS), key=lob):
        whole = catalogue.row(_WHOLE, mets, identifier)
        yield SplitLob(
            id=identifier,
            size=whole[0] if whole else None,
            parts=tuple(
                SplitPart(id=part, child=child, size=size, is_lost=bool(is_looked and lost))
                for part, child, _, size, _, lost in rows
            ),
        )


def _fixity(catalogue: Catalogue, level: Level, above: str, *, is_complete: bool) -> Iterator[Fixity]:
    # Below the level that reads every byte, only the METS documents themselves are hashed.
    is_sampled = catalogue.row("SELECT 1 FROM sampled") is not None
    of_mets = _SAMPLE_READ if is_sampled else _ALL_READ if level.hashes else _METS_READ
    of_manifests = _NONE_READ if level is Level.LINKS else of_mets
    for statements, read in ((_METS_DIGESTS, of_mets), (_MANIFEST_DIGESTS, of_manifests)):
        sql = _FIXITY.format(statements=statements, read=read, failed=_FAILED)
        for source, algorithm, files, size, hashed, failed in catalogue.rows(sql):
            yield Fixity(
                source=f"{above}{source}",
                algorithm=algorithm,
                files=files,
                bytes=size,
                read=hashed if is_complete else None,
                failed=failed if is_complete else None,
            )
