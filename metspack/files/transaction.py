"""Changes to a folder that come to be there as a whole, or not at all.

All of it is made under ``<folder>.partial/`` beside the folder. A journal there then says what goes where,
and only after that are new files and folders renamed into it, further new files put beside what is there,
and its own few made anew. Whatever stops that, it can be ended or taken back: the journal, and what still
lies beside, tell what has not been done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from metspack.digests import Hashers
from metspack.errors import SourceError, TargetError
from metspack.files import journal, reading, writing
from metspack.files.journal import FolderChanges, Recovery
from metspack.files.staging import Partial

_ALGORITHM = "SHA-256"
_REPLACED = "work/replaced"

Record = Callable[..., None]
"""Writes an event into the journal."""


class Transaction(Partial):
    """``<folder>.partial/``: where changes to a folder are made; paths in ``package`` are those in it.

    A context manager. ``folder`` is absolute and there. Whoever finds the journal is told of ``command`` and
    the ``source`` that it is about; ``job`` tells the same command from others. Raises ``TargetError``.
    """

    def __init__(self, folder: Path, command: str, *, job: str = "", source: str = "") -> None:
        if os.lstat(folder).st_dev != os.lstat(folder.parent).st_dev:
            raise TargetError(
                f"{folder} is a file system of its own: what is put into it has to be made beside it first",
                hint="Move what is in it into a folder on it, and name that.",
            )
        super().__init__(folder, journal.partial_of(folder))
        self._is_needed = False
        try:
            self.journal.record(event=journal.BEGUN, command=command, job=job, source=source)
        except BaseException:
            self.discard()
            raise

    def new(self, replaces: Sequence[str]) -> tuple[str, ...]:
        """Return the uppermost paths of what was made and is not in the folder.

        Raises ``TargetError`` for a file that is there and is not one of ``replaces``.
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
        """Rename in, put and replace what was made (``FolderChanges``), each on disk before the next.

        Nothing but what ``replaces`` names is overwritten. ``puts`` are files that somebody else might put
        there as well: they are hashed, and only what was put is ever taken away. ``check`` is called when
        all is there. After an error, also of that, the folder is as it was. Raises ``TargetError``.
        """
        for path in replaces:
            _keep(self.target, path, self.root / _REPLACED / path)
        changes = FolderChanges(
            moves=tuple(moves),
            puts=tuple((path, _digest(self.package, path)) for path in puts),
            replaces=tuple(replaces),
        )
        writing.sync_tree(self.root)
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
        """Forget what is beside the folder, unless the folder could not be made whole again without it."""
        if self._is_needed:
            self.journal.close()
        else:
            self.discard()


@dataclass(frozen=True, slots=True)
class _Steps:
    """What is done to ``folder``, each step once however often it is begun."""

    folder: Path
    partial: Path
    changes: FolderChanges

    def do(self, record: Record, check: Callable[[], None]) -> None:
        """Do all that has not been done, and let it be checked."""
        for path in self.changes.moves:
            if os.path.lexists(self._staged(path)):
                writing.move(self._staged(path), self.folder / path)
        for path, digest in self.changes.puts:
            if not self._is_put(path, digest):
                writing.put(self._staged(path), self.folder / path)
        for path in self.changes.replaces:
            if os.path.lexists(self._staged(path)):
                writing.supersede(self._staged(path), self.folder / path)
        record(event=journal.ALL_PUT)
        check()
        record(event=journal.DONE)

    def take_back(self, record: Record) -> None:
        """Give the folder its own files again, and take away what is not its own: the last first."""
        # On a full disk no word can be written, but renaming goes on. Stopped then, a command that goes on
        # with it would find by its check that not all is there, and end with this.
        with suppress(TargetError):
            record(event=journal.TAKING_BACK)
        for path in reversed(self.changes.replaces):
            if os.path.lexists(kept := self.partial / _REPLACED / path):
                writing.supersede(kept, self.folder / path)
        for path, digest in reversed(self.changes.puts):
            if self._is_put(path, digest):
                writing.take_away(self.folder / path)
        for path in reversed(self.changes.moves):
            if not os.path.lexists(self._staged(path)) and os.path.lexists(self.folder / path):
                writing.move(self.folder / path, self._staged(path))

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
        return self.partial / "package" / path


def recover(
    folder: Path, command: str, *, job: str = "", check: Callable[[], None] | None = None
) -> Mapping[str, Any] | None:
    """End what a transaction that was stopped has left; return what it made, None when there is all to do.

    One that was stopped while it changed the folder is gone on with when it is the same ``job``, or taken
    back where there is no ``check``; one that had not come so far is forgotten. Raises ``TargetError``: for
    another command or job, while another run is at work, and for what is not a transaction's.
    """
    partial = journal.partial_of(folder)
    if not os.path.lexists(partial):
        return None
    with ExitStack() as stack:
        found = None
        try:
            descriptor = stack.enter_context(reading.opening(journal.journal_of(partial)))
            if not writing.take_lock(descriptor):
                raise TargetError(
                    f"another run is at work on {folder}", hint="Wait until it has ended, then look again."
                )
            found = journal.recovery(descriptor)
        except (OSError, SourceError):
            pass  # there is no journal that could be read
        if found is None and not _is_bare(partial):
            raise TargetError(
                f"{partial} exists already, and it is not known what it is",
                hint="When no other build is running, remove it and run the command again.",
            )
        made = None if found is None else _end(folder, found, command, job, check)
        writing.remove(partial)
    return made


def _end(
    folder: Path, found: Recovery, command: str, job: str, check: Callable[[], None] | None
) -> Mapping[str, Any] | None:
    partial = journal.partial_of(folder)
    is_same = found.job == job
    is_in_between = found.event in {journal.PUTTING, journal.ALL_PUT}
    if found.command != command or (is_in_between and check is not None and not is_same):
        raise TargetError(
            f"{partial} exists already: {found.named} was stopped before its end",
            hint="Leave that folder where it is, and run that command again first, with its options.",
        )
    if found.event in {journal.BEGUN, journal.DONE}:
        return found.made if is_same and found.event == journal.DONE else None
    steps = _Steps(folder, partial, found.changes)
    with closing(writing.Journal(journal.journal_of(partial), goes_on=True)) as log:
        if check is None or not is_in_between:
            steps.take_back(log.record)
            return None
        try:
            steps.do(log.record, check)
        except BaseException:
            steps.take_back(log.record)
            writing.remove(partial)
            raise
    return found.made


def _is_bare(partial: Path) -> bool:
    """Return whether it is what a run leaves that was stopped before its first word."""
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
    for name in sorted(os.listdir(staged / prefix)):
        path = f"{prefix}{name}"
        if not os.path.lexists(folder / path):
            yield path
        elif (staged / path).is_dir():
            yield from _new(staged, folder, f"{path}/", replaces)
        elif path not in replaces:
            raise TargetError(
                f"{folder / path} exists already", hint="Nothing is overwritten: move that file away."
            )


def _keep(folder: Path, path: str, kept: Path) -> None:
    """Have a file that is to be made anew under another name, so that it can be put back as it was."""
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
