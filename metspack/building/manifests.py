"""Manifests of a package: every file but themselves, sorted by the bytes of the path."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from metspack.building import placing
from metspack.digests import Hashers
from metspack.files import reading, writing

NAMES = {"MD5": "manifest-md5.txt", "SHA-256": "manifest-sha256.txt"}


def write(
    package: Path, work: Path, segments: Iterable[tuple[str, int]], files: Mapping[str, Hashers]
) -> None:
    """Write both manifests from the segments' fragments in ``work`` and the files beside the segments.

    ``segments`` are what all their paths begin with, a folder and its slash or a packed segment's path, and
    their numbers, in any order; no folder lies in another. Raises ``TargetError``.
    """
    entries = _sorted(segments, files)
    for algorithm, manifest in NAMES.items():
        with writing.NewFile(package / manifest) as target:
            for line in _lines(entries, work, algorithm):
                target.write(line)


def write_grown(
    root: Path, package: Path, work: Path, segments: Iterable[tuple[str, int]], files: Mapping[str, Hashers]
) -> None:
    """Write the manifests of the package in ``root`` anew as ``write`` does, with what is added to it.

    A file of ``files`` may be in them already. Raises ``TargetError``, and OSError when one is not there.
    """
    entries = _sorted(segments, files)
    for algorithm, manifest in NAMES.items():
        with (
            open(reading.opened(root, (manifest,)), "rb", closefd=True) as before,
            writing.NewFile(package / manifest) as target,
        ):
            old = (line for line in before if _path(line).decode() not in files)
            for line in heapq.merge(old, _lines(entries, work, algorithm), key=_path):
                target.write(line)


def _sorted(
    segments: Iterable[tuple[str, int]], files: Mapping[str, Hashers]
) -> list[tuple[str, Hashers | int]]:
    entries: list[tuple[str, Hashers | int]] = [*segments, *files.items()]
    return sorted(entries, key=lambda entry: entry[0].encode())


def _lines(entries: Iterable[tuple[str, Hashers | int]], work: Path, algorithm: str) -> Iterator[bytes]:
    for path, hashers in entries:
        if not isinstance(hashers, int):
            yield placing.manifest_line(hashers.digest(algorithm).value, path)
            continue
        with open(reading.opened(placing.fragment(work, hashers, algorithm)), "rb", closefd=True) as fragment:
            yield from fragment


def _path(line: bytes) -> bytes:
    return line.partition(b"  ")[2].rstrip(b"\n")
