"""Report files, their form chosen by the name's suffix; each file is complete or absent."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from itertools import islice
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from metspack import clock
from metspack.checking import Checked, Checking, weight
from metspack.checking.options import CheckOptions
from metspack.errors import ConfigError, SourceError, TargetError, TargetExistsError
from metspack.files import pread, reading
from metspack.files.reading import as_places
from metspack.model import Finding
from metspack.progress import LateStage, Progress, Silent, credit_of
from metspack.reporting import facts
from metspack.reporting.model import Frame, Provenance, ReportFacts
from metspack.reporting.store import FindingStore, ledger_of
from metspack.stores.urls import shown
from metspack.values import dataclass

if TYPE_CHECKING:
    from metspack.files.writing import NewFile

Blocks = Callable[..., Iterator[str]]

_LOOKED_AT = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReportForm:
    """A form of report: what writes it, and what every report of that form has near its start."""

    blocks: Blocks
    mark: bytes


def _late(home: str, function: str = "document", takes: int = 2) -> Blocks:
    """Return a function of a module of this room, which is imported when a report of that form is written."""
    return lambda *given: getattr(import_module(f"metspack.reporting.{home}"), function)(*given[:takes])


# Marks are compared without white space.
_REPORTS = {
    ".json": _ReportForm(
        blocks=_late("json"),
        mark=b'{"schema_version":1,"tool":{"name":"metspack"',
    ),
    ".jsonl": _ReportForm(
        blocks=_late("json", "lines"),
        mark=b'{"type":"check","schema_version":1,"tool":{"name":"metspack"',
    ),
    ".xml": _ReportForm(
        blocks=_late("junit"),
        mark=b'<testsuitesname="metspackcheck',
    ),
    ".html": _ReportForm(blocks=_late("html", takes=3), mark=b'<metaname="generator"content="metspack'),
    ".txt": _ReportForm(blocks=_late("text"), mark=b"metspackcheckof"),
}
_FIGURED = {".html", ".txt", ".xml"}
SUFFIXES = tuple(_REPORTS)
"""The names' endings that choose a form, in any letter case."""


class ReportFiles:
    """The reports of a check, opened before it so that it does not run in vain.

    A context manager: each file appears, whole, when the block ends normally; an earlier one of the
    same form is replaced, any other file is not. Raises ``ConfigError`` for a suffix that is no form's,
    for a file named twice and for one inside a package that is checked (``roots``): it would be a
    file that no METS lists. Raises ``TargetError`` where it cannot be written.
    """

    def __init__(self, paths: Sequence[Path], roots: Sequence[Path] = ()) -> None:
        self._forms = [_form(path) for path in paths]
        self._targets = [_target(path, roots) for path in paths]
        for number, target in enumerate(self._targets):
            if target in self._targets[:number]:
                raise ConfigError(f"{paths[number]} is named twice", hint="Give each report its own name.")
        for form, target in zip(self._forms, self._targets, strict=True):
            _check_replaceable(form, target)
        self._stack = ExitStack()
        self._files: list[NewFile] = []

    def write(self, frame: Frame, kept: FindingStore, roots: Mapping[str, Path]) -> None:
        """Write every report; ``roots`` are the packages' folders, to quote what findings point at."""
        for form, file in zip(self._forms, self._files, strict=True):
            for block in form.blocks(frame, kept, roots):
                file.write(block.encode())

    def __enter__(self) -> Self:
        if not self._targets:
            return self
        from metspack.files import writing  # noqa: PLC0415 -- as below

        with ExitStack() as stack:
            self._files = [
                stack.enter_context(writing.open_whole(target, replaces=True)) for target in self._targets
            ]
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.__exit__(*raised)  # type: ignore[arg-type]


def _form(path: Path) -> _ReportForm:
    form = _REPORTS.get(path.suffix.lower())
    if form is None:
        raise ConfigError(
            f"{path} does not say which form of report to write",
            hint=f"End it with one of {', '.join(_REPORTS)} (.xml is JUnit).",
        )
    return form


def _target(path: Path, roots: Sequence[Path]) -> Path:
    target = path.resolve()
    for root in roots:
        if root.resolve() in target.parents:
            raise ConfigError(
                f"{path} would lie in the package that it reports on, as a file that no METS lists",
                hint="Name a file outside of the package.",
            )
    return target


def _check_replaceable(form: _ReportForm, target: Path) -> None:
    if not os.path.lexists(target):
        return
    from metspack.files import writing  # noqa: PLC0415 -- few checks have reports

    try:
        with writing.explained(target), reading.opening(target) as descriptor:
            start = b"".join(pread(descriptor, _LOOKED_AT, 0).split())
    except SourceError as error:  # a pipe, a device
        raise TargetError(error.message, hint="Name a file; --json and --jsonl write to stdout.") from None
    if start and form.mark not in start:
        raise TargetExistsError(
            f"{target} exists already, and is not a report of this form",
            hint="Only earlier reports are replaced: choose another name, or move that file away.",
        )


class CheckReport(Checking):
    """The report of a check: an iterator of its findings, which come as they are found.

    ``ok``, ``findings`` and ``to_json`` wait for the end of the check, and keep for the iterator what it has
    not given yet. ``summary`` and ``graphs`` (the links) are of what was done so far.
    """

    def __init__(
        self,
        paths: tuple[Path, ...],
        options: CheckOptions,
        *,
        created: str = "",
        progress: Progress | None = None,
    ) -> None:
        self.paths = paths
        self._created = created
        self._options = options
        self._shown = progress
        self._looked = options.looking()
        self._figures: list[ReportFacts] = []
        self._folders: dict[str, Path] = {}
        self._kept = FindingStore()
        weakref.finalize(self, self._kept.close)
        self._given: int | None = None
        self._rest: Iterator[Finding] | None = None
        ledger = ledger_of(self._looked)
        if ledger is not None:
            weakref.finalize(self, ledger.close)
        credit = credit_of(progress or Silent())
        super().__init__(paths, self._looked, roots=as_places(options.roots), ledger=ledger, credit=credit)

    def __next__(self) -> Finding:
        """Return the next finding."""
        if self._rest is not None:
            return next(self._rest)
        finding = self._next()
        self._given = (self._given or 0) + 1
        return finding

    def _next(self) -> Finding:
        if self._given is None:
            self._given = 0
            if self._shown is not None:
                self._progress = LateStage(self._shown, "Reading METS", "Checking", self._weight).advance
        finding = super().__next__()
        self._kept.add(finding)
        return finding

    def _weight(self) -> int | None:
        looked = self._looked
        return weight(self.paths, whole=looked.level.hashes) if looked.leaves_none_out else None

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        self._end()
        return not self.summary.errors

    def findings(self) -> Iterator[Finding]:
        """Yield all findings by file, line, code and place, those too that the iterator gave already."""
        self._end()
        return self._kept.by_place()

    def to_json(self) -> dict[str, Any]:
        """Return the report as data for JSON, as ``metspack check --json`` prints it."""
        self._end()
        parsed: dict[str, Any] = loads("".join(_late("json")(self._frame(), self._kept)))
        return parsed

    def write(self, targets: Sequence[Path], checked: str = "") -> None:
        """Write reports, their forms by the names' endings; see ``report``.

        With the time ``checked`` they tell where and by whom as well.
        """
        report = self
        if any(each.suffix.lower() in _FIGURED for each in targets) and self._observer is None:
            if self._given is not None:  # what was read without the figures for them is read again
                report = CheckReport(self.paths, self._options, created=self._created, progress=self._shown)
            report._observer = report._gather
        unpacked = (each for each in self.paths if each.is_dir() or each.suffix.lower() == ".xml")
        folders = [each if each.is_dir() else each.parent for each in unpacked]
        with ReportFiles(targets, folders) as files:
            report._end()
            files.write(report._frame(checked), report._kept, report._folders)

    def _end(self) -> None:
        if self._rest is not None:
            return
        given = self._given or 0
        with suppress(StopIteration):
            while True:
                self._next()
        self._rest = islice(self._kept.as_found(), given, None)

    def _gather(self, checked: Checked, /) -> None:
        self._folders[checked.prefix] = checked.package.root
        self._folders.update({each: Path(each) for each in checked.places.given.values()})
        self._figures.append(facts.facts_of(checked, self._looked.level))

    def _frame(self, checked: str = "") -> Frame:
        return Frame(
            path=", ".join(map(str, self.paths)),
            level=self._looked.level.value,
            summary=self.summary,
            sample=self._looked.sample,
            created=self._created,
            facts=facts.together(self._figures),
            provenance=self._provenance(checked) if checked else Provenance(),
        )

    def _provenance(self, checked: str) -> Provenance:
        return Provenance(
            checked=checked,
            host=clock.host(),
            operator=clock.operator(),
            paths=tuple(shown(os.path.abspath(each)) for each in self.paths),
        )
