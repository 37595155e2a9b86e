"""Transactions on a folder: new and replaced files appear all together, or not at all.

All files are made under ``<folder>.partial/`` beside the folder. A journal there then lists the changes, and
only after that are new files and folders renamed into the folder, further new files put beside what is
there, and a few of its own files replaced. If that is interrupted, it can be finished or taken back: the
journal and the files still beside the folder tell what has not been done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from metspack.digests import Hashers
from metspack.errors import MetspackError, SourceError, TargetError, TargetExistsError, TargetUnfinishedError
from metspack.files import journal, reading, writing
from metspack.files.journal import FolderChanges, Recovery
from metspack.files.staging import Partial, remove_contents
from metspack.values import dataclass

_ALGORITHM = "SHA-256"
_REPLACED = "work/replaced"

Record = Callable[..., None]
"""A function that writes an event to the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Believed:
    """How far a journal that was found is believed: whether its changes may be finished, or taken back.

    Where neither may be ``why`` says what it is that no run leaves; without it the folder stays as it is, and
    the journal goes. With an ``error`` the changes are taken back and the error is raised, else what cannot
    be finished is begun anew.
    """

    finish: bool = True
    take_back: bool = True
    why: str = ""
    error: TargetError | None = None


Judge = Callable[[Recovery], Believed]
"""A function that says how far a journal is believed; whoever made the folder may have made that as well."""


def staged_in(partial: Path, path: str) -> Path:
    """Return where what was made for a path of the folder lies until it is in its place."""
    return partial / "package" / path


def kept_in(partial: Path, path: str) -> Path:
    """Return where the file of the folder is kept that was replaced."""
    return partial / _REPLACED / path


class Transaction(Partial):
    """``<folder>.partial/``: where changes to a folder are made; paths in ``package`` are those in it.

    A context manager. ``folder`` is absolute and exists. The journal names ``command`` and its ``source``;
    ``job`` distinguishes runs of one command. Raises ``TargetError``.
    """

    def __init__(self, folder: Path, command: str, *, job: str = "", source: str = "") -> None:
        if os.lstat(folder).st_dev != os.lstat(folder.parent).st_dev:
            raise TargetError(
                f"{folder} is a mount point: files for it are made beside it, and cannot be renamed into it",
                hint="Move its contents into a folder on that file system, and name that folder.",
            )
        super().__init__(folder, journal.partial_of(folder))
        self._make()
        self._is_needed = False
        try:
            self.journal.record(event=journal.BEGUN, command=command, job=job, source=source)
            writing.sync_directory(self.root)  # what is made here next does not outlive the journal's name
        except BaseException:
            with suppress(TargetError):  # the error is the one to tell
                self.discard()
            raise

    def new(self, replaces: Sequence[str]) -> tuple[str, ...]:
        """Return the uppermost paths of the new files and folders: those that are not in the folder yet.

        Raises ``TargetError`` for a file that the folder has already, unless ``replaces`` names it.
        """
        return tuple(_new(self.package, self.target, "", frozenset(replaces)))

    def publish(
        self,
        *,
        moves: Sequence[str] = (),
        puts: Sequence[str] = (),
        replaces: Sequence[str] = (),
        made: Mapping[str, Any] | None = None,
        check: Callable[[], None],
    ) -> None:
        """Make the changes (``FolderChanges``): move, put, replace, each on disk before the next.

        Nothing but what ``replaces`` names is overwritten. ``puts`` are files that others might put there
        as well: they are hashed, and only what was put is ever removed. ``check`` is called when all is
        there. After an error, also one of ``check``, the folder is as it was. Raises ``TargetError``.
        """
        for path in replaces:
            _keep(self.target, path, kept_in(self.root, path))
        changes = FolderChanges(
            moves=tuple(moves),
            puts=tuple((path, _digest(self.package, path)) for path in puts),
            replaces=tuple(replaces),
        )
        writing.sync_tree(self.root)
        writing.sync_directory(self.root.parent)  # else the changes may outlive the journal of them
        steps = _Steps(self.target, self.root, changes)
        self._is_needed = True
        try:
            self.journal.record(event=journal.PUTTING, **asdict(changes), made=made or {})
            steps.do(self.journal.record, check)
        except BaseException:
            steps.take_back(self.journal.record)
            self._is_needed = False
            raise
        self._is_needed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the ``.partial`` folder, unless it is needed to finish or take back the changes."""
        if self._is_needed:
            self.journal.close()
        elif kind is None:
            self.discard()
        else:
            with suppress(TargetError):  # the error is the one to tell
                self.discard()


@dataclass(frozen=True, slots=True)
class _Steps:
    """The steps of a transaction on ``folder``, each of which takes effect once however often it is begun."""

    folder: Path
    partial: Path
    changes: FolderChanges

    def do(self, record: Record, check: Callable[[], None]) -> None:
        """Take all steps that have not been taken, then check the folder."""
        for path in self.changes.moves:
            if os.path.lexists(self._staged(path)):
                writing.move(self._staged(path), self.folder / path)
        for path, digest in self.changes.puts:
            if not self._is_put(path, digest):
                writing.put(self._staged(path), self.folder / path)
        for path in self.changes.replaces:
            if os.path.lexists(self._staged(path)):
                writing.supersede(self._staged(path), self.folder / path)
        if (lost := self.unmade()) is not None:
            raise TargetError(
                f"{self.folder / lost} is not there, and neither is what was made for it in {self.partial}",
                hint="Somebody removed it, or the journal is not that of a run. Run the command again.",
            )
        record(event=journal.ALL_PUT)
        check()
        record(event=journal.DONE)

    def take_back(self, record: Record) -> None:
        """Restore the folder's own files and remove the new ones, the last first."""
        # On a full disk no word can be written, but renaming goes on. Stopped then, a command that goes on
        # with it would find by its check that not all is there, and end with this.
        with suppress(TargetError):
            record(event=journal.TAKING_BACK)
        for path in reversed(self.changes.replaces):
            if os.path.lexists(kept := kept_in(self.partial, path)):
                writing.supersede(kept, self.folder / path)
        for path, digest in reversed(self.changes.puts):
            if self._is_put(path, digest):
                writing.take_away(self.folder / path)
        for path in reversed(self.changes.moves):
            if not os.path.lexists(self._staged(path)) and os.path.lexists(self.folder / path):
                writing.move(self.folder / path, self._staged(path))

    def unmade(self) -> str | None:
        """Return the first path whose change the folder does not have, None when all are made."""
        for path in (*self.changes.moves, *self.changes.replaces):
            if os.path.lexists(self._staged(path)) or not os.path.lexists(self.folder / path):
                return path
        return next((path for path, digest in self.changes.puts if not self._is_put(path, digest)), None)

    def _is_put(self, path: str, digest: str) -> bool:
        """Return whether the file at a path of the folder is the one that was put there."""
        # Where it still has its first name as well it is the same file; else it was moved here.
        with suppress(FileNotFoundError):
            return os.path.samestat(os.lstat(self._staged(path)), os.lstat(self.folder / path))
        try:
            return _digest(self.folder, path) == digest
        except (OSError, SourceError):
            return False

    def _staged(self, path: str) -> Path:
        return staged_in(self.partial, path)


def recover(
    folder: Path,
    command: str,
    *,
    job: str = "",
    check: Callable[[], None] | None = None,
    judge: Judge | None = None,
) -> Mapping[str, Any] | None:
    """Finish or take back an interrupted transaction; return its result, None when all is still to be done.

    One that was interrupted while it changed the folder is finished when it is the same ``job``, or taken
    back without a ``check``; what one had only prepared is removed, and so is a journal that says of changes
    which the folder does not have that they are done. Nothing is done that ``judge`` does not allow. Raises
    ``TargetError``: for another command or job, while another run is working, and for a ``.partial`` that is
    not a transaction's.
    """
    partial = journal.partial_of(folder)
    if not os.path.lexists(partial):
        return None
    with ExitStack() as stack:
        found = None
        try:
            descriptor = stack.enter_context(reading.opening(partial, (journal.NAME,)))
            if not writing.take_lock(descriptor):
                raise TargetError(
                    f"another run is working on {folder}",
                    hint="Wait until it has ended, then run this command again.",
                )
            found = journal.recovery(descriptor)
        except (OSError, SourceError):
            pass  # there is no journal, or it cannot be read
        if found is None and not _is_bare(partial):
            raise TargetUnfinishedError(
                f"{partial} exists already, and its origin is unknown",
                hint="When no other build is running, remove it and run the command again.",
            )
        made = None
        if found is not None:
            if found.command != command:
                raise _interrupted(partial, found)
            made = _end(folder, found, is_same=found.job == job, check=check, judge=judge)
        _remove(partial)
    return made


def _end(
    folder: Path, found: Recovery, *, is_same: bool, check: Callable[[], None] | None, judge: Judge | None
) -> Mapping[str, Any] | None:
    partial = journal.partial_of(folder)
    is_in_between = found.event in {journal.PUTTING, journal.ALL_PUT}
    if is_in_between and check is not None and not is_same:
        raise _interrupted(partial, found)
    if found.event == journal.BEGUN or (found.event == journal.DONE and not is_same):
        return None
    _check_places(folder, partial, found.changes)
    steps = _Steps(folder, partial, found.changes)
    believed = Believed() if judge is None else judge(found)
    if found.event == journal.DONE:  # as the journal has it, which others may have put there
        is_made = found.changes != FolderChanges() and believed.finish and steps.unmade() is None
        return found.made if is_made else None
    if not (believed.finish or believed.take_back):
        if believed.why:
            raise journal.strange(partial, believed.why)
        return None
    if check is None or not believed.finish or (believed.take_back and not is_in_between):
        if not believed.take_back:
            raise _interrupted(partial, found)
        _take_back(steps, believed.error if is_in_between else None)
        return None
    if not is_same:
        raise _interrupted(partial, found)
    _finish(steps, found, check, believed)
    return found.made


def _take_back(steps: _Steps, error: TargetError | None) -> None:
    with closing(writing.Journal(journal.journal_of(steps.partial), goes_on=True)) as log:
        steps.take_back(log.record)
    if error is not None:
        _remove(steps.partial)
        raise error


def _finish(steps: _Steps, found: Recovery, check: Callable[[], None], believed: Believed) -> None:
    with closing(writing.Journal(journal.journal_of(steps.partial), goes_on=True)) as log:
        try:
            steps.do(log.record, check)
        except BaseException as error:
            if not believed.take_back:
                raise _kept(steps.partial, found, error) from error
            steps.take_back(log.record)
            with suppress(TargetError):  # the error is the one to tell
                _remove(steps.partial)
            raise


def _interrupted(partial: Path, found: Recovery) -> TargetUnfinishedError:
    return TargetUnfinishedError(
        f"{partial} exists already: {found.named} was interrupted",
        hint="Leave that folder where it is, and run that command again first, with the same options.",
    )


def _kept(partial: Path, found: Recovery, error: BaseException) -> BaseException:
    """Return the error for changes that all are made, are not right, and are not taken back."""
    if not isinstance(error, MetspackError):
        return error
    return TargetUnfinishedError(
        f"{partial.parent / partial.stem} has all that {found.named} put there, and it is not right: "
        f"{error.message}",
        hint=f"It stays as it is. Put it right and run the command again, or remove {partial}.",
        details=error.details,
    )


def _check_places(folder: Path, partial: Path, changes: FolderChanges) -> None:
    """Raise ``TargetUnfinishedError`` unless each change is to a place below the folder, behind no link.

    Whoever made the folder may have put a journal of other changes beside it.
    """
    above = {""}
    for path in (*changes.moves, *(path for path, _ in changes.puts), *changes.replaces):
        names = path.split("/")
        if not {"", ".", ".."}.isdisjoint(names) or "\0" in path:
            raise journal.strange(partial, f"its journal names {path!r}, which is no path below {folder}")
        above.update("/".join(names[:number]) for number in range(1, len(names)))
    roots = (folder, staged_in(partial, ""), kept_in(partial, ""))
    places = (partial, partial / "work", *(root / below for root in roots for below in sorted(above)))
    for place in places:
        if place.is_symlink():
            raise journal.strange(partial, f"{place} is a symbolic link")


def _remove(partial: Path) -> None:
    """Remove a ``.partial`` folder, the journal last, which says whose it is."""
    remove_contents(partial)
    writing.remove(partial)


def _is_bare(partial: Path) -> bool:
    """Return whether a ``.partial`` is that of a run that was interrupted before its first event."""
    first = journal.journal_of(partial)
    try:
        return all(
            not any(path.iterdir())
            if path.name in {"package", "work"}
            else path == first and path.lstat().st_size == 0
            for path in partial.iterdir()
        )
    except OSError:
        return False


def _new(staged: Path, folder: Path, prefix: str, replaces: frozenset[str]) -> Iterator[str]:
    with os.scandir(staged / prefix) as found:
        entries = sorted(found, key=lambda each: each.name)
    for each in entries:
        path = f"{prefix}{each.name}"
        if not os.path.lexists(folder / path):
            yield path
        elif each.is_dir(follow_symlinks=False):
            yield from _new(staged, folder, f"{path}/", replaces)
        elif path not in replaces:
            raise TargetExistsError(
                f"{folder / path} exists already", hint="Nothing is overwritten: move that file away."
            )


def _keep(folder: Path, path: str, kept: Path) -> None:
    """Keep a file that is to be replaced under a second name, so that it can be put back as it was."""
    writing.make_directories(kept.parent)
    if not writing.hard_link(folder / path, kept):
        with reading.opening(folder, path.split("/")) as descriptor, writing.NewFile(kept) as file:
            for block in reading.chunks(descriptor):
                file.write(block)


def _digest(root: Path, path: str) -> str:
    hashers = Hashers((_ALGORITHM,))
    with reading.opening(root, path.split("/")) as descriptor:
        for block in reading.chunks(descriptor):
            hashers.update(block)
    return hashers.digest(_ALGORITHM).value
