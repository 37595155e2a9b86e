"""Evidence of what the files of a package should be: manifests and METS of it and its copies, judged.

The manifests are judged by the files that exist and by each other; they prove METS, and these the rest. A
form of a manifest that another place has is only taken where it agrees with every file of the package that
the package itself proves.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import field
from itertools import chain, groupby, islice, product
from pathlib import Path

from metspack import processes
from metspack.checking import weight
from metspack.containers.ipreader import Content, unpacked_name
from metspack.digests import MANIFEST_ALGORITHMS, MANIFESTS, OCTETS, Hashers, Seal
from metspack.errors import MetspackError
from metspack.files import reading, tempdb
from metspack.files.reading import Asked, FileRun, Hashed
from metspack.mets import METS_NAMES, is_mets_name, packages, reader
from metspack.model import Budgets
from metspack.packages.files import FolderTree
from metspack.packages.metsfiles import LOB_ID, digest_of, located, size_of
from metspack.progress import Progress
from metspack.restoring.copies import ArchiveCopy, TreeCopy
from metspack.values import dataclass, regex

NAMES = tuple(MANIFESTS[each] for each in MANIFEST_ALGORITHMS)
"""The names of the manifests, in the order of ``MANIFEST_ALGORITHMS``."""

_SCHEMA = """
CREATE TABLE line (candidate INTEGER, path BLOB, digest TEXT, PRIMARY KEY (candidate, path)) WITHOUT ROWID;
CREATE TABLE have (place INTEGER, path BLOB, size INTEGER, algorithm TEXT, digest TEXT,
    PRIMARY KEY (place, path, algorithm)) WITHOUT ROWID;
CREATE INDEX have_path ON have (path, algorithm);
CREATE TABLE stated (path BLOB, algorithm TEXT, digest TEXT, size INTEGER);
CREATE INDEX stated_path ON stated (path);
CREATE TABLE lob (path BLOB PRIMARY KEY, id TEXT, size INTEGER) WITHOUT ROWID;
CREATE INDEX lob_id ON lob (id);
CREATE TABLE pack (folder BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE proven (path BLOB PRIMARY KEY) WITHOUT ROWID;
"""
_OUT = 0  # the place of the package itself; copies follow
_AT_ONCE = 500
_LINE = regex(rb"(\\?)([0-9A-Fa-f]+) [ *](?:\./)?(.+)", re.DOTALL)
_PART_ID = regex(r"(.+)\.p([0-9]{1,9})")
_ESCAPES = {b"\\\\": b"\\", b"\\n": b"\n", b"\\r": b"\r"}
_LONGEST = 1 << 16
_UNDECIDED = "the copies differ, and nothing says which is right"
_UNSEALED = "neither the package nor a copy has the one that was sealed"
_UNFIT = "the copies' differ from files that the package proves: they are of another package or state"

_CONFLICTS = """
SELECT count(*), min(a.path) FROM line a JOIN line b ON b.candidate = ?2 AND b.path = a.path
WHERE a.candidate = ?1
AND EXISTS (SELECT 1 FROM have h JOIN have k ON k.place = h.place AND k.path = h.path
    WHERE h.path = a.path AND h.algorithm = 'MD5' AND k.algorithm = 'SHA-256'
    AND (h.digest = a.digest) <> (k.digest = b.digest))
AND NOT EXISTS (SELECT 1 FROM have h JOIN have k ON k.place = h.place AND k.path = h.path
    WHERE h.path = a.path AND h.algorithm = 'MD5' AND k.algorithm = 'SHA-256'
    AND h.digest = a.digest AND k.digest = b.digest)
"""
_ALONE = """
SELECT count(*), min(a.path) FROM line a
WHERE a.candidate = ?1 AND EXISTS (SELECT 1 FROM have h WHERE h.path = a.path)
AND NOT EXISTS (SELECT 1 FROM have h WHERE h.path = a.path AND h.algorithm = ?2 AND h.digest = a.digest)
"""
_ONE_SIDED = """
SELECT count(*), min(path) FROM (
    SELECT path FROM line a WHERE candidate = ?1
    AND NOT EXISTS (SELECT 1 FROM line b WHERE b.candidate = ?2 AND b.path = a.path)
    UNION ALL SELECT path FROM line a WHERE candidate = ?2
    AND NOT EXISTS (SELECT 1 FROM line b WHERE b.candidate = ?1 AND b.path = a.path))
"""
_AGAINST_PROVEN = """
SELECT count(*), min(p.path) FROM proven p
JOIN have h ON h.place = 0 AND h.path = p.path AND h.algorithm = ?2
LEFT JOIN line a ON a.candidate = ?1 AND a.path = p.path WHERE a.digest IS NOT h.digest
"""
_PROVE = """
INSERT INTO proven
SELECT DISTINCT h.path FROM have h WHERE h.place = 0
AND (EXISTS (SELECT 1 FROM stated s WHERE s.path = h.path AND s.digest = h.digest
        AND s.algorithm = h.algorithm)
    OR EXISTS (SELECT 1 FROM line a JOIN own o ON o.candidate = a.candidate
        WHERE a.path = h.path AND o.algorithm = h.algorithm AND a.digest = h.digest))
AND NOT EXISTS (SELECT 1 FROM stated s JOIN have k ON k.place = 0 AND k.path = s.path
    AND k.algorithm = s.algorithm WHERE s.path = h.path AND s.digest <> k.digest)
AND NOT EXISTS (SELECT 1 FROM line a JOIN own o ON o.candidate = a.candidate
    JOIN have k ON k.place = 0 AND k.path = a.path AND k.algorithm = o.algorithm
    WHERE a.path = h.path AND a.digest <> k.digest)
"""
_SUPPORT = """
SELECT count(*) FROM line a JOIN have h ON h.place = 0 AND h.path = a.path AND h.algorithm = ?2
WHERE a.candidate = ?1 AND h.digest = a.digest
"""
_IN_COMMON = """
SELECT 1 FROM line a JOIN own o JOIN line b ON b.candidate = o.candidate AND b.path = a.path
WHERE a.candidate = ?1 AND b.digest = a.digest LIMIT 1
"""
_DIFFERING = """
SELECT a.path FROM line a WHERE a.candidate = ?1 AND a.path > ?3
AND a.digest IS NOT (SELECT b.digest FROM line b WHERE b.candidate = ?2 AND b.path = a.path)
ORDER BY a.path LIMIT ?4
"""
_WRONG = """
SELECT DISTINCT s.path FROM stated s
LEFT JOIN have h ON h.place = 0 AND h.path = s.path AND h.algorithm = s.algorithm
WHERE (s.algorithm IS NOT NULL AND h.digest IS NOT s.digest) OR (s.size IS NOT NULL AND s.size IS NOT
    (SELECT k.size FROM have k WHERE k.place = 0 AND k.path = s.path LIMIT 1)) ORDER BY s.path
"""
_PARTS = "CREATE TEMP TABLE part (lob TEXT, number INTEGER, path BLOB, size INTEGER)"
# Of several files with one ID the first by path is meant.
_ENDS = """
CREATE TEMP TABLE part_end AS SELECT lob, number, sum(size) OVER (PARTITION BY lob ORDER BY number) AS stop
FROM (SELECT lob, number, min(path), size FROM part GROUP BY lob, number)
"""
_END_BEFORE = "SELECT stop FROM part_end WHERE lob = ? AND number < ? ORDER BY number DESC LIMIT 1"
_NAMED_METS = "SELECT DISTINCT path FROM line WHERE CAST(path AS TEXT) LIKE '%mets.xml'"
_HAS_METS = "SELECT 1 FROM line WHERE candidate = ? AND CAST(path AS TEXT) LIKE '%mets.xml' LIMIT 1"
_STATED_METS = """
SELECT DISTINCT path FROM stated WHERE CAST(path AS TEXT) LIKE '%mets.xml' ORDER BY length(path), path
"""


@dataclass(slots=True, kw_only=True)
class _ManifestForm:
    """A form that a manifest has in some places: its lines by number, and how many of them are odd."""

    number: int
    sha256: str
    places: list[int] = field(default_factory=list)
    lines: int = 0
    strange: int = 0


_Pair = tuple[_ManifestForm | None, ...]


class FileEvidence(tempdb.Scratch):
    """What is stated of a package's files, and what it and its copies have; for one thread.

    ``doubts`` are the reasons why a file is not right, or cannot be said to be, by its path. ``files`` of the
    package were read, with ``octets`` in all.
    """

    __slots__ = (
        "_are_added_up",
        "_budgets",
        "_copies",
        "_count",
        "_jobs",
        "_progress",
        "_root",
        "_seal",
        "_tree",
        "doubts",
        "files",
        "octets",
    )

    def __init__(
        self,
        root: Path,
        copies: Sequence[TreeCopy | ArchiveCopy],
        *,
        seal: Seal | None,
        budgets: Budgets,
        jobs: int | None,
        progress: Progress,
    ) -> None:
        super().__init__("BEGIN", "CREATE TEMP TABLE own (candidate INTEGER, algorithm TEXT)", schema=_SCHEMA)
        self._root = root
        self._tree = FolderTree(root)
        self._copies = copies
        self._seal = seal
        self._budgets = budgets
        self._jobs = jobs
        self._progress = progress
        self._count = 0
        self._are_added_up = False
        self.files = self.octets = 0
        self.doubts: dict[bytes, str] = {}

    def gather(self) -> None:
        """Read manifests, files and METS, and decide what is stated."""
        self._progress.stage("Reading METS and manifests", None)
        manifests = {name: self._candidates(os.fsencode(name)) for name in NAMES}
        self._progress.stage("Checking files", weight(self._root, whole=True))
        self._hash_package()
        self._choose(manifests)
        self._read_documents()

    # --- Answers

    def wrong(self) -> Iterator[bytes]:
        """Yield the files that are not as they are stated, or about which statements differ."""
        sql = "SELECT path FROM stated WHERE digest IS NOT NULL GROUP BY path, algorithm "
        differing = self._database.execute(sql + "HAVING count(DISTINCT digest) > 1").fetchall()
        wrong = self._database.execute(_WRONG).fetchall()
        for path in sorted({path for (path,) in chain(wrong, differing)}):
            if not self._is_as_stated(path):
                yield path

    def _is_as_stated(self, path: bytes) -> bool:
        """Return whether the package has all that is stated of a file, which is read if that was not done."""
        if self._digests_at(_OUT, path, ()) is None or not (self._is_bare(path) or self.is_right(_OUT, path)):
            return False
        sql = "SELECT size FROM have WHERE place = 0 AND path = ? LIMIT 1"
        found, stated = self._database.execute(sql, (path,)).fetchone(), self._sizes(path)
        return not stated or stated == {found[0]}

    def _is_bare(self, path: bytes) -> bool:
        """Return whether no digest is stated of a file."""
        sql = "SELECT 1 FROM stated WHERE path = ? AND digest IS NOT NULL LIMIT 1"
        return self._database.execute(sql, (path,)).fetchone() is None

    def _sizes(self, path: bytes) -> set[int]:
        rows = self._database.execute("SELECT DISTINCT size FROM stated WHERE path = ?", (path,))
        return {size for (size,) in rows if size is not None}

    def is_right(self, place: int, path: bytes) -> bool:
        """Return whether a place (0 is the package) has all that is stated of a file so far."""
        stated = self.stated(path)
        found = self._digests_at(place, path, tuple(stated))
        return (
            bool(stated) and found is not None and all(found[name] == value for name, value in stated.items())
        )

    def forget(self, path: bytes) -> None:
        """Forget what the package has at a path, because that was changed."""
        self._database.execute("DELETE FROM have WHERE place = 0 AND path = ?", (path,))

    def stated(self, path: bytes) -> dict[str, str]:
        """Return the digests that are stated of a file, none where two of one algorithm differ."""
        found: dict[str, str] = {}
        for algorithm, digest in self._database.execute(
            "SELECT DISTINCT algorithm, digest FROM stated WHERE path = ? AND digest IS NOT NULL", (path,)
        ):
            if found.setdefault(algorithm, digest) != digest:
                return {}
        return found

    def size(self, path: bytes) -> int | None:
        """Return the size that is stated of a file, None where none is."""
        found = self._sizes(path)
        return found.pop() if len(found) == 1 else None

    def lob(self, path: bytes) -> tuple[str, int]:
        """Return the id of the LOB that a file is or is part of, "" for none, and where in it it begins."""
        row = self._database.execute("SELECT id FROM lob WHERE path = ?", (path,)).fetchone()
        if row is None:
            return "", 0
        part = _PART_ID.fullmatch(row[0])
        if part is None:
            return row[0], 0
        self._add_up_parts()
        row = self._database.execute(_END_BEFORE, (part[1], int(part[2]))).fetchone()
        return part[1], row[0] if row is not None else 0

    def _add_up_parts(self) -> None:
        """Note once where each part of a LOB that a METS lists ends in it, by its number."""
        if self._are_added_up:
            return
        self._are_added_up = True
        self._database.execute(_PARTS)
        rows = (
            (part[1], int(part[2]), path, size or 0)
            for path, identifier, size in tempdb.rows(self._database, "SELECT path, id, size FROM lob")
            if (part := _PART_ID.fullmatch(identifier)) is not None and part[2] == str(int(part[2]))
        )
        self._database.executemany("INSERT INTO part VALUES (?, ?, ?, ?)", rows)
        self._database.execute(_ENDS)
        self._database.execute("CREATE INDEX part_end_lob ON part_end (lob, number)")

    # --- What there is

    def _contents(self, place: int, path: bytes) -> Generator[Content, None, None]:
        """Yield what a place has at a path; whoever does not take all of it closes it.

        An interruption that comes while Python does that by itself is lost.
        """
        if place != _OUT:
            yield from self._copies[place - 1].content(path)
            return
        with ExitStack() as stack, suppress(OSError, MetspackError):
            yield stack.enter_context(self._tree.content(path))

    def _places(self) -> range:
        return range(len(self._copies) + 1)

    def _candidates(self, path: bytes) -> list[_ManifestForm]:
        """Return the forms of a manifest, the package's own first; their lines are kept."""
        algorithm = next(each for each in MANIFEST_ALGORITHMS if MANIFESTS[each] == os.fsdecode(path))
        found: dict[str, _ManifestForm] = {}
        for place in self._places():
            digests = self._digests_at(place, path, ("SHA-256",))
            if digests is None:
                continue
            sha256 = digests["SHA-256"]
            if sha256 not in found:
                self._count += 1
                found[sha256] = _ManifestForm(number=self._count, sha256=sha256)
                self._take_lines(place, path, found[sha256], 2 * OCTETS[algorithm])
                if place == _OUT:
                    self._database.execute("INSERT INTO own VALUES (?, ?)", (self._count, algorithm))
            found[sha256].places.append(place)
        return list(found.values())

    def _take_lines(self, place: int, path: bytes, candidate: _ManifestForm, digits: int) -> None:
        plain = re.compile(rb"[0-9a-f]{%d}  [^\r\n\\]+\n" % digits)
        last = b""
        rows: list[tuple[int, bytes, str]] = []
        for content in self._contents(place, path):
            with suppress(OSError, MetspackError):
                for line in _lines(content):
                    parsed = _parsed(line, digits)
                    if parsed is None:
                        candidate.strange += 1
                        continue
                    candidate.lines += 1
                    candidate.strange += plain.fullmatch(line) is None or parsed[0] <= last
                    last = max(last, parsed[0])
                    rows.append((candidate.number, *parsed))
                    if len(rows) >= _AT_ONCE:
                        self._put_lines(rows)
        self._put_lines(rows)

    def _put_lines(self, rows: list[tuple[int, bytes, str]]) -> None:
        self._database.executemany("INSERT OR IGNORE INTO line VALUES (?, ?, ?)", rows)
        rows.clear()

    def _hash_package(self) -> None:
        """Read each file of the package that a manifest or a METS names, once, and note which are proven."""
        algorithms = tuple(dict.fromkeys((*MANIFEST_ALGORITHMS, *self._documents_of_package())))
        size = weight(self._root, whole=True)
        useful = processes.useful(self._jobs, files=_AT_ONCE, size=size)
        given: deque[list[tuple[bytes, FileRun]]] = deque()

        def tasks() -> Iterator[list[FileRun]]:
            for runs in self._runs(Asked(algorithms=algorithms)):
                given.append(runs)
                yield [run for _, run in runs]

        with closing(
            processes.results(reading.hash_runs, tasks(), useful, self._progress.advance)
        ) as results:
            for hashed in results:
                for (folder, run), found in zip(given.popleft(), hashed, strict=True):
                    for number, name in enumerate(run.names.split("/")):
                        if isinstance(outcome := found.outcome(number), Hashed):
                            path = (folder + b"/" if folder else b"") + os.fsencode(name)
                            self._keep(_OUT, path, outcome.size, outcome.digests)
                            self.files += 1
                            self.octets += outcome.size
        self._database.execute(_PROVE)
        self._database.execute("DELETE FROM stated")
        self._database.execute("DELETE FROM lob")

    def _runs(self, asked: Asked) -> Iterator[list[tuple[bytes, FileRun]]]:
        """Yield the files that are named anywhere, each folder's together."""
        last = b""
        sql = "SELECT path FROM line WHERE path > ?1 UNION SELECT path FROM stated WHERE path > ?1 "
        while rows := self._database.execute(sql + "ORDER BY path LIMIT ?2", (last, _AT_ONCE)).fetchall():
            last = rows[-1][0]
            runs = []
            for folder, group in groupby((path for (path,) in rows), key=_folder):
                names = os.fsdecode(b"/".join(_name(each) for each in group))
                segments = tuple(os.fsdecode(folder).split("/")) if folder else ()
                runs.append((folder, FileRun(root=self._root, folder=segments, names=names, asked=asked)))
            yield runs

    def _documents_of_package(self) -> list[str]:
        """Note which files the METS of the package name, right or wrong; return the algorithms in them."""
        waiting = deque(path for (path,) in self._database.execute(_NAMED_METS).fetchall())
        waiting += self._tops(_OUT)
        seen: set[bytes] = set()
        while waiting:
            path = waiting.popleft()
            if path not in seen:
                seen.add(path)
                for content in self._contents(_OUT, path):
                    with suppress(OSError, MetspackError):
                        waiting += self._take_entries(path, content)
        sql = "SELECT DISTINCT algorithm FROM stated WHERE algorithm IS NOT NULL"
        return [name for (name,) in self._database.execute(sql)]

    def _tops(self, place: int) -> list[bytes]:
        """Return the path of the METS at the top of the package, as a place has it; none without one."""
        if place != _OUT:
            names = map(os.fsencode, METS_NAMES)
            return [each for each in names if self._is_at(place, each)][:1]
        with suppress(OSError):
            if (name := packages.chosen(os.listdir(self._root))) is not None:
                return [os.fsencode(name)]
            found = packages.parent(self._root, self._budgets)
            if found is not None and packages.is_beside(self._root, found) and not found.is_packed:
                return [os.fsencode(f"{found.folder}/{found.mets}")]
        return []

    def _is_at(self, place: int, path: bytes) -> bool:
        with closing(self._contents(place, path)) as contents:
            return next(contents, None) is not None

    def _keep(self, place: int, path: bytes, size: int, digests: Mapping[str, str]) -> None:
        rows = [(place, path, size, algorithm, value) for algorithm, value in digests.items()]
        self._database.executemany("INSERT OR REPLACE INTO have VALUES (?, ?, ?, ?, ?)", rows)

    def _digests_at(self, place: int, path: bytes, algorithms: Sequence[str]) -> dict[str, str] | None:
        """Return digests of a file at a place, which is read unless they are known; None if it cannot be."""
        sql = "SELECT algorithm, digest FROM have WHERE place = ? AND path = ?"
        known = dict(self._database.execute(sql, (place, path)).fetchall())
        if known and known.keys() >= set(algorithms):
            return known
        with closing(self._contents(place, path)) as contents:
            for content in contents:
                hashers = Hashers(dict.fromkeys((*MANIFEST_ALGORITHMS, *algorithms)))
                try:
                    hashers.take(content.chunks())
                except (OSError, MetspackError):
                    continue
                found = hashers.digests()
                self._keep(place, path, hashers.size, found)
                return found
        return None

    # --- Which manifests are right

    def _choose(self, manifests: Mapping[str, list[_ManifestForm]]) -> None:
        """Decide which form of each manifest is right; their lines are then what is stated."""
        for found in manifests.values():
            for first, second in product(found, found):
                self._read_differing(first, second)
        pairs = list(product(*(self._sealed(name, found) or [None] for name, found in manifests.items())))
        if self._seal is not None and not self._seal.lines:
            pairs = self._of_value(pairs)
            if not pairs:
                self.doubts |= dict.fromkeys(map(os.fsencode, NAMES), _UNSEALED)
                return
        fit = [each for each in pairs if self._seal or self._is_own(each) or self._is_fit(each)]
        if not fit:
            self.doubts |= {
                os.fsencode(name): _UNFIT
                for name, found in manifests.items()
                if found and not any(_OUT in each.places for each in found)
            }
            return
        pair = min(fit, key=self._judge)
        self._state(pair, self._is_contradicted(pair))

    def _read_differing(self, first: _ManifestForm, second: _ManifestForm) -> None:
        """Read in all copies the files of which two forms of a manifest say different things."""
        if first is second:
            return
        last = b""
        while rows := self._database.execute(
            _DIFFERING, (first.number, second.number, last, _AT_ONCE)
        ).fetchall():
            last = rows[-1][0]
            for (path,), place in product(rows, self._places()):
                self._digests_at(place, path, MANIFEST_ALGORITHMS)

    def _state(self, pair: _Pair, contradicted: Mapping[str, bytes]) -> None:
        """Take the lines of two manifests for right, and themselves where the package has others."""
        for name, algorithm, each in zip(NAMES, MANIFEST_ALGORITHMS, pair, strict=True):
            if each is None:
                continue
            path, doubtful = os.fsencode(name), contradicted.get(name)
            if doubtful is not None and _OUT in each.places:
                self.doubts[path] = (
                    f"METS, manifests and files do not agree on {_text(doubtful)}, in any copy"
                )
            elif doubtful is not None and len(each.places) == 1:
                self.doubts[path] = _UNDECIDED
                continue
            elif _OUT not in each.places:
                self._database.execute(
                    "INSERT INTO stated VALUES (?, 'SHA-256', ?, NULL)", (path, each.sha256)
                )
            sql = "INSERT INTO stated SELECT path, ?, digest, NULL FROM line WHERE candidate = ?"
            self._database.execute(sql, (algorithm, each.number))
            for (line,) in self._database.execute(
                "SELECT path FROM line WHERE candidate = ?", (each.number,)
            ):
                if (folder := unpacked_name(line)) is not None:
                    self._database.execute("INSERT OR IGNORE INTO pack VALUES (?)", (folder + b"/",))

    def _of_value(self, pairs: Sequence[_Pair]) -> list[_Pair]:
        """Return the pair that, with a METS at the top, makes the seal of which the value alone is known."""
        tops = [
            (os.fsdecode(path), digests["SHA-256"])
            for place in self._places()
            for path in {*self._tops(place), *chain.from_iterable(map(self._tops, self._places()))}
            if (digests := self._digests_at(place, path, ("SHA-256",))) is not None
        ]
        for pair, top in product(pairs, tops):
            lines = [(name, each.sha256) for name, each in zip(NAMES, pair, strict=True) if each]
            if self._seal is not None and Seal.of([*lines, top]).value == self._seal.value:
                return [pair]
        return []

    def _sealed(self, name: str, found: list[_ManifestForm]) -> list[_ManifestForm | None]:
        """Return the forms of a manifest that may be right: where its digest is sealed, that alone."""
        lines = () if self._seal is None else self._seal.lines
        digests = [line.partition(" ")[0] for line in lines if line.endswith(f" {name}")]
        if not digests:
            return [*found]
        right = [each for each in found if each.sha256 in digests]
        if not right:
            self.doubts[os.fsencode(name)] = _UNSEALED
        return [*right]

    @staticmethod
    def _is_own(pair: _Pair) -> bool:
        return all(each is None or _OUT in each.places for each in pair)

    def _is_fit(self, pair: _Pair) -> bool:
        """Return whether manifests of which one is a copy's agree with all that the package proves itself.

        One file of it at least must be as they state it, or a line of its own manifests be one of theirs.
        """
        if self._against_proven(pair)[0]:
            return False
        known = [(each.number, name) for each, name in zip(pair, MANIFEST_ALGORITHMS, strict=True) if each]
        return any(self._database.execute(_SUPPORT, each).fetchone()[0] for each in known) or any(
            self._database.execute(_IN_COMMON, (number,)).fetchone() is not None for number, _ in known
        )

    def _against_proven(self, pair: _Pair) -> tuple[int, bytes | None]:
        """Return how many files the package proves that manifests deny, and the first."""
        counts = [
            self._database.execute(_AGAINST_PROVEN, (each.number, name)).fetchone()
            for each, name in zip(pair, MANIFEST_ALGORITHMS, strict=True)
            if each is not None
        ]
        return max(counts, default=(0, None), key=lambda each: each[0])

    def _conflicts(self, pair: _Pair) -> tuple[int, bytes | None]:
        """Return how many contradictions there are between manifests, METS and files, and the first."""
        one, other = pair
        counts: list[tuple[int, bytes | None]] = []
        if one is not None and other is not None:
            numbers = (one.number, other.number)
            counts += (self._database.execute(sql, numbers).fetchone() for sql in (_CONFLICTS, _ONE_SIDED))
        if self._is_own(pair):
            counts.append(self._against_proven(pair))
        known = [each.number for each in pair if each is not None]
        for number in known:
            if self._database.execute(_HAS_METS, (number,)).fetchone() is None:
                counts.append((1, METS_NAMES[0].encode()))
        return sum(count for count, _ in counts), next((path for _, path in counts if path), None)

    def _judge(self, pair: _Pair) -> tuple[int, int, int, int]:
        """Return how much speaks against two manifests, then what decides between equals.

        Better are the package's own, those with more lines, and those that more places have.
        """
        known = [each for each in pair if each is not None]
        return (
            self._conflicts(pair)[0] + sum(each.strange for each in known),
            sum(_OUT not in each.places for each in known),
            -sum(each.lines for each in known),
            -sum(len(each.places) for each in known),
        )

    def _is_contradicted(self, pair: _Pair) -> dict[str, bytes]:
        """Return the manifests that cannot be right as they are, each with the first file that shows it.

        Of two that contradict each other it is the one that more files contradict, or both.
        """
        count, first = self._conflicts(pair)
        if not count or first is None:
            return {}
        alone = [
            0 if each is None else self._database.execute(_ALONE, (each.number, algorithm)).fetchone()[0]
            for each, algorithm in zip(pair, MANIFEST_ALGORITHMS, strict=True)
        ]
        return {
            name: first
            for name, each, odd in zip(NAMES, pair, alone, strict=True)
            if each is not None and odd == max(alone)
        }

    # --- Which METS are right, and what they state

    def _read_documents(self) -> None:
        """Read all METS that are proven, wherever they are, and note what they state."""
        waiting = deque(path for (path,) in self._database.execute(_STATED_METS).fetchall())
        if self._database.execute("SELECT 1 FROM stated LIMIT 1").fetchone() is None and not self.doubts:
            waiting += self._unproven_top()
        seen: set[bytes] = set()
        while waiting:
            path = waiting.popleft()
            if path in seen:
                continue
            seen.add(path)
            for place in self._places():
                if self.is_right(place, path):
                    with closing(self._contents(place, path)) as contents:
                        for content in islice(contents, 1):
                            with suppress(OSError, MetspackError):
                                waiting += self._take_entries(path, content)
                    break

    def _unproven_top(self) -> list[bytes]:
        """Return the METS at the top of a package without manifests, if copies or the seal prove it."""
        sealed = () if self._seal is None else self._seal.lines
        for path in dict.fromkeys(chain.from_iterable(map(self._tops, self._places()))):
            found: dict[str, list[int]] = {}
            for place in self._places():
                if (digests := self._digests_at(place, path, ("SHA-256",))) is not None:
                    found.setdefault(digests["SHA-256"], []).append(place)
            right = [each for each in found if any(line.startswith(each) for line in sealed)]
            ranked = sorted(found, key=lambda each: (each not in right, -len(found[each]), found[each]))
            best = ranked[0] if ranked else ""
            if best and (best in right or len(found[best]) > 1 or (len(found) == 1 and _OUT in found[best])):
                self._database.execute("INSERT INTO stated VALUES (?, 'SHA-256', ?, NULL)", (path, best))
                return [path]
            if found:
                self.doubts[path] = _UNDECIDED
        return []

    def _take_entries(self, mets: bytes, content: Content) -> list[bytes]:
        """Note what a METS states of files; returns the paths of METS among these."""
        folder = tuple(os.fsdecode(mets).split("/")[:-1])
        further = []
        for fact in reader.read(content.blocks(), self._budgets):
            if not isinstance(fact, reader.File) or not fact.href:
                continue
            names, _ = located(folder, fact.href)
            if not names:
                continue
            path = "/".join(names).encode("utf-8", "surrogateescape")
            if self._is_packed(path):
                continue
            digest, size = digest_of(fact), size_of(fact)
            known = digest if digest is not None and digest.algorithm in OCTETS else None
            row = (path, known and known.algorithm, known and known.value, size)
            self._database.execute("INSERT INTO stated VALUES (?, ?, ?, ?)", row)
            if fact.id and LOB_ID.fullmatch(fact.id):
                self._database.execute("INSERT OR IGNORE INTO lob VALUES (?, ?, ?)", (path, fact.id, size))
            if is_mets_name(names[-1]):
                further.append(path)
        return further

    def _is_packed(self, path: bytes) -> bool:
        """Return whether a file lies in a zip or tar file, which is proven as a whole."""
        sql = "SELECT folder FROM pack WHERE folder <= ? ORDER BY folder DESC LIMIT 1"
        row = self._database.execute(sql, (path,)).fetchone()
        return row is not None and path.startswith(row[0])


def _text(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def _name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]


def _folder(path: bytes) -> bytes:
    return path.rpartition(b"/")[0]


def _lines(content: Content) -> Iterator[bytes]:
    """Yield lines with their line feed, those that are longer than any path needs in pieces."""
    rest = b""
    for block in content.chunks():
        *whole, rest = (rest + block).split(b"\n")
        for each in whole:
            yield each + b"\n"
        if len(rest) > _LONGEST:
            yield rest
            rest = b""
    if rest:
        yield rest


def _parsed(line: bytes, digits: int) -> tuple[bytes, str] | None:
    """Return path and digest of a line of a manifest, None for one that is none, or leads elsewhere."""
    found = _LINE.fullmatch(line.rstrip(b"\r\n"))
    if found is None or len(found[2]) != digits:
        return None
    path = re.sub(rb"\\[\\nr]", lambda mark: _ESCAPES[mark[0]], found[3]) if found[1] else found[3]
    if b"\0" in path or any(name in {b"", b".", b".."} for name in path.split(b"/")):
        return None
    return path, found[2].decode("ascii").lower()
