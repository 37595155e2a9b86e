"""Reconcile what METS, folder, manifests and PREMIS state of a segment's files, a part at a time.

Each source is read once, into parts by the hash of the files' names; parts are compared as sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from operator import mul
from typing import Any, NamedTuple

from metspack.checking.held import (
    COLUMNS,
    COLUMNS_SCHEMA,
    NUL,
    PUT_COLUMNS,
    AgreedColumns,
    SegmentLook,
    columns_of,
    cut,
    row_of,
)
from metspack.digests import OCTETS
from metspack.files import tempdb
from metspack.files.parts import ColumnParts, PartStore, Slots

FILES_OF_A_PART = 25_000
"""Files of a segment that are compared at once, or not many more."""

_BYTES_OF_A_FILE = 300  # that a METS has at least for each file
_MOST_APART = 1_000


class OddError(Exception):
    """Something of a segment is to be looked at closely."""


def parts_of(size: int) -> int:
    """Return the number of parts for a segment whose METS has so many bytes."""
    return 1 + size // (FILES_OF_A_PART * _BYTES_OF_A_FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What is to be known of a segment before a part of its files is compared.

    ``algorithm`` is that of the digests in METS. No file is called as one of the ``folders``, which are names
    in lower case.
    """

    algorithm: str
    folders: AbstractSet[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Files of a part that METS lists and the folder has not, by their names; lines on files not held.

    The lines are, by algorithm, number, name and digest of each.
    """

    apart: frozenset[bytes]
    lines: Mapping[str, Sequence[tuple[int, bytes, str]]]


class NotHeld(NamedTuple):
    """A file in METS that is never held: an archive, or the METS itself, which has no digest."""

    name: bytes
    size: int
    digest: str


Statement = AgreedColumns | NotHeld
"""What a METS states, some at a time: its files as columns, or others."""


@dataclass(slots=True)
class _Sums:
    """Files by their names and sizes, as sums in which each name counts by its hash.

    Python's hash has a key that each process draws: no document can aim at a sum.
    """

    count: int = 0
    names: int = 0
    sizes: int = 0

    def add(self, names: Sequence[bytes], sizes: Sequence[int]) -> None:
        hashes = list(map(hash, names))
        self.count += len(hashes)
        self.names += sum(hashes)
        self.sizes += sum(map(mul, hashes, sizes))


class SegmentSources(PartStore):
    """What each source states of a segment's files, in parts; a context manager.

    Names are those below the METS's folder, digests in hexadecimal. ``lines`` have name, digest and number of
    each line of a manifest, ``objects`` name, size or -1, and algorithm and digest or nothing of each
    statement of PREMIS.
    """

    def __init__(self, look: SegmentLook) -> None:
        super().__init__(COLUMNS_SCHEMA)
        self._look = look
        self._files = 0
        self._on_disk, self.objects = self._parts("disk", "nq"), self._parts("objects", "nqnn")
        self._in_mets, self._in_folder = _Sums(), _Sums()
        self.lines = {name: self._parts(name, "nnq") for name in look.manifests}
        self._listed = self._parts("listed", "nqqn")
        self._columns: list[AgreedColumns] = []
        self._digests = {name: Slots(OCTETS[name], self, are_kept=look.parts > 1) for name in look.manifests}

    def _parts(self, source: str, kinds: str) -> ColumnParts:
        return ColumnParts(source, kinds, self._look.parts, self)

    def take(self, statement: Statement) -> None:
        """Take some of what METS states."""
        if isinstance(statement, NotHeld):
            self._in_mets.add([statement.name], [statement.size])
            self._listed.add([statement.name], [-1], [statement.size], [statement.digest.encode()])
        else:
            ((algorithm, digests),) = statement.digests.items()
            found = cut(digests.hex().encode(), 2 * OCTETS[algorithm])
            names, numbers = statement.names.split(NUL), range(statement.start, statement.stop)
            self._in_mets.add(names, statement.sizes)
            self._listed.add(names, numbers, statement.sizes, found)
            self._files = statement.stop
            if self._look.parts == 1:
                self._columns.append(statement)
            else:
                with tempdb.explained("columns of files"):
                    self.put(PUT_COLUMNS, b"", *row_of(statement))

    def take_files(self, names: Sequence[bytes], sizes: Sequence[int]) -> None:
        """Take some files in the folder."""
        self._in_folder.add(names, sizes)
        self._on_disk.add(names, sizes)

    def end_beside(self) -> None:
        """Divide what lies beside METS, once all of it was taken and is to be compared."""
        for each in (self._on_disk, *self.lines.values()) if self.lines else ():
            each.divide()

    @property
    def are_same(self) -> bool:
        """Whether METS and the folder have the same files, and there is nothing else to be compared."""
        return not (self.lines or self.objects) and self._in_mets == self._in_folder

    def columns(self) -> Iterator[AgreedColumns]:
        """Yield all files that METS lists and that may be held, with the digests of manifests."""
        for each in self._columns or map(columns_of, self.rows(COLUMNS, b"", 0)):
            others = {name: slots for name, slots in self._digests.items() if name not in each.digests}
            found = {name: slots.get(each.start, each.stop) for name, slots in others.items()}
            yield replace(each, digests={**each.digests, **found})

    def compare(self, part: int, expected: Expected) -> Compared:
        """Compare what is stated of the files in a part; raises ``OddError`` unless most is alike."""
        names, numbers, sizes, digests = self._listed.columns(part)
        size_of = dict(zip(names, sizes, strict=True))
        if len(size_of) < len(names) or not expected.folders.isdisjoint(size_of):
            raise OddError
        apart = self._apart(size_of, dict(zip(*self._on_disk.columns(part), strict=True)))
        never_held = {name for name, number in zip(names, numbers, strict=True) if number < 0}
        if not never_held.isdisjoint(apart):
            raise OddError
        not_held = apart | never_held
        in_mets = {name: digest for name, digest in zip(names, digests, strict=True) if digest}
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
                octets = (bytes.fromhex(digest_of[name].decode()) for name in held)
                self._digests[algorithm].put(held.values(), octets, self._files)
            of_others = (each for each in zip(lines, paths, values, strict=True) if each[1] in not_held)
            others[algorithm] = [(line, path, value.decode()) for line, path, value in of_others]
        _compare_objects(self.objects.columns(part), size_of, stated)
        return Compared(apart=apart, lines=others)

    def _apart(self, in_mets: Mapping[bytes, int], on_disk: Mapping[bytes, int]) -> frozenset[bytes]:
        """Return the files that are missing; refuses any other difference, and very many."""
        apart = frozenset(in_mets.keys() - on_disk.keys())
        above, data = self._look.above, self._look.data + b"/"
        are_inside = all((above + name).startswith(data) for name in apart)
        if len(apart) > _MOST_APART or (apart and (self._look.pack or not are_inside)):
            raise OddError
        if on_disk != ({name: in_mets[name] for name in in_mets.keys() - apart} if apart else in_mets):
            raise OddError
        return apart


def _compare_objects(
    objects: Sequence[Sequence[Any]], sizes: Mapping[bytes, int], stated: Mapping[str, Mapping[bytes, bytes]]
) -> None:
    """Refuse a statement of PREMIS on another file, or one that differs."""
    for name, size, algorithm, digest in zip(*objects, strict=True):
        if name not in sizes or size not in {-1, sizes[name]}:
            raise OddError
        if algorithm and stated.get(algorithm.decode(), {}).get(name) != digest:
            raise OddError
