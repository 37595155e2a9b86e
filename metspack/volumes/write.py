"""Writing of a package onto numbered volumes: each complete or absent, every byte compared on the way."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import groupby, islice, repeat
from pathlib import Path
from typing import Any

from metspack.containers.ipwriter import Folder
from metspack.digests import MANIFEST_ALGORITHMS, Hashers, digest_function
from metspack.errors import ConfigError, SourceError, TargetError, TargetExistsError
from metspack.files import reading, staging, writing
from metspack.files.journal import USUAL, RunFacts, StagingTerms
from metspack.files.staging import FinishedStretches, Staging
from metspack.files.threads import ThreadedHashers
from metspack.model import LONGEST, SMALL, Budgets
from metspack.progress import Progress, Silent
from metspack.values import dataclass
from metspack.volumes.contents import ManifestRow, SegmentPlaces, manifest_rows, read_contents
from metspack.volumes.volumelist import VolumeList, divide, find_list, read_list

_PARENT = 0  # the number of the stretch with the parent's files; segments are counted from 1
_DIGESTS = {name: digest_function(name) for name in MANIFEST_ALGORITHMS}
_CHANGED = "Put it right first: metspack check tells what is wrong, metspack repair takes files from a copy."


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenVolume:
    """A volume: its number and folder, files and bytes; whether it ``existed``, written by an earlier run."""

    number: int
    path: Path
    files: int
    bytes: int
    existed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenVolumes:
    """Result of writing volumes: the package, the list of what lies where, and the volumes written."""

    package: Path
    listed: VolumeList
    volumes: tuple[WrittenVolume, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the result as data for JSON."""
        return {
            "package": str(self.package),
            "objid": self.listed.objid,
            "seal": self.listed.seal.value,
            "volume_size": self.listed.volume_size,
            "volumes": len(self.listed.volumes),
            "segments": self.listed.count,
            "written": [
                {
                    "volume": each.number,
                    "path": str(each.path),
                    "files": each.files,
                    "bytes": each.bytes,
                    "existed": each.existed,
                }
                for each in self.volumes
            ],
        }


def plan_volumes(
    package: Path, volume_size: int, *, budgets: Budgets | None = None, progress: Progress | None = None
) -> VolumeList:
    """Return what would lie on which volume; raises ``SourceError``, ``ConfigError`` and ``PlanError``."""
    return divide(read_contents(package, budgets or Budgets(), progress or Silent()), volume_size)


def write_volumes(
    package: Path,
    out: Path,
    volume_size: int,
    *,
    volume: int | None = None,
    hard_links: bool = False,
    budgets: Budgets | None = None,
    progress: Progress | None = None,
    terms: StagingTerms = USUAL,
) -> WrittenVolumes:
    """Write a package onto volumes, a folder for each in ``out``, or one ``volume`` of them alone.

    Every file is read once and compared with both manifests while it is copied, or linked. A volume that an
    earlier run wrote of the same package, divided alike, stays as it is; one that was stopped is gone on
    with. Raises ``SourceError``, ``ConfigError``, ``PlanError`` and ``TargetError``; then what is in ``out``
    under a volume's name is complete.
    """
    progress = progress or Silent()
    contents = read_contents(package, budgets or Budgets(), progress)
    listed = divide(contents, volume_size)
    numbers = _numbers(listed, volume)
    _check_out(out, contents.root)
    absent = [each for each in numbers if not _is_there(out, listed, each)]
    amounts = listed.amounts()
    written: list[WrittenVolume] = []
    for number in numbers:
        if number in absent:
            _VolumeWork(contents.root, listed, number, hard_links=hard_links, progress=progress).write(
                out, terms
            )
        written.append(
            WrittenVolume(
                number=number,
                path=out / listed.folder_name(number),
                files=amounts[number - 1][0],
                bytes=amounts[number - 1][1],
                existed=number not in absent,
            )
        )
    return WrittenVolumes(package=package, listed=listed, volumes=tuple(written))


def _numbers(listed: VolumeList, volume: int | None) -> list[int]:
    count = len(listed.volumes)
    if volume is None:
        return list(range(1, count + 1))
    if not 1 <= volume <= count:
        raise ConfigError(
            f"there is no volume {volume}: the package takes {count:,}",
            hint="metspack volumes plan shows them.",
        )
    return [volume]


def _check_out(out: Path, root: Path) -> None:
    if not out.is_dir():
        raise TargetError(
            f"{out} is not a folder, so no volume can be written in it",
            hint="Create the folder first, or mount the medium there.",
        )
    if out.resolve().is_relative_to(root):
        raise TargetError(
            f"{out} lies inside the package {root}", hint="Choose a folder outside the package."
        )


def _is_there(out: Path, listed: VolumeList, number: int) -> bool:
    """Return whether a volume was written before; raises ``TargetExistsError`` for anything else there."""
    target = out / listed.folder_name(number)
    if not os.path.lexists(target):
        return False
    try:
        found, path = find_list(target)
        if found == number and read_list(path) == listed:
            with suppress(TargetExistsError):  # what a run left that was killed as the volume appeared goes
                staging.check_vacant(target)
            return True
    except SourceError:
        pass
    raise TargetExistsError(
        f"{target} exists already, and is not volume {number} of this package divided so",
        hint="Choose another folder, or move that one away: nothing is overwritten.",
    )


class _VolumeWork:
    """The writing of one volume."""

    def __init__(
        self, root: Path, listed: VolumeList, number: int, *, hard_links: bool, progress: Progress
    ) -> None:
        self._root = root
        self._listed = listed
        self._number = number
        self._links = hard_links
        self._progress = progress
        self._segments = {each.path: count for count, each in enumerate(listed.volumes[number - 1], 1)}
        self._buffer = memoryview(bytearray(SMALL + 1))
        self._places = SegmentPlaces(each.path for segments in listed.volumes for each in segments)

    def write(self, out: Path, terms: StagingTerms) -> None:
        """Write the volume and publish it."""
        listed, number = self._listed, self._number
        run = RunFacts(
            command="volumes write",
            can_go_on=not self._links,  # no name of the package's files is to stay in what is unfinished
            facts={
                "package": str(self._root),
                "seal": listed.seal.value,
                "division": listed.digest(),
                "volume": str(number),
                "link mode": "hardlink" if self._links else "copy",
            },
        )
        with staging.stage(out / listed.folder_name(number), run, terms) as staged:
            earlier = FinishedStretches(staged)
            files, size = listed.amounts()[number - 1]
            done, copied = earlier.amounts()
            staging.check_space(staged, files=files - done, bytes_=0 if self._links else size - copied)
            own = number == 1 and listed.parent.files > 0
            earlier.record_plan(len(self._segments) + own, files, size)
            self._progress.stage(f"Writing volume {number} of {len(listed.volumes)}", size)
            folder = staged.package / listed.name
            writing.make_directories(folder)
            self._write_stretches(folder, earlier)
            self._write_repeated(staged, folder)
            if earlier.clears:
                staging.check_count(staged.package, files)
            staged.publish()

    def _write_stretches(self, folder: Path, earlier: FinishedStretches) -> None:
        """Write what is on this volume alone: segments as manifests have them, then the parent's files."""
        own: list[ManifestRow] = []
        repeated = {each.path for each in self._listed.everywhere}
        for segment, rows in groupby(manifest_rows(self._root), lambda row: self._places.find(row.path)):
            if segment is None:
                own += (row for row in rows if self._number == 1 and row.path not in repeated)
            elif (number := self._segments.get(segment)) is not None:
                if earlier.clears and earlier.find(number) is None:
                    writing.remove(folder / segment)
                self._write_stretch(number, rows, folder, earlier)
        if own:
            if earlier.clears and earlier.find(_PARENT) is None:
                for row in own:
                    writing.remove(folder / row.path)
            self._write_stretch(_PARENT, iter(own), folder, earlier)

    def _write_stretch(
        self, number: int, rows: Iterator[ManifestRow], folder: Path, earlier: FinishedStretches
    ) -> None:
        if (done := earlier.find(number)) is not None:
            self._progress.advance(done.bytes)
            return
        work = earlier.staging.work
        with staging.open_stretch(work) as disk:
            files, size = self._copy(rows, folder, is_synced=not disk.is_possible)
            disk.sync(folder)
            staging.record_stretch(earlier.journal, number, "", (files, size))

    def _copy(self, rows: Iterator[ManifestRow], folder: Path, *, is_synced: bool) -> tuple[int, int]:
        """Copy files, each compared with the manifests; return their number and bytes."""
        files = size = 0
        with closing(Folder(folder, shared=True, is_synced=is_synced)) as target:
            for _, alike in groupby(rows, lambda row: row.path.rpartition("/")[0]):
                while batch := list(islice(alike, LONGEST)):
                    size += sum(self._put_batch(target, batch))
                    files += len(batch)
        return files, size

    def _put_batch(self, target: Folder, rows: Sequence[ManifestRow]) -> Iterator[int]:
        """Copy or link files of one folder; yield the bytes of each.

        Small ones are copied in a short loop; what is odd by itself, which tells what is wrong with it.
        """
        folder = rows[0].names[:-1]
        names = (row.names[-1] for row in rows)
        contents: Iterable[memoryview | None] = (
            repeat(None)
            if self._links
            else reading.small_files(self._root, folder, names, repeat(None), self._buffer)
        )
        for row, data in zip(rows, contents, strict=False):
            if data is None or any(_DIGESTS[name](data) != value for name, value in row.digests.items()):
                yield self._put(target, row.path, row.digests)
                continue
            target.put_small(row.path, data)
            self._progress.advance(len(data))
            yield len(data)

    def _put(self, target: Folder, path: str, digests: Mapping[str, str]) -> int:
        """Copy or link a file, and return its bytes; raises ``SourceError`` where they are others."""
        names, hashers = path.split("/"), ThreadedHashers(digests)
        try:
            if self._links:
                self._link(target, path, names)
                with reading.opening(target.root, names) as descriptor:
                    for _ in self._passing(descriptor, hashers):
                        pass
                    writing.sync_file(descriptor)
            else:
                with reading.opening(self._root, names) as descriptor:
                    target.put(path, self._passing(descriptor, hashers), os.fstat(descriptor).st_size)
        except OSError as error:
            raise SourceError(
                f"{self._root / path} cannot be read: {error.strerror}", hint=_CHANGED
            ) from error
        _check_digests(self._root / path, hashers, digests)
        return hashers.size

    def _link(self, target: Folder, path: str, names: list[str]) -> None:
        folder = reading.opened_folder(self._root, names[:-1])
        try:
            if not target.link(path, folder, names[-1]):
                raise SourceError(f"{self._root / path} is not there any more", hint=_CHANGED)
        finally:
            reading.release(folder)

    def _passing(self, descriptor: int, hashers: Hashers) -> Iterator[bytes]:
        for block in reading.chunks(descriptor):
            hashers.update(block)
            yield block
            self._progress.advance(len(block))

    def _write_repeated(self, staged: Staging, folder: Path) -> None:
        """Write what is on every volume; an earlier run may have begun to."""
        with closing(Folder(folder, shared=True)) as target:
            for each in self._listed.everywhere:
                writing.remove(folder / each.path)
                self._put(target, each.path, {"SHA-256": each.sha256})
        name = staged.package / self._listed.file_name(self._number)
        writing.remove(name)
        with writing.NewFile(name) as file:
            file.write(self._listed.document())


def _check_digests(path: Path, hashers: Hashers, digests: Mapping[str, str]) -> None:
    for algorithm, value in digests.items():
        if (found := hashers.digest(algorithm).value) != value:
            raise SourceError(
                f"the {algorithm} of {path} is {found}, expected {value}: the file was damaged or changed",
                hint=_CHANGED,
            )
