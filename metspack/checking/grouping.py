"""Group findings: a missing, renamed or unlisted folder is reported once for its files.

A requirement that every METS of a kind breaks is reported once too, as its cause is the tool that wrote them.
So are links with the same difference, as one edit of names caused them all.
"""

from __future__ import annotations

import json
from bisect import insort
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from metspack.checking.catalogue import IS_GONE, Catalogue, Mark, is_marked
from metspack.checking.codes import Code
from metspack.checking.similarity import TextEdit
from metspack.files.paths import folder_of, shown, span_below
from metspack.model import MOST_PLACES, Finding, FindingPlace

_PLACES_KEPT = 100_000  # of all causes together
_KEPT = 1_000  # groups held at a time: a package has few, a hostile one any number

_ORIGIN = f"SELECT path FROM mark WHERE mark = '{Mark.RENAMED}' AND other = ?"  # noqa: S608 -- a constant
_IS_GONE = f"""
SELECT 1 WHERE {is_marked(Mark.LOST_METS, "?1")}
OR EXISTS (SELECT 1 FROM entry e WHERE e.path = ?1 AND {IS_GONE})
"""  # noqa: S608 -- a constant
_LOST_METS = "SELECT 1 FROM mets WHERE size IS NULL AND path > ? AND path < ?"
IN_MANIFESTS = """
SELECT m.name, l.line FROM listed l JOIN manifest m ON m.id = l.manifest
WHERE l.path = ? ORDER BY m.id, l.line
"""
_IN_ORDER = "ORDER BY e.id"

_VERY_LONG = 1 << 10

Folder = Callable[[bytes], bytes | None]
"""Returns the folder with which a file shares its fault, or None for a separate fault."""


@dataclass(slots=True)
class _Held:
    """A finding that stands for others, with their number and some of them."""

    first: Finding
    count: int = 1
    others: list[Finding] = field(default_factory=list)
    places: list[FindingPlace] = field(default_factory=list)


def _place(finding: Finding) -> FindingPlace:
    return FindingPlace(path=finding.path, line=finding.line, place=finding.place)


class FindingGroups:
    """Groups findings on files by their cause: the first is kept, with their number."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, bytes | None, Hashable], _Held] = {}

    def take(self, folder: bytes | None, finding: Finding, kind: Hashable = None) -> Iterator[Finding]:
        """Take a finding on a file below a faulty folder; yield the findings that are due.

        Findings of one code are reported together when they share the folder and ``kind``. Without a folder
        the finding is due at once.
        """
        if folder is None:
            yield finding
            return
        key = (finding.code, folder, kind)
        if key not in self._held and len(self._held) >= _KEPT:
            yield from self.release()
        if not self.count(folder, finding.code, kind):
            self._held[key] = _Held(finding)

    def count(self, folder: bytes | None, code: str, kind: Hashable = None) -> bool:
        """Count a finding if another one of its group is held; return whether it is."""
        held = self._held.get((code, folder, kind))
        if held is None:
            return False
        held.count += 1
        return True

    def release(self) -> Iterator[Finding]:
        """Yield each folder's first finding, with the number of the others."""
        for (_, folder, _), each in self._held.items():
            at, more = shown(folder or b""), f"{each.count - 1:,}"
            words = f"likewise {more} more below {at!r}"
            yield each.first if each.count == 1 else _extended(each.first, words, folder=at, more=more)
        self._held.clear()


def _extended(finding: Finding, more: str, /, **facts: str) -> Finding:
    together = tuple(sorted((*finding.facts, *facts.items())))
    return replace(finding, message=f"{finding.message}; {more}", facts=together)


class SharedFaults:
    """Groups the faults that all documents of a kind share; the others are reported for each.

    ``kind`` is a word for several documents: ``packages``. ``separating`` are the names of facts in which
    separate faults of a code differ.
    """

    def __init__(self, *separating: str) -> None:
        self._separating = frozenset(separating)
        self._held: dict[str, dict[Hashable, _Held]] = {}

    def take(self, kind: str, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Take all findings on one document; yield the ones that some documents lack."""
        keyed = {self._key(each): each for each in findings}
        if kind not in self._held:
            self._held[kind] = {key: _Held(each) for key, each in keyed.items()}
            return
        held = self._held[kind]
        for key in [key for key in held if key not in keyed]:
            yield from self._each(kind, held.pop(key))
        for key, finding in keyed.items():
            if (first := held.get(key)) is None:
                yield finding
                continue
            first.count += 1
            if len(first.others) < _KEPT:
                first.others.append(finding)

    def release(self) -> Iterator[Finding]:
        """Yield the findings that every document of a kind has: once, with the documents' number."""
        for kind, held in self._held.items():
            for fault in held.values():
                yield fault.first if fault.count == 1 else _of_all(fault.first, kind, fault.count)
        self._held.clear()

    def _key(self, finding: Finding) -> Hashable:
        return (
            finding.code,
            finding.requirement,
            *(each for each in finding.facts if each[0] in self._separating),
        )

    def _each(self, kind: str, fault: _Held) -> Iterator[Finding]:
        if fault.count > len(fault.others) + 1:  # more than are kept
            yield _of_all(fault.first, kind, fault.count)
        else:
            yield from (fault.first, *fault.others)


def _of_all(finding: Finding, kind: str, count: int) -> Finding:
    more = f"likewise in {count - 1:,} more METS of {kind}"
    reason = "which points to the tool that wrote them, not to damage"
    return _extended(finding, f"{more}, {reason}", documents=f"{count:,}")


def each_counted(
    catalogue: Catalogue, sql: str, most: int, finding: Callable[..., Finding], *values: object
) -> Iterator[Finding]:
    """Yield a finding for each row of a query, and one that counts the rows beyond the limit.

    ``finding`` makes a finding of a row. ``most`` are reported one by one, and ``FurtherFindings`` names
    ``MOST_PLACES`` more. ``sql`` may end with ``ORDER BY e.id``.
    """
    last = most + MOST_PLACES
    for number, row in enumerate(catalogue.rows(f"{sql} LIMIT {last + 1}", *values)):
        if number < last:
            yield finding(*row)
        else:
            counting = f"SELECT count(*) FROM ({sql.partition(_IN_ORDER)[0]})"  # noqa: S608 -- a constant
            yield replace(finding(*row), count=catalogue.number(counting, *values) - last)


class FurtherFindings:
    """Counts the findings of a code beyond ``most``: one stands for them, with the first places.

    Each package, and each requirement, has separate counts.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._reported: dict[tuple[str, ...], int] = {}
        self._held: dict[tuple[str, ...], _Held] = {}

    def take(self, finding: Finding, owners: tuple[str, ...]) -> bool:
        """Take a finding about packages; return whether it is only counted."""
        key = (finding.code, finding.requirement, *owners)
        count = self._reported.get(key, 0)
        if count < self._most:
            self._reported[key] = count + 1
            return False
        held = self._held.setdefault(key, _Held(finding, 0))
        if len(held.places) < MOST_PLACES:
            held.places.append(_place(finding))
        held.count += finding.count
        return True

    def release(self) -> Iterator[tuple[Finding, tuple[str, ...]]]:
        """Yield the finding that stands for each kind, and the packages it is about."""
        for (code, requirement, *owners), held in self._held.items():
            yield self._together(held, requirement or code), tuple(owners)
        self._held.clear()

    def _together(self, held: _Held, name: str) -> Finding:
        if held.count == 1:
            return held.first
        more = (
            f"and {held.count - 1:,} more findings {name}, counted and not reported one by one "
            f"(--budget findings=N reports N of each code, not {self._most:,})"
        )
        finding = _extended(held.first, more, places=f"{held.count:,}")
        return replace(finding, count=held.count, others=tuple(held.places[1:]))


_DIFFERING = {
    Code.MPTR_WITHOUT_FILE.id: ("href", "nearest"),
    Code.CHILD_MISSING.id: ("expected", "nearest"),
    Code.CHILD_OBJID_DIFFERS.id: ("expected", "found"),
    Code.CHILD_NOWHERE.id: ("href", "nearest"),
    Code.OTHER_PARENT.id: ("found", "expected"),
    Code.DIVISION_DISAGREES.id: ("found", "expected"),
    Code.LEAVES_ROOT.id: ("href", "nearest"),
    Code.RENAMED.id: ("expected", "found"),
}
"""The facts that one cause changes in all places of a package: METS's text and its meaning."""

_OF_OTHERS = ("parent", "expected")
"""The facts of a child that is found, but names another parent."""

_PARENTS = {Code.PARENT_NOT_HERE.id: ("expected", "nearest"), Code.PARENT_NOWHERE.id: ("expected", "nearest")}
"""The facts of a parent, which packages name that are apart from each other."""

_WITH_CAUSE = _DIFFERING | _PARENTS


def cause(finding: Finding, package: str) -> str:
    """Return the cause of a finding that others may share, or "" for a finding without one.

    Links of one ``package`` share a cause if one edit changed them all, links of several packages if they
    name one parent that has another OBJID.
    """
    if (differing := _WITH_CAUSE.get(finding.code)) is None:
        return ""
    facts = dict(finding.facts)
    if finding.code == Code.CHILD_NOWHERE.id and "parent" in facts:
        differing = _OF_OTHERS
    stated, meant = (facts.get(each, "") for each in differing)
    if not stated or not meant:
        return ""
    if finding.code in _PARENTS:
        return json.dumps((finding.code, stated, meant))
    # A renamed file keeps its folder: the edit is that of the part that differs.
    edit = (TextEdit.within if finding.code == Code.RENAMED.id else TextEdit.of)(stated, meant)
    return json.dumps((finding.code, package, edit.before, edit.now, edit.is_case))


@dataclass(slots=True)
class _Cause:
    first: Finding
    places: list[tuple[tuple[str | int, ...], FindingPlace]] = field(default_factory=list)
    count: int = 0
    owners: set[str] = field(default_factory=set)

    def finding(self) -> Finding:
        """Return the finding that stands for all."""
        if self.count == 1:
            return self.first
        more = f"{self.count - 1:,} more {'places' if self.count > 2 else 'place'}"  # noqa: PLR2004 -- one more
        finding = _extended(self.first, f"the same difference in {more}", places=f"{self.count:,}")
        return replace(finding, count=self.count, others=tuple(place for _, place in self.places[1:]))


class CommonCauses:
    """Findings by their causes: one finding is reported of each cause, with all its places.

    The result is independent of the order of the findings, for at least ``most`` causes. With very many
    places, fewer are reported of each cause, the first ones taken.
    """

    def __init__(self, most: int) -> None:
        self._most, self._places = most, 0
        self._held: dict[str, _Cause] = {}

    def take(self, cause: str, finding: Finding, *, owner: str, rank: tuple[str, ...]) -> bool:
        """Take a finding about the package ``owner``; the one with the least ``rank`` is reported.

        Returns False for a finding to be reported now: it has no cause, or too many are held.
        """
        if not cause or (cause not in self._held and len(self._held) >= self._most):
            return False
        held = self._held.setdefault(cause, _Cause(finding))
        order: tuple[str | int, ...] = (rank[0], finding.line, finding.place, *rank[1:])
        if held.places and order < held.places[0][0]:
            held.first = finding
        insort(held.places, (order, _place(finding)), key=lambda each: each[0])
        is_full = len(held.places) > MOST_PLACES or self._places >= _PLACES_KEPT
        if is_full and len(held.places) > 1:
            held.places.pop()
        else:
            self._places += 1
        held.count += 1
        held.owners.add(owner)
        return True

    def release(self) -> Iterator[tuple[Finding, tuple[str, ...]]]:
        """Yield a finding for each cause, and the packages it is about."""
        for _, held in sorted(self._held.items(), key=lambda each: (each[1].places[0][0], each[0])):
            yield held.finding(), tuple(sorted(held.owners))
        self._held.clear()


def make_missing_folder_lookup(catalogue: Catalogue) -> Folder:
    """Return a function from a missing file to the uppermost missing folder above it, or None."""
    return make_climb(
        lambda folder: not catalogue.is_folder(folder),
        lambda: catalogue.number("SELECT max(length(path)) FROM disk WHERE kind = 'd'"),
    )


def make_reported_test(catalogue: Catalogue) -> Callable[[bytes, bytes | None], bool]:
    """Return a test whether a missing file or its lost METS has a finding.

    It takes the path, and the uppermost missing folder above it or None.
    """
    is_lost_with_mets = make_lost_mets_test(catalogue)
    return lambda path, folder: catalogue.has(_IS_GONE, path) or is_lost_with_mets(folder)


def make_lost_mets_test(catalogue: Catalogue) -> Callable[[bytes | None], bool]:
    """Return a test whether a missing folder had a METS, which has a finding; False for None."""

    @lru_cache(1)
    def is_lost(folder: bytes | None) -> bool:
        if folder is None:
            return False
        return catalogue.has(_LOST_METS, *span_below(folder + b"/"))

    return is_lost


def with_manifests(catalogue: Catalogue, path: bytes, finding: Finding) -> Finding:
    """Return the finding on a lost METS, with the lines of manifests that name it too.

    These lines have no further finding then. The manifests must have been read.
    """
    lines = [f"{name} line {line}" for name, line in catalogue.rows(IN_MANIFESTS, path)]
    if not lines:
        return finding
    catalogue.mark(Mark.LOST_METS, path)
    verb = "names" if len(lines) == 1 else "name"
    return _extended(finding, f"{' and '.join(lines)} {verb} it too")


def make_folder_without_lookup(catalogue: Catalogue, sql: str, *values: object) -> Folder:
    """Return a function from a file to the uppermost folder around it without rows of a query.

    ``values`` are the first parameters of ``sql``; the last two are the bounds of a folder's paths. The
    package's root is never returned.
    """

    def is_shared(folder: bytes) -> bool:
        return catalogue.is_folder(folder) and not catalogue.has(sql, *values, *span_below(folder + b"/"))

    return make_climb(is_shared)


def moved(path: bytes, to: bytes) -> tuple[bytes, bytes] | None:
    """Return the folder that was moved with a file, and its new path, or None for a single file."""
    before, now = path.split(b"/"), to.split(b"/")
    shared = 0
    while shared < min(len(before), len(now)) and before[~shared] == now[~shared]:
        shared += 1
    if not 0 < shared < min(len(before), len(now)):
        return None
    return b"/".join(before[:-shared]), b"/".join(now[:-shared])


def make_origin_lookup(catalogue: Catalogue) -> Folder:
    """Return a function from an unlisted file to the folder that was moved with it, or None."""

    def folder(path: bytes) -> bytes | None:
        row = catalogue.row(_ORIGIN, path)
        both = None if row is None else moved(path, row[0])
        return None if both is None else both[0]

    return folder


def some_of(sources: Sequence[str], most: int) -> str:
    """Return the first sources for a message, with the number of the others."""
    more = len(sources) - most
    return ", ".join(sources if more <= 1 else (*sources[:most], f"{more:,} more"))


def make_climb(is_shared: Callable[[bytes], bool], longest: Callable[[], int] | None = None) -> Folder:
    """Return a function from a file to the uppermost folder above it that shares its fault.

    Paths longer than ``longest()`` all share the fault; it is called only for very long paths.
    """

    @lru_cache(1)
    def highest_from(at: bytes) -> bytes | None:
        highest = None
        # Paths longer than any folder's are skipped: each step would be one through the whole path.
        if longest is not None and len(at) > _VERY_LONG and len(at) > (most := longest()):
            end = at.find(b"/", most + 1)
            highest = at if end < 0 else at[:end]
            at = folder_of(highest)[:-1]
        while at and is_shared(at):
            highest = at
            at = folder_of(at)[:-1]
        return highest

    return lambda path: highest_from(path.rpartition(b"/")[0])
