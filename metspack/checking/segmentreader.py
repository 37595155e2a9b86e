"""Reading of segments in workers: METS, folder, manifests, PREMIS; what agrees is returned as columns."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import fields, replace
from itertools import chain, islice
from operator import ge
from pathlib import Path
from typing import Any

from metspack import processes, safexml, uris
from metspack.checking.catalogue import are_usual
from metspack.checking.eark import profiles
from metspack.checking.eark.folders import are_placed
from metspack.checking.eark.requirements import Standard
from metspack.checking.files import metadatafiles
from metspack.checking.held import NUL, AgreedColumns, AgreedSegment, ManifestStretch, SegmentLook, cut
from metspack.checking.mets.documents import sum_of_hashes
from metspack.checking.mets.references import References
from metspack.checking.reconciliation import (
    FILES,
    LINES,
    OBJECTS,
    DifferenceError,
    SegmentSources,
    Statement,
    partitions_of,
)
from metspack.containers.ipreader import Content, OpenPacks
from metspack.digests import MANIFEST_ALGORITHMS, MANIFESTS, OCTETS, Hashers
from metspack.errors import MetspackError, TargetError
from metspack.files import pread, reading, walking
from metspack.files.byteranges import FileBelow
from metspack.files.partitions import Part, Partitions
from metspack.files.paths import names_of
from metspack.layouts.names import SEGMENT, SIARD
from metspack.locations import mappingtxt
from metspack.mets import CSIP_METS, PLAIN_METS, REPRESENTATIONS_FOLDER, is_mets_name, schema
from metspack.mets.fastreader import Run, condensed
from metspack.mets.links import Mptr
from metspack.mets.reader import Fact, File, Fptr, Identified, StatedObject
from metspack.packages.files import FolderTree, PackageTree, PackedTree
from metspack.packages.metsfiles import PlainRun, has_archive, may_be_children, plain_files
from metspack.system import os

_OF_REPRESENTATIONS = frozenset({Standard.CSIP, Standard.SIARD})  # whatever the package claims
# The list of LOBs beside an archive: its lines are compared as rows.
_LOB_MANIFEST = b"manifest.txt"
_MOST_FACTS = 200
_DEEPEST = 4  # folders above a segment's
_MOST_FOLDERS, _MOST_INNER = 100_000, 10_000
_MOST_NAMES, _MOST_PACKED = 1_000, 25_000
_FEW = 100  # files beside an archive, or pieces of it
_MOST_STATED = 10  # columns of PREMIS's objects, and combinations of algorithms
_LINE = 1 << 13  # bytes that hold a line of a manifest, as a path is no longer than 4,096
_HEXADECIMAL = b"0123456789abcdef"
_ZIP, _BEHIND_SLASH = b".zip", b"0"
_PACKED = re.compile(SEGMENT.pattern.encode() + rb"\.zip")
_HELD_AT_ONCE = 1_000  # files at least
_ID_PARTS = 64
_METS, _CSIP_METS, _MAPPING = PLAIN_METS.encode(), CSIP_METS.encode(), mappingtxt.NAME.encode()
_REPRESENTATIONS = f"/{REPRESENTATIONS_FOLDER}".encode()
_GROUP = "fileGrp"
_COLUMNS = tuple(
    each.name for each in fields(File) if each.name in {"id", "checksum", "checksum_type", "href", "size"}
)
_PLAIN_FILE = {"element": "file", "groupid": None, "seq": None, "embedded": False, "others": ()}


def places(root: Path) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield METS, data folder and zip file of each segment; segments do not overlap.

    Segments are folders named like segments, at the root also zip files, and representations with more than
    an archive. A root with a METS, without manifests and such folders, is one segment.
    """
    if _is_single_segment(root):
        yield _METS, b"", b""
        return
    waiting, count = [b""], 0
    while waiting:
        folder = waiting.pop()
        below, files = _entries(root, folder)
        if folder.rpartition(b"/")[0].endswith(_REPRESENTATIONS) and _CSIP_METS in files:
            data = folder + b"/data"
            if data in below and not _has_only_archive(*_entries(root, data)):
                yield folder + b"/" + _CSIP_METS, data, b""
                continue
        count += len(below)
        if count > _MOST_FOLDERS:
            return
        packed = () if folder else filter(_PACKED.fullmatch, files)
        packs = {name.removesuffix(_ZIP): name for name in packed}
        for each, pack in sorted((packs | dict.fromkeys(below, b"")).items()):
            if SEGMENT.fullmatch(os.fsdecode(each.rpartition(b"/")[2])):
                yield each + b"/" + _METS, each, pack
            elif not pack and each.count(b"/") < _DEEPEST:
                waiting.append(each)


def _is_single_segment(root: Path) -> bool:
    """Return whether a folder has a METS, and neither manifests nor segments."""
    mets, *manifests = reading.statuses(root, (), (PLAIN_METS, *MANIFESTS.values()))
    if mets is None or any(manifests):
        return False
    below, files = _entries(root, b"")
    return not any((*map(SEGMENT.fullmatch, map(os.fsdecode, below)), *map(_PACKED.fullmatch, files)))


def _entries(root: Path, folder: bytes) -> tuple[list[bytes], list[bytes]]:
    """Return a folder's folders by path, its first files by name, and all packed segments."""
    below: list[bytes] = []
    files: list[bytes] = []
    for lot in walking.lots(root, (), folder, sizes=False):
        below += lot.folders
        if len(files) < _MOST_NAMES:
            files += lot.names
        elif _ZIP in lot.files:
            files += filter(_PACKED.fullmatch, lot.names)
    return below, files


def _has_only_archive(below: Sequence[bytes], files: Sequence[bytes]) -> bool:
    """Return whether these are the folders and files of an archive without LOBs beside it."""
    return not below and len(files) < _FEW and any(SIARD.encode() in each.lower() for each in files)


_Lot = tuple[Sequence[bytes], Sequence[bytes], Sequence[int]]
"""Paths of folders, names of files as METS has them, and their sizes."""
_Given = tuple[Callable[..., None], tuple[Any, ...]]
"""A statement of a source beside METS.

It is the method of ``SegmentSources`` that takes it, and the arguments.
"""
_Begin = Callable[..., processes.Here[_Given] | processes.Ahead[_Given]]


def agreed(look: SegmentLook, jobs: int = 1) -> Iterator[AgreedSegment | AgreedColumns]:
    """Yield a segment, then its files, if all sources agree on them.

    With several ``jobs`` other processes read all sources but METS, if there are many files.
    """
    readers = processes.ahead(jobs) if jobs > 1 and look.parts > 1 else nullcontext(processes.Here)
    with closing(OpenPacks(look.budgets)) as packs, readers as begin:
        file = FileBelow(root=look.root, segments=names_of(look.pack))
        tree = PackedTree(packs, file) if look.pack else FolderTree(look.root)
        with closing(SegmentSources(look)) as sources:
            try:
                segment = _compared(look, sources, _stated(look, tree, sources, begin))
            except TargetError:
                raise
            except (DifferenceError, OSError, MetspackError):
                return
            yield segment
            yield from sources.columns()


def _stated(look: SegmentLook, tree: PackageTree, sources: SegmentSources, begin: _Begin) -> AgreedSegment:
    """Read all sources; return the segment as METS states it."""
    beside = [begin(_files, look, tree)]

    def take_ready() -> None:
        for take, columns in chain.from_iterable(source.ready_results() for source in beside):
            take(sources, *columns)

    take_ready()  # in one process: a folder that differs by itself is read before its METS
    statements = _MetsReader(look).statements(tree)
    while isinstance(each := next(statements), File):
        beside.append(begin(_objects, look, tree, each))
    beside += (begin(_lines, look, name) for name in look.manifests)
    while not isinstance(each, AgreedSegment):
        if isinstance(each, File):
            raise DifferenceError  # invalid: metadata files are named before all others
        sources.take(each)
        take_ready()
        each = next(statements)
    for take, columns in chain.from_iterable(source.remaining_results() for source in beside):
        take(sources, *columns)
    return each


def _compared(look: SegmentLook, sources: SegmentSources, stated: AgreedSegment) -> AgreedSegment:
    folders = sources.folders
    if len({each.lower() for each in folders}) < len(folders):
        raise DifferenceError
    folded = {each.removeprefix(look.above).lower() for each in folders if each != each.lower()}
    parts = sources.parts() if folded or not sources.are_same else ()
    compared = [sources.compare(part, stated.algorithm, folded) for part in parts]
    apart = frozenset[bytes]().union(*(missing for missing, _ in compared))
    if len(apart) >= stated.files:
        raise DifferenceError
    stretches = dict[str, ManifestStretch]()
    for algorithm, stretch in sources.stretches.items():
        others = sorted(line for _, lines in compared for line in lines[algorithm])
        placed = tuple((number, look.above + name, digest) for number, name, digest in others)
        stretches[algorithm] = replace(stretch, others=placed)
    return replace(stated, folders=tuple(folders), stretches=stretches, apart=apart)


# --- METS ---------------------------------------------------------------------------------------------

_Row = tuple[str, str, int, str, int]
"""ID, place, size, digest and line of a file."""


class _MetsReader:
    """The reading of a segment's METS, which must be valid and have only plain files."""

    def __init__(self, look: SegmentLook) -> None:
        self._look = look
        self._ready: list[Statement | File] = []  # to be yielded
        self._hashers = Hashers(MANIFEST_ALGORITHMS)
        self._facts: list[Fact] = []
        self._start = 0
        self._rows: list[_Row] = []
        self._around: tuple[str, ...] = ()  # the fileGrp around these
        self._kept: list[tuple[bytes, int]] = []  # archives
        self._stems: set[str] = set()
        self._algorithms: set[str] = set()
        self._count = self._total = 0  # of the files, archives left out
        # Python's hash has a random key in each process: no document can aim at a hash or a sum.
        self._ids = [array("q") for _ in range(_ID_PARTS)]  # hashes of all, divided
        self._files_ids = self._pointed_ids = 0  # sums of hashes, each with the number above its bits
        self._pointed: set[str] = set()  # some of those that are pointed to
        self._groups: set[tuple[str, ...]] = set()
        self._division = 0
        self._are_placed = True
        self._survey = None
        if look.is_representation:
            from metspack.checking.eark.faults import Faults  # noqa: PLC0415 -- its tables are large
            from metspack.checking.eark.survey import Survey  # noqa: PLC0415

            self._survey = Survey(Faults(_OF_REPRESENTATIONS), is_package=False)

    def statements(self, tree: PackageTree) -> Iterator[Statement | File | AgreedSegment]:
        """Yield all statements, a ``File`` for each metadata file that METS names.

        Raises ``DifferenceError`` and the errors of reading.
        """
        look = self._look
        with tree.content(look.mets) as content:
            size = content.size
            yield from self._read(content)
            opening = profiles.opening(content.blocks())
        self._end_rows()
        if not self._count:
            raise DifferenceError
        if self._survey is None:
            self._ready.append((_METS, size, ""))
        else:
            self._survey.end()
        if opening.is_csip if self._survey is None else self._survey.faults:
            raise DifferenceError  # a package's METS is surveyed file by file
        self._check_ids()
        yield from self._ready
        yield AgreedSegment(
            mets=look.mets,
            data=look.data,
            pack=look.pack,
            size=size,
            digests={name: self._hashers.digest(name).value for name in MANIFEST_ALGORITHMS},
            opening=opening,
            facts=tuple(self._facts),
            files=self._count,
            total=self._total,
            algorithm=self._algorithm,
            kept=tuple((look.above + name, size) for name, size in self._kept),
            stems=frozenset(self._stems),
            outline=None if self._survey is None else self._survey.outline,
            are_placed=self._survey is not None and self._are_placed,
        )

    @property
    def _algorithm(self) -> str:
        if len(self._algorithms) != 1:
            raise DifferenceError
        return next(iter(self._algorithms))

    def _read(self, content: Content) -> Iterator[Statement | File]:
        name = os.fsdecode(self._look.mets)
        validation = schema.Validation(schema.project_grammar())
        budgets, sink = self._look.budgets, None if self._survey is None else self._survey.feed
        with References(name, budgets) as references:
            blocks = reading.blocks(self._hashers.pass_on(content.chunks()))
            with closing(validation.watched(blocks)) as watched:
                for each in condensed(
                    watched, budgets, sink=sink, validated=validation.instead, watch=references.take
                ):
                    self._take(each)
                    yield from self._ready
                    self._ready.clear()
            found = chain(validation.faults(content.blocks), references.findings(content.blocks))
            if next(found, None) is not None:
                raise DifferenceError
        if safexml.unusual_declaration(next(iter(content.chunks()), b"")):
            raise DifferenceError

    def _take(self, each: Fact | Run) -> None:
        if isinstance(each, Run) and isinstance(each.fact, Fptr):
            self._check_division(each.fact)
            self._point(list(map(str.strip, each.columns["fileid"])))
        elif isinstance(each, Run):
            is_mixed = isinstance(each.fact, File) and has_archive(each.fact, each)
            if self._survey is not None and is_mixed:
                for fact in each.facts():
                    self._take(fact)
            else:
                self._take_files(each)
        elif isinstance(each, File) and _is_file(each):
            columns = {name: (value,) for name in _COLUMNS if (value := getattr(each, name)) is not None}
            self._take_files(Run(fact=each, count=1, columns=columns, line=each.line, step=0))
        elif isinstance(each, Fptr):
            self._check_division(each)
            self._point([each.fileid.strip()])
        elif isinstance(each, StatedObject):
            raise DifferenceError
        else:
            self._keep(each)

    def _keep(self, each: Fact) -> None:
        if isinstance(each, Mptr):
            self._division = each.div
            if each.is_of_part or not each.is_upward:
                raise DifferenceError
        self._facts.append(each)
        if isinstance(each, File) and not _is_file(each):
            self._ready.append(each)
        if len(self._facts) > _MOST_FACTS:
            raise DifferenceError

    def _check_division(self, fptr: Fptr) -> None:
        """Refuse an fptr in the division of an mptr: both name one package."""
        if fptr.div and fptr.div == self._division:
            raise DifferenceError

    def _point(self, fileids: list[str]) -> None:
        self._pointed_ids += sum_of_hashes(fileids)
        if len(self._pointed) <= _MOST_FACTS:
            self._pointed.update(fileids)

    def _plain(self, run: Run) -> PlainRun:
        """Return a run of files as columns; refuse a run that may have findings."""
        is_plain = all(getattr(run.fact, name) == value for name, value in _PLAIN_FILE.items())
        if not is_plain or {"groupid", "seq"} & run.columns.keys():
            raise DifferenceError
        if not isinstance(run.fact, File) or (self._survey is None and has_archive(run.fact, run)):
            raise DifferenceError
        if self._survey is not None and not self._survey.takes(run):
            raise DifferenceError
        files = plain_files(run)
        if files is None or may_be_children(run.fact, "\n".join(run.columns["href"])):
            raise DifferenceError
        self._groups.add(run.fact.groups)
        return files

    def _take_files(self, run: Run) -> None:
        files = self._plain(run)
        self._algorithms.add(files.algorithm)
        self._add_ids(files.ids)
        self._files_ids += sum_of_hashes(files.ids)
        if isinstance(run.fact, File) and self._survey is not None and has_archive(run.fact, run):
            self._keep(run.fact)
            (name,), (size,), (digest,) = files.hrefs, files.sizes, files.digests
            self._kept.append((name.encode(), size))
            self._ready.append((name.encode(), size, digest))
            return
        if isinstance(run.fact, File) and run.fact.groups != self._around:
            self._end_rows()
            self._around = run.fact.groups
        self._count += len(files.ids)
        self._total += sum(files.sizes)
        self._stems.update(each.rstrip("0123456789") for each in files.ids)
        self._rows += zip(files.ids, files.hrefs, files.sizes, files.digests, run.lines, strict=True)
        if len(self._rows) >= _HELD_AT_ONCE:
            self._end_rows()

    def _end_rows(self) -> None:
        """Put the files that were taken so far into the ready statements."""
        if not self._rows:
            return
        ids, hrefs, sizes, digests, lines = zip(*self._rows, strict=True)
        columns = AgreedColumns(
            start=self._start,
            origin=self._start,
            ids="\n".join(ids),
            names="\0".join(hrefs).encode(),
            lines=array("q", lines),
            sizes=array("q", sizes),
            groups=self._around,
            digests={self._algorithm: bytes.fromhex("".join(digests))},
        )
        self._ready.append(columns)
        if self._survey is not None and self._are_placed:
            self._are_placed = are_placed(self._look.folder, hrefs)
        self._start, self._rows = columns.stop, []

    def _add_ids(self, ids: Iterable[str]) -> None:
        for each in map(hash, ids):
            self._ids[each % _ID_PARTS].append(each)

    def _check_ids(self) -> None:
        """Refuse repeated IDs, and fptrs that do not lead to all files or their groups."""
        named = [each for each in self._facts if isinstance(each, Identified | File) and not _is_file(each)]
        others = [(each.id or "").strip() for each in named]
        pointing = {(each.href or "").strip() for each in self._facts if isinstance(each, Mptr)}
        self._add_ids((*others, *pointing.difference(others)))
        is_any_twice = any(len(set(some)) < len(some) for some in self._ids)
        if is_any_twice or not (self._files_ids == self._pointed_ids or self._are_grouped()):
            raise DifferenceError

    def _are_grouped(self) -> bool:
        """Return whether fptrs name only groups of files, and each file is in one."""
        ids = {each.id for each in self._facts if isinstance(each, Identified) and each.element == _GROUP}
        is_all = 0 < len(self._pointed) <= _MOST_FACTS and self._pointed <= ids
        return is_all and not any(self._pointed.isdisjoint(groups) for groups in self._groups)


# --- The folder, manifests and metadata files ----------------------------------------------------------


def _files(look: SegmentLook, tree: PackageTree) -> Iterator[_Given]:
    """Yield the files in the folder."""
    files = partitions_of(FILES, look)
    for folders, names, sizes in _in_pack(look, tree) if isinstance(tree, PackedTree) else _in_folder(look):
        yield SegmentSources.take_folders, (folders,)
        yield from _parts(FILES, "", files.add(names, sizes))
    yield from _parts(FILES, "", files.rest())


def _parts(source: str, algorithms: str, parts: Iterable[Part]) -> Iterator[_Given]:
    return ((SegmentSources.take_parts, (source, algorithms, part)) for part in parts)


def _objects(look: SegmentLook, tree: PackageTree, reference: File) -> Iterator[_Given]:
    """Yield what a metadata file states; refuse a file with a finding."""
    if reference.href is None or reference.others or not uris.are_plain((reference.href,)):
        raise DifferenceError
    path = look.above + reference.href.encode()
    parts = dict[str, Partitions]()
    with tree.content(path) as content:
        for algorithms, columns in metadatafiles.objects(reference, path, content, look.above):
            if algorithms not in parts:
                parts[algorithms] = partitions_of(OBJECTS, look, algorithms)
            if max(len(parts), len(columns)) > _MOST_STATED:
                raise DifferenceError  # each has lists in memory
            yield from _parts(OBJECTS, algorithms, parts[algorithms].add(*columns))
    for algorithms, objects in parts.items():
        yield from _parts(OBJECTS, algorithms, objects.rest())


def _in_folder(look: SegmentLook) -> Iterator[_Lot]:
    """Yield the folders and files below the folder of the data."""
    folders = [look.data]
    for folder in folders:
        for lot in walking.lots(look.root, (), folder, sizes=True):
            if lot.fault or not (lot.files or lot.others) or any(kind != "d" for _, kind in lot.others):
                raise DifferenceError
            inner = folder[len(look.above) :] + b"/" if folder != look.folder else b""
            below = b"/".join(name for name, _ in lot.others).lower()
            is_read = any(each in lot.files for each in (_MAPPING, _LOB_MANIFEST)) or (
                b"mets" in lot.files and any(map(is_mets_name, lot.names))
            )
            if (inner and is_read) or not are_usual(inner.lower() + b"/".join((*_usual(lot), below))):
                raise DifferenceError
            here = list(lot.folders)
            folders += here
            yield here, [inner + name for name in lot.names] if inner else lot.names, lot.sizes
        if len(folders) > _MOST_INNER:
            raise DifferenceError


def _usual(lot: walking.Lot) -> Iterator[bytes]:
    """Yield the names to be checked for unusual characters: all except archives."""
    if SIARD.encode() in lot.files.lower():
        yield from (name for name in lot.names if SIARD.encode() not in name.lower())
    else:
        yield lot.files


def _in_pack(look: SegmentLook, pack: PackedTree) -> Iterator[_Lot]:
    """Yield the folders and files of a zip file by their paths in its one folder."""
    above, items = look.above, list(islice(pack.items(), _MOST_PACKED + 2))
    names = [each.name[len(above) :] for each in items]
    is_plain = all(each.kind == "f" and each.name.startswith(above) for each in items)
    if not is_plain or not are_usual(b"/".join(names)) or sum(map(is_mets_name, names)) != 1:
        raise DifferenceError
    if len(items) > _MOST_PACKED or pack.stray():
        raise DifferenceError
    parts = {tuple(each.name.split(b"/")[:-1]) for each in items}
    folders = sorted({b"/".join(each[:stop]) for each in parts for stop in range(2, len(each) + 1)})
    yield folders, names, [each.size or 0 for each in items]


def _lines(look: SegmentLook, algorithm: str) -> Iterator[_Given]:
    """Yield a segment's lines in a manifest; refuse lines in another form than metspack's."""
    width, above, number, lines = 2 * OCTETS[algorithm], len(look.above), 0, partitions_of(LINES, look)
    first = last = ending = b""
    with reading.opening(look.root, (MANIFESTS[algorithm],)) as descriptor:
        start, stop = (_line_of(descriptor, look.data + each, width) for each in (b"/", _BEHIND_SLASH))
        for stretch in reading.stretches(reading.blocks(reading.chunks(descriptor, start, stop))):
            *here, rest = stretch.split(b"\n")
            paths, digits = [line[width + 2 :] for line in here], b"".join([line[:width] for line in here])
            blanks = b"".join([line[width : width + 2] for line in here])
            if rest or digits.translate(None, _HEXADECIMAL) or blanks != b"  " * len(here):
                raise DifferenceError
            if NUL in stretch or any(map(ge, (last, *paths[:-1]), paths)):
                raise DifferenceError
            names = [path[above:] for path in paths]
            columns = names, cut(digits, width), range(number, number + len(names))
            yield from _parts(LINES, algorithm, lines.add(*columns))
            first, last, ending = first or paths[0], paths[-1], here[-1][:width]
            number += len(here)
    if not number:
        raise DifferenceError
    yield from _parts(LINES, algorithm, lines.rest())
    made = ManifestStretch(
        start=start, stop=stop, lines=number, first=first, last=last, ending=ending.decode()
    )
    yield SegmentSources.take_stretch, (algorithm, made)


def _line_of(descriptor: int, path: bytes, width: int) -> int:
    """Return the offset of the first line in a sorted manifest that is not before a path."""
    low, high = 0, os.fstat(descriptor).st_size
    while low < high:
        middle = (low + high) // 2
        start, found = _line_behind(descriptor, middle, high)
        if found is None or found[width + 2 :] >= path:
            high = middle
        else:
            low = start + len(found) + 1
    return low


def _line_behind(descriptor: int, at: int, stop: int) -> tuple[int, bytes | None]:
    """Return the offset of the first line that starts at ``at`` or later, and the line or None."""
    begin = max(0, at - 1)
    data = pread(descriptor, _LINE, begin)
    skipped = 0 if not at else data.find(b"\n") + 1
    if (at and not skipped) or begin + skipped >= stop:
        return at, None
    line, end, _ = data[skipped:].partition(b"\n")
    if not end:
        raise DifferenceError
    return begin + skipped, line


def _is_file(each: Fact) -> bool:
    """Return whether a fact is a ``file``, as opposed to an ``mdRef``."""
    return isinstance(each, File) and each.element == "file"
