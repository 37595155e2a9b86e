"""Reconcile a segment's METS, folder, manifests and PREMIS, one part at a time.

Each source is read once, into parts by the hash of the files' names; parts are compared as sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import chain
from operator import mul
from typing import Any, TypeVar

from metspack.checking.held import (
    COLUMNS,
    COLUMNS_SCHEMA,
    NUL,
    PUT_COLUMNS,
    AgreedColumns,
    ManifestStretch,
    SegmentLook,
    columns_of,
    cut,
    row_of,
)
from metspack.digests import OCTETS
from metspack.files.partitions import WHOLE, Part, Partitions, PartitionStore, Records

FILES_OF_A_PART = 10_000
"""The usual number of files of a segment that are compared together."""
BYTES_OF_A_FILE = 360
"""About the bytes that a METS has for each file."""

_MOST_APART = 1_000
_MOST_IN_MEMORY = 20  # parts whose digests are


class DifferenceError(Exception):
    """The sources of a segment differ: its rows have to be compared."""


def parts_of(size: int) -> int:
    """Return the number of parts for a segment whose METS has so many bytes."""
    return 1 + size // (FILES_OF_A_PART * BYTES_OF_A_FILE)


_T = TypeVar("_T")
Compared = tuple[frozenset[bytes], Mapping[str, Sequence[tuple[int, bytes, str]]]]
"""Missing files of a part, and lines on files not held (number, name, digest) by algorithm."""


Statement = AgreedColumns | tuple[bytes, int, str]
"""The statements of a METS: some files as columns, or name, size and digest of one that is never held.

That is an archive, or the METS itself, which has no digest.
"""

_Sums = tuple[int, int, int]
"""Files as sums: their number, the hashes of their names, their sizes times these hashes."""


def _added(sums: _Sums, names: Sequence[bytes], sizes: Sequence[int]) -> _Sums:
    # Python's hash has a key that each process draws: no document can aim at a sum.
    hashes = list(map(hash, names))
    return sums[0] + len(hashes), sums[1] + sum(hashes), sums[2] + sum(map(mul, hashes, sizes))


FILES, LINES, OBJECTS, _LISTED = "files", "lines", "objects", "listed"
"""The sources on files: the folder, lines of manifests by algorithm, objects of PREMIS by algorithms, METS.

Algorithms have spaces between them. A missing size in PREMIS is -1.
"""
_KINDS = {FILES: "nq", LINES: "nnq", OBJECTS: "nq", _LISTED: "nqqn"}


def _kinds_of(source: str, algorithms: str) -> str:
    return _KINDS[source] + "n" * (len(algorithms.split()) if source == OBJECTS else 0)


def partitions_of(source: str, look: SegmentLook, algorithms: str = "") -> Partitions:
    """Return the partitions for the columns of a source.

    They are names and sizes of files; names, digests and numbers of lines; names, sizes and digests by the
    ``algorithms`` of objects.
    """
    # Where sums show that METS and folder are the same, nothing is divided.
    parts = 0 if source == FILES and not look.manifests else look.parts
    return Partitions(_kinds_of(source, algorithms), parts)


class SegmentSources:
    """The statements of each source on a segment's files, in parts; to be closed.

    Names are those below the METS's folder, digests in hexadecimal. ``folders`` are the folders' paths, and
    ``stretches`` the lines' places in manifests by algorithm.
    """

    def __init__(self, look: SegmentLook) -> None:
        self._look = look
        self._store = store = PartitionStore(COLUMNS_SCHEMA)
        self.close = store.close
        self._files = 0
        self._objects = set[str]()
        self._never_held: list[tuple[bytes, int, str]] = []
        self._in_mets = 0, 0, 0
        self.folders: list[bytes] = []
        self.stretches: dict[str, ManifestStretch] = {}
        self._listed = partitions_of(_LISTED, look)
        on_disk = look.parts > _MOST_IN_MEMORY
        self._digests = {name: Records(OCTETS[name], store, on_disk=on_disk) for name in look.manifests}

    def take(self, statement: Statement) -> None:
        """Take some statements of METS."""
        if isinstance(statement, tuple):
            self._never_held.append(statement)
        else:
            self._files = statement.stop
            self._store.put(PUT_COLUMNS, b"", *row_of(statement))
        if self._look.manifests:
            self.take_parts(_LISTED, "", *self._listed.add(*_listed_columns(statement)))
        elif isinstance(statement, tuple):
            self._in_mets = _added(self._in_mets, [statement[0]], [statement[1]])
        else:
            self._in_mets = _added(self._in_mets, statement.names.split(NUL), statement.sizes)

    def take_parts(self, source: str, algorithms: str, *parts: Part) -> None:
        """Take some values of a source, as ``partitions_of`` divides them."""
        for number, columns in parts:
            self._store.keep(source + algorithms, number, columns)
            if source == OBJECTS:
                self._objects.add(algorithms)

    def take_folders(self, folders: Iterable[bytes]) -> None:
        """Take some folders below the folder."""
        self.folders.extend(folders)

    def take_stretch(self, algorithm: str, stretch: ManifestStretch) -> None:
        """Take the place of the lines in a manifest."""
        self.stretches[algorithm] = stretch

    @property
    def are_same(self) -> bool:
        """Return whether METS and folder have the same files and are the only sources."""
        if self._look.manifests or self._objects:
            return False
        in_folder = 0, 0, 0
        for names, sizes in self._store.batches(FILES, _KINDS[FILES], WHOLE):
            in_folder = _added(in_folder, names, sizes)
        return self._in_mets == in_folder

    def _stored(self) -> Iterator[AgreedColumns]:
        return map(columns_of, self._store.rows(COLUMNS, b"", 0))

    def parts(self) -> Iterator[int]:
        """Divide the files left; yield the numbers of the parts, to be compared."""
        if not self._look.manifests:
            statements: Iterator[Statement] = chain(self._never_held, self._stored())
            for each in statements:
                self.take_parts(_LISTED, "", *self._listed.add(*_listed_columns(each)))
            files = Partitions(_KINDS[FILES], self._look.parts)
            for columns in self._store.batches(FILES, _KINDS[FILES], WHOLE):
                self.take_parts(FILES, "", *files.add(*columns))
            self.take_parts(FILES, "", *files.rest())
        self.take_parts(_LISTED, "", *self._listed.rest())
        yield from range(self._look.parts)

    def _part(self, source: str, number: int, algorithms: str = "") -> list[list[Any]]:
        return self._store.columns(source + algorithms, _kinds_of(source, algorithms), number)

    def columns(self) -> Iterator[AgreedColumns]:
        """Yield all files that METS lists and that may be held, with the digests of manifests."""
        for each in self._stored():
            others = {name: slots for name, slots in self._digests.items() if name not in each.digests}
            found = {name: slots.get(each.start, each.stop) for name, slots in others.items()}
            yield replace(each, digests={**each.digests, **found})

    def compare(self, part: int, algorithm_of_mets: str, folders: AbstractSet[bytes]) -> Compared:
        """Compare the statements on a part's files; raises ``DifferenceError`` unless they agree.

        ``folders`` are names of folders in lower case, which no file may have.
        """
        names, numbers, sizes, digests = self._part(_LISTED, part)
        size_of = dict(zip(names, sizes, strict=True))
        apart = self._apart(size_of, dict(zip(*self._part(FILES, part), strict=True)))
        never_held = {name for name, number in zip(names, numbers, strict=True) if number < 0}
        if len(size_of) < len(names) or not folders.isdisjoint(size_of) or not never_held.isdisjoint(apart):
            raise DifferenceError
        in_mets = dict(zip(names, digests, strict=True))
        left_out = apart | {name for name in never_held if not in_mets[name]}
        expected = _without(in_mets, left_out)
        held = _without(dict(zip(names, numbers, strict=True)), not_held := apart | never_held)
        stated, others = {algorithm_of_mets: in_mets}, {}
        for algorithm in self.stretches:
            paths, values, lines = self._part(LINES, part, algorithm)
            digest_of = dict(zip(paths, values, strict=True))
            found = _without(digest_of, left_out)
            is_other = (
                found != expected if algorithm == algorithm_of_mets else found.keys() != expected.keys()
            )
            if is_other or not left_out - apart <= digest_of.keys():
                raise DifferenceError
            if stated.setdefault(algorithm, digest_of) is digest_of:
                octets = bytes.fromhex(b"".join(map(digest_of.__getitem__, held)).decode())
                self._digests[algorithm].put(held.values(), cut(octets, OCTETS[algorithm]), self._files)
            named = zip(lines, paths, values, strict=True)
            others[algorithm] = [(at, path, value.decode()) for at, path, value in named if path in not_held]
        for algorithms in sorted(self._objects):
            in_others = [stated.get(algorithm, {}) for algorithm in algorithms.split()]
            _compare_objects(size_of, in_others, *self._part(OBJECTS, part, algorithms))
        return apart, others

    def _apart(self, in_mets: dict[bytes, int], on_disk: dict[bytes, int]) -> frozenset[bytes]:
        """Return the missing files; refuse any other difference, and more than a thousand."""
        apart = frozenset(in_mets.keys() - on_disk.keys())
        are_inside = all((self._look.above + name).startswith(self._look.data + b"/") for name in apart)
        is_other = on_disk != _without(in_mets, apart)
        if is_other or len(apart) > _MOST_APART or (apart and (self._look.pack or not are_inside)):
            raise DifferenceError
        return apart


def _listed_columns(statement: Statement) -> tuple[Sequence[Any], ...]:
    """Return names, numbers, sizes and digests of files of METS, -1 for one that is never held."""
    if isinstance(statement, tuple):
        return [statement[0]], [-1], [statement[1]], [statement[2].encode()]
    ((algorithm, octets),) = statement.digests.items()
    numbers, digests = range(statement.start, statement.stop), octets.hex().encode()
    return statement.names.split(NUL), numbers, statement.sizes, cut(digests, 2 * OCTETS[algorithm])


def _without(values: dict[bytes, _T], names: AbstractSet[bytes]) -> dict[bytes, _T]:
    """Return a copy of values without those of some names, which are few."""
    rest = values.copy()
    for name in names:
        rest.pop(name, None)
    return rest


def _compare_objects(
    size_of: Mapping[bytes, int],
    digests_of: Sequence[Mapping[bytes, bytes]],
    names: Sequence[bytes],
    sizes: Sequence[int],
    *digests: Sequence[bytes],
) -> None:
    """Refuse a statement of PREMIS on another file, or one that differs."""
    found = list(map(size_of.get, names))
    are_other = (size not in {-1, there} for size, there in zip(sizes, found, strict=True))
    differ = (list(map(each.get, names)) != some for each, some in zip(digests_of, digests, strict=True))
    if None in found or (found != sizes and any(are_other)) or any(differ):
        raise DifferenceError
