"""One check of one package: what is looked at, in which order, and how far."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, unique
from functools import total_ordering
from pathlib import Path
from typing import Self

from metspack import inbetween
from metspack.checking import archives, manifests, structure, walking
from metspack.checking.catalogue import Catalogue
from metspack.checking.codes import Code
from metspack.checking.fixity import Fixity
from metspack.checking.links import Links
from metspack.errors import ConfigError, SourceError, TargetError
from metspack.model import Budgets, Finding, Severity

_NAMES = ("mets.xml", "METS.xml")
_ARCHIVE = ".siard"


@unique
@total_ordering
class Level(Enum):
    """How far a check goes; each level does all that the one before it does."""

    LINKS = "links"
    """The METS documents: both directions of the links, and the digests and sizes of child METS."""
    STRUCTURE = "structure"
    """And all that needs no LOB's bytes: files, sizes, manifests, structMaps, the archive's cells."""
    FULL = "full"
    """And every file's bytes, every entry of the archive, its messageDigest."""

    def __lt__(self, other: object) -> bool:
        """Whether this level does less."""
        if not isinstance(other, Level):
            return NotImplemented
        levels = list(Level)
        return levels.index(self) < levels.index(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a check has looked at and found: METS documents, files they list, links, bytes hashed."""

    packages: int
    files: int
    links: int
    bytes: int
    errors: int
    warnings: int
    infos: int

    @property
    def findings(self) -> int:
        """All findings."""
        return self.errors + self.warnings + self.infos


class Checking(Iterator[Finding]):
    """A check under way: an iterator of findings; ``summary`` is of what was done so far.

    Raises ``SourceError`` when there is nothing at ``path`` to check, ``TargetError`` when the temporary
    directory has no room; what is wrong with the package itself is only ever a finding.
    """

    def __init__(
        self, path: Path, level: Level, progress: Callable[[int], None] | None, budgets: Budgets
    ) -> None:
        self._path = path
        self._level = level
        self._budgets = budgets
        self._progress = progress
        self._bytes = 0
        self._counts = (0, 0, 0)
        self._severities: Counter[Severity] = Counter()
        self._findings = self._checked()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Finding:
        try:
            finding = next(self._findings)
        except sqlite3.Error as error:
            raise TargetError(
                f"the check's temporary database failed: {error}",
                hint="It lies in the temporary directory; SQLITE_TMPDIR names another with more room.",
            ) from None
        self._severities[finding.severity] += 1
        return finding

    @property
    def summary(self) -> Summary:
        """What was looked at and found; complete when the iterator is exhausted."""
        packages, files, links = self._counts
        return Summary(
            packages=packages,
            files=files,
            links=links,
            bytes=self._bytes,
            errors=self._severities[Severity.ERROR],
            warnings=self._severities[Severity.WARNING],
            infos=self._severities[Severity.INFO],
        )

    def _hashed(self, count: int) -> None:
        self._bytes += count
        if self._progress is not None:
            self._progress(count)

    def _checked(self) -> Iterator[Finding]:
        root, mets = _found(self._path)
        with Catalogue() as catalogue:
            yield from self._steps(catalogue, root, mets)
            self._counts = (
                catalogue.number("SELECT count(*) FROM mets WHERE ok"),
                catalogue.number("SELECT count(*) FROM entry"),
                catalogue.number("SELECT count(*) FROM mptr"),
            )

    def _steps(self, catalogue: Catalogue, root: Path, mets: str | None) -> Iterator[Finding]:
        whole = self._level > Level.LINKS
        if inbetween.interrupted(root):
            found = f"{root.resolve().name}.partial"
            yield Code.IN_BETWEEN.at(_NAMES[0] if mets is None else mets, found=found)
        yield from walking.findings(catalogue, root, whole=whole)
        if whole:
            yield from manifests.read(catalogue, root)
        links = Links(catalogue, root, self._budgets)
        if mets is None:
            catalogue.new_mets(os.fsencode(_NAMES[0]), None, done=True)
            yield Code.METS_MISSING.at(_NAMES[0], expected=_NAMES[0])
        else:
            yield from links.findings(os.fsencode(mets))
        yield from links.orphans()
        if whole:
            yield from manifests.missing(catalogue)
        fixity = Fixity(catalogue, root, self._hashed)
        if not whole:
            yield from fixity.of_documents(manifests=False)
            yield from structure.sizes(catalogue)
            return
        yield from walking.alike(catalogue)
        yield from structure.documents(catalogue)
        yield from structure.files(catalogue)
        yield from structure.segments(catalogue)
        yield from structure.parts(catalogue)
        yield from manifests.findings(catalogue)
        full = self._level is Level.FULL
        yield from archives.findings(catalogue, root, self._hashed, self._budgets, whole=full)
        if full:
            yield from fixity.of_files()
        else:
            yield from manifests.against_mets(catalogue)
            yield from fixity.of_documents(manifests=True)
        yield from structure.sizes(catalogue)


def _found(path: Path) -> tuple[Path, str | None]:
    """Return the package's root and the name of its METS, None when it has none."""
    if path.is_dir():
        names = {name for name in os.listdir(path) if name.lower() == _NAMES[0]}
        named = [name for name in _NAMES if name in names] or sorted(names)
        return path, named[0] if named else None
    if path.name.lower().endswith(_ARCHIVE):
        raise SourceError(
            f"{path} is a SIARD archive, expected a package's folder or its METS file",
            hint=f"Check the package that holds it: metspack check {shlex.quote(str(path.parent))}.",
        )
    if path.exists():
        return path.parent, path.name
    raise SourceError(f"{path} is not there", hint="Name a package's folder, or the METS file of a package.")


def weight(path: Path) -> int:
    """Return about how many bytes a full check of the package at ``path`` reads, to tell how far it is."""
    root = path if path.is_dir() else path.parent
    total = 0
    for folder, _folders, files in os.walk(root):
        for name in files:
            with suppress(OSError):  # what cannot be looked at is the check's business, not its progress's
                size = os.lstat(os.path.join(folder, name)).st_size
                # An archive is read as a file, and its entries once more.
                total += 2 * size if name.lower().endswith(_ARCHIVE) else size
    return total


def check(
    path: Path,
    level: Level = Level.FULL,
    *,
    progress: Callable[[int], None] | None = None,
    budgets: Budgets | None = None,
) -> Checking:
    """Return the findings about the package at ``path`` (its folder or METS file), yielded as they are found.

    ``progress`` gets the number of bytes just hashed. Nothing is written but a temporary database.
    """
    return Checking(path, level, progress, budgets or Budgets())


def ordered(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings sorted by path, line, code and place; more than memory should hold are fine."""
    database = sqlite3.connect("", isolation_level=None)
    try:
        database.executescript("PRAGMA cache_size = -6000; PRAGMA journal_mode = OFF;")
        database.execute("CREATE TABLE finding (path TEXT, line INTEGER, code TEXT, place TEXT, rest TEXT)")
        database.execute("BEGIN")
        database.executemany(
            "INSERT INTO finding VALUES (?, ?, ?, ?, ?)",
            (
                (each.path, each.line, each.code, each.place, json.dumps((each.message, each.facts)))
                for each in findings
            ),
        )
        sql = "SELECT path, line, code, place, rest FROM finding ORDER BY path, line, code, place, rowid"
        for path, line, code, place, rest in database.execute(sql):
            message, facts = json.loads(rest)
            yield Finding(
                code=code,
                severity=Code.named(code).value.severity,
                path=path,
                line=line,
                place=place,
                message=message,
                facts=tuple((name, value) for name, value in facts),
            )
    finally:
        database.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All that is to be said about a code, without a package at hand."""

    code: str
    title: str
    severity: Severity
    meaning: str
    clause: str
    remedy: str


def explained(code: str) -> Explanation:
    """Return what a code means and what to do about it; raises ``ConfigError`` for one there is not."""
    try:
        rule = Code.named(code).value
    except KeyError:
        known = sorted(each.id for each in Code)
        alike = [each for each in known if each[:1] == code.strip().upper()[:1]]
        raise ConfigError(
            f"there is no code {code!r}", hint=f"Codes are {', '.join(alike or known)}."
        ) from None
    return Explanation(
        code=rule.id,
        title=rule.title,
        severity=rule.severity,
        meaning=rule.why,
        clause=rule.clause,
        remedy=rule.remedy,
    )
