"""Attempts at segments on other machines: each folder is made once, device numbers may differ."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from metspack.errors import SourceError, TargetError
from metspack.files.byteranges import HeldMedium
from metspack.files.writing import ground, make_directories
from metspack.model import Extent, FileExtent, LobRun
from metspack.planning import slices
from metspack.sources.archive import Archive
from metspack.sources.lobstream import ByteSources, OpenSources
from tests.planning.lobruns import lobs_of
from tests.trees import names


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


def _stamped(found: ByteSources, **stamp: int) -> ByteSources:
    """Return sources with other stamps of their archives."""
    return replace(
        found,
        archives=tuple(
            HeldMedium(paths=held.paths, stamps=tuple(each._replace(**stamp) for each in held.stamps))
            for held in found.archives
        ),
    )


def _read(found: ByteSources, extent: Extent) -> int:
    with OpenSources(found) as shelf:
        size = sum(map(len, shelf.contents(extent, "it")))
        shelf.check_unchanged()
        return size


def test_another_number_of_its_device_is_no_change_of_an_archive(northwind: Path) -> None:
    with Archive(northwind) as archive:
        extent = next(lobs_of(archive)).extents[0]
        found = _stamped(archive.byte_sources(), device=7)
        with pytest.raises(SourceError, match="was changed while it was read"):
            _read(found, extent)
        assert _read(replace(found, elsewhere=True), extent) == extent.size
        unusual = replace(_stamped(found, inode=1), elsewhere=True)
        with pytest.raises(SourceError, match="was changed while it was read"):
            _read(unusual, extent)


def test_nor_is_it_one_of_a_file(northwind: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(northwind) as whole:
        whole.extractall(tmp_path / "Unpacked")
    with Archive(tmp_path / "Unpacked") as archive:
        lobs = []
        for lob in lobs_of(archive):
            (extent,) = lob.extents
            assert isinstance(extent, FileExtent)
            lobs.append(replace(lob, extents=(replace(extent, device=7),)))
        found, extent = archive.byte_sources(), lobs[0].extents[0]
    with slices.Slice(tmp_path / "slice.jsonl") as written:
        written.add(LobRun.of(lobs))
    (run,) = slices.runs(tmp_path / "slice.jsonl")
    for elsewhere in (False, True):
        with OpenSources(replace(found, elsewhere=elsewhere)) as shelf:
            read = [None if each is None else len(each) for each in shelf.small_contents(run)]
        assert read == (list(run.sizes) if elsewhere else [None] * len(run))
    with pytest.raises(SourceError, match="was changed since it was found"):
        _read(found, extent)
    elsewhere_found = replace(found, elsewhere=True)
    assert _read(elsewhere_found, extent) == extent.size
    (tmp_path / "Unpacked").joinpath(*getattr(extent, "path", ())).unlink()
    with pytest.raises(SourceError, match="cannot be read"):
        _read(elsewhere_found, extent)
