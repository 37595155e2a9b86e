"""Staging of new packages in ``<target>.partial/``, each published by one rename.

``package/`` becomes the target by that rename; ``journal.jsonl`` and ``work/`` record the progress, so that
the same command resumes a stopped run. The target's name only ever has a complete package.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from metspack import clock, processes
from metspack.errors import (
    ConfigError,
    Interrupted,
    MetspackError,
    OptionsRefutedError,
    SourceError,
    StoreError,
    TargetError,
    TargetExistsError,
    TargetUnfinishedError,
)
from metspack.files import journal, reading, tempdb, walking, writing
from metspack.files.journal import USUAL, RunEvents, RunFacts, StagingTerms
from metspack.system import os

NOT_FOUND = "Name a package's folder, or the METS file of its parent IP."
"""The hint for a path without a package."""

_IDLE = {journal.BEGIN, journal.RESUMED, journal.PLANNED}
_AROUND = 16  # journal, manifests, the archive's directory: files of every package, however large


def check_vacant(target: Path) -> tuple[Path, Path]:
    """Return the absolute paths of a target, which must not exist, and of its ``.partial``.

    Raises ``TargetError`` when the target exists already or the folder for it does not.
    """
    # The last component is not resolved: a link of that name is in the way like anything else.
    absolute = target.parent.resolve() / target.name if target.name else target.resolve()
    partial = journal.partial_of(absolute)
    if os.path.lexists(absolute):
        if absolute.name:
            _sweep(partial)
        raise TargetExistsError(
            f"{target} exists already",
            hint="Choose another target, or move that one away: nothing is overwritten.",
        )
    writing.check_folder(absolute)
    return absolute, partial


def _sweep(partial: Path) -> None:
    """Remove a ``.partial`` whose run was killed after publishing, if that can be done."""
    with suppress(OSError, SourceError, TargetError):
        with suppress(OSError), reading.opening(journal.journal_of(partial)) as file:
            events = journal.run_events(file).events
            is_over = bool(events) and events[-1].get("event") == journal.PUBLISHING
            if is_over and not os.path.lexists(partial / "package") and writing.take_lock(file):
                writing.remove(partial)
        writing.remove_empty(partial)  # the journal is the last file to be removed


class Partial(ABC):
    """``<target>.partial/``, where a package or files for one are made before publication.

    ``command`` is the command line that resumes the run. Raises ``TargetError`` when another run is at work
    on the target, or ``.partial`` was left by another command.
    """

    journal: writing.RunJournal

    def __init__(self, target: Path, root: Path, command: str) -> None:
        self.target = target
        self.root = root
        self.package = self.root / "package"
        self.work = self.root / "work"
        self._command = command
        self._room: os.statvfs_result | None = None
        self._is_new = False
        with writing.explained(self.root):
            self._open()
        try:
            with writing.explained(self.root):
                self._begin()
        except BaseException:
            # The work of an earlier run is kept for the command that it belongs to.
            if self._is_new:
                self.discard()
            else:
                self.journal.close()
            raise

    def _open(self) -> None:
        """Open the journal, making its folder if need be; raises ``TargetError`` when it is in use."""
        while True:
            try:
                if os.path.lexists(self.root):
                    self._check_ours()
                else:
                    self._is_new = True
                    writing.make_directory(self.root)
                self.journal = writing.RunJournal(journal.journal_of(self.root))
            except BaseException as error:  # also an interruption at the moment in which it was made
                if self._is_new and not isinstance(error.__cause__, FileExistsError):
                    writing.remove_empty(self.root)
                raise
            if self.journal.is_held:
                break
            if self.journal.is_there():
                return
            self.journal.close()  # another run has removed it as its last step
        events = journal.run_events(self.journal.descriptor).events
        self.journal.close()
        pid = f" (process {events[-1].get('pid', events[0].get('pid'))})" if events else ""
        raise TargetError(
            f"another run is at work on {self.target}{pid}",
            hint="Wait until it has ended, or stop it: metspack status shows how far it is.",
        )

    def _check_ours(self) -> None:
        """Raise ``TargetExistsError`` for a ``.partial`` that no run made."""
        is_folder = self.root.is_dir() and not self.root.is_symlink()
        if not is_folder or not (os.path.lexists(journal.journal_of(self.root)) or is_bare(self.root)):
            raise self._strange()

    def _strange(self) -> TargetExistsError:
        """Return the error for a ``.partial`` that no run, or another one, made."""
        return TargetExistsError(
            f"{self.root} exists already, and its origin is unknown",
            hint="Files of the target are made there: move it away, or choose another target.",
        )

    @abstractmethod
    def _begin(self) -> None:
        """Begin the run, or resume an earlier one, with the journal open."""

    def _start(self, run: RunFacts) -> None:
        """Make the folders, and record that the run begins."""
        writing.make_directory(self.package)
        writing.make_directory(self.work)
        writing.sync_directory(self.root)
        self.journal.record(event=journal.BEGIN, **run.document(), **self._now())

    def _now(self) -> dict[str, Any]:
        # The time goes into no file of the package.
        return {"pid": os.getpid(), "words": self._command, "started": clock.ago(0)}

    def discard(self) -> None:
        """Remove everything under ``<target>.partial/``, the journal last: it identifies the folder."""
        remove_contents(self.root)
        writing.remove(journal.journal_of(self.root))
        self.journal.close()
        writing.remove(self.root)

    def keep_room(self) -> None:
        """Remember the free space: ``room`` ignores what is written from now on."""
        self._room = self.room()

    def room(self) -> os.statvfs_result:
        """Return the status of its file system, with the free bytes and inodes."""
        if self._room is not None:
            return self._room
        with writing.explained(self.root):
            return os.statvfs(self.root)

    def device(self) -> int:
        """Return the device of its file system, as ``FileExtent.device``."""
        with writing.explained(self.root):
            return os.stat(self.root).st_dev


def remove_contents(partial: Path) -> None:
    """Remove all in a ``.partial`` folder but the journal, on disk too. Raises ``TargetError``."""
    for each in ("package", "work"):
        writing.remove(partial / each)
    with suppress(TargetError):  # without it, a power cut may leave files of unknown origin
        writing.sync_directory(partial)


def is_bare(partial: Path) -> bool:
    """Return whether a ``.partial`` is of a run without an event yet; raises OSError."""
    first = journal.journal_of(partial)
    return all(
        path.is_dir() and not any(path.iterdir())
        if path.name in {"package", "work"}
        else path == first and path.lstat().st_size == 0
        for path in partial.iterdir()
    )


class Staging(Partial):
    """``<target>.partial/``, where a package is made before one rename publishes it.

    An earlier run of the same command is resumed (``is_resumed``): ``events`` are those of its journal after
    the first, and ``created`` is the time that it wrote. Raises ``TargetError`` when the target exists,
    another run is at work on it, or ``.partial`` was left by another command.
    """

    def __init__(self, target: Path, run: RunFacts, terms: StagingTerms = USUAL) -> None:
        self.events: Sequence[Mapping[str, Any]] = ()
        self.is_resumed = False
        self.created = run.created
        self._run = run
        self._terms = terms
        self._published: Path | None = None
        super().__init__(*check_vacant(target), terms.command)

    def _begin(self) -> None:
        check_vacant(self.target)  # another run may have ended while this one began
        run, found = self._run, journal.run_events(self.journal.descriptor)
        if os.path.lexists(self.work) and not writing.wait_for_others(self.work):
            raise TargetError(
                f"another run is at work on {self.target}: its processes have not ended yet",
                hint="Wait until they have, then run this command again.",
            )
        if not self._terms.restart:
            if found.damaged is not None:
                raise journal.damaged(self.root, found.damaged)
            if found.events and run.starts_over(found.events[0]):
                found = RunEvents()
            if found.events and os.path.lexists(self.package) and os.path.lexists(self.work):
                self._go_on(found)
                return
        self._is_new = True
        self.journal.cut(0)  # first: the removal may be interrupted
        remove_contents(self.root)
        self._start(run)

    def _go_on(self, found: RunEvents) -> None:
        journal.check_kinds(self.root)  # nothing is written or removed through a link that others put there
        begun, *events = found.events
        if begun["event"] != journal.BEGIN:
            raise journal.damaged(self.root, 1)
        if different := list(self._run.differences(begun)):
            raise journal.refusal(self.root, begun, different)
        self.events = journal.standing(events)
        self.is_resumed = True
        self.created = str(begun["created"])
        self.journal.cut(found.size)
        self.journal.record(event=journal.RESUMED, **self._now())

    def leave(self, error: BaseException) -> None:
        """End the run after an error; finished work is kept for resuming where possible.

        The error then states that, and how to resume.
        """
        is_published = self._is_published()
        if is_published:
            kept, how = f"{self.target} is complete", "Nothing is left to be done."
        elif not self._run.can_go_on or self._is_final(error) or not self._is_worth():
            self.discard()
            return
        else:
            is_there = self.journal.is_there()
            self.journal.close()
            kept = f"{self.root} was removed or replaced while this run was at work there: it keeps nothing"
            how = f"To start over, {_again(self._terms.command)}."
            if is_there:
                kept = f"{self.root} keeps what is done: {journal.status(self.root).kept()}"
                how = f"To go on, {_again(self._terms.command)}; --restart starts over."
        if isinstance(error, Interrupted):
            error.kept, error.hint = kept, how
        elif isinstance(error, MetspackError):
            how = "" if isinstance(error, OptionsRefutedError) else f" {how}"
            rest = f"{kept}; {self.root} can be removed." if is_published else f"{kept}.{how}"
            error.hint = " ".join(filter(None, (error.hint, rest)))
        if is_published:
            super().discard()

    def _is_final(self, error: BaseException) -> bool:
        """Return whether an error, or an interruption with ``discards``, ends the run for good."""
        if isinstance(error, Interrupted | KeyboardInterrupt):
            return self._terms.discards
        is_of_system = isinstance(error, TargetError | StoreError) or isinstance(error.__cause__, OSError)
        return isinstance(error, MetspackError) and not is_of_system

    def _is_worth(self) -> bool:
        try:
            events = journal.run_events(self.journal.descriptor).events
        except OSError:
            return True
        return any(each.get("event") not in _IDLE for each in events)

    def publish(self) -> None:
        """Make the package visible under the target's name, complete and on disk; remove the rest."""
        self._publish(self.package, writing.move)

    def publish_file(self, name: str) -> None:
        """Make one finished file of the package visible under the target's name; remove the rest."""
        self._publish(self.package / name, writing.put)

    def _publish(self, made: Path, put: Callable[[Path, Path], None]) -> None:
        writing.sync_tree(self.package)
        self.journal.record(event=journal.PUBLISHING)
        self._published = made
        put(made, self.target)
        super().discard()

    def _is_published(self) -> bool:
        """Return whether the target was made, by the disk: an interruption may follow at once."""
        made, target = self._published, self.target
        if made is None or not os.path.lexists(target):
            return False
        return not os.path.lexists(made) or os.path.samestat(os.lstat(made), os.lstat(target))

    def discard(self) -> None:
        """Remove everything under ``<target>.partial/``, first the events: the removal may be interrupted."""
        self.journal.cut(0)
        super().discard()


def _again(command: str) -> str:
    return f"run the same command again: {command}" if command else "call the same function again"


@contextmanager
def stage(target: Path, run: RunFacts, terms: StagingTerms = USUAL) -> Iterator[Staging]:
    """Provide a staging folder for the length of a block, which publishes it itself.

    After an error or an interruption ``Staging.leave`` decides what is left. Raises ``TargetError``.
    """
    staging = Staging(target, run, terms)
    try:
        with tempdb.unexplained(target):
            yield staging
    except BaseException as error:
        with suppress(TargetError):  # the first error is the one to report
            staging.leave(error)
        raise


def check_target(target: Path, package: Path) -> None:
    """Raise ``TargetError`` if a target exists, ``ConfigError`` if it is inside the package.

    Raises ``SourceNotFoundError`` where there is no package.
    """
    if not package.exists():
        raise journal.not_found(package, NOT_FOUND)
    is_mets = package.is_file() and package.suffix.lower() not in {".zip", ".tar"}
    root = package.parent if is_mets else package
    check_outside(target, root, "the package")
    check_vacant(target)


def check_outside(target: Path, folder: Path, what: str) -> None:
    """Raise ``ConfigError`` if a target is inside a folder that is only read, called ``what``."""
    if target.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(
            f"the target {target} lies inside {what} {folder}", hint=f"Choose a target outside {what}."
        )


def check_space(staging: Partial, *, files: int, bytes_: int) -> None:
    """Raise ``TargetError`` unless there is space for so many files, folders and bytes.

    The count includes the files that every target needs once, and whole blocks for each file.
    """
    where, files, room = staging.target.parent, files + _AROUND, staging.room()
    if room.f_files and room.f_favail < files:  # where there is no number of inodes, they are unlimited
        raise TargetError(
            f"not enough free inodes at {where}: needed {files:,}, free {room.f_favail:,}",
            hint="Every file and folder takes one: remove some there, or work on another file system.",
        )
    need, have = bytes_ + room.f_frsize * files, room.f_bavail * room.f_frsize
    if have < need:
        raise TargetError(
            f"not enough free space at {where}: needed {need:,} bytes, free {have:,}",
            hint="Free space there, or work on another disk.",
        )


# --- Stretches of work that a run finishes and records one by one, so that another run goes on ---


@dataclass(frozen=True, slots=True, kw_only=True)
class StretchDone:
    """A finished stretch: its number, the digest of its task, its files and their bytes.

    A stretch with another digest is done anew. ``sizes`` are those of the files of notes that it left in the
    working folder, in their order.
    """

    number: int
    digest: str
    files: int
    bytes: int
    sizes: tuple[int, ...]

    @property
    def event(self) -> str:
        """The kind of the event that records it."""
        return journal.SEGMENT

    @property
    def key(self) -> Hashable:
        """The key under which another run finds it."""
        return self.number

    def record(self, path: Path, **said: str) -> None:
        """Record it in a run's journal, with further values; all files are on disk already.

        Raises ``TargetError``.
        """
        writing.record_event(path, {"event": self.event, **asdict(self), **said})

    @classmethod
    def restored(cls, event: Mapping[str, Any]) -> Self:
        """Return the stretch from the event that ``record`` wrote; raises as ``read_as`` does."""
        values = {each.name: event[each.name] for each in fields(cls)}
        sizes = tuple(journal.counts(values["sizes"]))
        return journal.read_as(cls, {**values, "sizes": sizes})

    def has_notes(self, paths: Iterable[Path]) -> bool:
        """Return whether the files of notes exist with their recorded sizes."""
        try:
            return tuple(os.lstat(path).st_size for path in paths) == self.sizes
        except OSError:
            return False


Done = TypeVar("Done", bound=StretchDone)


class FinishedStretches(Generic[Done]):
    """The stretches that earlier runs on a target finished.

    ``is_there``: this run resumes an earlier one. ``kind`` is the class of its stretches.
    """

    def __init__(self, staging: Staging, kind: type[Done]) -> None:
        self.staging = staging
        self.is_there = staging.is_resumed
        self.journal = journal.journal_of(staging.root)
        kinds = {journal.SEGMENT, journal.STRETCH}
        with self.as_written():
            found = [kind.restored(each) for each in staging.events if each["event"] in kinds]
        self._done = {each.key: each for each in found}
        self.all = list(self._done.values())

    @contextmanager
    def as_written(self) -> Iterator[None]:
        """Raise ``TargetUnfinishedError`` where the block meets values that no run records.

        Checksums reveal damage to a journal, but accept one of another writer.
        """
        try:
            yield
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise journal.strange(
                self.staging.root, f"its journal records what cannot be ({type(error).__name__}: {error})"
            ) from error

    def prepare(self, keeps: Callable[[str], object]) -> None:
        """Remove the files and folders in the working folder but those that ``keeps`` is true of.

        Raises ``TargetError``.
        """
        for each in list(os.scandir(self.staging.work)) if self.is_there else ():
            if not keeps(each.name):
                writing.remove(Path(each))

    def find(self, key: Hashable) -> Done | None:
        """Return a stretch by its key, or None unless it is finished."""
        return self._done.get(key)

    def record_plan(self, count: int | None, files: int, size: int) -> None:
        """Record the numbers of all stretches (None: unknown), of their files and of their bytes."""
        self.staging.journal.record(event=journal.PLANNED, segments=count, lobs=files, bytes=size)

    def record_faulty(self, numbers: Iterable[int], *, elsewhere: bool) -> None:
        """Record stretches with faults, which the next run does anew, and faults elsewhere."""
        self.staging.journal.record(event=journal.FAULTY, segments=list(numbers), elsewhere=elsewhere)


def amounts(done: Collection[StretchDone]) -> tuple[int, int]:
    """Return the numbers of files and bytes of stretches, which need no further space."""
    return sum(each.files for each in done), sum(each.bytes for each in done)


@contextmanager
def open_stretch(work: Path) -> Iterator[writing.SyncedTogether]:
    """Begin a stretch in a process of a run, and lock its working folder for the block.

    What is written in the block may be put on disk together. Raises ``TargetError``.
    """
    with writing.SyncedTogether(work) as disk:
        disk.lock_shared()
        if not processes.has_parent():  # another run may be at work there
            raise TargetError("the process that this one worked for has ended")
        yield disk


def record_stretch(
    path: Path, number: int, digest: str, files_and_bytes: tuple[int, int], notes: Iterable[Path], **said: str
) -> None:
    """Record a finished stretch as ``StretchDone.record`` does, with its notes' sizes."""
    files, size = files_and_bytes
    with writing.explained(path):
        sizes = tuple(os.lstat(each).st_size for each in notes)
    StretchDone(number=number, digest=digest, files=files, bytes=size, sizes=sizes).record(path, **said)


def are_there(folder: Path, paths: Sequence[str], sizes: Sequence[int]) -> bool:
    """Return whether files of one folder exist, by their paths below ``folder`` and sizes."""
    names = [path.rpartition("/")[2] for path in paths]
    try:
        found = reading.statuses(folder, paths[0].split("/")[:-1], names)
    except OSError:
        return False
    return [None if status is None else status[0] for status in found] == list(sizes)


def keep_only(folder: Path, kept: Collection[str], below: str = "") -> None:
    """Remove everything below a folder except some paths; raises ``TargetError``."""
    above = {path[:at] for path in kept for at, letter in enumerate(path) if letter == "/"}
    for each in list(os.scandir(folder / below)):
        path = f"{below}{each.name}"
        if path in above:
            keep_only(folder, kept, f"{path}/")
        elif path not in kept:
            writing.remove(Path(each))


def check_count(folder: Path, files: int) -> None:
    """Raise ``TargetUnfinishedError`` unless a folder filled by several runs has so many files."""
    with closing(walking.checked_lots(folder)) as lots:
        found = sum(len(each.names) for each in lots)
    if found != files:
        raise TargetUnfinishedError(
            f"{folder} has {found:,} files, expected {files:,}: what it was made from was changed meanwhile",
            hint="What that run had done cannot be relied on: --restart starts over.",
        )
