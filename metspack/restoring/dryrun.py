"""Find, join and prove every LOB as a restore does, without writing; report all faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from metspack import processes
from metspack.errors import ConfigError, SourceError
from metspack.inspecting.verification import Verdict, verify
from metspack.model import Notice
from metspack.packages.source import Packaged, PackagedArchive
from metspack.planning.sharedlobs import Sharing
from metspack.progress import Progress, Silent, begin_lobs
from metspack.restoring.filenames import FileNames, KeyNames
from metspack.restoring.files import (
    Restored,
    RestoreOptions,
    RestoreTally,
    file_words,
    find_lobs,
)
from metspack.restoring.siard import Into, archive_words, check_archive, division
from metspack.sources.archive import FoundLobs


class DryRun(Iterator[Verdict]):
    """A restore without a target, as an iterator of all faults.

    ``restored`` has the totals so far. With ``into`` it is the restore of an archive, which METS proves as
    well. Raises ``SourceError`` when the package cannot be read at all, and ``ConfigError``. Flat memory.
    """

    def __init__(
        self,
        path: Path,
        options: RestoreOptions | None = None,
        into: Into | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._path = path
        self._options = options or RestoreOptions()
        self._into = into
        self._progress = progress or Silent()
        self._tally = RestoreTally()
        self._stays = 0
        self._warnings: tuple[Notice, ...] = ()
        self._found = self._proven()
        self.faults = 0
        if self._options.cluster is not None:
            raise ConfigError(
                "--dry-run cannot be combined with --cluster",
                hint="This machine reads the LOBs: leave one of the two out.",
            )

    def __next__(self) -> Verdict:
        """Return the next fault of a LOB or of the package."""
        found = next(self._found)
        self.faults += 1
        return found

    @property
    def ok(self) -> bool:
        """True if every LOB can be restored as it was."""
        for _ in self:
            pass
        return not self.faults

    @property
    def restored(self) -> Restored:
        """The result that the restore would have; complete when the iterator is exhausted."""
        found = self._tally.restored(None, self._warnings)
        return found if self._into is None else replace(found, inside=self._stays, into=self._into.value)

    def to_json(self) -> dict[str, object]:
        """Return the result with all faults as data for JSON."""
        faults = [each.document() for each in self]
        return self.restored.to_json() | {"errors": faults}

    def _proven(self) -> Iterator[Verdict]:
        options, progress = self._options, self._progress
        progress.stage("Reading METS", None)
        with (
            options.opened(self._path, partial=True) as source,
            Sharing() as sharing,
        ):
            files, size = source.package.index.weight()
            found = self._lobs(source, sharing)
            jobs = processes.useful(options.jobs, files=files, size=size)
            with closing(
                verify(found, source.byte_sources, options.accepted, jobs=jobs, moved=progress.advance)
            ) as results:
                for _, faults in results:
                    yield from faults

    def _lobs(self, source: Packaged, sharing: Sharing) -> Iterator[FoundLobs]:
        """Yield the LOBs that would be restored, and the faults of LOBs that were not found."""
        if not self._options.only:
            yield _lost(source.package.faults)
        try:
            if self._into is None:
                begin_lobs(self._progress, "Verifying", *reversed(source.package.index.weight()))
                found = find_lobs(source, sharing, self._tally, source.found())
                yield from self._named(source, found)
                self._warnings = (*file_words(source), *sharing.words())
            else:
                archive = check_archive(source, self._path, self._into, self._options)
                yield from self._archived(archive, self._into, sharing)
                self._warnings = tuple(archive_words(archive, sharing))
            source.check_unchanged()
        except SourceError as error:
            yield _lost([error])

    def _named(self, source: Packaged, found: Iterator[FoundLobs]) -> Iterator[FoundLobs]:
        """Yield LOBs after making the names of their files, where these are made of keys."""
        if self._options.names is not FileNames.KEY:
            yield from found
            return
        with KeyNames(source, self._options.budgets) as names:
            for each in found:
                yield each._replace(runs=[*names.add_names(iter(each.runs))])

    def _archived(self, source: PackagedArchive, into: Into, sharing: Sharing) -> Iterator[FoundLobs]:
        """Yield the LOBs that would be put into an archive or beside it, and those staying inside."""
        yield _lost(source.alterations(self._progress))
        try:
            stays, container = division(source, into, self._progress)
        except SourceError:  # the fault of a table is reported below
            stays, container = division(source, Into.INSIDE, self._progress)
        begin_lobs(self._progress, "Verifying", *reversed(source.package.index.weight()))
        for found in source.found():
            yield FoundLobs(lost=found.lost)
            for each in found.runs:
                if stays(each):
                    self._stays += len(each)
                    yield FoundLobs([each])
                    continue
                for first in sharing.firsts(each, container(each.place)):
                    self._tally.take(first)
                    yield FoundLobs([first])


def _lost(faults: Iterable[SourceError]) -> FoundLobs:
    """Return faults that concern more than one LOB."""
    return FoundLobs(lost=[("", each) for each in faults])
