"""Temporary store of a check's findings, and the ledger of a package's checks."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from metspack import clock
from metspack.checking import Explanation, explained, reported_id, standard_of
from metspack.checking.ledger import FileStamp, VerifiedFile
from metspack.checking.options import LedgerFigures
from metspack.errors import ConfigError, MetspackError, SourceError, TargetError
from metspack.files import journal, pread, reading, tempdb
from metspack.model import Finding, FindingPlace, Severity
from metspack.reporting.model import rank
from metspack.system import os
from metspack.uris import shown

if TYPE_CHECKING:
    from metspack.files.writing import RunJournal

_WHAT = "the findings"
_BATCH = 1_000
_SCHEMA = """
CREATE TABLE finding (
    id INTEGER PRIMARY KEY, path TEXT, line INTEGER, code TEXT, place TEXT, severity INTEGER,
    label TEXT, standard TEXT, rest TEXT
);
CREATE TABLE other (finding INTEGER, path TEXT, line INTEGER, place TEXT);
CREATE INDEX other_finding ON other (finding);
"""
_PUT = """INSERT INTO finding (path, line, place, code, severity, label, standard, rest)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_PUT_OTHER = "INSERT INTO other SELECT max(id), ?, ?, ? FROM finding"
_OTHERS = "SELECT path, line, place FROM other WHERE finding = ? ORDER BY rowid"
# Each owner of places of a finding has it once, at its first place there.
_OWNED = """
SELECT owner(path) AS o, id, path, line, place FROM finding
UNION ALL
SELECT o, id, path, line, place FROM (
    SELECT owner(path) AS o, finding AS id, path, line, place, min(rowid) FROM other GROUP BY o, finding
) x WHERE o <> owner((SELECT f.path FROM finding f WHERE f.id = x.id))
"""
_GROUPED = "code, label, standard, severity"
_SEVERITIES = tuple(Severity)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeGroup:
    """The findings of one code, or for one requirement of E-ARK, and their number.

    ``label`` is the requirement, or the code without one; ``standard`` is that of the requirement.
    """

    code: str
    label: str
    standard: str
    severity: Severity
    count: int

    @property
    def explanation(self) -> Explanation:
        """The explanation of the code or the requirement."""
        return explained(self.label, self.standard)

    @property
    def name(self) -> str:
        """The code, or the requirement with its code behind it: ``CSIP60 (M030)``."""
        return self.code if self.label == self.code else f"{self.label} ({self.code})"

    @property
    def anchor(self) -> str:
        """A name that is unique in a report."""
        return self.code if self.label == self.code else f"{self.label}-{self.code}"


class FindingStore(tempdb.Scratch):
    """Findings in a temporary database; a context manager. Any number of them takes little memory.

    Raises ``TargetError`` when the temporary folder has no room.
    """

    def __init__(self) -> None:
        super().__init__("BEGIN", schema=_SCHEMA)
        self._waiting: list[tuple[Any, ...]] = []

    def add(self, finding: Finding) -> None:
        """Store one finding."""
        path, place = _stored(finding.path), _stored(finding.place)
        rest = json.dumps((finding.message, finding.facts, finding.requirement, finding.count))
        group = finding.code, rank(finding.severity), reported_id(finding), standard_of(finding)
        self._waiting.append((path, finding.line, place, *group, rest))
        if finding.others or len(self._waiting) >= _BATCH:
            self._flush((_stored(each.path), each.line, _stored(each.place)) for each in finding.others)

    def _flush(self, others: Iterable[tuple[Any, ...]] = ()) -> None:
        """Put all findings into the database, and ``others``, the other places of the last one."""
        with tempdb.explained(_WHAT):
            self._database.executemany(_PUT, self._waiting)
            self._database.executemany(_PUT_OTHER, others)
        self._waiting.clear()

    def as_found(self) -> Iterator[Finding]:
        """Yield all findings in the order in which they were added."""
        return self._found("ORDER BY id")

    def by_place(self) -> Iterator[Finding]:
        """Yield all findings by path, line, code and place, in the order found among equals."""
        return self._found("ORDER BY path, line, code, place, id")

    def groups(self) -> list[CodeGroup]:
        """Return the codes and requirements that were found, the worst first, then by code."""
        sql = f"""SELECT {_GROUPED}, count(*), min(id) AS first FROM finding
            GROUP BY {_GROUPED} ORDER BY severity, code, first"""  # noqa: S608 -- a constant
        return [_group(*row) for *row, _ in self._select(sql)]

    def of_group(self, group: CodeGroup, limit: int | None = None) -> Iterator[Finding]:
        """Yield a group's findings by path, line and place, at most ``limit`` of them."""
        where = "WHERE code = ? AND label = ? AND standard = ? AND severity = ?"
        values = group.code, group.label, group.standard, rank(group.severity), -1 if limit is None else limit
        return self._found(f"{where} ORDER BY path, line, place, id LIMIT ?", *values)

    def by_owner(self, owner: Callable[[str], str]) -> Iterator[tuple[str, CodeGroup]]:
        """Yield each owner of findings with its groups, sorted.

        ``owner`` returns the owner of a path. A finding with places of several owners belongs to each.
        """
        self._register(owner)
        sql = f"""SELECT o, {_GROUPED}, count(*) FROM ({_OWNED}) s JOIN finding f ON f.id = s.id
            GROUP BY o, {_GROUPED} ORDER BY o, severity, code, label, standard"""  # noqa: S608 -- constants
        for path, *row in self._select(sql):
            yield path, _group(*row)

    def of_owner(self, owner: Callable[[str], str]) -> Iterator[tuple[str, Finding]]:
        """Yield all findings with owners, by owner, severity, group, path, line and place."""
        self._register(owner)
        sql = f"""SELECT o, f.id, s.path, s.line, code, s.place, severity, rest FROM ({_OWNED}) s
            JOIN finding f ON f.id = s.id
            ORDER BY o, severity, code, label, standard, s.path, s.line, s.place, f.id"""  # noqa: S608 -- constants
        for found, *row in self._select(sql):
            yield found, self._finding(row)

    def _register(self, owner: Callable[[str], str]) -> None:
        self.add_function("owner", lambda path: _stored(owner(path)), is_deterministic=False)

    def _found(self, rest: str, *values: object) -> Iterator[Finding]:
        sql = f"SELECT id, path, line, code, place, severity, rest FROM finding {rest}"  # noqa: S608 -- constants
        return map(self._finding, self._select(sql, *values))

    def _select(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query over all findings."""
        self._flush()
        with tempdb.explained(_WHAT):
            yield from self.rows(sql, *values)

    def _finding(self, row: Sequence[Any]) -> Finding:
        number, path, line, code, place, severity, rest = row
        message, facts, requirement, count = json.loads(rest)
        others = self._database.execute(_OTHERS, (number,)) if count > 1 else ()
        return Finding(
            code=code,
            severity=_SEVERITIES[severity],
            path=path,
            line=line,
            place=place,
            message=message,
            facts=tuple((name, value) for name, value in facts),
            requirement=requirement,
            count=count,
            others=tuple(FindingPlace(path=at, line=number, place=inner) for at, number, inner in others),
        )


def _group(code: str, name: str, standard: str, severity: int, count: int) -> CodeGroup:
    return CodeGroup(code=code, label=name, standard=standard, severity=_SEVERITIES[severity], count=count)


def _stored(text: str) -> str:
    # SQLite's text is UTF-8, which has no lone surrogates.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


LONGEST = 240
"""The most characters of a line in a report; an ellipsis stands for the rest."""

_LINES = "CREATE TABLE line (path TEXT, number INTEGER, text TEXT, PRIMARY KEY (path, number))"
_WHAT_LINES = "the lines of documents"
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_ENOUGH = 1 << 30  # characters of a document that are searched for lines
_PIECE = 1 << 16  # characters of a line that are read at once


class Excerpts(tempdb.Scratch):
    """The lines of documents that findings refer to, in a temporary database; a context manager.

    ``roots`` are the packages' folders by the prefix of the paths of their findings: "" for a single package.
    """

    def __init__(self, roots: Mapping[str, Path]) -> None:
        self._roots = {f"{name}/" if name else "": root for name, root in sorted(roots.items(), reverse=True)}
        super().__init__("BEGIN", schema=_LINES)

    def want(self, findings: Iterable[Finding]) -> None:
        """Record the lines that findings refer to."""
        sql = "INSERT OR IGNORE INTO line (path, number) VALUES (?, ?)"
        with tempdb.explained(_WHAT_LINES):
            self._database.executemany(sql, ((each.path, each.line) for each in findings if each.line))

    def read(self) -> None:
        """Read the recorded lines; those that cannot be read are left out."""
        put = "UPDATE line SET text = ? WHERE path = ? AND number = ?"
        with tempdb.explained(_WHAT_LINES):
            # A copy: a query may repeat rows that change while it runs.
            self._database.execute("CREATE TABLE wanted AS SELECT path, number FROM line")
            wanted = self._database.execute("SELECT path, number FROM wanted ORDER BY path, number")
            for path, rows in groupby(wanted, key=lambda row: row[0]):
                found = self._lines(path, (number for _, number in rows))
                self._database.executemany(put, ((text, path, number) for number, text in found))
            self._database.execute("DROP TABLE wanted")

    def of(self, finding: Finding) -> str | None:
        """Return the line of a finding, shortened; None without a line or if it was not read."""
        row = self.row("SELECT text FROM line WHERE path = ? AND number = ?", finding.path, finding.line)
        return row[0] if row else None

    def _lines(self, path: str, numbers: Iterator[int]) -> Iterator[tuple[int, str]]:
        """Yield the lines with the given ascending numbers, shortened."""
        start = next((name for name in self._roots if path.startswith(name)), None)
        if start is None:
            return
        try:
            with reading.opening(self._roots[start], path.removeprefix(start).split("/")) as descriptor:
                encoding = _UTF_16.get(pread(descriptor, 2, 0), "utf-8-sig")
                with io.TextIOWrapper(reading.from_byte(0, descriptor), encoding, "replace") as file:
                    yield from _among(file, numbers)
        except (OSError, MetspackError):
            return  # the findings report the fault of the file; the report leaves its lines out


def _among(file: TextIO, numbers: Iterator[int]) -> Iterator[tuple[int, str]]:
    """Yield the lines with the given ascending numbers, shortened; long ones are read in pieces."""
    wanted, number, is_start, left = next(numbers, None), 1, True, _ENOUGH
    while wanted is not None and left > 0 and (piece := file.readline(_PIECE)):
        left -= len(piece)
        if is_start and number == wanted:
            line = piece.removesuffix("\n")
            yield number, line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
            wanted = next(numbers, None)
        is_start = piece.endswith("\n")
        number += is_start


# --- The ledger of a package ---
# A file of lines of JSON, each with its checksum: a head, a line for each file, and one at the end of a
# complete check. Lines are appended while files are read; a check that ends removes the obsolete ones.
# Files in a zip or tar file have the size, time and inode of that file.

_LONGEST = 1 << 26  # bytes of a line, which covers many files
_FORM = 1  # of the lines; another one is refused

_HEAD, _FILE, _DIFFERING, _WHOLE = "ledger", "file", "odd", "whole"
_BEGINNING = b'{"event": "ledger", '
_KEPT_OF_FILES = "the facts of the ledger on files"
_LEDGER_SCHEMA = """
CREATE TABLE verified (
    path BLOB PRIMARY KEY, size INTEGER, mtime INTEGER, inode INTEGER, facts TEXT, time TEXT, is_new INTEGER
) WITHOUT ROWID;
CREATE TABLE seen (path BLOB PRIMARY KEY) WITHOUT ROWID
"""
_PUT_VERIFIED = "INSERT OR REPLACE INTO verified VALUES (?, ?, ?, ?, ?, ?, ?)"
_FORGET = "DELETE FROM verified WHERE path = ?"
_VERIFIED = "SELECT path, size, mtime, inode, facts, time FROM verified WHERE {} ORDER BY path"
_NEW = "Name a new file: a ledger is begun there, and every file is read."


class Ledger(tempdb.Scratch):
    """The ledger of a package, which a check reads and continues; a context manager.

    Files that were verified longer than ``older_than`` seconds ago are due. If that is None, all are due
    except those that an interrupted check has verified, which this one resumes.
    """

    def __init__(self, path: Path, older_than: int | None) -> None:
        super().__init__("BEGIN", schema=_LEDGER_SCHEMA)
        self._path = Path(os.path.realpath(path))
        self._older_than = older_than
        self._journal: RunJournal | None = None
        self._head: dict[str, object] = {}
        self.figures = LedgerFigures()

    def close(self) -> None:
        """Close the file, so that a later check can continue it."""
        if self._journal is not None:
            self._journal.close()
        super().close()

    def begin(self, objid: str, package: str) -> None:
        """Read the ledger's file, or make it if it does not exist.

        Raises ``ConfigError`` for the ledger of another package, for another file, and for a place in the
        package itself; ``SourceError`` for a damaged one, ``TargetError`` where it cannot be written.
        """
        root = os.path.realpath(package)
        if Path(root) in self._path.parents:
            raise ConfigError(
                f"--ledger {self._path} would lie in the package, as a file that no METS lists",
                hint="Name a file outside of the package.",
            )
        if os.path.isdir(self._path):
            raise ConfigError(f"--ledger {self._path}: is a folder", hint="Name a file.")
        self._head = {"event": _HEAD, "form": _FORM, "objid": objid, "package": os.fsdecode(root)}
        from metspack.files import writing  # noqa: PLC0415 -- few checks keep a ledger

        self._journal = writing.RunJournal(self._path)
        if self._journal.is_held or not self._journal.is_there():
            raise TargetError(
                f"{self._path} is in use: another check keeps its ledger there",
                hint="Wait until it has ended.",
            )
        size = self._read(self._journal.descriptor)
        self._journal.cut(size)
        if not size:
            self._journal.record_all([self._head])

    def _read(self, descriptor: int) -> int:
        """Read the file's lines into the database; return the bytes up to its last whole line's end."""
        size = 0
        try:
            start = pread(descriptor, len(_BEGINNING), 0)
            for number, event, stop in journal.sealed_events(descriptor, _LONGEST):
                if number == 1:
                    self._check_head(event, start)
                elif event is None:
                    raise self._damaged(number)
                else:
                    self._take(event, number)
                size = stop
            if not size and start and not _BEGINNING.startswith(start):
                self._check_head(None, start)
        except OSError as error:
            why = f"{self._path} cannot be read: {error.strerror}"
            raise SourceError(why, hint="Name another file.") from None
        return size

    def _check_head(self, event: dict[str, Any] | None, start: bytes) -> None:
        if event is None or event.get("event") != _HEAD:
            if start == _BEGINNING:
                raise self._damaged(1)
            raise ConfigError(
                f"--ledger {self._path}: the file is not a ledger of metspack, and is unchanged", hint=_NEW
            )
        if event.get("form") != _FORM:
            raise ConfigError(
                f"--ledger {self._path}: is of form {event.get('form')}, expected {_FORM}",
                hint=f"Another version of metspack wrote it. {_NEW}",
            )
        # An OBJID is empty where METS could not be read; then the path identifies the package.
        self._head["objid"] = self._head["objid"] or event.get("objid")
        for name, what in (("objid", "OBJID"), ("package", "path")):
            stated = event.get(name)
            if stated != self._head[name] and (stated or name == "package"):
                raise ConfigError(
                    f"--ledger {self._path}: was made for the package with the {what} "
                    f"{shown(str(stated))}, not {shown(str(self._head[name]))}",
                    hint=f"Each copy of a package needs a ledger, and a moved package a new one. {_NEW}",
                )

    def _damaged(self, number: int) -> SourceError:
        return SourceError(
            f"{self._path} line {number:,} is damaged: its checksum is not that of the line",
            hint=f"Its facts on files are not reliable. {_NEW}",
        )

    def _take(self, event: dict[str, Any], number: int) -> None:
        name = event.get("event")
        with tempdb.explained(_KEPT_OF_FILES):
            try:
                if name == _WHOLE:
                    self._database.execute("UPDATE verified SET is_new = 0 WHERE is_new")
                elif name == _DIFFERING:
                    self._database.execute(_FORGET, (os.fsencode(event["path"]),))
                elif name == _FILE:
                    self._put(_file_of(event), str(event["time"]))
                else:
                    raise self._damaged(number)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
                raise self._damaged(number) from None

    def _put(self, file: VerifiedFile, time: str) -> None:
        facts = "\n".join(file.facts)
        self._database.execute(_PUT_VERIFIED, (file.path, *file.stamp, facts, time, 1))

    def not_due(self) -> Iterator[tuple[VerifiedFile, str]]:
        """Yield the files that are not due, by path, with the time of each."""
        if self._older_than is None:
            return self._verified("is_new")
        # Times in the future prove nothing: the clock was set back.
        return self._verified("time > ? AND time <= ?", clock.ago(self._older_than), clock.ago(0))

    def _verified(self, which: str, *values: object) -> Iterator[tuple[VerifiedFile, str]]:
        for path, size, mtime, inode, facts, time in self.rows(_VERIFIED.format(which), *values):
            yield VerifiedFile(path=path, stamp=(size, mtime, inode), facts=tuple(facts.split("\n"))), time

    def take(self, taken: Iterable[tuple[bytes, str]]) -> None:
        """Record the files that were taken from the ledger, with the time of each."""
        for path, time in taken:
            with tempdb.explained(_KEPT_OF_FILES):
                self._database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (path,))
            self.figures = self.figures.with_taken(time)

    def note(self, verified: Sequence[VerifiedFile], wrong: Sequence[bytes] = (), *, read: int = 0) -> None:
        """Record ``verified`` and ``wrong`` files, and the number ``read`` just now."""
        self.figures = self.figures.with_read(read)
        if self._journal is None or not (verified or wrong):
            return
        time = clock.ago(0)
        wrong_events = ({"event": _DIFFERING, "path": os.fsdecode(path)} for path in wrong)
        self._journal.record_all(chain((_event(each, time) for each in verified), wrong_events))
        with tempdb.explained(_KEPT_OF_FILES):
            for path in wrong:
                self._database.execute(_FORGET, (path,))
            for each in verified:
                self._put(each, time)
                self._database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (each.path,))

    def end(self) -> None:
        """Replace the file, at the end of a check, by one with the files of this check only."""
        if self._journal is None:
            return
        from metspack.files.writing import open_whole  # noqa: PLC0415 -- as above

        with open_whole(self._path, replaces=True) as file:
            events = (_event(each, time) for each, time in self._verified("path IN seen"))
            whole: dict[str, object] = {"event": _WHOLE}
            for each in chain([self._head], events, [whole]):
                file.write(f"{journal.sealed(each)}\n".encode())
            self._journal.close()  # before the file is replaced: Windows replaces no open file


def _event(file: VerifiedFile, time: str) -> dict[str, object]:
    size, mtime, inode = file.stamp
    stamp = {"size": size, "mtime_ns": mtime, "inode": inode}
    return {"event": _FILE, "path": os.fsdecode(file.path), **stamp, "facts": list(file.facts), "time": time}


def _file_of(event: Mapping[str, Any]) -> VerifiedFile:
    """Return the file of a line; raises ``KeyError``, ``TypeError`` or ``ValueError``."""
    stamp: FileStamp = (int(event["size"]), int(event["mtime_ns"]), int(event["inode"]))
    facts = tuple(str(each) for each in event["facts"])
    return VerifiedFile(path=os.fsencode(event["path"]), stamp=stamp, facts=facts)
