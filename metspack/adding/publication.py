"""What is added to a package comes to be there as a whole, or not at all.

All of it is made under ``<folder>.partial/`` beside the package. A journal there then says what goes where,
and only after that are new files and folders renamed into the package and its own few made anew (METS,
PREMIS, manifests). Whatever stops that, the same command goes on from there: what is still in the folder
beside is what has not been done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metspack import fsio, inbetween, reading
from metspack.errors import SourceError, TargetError
from metspack.files.staging import Partial
from metspack.inbetween import Adding
from metspack.insertion import in_the_way, is_bare

_REPLACED = "work/replaced"

Record = Callable[..., None]
"""Writes an event into the journal."""


class Publication(Partial):
    """``<folder>.partial/``: where an addition to a package is made; paths in ``package`` are those in it.

    ``folder`` is absolute; ``job`` tells the same command from others, ``source`` what it adds. Raises
    ``TargetError``.
    """

    def __init__(self, folder: Path, job: str, source: str) -> None:
        super().__init__(folder, inbetween.partial_of(folder))
        self._is_needed = False
        try:
            self.journal.record(event=inbetween.ADD_BEGUN, job=job, source=source)
        except BaseException:
            self.discard()
            raise

    def publish(self, replaces: Sequence[str], made: Mapping[str, Any], check: Callable[[], None]) -> None:
        """Put what was made into the package; ``replaces`` are the paths of its own files made anew, in turn.

        ``check`` is called when all is there. After an error, also of that, the package is as it was.
        """
        moves = tuple(_new(self.package, self.target, "", frozenset(replaces)))
        for path in replaces:
            _keep(self.target, path, self.root / _REPLACED / path)
        fsio.sync_tree(self.root)
        steps = _Steps(self.target, self.root, moves, tuple(replaces))
        self._is_needed = True
        try:
            self.journal.record(event=inbetween.ADDING, moves=moves, replaces=replaces, made=made)
            steps.put(self.journal.record, check)
        except BaseException:
            steps.take_back(self.journal.record)
            self._is_needed = False
            raise
        self._is_needed = False

    def let_go(self) -> None:
        """Forget what is beside the package, unless the package could not be made whole again without it."""
        if self._is_needed:
            self.journal.close()
        else:
            self.discard()


@dataclass(frozen=True, slots=True)
class _Steps:
    """What is done to the package at ``folder``, each step once however often it is begun."""

    folder: Path
    partial: Path
    moves: tuple[str, ...]
    replaces: tuple[str, ...]

    def put(self, record: Record, check: Callable[[], None]) -> None:
        """Do all that has not been done, and let it be checked."""
        for path in self.moves:
            if os.path.lexists(self._staged(path)):
                fsio.move(self._staged(path), self.folder / path)
        for path in self.replaces:
            if os.path.lexists(self._staged(path)):
                fsio.supersede(self._staged(path), self.folder / path)
        record(event=inbetween.ALL_ADDED)
        check()
        record(event=inbetween.ADDED)

    def take_back(self, record: Record) -> None:
        """Undo all that has been done."""
        # On a full disk no word can be written, but renaming goes on. Stopped then, the same command would go
        # on with the adding, find by its check that not all is there, and end with this.
        with suppress(TargetError):
            record(event=inbetween.WITHDRAWING)
        self.go_back()

    def go_back(self) -> None:
        """Give the package its own files again, and take away what is not its own."""
        for path in reversed(self.replaces):
            if os.path.lexists(kept := self.partial / _REPLACED / path):
                fsio.supersede(kept, self.folder / path)
        for path in reversed(self.moves):
            if not os.path.lexists(self._staged(path)) and os.path.lexists(self.folder / path):
                fsio.move(self.folder / path, self._staged(path))

    def _staged(self, path: str) -> Path:
        return self.partial / "package" / path


def resumed(folder: Path, job: str, check: Callable[[], None]) -> Mapping[str, Any] | None:
    """End what an addition that was stopped has left; return what it made, None when there is all to do.

    One that was stopped while it put things into the package is gone on with when it is the same ``job``;
    one that had not come so far is forgotten. Raises ``TargetError``: for another job, while another run is
    at work, and for what is no addition's.
    """
    partial = inbetween.partial_of(folder)
    if not os.path.lexists(partial):
        return None
    with ExitStack() as stack:
        found = None
        try:
            descriptor = stack.enter_context(reading.opening(inbetween.journal_of(partial)))
            if not fsio.take_lock(descriptor):
                raise TargetError(
                    f"another run is at work on {folder}", hint="Wait until it has ended, then look again."
                )
            found = inbetween.adding(descriptor)
        except (OSError, SourceError, KeyError, TypeError, ValueError):
            pass  # there is no journal that could be read
        if found is None and not is_bare(partial):
            raise in_the_way(partial)
        made = None if found is None else _ended(folder, partial, found, job, check)
        fsio.remove(partial)
    return made


def _ended(
    folder: Path, partial: Path, found: Adding, job: str, check: Callable[[], None]
) -> Mapping[str, Any] | None:
    steps = _Steps(folder, partial, found.moves, found.replaces)
    if found.event == inbetween.WITHDRAWING:
        steps.go_back()
        return None
    if found.event in {inbetween.ADDING, inbetween.ALL_ADDED}:
        if found.job != job:
            raise TargetError(
                f"{found.source} was being added to {folder} when that was stopped",
                hint="Run that command again first, with the options that it had: it ends what was begun.",
            )
        with closing(fsio.Journal(inbetween.journal_of(partial), goes_on=True)) as journal:
            try:
                steps.put(journal.record, check)
            except BaseException:
                steps.take_back(journal.record)
                fsio.remove(partial)
                raise
    return found.made if found.event != inbetween.ADD_BEGUN and found.job == job else None


def _new(staged: Path, folder: Path, prefix: str, replaces: frozenset[str]) -> Iterator[str]:
    """Yield the paths of what was made and is not yet in a folder: the uppermost ones.

    Raises ``TargetError`` for a file that is there and is not one of ``replaces``.
    """
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
    fsio.make_directories(kept.parent)
    if not fsio.hard_link(folder / path, kept):
        with reading.opening(folder, path.split("/")) as descriptor, fsio.NewFile(kept) as file:
            for block in reading.chunks(descriptor):
                file.write(block)
