"""Grouped findings: a missing, renamed or foreign folder is reported once, with a count of its files.

So is a requirement that every METS of a kind breaks alike: that comes of the tool that wrote them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from metspack.checking.catalogue import LISTED_PATH, Catalogue, folder_of, shown
from metspack.model import Finding

_KEPT = 1_000  # folders that are told apart at a time: a package has a few, a hostile one endless many

_COME = "SELECT path FROM renamed WHERE other = ?"
_IS_GONE = "SELECT 1 FROM gone WHERE path = ?"
_LOST_METS = "SELECT 1 FROM mets WHERE size IS NULL AND path > ? AND path < ?"
_IS_FOLDER = "SELECT 1 FROM folder WHERE path = ?"
IN_MANIFESTS = """
SELECT m.name, l.line FROM listed l JOIN manifest m ON m.id = l.manifest
WHERE l.path = ? ORDER BY m.id, l.line
"""
_AFTER_SLASH = b"0"

Folder = Callable[[bytes], bytes | None]
"""Returns the folder that a file shares its fault with, None when the file is at fault alone."""


class FindingGroups:
    """Groups findings about files: of those with one cause only the first is kept, with their number."""

    def __init__(self) -> None:
        self._held: dict[Hashable, tuple[Finding, bytes, int]] = {}

    def take(self, folder: bytes | None, finding: Finding, alike: Hashable = None) -> Iterator[Finding]:
        """Take a finding about a file below a folder that is at fault; yield what is not to be held back.

        Those of one code are said together when they share the folder and what is ``alike``. Without a
        folder the file is at fault alone.
        """
        if folder is None:
            yield finding
            return
        key = (finding.code, folder, alike)
        if key not in self._held and len(self._held) >= _KEPT:
            yield from self.release()
        first, _, count = self._held.get(key, (finding, folder, 0))
        self._held[key] = first, folder, count + 1

    def release(self) -> Iterator[Finding]:
        """Yield what was held back: each folder's first finding, with the number of those like it."""
        for finding, folder, count in self._held.values():
            yield finding if count == 1 else _with_more(finding, shown(folder), count - 1)
        self._held.clear()


def _with_more(finding: Finding, folder: str, more: int) -> Finding:
    return replace(
        finding,
        message=f"{finding.message}; likewise {more:,} more below {folder!r}",
        facts=tuple(sorted((*finding.facts, ("folder", folder), ("more", f"{more:,}")))),
    )


@dataclass(slots=True)
class _SharedFault:
    first: Finding
    others: list[Finding] = field(default_factory=list)
    count: int = 1

    def add(self, finding: Finding) -> None:
        self.count += 1
        if len(self.others) < _KEPT:
            self.others.append(finding)


class SharedFaults:
    """Groups what is wrong alike with every document of a kind; what some of them alone have is told of each.

    ``kind`` is a word for several: ``packages``. ``alike`` tells findings of one fault by their facts.
    """

    def __init__(self, *alike: str) -> None:
        self._alike = frozenset(alike)
        self._held: dict[str, dict[Hashable, _SharedFault]] = {}

    def take(self, kind: str, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Take all findings about one document; yield those that not every document has, held back or not."""
        keyed = {self._key(each): each for each in findings}
        if kind not in self._held:
            self._held[kind] = {key: _SharedFault(each) for key, each in keyed.items()}
            return
        held = self._held[kind]
        for key in [key for key in held if key not in keyed]:
            yield from self._each(kind, held.pop(key))
        for key, finding in keyed.items():
            if key in held:
                held[key].add(finding)
            else:
                yield finding

    def release(self) -> Iterator[Finding]:
        """Yield what every document of its kind has: once, with their number when there are several."""
        for kind, held in self._held.items():
            for fault in held.values():
                yield fault.first if fault.count == 1 else _of_all(fault.first, kind, fault.count)
        self._held.clear()

    def _key(self, finding: Finding) -> Hashable:
        return (
            finding.code,
            finding.requirement,
            *(each for each in finding.facts if each[0] in self._alike),
        )

    def _each(self, kind: str, fault: _SharedFault) -> Iterator[Finding]:
        if fault.count > len(fault.others) + 1:  # more than are kept
            yield _of_all(fault.first, kind, fault.count)
        else:
            yield from (fault.first, *fault.others)


def _of_all(finding: Finding, kind: str, count: int) -> Finding:
    return replace(
        finding,
        message=f"{finding.message}; likewise in {count - 1:,} more METS of {kind}, which points to the "
        "tool that wrote them, not to damage",
        facts=tuple(sorted((*finding.facts, ("documents", f"{count:,}")))),
    )


def absent(catalogue: Catalogue) -> Folder:
    """Return what gives the uppermost folder on the way to a missing file that is missing itself."""
    return climbing(lambda folder: catalogue.row(_IS_FOLDER, folder) is None)


def told(catalogue: Catalogue) -> Callable[[bytes, bytes | None], bool]:
    """Return what tells whether a missing file has a finding: its own, or that on the METS lost with it.

    It gets the path, and the uppermost folder on the way there that is missing too (``absent``).
    """
    last: tuple[bytes | None, bool] = (None, False)

    def is_told(path: bytes, folder: bytes | None) -> bool:
        nonlocal last
        if catalogue.row(_IS_GONE, path) is not None:
            return True
        if folder is not None and folder != last[0]:
            below = (folder + b"/", folder + _AFTER_SLASH)
            last = folder, catalogue.row(_LOST_METS, *below) is not None
        return folder is not None and last[1]

    return is_told


def with_manifests(catalogue: Catalogue, path: bytes, finding: Finding) -> Finding:
    """Return the finding on a METS that is lost, with the lines of manifests that name it too.

    Nothing else is told of these then. It is called when the manifests have been read.
    """
    catalogue.put(LISTED_PATH)
    lines = [f"{name} line {line}" for name, line in catalogue.rows(IN_MANIFESTS, path)]
    if not lines:
        return finding
    catalogue.put("INSERT OR IGNORE INTO gone VALUES (?)", path)
    verb = "names" if len(lines) == 1 else "name"
    return replace(finding, message=f"{finding.message}; {' and '.join(lines)} {verb} it too")


def without(catalogue: Catalogue, sql: str, *values: object) -> Folder:
    """Return what gives the uppermost folder around a file in which nothing is of a kind.

    ``sql`` finds what is: its last two parameters are paths between which a folder's files are, and
    ``values`` those before. The package's own folder is never given.
    """

    def is_shared(folder: bytes) -> bool:
        is_there = catalogue.row(_IS_FOLDER, folder) is not None
        return is_there and catalogue.row(sql, *values, folder + b"/", folder + _AFTER_SLASH) is None

    return climbing(is_shared)


def moved(path: bytes, to: bytes) -> tuple[bytes, bytes] | None:
    """Return the folder that was renamed or moved with a file, and what it is now; None for a file alone."""
    before, now = path.split(b"/"), to.split(b"/")
    shared = 0
    while shared < min(len(before), len(now)) and before[~shared] == now[~shared]:
        shared += 1
    if not 0 < shared < min(len(before), len(now)):
        return None
    return b"/".join(before[:-shared]), b"/".join(now[:-shared])


def come(catalogue: Catalogue) -> Folder:
    """Return what gives the folder that an unlisted file has come to, with others, from another folder."""

    def folder(path: bytes) -> bytes | None:
        row = catalogue.row(_COME, path)
        both = None if row is None else moved(path, row[0])
        return None if both is None else both[0]

    return folder


def climbing(is_shared: Callable[[bytes], bool]) -> Folder:
    """Return what climbs from a file's folder as long as the folders share the fault; one answer is kept."""
    last: tuple[bytes, bytes | None] = (b"", None)

    def folder(path: bytes) -> bytes | None:
        nonlocal last
        at = parent = folder_of(path)[:-1]
        if parent != last[0]:
            highest = None
            while at and is_shared(at):
                highest = at
                at = folder_of(at)[:-1]
            last = parent, highest
        return last[1]

    return folder
