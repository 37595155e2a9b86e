"""The package's manifests: every file but themselves, sorted by the bytes of the path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from metspack import fsio, placing, reading
from metspack.digests import Hashers

NAMES = {"MD5": "manifest-md5.txt", "SHA-256": "manifest-sha256.txt"}


def write(
    package: Path, work: Path, segments: Iterable[tuple[str, int]], files: Mapping[str, Hashers]
) -> None:
    """Write both manifests from the segments' fragments in ``work`` and the files beside the segments.

    ``segments`` are what all their paths begin with, a folder and its slash or a packed segment's path, and
    their numbers, in any order; no folder lies in another. Raises ``TargetError``.
    """
    entries: list[tuple[str, Hashers | int]] = [*segments, *files.items()]
    for algorithm, manifest in NAMES.items():
        with fsio.NewFile(package / manifest) as target:
            for path, hashers in sorted(entries, key=lambda entry: entry[0].encode()):
                if not isinstance(hashers, int):
                    target.write(placing.manifest_line(hashers.digest(algorithm).value, path))
                    continue
                with reading.opening(placing.fragment(work, hashers, algorithm)) as fragment:
                    for block in reading.chunks(fragment):
                        target.write(block)
