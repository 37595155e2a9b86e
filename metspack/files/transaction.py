"""Transactions on a folder: new files appear in it all together or not at all.

All files are made under ``<folder>.partial/`` beside the folder. Then a journal there lists them, and after
that they are put into the folder, where no existing file is replaced. The next run takes an interrupted
transaction back: the journal, and the files that are still beside the folder, show what was done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from metspack.digests import Hashers
from metspack.errors import SourceError, TargetError, TargetUnfinishedError
from metspack.files import journal, reading, writing
from metspack.files.journal import RunFacts
from metspack.files.staging import Partial, is_bare, remove_contents
from metspack.system import command_line, os

_ALGORITHM = "SHA-256"

Puts = Sequence[tuple[str, str]]
"""Files in the order in which they are put into the folder, with their digests."""


class Transaction(Partial, AbstractContextManager["Transaction"]):
    """``<folder>.partial/``, where files for a folder are made; a context manager.

    ``folder`` is absolute and exists. Paths in ``package`` are those in the folder. ``found`` returns the
    paths of all files in the folder that a transaction may have put there. ``last`` is the file that is put
    last: with it an earlier transaction was complete, otherwise it is taken back. Raises ``TargetError``,
    also for a journal that contradicts the folder: anyone who made the folder may have written it.
    """

    def __init__(self, folder: Path, last: str, found: Callable[[], Iterable[str]]) -> None:
        if os.lstat(folder).st_dev != os.lstat(folder.parent).st_dev:
            raise TargetError(
                f"{folder} is a mount point: files for it are made beside it, and cannot be renamed into it",
                hint="Move its contents into a folder on that file system, and name that folder.",
            )
        self._last = last
        self._found = found
        self._puts: Puts = ()
        program, *options = journal.IN_PLACE.split()
        command = command_line(("metspack", program, str(folder), *options))
        super().__init__(folder, journal.partial_of(folder), command)

    def _begin(self) -> None:
        run = RunFacts(command=journal.IN_PLACE, is_resumable=False)
        begun, *events = journal.run_events(self.journal.descriptor, 2).events or ({},)
        if begun.get("command") != run.command and not is_bare(self.root):
            raise self._strange()
        journal.check_kinds(self.root)
        if events and events[0]["event"] == journal.PUTTING:
            puts = events[0]["puts"]
            listed = {path for path, _ in puts}
            if foreign := sorted(each for each in self._found() if each not in listed):
                why = f"the folder has {foreign[0]!r}, which its journal does not name"
                raise journal.strange(self.root, why)
            if not os.path.lexists(self.target / self._last):
                self._take_back(puts)
        remove_contents(self.root)
        self.journal.cut(0)
        self._start(run)

    def _strange(self) -> TargetUnfinishedError:
        return TargetUnfinishedError(
            f"{self.root} exists already, and its origin is unknown",
            hint="When no other build is running, remove it, and the METS files and manifests that it put "
            "into the folder, and run the command again.",
        )

    def publish(self, paths: Sequence[str], *, check: Callable[[], None]) -> None:
        """Put files into the folder, each on disk before the next.

        Nothing is overwritten. ``check`` is called when all are there. After an error, also one of ``check``,
        leaving the context takes all back: files of other programs stay, as the digests distinguish them.
        Raises ``TargetError``.
        """
        puts = [(path, _digest(self.package, path)) for path in paths]
        writing.sync_tree(self.root)
        writing.sync_directory(self.root.parent)  # so that no change outlives the journal
        self._puts = puts
        self.journal.record(event=journal.PUTTING, puts=puts)
        for path in paths:
            writing.put(self.package / path, self.target / path)
        check()
        self._puts = ()

    def _take_back(self, puts: Puts) -> None:
        """Remove the files that were put into the folder, the last first."""
        there = set(self._found())
        for path, digest in reversed(puts):
            if path in there and self._is_put(path, digest):
                writing.take_away(self.target / path)

    def _is_put(self, path: str, digest: str) -> bool:
        """Return whether the file at a path of the folder is the one that was put there."""
        # With its staged name it is the same file; without, it was moved here.
        with suppress(FileNotFoundError):
            return os.path.samestat(os.lstat(self.package / path), os.lstat(self.target / path))
        with suppress(OSError, SourceError):
            return _digest(self.target, path) == digest
        return False

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Take back the files after an error, and remove the ``.partial`` folder."""
        try:
            if self._puts:
                self._take_back(self._puts)
            self.discard()
        except TargetError:
            if kind is None or self._puts:  # otherwise the first error is the one to report
                raise
        finally:
            self.journal.close()


def _digest(root: Path, path: str) -> str:
    with reading.opening(root, path.split("/")) as descriptor:
        return Hashers((_ALGORITHM,)).take(reading.chunks(descriptor)).digest(_ALGORITHM).value
