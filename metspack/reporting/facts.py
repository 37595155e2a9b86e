"""Figures of a report, read from a check's graph of links and from its catalogue."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from itertools import chain, groupby, islice
from operator import add
from typing import Any

from metspack.checking import Checked, Code, Level
from metspack.checking.catalogue import Catalogue, Mark, Row, is_marked
from metspack.checking.links.graph import LinkState
from metspack.files.paths import shown
from metspack.model import Finding, FindingPlace, Severity
from metspack.reporting import model
from metspack.reporting.model import Relation, ReportFacts, SplitLob
from metspack.sizes import counted

_DIGITS = re.compile("([0-9]{1,18})")
_MISSING = Code.FILE_MISSING.id
_SPLITS = 1_000
"""The most split LOBs that a report draws; it counts the others."""

_NAMED = "SELECT xml_id FROM entry WHERE mets = ? AND path = (SELECT path FROM mets WHERE id = ?) ORDER BY id"
_HELD = """
WITH held (id) AS (SELECT ?1 UNION SELECT id FROM mets WHERE parent = ?1 AND package IS NOT NULL)
SELECT coalesce(sum(files), 0), coalesce(sum(bytes), 0) FROM (
    SELECT count(*) AS files, sum(size) AS bytes FROM entry e WHERE mets IN held AND element = 'file'
    AND path IS NOT NULL AND NOT EXISTS (SELECT 1 FROM mets c WHERE c.path = e.path)
    UNION ALL SELECT sum(agreed), sum(agreed_bytes) FROM mets WHERE id IN held)
"""
_AGREED_BY_SOURCE = """
SELECT 'METS', algorithm, sum(agreed), sum(agreed_bytes) FROM mets WHERE agreed GROUP BY algorithm
UNION ALL SELECT name, algorithm, agreed, agreed_bytes FROM manifest WHERE agreed
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
# Where all stated digests of a file are wrong, the check records the first, and that the others disagree.
_FAILED = """
EXISTS (SELECT 1 FROM wrong w WHERE w.path = s.path AND (
    w.algorithm = s.algorithm AND w.found <> s.digest OR w.others LIKE '%also disagree%'))
"""
_METS_DIGESTS = """
SELECT 'METS' AS source, path, algorithm, digest FROM entry
WHERE path IS NOT NULL AND digest IS NOT NULL AND algorithm = ?
"""
_ALGORITHMS = "SELECT DISTINCT algorithm FROM entry WHERE path IS NOT NULL AND digest IS NOT NULL"
_MANIFEST_DIGESTS = """
SELECT f.name AS source, l.path, f.algorithm, l.digest FROM listed l JOIN manifest f ON f.id = l.manifest
"""
_FIXITY = """
SELECT s.source, s.algorithm, count(*), coalesce(sum(coalesce(m.size, d.size)), 0),
    coalesce(sum({read}), 0), coalesce(sum({failed}), 0)
FROM ({statements}) s
LEFT JOIN mets m ON m.path = s.path LEFT JOIN disk d ON d.path = s.path AND d.kind = 'f'
"""
_HOLDINGS = """
SELECT h.archive, version, dbname, owner, timespan, archived, schemas, tables, rows, lobs, lost, inline,
    agreed_bytes + (SELECT coalesce(sum(coalesce(c.size, d.size)), 0) FROM cell c
    LEFT JOIN disk d ON NOT c.inside AND d.path = c.path AND d.kind = 'f' WHERE c.archive = h.archive)
FROM holding h ORDER BY h.archive
"""
_LONGEST = 400
_METS_READ = "m.size IS NOT NULL"
_ALL_READ = "m.size IS NOT NULL OR d.size IS NOT NULL"
_SAMPLE_READ = f"m.size IS NOT NULL OR (d.size IS NOT NULL AND {is_marked(Mark.SAMPLED, 's.path')})"


def facts_of(checked: Checked, level: Level) -> ReportFacts:
    """Return the figures of one package from its check, whose catalogue is still open.

    An interrupted check has no figures of the bytes that were read.
    """
    prefix, catalogue, is_complete = checked.prefix, checked.catalogue, checked.is_complete
    links = checked.links_as_given
    relations = sorted(_add_figures(catalogue, model.below(links)), key=_by_name)
    # All levels but links look for the files on disk.
    splits = _splits(catalogue, is_looked=is_complete and level > Level.LINKS)
    shown_splits = tuple(islice(splits, _SPLITS))
    return ReportFacts(
        tops=() if links.top is None else (links.top,),
        parents=tuple(model.parents(links)),
        children=tuple(each for each in relations if not each.child.is_part),
        representations=tuple(each for each in relations if each.child.is_part),
        splits=shown_splits,
        splits_left_out=sum(1 for _ in splits),
        fixity=tuple(_fixity(catalogue, level, f"{prefix}/" if prefix else "", is_complete=is_complete)),
        archives=tuple(_archives(checked)),
    )


def join_facts(parts: Sequence[ReportFacts]) -> ReportFacts:
    """Return the figures of several packages as one."""
    names = {each.name for each in fields(ReportFacts)} - {"splits_left_out"}
    joined = {name: tuple(chain.from_iterable(getattr(each, name) for each in parts)) for name in names}
    return ReportFacts(**joined, splits_left_out=sum(each.splits_left_out for each in parts))


_DAMAGED = {Code.SIZE_DIFFERS.id, Code.DIGEST_DIFFERS.id, Code.FILES_SWAPPED.id, Code.EMPTY.id}
_OF_LINKS = {Code.CHILD_DIGEST_STALE.id, Code.CHILD_SIZE_STALE.id}
_LOB = re.compile(r"(.+\.)?s[0-9]+\.t[0-9]+\.c.+")


def add_damage(facts: ReportFacts, findings: Iterable[Finding]) -> ReportFacts:
    """Return the figures with the findings about each child's files, those at fault first."""
    folders: set[str] = set()
    counts: dict[str, Counter[str]] = {}
    damaged = ""
    for each in findings:
        if each.severity is not Severity.ERROR or each.code[0] == "L" or each.code in _OF_LINKS:
            continue
        if each.code in _DAMAGED:
            if each.path == damaged:
                continue  # one file with another size and another digest is one damaged file
            damaged = each.path
        # There may be very many children: their folders are collected only for faults of files.
        folders = folders or {"", *(each.child.folder for each in facts.children)}
        number = 1 + int(dict(each.facts).get("more", "0").replace(",", ""))
        kind = "damaged" if each.code in _DAMAGED else "missing" if each.code == _MISSING else "errors"
        first = FindingPlace(path=each.path, line=each.line, place=each.place)
        for at in (first, *each.others):
            if folder := model.nearest(at.path.rpartition("/")[0], folders):
                found = counts.setdefault(folder, Counter())
                found[kind] += number
                found["others"] += kind != "errors" and _LOB.fullmatch(at.place) is None
    damage = {folder: damage_words(found) for folder, found in counts.items()}
    children = (replace(each, damage=damage.get(each.child.folder, "")) for each in facts.children)
    return replace(facts, children=tuple(sorted(children, key=lambda each: not each.is_fault)))


def damage_words(found: Counter[str]) -> str:
    """Return words on ``damaged`` and ``missing`` files, and on other ``errors``.

    The files are LOBs unless ``others`` are among them.
    """
    what = "file" if found["others"] else "LOB"
    words = [f"{counted(found[each], what)} {each}" for each in ("damaged", "missing") if found[each]]
    words += [counted(found["errors"], "other error" if words else "error")] if found["errors"] else []
    return ", ".join(words)


def _add_figures(catalogue: Catalogue, relations: Iterable[Relation]) -> Iterator[Relation]:
    for each in relations:
        child, state = each.child, each.state
        if child.is_there and not child.is_listed:
            state = LinkState.EXTRA
        if each.link is not None and not child.objid:
            (called,) = catalogue.row(_NAMED, each.parent.id, child.id) or ("",)
            child = replace(child, objid=called or "")
        files, size = catalogue.row(_HELD, child.id) or (0, 0)
        yield replace(each, child=child, state=state, files=files, bytes=size)


def _by_name(relation: Relation) -> tuple[bool, str, str]:
    """Return a sort key that puts ``_lobseg_10`` after ``_lobseg_9``."""
    child = relation.child
    padded = _DIGITS.sub(lambda found: f"\0{found[1]:0>18}", child.path)  # numbers then sort as text
    return not child.path, padded, child.path or child.objid


def _splits(catalogue: Catalogue, *, is_looked: bool) -> Iterator[SplitLob]:
    def lob(row: Row) -> tuple[int, str]:
        part, _child, group, _size, mets, _lost = row
        return mets, group or part.rpartition(".p")[0] or part

    for (mets, identifier), rows in groupby(catalogue.rows(_PARTS), key=lob):
        whole = catalogue.row(_WHOLE, mets, identifier)
        parts = ((part, child, size, bool(is_looked and lost)) for part, child, _, size, _, lost in rows)
        yield identifier, whole[0] if whole else None, tuple(parts)


def _archives(checked: Checked) -> Iterator[dict[str, Any]]:
    for path, version, database, owner, timespan, archived, *figures in checked.catalogue.rows(_HOLDINGS):
        texts = (" ".join(each[:_LONGEST].split()) for each in (database, owner, timespan, archived))
        values = checked.as_given(shown(path)), version, *texts, *figures
        yield dict(zip(model.ARCHIVE, values, strict=True))


def _fixity(catalogue: Catalogue, level: Level, above: str, *, is_complete: bool) -> Iterator[dict[str, Any]]:
    # Below the level that reads every byte, only the METS documents themselves are hashed.
    is_sampled = next(catalogue.marked(Mark.SAMPLED), None) is not None
    of_mets = _SAMPLE_READ if is_sampled else _ALL_READ if level.hashes else _METS_READ
    of_manifests = "0" if level is Level.LINKS else of_mets
    # A digest that is stated twice counts once; grouping a million files takes longer than counting them.
    once = " GROUP BY path, digest" if catalogue.is_any_path_twice else ""
    failed_ones = "0" if catalogue.row("SELECT 1 FROM wrong") is None else _FAILED
    by_mets = _FIXITY.format(statements=_METS_DIGESTS + once, read=of_mets, failed=failed_ones)
    # One query for each algorithm needs no sorting.
    stated = chain.from_iterable(catalogue.all(by_mets, *row) for row in catalogue.all(_ALGORITHMS))
    by_manifests = _FIXITY.format(statements=_MANIFEST_DIGESTS, read=of_manifests, failed=failed_ones)
    found = {
        row[:2]: row[2:]
        for row in chain(stated, catalogue.all(f"{by_manifests} GROUP BY s.source, s.algorithm"))
    }
    for *key, files, size in catalogue.all(_AGREED_BY_SOURCE):  # no digest of these failed
        before = found.get(tuple(key), (0, 0, 0, 0))
        more = files, size, files if level.hashes else 0, 0
        found[tuple(key)] = tuple(map(add, before, more))
    in_order = sorted(found.items(), key=lambda each: (each[0][0] != "METS", each[0]))
    for (source, algorithm), (files, size, hashed, failed) in in_order:
        results = (hashed, failed) if is_complete else (None, None)
        yield dict(zip(model.FIXITY, (f"{above}{source}", algorithm, files, size, *results), strict=True))
