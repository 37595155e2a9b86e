"""Store of one check's findings, which each report reads in its own order, and of the lines they point at."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from metspack.checking import Explanation, explained, told_as
from metspack.errors import MetspackError
from metspack.files import reading, tempdb
from metspack.model import Finding, FindingPlace, Severity
from metspack.reporting.model import rank

_WHAT = "the findings"
_BATCH = 1_000
_SCHEMA = """
CREATE TABLE finding (
    id INTEGER PRIMARY KEY, path TEXT, line INTEGER, code TEXT, place TEXT, severity INTEGER, told_as TEXT,
    rest TEXT
);
CREATE TABLE other (finding INTEGER, path TEXT, line INTEGER, place TEXT);
CREATE INDEX other_finding ON other (finding);
"""
_PUT = "INSERT INTO finding (path, line, code, place, severity, told_as, rest) VALUES (?, ?, ?, ?, ?, ?, ?)"
_PUT_OTHER = "INSERT INTO other VALUES (?, ?, ?, ?)"
_OTHERS = "SELECT path, line, place FROM other WHERE finding = ? ORDER BY rowid"
_FIELDS = "id, path, line, code, place, severity, rest"
# Whose findings are: each owner of a place has the finding once, at its first place there.
_OWNED = """
SELECT owner(path) AS o, id, path, line, place FROM finding
UNION ALL
SELECT o, id, path, line, place FROM (
    SELECT owner(path) AS o, finding AS id, path, line, place, min(rowid) FROM other GROUP BY o, finding
) x WHERE o <> owner((SELECT f.path FROM finding f WHERE f.id = x.id))
"""
_GROUPED = "code, told_as, severity"
_SEVERITIES = tuple(Severity)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeGroup:
    """The findings of one code, or for one requirement of E-ARK: how many there are.

    ``told_as`` is the requirement or, where there is none, the code.
    """

    code: str
    told_as: str
    severity: Severity
    count: int

    @property
    def explanation(self) -> Explanation:
        """What the code or the requirement means."""
        return explained(self.told_as)

    @property
    def name(self) -> str:
        """The code, or the requirement with its code behind it: ``CSIP60 (M030)``."""
        return self.code if self.told_as == self.code else f"{self.told_as} ({self.code})"

    @property
    def anchor(self) -> str:
        """A name that no other group of a report has."""
        return self.code if self.told_as == self.code else f"{self.told_as}-{self.code}"

    @property
    def title(self) -> str:
        """The title of the code or the requirement."""
        return self.explanation.title


class FindingStore(tempdb.Scratch):
    """Findings in a temporary database; a context manager. Any number of them takes little memory.

    Raises ``TargetError`` when the temporary folder has no room.
    """

    def __init__(self) -> None:
        super().__init__("BEGIN", schema=_SCHEMA)
        self._waiting: list[tuple[Any, ...]] = []
        self._others: list[tuple[Any, ...]] = []
        self._number = 0

    def add(self, finding: Finding) -> None:
        """Keep one finding."""
        self._waiting.append(
            (
                _stored(finding.path),
                finding.line,
                finding.code,
                _stored(finding.place),
                rank(finding.severity),
                told_as(finding),
                json.dumps((finding.message, finding.facts, finding.requirement, finding.count)),
            )
        )
        self._number += 1
        self._others += [
            (self._number, _stored(each.path), each.line, _stored(each.place)) for each in finding.others
        ]
        if len(self._waiting) + len(self._others) >= _BATCH:
            self._flush()

    def add_all(self, findings: Iterable[Finding]) -> None:
        """Keep findings as they come; those that came before an error are kept too."""
        for each in findings:
            self.add(each)

    def as_found(self) -> Iterator[Finding]:
        """Yield all findings in the order in which they came."""
        yield from self._found("ORDER BY id")

    def by_place(self) -> Iterator[Finding]:
        """Yield all findings by path, line, code and place, in the order found among equals."""
        yield from self._found("ORDER BY path, line, code, place, id")

    def groups(self) -> list[CodeGroup]:
        """Return the codes and requirements that were found, the worst first, then by code."""
        self._flush()
        sql = f"""SELECT {_GROUPED}, count(*), min(id) AS first FROM finding
            GROUP BY {_GROUPED} ORDER BY severity, code, first"""  # noqa: S608 -- a constant
        with tempdb.explained(_WHAT):
            return [_group(*row) for *row, _ in self._database.execute(sql)]

    def of_group(self, group: CodeGroup, limit: int | None = None) -> Iterator[Finding]:
        """Yield a group's findings by path, line and place, at most ``limit`` of them."""
        yield from self._found(
            "WHERE code = ? AND told_as = ? AND severity = ? ORDER BY path, line, place, id LIMIT ?",
            group.code,
            group.told_as,
            rank(group.severity),
            -1 if limit is None else limit,
        )

    def by_owner(self, owner: Callable[[str], str]) -> Iterator[tuple[str, CodeGroup]]:
        """Yield each owner of findings with its groups, sorted; ``owner`` gives the owner of a path.

        A finding with places of several owners is told of each.
        """
        self._flush()
        with tempdb.explained(_WHAT):
            self._register_owner(owner)
            sql = f"""SELECT o, {_GROUPED}, count(*) FROM ({_OWNED}) s JOIN finding f ON f.id = s.id
                GROUP BY o, {_GROUPED} ORDER BY o, severity, code, told_as"""  # noqa: S608 -- constants
            for path, *row in self._database.execute(sql):
                yield path, _group(*row)

    def of_owner(self, owner: Callable[[str], str]) -> Iterator[tuple[str, Finding]]:
        """Yield all findings with their owners, sorted by owner, severity, group, path, line and place."""
        self._flush()
        with tempdb.explained(_WHAT):
            self._register_owner(owner)
            sql = f"""SELECT o, f.id, s.path, s.line, code, s.place, severity, rest FROM ({_OWNED}) s
                JOIN finding f ON f.id = s.id
                ORDER BY o, severity, code, told_as, s.path, s.line, s.place, f.id"""  # noqa: S608 -- constants
            for found, *row in self._database.execute(sql):
                yield found, self._finding(*row)

    def _register_owner(self, owner: Callable[[str], str]) -> None:
        self._database.create_function("owner", 1, lambda path: _stored(owner(path)))

    def _found(self, rest: str, *values: object) -> Iterator[Finding]:
        self._flush()
        with tempdb.explained(_WHAT):
            sql = f"SELECT {_FIELDS} FROM finding {rest}"  # noqa: S608 -- constants of this module
            for row in self._database.execute(sql, values):
                yield self._finding(*row)

    def _finding(  # noqa: PLR0917 -- a row
        self, number: int, path: str, line: int, code: str, place: str, severity: int, rest: str
    ) -> Finding:
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

    def _flush(self) -> None:
        with tempdb.explained(_WHAT):
            self._database.executemany(_PUT, self._waiting)
            self._database.executemany(_PUT_OTHER, self._others)
        self._waiting.clear()
        self._others.clear()


def _group(code: str, name: str, severity: int, count: int) -> CodeGroup:
    return CodeGroup(code=code, told_as=name, severity=_SEVERITIES[severity], count=count)


def _stored(text: str) -> str:
    # SQLite's text is UTF-8, which has no lone surrogates.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


LONGEST = 240
"""Characters of a line that are shown; what is left out is said with an ellipsis."""

_WHAT_LINES = "the lines of documents"
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_ENOUGH = 1 << 30  # bytes of a document that are looked through; its lines further on stay unseen


class Excerpts(tempdb.Scratch):
    """The lines that findings point at, in a temporary database; a context manager.

    ``roots`` are the packages' folders by what the paths of their findings begin with: nothing for the
    only package.
    """

    def __init__(self, roots: Mapping[str, Path]) -> None:
        self._roots = {f"{name}/" if name else "": root for name, root in sorted(roots.items(), reverse=True)}
        self._database = tempdb.create()
        self._database.execute(
            "CREATE TABLE line (path TEXT, number INTEGER, text TEXT, PRIMARY KEY (path, number))"
        )
        self._database.execute("BEGIN")

    def want(self, findings: Iterable[Finding]) -> None:
        """Take note of the lines that findings point at."""
        sql = "INSERT OR IGNORE INTO line (path, number) VALUES (?, ?)"
        with tempdb.explained(_WHAT_LINES):
            self._database.executemany(sql, ((each.path, each.line) for each in findings if each.line))

    def read(self) -> None:
        """Read the lines that are wanted; what cannot be read is left out."""
        put = "UPDATE line SET text = ? WHERE path = ? AND number = ?"
        with tempdb.explained(_WHAT_LINES):
            # A copy: rows that change while they are read may come twice.
            self._database.execute("CREATE TABLE wanted AS SELECT path, number FROM line")
            wanted = self._database.execute("SELECT path, number FROM wanted ORDER BY path, number")
            for path, rows in groupby(wanted, key=lambda row: row[0]):
                found = self._lines(path, (number for _, number in rows))
                self._database.executemany(put, ((text, path, number) for number, text in found))
            self._database.execute("DROP TABLE wanted")

    def of(self, finding: Finding) -> str | None:
        """Return the line that a finding points at, shortened; None when there is none or it was not read."""
        sql = "SELECT text FROM line WHERE path = ? AND number = ?"
        row = self._database.execute(sql, (finding.path, finding.line)).fetchone()
        return row[0] if row else None

    def _lines(self, path: str, numbers: Iterator[int]) -> Iterator[tuple[int, str]]:
        """Yield the lines of those numbers, which ascend, shortened."""
        start = next((name for name in self._roots if path.startswith(name)), None)
        if start is None:
            return
        try:
            with reading.opening(self._roots[start], path.removeprefix(start).split("/")) as descriptor:
                yield from _among(_text(reading.chunks(descriptor, 0, _ENOUGH, size=reading.BLOCK)), numbers)
        except (OSError, MetspackError):
            return  # the findings say what is wrong with the file; a report goes without its lines


def _text(blocks: Iterable[bytes]) -> Iterator[str]:
    """Yield a document's text with every line end as a line feed, as parsers count them; never fails."""
    decoder: io.IncrementalNewlineDecoder | None = None
    for block in blocks:
        if decoder is None:
            encoding = _UTF_16.get(block[:2], "utf-8-sig")
            decoder = io.IncrementalNewlineDecoder(
                codecs.getincrementaldecoder(encoding)(errors="replace"), translate=True
            )
        yield decoder.decode(block)
    if decoder is not None:
        yield decoder.decode(b"", final=True)


def _among(blocks: Iterator[str], numbers: Iterator[int]) -> Iterator[tuple[int, str]]:
    wanted = next(numbers, None)
    number, kept = 1, ""
    for block in blocks:
        start = 0
        while wanted is not None:
            stop = block.find("\n", start)
            piece = block[start:] if stop < 0 else block[start:stop]
            if number == wanted:
                kept += piece[: LONGEST + 1 - len(kept)]
            if stop < 0:
                break
            if number == wanted:
                yield number, _shortened(kept)
                wanted, kept = next(numbers, None), ""
            number, start = number + 1, stop + 1
        if wanted is None:
            return
    if number == wanted and kept:
        yield number, _shortened(kept)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
