"""Read a package as a source of LOBs: those of its archive's cells, proven by the digests in METS.

``lobstream.LobReader`` proves parts, wholes and cells in the same pass in which LOBs are copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import TypeVar

from metspack.containers.ipreader import Compressed
from metspack.digests import OCTETS
from metspack.errors import SourceError
from metspack.files import reading
from metspack.files.byteranges import FileRange, HeldMedium, Medium
from metspack.files.threads import ThreadedHashers
from metspack.layouts import LAYOUTS
from metspack.layouts.names import whole_of
from metspack.limits import Budgets
from metspack.locations.packedsegments import Packed
from metspack.mets import links
from metspack.mets.notes import history
from metspack.model import (
    LONGEST,
    SMALL,
    Digest,
    Extent,
    FileExtent,
    LobCell,
    LobPlace,
    LobRef,
    LobRun,
    Notice,
    Proofs,
    RunShared,
    ZipExtent,
)
from metspack.packages import package as packages_package
from metspack.packages.cells import archive_place, from_root, grants, is_place
from metspack.packages.lobs import ANOTHER, HeldLob, HeldPart, ListedFile, needed_place
from metspack.packages.package import Package
from metspack.packages.selection import Selection
from metspack.progress import Progress
from metspack.siard.metadata import Table
from metspack.siard.tables import Tally
from metspack.sizes import counted
from metspack.sources.archive import Archive, FoundLobs, LostLob, extension_of, in_runs, raising
from metspack.sources.lobstream import ByteSources
from metspack.sources.mediatypes import DEFAULT, is_media_type
from metspack.sources.opening import LooseLobs
from metspack.uris import shown


class ListedLobs:
    """The LOBs in a package's METS, by file; the index records those that cells name.

    They are those whose ids consist of ``prefix`` and a place, or with None no LOBs. ``root`` is the number
    of the granted root with the package's files; ``entries`` returns the entries of packed segments for a
    file's names below that root.
    """

    def __init__(self, package: Package, root: int, entries: Entries, prefix: str | None = "") -> None:
        self.package = package
        self.prefix = prefix or ""
        self._root = root
        self._entries = entries
        self._lists_none = prefix is None
        self.unproven = 0
        self.unmapped = 0
        self.doubt = ""

    def listed_whole(self, places: Sequence[str], paths: Sequence[str]) -> list[ListedFile]:
        """Return the listed files of LOBs that are one unshared file each, at these paths.

        The list is empty unless all are so, with digests that can be computed.
        """
        ids = [self.prefix + place for place in places]
        listed = {} if self._is_listed_twice else self.package.listed_files(ids)
        files = [listed[lob] for lob in ids if lob in listed]
        are_plain = all(file.algorithm in OCTETS for file in files)
        if not are_plain or [file.path for file in files] != paths:
            return []
        self.package.index.note_named(ids)
        return files

    @cached_property
    def _is_listed_twice(self) -> bool:
        return self.package.index.is_listed_twice()

    def others(self, selection: Selection) -> Iterator[str]:
        """Yield the ids of the selected LOBs in METS that no cell has named yet."""
        for lob in self._listed(unnamed=True):
            if selection.takes(lob.removeprefix(self.prefix)):
                yield lob

    def ids(self) -> Iterator[str]:
        """Yield the ids of the LOBs that METS lists, without their prefix."""
        for lob in self._listed():
            yield lob.removeprefix(self.prefix)

    def _listed(self, *, unnamed: bool = False) -> Iterator[str]:
        prefixes = set(map(self.package.index.prefix, self.package.archives)) - {""}
        for lob in () if self._lists_none else self.package.ids(unnamed=unnamed):
            prefix, _ = links.split_prefix(lob)
            if prefix == self.prefix or (not self.prefix and prefix not in prefixes):
                yield lob

    def proofs(self, held: HeldLob) -> Proofs:
        """Return those digests of a LOB in METS that can be computed."""
        if held.doubt:
            self.unmapped += 1
            self.doubt = self.doubt or held.doubt
        digests = [self._usable(part.digest) for part in held.parts]
        if not held.is_split:
            return Proofs(whole=digests[0])
        # Proven parts, all of them in the map, prove a whole whose digest METS lacks.
        whole = None if held.digest is None and held.is_mapped and all(digests) else self._usable(held.digest)
        return Proofs(whole=whole, extents=tuple(digests))

    def _usable(self, digest: Digest | None) -> Digest | None:
        if digest is not None and digest.algorithm in OCTETS:
            return digest
        self.unproven += 1
        return None

    def found(self, lobs: Iterable[str]) -> FoundLobs:
        """Return LOBs that only METS names, and the errors about unreadable ones."""
        return _found(self._reference, ((lob, lob) for lob in lobs))

    def _reference(self, lob: str) -> LobRef:
        held = self.package.lob(lob)
        name = held.parts[0].name
        return LobRef(
            cell=LobCell(place=needed_place(held.id.removeprefix(self.prefix)), file=name),
            size=held.size,
            extension=extension_of(whole_of(name) if held.is_split else name),
            media_type=held.media_type or DEFAULT,
            extents=tuple(self._extent(held.id, part) for part in held.parts),
            proofs=self.proofs(held),
            recorded=_media_type(held.media_type),
        )

    def _extent(self, lob: str, part: HeldPart) -> Extent:
        files = self.package.index.files
        with files.opened_part(lob, part) as medium:
            size, stamp = medium.size, medium.stamps[0]
        place = files.place(part.path)
        if isinstance(place, Compressed):
            return next(each for each in self._entries(part.path) if replace(each, archive=0) == place.entry)
        file = place.file if isinstance(place, FileRange) else place
        return FileExtent(
            root=self._root + files.roots[file.root],
            path=file.segments,
            size=size,
            modified=stamp.modified,
            inode=stamp.inode,
            device=stamp.device,
            offset=place.offset if isinstance(place, FileRange) else None,
        )

    def remarks(self) -> Iterator[Notice]:
        """Yield warnings about bytes without a proof in METS."""
        if self.doubt:
            yield Notice("split-order-unproven", self.doubt)
        if self.unmapped > 1:
            yield Notice(
                "split-order-unproven",
                f"{counted(self.unmapped - 1, 'more split LOB')} that no SPLITLOB structMap names",
            )
        if self.unproven:
            yield Notice(
                "digest-absent",
                f"{counted(self.unproven, 'digest')} that METS does not give, or by an algorithm that cannot "
                "be computed here: those bytes are verified by their cells alone",
            )


_Stated = TypeVar("_Stated")


def _found(find: Callable[[_Stated], LobRef], lobs: Iterable[tuple[str, _Stated]]) -> FoundLobs:
    """Return the results of ``find`` for LOBs, given with their ids, and the errors it raises."""
    found: list[LobRef] = []
    lost: list[LostLob] = []
    for lob, stated in lobs:
        try:
            found.append(find(stated))
        except SourceError as error:
            lost.append((lob, error))
    return FoundLobs(list(in_runs(found)), lost)


Entries = Callable[[tuple[str, ...]], list[ZipExtent]]

_Listed = tuple[str, LobPlace, ListedFile | None]
"""A LOB's id, its place and, if it is exactly one file, that file in METS."""


def _likeness(listed: _Listed) -> tuple[object, ...] | None:
    """Return the values that LOBs of a run share, or None for a LOB that is no small file."""
    _, place, file = listed
    if file is None or file.size > SMALL or file.algorithm not in OCTETS:
        return None
    folder, _, name = file.path.rpartition("/")
    kind = extension_of(name), file.media_type, file.algorithm
    return place.schema, place.table, place.cell, folder, *kind


def _media_type(listed: str | None) -> str | None:
    """Return a media type in METS, or None for a malformed one or the default."""
    media_type = (listed or "").strip()
    return media_type if media_type != DEFAULT and is_media_type(media_type) else None


class PackagedArchive(Archive):
    """The archive of a package, whose LOBs in segments have proofs; a context manager.

    It yields only the selected cells of the tables, and closes ``package`` with itself. Raises
    ``SourceError`` as ``Archive`` does.
    """

    def __init__(
        self, package: Package, path: tuple[str, ...], budgets: Budgets | None, selection: Selection
    ) -> None:
        self.package = package
        self.selection = selection
        self._names = path
        place, at = archive_place(package, path)
        # Paths of METS begin in the package's root, those of cells in the archive's folder, which is root 0.
        self._root = 0 if len(path) == 1 else 1
        super().__init__(place, budgets, grants(package, path), at)
        self.id_prefix = package.index.prefix(path)
        # Of several archives, only the first one without a prefix has LOBs in METS.
        first = next((each for each in package.archives if not package.index.prefix(each)), path)
        prefix = self.id_prefix if self.id_prefix or path == first else None
        self._lobs = ListedLobs(package, self._root, self._entries, prefix)

    @property
    def history(self) -> tuple[str, ...]:
        """The notes of the parent's METS on the source of the archive."""
        return history(self.package.index.document(self.package.mets), self._names[-1], self.budgets)

    def ids(self) -> Iterator[str]:
        """Yield the ids of the LOBs that METS lists for the archive, without their prefix."""
        return self._lobs.ids()

    def located(
        self, table: Table, tally: Tally | None = None, read: Callable[[int], None] | None = None
    ) -> Iterator[FoundLobs]:
        """Yield the LOBs of a table's selected cells as ``Archive.located`` does."""
        if not self.selection.meets(f"s{table.schema}.t{table.number}"):
            if read is not None:
                read(self.document(table).size)
            return
        found = super().located(table, tally, read)
        yield from (each.selected(self.selection.takes) for each in found) if self.selection.only else found

    def found(self, read: Callable[[int], None] | None = None) -> Iterator[FoundLobs]:
        """Yield every selected LOB that a cell names, and the errors, as ``Archive.found`` does.

        A LOB that METS does not list, or describes differently, gives an error too.
        """
        for each in super().found(read):
            yield FoundLobs(lost=self._noted(each.lost))
            yield from (FoundLobs([run]) if run.entries else self._run_listed(run) for run in each.runs)

    def _noted(self, lost: Sequence[LostLob]) -> Sequence[LostLob]:
        """Record that cells name missing LOBs, and return these."""
        ids = (self.id_prefix + lob for lob, _ in lost)
        self.package.index.note_named([lob for lob in ids if self.package.index.holds(lob)])
        return lost

    def _run_listed(self, run: LobRun) -> FoundLobs:
        """Return a run with proofs from METS, or its LOBs one by one if METS describes them unlike."""
        folder = "".join(f"{name}/" for name in (self._file(run.extent(0)) or ())[:-1])
        files = self._lobs.listed_whole(run.ids(), [folder + name for name in run.extents[0]])
        kinds = {(file.algorithm, file.media_type) for file in files}
        if len(kinds) > 1 or [file.size for file in files] != list(run.sizes):
            found = _found(self._paired, ((lob.place.id, lob) for lob in run.lobs()))
            return found._replace(lost=self._noted(found.lost))
        ((algorithm, kind),) = kinds
        shared = replace(run.shared, proof=algorithm, recorded=_media_type(kind))
        return FoundLobs([replace(run, shared=shared, proofs=[file.digest or "" for file in files])])

    def _paired(self, lob: LobRef) -> LobRef:
        """Return a LOB with proofs and media type from METS; raises ``SourceError``."""
        index, identifier, first = self.package.index, self.id_prefix + lob.place.id, lob.extents[0]
        name = "/".join(first.path) if isinstance(first, FileExtent) else first.name
        about = f"LOB {lob.place.id} ({shown(name)})"
        files = tuple(self._file(each) for each in lob.extents)
        found = None if files[0] is None else index.lob_at(files[0])
        if found is None:
            for fault in self.package.faults:
                raise SourceError(
                    f"{about} is in no METS that could be read: {fault.message}", hint=fault.hint
                )
            raise SourceError(
                f"{about} is listed by no METS of the package",
                hint="Nothing proves its bytes; metspack build makes a new package of such an archive.",
            )
        held = self.package.lob(found)
        named = tuple(part.path for part in held.parts)
        if named != files:
            raise SourceError(
                f"{about}: its cell names {counted(len(files), 'file')}, but METS lists {found} as "
                f"{counted(len(named), 'file')}, {shown('/'.join(named[0]))} first",
                hint=ANOTHER,
            )
        if found != identifier and index.holds(identifier):
            raise SourceError(
                f"LOB {identifier}: its cell names {shown('/'.join(named[0]))}, which METS lists as {found}, "
                f"and {identifier} elsewhere",
                hint=ANOTHER,
            )
        index.note_named([found])
        for part, extent in zip(held.parts, lob.extents, strict=True):
            part.check_size(held.id, extent.size)
        return replace(lob, proofs=self._lobs.proofs(held), recorded=_media_type(held.media_type))

    def _file(self, extent: Extent) -> tuple[str, ...] | None:
        """Return the path, as names from the package's root, of an extent's file, or None."""
        return from_root(self.package, self._names, self, extent)

    def unnamed(self) -> Iterator[FoundLobs]:
        """Yield the selected LOBs in METS that no cell has named yet, and errors.

        A file whose ID is no place in a database is a LOB only if a cell names it.
        """
        lobs = filter(is_place, self._lobs.others(self.selection))
        while some := list(islice(lobs, LONGEST)):
            yield self._lobs.found(some)

    def _entries(self, names: tuple[str, ...]) -> list[ZipExtent]:
        root, names = self.package.index.files.spot(names)
        return self.resolver.packed_entries(self._root + root, names)

    def unnamed_count(self) -> int:
        """Return the number of selected LOBs in METS that no cell has named yet."""
        return sum(map(is_place, self._lobs.others(self.selection)))

    def remarks(self) -> Iterator[Notice]:
        """Yield warnings about bytes that METS does not prove."""
        if files := sum(not is_place(lob) for lob in self._lobs.others(self.selection)):
            reason = "listed in METS, named by no cell and without a LOB's ID: left out"
            yield Notice("file-no-lob", f"{counted(files, 'file')} {reason}")
        yield from self._lobs.remarks()

    def prove(self, progress: Progress) -> None:
        """Raise ``SourceError`` if the archive, or a piece of it, has another digest than in METS."""
        for each in self.alterations(progress):
            raise each

    def alterations(self, progress: Progress) -> Iterator[SourceError]:
        """Yield an error for each file of the archive that has another digest than in METS."""
        for file, digest in self.package.index.digests_of(self._names):
            if digest.algorithm not in OCTETS:
                continue
            name, hashers = "/".join(file), ThreadedHashers((digest.algorithm,))
            try:
                with Medium((self.package.index.files.uncompressed(file),)) as medium:
                    progress.stage("Comparing the archive with METS", medium.size)
                    hashers.take(reading.with_progress(medium.chunks(), progress.advance))
            except OSError as error:
                yield SourceError(f"{name} cannot be opened: {error.strerror or error}", hint=ANOTHER)
                continue
            if (found := hashers.digest(digest.algorithm)) != digest:
                yield SourceError(
                    f"{name} has the {found.algorithm} {found.value}, but METS says {digest.value}",
                    hint="The archive was changed after it was packaged. " + ANOTHER,
                )

    def close(self) -> None:
        """Close archive and package."""
        super().close()
        self.package.close()


class PackagedLobs(LooseLobs):
    """The LOBs of a package without an archive, with proofs; a context manager.

    ``stem`` is the name in the folders of its segments. It closes ``package`` with itself.
    """

    def __init__(self, package: Package, budgets: Budgets | None, selection: Selection) -> None:
        super().__init__(package.root)
        self._packed = Packed(tuple(package.index.files.roots), budgets or Budgets())
        self.package = package
        self.selection = selection
        self._lobs = ListedLobs(package, 0, self._entries)
        self.id_prefix = ""
        self.stem = _name(package) or self.stem

    def lob_runs(self, seen: Callable[[int], None] | None = None) -> Iterator[LobRun]:
        """Yield the selected LOBs as ``found`` does; raises ``SourceError``."""
        return raising(self.found(seen))

    def found(self, seen: Callable[[int], None] | None = None) -> Iterator[FoundLobs]:
        """Yield the selected LOBs by schema, table, row and cell, and errors about unreadable ones.

        Those with shared values are a run, unless one file is listed for two LOBs. ``seen`` is called with
        numbers of LOBs.
        """
        are_apart = not self.package.index.is_listed_twice()
        places = self._places()
        while batch := list(islice(places, LONGEST)):
            if seen is not None:
                seen(len(batch))
            found = self.package.listed_files([lob for lob, _ in batch]) if are_apart else {}
            plain = [(lob, place, found.get(lob)) for lob, place in batch]
            for likeness, group in groupby(plain, _likeness):
                rows = list(group)
                run = None if likeness is None else self._run(rows)
                yield self._lobs.found(lob for lob, _, _ in rows) if run is None else FoundLobs([run])

    def _run(self, rows: list[_Listed]) -> LobRun | None:
        """Return LOBs as one run, or None if a file has another size than in METS."""
        place, files = rows[0][1], [file for _, _, file in rows if file is not None]
        folders = tuple(files[0].path.split("/")[:-1])
        names = [file.path.rpartition("/")[2] for file in files]
        try:
            found = reading.statuses(self.package.root, folders, names)
        except OSError:
            found = []
        stamps = [each for each in found if each is not None]
        sizes = [file.size for file in files]
        if [each[0] for each in stamps] != sizes:
            return None
        _, *others = map(list, zip(*stamps, strict=True))
        return LobRun(
            shared=RunShared(
                schema=place.schema,
                table=place.table,
                cell=place.cell,
                extension=extension_of(names[0]),
                media_type=files[0].media_type or DEFAULT,
                recorded=_media_type(files[0].media_type),
                proof=files[0].algorithm,
                folders=folders,
            ),
            rows=[place.row for _, place, _ in rows],
            files=[file.path for file in files],
            sizes=sizes,
            proofs=[file.digest or "" for file in files],
            extents=[names, *others],
        )

    def _entries(self, names: tuple[str, ...]) -> list[ZipExtent]:
        return self._packed.entries(*self.package.index.files.spot(names))

    def byte_sources(self) -> ByteSources:
        """Return the files of the LOBs found so far."""
        archives = (HeldMedium(paths=(), stamps=()), *self._packed.held)
        return ByteSources(archives=archives, roots=tuple(self.package.index.files.roots))

    def ids(self) -> Iterator[str]:
        """Yield the ids of the LOBs that METS lists."""
        return self.package.ids()

    def _places(self) -> Iterator[tuple[str, LobPlace]]:
        """Yield the selected LOBs by place."""
        for lob in filter(self.selection.takes, self.package.ids_by_place()):
            yield lob, needed_place(lob)

    def unnamed(self) -> Iterator[FoundLobs]:
        """Yield no LOBs, as without an archive no cells are missing."""
        yield from ()

    def unnamed_count(self) -> int:
        """Return 0, as without an archive no cells are missing."""
        return 0

    def remarks(self) -> Iterator[Notice]:
        """Yield warnings about bytes that METS does not prove."""
        yield from self._lobs.remarks()

    def prove(self, progress: Progress) -> None:
        """Do without a comparison, as there is no archive."""

    def close(self) -> None:
        """Close the package."""
        super().close()
        self._packed.close()
        self.package.close()


Packaged = PackagedArchive | PackagedLobs


def _name(package: Package) -> str | None:
    for segment in package.segments:
        for layout in LAYOUTS.values():
            if (parsed := layout.parsed_folder("/".join(segment.folder))) is not None:
                return parsed.name
    return None


def _check(package: Package, *, partial: bool) -> None:
    for fault in () if partial else package.faults:
        raise fault


def opened(
    path: Path,
    budgets: Budgets | None = None,
    only: tuple[str, ...] = (),
    *,
    archive: str | None = None,
    hint: str = "Say which is meant: --archive NAME.",
    partial: bool = False,
    roots: Sequence[Path] = (),
) -> Packaged:
    """Return the package at ``path`` as a source of the LOBs that ``only`` selects.

    ``archive`` is the name of the one to be read, needed if there are several and the ids of ``only`` do not
    begin with it. Children that are missing in their places are searched in the ``roots``. Raises
    ``SourceError`` if ``path`` is not a package, if several archives require a name (with ``hint``), and for
    an unreadable child, unless ``only`` selects LOBs or ``partial`` permits missing ones.
    """
    package = Package(path, budgets, roots)
    try:
        only = tuple(map(packages_package.as_id, only))
        selected, places = packages_package.selected_archive(package, archive, only, hint)
        _check(package, partial=partial or bool(only))
        selection = Selection(only=places)
        if selected is not None:
            return PackagedArchive(package, selected, budgets, selection)
        return PackagedLobs(package, budgets, selection)
    except BaseException:
        package.close()
        raise
