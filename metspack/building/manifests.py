"""Manifests of a package, and SIARD 2.2's own two files: mapping.txt and manifest.txt."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from metspack.building import placing
from metspack.digests import MANIFEST_ALGORITHMS, MANIFESTS, Hashers
from metspack.errors import ConfigError
from metspack.files import reading, writing
from metspack.layouts import Layout, siard22
from metspack.locations import mappingtxt
from metspack.mets import dialects, filetable
from metspack.mets.dialects.interface import SegmentSpot
from metspack.mets.filetable import PlacedFile

NAMES = {algorithm: MANIFESTS[algorithm] for algorithm in MANIFEST_ALGORITHMS}
"""The manifests that are written, by their algorithms."""


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


MANIFEST = "manifest.txt"
"""The file with the digest of each LOB file (SIARD 2.2 S_8.1.3-0)."""

_URI = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")


def check(layout: Layout, dialect: str, mapping: str | None, *, manifest: bool, is_packed: bool) -> None:
    """Raise ``ConfigError`` when layout or dialect has no such files, or ``mapping`` is not a URI."""
    if (why := dialects.facts(dialect).no_sidecars) and (mapping is not None or manifest):
        raise ConfigError(
            f"the dialect {dialect} has no {mappingtxt.NAME} and no {MANIFEST}",
            hint=f"{why}: leave --write-mapping and --write-manifest out.",
        )
    if manifest and is_packed:
        raise ConfigError(
            f"{MANIFEST} lists the files of LOBs, which are packed",
            hint="Leave --write-manifest or --pack out: every packed IP has METS with the digests.",
        )
    if (mapping is not None or manifest) and layout is not siard22.LAYOUT:
        raise ConfigError(
            f"{mappingtxt.NAME} and {MANIFEST} are files of SIARD 2.2's layout, not of {layout.name}",
            hint="Say --layout siard22, or leave --write-mapping and --write-manifest out.",
        )
    if mapping is not None and not _URI.fullmatch(mapping):
        raise ConfigError(
            f"{mapping!r} is not a URI that segment folders can lie under",
            hint="As in SIARD 2.2 S_8.1.2-0: file:///srv/store/; spaces and the like are written as %20.",
        )


def write_sidecars(
    package: Path,
    work: Path,
    segments: Sequence[SegmentSpot],
    *,
    mets: str,
    mapping: str | None,
    manifest: bool,
    checksum: str,
) -> dict[str, Hashers]:
    """Write the files that are asked for; returns the digests of each by its name.

    ``segments`` are in the package's order; ``mets`` is the name of their METS, not a LOB. ``mapping``
    is the URI that all segment folders are kept under. The digests of the manifest are MD5 or, where METS
    has them, SHA-256.
    """
    algorithms = filetable.algorithms(checksum)
    files: dict[str, Hashers] = {}
    if mapping is not None:
        target = mapping if mapping.endswith("/") else f"{mapping}/"
        lines = (f"{spot.content}/ {target}\n".encode() for spot in segments)
        files[mappingtxt.NAME] = _write_file(package, mappingtxt.NAME, lines, algorithms)
    if manifest:
        algorithm = "SHA-256" if checksum == "SHA-256" else "MD5"
        lines = (line for spot in segments for line in _lob_lines(work, spot, mets, algorithm))
        files[MANIFEST] = _write_file(package, MANIFEST, lines, algorithms)
    return files


def placed(name: str, hashers: Hashers, checksum: str) -> PlacedFile:
    """Return such a file as the parent's METS lists it."""
    return filetable.placed_file(f"ID_{name}", name, "text/plain", hashers, checksum)


def _lob_lines(work: Path, spot: SegmentSpot, mets: str, algorithm: str) -> Iterator[bytes]:
    """Yield the lines of a segment's LOB files: digest, a space, ``*`` for binary, path beside the .siard."""
    fragment = placing.fragment(work, spot.number, algorithm)
    with open(reading.opened(fragment), encoding="utf-8", newline="\n") as lines:
        for line in lines:
            digest, _, path = line.rstrip("\n").partition("  ")
            if path.startswith(f"{spot.content}/") and path != f"{spot.ip}/{mets}":
                yield f"{digest} *{path}\n".encode()


def _write_file(package: Path, name: str, lines: Iterator[bytes], algorithms: Sequence[str]) -> Hashers:
    hashers = Hashers(algorithms)
    with writing.NewFile(package / name) as file:
        for line in lines:
            hashers.update(line)
            file.write(line)
    return hashers
