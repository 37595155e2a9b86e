"""Zip and tar files with IPs, read into memory and written again with the same bytes."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_TIME = (2020, 1, 1, 0, 0, 0)
_SECONDS = 1_577_836_800


@dataclass(frozen=True)
class Container:
    """The form of a packed IP, ``zip`` or ``tar``, its folder, and the folders in it."""

    form: str
    beside: str
    folders: frozenset[str]

    def holds(self, path: str) -> bool:
        """True if it contains the file at a path of the unpacked package."""
        return path.startswith(self.beside) and path[len(self.beside) :].partition("/")[0] in self.folders


def unzipped(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {each.filename: archive.read(each) for each in archive.infolist() if not each.is_dir()}


def untarred(data: bytes) -> dict[str, bytes]:
    found = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for each in archive:
            file = archive.extractfile(each)
            if file is not None:
                found[each.name] = file.read()
    return found


def zipped(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, _TIME), data)
    return target.getvalue()


def tarred(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(data), _SECONDS, 0o644
            archive.addfile(entry, io.BytesIO(data))
    return target.getvalue()


READERS: Mapping[str, Callable[[bytes], dict[str, bytes]]] = {"zip": unzipped, "tar": untarred}
WRITERS: Mapping[str, Callable[[Mapping[str, bytes]], bytes]] = {"zip": zipped, "tar": tarred}
