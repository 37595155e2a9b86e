"""Reading of one segment in a worker: METS, folder, manifests, PREMIS, and whether all say the same."""

from __future__ import annotations

import os
import re
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import accumulate, chain, compress, islice, pairwise
from operator import add, eq, mul, not_
from pathlib import Path
from typing import TypeVar

from metspack import safexml, uris
from metspack.checking.catalogue import are_usual
from metspack.checking.eark import profiles
from metspack.checking.eark.document import Outline
from metspack.checking.eark.folders import are_placed
from metspack.checking.eark.requirements import Standard
from metspack.checking.files import metadatafiles
from metspack.checking.held import (
    AgreedColumns,
    AgreedSegment,
    LookedAt,
    ManifestStretch,
    SegmentLook,
    StatedFiles,
)
from metspack.checking.mets import schema
from metspack.checking.mets.documents import sum_of_hashes
from metspack.checking.mets.references import References
from metspack.checking.options import Looking
from metspack.checking.segments import Agreement
from metspack.containers.ipreader import Content, OpenPacks
from metspack.digests import MANIFEST_ALGORITHMS, MANIFESTS, OCTETS, Hashers
from metspack.errors import MetspackError
from metspack.files import pread, reading, walking
from metspack.files.byteranges import Below
from metspack.layouts.names import SEGMENT, SIARD
from metspack.locations import mappingtxt
from metspack.mets import CSIP_METS, PLAIN_METS, REPRESENTATIONS_FOLDER, is_mets_name
from metspack.mets.fastreader import Run, Sink, SinkBeside, condensed
from metspack.mets.links import Mptr
from metspack.mets.reader import Fact, File, Fptr, Identified, Root, StatedObject
from metspack.packages.files import FolderTree, PackedTree, names_of
from metspack.packages.metsfiles import PlainRun, has_archive, may_lead, plain_files

MOST_FILES = 125_000
"""Files of a segment that is looked at in one go, whose names are held in memory."""

LARGE = 4 << 20
"""Bytes of a METS from which on it may list more files than are to be held in memory."""

_MOST_EXTENTS, _MOST_INNER = 50_000, 10_000
_MOST_APART = 1_000
_EARK = "dilcis.eu"
_OF_REPRESENTATIONS = frozenset({Standard.CSIP, Standard.SIARD})  # whatever the package claims
# The list of an archive's LOBs: files are held against it.
_LOB_MANIFEST = b"manifest.txt"
_MOST_FACTS = 200
_DEEPEST = 4  # folders above a segment's
_MOST_FOLDERS = 100_000
_MOST_NAMES = 1_000
_MOST_PACKED = 25_000
_FEW = 100  # files beside an archive, or pieces of it
_LINES_AT_ONCE = 1_000
_LINE = 1 << 13  # bytes that hold a line of a manifest, as a path is no longer than 4,096
_HEXADECIMAL = b"0123456789abcdef"
_ZIP = b".zip"
_PACKED = re.compile(SEGMENT.pattern.encode() + rb"\.zip")
_HELD_AT_ONCE = 1_000  # files at least
_METS, _CSIP_METS, _MAPPING = PLAIN_METS.encode(), CSIP_METS.encode(), mappingtxt.NAME.encode()
_REPRESENTATIONS = f"/{REPRESENTATIONS_FOLDER}".encode()
_GROUP = "fileGrp"
_COLUMNS = tuple(
    each.name for each in fields(File) if each.name in {"id", "checksum", "checksum_type", "href", "size"}
)
_PLAIN_FILE = {"element": "file", "groupid": None, "seq": None, "embedded": False, "others": ()}
_Value = TypeVar("_Value")


class _OddError(Exception):
    """Something of a segment is to be looked at closely."""


def places(root: Path) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield METS, folder of the data and zip file of each segment, none of which is in another one.

    Those are folders that are called as segments are, at the root also in zip files, and representations
    that have more than an archive.
    """
    waiting, count = [b""], 0
    while waiting:
        folder = waiting.pop()
        below, files = _entries(root, folder)
        if folder.rpartition(b"/")[0].endswith(_REPRESENTATIONS) and _CSIP_METS in files:
            data = folder + b"/data"
            if data in below and not _is_archive_alone(*_entries(root, data)):
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


def _entries(root: Path, folder: bytes) -> tuple[list[bytes], list[bytes]]:
    """Return the paths of the folders in a folder, and names of files: of many some, and packed segments."""
    below: list[bytes] = []
    files: list[bytes] = []
    for lot in walking.lots(root, (), folder, sizes=False):
        below += lot.folders
        if len(files) < _MOST_NAMES:
            files += lot.names
        elif _ZIP in lot.files:
            files += filter(_PACKED.fullmatch, lot.names)
    return below, files


def _is_archive_alone(below: Sequence[bytes], files: Sequence[bytes]) -> bool:
    """Return whether a folder with these folders and files has no LOBs beside its archive."""
    return not below and len(files) < _FEW and any(SIARD.encode() in each.lower() for each in files)


def look_at(look: SegmentLook, _moved: Callable[[int], None]) -> LookedAt | None:
    """Return what all says alike of a segment, None for one that is to be looked at closely."""
    with closing(OpenPacks(look.budgets)) as packs:
        return _settled(_SegmentReader(look, packs).agreed)


def _settled(reading_all: Callable[[], _Value]) -> _Value | None:
    """Return what a function gives, None when it finds anything odd."""
    try:
        return reading_all()
    except (_OddError, OSError, MetspackError, safexml.XmlError):
        return None


@dataclass(slots=True)
class _SizedNames:
    """Files of any number by their names and sizes, as sums in which each name counts by its hash."""

    count: int = 0
    bytes: int = 0
    names: int = 0
    sizes: int = 0

    def add(self, before: str, names: Sequence[str], sizes: Sequence[int]) -> None:
        """Count files, whose names begin with ``before``."""
        hashes = [hash(before + name) for name in names] if before else list(map(hash, names))
        self.count += len(hashes)
        self.bytes += sum(sizes)
        self.names += sum(hashes)
        self.sizes += sum(map(mul, hashes, sizes))


_Row = tuple[str, str, int, str, int]
"""ID, place, size, digest and line of a file."""

_Identifier = tuple[int, str]
"""The length of an ID, and the ID."""


class _SegmentReader:
    """One segment, as its METS and its folder have it; what is known of many files is held as texts.

    Of a large one nothing is held: sums of hashes are compared in place of names and IDs.
    """

    def __init__(self, look: SegmentLook, packs: OpenPacks) -> None:
        self._look = look
        file = Below(root=look.root, segments=names_of(look.pack))
        self._tree = PackedTree(packs, file) if look.pack else FolderTree(look.root)
        self._hashers = Hashers(MANIFEST_ALGORITHMS)
        self._above = look.folder + b"/" if look.folder else b""
        self._facts: list[Fact] = []
        self._folders: list[bytes] = []
        self._is_large = look.is_large
        self._most, self._start = sys.maxsize if look.is_large else MOST_FILES, 0
        self._rows: list[_Row] = []
        self._around: tuple[str, ...] = ()  # the fileGrp around these
        self._held: list[AgreedColumns] = []
        self._kept: list[AgreedColumns] = []  # archives, one by one
        self._extents: list[tuple[_Identifier, _Identifier]] = []  # the least and the last ID of each run
        self._in_mets, self._on_disk = _SizedNames(), _SizedNames()
        self._stems: set[str] = set()
        self._stated = StatedFiles(names=(), sizes=array("q"), digests={})
        self._algorithms: set[str] = set()
        self._count = self._total = 0  # of the files, archives left out
        self._files_ids = self._pointed_ids = 0  # sums of hashes
        self._pointed: set[str] = set()  # some of those that are pointed to
        self._groups: set[tuple[str, ...]] = set()
        self._apart: set[bytes] = set()
        self._division = 0
        self._survey = None
        if look.is_representation:
            from metspack.checking.eark.faults import Faults  # noqa: PLC0415 -- its tables are large
            from metspack.checking.eark.package import Survey  # noqa: PLC0415

            self._survey = Survey(Faults(_OF_REPRESENTATIONS), is_package=False)

    def agreed(self) -> LookedAt:
        """Return what all says alike; raises ``_OddError`` and whatever reading raises."""
        look = self._look
        with self._tree.content(look.mets) as content:
            size = content.size
            self._read(content)
            opening = profiles.opening(content.blocks())
        self._end_rows()
        stretches: tuple[ManifestStretch, ...] = ()
        if look.of_folder:
            self._check_ids()
            self._check_folder(size)
        if look.of_statements:
            self._stated = self._all_stated()
            stretches = () if look.pack else tuple(self._stretches(self._stated))
            self._check_metadata(self._stated)
        segment = AgreedSegment(
            mets=look.mets,
            data=look.data,
            pack=look.pack,
            size=size,
            own={name: self._hashers.digest(name).value for name in MANIFEST_ALGORITHMS},
            opening=opening,
            facts=tuple(self._facts),
            folders=tuple(self._folders),
            files=self._count,
            total=self._total,
            algorithm=_only(self._algorithms),
            kept=tuple((self._above + each.names, each.sizes[0]) for each in self._kept),
            stems=frozenset(self._stems),
            stretches=stretches,
            outline=self._outline() if look.of_folder else None,
            are_placed=look.of_folder
            and self._survey is not None
            and are_placed(look.folder, self._held_names()),
            apart=frozenset(self._apart),
        )
        return segment, tuple(self._columns()) if look.of_statements else ()

    def columns(self) -> Iterator[AgreedColumns]:
        """Yield the files of a METS that was looked at before, without looking at anything else."""
        self._is_large, self._most = False, sys.maxsize
        with self._tree.content(self._look.mets) as content:
            for each in condensed(content.blocks(), self._look.budgets):
                if isinstance(each, Run | File):
                    self._take(each)
                    held, self._held = self._held, []
                    yield from held
        self._end_rows()
        yield from self._held

    def _held_names(self) -> Iterator[str]:
        """Yield the names of all files but archives."""
        return (name for each in self._held for name in each.names.decode().split("\0"))

    def _all_stated(self) -> StatedFiles:
        """Return all files as METS has them, archives behind the others."""
        everything = [*self._held, *self._kept]
        algorithm, sizes = _only(self._algorithms), array("q")
        for each in everything:
            sizes += each.sizes
        return StatedFiles(
            names=[name for each in everything for name in each.names.split(b"\0")],
            sizes=sizes,
            digests={algorithm: b"".join(each.digests[algorithm] for each in everything)},
        )

    def _columns(self) -> Iterator[AgreedColumns]:
        """Yield all files but archives, with all that is stated of them."""
        for each in self._held:
            stated = self._stated.digests.items()
            digests = {
                name: text[each.start * OCTETS[name] : each.stop * OCTETS[name]] for name, text in stated
            }
            yield replace(each, digests=digests)

    # --- METS -------------------------------------------------------------------------------------------

    def _read(self, content: Content) -> None:
        """Read the METS, which is valid and plain: whoever looks at the folder makes sure of that."""
        if not self._look.of_folder:
            for each in condensed(reading.blocks(content.chunks(), self._hashers.update), self._look.budgets):
                self._take(each)
            return
        name = os.fsdecode(self._look.mets)
        validation = schema.Validation(schema.own(), name)
        with References(name) as references:
            sinks = [references.take, *([] if self._survey is None else [self._survey.elements.feed])]
            sink = SinkBeside(told=partial(_feed_all, sinks), validated=validation.instead)
            blocks = reading.blocks(content.chunks(), self._hashers.update)
            with closing(validation.watched(blocks)) as watched:
                for each in condensed(watched, self._look.budgets, sink=sink):
                    self._take(each)
            _none(validation.findings(content.blocks))
            _none(references.findings(content.blocks))
        if safexml.unusual_declaration(next(iter(content.chunks()), b"")):
            raise _OddError

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
        elif isinstance(each, File) and each.element == "file":
            columns = {name: (value,) for name in _COLUMNS if (value := getattr(each, name)) is not None}
            run = Run(fact=each, count=1, columns=columns, line=each.line, step=0)
            self._take_files(run)
        elif isinstance(each, Fptr):
            self._check_division(each)
            self._point([each.fileid.strip()])
        elif isinstance(each, StatedObject):
            raise _OddError
        else:
            if isinstance(each, Mptr):
                self._division = each.div
            self._keep(each)
            if isinstance(each, Mptr) and (each.is_of_part or not each.is_upward):
                raise _OddError

    def _keep(self, each: Fact) -> None:
        is_eark = isinstance(each, Root) and _EARK in (each.profile or "").lower()
        if self._is_large and (is_eark or isinstance(each, File)):
            raise _OddError  # folders are held against METS then, or a metadata file against the files
        self._facts.append(each)
        if len(self._facts) > _MOST_FACTS:
            raise _OddError

    def _check_division(self, fptr: Fptr) -> None:
        """Refuse an fptr beside an mptr: both name one package."""
        if fptr.div and fptr.div == self._division:
            raise _OddError

    def _point(self, fileids: list[str]) -> None:
        self._pointed_ids += sum_of_hashes(fileids)
        if len(self._pointed) <= _MOST_FACTS:
            self._pointed.update(fileids)

    def _plain(self, run: Run) -> PlainRun:
        """Return what is kept of files of which nothing is to be said."""
        is_plain = all(getattr(run.fact, name) == value for name, value in _PLAIN_FILE.items())
        if not is_plain or {"groupid", "seq"} & run.columns.keys():
            raise _OddError
        if not isinstance(run.fact, File) or (self._survey is None and has_archive(run.fact, run)):
            raise _OddError
        if self._survey is not None and not self._survey.takes(run):
            raise _OddError
        files = plain_files(run)
        if files is None or may_lead(run.fact, "\n".join(run.columns["href"])):
            raise _OddError
        self._groups.add(run.fact.groups)
        return files

    def _take_files(self, run: Run) -> None:
        files = self._plain(run)
        ids = files.ids
        rows = list(zip(ids, files.hrefs, files.sizes, files.digests, run.lines, strict=True))
        self._in_mets.add("", files.hrefs, files.sizes)
        ordered = list(zip(map(len, ids), ids, strict=True))
        self._extents.append((min(ordered), max(ordered)))
        if len(set(ids)) < len(ids) or len(self._extents) > _MOST_EXTENTS:
            raise _OddError
        self._files_ids += sum_of_hashes(ids)
        self._algorithms.add(files.algorithm)
        self._hold(run, rows)

    def _hold(self, run: Run, rows: list[_Row]) -> None:
        """Hold what METS says of some files."""
        if self._in_mets.count > self._most:
            raise _OddError
        if self._survey is not None and isinstance(run.fact, File) and has_archive(run.fact, run):
            self._keep(run.fact)
            self._kept.append(self._packed(rows, ()))
            return
        self._count += len(rows)
        self._total += sum(each[2] for each in rows)
        if self._is_large:
            return
        if isinstance(run.fact, File) and run.fact.groups != self._around:
            self._end_rows()
            self._around = run.fact.groups
        self._stems.update(each[0].rstrip("0123456789") for each in rows)
        self._rows += rows
        if len(self._rows) >= _HELD_AT_ONCE:
            self._end_rows()

    def _packed(self, rows: list[_Row], groups: tuple[str, ...]) -> AgreedColumns:
        ids, names, sizes, digests, lines = zip(*rows, strict=True)
        return AgreedColumns(
            start=self._start,
            origin=self._start,
            ids="\n".join(ids),
            names="\0".join(names).encode(),
            lines=array("q", lines),
            sizes=array("q", sizes),
            groups=groups,
            digests={_only(self._algorithms): bytes.fromhex("".join(digests))},
        )

    def _end_rows(self) -> None:
        if self._rows:
            self._held.append(self._packed(self._rows, self._around))
            self._start, self._rows = self._held[-1].stop, []

    def _check_ids(self) -> None:
        """Refuse an ID that occurs twice, and fptrs that are not of the files, one of each, or groups."""
        is_pointed = self._files_ids == self._pointed_ids or self._are_grouped()
        are_apart = self._are_apart_in_order() or (not self._is_large and self._are_apart())
        if not (self._count and is_pointed and are_apart):
            raise _OddError

    def _others(self) -> list[str]:
        """Return the IDs of other elements; refuses one that occurs twice."""
        named = [each for each in self._facts if isinstance(each, Identified | File) and not _is_file(each)]
        others = [(each.id or "").strip() for each in named]
        if len(set(others)) < len(others):
            raise _OddError
        return others + [(each.href or "").strip() for each in self._facts if isinstance(each, Mptr)]

    def _are_apart_in_order(self) -> bool:
        """Return whether no ID of a file is another's, as all of a run come before those of the next."""
        apart = [(key, key) for each in set(self._others()) for key in ((len(each), each),)]
        extents = sorted((*self._extents, *apart))
        return all(one[1] < two[0] for one, two in pairwise(extents))

    def _are_apart(self) -> bool:
        """Return whether no ID of a file is another's, in whatever order they come."""
        ids = [name for each in (*self._held, *self._kept) for name in each.ids.split("\n")]
        distinct = set(ids)
        return len(distinct) == len(ids) and distinct.isdisjoint(self._others())

    def _are_grouped(self) -> bool:
        """Return whether all that is pointed to are groups of files, one of which each file is in."""
        known = {each.id for each in self._facts if isinstance(each, Identified) and each.element == _GROUP}
        is_all = len(self._pointed) <= _MOST_FACTS and self._pointed <= known
        return is_all and not any(self._pointed.isdisjoint(groups) for groups in self._groups)

    def _outline(self) -> Outline | None:
        """Return the outline of a representation's METS, of which there is nothing to be said."""
        if self._survey is None:
            return None
        if (outline := self._survey.sound_outline()) is None:
            raise _OddError
        return outline

    # --- The folder -------------------------------------------------------------------------------------

    def _check_folder(self, size: int) -> None:
        """Compare the files in a folder with those that METS lists, by names and sizes, and with the METS."""
        if self._survey is None:
            self._in_mets.add("", [PLAIN_METS], [size])
        tree = self._tree
        listed: list[tuple[list[str], Sequence[int]]] = []
        for each in self._listed_in_pack(tree) if isinstance(tree, PackedTree) else self._listed():
            self._on_disk.add("", *each)
            if not self._is_large:
                listed.append(each)
        if self._on_disk != self._in_mets:
            self._compare(chain.from_iterable(zip(*each, strict=True) for each in listed))
        if not self._are_folders_apart():
            raise _OddError

    def _compare(self, files: Iterable[tuple[str, int]]) -> None:
        """Find the files that are missing in the folder; refuses any other difference, and very many."""
        on_disk = dict(files)
        names = [name for each in (*self._held, *self._kept) for name in each.names.split(b"\0")]
        if len(set(names)) < len(names):
            raise _OddError
        if (self._survey is None and on_disk.pop(PLAIN_METS, None) is None) or self._look.pack:
            raise _OddError  # nor are the names of a large one kept to be compared
        for each in self._held:
            for name, size in zip(each.names.split(b"\0"), each.sizes, strict=True):
                if (found := on_disk.pop(os.fsdecode(name), None)) == size:
                    continue
                is_inside = (self._above + name).startswith(self._look.data + b"/")
                if found is not None or not is_inside:
                    raise _OddError
                self._apart.add(name)
        is_any_kept = any(on_disk.pop(each.names.decode(), None) != each.sizes[0] for each in self._kept)
        if on_disk or is_any_kept or len(self._apart) > min(_MOST_APART, self._count - 1):
            raise _OddError

    def _are_folders_apart(self) -> bool:
        """Return whether no folder is called like another entry but for letter case."""
        places = [os.fsdecode(each.removeprefix(self._above)).rpartition("/") for each in self._folders]
        small = {f"{above}{slash}{name.lower()}" for above, slash, name in places}
        is_once = len(small) == len(places)
        return is_once and small.isdisjoint(self._held_names())

    def _listed(self) -> Iterator[tuple[list[str], array[int]]]:
        """Yield the files in the folder and below it, by their places in METS, and their sizes."""
        folders = [self._look.data]
        for folder in folders:
            for lot in walking.lots(self._look.root, (), folder, sizes=True):
                if lot.fault or lot.is_empty or any(kind != "d" for _, kind in lot.others):
                    raise _OddError
                folders += lot.folders
                inner = folder[len(self._above) :] + b"/" if folder != self._look.folder else b""
                below = b"/".join(name for name, _ in lot.others).lower()
                is_read = any(each in lot.files for each in (_MAPPING, _LOB_MANIFEST)) or (
                    b"mets" in lot.files and any(map(is_mets_name, lot.names))
                )
                if (inner and is_read) or not are_usual(inner.lower() + b"/".join((*_usual(lot), below))):
                    raise _OddError
                here = os.fsdecode(lot.files).split("/") if lot.files else []
                before = os.fsdecode(inner)
                yield ([before + name for name in here] if before else here), lot.sizes
            if len(folders) > _MOST_INNER:
                raise _OddError
        self._folders = folders[1:]

    def _listed_in_pack(self, pack: PackedTree) -> Iterator[tuple[list[str], Sequence[int]]]:
        """Yield all entries of a zip file, which are files in its one folder, by their paths from there."""
        items = list(islice(pack.items(), _MOST_PACKED + 2))
        names = [each.name[len(self._above) :] for each in items]
        is_plain = all(each.kind == "f" and each.name.startswith(self._above) for each in items)
        if not is_plain or not are_usual(b"/".join(names)) or sum(map(is_mets_name, names)) != 1:
            raise _OddError
        if len(items) > _MOST_PACKED or pack.stray():
            raise _OddError
        parts = {tuple(each.name.split(b"/")[:-1]) for each in items}
        self._folders = sorted({b"/".join(each[:stop]) for each in parts for stop in range(2, len(each) + 1)})
        yield [os.fsdecode(name) for name in names], [each.size or 0 for each in items]

    # --- Manifests --------------------------------------------------------------------------------------

    def _stretches(self, stated: StatedFiles) -> Iterator[ManifestStretch]:
        """Yield the lines of the files in each manifest, which are as we write them; keeps their digests.

        Those of missing files are no part of it, whatever they are.
        """
        names, own = stated.names, len(stated.names)  # the number of the METS, behind those of files
        names = [*names, _METS] if self._survey is None else names
        places = sorted(range(len(names)), key=names.__getitem__)
        in_order = sorted(range(len(places)), key=places.__getitem__)
        gone = {number for number, name in enumerate(names) if name in self._apart} if self._apart else set()
        are_gone = [place in gone for place in places]
        kept = range(own - len(self._kept), own)
        are_out = [gone or place in kept for place, gone in zip(places, are_gone, strict=True)]
        for algorithm in self._look.manifests:
            octets = OCTETS[algorithm]
            lines = _lines(self._look.root, algorithm, [self._above + names[place] for place in places])
            digests = bytes.fromhex(b"".join([lines.digits[each] for each in in_order]).decode())
            known = stated.digests.setdefault(algorithm, digests[: own * octets])
            numbers = range(own) if known != digests[: own * octets] else ()
            cuts = (slice(each * octets, (each + 1) * octets) for each in numbers if each not in gone)
            starts = compress(lines.starts, map(not_, are_gone))
            if any(known[cut] != digests[cut] for cut in cuts) or min(starts, default=0) < 0:
                raise _OddError
            yield from lines.stretches(algorithm, are_out, places.index(own) if own < len(names) else -1)

    # --- Metadata files ---------------------------------------------------------------------------------

    def _check_metadata(self, stated: StatedFiles) -> None:
        """Refuse metadata files of which anything is to be said, or that say anything else of the files."""
        for each in self._facts:
            if not isinstance(each, File) or _is_file(each):
                continue
            if each.href is None or each.others or not uris.are_plain((each.href,)):
                raise _OddError
            path = self._above + each.href.encode()
            with self._tree.content(path) as content:
                if not metadatafiles.is_agreed(each, path, content, self._above, stated):
                    raise _OddError


def _usual(lot: walking.Lot) -> Iterator[bytes]:
    """Yield the names of files that are to be like those that metspack gives: of all but archives."""
    if SIARD.encode() in lot.files.lower():
        yield from (name for name in lot.names if SIARD.encode() not in name.lower())
    else:
        yield lot.files


def _feed_all(sinks: Iterable[Sink], block: bytes) -> None:
    for sink in sinks:
        sink(block)


@dataclass(slots=True)
class _Lines:
    """The lines of paths in a manifest: digests, beginnings, lengths; -1 where none is as we write it."""

    paths: Sequence[bytes]
    digits: list[bytes]
    starts: array[int]
    lengths: array[int]

    def stretches(self, algorithm: str, are_gone: Sequence[bool], mets: int) -> Iterator[ManifestStretch]:
        """Yield the stretches of lines without a gap, of the paths that are not gone."""
        paths = self.paths
        stops = map(add, self.starts, self.lengths)
        goes_on = [False, *map(eq, self.starts[1:], stops)]
        are_in = [not gone for gone in are_gone]
        breaks = [at for at, is_in in enumerate(are_in) if not (is_in and goes_on[at] and are_in[at - 1])]
        for first, behind in pairwise((*breaks, len(paths))):
            if are_in[first]:
                last = behind - 1
                yield ManifestStretch(
                    algorithm=algorithm,
                    start=self.starts[first],
                    stop=self.starts[last] + self.lengths[last],
                    lines=behind - first,
                    first=paths[first],
                    last=paths[last],
                    mets=mets - first if first <= mets < behind else -1,
                    digest=self.digits[mets].decode() if first <= mets < behind else "",
                    ending=self.digits[last].decode(),
                )


def _lines(root: Path, algorithm: str, paths: Sequence[bytes]) -> _Lines:
    """Return the lines of paths, which are in order, in a manifest."""
    octets = OCTETS[algorithm]
    found = _Lines(paths, [], array("q"), array("q"))
    with reading.opening(root, (MANIFESTS[algorithm],)) as descriptor:
        at = _line_of(descriptor, paths[0], 2 * octets)
        for first in range(0, len(paths), _LINES_AT_ONCE):
            ends = [b"  " + path for path in paths[first : first + _LINES_AT_ONCE]]
            lengths = [2 * octets + len(end) + 1 for end in ends]
            stop = at + sum(lengths)
            digits = _digests_of(b"".join(reading.chunks(descriptor, at, stop)), ends, octets)
            if digits is None:
                _take_one_by_one(descriptor, at, found, octets)
                break
            found.digits += digits
            found.starts.extend(accumulate(lengths[:-1], initial=at))
            found.lengths.extend(lengths)
            at = stop
    return found


def _take_one_by_one(descriptor: int, at: int, found: _Lines, octets: int) -> None:
    """Take the lines from one on, of which some are not as we write them, or of other paths."""
    paths = found.paths
    none = b"0" * (2 * octets)
    left = dict(zip(paths[len(found.starts) :], range(len(found.starts), len(paths)), strict=True))
    found.digits += [none] * len(left)
    found.starts.extend([-1] * len(left))
    found.lengths.extend([0] * len(left))
    last = b""
    for line in reading.lines(reading.blocks(reading.chunks(descriptor, at))):
        path = line[2 * octets + 2 : -1]
        if path <= last:
            raise _OddError
        last = path
        if (number := left.pop(path, None)) is not None:
            digits = _digests_of(line, [b"  " + path], octets)
            if digits is None:
                left[path] = number
            else:
                found.digits[number], found.starts[number], found.lengths[number] = digits[0], at, len(line)
        elif path > paths[-1]:
            break
        at += len(line)


def _line_of(descriptor: int, path: bytes, width: int) -> int:
    """Return where a path's line begins in a manifest whose paths are in order, or that of the next one."""
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
    """Return the first line that begins at ``at`` or behind it, and where; None when none does so in time."""
    begin = max(0, at - 1)
    data = pread(descriptor, _LINE, begin)
    skipped = 0 if not at else data.find(b"\n") + 1
    if (at and not skipped) or begin + skipped >= stop:
        return at, None
    line, end, _ = data[skipped:].partition(b"\n")
    if not end:
        raise _OddError
    return begin + skipped, line


def _digests_of(lines: bytes, ends: Sequence[bytes], octets: int) -> list[bytes] | None:
    """Return the digests of lines, or None unless all are a digest each, two spaces and a path."""
    *found, rest = lines.split(b"\n")
    if rest or [line[2 * octets :] for line in found] != ends:
        return None
    digits = [line[: 2 * octets] for line in found]
    together = b"".join(digits)
    is_plain = len(together) == 2 * octets * len(ends) and not together.translate(None, _HEXADECIMAL)
    return digits if is_plain else None


def _only(values: set[_Value]) -> _Value:
    """Return the one value; raises ``_OddError`` when there are others."""
    if len(values) != 1:
        raise _OddError
    return next(iter(values))


def _none(findings: Iterator[object]) -> None:
    """Raise ``_OddError`` when there is anything to be said."""
    if next(findings, None) is not None:
        raise _OddError


def _is_file(each: Fact) -> bool:
    """Return whether a fact is of a file, not of a document of metadata."""
    return isinstance(each, File) and each.element == "file"


def look_at_package(root: Path, looking: Looking, agreement: Agreement) -> None:
    """Look at a package of one METS and no manifests that is too large to be held in memory.

    Where all agrees it becomes one segment. At none where bytes are to be read, or less or more is asked for.
    """
    if looking.level.hashes or not looking.is_of_every_file:
        return
    try:
        status, *others = reading.statuses(root, (), (PLAIN_METS, *MANIFESTS.values()))
    except OSError:
        return  # it is told where the package is walked
    if status is None or status[0] < LARGE or others != [None] * len(others):
        return
    look = SegmentLook(root=root, mets=_METS, data=b"", manifests=(), budgets=looking.budgets, is_large=True)
    with closing(OpenPacks(look.budgets)) as packs:
        if (found := _settled(_SegmentReader(look, packs).agreed)) is not None:
            agreement.take_package(found[0], partial(_columns, look))


def _columns(look: SegmentLook) -> Iterator[AgreedColumns]:
    """Yield the files of a METS that was looked at before."""
    with closing(OpenPacks(look.budgets)) as packs:
        yield from _SegmentReader(look, packs).columns()
