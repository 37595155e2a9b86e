"""Store of one check's findings in a temporary database, which each report reads in its own order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from metspack.checking import Code
from metspack.files import tempdb
from metspack.model import Finding, Severity
from metspack.reporting.model import rank

_WHAT = "the findings"
_BATCH = 1_000
_SCHEMA = """
CREATE TABLE finding (
    id INTEGER PRIMARY KEY, path TEXT, line INTEGER, code TEXT, place TEXT, severity INTEGER, rest TEXT
)
"""
_PUT = "INSERT INTO finding (path, line, code, place, severity, rest) VALUES (?, ?, ?, ?, ?, ?)"
_FIELDS = "path, line, code, place, severity, rest"
_SEVERITIES = tuple(Severity)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeGroup:
    """The findings of one code: how many there are."""

    code: str
    severity: Severity
    count: int

    @property
    def title(self) -> str:
        """The title of the code."""
        return Code.named(self.code).title


class FindingStore(tempdb.Scratch):
    """Findings in a temporary database; a context manager. Any number of them takes little memory.

    Raises ``TargetError`` when the temporary folder has no room.
    """

    def __init__(self) -> None:
        super().__init__(_SCHEMA, "BEGIN")
        self._waiting: list[tuple[Any, ...]] = []

    def add(self, finding: Finding) -> None:
        """Keep one finding."""
        self._waiting.append(
            (
                _stored(finding.path),
                finding.line,
                finding.code,
                _stored(finding.place),
                rank(finding.severity),
                json.dumps((finding.message, finding.facts)),
            )
        )
        if len(self._waiting) >= _BATCH:
            self._flush()

    def add_all(self, findings: Iterable[Finding]) -> None:
        """Keep findings as they come; those that came before an error are kept too."""
        for each in findings:
            self.add(each)

    def by_place(self) -> Iterator[Finding]:
        """Yield all findings by path, line, code and place, in the order found among equals."""
        yield from self._found("ORDER BY path, line, code, place, id")

    def groups(self) -> list[CodeGroup]:
        """Return the codes that were found, the worst first, then by code."""
        self._flush()
        sql = "SELECT code, severity, count(*) FROM finding GROUP BY code, severity ORDER BY severity, code"
        with tempdb.explained(_WHAT):
            return [
                CodeGroup(code=code, severity=_SEVERITIES[severity], count=count)
                for code, severity, count in self._database.execute(sql)
            ]

    def of_group(self, group: CodeGroup, limit: int | None = None) -> Iterator[Finding]:
        """Yield a group's findings by path, line and place, at most ``limit`` of them."""
        yield from self._found(
            "WHERE code = ? AND severity = ? ORDER BY path, line, place, id LIMIT ?",
            group.code,
            rank(group.severity),
            -1 if limit is None else limit,
        )

    def by_owner(self, owner: Callable[[str], str]) -> Iterator[tuple[str, CodeGroup]]:
        """Yield each owner of findings with its groups, sorted; ``owner`` gives the owner of a path."""
        self._flush()
        with tempdb.explained(_WHAT):
            self._register_owner(owner)
            sql = """SELECT owner(path) AS o, code, severity, count(*) FROM finding
                GROUP BY o, code, severity ORDER BY o, severity, code"""
            for path, code, severity, count in self._database.execute(sql):
                yield path, CodeGroup(code=code, severity=_SEVERITIES[severity], count=count)

    def of_owner(self, owner: Callable[[str], str]) -> Iterator[tuple[str, Finding]]:
        """Yield all findings with their owners, sorted by owner, severity, code, path, line and place."""
        self._flush()
        with tempdb.explained(_WHAT):
            self._register_owner(owner)
            sql = f"""SELECT owner(path) AS o, {_FIELDS} FROM finding
                ORDER BY o, severity, code, path, line, place, id"""  # noqa: S608 -- a constant
            for found, *row in self._database.execute(sql):
                yield found, _finding(*row)

    def _register_owner(self, owner: Callable[[str], str]) -> None:
        self._database.create_function("owner", 1, lambda path: _stored(owner(path)))

    def _found(self, rest: str, *values: object) -> Iterator[Finding]:
        self._flush()
        with tempdb.explained(_WHAT):
            sql = f"SELECT {_FIELDS} FROM finding {rest}"  # noqa: S608 -- constants of this module
            for row in self._database.execute(sql, values):
                yield _finding(*row)

    def _flush(self) -> None:
        with tempdb.explained(_WHAT):
            self._database.executemany(_PUT, self._waiting)
        self._waiting.clear()


def _finding(path: str, line: int, code: str, place: str, severity: int, rest: str) -> Finding:  # noqa: PLR0917 -- a row
    message, facts = json.loads(rest)
    return Finding(
        code=code,
        severity=_SEVERITIES[severity],
        path=path,
        line=line,
        place=place,
        message=message,
        facts=tuple((name, value) for name, value in facts),
    )


def _stored(text: str) -> str:
    # SQLite's text is UTF-8, which has no lone surrogates.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
