"""Report files, their form chosen by the name's suffix; each file is complete or absent."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from itertools import islice
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from metspack import clock
from metspack.checking import Checked, Checking
from metspack.checking.options import CheckOptions
from metspack.errors import ConfigError, Interrupted, SourceError, TargetError, TargetExistsError
from metspack.files import pread, reading
from metspack.files.reading import as_places
from metspack.model import Finding
from metspack.packages.files import weight
from metspack.progress import LateStage, Progress, Silent, credit_of
from metspack.reporting import facts
from metspack.reporting.model import Frame, Provenance, ReportFacts
from metspack.reporting.store import FindingStore, Ledger
from metspack.stores.urls import shown
from metspack.system import os

if TYPE_CHECKING:
    from metspack.files.writing import NewFile

_LOOKED_AT = 2_048


class _ReportForm(NamedTuple):
    """A form of report: the module and function that write it, and a mark near its start."""

    home: str
    function: str
    mark: bytes

    def blocks(self, frame: Frame, kept: FindingStore) -> Iterator[str]:
        """Return the text of a report in blocks; imports the module that writes it."""
        module = import_module(f"metspack.reporting.{self.home}")
        found: Iterator[str] = getattr(module, self.function)(frame, kept)
        return found


# Marks are compared without white space.
_REPORTS = {
    ".json": _ReportForm("json", "document", b'{"schema_version":1,"tool":{"name":"metspack"'),
    ".jsonl": _ReportForm("json", "lines", b'{"type":"check","schema_version":1,"tool":{"name":"metspack"'),
    ".xml": _ReportForm("junit", "document", b'<testsuitesname="metspackcheck'),
    ".html": _ReportForm("html", "document", b'<metaname="generator"content="metspack'),
    ".txt": _ReportForm("text", "document", b"metspackcheckof"),
    ".csv": _ReportForm("csv", "document", b"path,OBJID,verdict,errors,warnings,firstcause"),
}
_FIGURED = {".html", ".txt", ".xml"}
SUFFIXES = tuple(_REPORTS)
"""The names' endings that choose a form, in any letter case."""


@contextmanager
def open_reports(
    paths: Sequence[Path], packages: Sequence[Path] = ()
) -> Iterator[Callable[[Frame, FindingStore], None]]:
    """Open the reports of a check before it runs; yield the function that writes them.

    Each file appears, complete, when the block ends normally. It replaces an earlier report of the same form,
    and no other file. Raises ``ConfigError`` for a suffix without a form, for a file that is named twice, and
    for one inside a package that is checked, where no METS would list it. Raises ``TargetError`` for a file
    that cannot be written.
    """
    forms = [_form(path) for path in paths]
    roots = [folder.resolve() for each in packages if (folder := _folder(each)) is not None]
    targets = [_target(path, roots) for path in paths]
    for number, target in enumerate(targets):
        if target in targets[:number]:
            raise ConfigError(f"{paths[number]} is named twice", hint="Give each report its own name.")
    replacing = [_replacing(form, target) for form, target in zip(forms, targets, strict=True)]
    with ExitStack() as stack:
        files = [stack.enter_context(each) for each in replacing]

        def write(frame: Frame, kept: FindingStore) -> None:
            for form, file in zip(forms, files, strict=True):
                for block in form.blocks(frame, kept):
                    file.write(block.encode())

        yield write


def _form(path: Path) -> _ReportForm:
    form = _REPORTS.get(path.suffix.lower())
    if form is None:
        raise ConfigError(
            f"{path} does not say which form of report to write",
            hint=f"End it with one of {', '.join(_REPORTS)} (.xml is JUnit).",
        )
    return form


def _folder(package: Path) -> Path | None:
    """Return the folder of a package, or None for a zip or tar file."""
    if package.is_dir():
        return package
    return package.parent if package.suffix.lower() == ".xml" else None


def _target(path: Path, roots: Sequence[Path]) -> Path:
    target = path.resolve()
    if not set(roots).isdisjoint(target.parents):
        raise ConfigError(
            f"{path} would lie in the package that it reports on, as a file that no METS lists",
            hint="Name a file outside of the package.",
        )
    return target


def _replacing(form: _ReportForm, target: Path) -> AbstractContextManager[NewFile]:
    """Return the new file of a report, to be entered.

    Raises ``TargetError`` where it would replace anything but an earlier report of the form.
    """
    from metspack.files import writing  # noqa: PLC0415 -- few checks have reports

    start = b""
    if os.path.lexists(target):
        try:
            with writing.explained(target), reading.opening(target) as descriptor:
                start = b"".join(pread(descriptor, _LOOKED_AT, 0).split())
        except SourceError as error:  # a pipe, a device
            raise TargetError(
                error.message, hint="Name a file; --json and --jsonl write to stdout."
            ) from None
    if start and form.mark not in start:
        raise TargetExistsError(
            f"{target} exists already, and is not a report of this form",
            hint="Only earlier reports are replaced: choose another name, or move that file away.",
        )
    return writing.open_whole(target, replaces=True)


class KeptCheck(Checking):
    """A check that stores its findings for reports in any order; to be closed.

    With ``gathers`` the figures of .html, .txt and .xml are gathered on the way.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        options: CheckOptions,
        *,
        created: str = "",
        progress: Progress | None = None,
        gathers: bool = False,
        keeps_links: bool = True,
    ) -> None:
        self.paths = tuple(paths)
        self.folders: dict[str, Path] = {}
        self._created = created
        self._options = options
        self._shown = progress
        self._looked = options.looking()
        self._figures: dict[str, ReportFacts] = {}
        self._is_begun = self._is_complete = False
        file = self._looked.ledger
        ledger = None if file is None else Ledger(file, self._looked.older_than)
        self.kept = FindingStore()
        self._ends = [weakref.finalize(self, each.close) for each in (self.kept, ledger) if each is not None]
        super().__init__(
            self.paths,
            self._looked,
            roots=as_places(options.roots),
            observer=self._gather if gathers else None,
            ledger=ledger,
            credit=credit_of(progress or Silent()),
            keeps_links=keeps_links,
        )

    def __next__(self) -> Finding:
        """Return the next finding, and store it."""
        if not self._is_begun:
            self._is_begun = True
            if self._shown is not None:
                self._progress = LateStage(self._shown, "Reading METS", "Checking", self._weight).advance
        try:
            finding = super().__next__()
        except StopIteration:
            self._is_complete = True
            raise
        self.kept.add(finding)
        return finding

    def _weight(self) -> int | None:
        is_counted = self._looked.takes_all_files and getattr(self._shown, "is_seen", True)
        return weight(self.paths, whole=self._looked.level.hashes) if is_counted else None

    def end(self) -> Interrupted | None:
        """Run the check to its end, or until it is interrupted, and return the interruption or None."""
        try:
            for _ in self:
                pass
        except Interrupted as interrupted:
            self.stop()
            return interrupted
        return None

    def close(self) -> None:
        """Remove the store of the findings, and end the ledger."""
        for each in self._ends:
            each()

    def _gather(self, checked: Checked, /) -> None:
        self.folders[checked.prefix] = checked.package.path
        self.folders.update({each: Path(each) for each in checked.places.given.values()})
        self._figures[checked.prefix] = facts.facts_of(checked, self._looked.level)

    def frame(self) -> Frame:
        """Return the subject of the check, its options, and the result so far."""
        return Frame(
            path=", ".join(map(str, self.paths)),
            level=self._looked.level.value,
            summary=self.summary,
            sample=self._looked.sample,
            is_complete=self._is_complete,
            created=self._created,
            folders=self.folders,
            facts=facts.join_facts([self._figures[prefix] for prefix in sorted(self._figures)]),
        )


class CheckReport(KeptCheck):
    """The report of a check: an iterator of its findings, which come as they are found.

    ``ok``, ``findings`` and ``to_json`` wait for the end of the check, and keep the remaining findings for
    the iterator. ``summary`` and ``graphs`` (the links) are those of the check so far.
    """

    _returned = 0
    _rest: Iterator[Finding] | None = None

    def __next__(self) -> Finding:
        """Return the next finding."""
        if self._rest is not None:
            return next(self._rest)
        finding = super().__next__()
        self._returned += 1
        return finding

    @property
    def ok(self) -> bool:
        """True if there is no error."""
        self._end()
        return not self.summary.errors

    def findings(self) -> Iterator[Finding]:
        """Yield all findings by file, line, code and place, also those that were iterated already."""
        self._end()
        return self.kept.by_place()

    def to_json(self) -> dict[str, Any]:
        """Return the report as data for JSON, as ``metspack check --json`` prints it."""
        self._end()
        parsed: dict[str, Any] = loads("".join(_REPORTS[".json"].blocks(self.frame(), self.kept)))
        return parsed

    def write(self, targets: Sequence[Path], checked: str = "") -> None:
        """Write reports, their forms by the names' endings; see ``report``.

        With the time ``checked`` they also state place and operator.
        """
        report = self
        if any(each.suffix.lower() in _FIGURED for each in targets) and self._observer is None:
            if self._is_begun:  # the figures are missing: the packages are read again
                report = CheckReport(self.paths, self._options, created=self._created, progress=self._shown)
            report._observer = report._gather
        with open_reports(targets, self.paths) as write:
            report._end()
            made = provenance(self.paths, checked) if checked else Provenance()
            write(replace(report.frame(), provenance=made), report.kept)

    def _end(self) -> None:
        if self._rest is None:
            with suppress(StopIteration):
                while True:
                    super().__next__()
            self._rest = islice(self.kept.as_found(), self._returned, None)


def provenance(
    paths: Sequence[Path],
    checked: str,
    *,
    host: str | None = None,
    operator: str | None = None,
    shows_paths: bool = True,
) -> Provenance:
    """Return the time, place, operator and paths of a check.

    ``host`` and ``operator`` are those of this process if None.
    """
    return Provenance(
        checked=checked,
        host=clock.host() if host is None else host,
        operator=clock.operator() if operator is None else operator,
        paths=tuple(shown(os.path.abspath(each)) for each in paths) if shows_paths else (),
    )
