"""Transactions on a folder: new files appear in it all together or not at all.

All files are made under ``<folder>.partial/`` beside the folder. A journal there then lists them, and only
after that are they put into the folder; no existing file is replaced. An interrupted transaction can be
taken back: the journal and the files still beside the folder show what was done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from metspack.digests import Hashers
from metspack.errors import SourceError, TargetError, TargetUnfinishedError
from metspack.files import journal, reading, writing
from metspack.files.journal import Recovery
from metspack.files.staging import Partial, is_bare, remove_contents

_ALGORITHM = "SHA-256"


class Transaction(Partial):
    """``<folder>.partial/``, where files for a folder are made; a context manager.

    ``folder`` is absolute and exists. Paths in ``package`` are those in the folder. Raises ``TargetError``.
    """

    def __init__(self, folder: Path) -> None:
        if os.lstat(folder).st_dev != os.lstat(folder.parent).st_dev:
            raise TargetError(
                f"{folder} is a mount point: files for it are made beside it, and cannot be renamed into it",
                hint="Move its contents into a folder on that file system, and name that folder.",
            )
        super().__init__(folder, journal.partial_of(folder))
        self._is_needed = False
        try:
            for each in (self.root, self.package, self.work):
                writing.make_directory(each)
            self.journal = writing.RunJournal(journal.journal_of(self.root))
            self.journal.record(event=journal.BEGUN, command=journal.IN_PLACE)
            writing.sync_directory(self.root)  # what is made here next does not outlive the journal's name
        except BaseException as error:  # also an interruption at the moment in which the folder was made
            if not isinstance(error.__cause__, FileExistsError):
                self._discard_after_error()
            raise

    def publish(self, puts: Sequence[str], *, check: Callable[[], None]) -> None:
        """Put files into the folder, each on disk before the next.

        Nothing is overwritten. Other programs might put files there as well: so all are hashed, and only
        those put here are ever removed. ``check`` is called when all are there. After an error, also one of
        ``check``, the folder is as it was. Raises ``TargetError``.
        """
        digests = tuple((path, _digest(self.package, path)) for path in puts)
        writing.sync_tree(self.root)
        writing.sync_directory(self.root.parent)  # else the changes may outlive the journal of them
        steps = _Steps(self.target, self.root, digests)
        self._is_needed = True
        try:
            self.journal.record(event=journal.PUTTING, puts=digests)
            steps.do()
            self.journal.record(event=journal.ALL_PUT)
            check()
        except BaseException:
            steps.take_back(self.journal.record)
            self._is_needed = False
            raise
        self._is_needed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Remove the ``.partial`` folder, unless it is needed to finish or take back the changes."""
        if self._is_needed:
            self.journal.close()
        elif kind is None:
            self.discard()
        else:
            self._discard_after_error()

    def discard(self) -> None:
        """Remove everything under ``<folder>.partial/``, the journal last, on disk as well."""
        _remove(self.root)
        if hasattr(self, "journal"):
            self.journal.close()

    def _discard_after_error(self) -> None:
        with suppress(TargetError):  # the first error is the one to report
            self.discard()


@dataclass(frozen=True, slots=True)
class _Steps:
    """The steps of a transaction on ``folder``; a repeated step has no further effect."""

    folder: Path
    partial: Path
    puts: tuple[tuple[str, str], ...]

    def do(self) -> None:
        """Put all files."""
        for path, _ in self.puts:
            writing.put(self._staged(path), self.folder / path)

    def take_back(self, record: Callable[..., None]) -> None:
        """Remove the new files, the last first."""
        # On a full disk no event can be written, but files can be removed.
        with suppress(TargetError):
            record(event=journal.TAKING_BACK)
        for path, digest in reversed(self.puts):
            if self._is_put(path, digest):
                writing.take_away(self.folder / path)

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
        """Return the path of a new file before it is put into the folder at ``path``."""
        return self.partial / "package" / path


def recover(folder: Path, *, is_whole: Callable[[Recovery], bool]) -> None:
    """Take back an interrupted transaction, unless the folder ``is_whole``.

    Its ``.partial`` is removed. ``is_whole`` raises for a journal that it distrusts: the folder's maker may
    have put it there. Raises ``TargetError``, also while another run is working, and for a ``.partial`` that
    is not a transaction's.
    """
    partial = journal.partial_of(folder)
    if not os.path.lexists(partial):
        return
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
        if found is None and not is_bare(partial):
            raise TargetUnfinishedError(
                f"{partial} exists already, and its origin is unknown",
                hint="When no other build is running, remove it and run the command again.",
            )
        if found is not None and found.event != journal.BEGUN:
            _check_places(folder, partial, found)
            if not is_whole(found):
                with writing.RunJournal(journal.journal_of(partial)) as log:
                    log.cut(journal.run_events(log.descriptor).size)
                    _Steps(folder, partial, found.puts).take_back(log.record)
        _remove(partial)


def _check_places(folder: Path, partial: Path, found: Recovery) -> None:
    """Raise ``TargetUnfinishedError`` unless each file is put below the folder, behind no link.

    The folder's maker may have put a journal of other changes beside it.
    """
    above = {""}
    for path, _ in found.puts:
        names = path.split("/")
        if not {"", ".", ".."}.isdisjoint(names) or "\0" in path:
            raise journal.strange(partial, f"its journal names {path!r}, which is no path below {folder}")
        above.update("/".join(names[:number]) for number in range(1, len(names)))
    roots = (folder, partial / "package")
    places = (partial, partial / "work", *(root / below for root in roots for below in sorted(above)))
    for place in places:
        if place.is_symlink():
            raise journal.strange(partial, f"{place} is a symbolic link")


def _remove(partial: Path) -> None:
    """Remove a ``.partial`` folder, last of all the journal, which identifies it."""
    remove_contents(partial)
    writing.remove(partial)


def _digest(root: Path, path: str) -> str:
    with reading.opening(root, path.split("/")) as descriptor:
        return Hashers((_ALGORITHM,)).take(reading.chunks(descriptor)).digest(_ALGORITHM).value
