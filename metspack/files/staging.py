"""Stage a new package in ``<target>.partial/``, and publish it by one rename.

The rename makes ``package/`` the target, so that the target is complete whenever it exists. ``journal.jsonl``
and ``work/`` record the progress, by which the same command resumes a stopped run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from operator import itemgetter
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
from metspack.files import journal, lock, reading, tempdb, walking, writing
from metspack.files.journal import USUAL, RunEvents, RunFacts, StagingTerms
from metspack.system import fcntl, os

NOT_FOUND = "Name a package's folder, or the METS file of its parent IP."
"""The hint for a path without a package."""

_IDLE = {journal.BEGIN, journal.RESUMED, journal.PLANNED}
_AROUND = 16  # files of a package of any size: journal, manifests, the archive's directory and so on


def check_vacant(target: Path) -> tuple[Path, Path]:
    """Return the absolute paths of a target and of its ``.partial`` folder.

    Raises ``TargetError`` when the target exists, or the folder that it would be in does not.
    """
    # The last component is not resolved: a link of that name counts as an existing target.
    absolute = target.parent.resolve() / target.name if target.name else target.resolve()
    partial = journal.partial_of(absolute)
    if os.path.lexists(absolute):
        if absolute.name:
            _remove_leftover(partial)
        raise TargetExistsError(
            f"{target} exists already",
            hint="Choose another target, or move that one away: nothing is overwritten.",
        )
    writing.check_folder(absolute)
    return absolute, partial


def _remove_leftover(partial: Path) -> None:
    """Remove the ``.partial`` of a run that was killed after publishing; ignore errors."""
    with suppress(OSError, SourceError, TargetError):
        with suppress(OSError), reading.opening(journal.journal_of(partial)) as file:
            events = journal.run_events(file).events
            is_over = bool(events) and events[-1].get("event") == journal.PUBLISHING
            if is_over and not os.path.lexists(partial / "package") and lock(file):
                writing.remove(partial)
        writing.remove_empty(partial)  # the journal is the last file to be removed


class Partial(ABC):
    """``<target>.partial/``, where a package, or files for one, are made before publication.

    ``root`` is its path, ``command`` the command line that resumes the run. Raises ``TargetError`` when
    another run is at work on the target, or when ``.partial`` was left by another command.
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
                self._begin()
            except BaseException:
                # An earlier run's work stays: its command can resume it.
                if self._is_new:
                    self.discard()
                else:
                    self.journal.close()
                raise

    def _open(self) -> None:
        """Open and lock the journal, in a new folder unless it exists.

        Raises ``TargetError`` when another run has it locked.
        """
        while True:
            try:
                if os.path.lexists(self.root):
                    self._check_ours()
                else:
                    self._is_new = True
                    writing.make_directory(self.root)
                self.journal = writing.RunJournal(journal.journal_of(self.root))
                if self.journal.is_held:
                    break
                if self.journal.is_there():
                    return
            except BaseException as error:  # also an interruption right after the folder was made
                if self._is_new and not isinstance(error.__cause__, FileExistsError):
                    self._remove_new()
                raise
            self.journal.close()  # another run removed it, as its last step
        events = journal.run_events(self.journal.descriptor).events
        self.journal.close()
        pid = f" (process {events[-1].get('pid', events[0].get('pid'))})" if events else ""
        raise TargetError(
            f"another run is at work on {self.target}{pid}",
            hint="Wait until it has ended, or stop it: metspack status shows how far it is.",
        )

    def _remove_new(self) -> None:
        """Remove the new folder with its empty journal, unless another run has that locked by now."""
        with suppress(AttributeError):  # it is open if the interruption came later
            self.journal.close()
        path = journal.journal_of(self.root)
        with suppress(OSError, TargetError), closing(writing.RunJournal(path)) as left:
            if not left.is_held and not os.fstat(left.descriptor).st_size:
                writing.remove(path)
        writing.remove_empty(self.root)

    def _check_ours(self) -> None:
        """Raise ``TargetExistsError`` for a ``.partial`` that no run made."""
        is_folder = self.root.is_dir() and not self.root.is_symlink()
        if not is_folder or not (os.path.lexists(journal.journal_of(self.root)) or is_bare(self.root)):
            raise self._strange()

    def _strange(self) -> TargetExistsError:
        """Return the error for a ``.partial`` that no run of this kind made."""
        return TargetExistsError(
            f"{self.root} exists already, and its origin is unknown",
            hint="Files of the target are made there: move it away, or choose another target.",
        )

    @abstractmethod
    def _begin(self) -> None:
        """Begin the run, or resume an earlier one; the journal is open."""

    def _start(self, run: RunFacts) -> None:
        """Make the folders, and record that the run begins."""
        writing.make_directory(self.package)
        writing.make_directory(self.work)
        writing.sync_directory(self.root)
        self.journal.record(event=journal.BEGIN, **run.document(), **self._now())

    def _now(self) -> dict[str, Any]:
        # This time is written into the journal only.
        return {"pid": os.getpid(), "words": self._command, "started": clock.ago(0)}

    def discard(self) -> None:
        """Remove everything under ``<target>.partial/``, the journal last: it identifies the folder."""
        remove_contents(self.root)
        writing.remove(journal.journal_of(self.root))
        self.journal.close()
        writing.remove(self.root)

    def keep_room(self) -> None:
        """Measure the free space now, for all later calls of ``room``."""
        self._room = self.room()

    def room(self) -> os.statvfs_result:
        """Return the free bytes and inodes of its file system."""
        with writing.explained(self.root):
            return self._room or os.statvfs(self.root)

    def device(self) -> int:
        """Return the device of its file system, as ``FileExtent.device``."""
        with writing.explained(self.root):
            return os.stat(self.root).st_dev


def remove_contents(partial: Path) -> None:
    """Remove the contents of a ``.partial`` folder except the journal; raises ``TargetError``."""
    for each in ("package", "work"):
        writing.remove(partial / each)
    with suppress(TargetError):  # without the sync, a power cut may leave files of unknown origin
        writing.sync_directory(partial)


def is_bare(partial: Path) -> bool:
    """Return whether a ``.partial`` is of a run that has not recorded anything; raises OSError."""
    first = journal.journal_of(partial)
    return all(
        path.is_dir() and not any(path.iterdir())
        if path.name in {"package", "work"}
        else path == first and path.lstat().st_size == 0
        for path in partial.iterdir()
    )


class Staging(Partial):
    """``<target>.partial/``, where a package is made before one rename publishes it.

    With ``is_resumed`` it continues an earlier run of the same command: ``events`` are those of its journal
    after the first, ``created`` is the time that it wrote into files. Raises ``TargetError`` when the target
    exists, another run is at work on it, or ``.partial`` was left by another command.
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
                self._resume(found)
                return
        self._is_new = True
        self.journal.cut(0)  # before the removal, which may be interrupted
        remove_contents(self.root)
        self._start(run)

    def _resume(self, found: RunEvents) -> None:
        journal.check_kinds(self.root)  # so that no link of others is written or removed through
        begun, *events = found.events
        if begun["event"] != journal.BEGIN:
            raise journal.damaged(self.root, 1)
        if different := list(self._run.differences(begun)):
            raise TargetUnfinishedError(
                f"{self.root} is what a stopped metspack {begun['command']} left, and this one is not the "
                f"same: {different[0]}",
                hint="Run that command again to go on with it; --restart starts over with this one, and so "
                "does removing that folder.",
                details=different if len(different) > 1 else (),
            )
        self.events = journal.standing(events)
        self.is_resumed = True
        self.created = str(begun["created"])
        self.journal.cut(found.size)
        self.journal.record(event=journal.RESUMED, **self._now())

    def leave(self, error: BaseException) -> None:
        """End the run after an error, and keep its finished work if it can be resumed.

        The error then states what is kept, and how to resume.
        """
        is_published = self._is_published()
        if is_published:
            kept, how = f"{self.target} is complete", "Nothing is left to be done."
        elif not self._run.is_resumable or self._is_final(error) or not self._has_finished_work():
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
        """Return whether a run cannot be resumed after an error; with ``discards`` an interruption."""
        if isinstance(error, Interrupted | KeyboardInterrupt):
            return self._terms.discards
        is_of_system = isinstance(error, TargetError | StoreError) or isinstance(error.__cause__, OSError)
        return isinstance(error, MetspackError) and not is_of_system

    def _has_finished_work(self) -> bool:
        with suppress(OSError):
            events = journal.run_events(self.journal.descriptor).events
            return any(each.get("event") not in _IDLE for each in events)
        return True

    def publish(self, name: str = "") -> None:
        """Put the package on disk, rename it to the target, and remove the rest.

        With ``name`` this finished file of the package is put in the target's place.
        """
        writing.sync_tree(self.package)
        self.journal.record(event=journal.PUBLISHING)
        self._published = self.package / name
        (writing.put if name else writing.move)(self._published, self.target)
        super().discard()

    def _is_published(self) -> bool:
        """Return whether the target is there, as the disk shows even right after an interruption."""
        made, target = self._published, self.target
        if made is None or not os.path.lexists(target):
            return False
        return not os.path.lexists(made) or os.path.samestat(os.lstat(made), os.lstat(target))

    def discard(self) -> None:
        """Remove everything under ``<target>.partial/``, first the events in the journal."""
        self.journal.cut(0)
        super().discard()


def _again(command: str) -> str:
    return f"run the same command again: {command}" if command else "call the same function again"


@contextmanager
def stage(target: Path, run: RunFacts, terms: StagingTerms = USUAL) -> Iterator[Staging]:
    """Give a staging folder for the length of a block, which calls ``publish``.

    After an error or an interruption ``Staging.leave`` ends the run. Raises ``TargetError``.
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
    """Raise ``TargetError`` if a target exists, ``ConfigError`` if it is inside a package.

    ``package`` is the path of the package, which is only read. Raises ``SourceNotFoundError`` without one.
    """
    if not package.exists():
        raise journal.not_found(package, NOT_FOUND)
    is_mets = package.is_file() and package.suffix.lower() not in {".zip", ".tar"}
    root = package.parent if is_mets else package
    check_outside(target, root, "the package")
    check_vacant(target)


def check_outside(target: Path, folder: Path, what: str) -> None:
    """Raise ``ConfigError`` if a target is inside a folder that is only read.

    ``what`` names the folder in the message.
    """
    if target.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(
            f"the target {target} lies inside {what} {folder}", hint=f"Choose a target outside {what}."
        )


def check_space(staging: Partial, *, files: int, bytes_: int) -> None:
    """Raise ``TargetError`` unless there is room for files and folders, and for their bytes.

    Room for the files that every target needs, and for whole blocks of each file, is added.
    """
    where, files, room = staging.target.parent, files + _AROUND, staging.room()
    if room.f_files and room.f_favail < files:  # without a number of inodes they are unlimited
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


# --- Stretches: pieces of a run's work, each recorded when finished, for the run that resumes ---


@dataclass(frozen=True, slots=True, kw_only=True)
class StretchDone:
    """A finished stretch of a run's work: its number, the digest of its task, its files and bytes.

    A stretch whose task has another digest is done again. ``sizes`` are those of the files with its notes in
    the working folder, in their order.
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
        """The key by which a run that resumes looks it up."""
        return self.number

    def record(self, path: Path, **values: str) -> None:
        """Record it in the journal at ``path``, with further values; its files are on disk already.

        Raises ``TargetError``.
        """
        writing.record_event(path, {"event": self.event, **asdict(self), **values})

    @classmethod
    def restored(cls, event: Mapping[str, Any]) -> Self:
        """Return the stretch from the event that ``record`` wrote; raises as ``read_as`` does."""
        values = {each.name: event[each.name] for each in fields(cls)}
        sizes = tuple(journal.counts(values["sizes"]))
        return journal.read_as(cls, {**values, "sizes": sizes})

    def has_notes(self, paths: Iterable[Path]) -> bool:
        """Return whether the files with its notes exist with the recorded sizes."""
        with suppress(OSError):
            return tuple(os.lstat(path).st_size for path in paths) == self.sizes
        return False


Done = TypeVar("Done", bound=StretchDone)


class FinishedStretches(Generic[Done]):
    """The stretches that earlier runs on a target finished, also ``by_key``; empty in a new run.

    ``is_there``: this run resumes an earlier one. ``kind`` is the class of the stretches.
    """

    def __init__(self, staging: Staging, kind: type[Done]) -> None:
        self.staging = staging
        self.is_there = staging.is_resumed
        self.journal = journal.journal_of(staging.root)
        kinds = {journal.SEGMENT, journal.STRETCH}
        with self.as_written():
            found = [kind.restored(each) for each in staging.events if each["event"] in kinds]
        self.by_key = {each.key: each for each in found}
        self.all = list(self.by_key.values())

    @contextmanager
    def as_written(self) -> Iterator[None]:
        """Turn errors of the block about values of the journal into ``TargetUnfinishedError``.

        Checksums reveal damage of a journal, but not that another program wrote it.
        """
        try:
            yield
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise journal.strange(
                self.staging.root, f"its journal records what cannot be ({type(error).__name__}: {error})"
            ) from error

    def prepare(self, keeps: Callable[[str], object]) -> None:
        """Remove the entries of the working folder that ``keeps`` returns False for.

        Raises ``TargetError``.
        """
        for each in list(os.scandir(self.staging.work)) if self.is_there else ():
            if not keeps(each.name):
                writing.remove(Path(each))

    def record_plan(self, count: int | None, files: int, size: int) -> None:
        """Record the numbers of all stretches (None: unknown), of their files and of their bytes."""
        self.staging.journal.record(event=journal.PLANNED, segments=count, lobs=files, bytes=size)

    def record_faulty(self, numbers: Iterable[int], *, elsewhere: bool) -> None:
        """Record stretches with faults, and faults elsewhere; the next run does that work again."""
        self.staging.journal.record(event=journal.FAULTY, segments=list(numbers), elsewhere=elsewhere)


def amounts(done: Collection[StretchDone]) -> tuple[int, int]:
    """Return the numbers of files and bytes of finished stretches."""
    return sum(each.files for each in done), sum(each.bytes for each in done)


@contextmanager
def open_stretch(work: Path) -> Iterator[writing.SyncedTogether]:
    """Lock a run's working folder for a block in which a process works on a stretch.

    The result puts the files written in the block on disk together. Raises ``TargetError``.
    """
    with writing.SyncedTogether(work) as disk:
        lock(disk.descriptor, fcntl.LOCK_SH)
        if not processes.has_parent():  # then another run may have the folder
            raise TargetError("the process that this one worked for has ended")
        yield disk


def record_stretch(
    path: Path,
    number: int,
    digest: str,
    files_and_bytes: tuple[int, int],
    notes: Iterable[Path],
    **values: str,
) -> None:
    """Record a finished stretch as ``StretchDone.record`` does, with the sizes of its notes."""
    files, size = files_and_bytes
    with writing.explained(path):
        sizes = tuple(os.lstat(each).st_size for each in notes)
    StretchDone(number=number, digest=digest, files=files, bytes=size, sizes=sizes).record(path, **values)


def are_there(folder: Path, paths: Iterable[str], sizes: Iterable[int]) -> bool:
    """Return whether files exist with these sizes; paths begin below ``folder``."""
    files = ((*path.rpartition("/")[::2], size) for path, size in zip(paths, sizes, strict=True))
    for below, together in groupby(files, itemgetter(0)):
        _, names, stated = zip(*together, strict=True)
        try:
            found = reading.statuses(folder, below.split("/") if below else (), names)
        except OSError:
            return False
        if [None if status is None else status[0] for status in found] != list(stated):
            return False
    return True


def keep_only(folder: Path, kept: Collection[str], below: str = "") -> None:
    """Remove everything below a folder except the ``kept`` paths; raises ``TargetError``."""
    above = {path[:at] for path in kept for at, letter in enumerate(path) if letter == "/"}
    for each in list(os.scandir(folder / below)):
        path = f"{below}{each.name}"
        if path in above:
            keep_only(folder, kept, f"{path}/")
        elif path not in kept:
            writing.remove(Path(each))


def check_count(folder: Path, files: int) -> None:
    """Raise ``TargetUnfinishedError`` unless a folder has ``files`` files after a resumed run."""
    with closing(walking.checked_lots(folder)) as lots:
        found = sum(len(each.names) for each in lots)
    if found != files:
        raise TargetUnfinishedError(
            f"{folder} has {found:,} files, expected {files:,}: what it was made from was changed meanwhile",
            hint="What that run had done cannot be relied on: --restart starts over.",
        )
