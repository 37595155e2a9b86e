"""Report files, their form chosen by the name's suffix; each file is complete or absent."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from metspack.checking.links.graph import Graph
from metspack.errors import ConfigError, SourceError, TargetError, TargetExistsError
from metspack.files import reading, writing
from metspack.reporting import json, junit, linkgraph, text
from metspack.reporting.model import Frame
from metspack.reporting.store import FindingStore

Blocks = Callable[..., Iterator[str]]

_LOOKED_AT = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReportForm:
    """A form of report: what writes it, and what every report of that form has near its start."""

    blocks: Blocks
    mark: bytes


def _page(frame: Frame, kept: FindingStore, roots: Mapping[str, Path]) -> Iterator[str]:
    from metspack.reporting import html  # noqa: PLC0415 -- its templates need more than all else that is loaded

    yield from html.document(frame, kept, roots)


# Marks are compared without white space.
_REPORTS = {
    ".json": _ReportForm(
        blocks=lambda frame, kept, _roots: json.document(frame, kept),
        mark=b'{"schema_version":1,"tool":{"name":"metspack"',
    ),
    ".jsonl": _ReportForm(
        blocks=lambda frame, kept, _roots: json.lines(frame, kept),
        mark=b'{"type":"check","schema_version":1,"tool":{"name":"metspack"',
    ),
    ".xml": _ReportForm(
        blocks=lambda frame, kept, _roots: junit.document(frame, kept),
        mark=b'<testsuitesname="metspackcheck',
    ),
    ".sarif": _ReportForm(
        blocks=lambda frame, kept, _roots: json.sarif(frame, kept), mark=b'"driver":{"name":"metspack"'
    ),
    ".html": _ReportForm(blocks=_page, mark=b'<metaname="generator"content="metspack'),
    ".txt": _ReportForm(
        blocks=lambda frame, kept, _roots: text.document(frame, kept), mark=b"metspackcheckof"
    ),
}
SUFFIXES = tuple(_REPORTS)
"""The names' endings that choose a form, in any letter case."""

_MAPS = {
    ".json": _ReportForm(blocks=linkgraph.lines, mark=b'{"schema_version":1,"metspack":'),
    ".mmd": _ReportForm(blocks=lambda graphs: _lines(linkgraph.mermaid(graphs)), mark=b"flowchartTD"),
    ".svg": _ReportForm(blocks=linkgraph.svg, mark=b"<svgxmlns="),
}


def _lines(lines: Iterable[str]) -> Iterator[str]:
    return (f"{each}\n" for each in lines)


class _CheckFiles:
    """Files made beside a check, opened before it so that it does not run in vain.

    A context manager: each file appears, whole, when the block ends normally; an earlier one of the
    same form is replaced, any other file is not. Raises ``ConfigError`` for a suffix that is no form's,
    for a file named twice and for one inside a package that is checked (``roots``): it would be a
    file that no METS lists. Raises ``TargetError`` where it cannot be written.
    """

    def __init__(
        self, forms: Mapping[str, _ReportForm], what: str, paths: Sequence[Path], roots: Sequence[Path]
    ) -> None:
        self._forms = [_form(forms, what, path) for path in paths]
        self._targets = [_target(path, roots) for path in paths]
        for number, target in enumerate(self._targets):
            if target in self._targets[:number]:
                raise ConfigError(f"{paths[number]} is named twice", hint="Give each report its own name.")
        for form, target in zip(self._forms, self._targets, strict=True):
            _check_replaceable(form, target)
        self._stack = ExitStack()
        self._files: list[writing.NewFile] = []

    def _write(self, *facts: object) -> None:
        for form, file in zip(self._forms, self._files, strict=True):
            for block in form.blocks(*facts):
                file.write(block.encode())

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._files = [stack.enter_context(writing.open_replacement(target)) for target in self._targets]
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.__exit__(*raised)  # type: ignore[arg-type]


class ReportFiles(_CheckFiles):
    """The reports of a check."""

    def __init__(self, paths: Sequence[Path], roots: Sequence[Path] = ()) -> None:
        super().__init__(_REPORTS, "report", paths, roots)

    def write(self, frame: Frame, kept: FindingStore, roots: Mapping[str, Path]) -> None:
        """Write every report; ``roots`` are the packages' folders, to quote what findings point at."""
        self._write(frame, kept, roots)


class LinkFiles(_CheckFiles):
    """The links of packages, in files."""

    def __init__(self, paths: Sequence[Path], roots: Sequence[Path] = ()) -> None:
        super().__init__(_MAPS, "link map", paths, roots)

    def write(self, graphs: Sequence[Graph]) -> None:
        """Write every file."""
        self._write(graphs)


def _form(forms: Mapping[str, _ReportForm], what: str, path: Path) -> _ReportForm:
    form = forms.get(path.suffix.lower())
    if form is None:
        junit_too = " (.xml is JUnit)" if ".xml" in forms else ""
        raise ConfigError(
            f"{path} does not say which form of {what} to write",
            hint=f"End it with one of {', '.join(forms)}{junit_too}.",
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
    try:
        with writing.explained(target), reading.opening(target) as descriptor:
            start = b"".join(os.pread(descriptor, _LOOKED_AT, 0).split())
    except SourceError as error:  # a pipe, a device
        raise TargetError(error.message, hint="Name a file; --json and --jsonl write to stdout.") from None
    if start and form.mark not in start:
        raise TargetExistsError(
            f"{target} exists already, and is not a report of this form",
            hint="Only earlier reports are replaced: choose another name, or move that file away.",
        )
