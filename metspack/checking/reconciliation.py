"""Reconcile what METS, folder, manifests and PREMIS state of a segment's files, a part at a time.

Each source is read once, into parts by the hash of the files' names; parts are compared as sets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Any

from metspack.checking.held import NUL, AgreedColumns, SegmentLook, columns_of, cut, row_of
from metspack.digests import OCTETS
from metspack.files.parts import ColumnParts, Slots

FILES_OF_A_PART = 25_000
"""Files of a segment that are compared at once, or not many more."""

_BYTES_OF_A_FILE = 200  # that a METS has at least for each file
_MOST_APART = 1_000


class OddError(Exception):
    """Something of a segment is to be looked at closely."""


def parts_of(size: int) -> int:
    """Return the number of parts for a segment whose METS has so many bytes."""
    return 1 + size // (FILES_OF_A_PART * _BYTES_OF_A_FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What is to be known of a segment before a part of its files is compared.

    ``algorithm`` is that of the digests in METS. The fptrs lead to groups where files ``are_grouped``, else
    to each file. No file is called as one of the ``folders``, which are names in lower case.
    """

    algorithm: str
    are_grouped: bool
    folders: AbstractSet[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Files of a part that METS lists and the folder has not, by their names; lines on files not held.

    The lines are, by algorithm, number, name and digest of each.
    """

    apart: frozenset[bytes]
    lines: Mapping[str, Sequence[tuple[int, bytes, str]]]


class SegmentSources:
    """What each source states of a segment's files; in the look's folder, or in memory without one.

    Names are those below the METS's folder. ``listed`` has name, number, size and digest of each file in
    METS, with the number -1 for one that is never held: the METS itself, which has no digest, and archives.
    ``ids`` has each ID and whether a file has it, ``pointed`` the FILEIDs. ``on_disk`` has name and size;
    ``lines`` have name, digest and number of each line of a manifest, ``objects`` name, size or None, and
    algorithm and digest or None of each statement of PREMIS.
    """

    def __init__(self, look: SegmentLook) -> None:
        self._look, folder = look, look.shelf
        part = partial(ColumnParts, folder=folder, number=look.parts)
        self.listed, self.objects = part("listed", width=4), part("objects", width=4)
        self.ids, self.pointed, self.on_disk = (
            part("ids", width=2),
            part("pointed", width=1),
            part("disk", width=2),
        )
        self.lines = {name: part(f"lines-{name}", width=3) for name in look.manifests}
        self._columns = ColumnParts("columns", folder, width=1, at_once=1)
        self._digests = {name: Slots(f"digests-{name}", OCTETS[name], folder) for name in look.manifests}

    def end(self) -> None:
        """Write all that was added."""
        sources = self.listed, self.ids, self.pointed, self.on_disk, self.objects, self._columns
        for each in (*sources, *self.lines.values()):
            each.end()

    def add_ids(self, ids: Collection[str], *, are_of_files: bool) -> None:
        """Add IDs of files, or of other elements."""
        self.ids.add(list(map(str.encode, ids)), [are_of_files] * len(ids))

    def add_columns(self, columns: AgreedColumns) -> None:
        """Add files that METS lists, and that may be held."""
        ((algorithm, digests),) = columns.digests.items()
        numbers, found = range(columns.start, columns.stop), cut(digests, OCTETS[algorithm])
        self.listed.add(columns.names.split(NUL), numbers, columns.sizes, found)
        self._columns.add([row_of(columns)])

    def columns(self) -> Iterator[AgreedColumns]:
        """Yield all files that METS lists and that may be held, with the digests of manifests."""
        for each in (columns_of(row) for (rows,) in self._columns.stretches(0) for row in rows):
            others = {name: slots for name, slots in self._digests.items() if name not in each.digests}
            found = {name: slots.get(each.start, each.stop) for name, slots in others.items()}
            yield replace(each, digests={**each.digests, **found})

    def compare(self, part: int, expected: Expected) -> Compared:
        """Compare what is stated of the files in a part; raises ``OddError`` unless most is alike."""
        self._compare_ids(part, expected)
        names, numbers, sizes, digests = self.listed.columns(part)
        size_of = dict(zip(names, sizes, strict=True))
        if len(size_of) < len(names) or not expected.folders.isdisjoint(size_of):
            raise OddError
        apart = self._apart(names, numbers, sizes, dict(zip(*self.on_disk.columns(part), strict=True)))
        not_held = apart.union(name for name, number in zip(names, numbers, strict=True) if number < 0)
        in_mets = {name: digest for name, digest in zip(names, digests, strict=True) if digest is not None}
        stated = {expected.algorithm: in_mets}
        others: dict[str, list[tuple[int, bytes, str]]] = {}
        for algorithm, source in self.lines.items():
            paths, values, lines = source.columns(part)
            digest_of = dict(zip(paths, values, strict=True))
            if not size_of.keys() - apart <= digest_of.keys() <= size_of.keys():
                raise OddError
            known = stated.setdefault(algorithm, digest_of)
            of_files = (
                {name: digest for name, digest in known.items() if name not in apart} if apart else known
            )
            if list(map(digest_of.get, of_files)) != list(of_files.values()):
                raise OddError
            if known is digest_of:
                held = {
                    name: number for name, number in zip(names, numbers, strict=True) if name not in not_held
                }
                self._digests[algorithm].put(held.values(), map(digest_of.__getitem__, held))
            of_others = (each for each in zip(lines, paths, values, strict=True) if each[1] in not_held)
            others[algorithm] = [(line, path, value.hex()) for line, path, value in of_others]
        _compare_objects(self.objects.columns(part), size_of, stated)
        return Compared(apart=apart, lines=others)

    def _compare_ids(self, part: int, expected: Expected) -> None:
        """Refuse an ID that occurs twice, and fptrs that do not lead to the files, one to each."""
        ids, are_of_files = self.ids.columns(part)
        if len(set(ids)) < len(ids):
            raise OddError
        if not expected.are_grouped:
            of_files, (pointed,) = set(compress(ids, are_of_files)), self.pointed.columns(part)
            if len(pointed) != len(of_files) or of_files != set(pointed):
                raise OddError

    def _apart(
        self, names: Sequence[bytes], numbers: Sequence[int], sizes: Sequence[int], on_disk: dict[bytes, int]
    ) -> frozenset[bytes]:
        """Return the files that are missing; refuses any other difference, and very many."""
        apart: list[bytes] = []
        found = [on_disk.pop(name, None) for name in names]
        for name, number, size, there in (
            zip(names, numbers, sizes, found, strict=True) if found != sizes else ()
        ):
            if there != size:
                is_inside = (self._look.above + name).startswith(self._look.data + b"/")
                if there is not None or number < 0 or self._look.pack or not is_inside:
                    raise OddError
                apart.append(name)
        if on_disk or len(apart) > _MOST_APART:
            raise OddError
        return frozenset(apart)


def _compare_objects(
    objects: Sequence[Sequence[Any]], sizes: Mapping[bytes, int], stated: Mapping[str, Mapping[bytes, bytes]]
) -> None:
    """Refuse a statement of PREMIS on another file, or one that differs."""
    for name, size, algorithm, digest in zip(*objects, strict=True):
        if name not in sizes or size not in {None, sizes[name]}:
            raise OddError
        if algorithm is not None and stated.get(algorithm, {}).get(name) != digest:
            raise OddError
