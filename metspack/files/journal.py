"""Read journals: the events of a run, its state, and how to resume it.

``files.staging`` and ``files.transaction`` write ``<folder>.partial/journal.jsonl``; this module only reads
it. Each line is an object of JSON with its checksum.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from itertools import count, islice
from pathlib import Path
from typing import Any, TypeVar, cast

from metspack.errors import (
    SourceError,
    SourceNotFoundError,
    SourceUnfinishedError,
    TargetError,
    TargetUnfinishedError,
)
from metspack.files import lock, reading
from metspack.resources import __version__
from metspack.system import fcntl, os

Kind = TypeVar("Kind")

NAME = "journal.jsonl"
"""The name of a journal in its ``.partial``."""

_LINE = 1 << 26  # the most bytes of a line
_FIRST_LINE = 1 << 20  # bytes: the first line shows whether the file is a journal


def sealed(event: Mapping[str, object]) -> str:
    """Return an event as a line with its checksum; raises ``TargetError`` for a too long one."""
    text = json.dumps(event, sort_keys=True)
    line = f'{text[:-1]}, "sum": "{_checksum(text)}"}}'
    if len(line) >= _LINE:
        raise TargetError(
            f"the journal would have a line of {len(line):,} bytes, and is read up to {_LINE:,}",
            hint="Divide the work: into larger segments, or fewer files at a time.",
        )
    return line


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def unsealed(line: bytes) -> dict[str, Any] | None:
    """Return the event of a line, or None where its checksum is wrong or missing."""
    try:
        event = json.loads(line)
        stated = event.pop("sum")
        is_right = stated == _checksum(json.dumps(event, sort_keys=True))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None
    return event if is_right else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvents:
    """The intact events of a run, their size in bytes, and the number of the first damaged line.

    An unfinished last line is ignored: the run was stopped while it wrote the line.
    """

    events: tuple[dict[str, Any], ...] = ()
    size: int = 0
    damaged: int | None = None


def run_events(descriptor: int, most: int | None = None) -> RunEvents:
    """Return the events of a run from an open journal, ``most`` of them or all.

    The journal stays open. Raises ``OSError``.
    """
    events: list[dict[str, Any]] = []
    size = 0
    for number, event, stop in islice(sealed_events(descriptor, _LINE), most):
        if event is None or not _is_run_event(event):
            return RunEvents(events=tuple(events), size=size, damaged=number)
        events.append(event)
        size = stop
    return RunEvents(events=tuple(events), size=size)


def sealed_events(descriptor: int, longest: int) -> Iterator[tuple[int, dict[str, Any] | None, int]]:
    """Yield the lines of an open file: number from 1, event, and the offset of the line's end.

    The first damaged line, or one of more bytes than ``longest``, ends them: its event is None, its offset
    that of the line before. A damaged last line is left out: the run was probably stopped while it wrote the
    line. The file stays open. Raises ``OSError``.
    """
    size = 0
    with reading.from_byte(0, descriptor) as file:
        for number in count(1):
            line = file.readline(_FIRST_LINE if number == 1 else longest)
            event = unsealed(line) if line.endswith(b"\n") else None
            if event is None:
                if file.read(1):  # something follows it
                    yield number, None, size
                return
            size += len(line)
            yield number, event, size


def partial_of(folder: Path) -> Path:
    """Return the ``.partial`` folder beside an absolute one, in which files for it are made."""
    return folder.parent / f"{folder.name}.partial"


def journal_of(partial: Path) -> Path:
    """Return the journal in a ``.partial`` folder."""
    return partial / NAME


def read_as(kind: type[Kind], values: Mapping[str, Any]) -> Kind:
    """Return an instance of a dataclass from a journal's values.

    Raises ``TypeError`` for values of another type than its fields, and ``ValueError`` for negative numbers.
    """
    for each in fields(cast("Any", kind)):
        types = set(str(each.type).split(" | "))
        if each.name in values and types <= {"int", "str", "bool", "None"}:
            value = values[each.name]
            if ("None" if value is None else type(value).__name__) not in types:
                raise TypeError(f"{each.name} is {value!r:.80}, expected {each.type}")
            counts([value] if "int" in types and value is not None else [])
    return kind(**values)


def counts(values: Iterable[Any]) -> list[int]:
    """Return values that are numbers from 0 below 2**63; raises ``ValueError`` for others."""
    found = list(values)
    if not all(type(each) is int and 0 <= each < 1 << 63 for each in found):
        raise ValueError(f"{found} are no numbers of bytes and files")
    return found


def strange(partial: Path, why: str) -> TargetUnfinishedError:
    """Return the error for a ``.partial`` with content that no run of metspack leaves."""
    return TargetUnfinishedError(
        f"{partial} was not left like this by metspack: {why}",
        hint="Nothing of it is used. Look at what it is and where it came from, and move it away.",
    )


def check_kinds(partial: Path) -> None:
    """Raise ``TargetUnfinishedError`` if a link or special file is below a folder."""
    waiting = [os.fspath(partial)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for each in entries:
                if each.is_dir(follow_symlinks=False):
                    waiting.append(each.path)
                elif not each.is_file(follow_symlinks=False):
                    what = "a symbolic link" if each.is_symlink() else "no file"
                    raise strange(partial, f"{each.path} is {what}")


BEGIN = "begin"
"""The first event of a run: its command and its facts."""

RESUMED = "resumed"
"""Another run of the same command continued from here."""

PLANNED = "planned"
"""The plan is complete; ``segments`` and ``bytes`` count its work."""

SEGMENT = "segment"
"""A segment, or another unit of work, is finished: ``number`` and ``bytes``."""

STRETCH = "stretch"
"""A stretch of a segment is finished: its LOBs are in place, and its METS is to come."""

DESCRIBED = "describing"
"""All LOBs are placed: the parent is described, and the package checked."""

ARCHIVE = "archive"
"""The archive is written."""

FAULTY = "faulty"
"""The closing check found faults in ``segments`` or ``elsewhere``, which are made anew."""

PUTTING = "putting"
"""New files are about to be put into a folder: ``puts``, their paths with their SHA-256."""

PUBLISHING = "publishing"
"""The target is finished, and about to take its place."""

IN_PLACE = "build --keep-segments --in-place"
"""The command that puts files into an existing folder."""

_FIRST = (BEGIN, RESUMED)

_OF_RUN = {"pid": int, "words": str, "started": str}
_FIELDS: Mapping[str, Mapping[str, type]] = {
    BEGIN: {"command": str, "version": str, "facts": dict, "created": str, **_OF_RUN},
    RESUMED: _OF_RUN,
    PLANNED: {"bytes": int},
    SEGMENT: {"number": int, "bytes": int},
    STRETCH: {"number": int, "bytes": int},
    PUTTING: {"puts": list},
    FAULTY: {"segments": list, "elsewhere": bool},
}


def _is_run_event(event: Mapping[str, Any]) -> bool:
    """Return whether an event has the fields that its kind requires, with the right types."""
    name = event.get("event")
    if not isinstance(name, str):
        return False
    if not all(isinstance(event.get(field), kind) for field, kind in _FIELDS.get(name, {}).items()):
        return False
    if name == FAULTY:
        return all(type(each) is int for each in event["segments"])
    if name == PUTTING:
        return all(isinstance(each, list) and [*map(type, each)] == [str, str] for each in event["puts"])
    if name == PLANNED:
        return isinstance(event.get("segments"), int | None)
    return name not in _FIRST or _is_time(event["started"])


def _is_time(text: str) -> bool:
    with suppress(ValueError):
        datetime.fromisoformat(text)
        return True
    return False


def interrupted(folder: Path) -> str | None:
    """Return the ``.partial`` of a run that put only some of its files into a folder, or None.

    The result is its name. The run is at work, or was interrupted. An unreadable journal counts as no run.
    """
    partial = partial_of(folder.resolve())
    with suppress(OSError, SourceError), reading.opening(partial, (NAME,)) as descriptor:
        events = run_events(descriptor, 2).events
        if events and events[0].get("command") == IN_PLACE and events[-1]["event"] == PUTTING:
            are_put = (os.path.lexists(folder / path) for path, _ in events[-1]["puts"])
            return None if all(are_put) else partial.name
    return None


def standing(events: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return a run's events except those of parts in which a later check found faults."""
    found: list[Mapping[str, Any]] = []
    for each in events:
        if each["event"] != FAULTY:
            found.append(each)
            continue
        faulty = {*each["segments"]}
        found = [
            one
            for one in found
            if not (one["event"] in {SEGMENT, STRETCH} and one["number"] in faulty)
            and not (one["event"] == ARCHIVE and each["elsewhere"])
        ]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingTerms:
    """The treatment of an earlier run's work, and of this run's after an interruption.

    ``restart`` removes an earlier run's work; ``discards`` removes this run's after an interruption.
    ``command`` is the command line that resumes the run.
    """

    restart: bool = False
    discards: bool = False
    command: str = ""


USUAL = StagingTerms()
"""The terms that hold by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The facts that decide the bytes that a command writes: the same facts give the same bytes.

    ``command`` is its name, ``created`` the time that it writes into files: that of the clock unless
    ``is_dated``. ``facts`` are all others, by their names for people. A run with ``is_resumable`` False
    always starts over.
    """

    command: str
    created: str = ""
    is_dated: bool = False
    is_resumable: bool = True
    facts: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the facts as the fields of an event."""
        return {**asdict(self), "facts": dict(self.facts), "version": __version__}

    def starts_over(self, begun: Mapping[str, Any]) -> bool:
        """Return whether ``begun``, a BEGIN event, is of this command, and neither run is resumable."""
        is_other = begun.get("command") != self.command or begun.get("is_resumable")
        return not self.is_resumable and not is_other

    def differences(self, begun: Mapping[str, Any]) -> Iterator[str]:
        """Yield the differences between ``begun``, a run's BEGIN event, and these facts, in words."""
        if begun["command"] != self.command:
            yield f"command: metspack {begun['command']} then, metspack {self.command} now"
            return
        if begun["version"] != __version__:
            yield f"version of metspack: {begun['version']} then, {__version__} now"
        then, now = begun["facts"], self.facts
        for name in dict.fromkeys((*now, *then)):
            if then.get(name) != now.get(name):
                yield f"{name}: {then.get(name) or 'none'} then, {now.get(name) or 'none'} now"
        if self.is_dated and begun["created"] != self.created:
            yield f"time (SOURCE_DATE_EPOCH): {begun['created']} then, {self.created} now"


def damaged(partial: Path, number: int) -> TargetUnfinishedError:
    """Return the error for a journal with a damaged line."""
    return TargetUnfinishedError(
        f"{journal_of(partial)} line {number} is damaged: its checksum is not that of the line",
        hint="What that run had done cannot be relied on: --restart starts over, and so does removing "
        f"{partial}.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The state of a run that makes a target, or changes one.

    ``state`` is "running", "stopped" (it can be resumed), "complete" or "none" (there is no run).
    ``command`` is the name of the run's command, ``stage`` its present stage. ``segments_done`` of all
    ``segments`` are finished, and ``bytes_done`` of all ``bytes`` of LOBs; ``rate`` is in bytes per second
    while the run is at work, else None. ``pid`` is the process that worked last, ``resume`` the command that
    resumes the run.
    """

    path: Path
    partial: Path | None = None
    state: str = "none"
    command: str = ""
    stage: str = ""
    segments_done: int = 0
    segments: int | None = None
    bytes_done: int = 0
    bytes: int | None = None
    rate: float | None = None
    pid: int | None = None
    started: str = ""
    resume: str = ""

    @property
    def units(self) -> str:
        """The word for ``segments``: stretches of LOBs where a command makes no segments."""
        return "segments" if self.command in _SEGMENTING else "stretches"

    def kept(self) -> str:
        """Return the finished work of the run in words."""
        plan = "the plan, and " if self.command in _SEGMENTING else ""
        return f"{plan}{self.segments_done:,}{_of(self.segments)} {self.units}"

    def to_json(self) -> dict[str, Any]:
        """Return the state as data for JSON."""
        return asdict(self) | {"path": str(self.path), "partial": self.partial and str(self.partial)}

    def words(self) -> Iterator[str]:
        """Yield the state as lines for people."""
        if self.state in {"none", "complete"}:
            yield f"{self.path}: {'complete' if self.state == 'complete' else 'nothing is at work on it'}"
            return
        who = f" (process {self.pid})" if self.pid is not None and self.state == "running" else ""
        yield f"{self.partial}: metspack {self.command}, {self.state}{who}"
        yield f"stage: {self.stage}"
        yield f"{self.units}: {self.segments_done:,}{_of(self.segments)}"
        rate = "" if self.rate is None else f", {self.rate / 1e6:.1f} MB/s"
        yield f"bytes: {self.bytes_done:,}{_of(self.bytes)}{rate}"
        if self.state == "stopped":
            yield f"to go on: {self.resume}"


def _of(total: int | None) -> str:
    return "" if total is None else f" of {total:,}"


_SEGMENTING = {"build", "convert"}

_STAGES = {
    BEGIN: "planning",
    PLANNED: "placing LOBs",
    ARCHIVE: "placing LOBs",
    DESCRIBED: "describing and checking",
    PUTTING: "publishing",
    PUBLISHING: "publishing",
}


def status(path: Path) -> Status:
    """Return the state of the run on a target, given by its path or by its ``.partial``.

    Nothing is changed. Raises ``SourceNotFoundError`` where there is neither, ``SourceError`` for a
    ``.partial`` that no run made, and ``TargetUnfinishedError`` for a damaged journal.
    """
    partial = path if path.name.endswith(".partial") else partial_of(path.absolute())
    if not os.path.lexists(partial):
        if partial == path or not os.path.lexists(path):
            raise SourceNotFoundError(f"{path} was not found", hint="Name a target, or its .partial folder.")
        return Status(path=path, state="complete")
    try:
        with reading.opening(partial, (NAME,)) as descriptor:
            found = run_events(descriptor)
            newest = os.fstat(descriptor).st_mtime
            is_running = not lock(descriptor, fcntl.LOCK_SH)
    except OSError as error:
        raise SourceError(
            f"{partial} has no journal that can be read: {error.strerror}",
            hint="No run of metspack is at work there, or it has just begun.",
        ) from None
    if found.damaged is not None:
        raise damaged(partial, found.damaged)
    return _status_of(path, partial, found, newest, is_running=is_running)


def _status_of(path: Path, partial: Path, found: RunEvents, newest: float, *, is_running: bool) -> Status:
    events = standing(found.events)
    state = "running" if is_running else "stopped"
    if not events or events[0].get("event") != BEGIN:
        again = "run the command again"
        return Status(path=path, partial=partial, state=state, stage="beginning", resume=again)
    begun = events[0]
    last = max(number for number, each in enumerate(events) if each["event"] in _FIRST)
    planned = next((each for each in events if each["event"] == PLANNED), None)
    segments = {each["number"]: each for each in events if each["event"] == SEGMENT}
    stretched = [each for each in events if each["event"] == STRETCH and each["number"] not in segments]
    latest = [each for each in events[last:] if each["event"] in {SEGMENT, STRETCH}]
    seconds = newest - datetime.fromisoformat(events[last]["started"]).timestamp()
    has_rate = is_running and latest and seconds > 0
    stage = next((_STAGES[each["event"]] for each in reversed(events) if each["event"] in _STAGES), "")
    command_line = events[last].get("words") or begun.get("words")
    return Status(
        path=path,
        partial=partial,
        state=state,
        command=begun["command"],
        stage=stage,
        segments_done=len(segments),
        segments=None if planned is None else planned.get("segments"),
        bytes_done=sum(each["bytes"] for each in (*segments.values(), *stretched)),
        bytes=None if planned is None else planned["bytes"],
        rate=sum(each["bytes"] for each in latest) / seconds if has_rate else None,
        pid=events[last]["pid"],
        started=events[last]["started"],
        resume=command_line or f"call metspack.{begun['command']} again with the same arguments",
    )


def not_found(path: Path, hint: str, words: str = "was not found") -> SourceNotFoundError:
    """Return the error for a missing path, which reports a run that makes it, if there is one."""
    with suppress(SourceError, TargetUnfinishedError):
        found = status(partial_of(path.absolute()))
        if found.state == "running":
            return SourceNotFoundError(
                f"{path} was not found: metspack {found.command} is making it (process {found.pid})",
                hint="Wait until it has ended.",
            )
        return SourceUnfinishedError(
            f"{path} was not found: metspack {found.command}, which makes it, was stopped earlier",
            hint=f"It can go on: {found.resume}",
        )
    return SourceNotFoundError(f"{path} {words}", hint=hint)
