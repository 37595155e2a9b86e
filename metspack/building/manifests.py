"""Write the manifests of a package, and mapping.txt and manifest.txt of SIARD 2.2."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from metspack.building import placing
from metspack.building.options import BuildOptions
from metspack.digests import MANIFEST_ALGORITHMS, MANIFESTS, Hashers, Seal
from metspack.errors import ConfigError
from metspack.files import reading, writing
from metspack.layouts import Layout, siard22
from metspack.locations import mappingtxt
from metspack.mets import dialects, filetable
from metspack.mets.dialects.interface import SegmentSpot

NAMES = {algorithm: MANIFESTS[algorithm] for algorithm in MANIFEST_ALGORITHMS}
"""The manifests that are written, by their algorithms."""


def write(
    package: Path, work: Path, segments: Iterable[tuple[str, int]], files: Mapping[str, Hashers], top: str
) -> Seal:
    """Write both manifests from the segments' fragments in ``work`` and from ``files``.

    ``segments`` gives, in any order, the beginning of each segment's paths and its number. The beginning is a
    folder with a slash, outside all other folders, or a packed segment's path. ``files`` are those beside the
    segments. ``top`` is the path of the parent's METS, or of the file that it is packed in. Returns the
    package's seal. Raises ``TargetError``.
    """
    rows: list[tuple[str, Hashers | int]] = [*segments, *files.items()]
    rows.sort(key=lambda row: row[0].encode())
    written = [
        (name, _write_file(package / name, _content(rows, work, algorithm), ("SHA-256",)))
        for algorithm, name in NAMES.items()
    ]
    sealed = [*written, (top, files[top])]
    return Seal.of((name, hashers.digest("SHA-256").value) for name, hashers in sealed)


def size(package: Path) -> int:
    """Return the bytes of both manifests, which were just written."""
    return sum((package / name).stat().st_size for name in NAMES.values())


def _content(rows: Iterable[tuple[str, Hashers | int]], work: Path, algorithm: str) -> Iterator[bytes]:
    """Yield a manifest in blocks."""
    for path, hashers in rows:
        if not isinstance(hashers, int):
            yield placing.manifest_line(hashers.digest(algorithm).value, path)
            continue
        with reading.buffered(placing.fragment(work, hashers, algorithm)) as fragment:
            yield from iter(partial(fragment.read, reading.CHUNK), b"")


MANIFEST = "manifest.txt"
"""The file with the digest of each LOB file (SIARD 2.2 S_8.1.3-0)."""

_URI = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")


def check(layout: Layout, options: BuildOptions) -> None:
    """Raise ``ConfigError`` for sidecar files that the package cannot have.

    Layout, dialect or packing may exclude them, and the option ``mapping_uri`` must be a URI.
    """
    mapping, manifest = options.mapping_uri, options.lob_manifest
    if (why := dialects.facts(options.dialect).no_sidecars) and (mapping is not None or manifest):
        raise ConfigError(
            f"the dialect {options.dialect} has no {mappingtxt.NAME} and no {MANIFEST}",
            hint=f"{why}: leave --write-mapping and --write-manifest out.",
        )
    if manifest and options.pack is not None:
        raise ConfigError(
            f"{MANIFEST} lists the files of LOBs, which are packed",
            hint="Leave --write-manifest or --pack out: every packed IP has METS with the digests.",
        )
    if (mapping is not None or manifest) and layout is not siard22.LAYOUT:
        raise ConfigError(
            f"{mappingtxt.NAME} and {MANIFEST} are files of SIARD 2.2's layout, not of {layout.name}",
            hint="Add --layout siard22, or leave --write-mapping and --write-manifest out.",
        )
    if mapping is not None and not _URI.fullmatch(mapping):
        raise ConfigError(
            f"{mapping!r} is not a URI that segment folders can lie under",
            hint="As in SIARD 2.2 S_8.1.2-0: file:///srv/store/; spaces and the like are written as %20.",
        )


def write_sidecars(
    package: Path,
    work: Path,
    segments: Callable[[], Iterable[SegmentSpot]],
    mets: str,
    options: BuildOptions,
) -> dict[str, Hashers]:
    """Write the requested files, and return the digests of each by its name.

    ``segments`` returns the segments in the package's order; ``mets`` is the name of their METS, which is not
    a LOB. The digests in manifest.txt are SHA-256 where METS has them, else MD5.
    """
    checksum, mapping = options.algorithm, options.mapping_uri
    algorithms = filetable.algorithms(checksum)
    files: dict[str, Hashers] = {}
    if mapping is not None:
        target = mapping if mapping.endswith("/") else f"{mapping}/"
        lines = (f"{spot.content}/ {target}\n".encode() for spot in segments())
        files[mappingtxt.NAME] = _write_file(package / mappingtxt.NAME, lines, algorithms)
    if options.lob_manifest:
        algorithm = "SHA-256" if checksum == "SHA-256" else "MD5"
        lines = (line for spot in segments() for line in _lob_lines(work, spot, mets, algorithm))
        files[MANIFEST] = _write_file(package / MANIFEST, lines, algorithms)
    return files


def _lob_lines(work: Path, spot: SegmentSpot, mets: str, algorithm: str) -> Iterator[bytes]:
    """Yield the lines of a segment's LOB files: digest, a space, ``*``, path beside the .siard."""
    fragment = placing.fragment(work, spot.number, algorithm)
    with reading.text(fragment) as lines:
        for line in lines:
            digest, _, path = line.rstrip("\n").partition("  ")
            if path.startswith(f"{spot.content}/") and path != f"{spot.ip}/{mets}":
                yield f"{digest} *{path}\n".encode()


def _write_file(path: Path, blocks: Iterable[bytes], algorithms: Sequence[str]) -> Hashers:
    """Write a file of these bytes, and return its digests."""
    hashers = Hashers(algorithms)
    with writing.NewFile(path) as file:
        file.write_all(hashers.pass_on(blocks), 0)
    return hashers
