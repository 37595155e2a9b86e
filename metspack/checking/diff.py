"""Comparison of two packages: differences in files and links, by METS or by the bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from enum import Enum, unique
from itertools import chain
from pathlib import Path
from typing import Any

from metspack.checking.catalogue import Catalogue, Row, fault, shown
from metspack.checking.codes import Code
from metspack.checking.links.graph import Graph, LinkState
from metspack.checking.opening import CheckedTree
from metspack.checking.options import Level, Looking
from metspack.checking.run import Checked, Checking
from metspack.digests import OCTETS, Hashers
from metspack.errors import ConfigError, MetspackError, SourceError
from metspack.files import tempdb
from metspack.mets.links import bare
from metspack.model import Budgets
from metspack.resources import json_head
from metspack.values import dataclass

_CACHE = 4000  # KiB
_SCHEMA = """
CREATE TABLE file (side INTEGER, path BLOB, size INTEGER, algorithm TEXT, digest TEXT, partner INTEGER);
CREATE TABLE link (side INTEGER, parent TEXT, child TEXT, name TEXT, state TEXT,
    PRIMARY KEY (side, parent, child)) WITHOUT ROWID;
CREATE TABLE unread (side INTEGER, path BLOB, PRIMARY KEY (side, path)) WITHOUT ROWID;
"""
_LISTED = """
SELECT path, max(size), max(algorithm), max(digest) FROM entry WHERE path IS NOT NULL GROUP BY path
"""
# A child that is named by its OBJID alone has its METS listed nowhere.
_UNLISTED_METS = """
SELECT m.path, (SELECT max(algorithm) FROM entry) FROM mets m
WHERE m.parent IS NOT NULL AND m.ok AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.path = m.path)
"""
_THERE = "SELECT path, NULL FROM disk WHERE kind = 'f' AND path NOT IN (SELECT path FROM pack)"
_UNREAD = "SELECT path FROM mets WHERE NOT ok AND (size IS NOT NULL OR path IN (SELECT path FROM disk))"
_NOT_READ = """
SELECT path, min(side), max(side) FROM unread GROUP BY path ORDER BY path
"""
# Where a child lies is no difference between two packages.
_STATES = {LinkState.ELSEWHERE: LinkState.OK}
_INDEXES = (
    "CREATE INDEX file_path ON file (path, side)",
    "CREATE INDEX file_digest ON file (digest, side) WHERE digest IS NOT NULL",
)
# Files whose path is only on one side are moved when the other side has their bytes at a path that is only
# there; where several have the same bytes they go together in the order of their paths.
_MOVED = """
CREATE TABLE moved AS
WITH lone AS (
    SELECT f.rowid AS id, f.side, f.path, f.algorithm, f.digest, f.size,
        row_number() OVER (PARTITION BY f.side, f.algorithm, f.digest ORDER BY f.path) AS turn
    FROM file f WHERE f.digest IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM file o WHERE o.path = f.path AND o.side <> f.side)
)
SELECT a.id AS a, b.id AS b FROM lone a JOIN lone b ON b.side = 1 AND b.algorithm = a.algorithm
    AND b.digest = a.digest AND b.turn = a.turn WHERE a.side = 0
"""
_ONE_SIDE = """
SELECT f.side, f.path, f.size, f.algorithm, f.digest FROM file f
WHERE NOT EXISTS (SELECT 1 FROM file o WHERE o.path = f.path AND o.side <> f.side)
AND f.rowid NOT IN (SELECT a FROM moved UNION ALL SELECT b FROM moved) ORDER BY f.side, f.path
"""
_BOTH = """
SELECT a.path, a.size, a.algorithm, a.digest, b.size, b.algorithm, b.digest
FROM file a JOIN file b ON b.path = a.path AND b.side = 1 WHERE a.side = 0
AND NOT (a.size IS b.size AND a.algorithm IS b.algorithm AND a.digest IS b.digest AND a.digest IS NOT NULL)
ORDER BY a.path
"""
_PAIRS = (
    "SELECT a.path, b.path FROM moved m JOIN file a ON a.rowid = m.a JOIN file b ON b.rowid = m.b ORDER BY 1"
)
_LINKS = """
SELECT side, name, state FROM link l WHERE NOT EXISTS (
    SELECT 1 FROM link o WHERE o.side <> l.side AND o.parent = l.parent AND o.child = l.child)
ORDER BY side, parent, child
"""
_LINKS_CHANGED = """
SELECT a.name, a.state, b.state FROM link a
JOIN link b ON b.side = 1 AND b.parent = a.parent AND b.child = a.child
WHERE a.side = 0 AND a.state <> b.state ORDER BY a.parent, a.child
"""
_BY_BYTES = "SHA-256"


@unique
class DifferenceKind(Enum):
    """How something differs, seen from the first package. ``UNKNOWN``: no two digests can be compared."""

    ADDED = "added"
    GONE = "gone"
    MOVED = "moved"
    CHANGED = "changed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStanding:
    """A file as one package has it: its size and its digest, None where nothing states them."""

    size: int | None
    algorithm: str | None = None
    digest: str | None = None

    def words(self) -> str:
        """Return it in words."""
        size = "no size" if self.size is None else f"{self.size:,} bytes"
        return f"{size}, {f'{self.algorithm} {self.digest}' if self.digest else 'no digest'}"

    def document(self) -> dict[str, object]:
        """Return the object for JSON: ``{"bytes": 84922, "md5": "bd43..."}``."""
        digest = {(self.algorithm or "").lower().replace("-", ""): self.digest} if self.digest else {}
        return {"bytes": self.size, **digest}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkStanding:
    """The state of a link in one package."""

    state: str

    def words(self) -> str:
        """Return it in words."""
        return self.state

    def document(self) -> dict[str, object]:
        """Return the object for JSON."""
        return {"state": self.state}


@dataclass(frozen=True, slots=True, kw_only=True)
class Readability:
    """Whether a METS can be read in one package."""

    is_readable: bool

    def words(self) -> str:
        """Return it in words."""
        return "can be read" if self.is_readable else "cannot be read"

    def document(self) -> dict[str, object]:
        """Return the object for JSON."""
        return {"is_readable": self.is_readable}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A file or a link that differs, or a METS that cannot be read: ``what`` says which of these.

    ``name`` is its path, or parent and child; ``other`` is a moved file's new path; ``before`` and ``after``
    are what it is in each package, None where it is not there or the same.
    """

    kind: DifferenceKind
    what: str
    name: str
    other: str = ""
    before: FileStanding | LinkStanding | Readability | None = None
    after: FileStanding | LinkStanding | Readability | None = None

    @property
    def member(self) -> str:
        """Its kind as a member of JSON that counts such differences: ``file_added``."""
        return f"{self.what}_{self.kind.value}".lower().replace(" ", "_")

    def document(self) -> dict[str, object]:
        """Return the object for JSON."""
        return {
            "what": self.what,
            "kind": self.kind.value,
            "name": self.name,
            "other": self.other or None,
            "before": None if self.before is None else self.before.document(),
            "after": None if self.after is None else self.after.document(),
        }


class Comparison(tempdb.Scratch):
    """Two packages side by side, in a temporary database on disk; a context manager.

    ``by_bytes`` reads every file, listed or not; else METS alone says what its files are. Children that are
    not in their places are looked for in ``roots``, of each package also in its ``own_roots``. Raises
    ``SourceError`` when a package or, by bytes, a file cannot be read, ``ConfigError`` when a child is found
    twice.
    """

    def __init__(
        self,
        first: Path,
        second: Path,
        *,
        by_bytes: bool = False,
        roots: Sequence[Path] = (),
        own_roots: tuple[Sequence[Path], Sequence[Path]] = ((), ()),
        progress: Callable[[int], None] | None = None,
        budgets: Budgets | None = None,
    ) -> None:
        self._budgets = budgets or Budgets()
        self._progress = progress or (lambda _: None)
        super().__init__("BEGIN", cache=_CACHE, schema=_SCHEMA)
        try:
            for side, path in enumerate((first, second)):
                self._read(side, path, (*roots, *own_roots[side]), by_bytes=by_bytes)
            for statement in (*_INDEXES, _MOVED):
                self._database.execute(statement)
        except BaseException:
            self.close()
            raise

    def differences(self) -> Iterator[Difference]:
        """Yield what differs: METS that cannot be read, files changed, moved, gone and added, then links."""
        for path, first, last in self._rows(_NOT_READ):
            before, after = (Readability(is_readable=side not in {first, last}) for side in (0, 1))
            yield Difference(
                kind=DifferenceKind.UNKNOWN, what="METS", name=shown(path), before=before, after=after
            )
        for row in self._rows(_BOTH):
            yield _changed(row)
        for before, after in self._rows(_PAIRS):
            yield Difference(kind=DifferenceKind.MOVED, what="file", name=shown(before), other=shown(after))
        for side, path, size, algorithm, digest in self._rows(_ONE_SIDE):
            said = FileStanding(size=size, algorithm=algorithm, digest=digest)
            yield (
                Difference(kind=DifferenceKind.ADDED, what="file", name=shown(path), after=said)
                if side
                else Difference(kind=DifferenceKind.GONE, what="file", name=shown(path), before=said)
            )
        for name, before, after in self._rows(_LINKS_CHANGED):
            yield Difference(
                kind=DifferenceKind.CHANGED,
                what="link",
                name=name,
                before=LinkStanding(state=before),
                after=LinkStanding(state=after),
            )
        for side, name, state in self._rows(_LINKS):
            link = LinkStanding(state=state)
            yield (
                Difference(kind=DifferenceKind.ADDED, what="link", name=name, after=link)
                if side
                else Difference(kind=DifferenceKind.GONE, what="link", name=name, before=link)
            )

    def _rows(self, sql: str) -> Iterator[Row]:
        with closing(self._database.execute(sql)) as cursor:
            yield from cursor

    def _read(self, side: int, path: Path, roots: Sequence[Path], *, by_bytes: bool) -> None:
        """Read a package's METS documents; keep their links and the files that they list, or all files."""

        def keep(checked: Checked) -> None:
            catalogue = checked.catalogue
            if checked.package.mets is None and not by_bytes:
                raise SourceError(f"{path} has no METS file", hint="Compare --bytes, or name the METS file.")
            label = _labels(catalogue)
            hashed = self._hashed(path, catalogue, checked.places, by_bytes=by_bytes)
            listed = hashed if by_bytes else chain(catalogue.rows(_LISTED), hashed)
            rows = ((side, label(name), *said) for name, *said in listed)
            self._database.executemany("INSERT INTO file VALUES (?, ?, ?, ?, ?, NULL)", rows)
            unread = ((side, label(name)) for (name,) in catalogue.rows(_UNREAD))
            self._database.executemany("INSERT INTO unread VALUES (?, ?)", unread)
            links = _linked(side, checked.links)
            self._database.executemany("INSERT OR IGNORE INTO link VALUES (?, ?, ?, ?, ?)", links)

        level = Level.STRUCTURE if by_bytes else Level.LINKS
        looking = Looking(level=level, budgets=self._budgets, is_for_listing=True)
        for each in Checking(path, looking, roots=roots, observer=keep, keeps_links=False):
            if each.code == Code.CHILD_COPIES.id:
                raise ConfigError(
                    f"{path}: {each.message}: it is not clear which of them to compare",
                    hint="Name the roots of each package apart: --root-a DIR, --root-b DIR.",
                )

    def _hashed(
        self, path: Path, catalogue: Catalogue, places: CheckedTree, *, by_bytes: bool
    ) -> Iterator[Row]:
        """Yield path, size and digest of all files, or of those METS alone that no METS lists."""
        for name, said in catalogue.all(_THERE if by_bytes else _UNLISTED_METS):
            algorithm = said if said in OCTETS else _BY_BYTES
            hashers = Hashers((algorithm,))
            try:
                with places.content(name) as content:
                    for block in content.chunks():
                        hashers.update(block)
                        self._progress(len(block))
            except (OSError, MetspackError) as error:
                reason = fault(error) if isinstance(error, OSError) else error.message
                raise SourceError(
                    f"{path}: {shown(name)} cannot be read: {reason}",
                    hint="Compare by what METS says, or make the file readable.",
                ) from error
            digest = hashers.digest(algorithm)
            yield name, hashers.size, digest.algorithm, digest.value


def _labels(catalogue: Catalogue) -> Callable[[bytes], bytes]:
    """Return what a path is called: below a child that was found by its OBJID alone, it begins with that."""
    found = catalogue.rows("SELECT a.path, m.objid FROM apart a JOIN mets m ON m.folder = a.path")
    folders = {folder: f"{objid}/".encode() for folder, objid in found}

    def label(path: bytes) -> bytes:
        folder = next((each for each in folders if path.startswith(each)), b"")
        return folders.get(folder, b"") + path[len(folder) :]

    return label


def _linked(side: int, graph: Graph) -> Iterator[Row]:
    nodes = {node.id: node for node in graph.nodes}
    for edge in graph.edges:
        parent, child = (nodes[each].objid or nodes[each].path for each in (edge.parent, edge.child))
        yield (
            side,
            bare(parent),
            bare(child or edge.href),
            f"{parent} -> {child or edge.href}",
            _STATES.get(edge.state, edge.state).value,
        )


def _changed(row: Row) -> Difference:
    path, size, algorithm, digest, other_size, other_algorithm, other_digest = row
    sizes_differ = None not in {size, other_size} and size != other_size
    comparable = digest is not None and other_digest is not None and algorithm == other_algorithm
    differs = sizes_differ or (comparable and digest != other_digest)
    same = comparable and digest == other_digest  # then only one side says the size
    return Difference(
        kind=DifferenceKind.CHANGED if differs or same else DifferenceKind.UNKNOWN,
        what="file",
        name=shown(path),
        before=FileStanding(size=size, algorithm=algorithm, digest=digest),
        after=FileStanding(size=other_size, algorithm=other_algorithm, digest=other_digest),
    )


@dataclass(frozen=True, kw_only=True)
class DiffReport:
    """The differences between two packages."""

    first: Path
    second: Path
    by_bytes: bool
    differences: tuple[Difference, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no difference."""
        return not self.differences

    @property
    def counts(self) -> dict[str, int]:
        """The number of differences of each kind, as ``file_added``."""
        return dict(sorted(Counter(each.member for each in self.differences).items()))

    def to_json(self) -> dict[str, Any]:
        """Return the differences as data for JSON, as ``metspack diff --json`` prints them."""
        return json_head() | {
            "first": str(self.first),
            "second": str(self.second),
            "by_bytes": self.by_bytes,
            "counts": self.counts,
            "differences": [each.document() for each in self.differences],
        }
