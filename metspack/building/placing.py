"""Copying a segment's LOBs to their place while hashing them: each byte is read once.

A segment is placed knowing only its own slice of the plan, so segments can be placed in any order
and by any number of processes with the same result.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from metspack.containers.ipwriter import Destination
from metspack.digests import MANIFEST_ALGORITHMS, Hashers
from metspack.files import writing
from metspack.layouts import Layout
from metspack.mets.filetable import PlacedFile, Placements, placed_file
from metspack.model import LobRef, Part
from metspack.sources.lobstream import OpenHoldings, Passage
from metspack.sources.pronom import Identifying


class Placing:
    """Copies LOBs and parts of LOBs to their places, one after the other, hashing each byte once.

    The parts of a LOB are placed in order and by one ``Placing``, so that the whole is read once.
    ``prefix`` stands before the ids of LOBs, which are then unique in a package of several archives.
    ``checksum`` is the METS algorithm, ``algorithms`` are those that the whole of each LOB gets beside it;
    files get those of the manifests as well. ``identifying`` identifies formats, None
    for none. ``moved`` is called with numbers of bytes copied, ``ended`` with each LOB when its last byte was
    taken and proven, ``joined`` as well with one in parts.
    """

    def __init__(
        self,
        holdings: OpenHoldings,
        layout: Layout,
        *,
        checksum: str,
        algorithms: tuple[str, ...] = (),
        accepted: frozenset[str] = frozenset(),
        identifying: Identifying | None = None,
        moved: Callable[[int], None],
        ended: Callable[[Passage], None],
        joined: Callable[[Passage], None],
        prefix: str = "",
    ) -> None:
        self._holdings = holdings
        self._layout = layout
        self._prefix = prefix
        self._checksum = checksum
        self._of_whole = (checksum, *algorithms)
        self._of_file = (*MANIFEST_ALGORITHMS, checksum)
        self._joined = joined
        self._accepted = accepted
        self._identifying = identifying
        self._moved = moved
        self._ended = ended
        self._split: Passage | None = None

    def place(
        self, entries: Iterable[tuple[LobRef, Part | None]], segment: Destination
    ) -> Iterator[PlacedFile]:
        """Place LOBs and parts in a segment, yielding each file once it is written.

        Raises ``SourceError`` for a LOB that is not what its source and its cell say, ``TargetError``
        where writing fails.
        """
        for lob, part in entries:
            lob_id = self._prefix + lob.place.id
            path = self._layout.lob_path(lob.place, lob.extension)
            if part is not None:
                path += self._layout.part_suffix(part)
            if part is None:
                whole = self._place_whole(lob, path, segment)
                yield placed_file(
                    lob_id, path, whole.media_type, whole.hashers, self._checksum, kind=whole.format
                )
            else:
                hashers = self._place_part(lob, part, path, segment)
                yield replace(
                    # A piece of a film is no film: what the whole is, is said of the whole.
                    placed_file(f"{lob_id}.p{part.number}", path, lob.media_type, hashers, self._checksum),
                    part_of=lob_id,
                    sequence=part.number,
                )

    def _passage(self, lob: LobRef, algorithms: tuple[str, ...]) -> Passage:
        return Passage(lob, self._holdings, algorithms, self._accepted, self._identifying)

    def _place_whole(self, lob: LobRef, path: str, segment: Destination) -> Passage:
        passage = self._passage(lob, (*self._of_file, *self._of_whole))
        segment.put(path, self._passing(passage), lob.size)
        self._ended(passage)
        return passage

    def _passing(
        self,
        passage: Passage,
        size: int | None = None,
        hashers: Hashers | None = None,
        *,
        is_last: bool = True,
    ) -> Iterator[bytes]:
        """Yield the next ``size`` bytes of a LOB; the last ones are yielded before the LOB is proven."""
        for block in passage.portion(size):
            if hashers is not None:
                hashers.update(block)
            yield block
            self._moved(len(block))
        if is_last:
            passage.end()

    def _place_part(self, lob: LobRef, part: Part, path: str, segment: Destination) -> Hashers:
        if part.number == 0:
            self._split = self._passage(lob, self._of_whole)
        passage = self._split
        if passage is None or passage.lob != lob:
            raise AssertionError(f"part {part.number} of {lob.place.id} does not follow the one before it")
        hashers = Hashers(dict.fromkeys(self._of_file))
        segment.put(path, self._passing(passage, part.size, hashers, is_last=part.is_last), part.size)
        if part.is_last:
            self._split = None
            self._ended(passage)
            self._joined(passage)
        return hashers


def fragment(work: Path, number: int, algorithm: str) -> Path:
    """Return the path of a segment's lines of a manifest."""
    return work / f"manifest-{number}.{algorithm}"


def write_manifest_fragments(
    placements: Placements, folder: str, work: Path, number: int, files: Mapping[str, Hashers]
) -> None:
    """Write the lines of both manifests for a segment's files, sorted by path, into ``work``.

    ``folder`` is where the placed files lie below the package's root (with a slash at its end, or "");
    ``files`` are others of the segment, by their paths below the root.
    """
    others = sorted(
        (path, each.digest("MD5").value, each.digest("SHA-256").value) for path, each in files.items()
    )
    with (
        closing(placements.manifest_rows()) as rows,
        writing.NewFile(fragment(work, number, "MD5")) as md5,
        writing.NewFile(fragment(work, number, "SHA-256")) as sha256,
    ):
        placed = ((f"{folder}{path}", md5_value, sha256_value) for path, md5_value, sha256_value in rows)
        for path, md5_value, sha256_value in heapq.merge(placed, others):
            md5.write(manifest_line(md5_value, path))
            sha256.write(manifest_line(sha256_value, path))


def write_pack_fragments(path: str, pack: Hashers, work: Path, number: int) -> None:
    """Write the line of both manifests for a segment that is packed as one file, into ``work``."""
    for algorithm in MANIFEST_ALGORITHMS:
        with writing.NewFile(fragment(work, number, algorithm)) as file:
            file.write(manifest_line(pack.digest(algorithm).value, path))


def manifest_line(digest: str, path: str) -> bytes:
    """Return one line as ``md5sum -c`` and ``sha256sum -c`` read it: hex, two spaces, path."""
    return f"{digest}  {path}\n".encode()
