"""Attempts at segments: accepted once each, seen in no package, and stopped by taking their folder away."""

from __future__ import annotations

import zipfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from metspack import BuildOptions, Limits, cluster
from metspack.building import attempts, build
from metspack.building.segments import SegmentTask, TaskPlaced
from metspack.cluster import RemoteWork
from metspack.errors import SourceError, TargetError
from metspack.files.byteranges import HeldMedium
from metspack.files.writing import ground, make_directories
from metspack.model import Extent, FileExtent, LobRun
from metspack.planning import slices
from metspack.sources.archive import Archive
from metspack.sources.lobstream import Holdings, OpenHoldings
from tests.trees import names, tree

pytestmark = pytest.mark.slow

OPTIONS = BuildOptions(created="2026-05-01T12:00:00Z", limits=Limits(files=4), cluster="local:2")
SPLIT = Limits(files=12, bytes=20_000)


class Here:
    """A ``processes.Pool`` that does each task twice in this process, and accepts the second attempt."""

    def __init__(self, remote: RemoteWork[SegmentTask, TaskPlaced]) -> None:
        self.jobs = 2
        self._remote = remote

    def start(self, work: Callable[..., object]) -> None:
        del work

    def give_out(self, _work: Any, tasks: Iterator[SegmentTask], pending: deque[Any]) -> None:
        pending.extend(islice(tasks, self.jobs))

    def count(self, moved: Any) -> None:
        del moved

    def awaited(self, task: SegmentTask, moved: Any) -> TaskPlaced:
        if (known := self._remote.known(task)) is not None:
            return known
        assert self._remote.work is not None
        self._remote.work(task, lambda _: None)
        return self._remote.accept(task, self._remote.work(task, moved), "here")

    def close(self) -> None:
        self._remote.stop()
        self._remote.clear()


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def opened(address: str | None, _credit: Any) -> Iterator[Any]:
        yield None if address is None else SimpleNamespace(jobs=2)

    monkeypatch.setattr(cluster, "opened", opened)
    monkeypatch.setattr(attempts, "open_pool", lambda _of, work, _found: Here(attempts.placing(work)))


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"dialect": "csip", "pack": "tar"},
        {"limits": SPLIT, "layout": "siard22", "add_digests": True},
    ],
    ids=lambda changed: " ".join(changed) or "plain",
)
def test_segments_that_are_done_twice_are_accepted_once(
    changed: dict[str, Any], northwind_full: Path, tmp_path: Path
) -> None:
    options = replace(OPTIONS, **changed)
    build.build(northwind_full, tmp_path / "one", replace(options, cluster=None))
    build.build(northwind_full, tmp_path / "out", options)
    assert tree(tmp_path / "out") == tree(tmp_path / "one")
    assert names(tmp_path) == {"one", "out"}


def test_no_folder_is_made_above_the_ground(tmp_path: Path) -> None:
    (folder := tmp_path / "a").mkdir()
    token = ground.set(folder)
    try:
        make_directories(folder / "b" / "c")
        assert (folder / "b" / "c").is_dir()
        (folder / "b" / "c").rmdir()
        (folder / "b").rmdir()
        folder.rmdir()
        with pytest.raises(TargetError, match="No such file or directory"):
            make_directories(folder / "b" / "c")
    finally:
        ground.reset(token)
    assert names(tmp_path) == set()
    make_directories(folder / "b")
    (folder / "file").touch()
    with pytest.raises(TargetError, match="File exists"):
        make_directories(folder / "file")


def _stamped(found: Holdings, **stamp: int) -> Holdings:
    """Return holdings with other stamps of their archives."""
    return replace(
        found,
        archives=tuple(
            HeldMedium(paths=held.paths, stamps=tuple(replace(each, **stamp) for each in held.stamps))
            for held in found.archives
        ),
    )


def _read(found: Holdings, extent: Extent) -> int:
    with OpenHoldings(found) as shelf:
        size = sum(map(len, shelf.contents(extent, "it")))
        shelf.check_unchanged()
        return size


def test_another_number_of_its_device_is_no_change_of_an_archive(northwind: Path) -> None:
    with Archive(northwind) as archive:
        extent = next(archive.lobs()).extents[0]
        found = _stamped(archive.holdings(), device=7)
        with pytest.raises(SourceError, match="was changed while it was read"):
            _read(found, extent)
        assert _read(replace(found, elsewhere=True), extent) == extent.size
        odd = replace(_stamped(found, inode=1), elsewhere=True)
        with pytest.raises(SourceError, match="was changed while it was read"):
            _read(odd, extent)


def test_nor_is_it_one_of_a_file(northwind: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(northwind) as whole:
        whole.extractall(tmp_path / "Unpacked")
    with Archive(tmp_path / "Unpacked") as archive:
        lobs = []
        for lob in archive.lobs():
            (extent,) = lob.extents
            assert isinstance(extent, FileExtent)
            lobs.append(replace(lob, extents=(replace(extent, device=7),)))
        found, extent = archive.holdings(), lobs[0].extents[0]
    with slices.Slice(tmp_path / "slice.jsonl") as written:
        for lob in lobs:
            written.add(lob)
    (run,) = slices.runs(tmp_path / "slice.jsonl")
    assert isinstance(run, LobRun)
    for elsewhere in (False, True):
        with OpenHoldings(replace(found, elsewhere=elsewhere)) as shelf:
            read = [None if each is None else len(each) for each in shelf.small_contents(run)]
        assert read == (list(run.sizes) if elsewhere else [None] * len(run))
    with pytest.raises(SourceError, match="was changed since it was found"):
        _read(found, extent)
    elsewhere_found = replace(found, elsewhere=True)
    assert _read(elsewhere_found, extent) == extent.size
    (tmp_path / "Unpacked").joinpath(*getattr(extent, "path", ())).unlink()
    with pytest.raises(SourceError, match="cannot be read"):
        _read(elsewhere_found, extent)
