"""Rewrite an archive, by splicing, so that its cells name the new places of its LOBs.

LOB cells, lobFolder (and the ``folder`` of older versions) of columns, fields and database, and messageDigest
change; with an upgrade also whatever has another form in SIARD 2.2. The new archive lacks the entries that
leave, and folders that have no others. All other entries of a zip file are copied byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, groupby, islice
from pathlib import Path

from metspack import processes
from metspack.containers.zipformat import DEFLATED, STORED, name_fault
from metspack.containers.zipwriter import ZipWriter, new_entries
from metspack.digests import Hashers
from metspack.errors import SourceError
from metspack.files import reading, writing
from metspack.files.threads import ThreadedHashers
from metspack.layouts.interface import FolderUse
from metspack.model import CellRun, Digest, LobRun, number_of
from metspack.siard import metadata
from metspack.siard.edits import CellValues, LobFolders, NewCells, edited_metadata, spliced_table
from metspack.siard.entries import is_empty
from metspack.siard.metadata import Table
from metspack.siard.schemas import metadata_schema
from metspack.siard.upgrade import (
    METADATA_SCHEMA,
    TARGET,
    VERSION_FOLDER,
    VERSION_FOLDERS,
    Upgrade,
    upgraded_metadata,
)
from metspack.siard.upgradedtables import table_schemas, upgraded_table
from metspack.sources.archive import Archive
from metspack.sources.lobstream import ByteSources, LobReader, OpenSources
from metspack.sources.repacking import HEADER, RemovedEntries, entries, raw_bytes
from metspack.uris import are_plain

_AT_ONCE = 1 << 20  # bytes of LOBs that are written together

Values = Callable[[Table], CellValues | None]
"""Returns a table's new values of LOB cells; None leaves its document unread and unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The entries that leave the archive, and the lobFolders of LOBs outside it.

    ``columns`` has the lobFolder of each column with LOBs outside, by the path of the table's document and
    the column's number from 1; with ``is_innermost`` the innermost fields that have the LOBs get it in place
    of the column. ``database`` is the database's lobFolder, or None without one.
    """

    entries: RemovedEntries
    columns: Mapping[str, Mapping[int, str]]
    database: str | None = None
    is_innermost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedRun:
    """Entries that are added one after the other: the LOBs of a run, read from ``sources``.

    ``method`` is that of the zip format: 8 deflated, 0 stored.
    """

    names: Sequence[str]
    run: LobRun
    sources: ByteSources
    method: int = DEFLATED

    def contents(self) -> Iterator[Iterable[bytes]]:
        """Yield the bytes of each entry in blocks, proven at their end; raises ``SourceError``."""
        with OpenSources(self.sources) as sources:
            for number, data in enumerate(sources.proven_contents(self.run)):
                if data is None:  # ``LobReader`` raises the reason, if there is one
                    yield LobReader(self.run.lob(number), sources, ()).proven()
                else:
                    yield (bytes(data),)
            sources.check_unchanged()

    def together(self) -> Iterator[tuple[Sequence[str], list[bytes]]]:
        """Yield names and bytes of some entries at a time."""
        contents = self.contents()
        sizes = accumulate(self.run.sizes)
        for _, some in groupby(zip(self.names, sizes, strict=True), lambda each: each[1] // _AT_ONCE):
            names = [name for name, _ in some]
            yield names, list(map(b"".join, islice(contents, len(names))))
        next(contents, None)  # the end checks that the files have stayed the same


def moved(
    archive: Archive, entries: RemovedEntries, uses: Iterable[tuple[tuple[int, int, int], FolderUse]]
) -> Moved:
    """Return the entries that leave and the lobFolders of LOBs outside.

    ``uses`` are those of columns, each with the numbers of schema, table and column.
    """
    paths = {(table.schema, table.number): table.path for table in archive.metadata.tables}
    columns: dict[str, dict[int, str]] = {}
    database, is_innermost = None, False
    for (schema, table, number), use in uses:
        if use.column is not None:
            columns.setdefault(paths[schema, table], {})[number] = use.column
        database, is_innermost = database or use.database, is_innermost or use.is_innermost
    return Moved(entries=entries, columns=columns, database=database, is_innermost=is_innermost)


def rewrite(
    archive: Archive,
    moved: Moved,
    target: Path,
    *,
    work: Path,
    values: Values,
    algorithms: Iterable[str],
    added: Iterable[AddedRun] = (),
    jobs: int = 1,
    moved_lobs: Callable[[int], None] = lambda _amount: None,
    wrote: Callable[[int], None] = lambda _amount: None,
    meanwhile: Callable[[], object] = lambda: None,
    upgrade: Upgrade | None = None,
) -> Hashers:
    """Write a new archive of the entries that stay and the added ones; return digests and size.

    The new archive is a zip file with the archive at its root, whatever the form of the old one. Added
    entries follow all other content, in the given order. Cells with new values in a column whose LOBs stay
    inside name their entries in full. Up to ``jobs`` processes write added runs, and ``moved_lobs`` is called
    with their numbers of bytes. ``wrote`` is called with those of the other entries, ``meanwhile`` before
    each block of a table and each entry. With ``upgrade`` the new archive is one of SIARD 2.2. Raises
    ``SourceError`` and ``TargetError``, also for an added name that exists in the archive, and ValueError as
    ``spliced_table`` does.
    """
    moved.entries.add_emptied(archive.tree)
    version = archive.metadata.version if upgrade is None else TARGET
    renamed: dict[str, set[int]] = {}
    fields: dict[str, dict[int, set[tuple[int, ...]]]] = {}
    splices: dict[str, _Splice] = {}
    for table in archive.tables:
        if (value := values(table)) is not None:
            value = _make_recording_names(value, renamed.setdefault(table.path, set()), version)
            if moved.is_innermost:
                value = _make_recording_fields(value, table, fields.setdefault(table.path, {}))
            splices[table.path] = partial(
                spliced_table, table=table, budgets=archive.budgets, value=value, version=version
            )
        if upgrade is not None:
            splices[table.path] = _make_upgrade(table, splices.get(table.path))
    folders = LobFolders(database=moved.database, columns=moved.columns, fields=fields, renamed=renamed)
    changes = _Changes(
        removed=moved.entries,
        splices=splices,
        added=added,
        jobs=jobs,
        moved=moved_lobs,
        folders=folders,
        upgrade=upgrade,
        wrote=wrote,
        meanwhile=meanwhile,
    )
    return _write(archive, changes, target, work, algorithms)


def copy(
    archive: Archive, target: Path, algorithms: Iterable[str], *, work: Path, seals: bool = False
) -> Hashers:
    """Write a copy of an archive with all its LOBs; return its digests and size.

    A zip file is copied byte for byte. One with a folder that wraps all entries, and an unpacked archive, are
    repacked without that folder, and only messageDigest changes; with ``seals``, so is one whose
    messageDigest is wrong or that has entries which some programs cannot read.
    """
    container = archive.container
    if container is None or archive.prefix or (seals and container.hollow()[0]):
        return _sealed_copy(archive, target, algorithms, work)
    hashers = ThreadedHashers({*algorithms, *(_seal_algorithms(archive) if seals else ())})
    is_sealed = True
    with writing.NewFile(target) as file:
        end = sealed_size(archive) if seals else 0
        for start, stop in ((0, end), (end, container.size)):
            for block in raw_bytes(container.medium, str(container.path), start, stop):
                hashers.update(block)
                file.write(block)
            if seals and stop == end:
                digests = archive.metadata.digests
                is_sealed = all(hashers.digest(each.algorithm) == each for each in digests)
    if not is_sealed:
        writing.remove(target)
        return _sealed_copy(archive, target, algorithms, work)
    return hashers


def _seal_algorithms(archive: Archive) -> set[str]:
    return {digest.algorithm for digest in archive.metadata.digests}


def _sealed_copy(archive: Archive, target: Path, algorithms: Iterable[str], work: Path) -> Hashers:
    with closing(RemovedEntries()) as none:
        return _write(archive, _Changes(removed=none), target, work, algorithms)


_Splice = Callable[[Iterable[bytes]], Iterator[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Changes:
    """The changes of an archive; ``splices`` are by table document, ``folders`` None keeps all."""

    removed: RemovedEntries
    splices: Mapping[str, _Splice] = field(default_factory=dict)
    added: Iterable[AddedRun] = ()
    jobs: int = 1
    moved: Callable[[int], None] = lambda _amount: None
    folders: LobFolders | None = None
    upgrade: Upgrade | None = None
    wrote: Callable[[int], None] = lambda _amount: None
    meanwhile: Callable[[], object] = lambda: None


def _make_upgrade(table: Table, splice: _Splice | None) -> _Splice:
    """Return a splice that upgrades a table to SIARD 2.2, and then applies another, if any."""

    def upgrading(blocks: Iterable[bytes]) -> Iterator[bytes]:
        upgraded = upgraded_table(blocks, table)
        return upgraded if splice is None else splice(upgraded)

    return upgrading


def _make_recording_names(value: CellValues, renamed: set[int], version: str) -> CellValues:
    """Return ``value`` that also adds columns whose cells name entries in full to ``renamed``."""

    def recorded(run: CellRun) -> NewCells | None:
        new = value(run)
        # In 1.0 a column may keep its folder although its cells name entries in full.
        if new is not None and (version != "1.0" or list(new[0]) != list(run.files)):
            renamed.add(number_of(run.cell))
        return new

    return recorded


def _make_recording_fields(
    value: CellValues, table: Table, fields: dict[int, set[tuple[int, ...]]]
) -> CellValues:
    """Return ``value`` that also adds each cell's innermost field to ``fields``, by its numbers.

    A column with a cell that has no field in metadata.xml replaces its fields: readers take only one of the
    lobFolders of a column and its fields.
    """

    def recorded(run: CellRun) -> NewCells | None:
        if chain := table.chain(run.cell):
            numbers = fields.setdefault(chain[0].number, set())
            inner = tuple(each.number for each in chain[1:])
            if () not in numbers:
                if not inner:
                    numbers.clear()
                numbers.add(inner)
        return value(run)

    return recorded


def _write(
    archive: Archive, changes: _Changes, target: Path, work: Path, algorithms: Iterable[str]
) -> Hashers:
    """Write the entries that stay, with the added ones between content and header.

    The content comes before the header, whatever the order of the source: messageDigest covers the bytes up
    to the header's first entry (SIARD 2.2 M_5.1).
    """
    writer = ZipWriter(target, work)
    try:
        schemas = {} if changes.upgrade is None else table_schemas(archive.metadata.tables, changes.upgrade)
        splices = dict(changes.splices)
        for entry in entries(archive, changes.removed, header=False):
            splice, before = splices.pop(entry.name, None), writer.file.size
            changes.meanwhile()
            if splice is not None:
                entry.rewrite(
                    writer, splice(reading.with_progress(entry.contents(), lambda _: changes.meanwhile()))
                )
            elif (schema := schemas.pop(entry.name, None)) is not None:
                entry.rewrite(writer, (schema(),))
            else:
                entry.copy(writer)
            changes.wrote(writer.file.size - before)
        for name, schema in schemas.items():
            writer.add(name, (schema(),), method=STORED)
        hashers = ThreadedHashers({*algorithms, *_seal_algorithms(archive)})
        with closing(RemovedEntries()) as given, processes.keep():
            _Additions(writer, archive, changes, given, hashers).add_each()
        _hash(hashers, writer)
        _write_header(writer, archive, changes, hashers.copy())
        writer.finish(b"" if archive.container is None else archive.container.comment)
        _hash(hashers, writer)
        writer.file.close()
    except BaseException:
        writer.abandon()
        raise
    return hashers


def _write_header(writer: ZipWriter, archive: Archive, changes: _Changes, seals: Hashers) -> None:
    """Write the entries under ``header/``; an upgrade adds schema and version of SIARD 2.2."""
    missing = {} if changes.upgrade is None else {VERSION_FOLDER: b"", METADATA_SCHEMA: metadata_schema()}
    depth = archive.budgets.depth
    for entry in entries(archive, changes.removed, header=True):
        if missing and entry.name != HEADER:
            if missing.pop(VERSION_FOLDER, None) is not None:
                writer.add_folder(VERSION_FOLDER)
            if entry.name.startswith(VERSION_FOLDERS):
                continue
        if entry.name == metadata.NAME:
            document = edited_metadata(archive.metadata_document, seals, changes.folders, depth=depth)
            if changes.upgrade is not None:
                document = upgraded_metadata(document, depth=depth, what=archive.name)[0]
            entry.rewrite(writer, (document,))
        elif (contents := missing.pop(entry.name, None)) is not None:
            entry.rewrite(writer, (contents,))
        else:
            entry.copy(writer)
    for name, contents in missing.items():
        writer.add(name, (contents,), method=STORED)


def _hash(hashers: Hashers, writer: ZipWriter, stop: int | None = None) -> None:
    """Hash the bytes written since the last call, up to an offset or the end."""
    hashers.take(writer.file.read_back(hashers.size, writer.file.size if stop is None else stop))


_Reserved = tuple[AddedRun, Path, int, int]
"""Entries to be written, the path of the archive, and the offsets of the room for them."""


def write_reserved(task: _Reserved, moved: Callable[[int], None]) -> tuple[list[bytes], int]:
    """Write entries into the room for them; return their records, and the offset after them.

    Raises ``SourceError`` and ``TargetError``.
    """
    added, path, at, stop = task
    listed: list[bytes] = []
    with closing(writing.NewFile(path, is_synced=False, is_new=False)) as file:
        for names, contents in added.together():
            blocks, records = new_entries(names, contents, at, method=STORED)
            block = b"".join(blocks)
            if at + len(block) > stop:
                raise AssertionError(f"{names[0]!r} and others need more room than was left for them")
            file.patch(at, block)
            at += len(block)
            listed += records
            moved(sum(map(len, contents)))
    if at != stop:
        raise AssertionError(f"entries end at byte {at:,}; room was left up to {stop:,}")
    return listed, at


@dataclass
class _Additions:
    """Appends entries, with entries for their folders if the archive has such.

    Archives have an entry for each folder or only for files; readers that list folders rely on that.
    ``given`` collects the names.
    """

    writer: ZipWriter
    archive: Archive
    changes: _Changes
    given: RemovedEntries
    hashers: ThreadedHashers

    def __post_init__(self) -> None:
        """Determine whether the archive has entries for folders."""
        tree, tables = self.archive.tree, self.archive.metadata.tables
        self._lists = any(tree.extent(f"{each.folder_path}/") for each in tables)
        self._folder = ""

    def add_each(self) -> None:
        """Append the entries; raises ``SourceError`` for a name that exists already."""
        for folder, some in groupby(self.changes.added, self._new_folder):
            if folder is None:
                for each in some:
                    for name, size, blocks in zip(each.names, each.run.sizes, each.contents(), strict=True):
                        counted = reading.with_progress(blocks, self.changes.moved)
                        self._add(name, counted, method=each.method, most=size)
                continue
            self._add_folders(f"{folder}/")
            tasks = (self._reserve(each) for each in self._together(some))
            # Up to the end of each finished run, the file does not change any more.
            done = processes.results(write_reserved, tasks, self.changes.jobs, self.changes.moved)
            with closing(done):
                for records, stop in done:
                    self.writer.list_run(records)
                    _hash(self.hashers, self.writer, stop)

    def _together(self, some: Iterable[AddedRun]) -> Iterator[AddedRun]:
        """Write deflated runs, whose size is unknown before, and yield the others."""
        for each in some:
            if each.method == STORED:
                yield each
            else:
                for names, contents in each.together():
                    self.writer.add_run(names, contents, method=each.method)
                    self.changes.moved(sum(map(len, contents)))

    def _reserve(self, added: AddedRun) -> _Reserved:
        start = self.writer.reserve(added.names, added.run.sizes)
        return added, self.writer.file.path, start, self.writer.file.size

    def _new_folder(self, added: AddedRun) -> str | None:
        """Return the folder of a run whose names are all new, or None for other runs."""
        if added.run.is_apart or not self._are_new(added.names):
            return None
        return added.names[0].rpartition("/")[0]

    def _add(self, name: str, blocks: Iterable[bytes], *, method: int, most: int) -> None:
        if name_fault(name) or name.endswith("/") or name.startswith(HEADER):
            raise ValueError(f"{name!r} is not a name for an entry of the content")
        if not self._is_new(name):
            raise SourceError(
                f"{self.archive.name}: a LOB is to become the entry {name!r}, which is there already",
                hint="Two LOBs cannot have one name: the archive or the list of its LOBs is damaged.",
            )
        self._add_folders(name)
        self.writer.add(name, blocks, method=method, most=most)

    def _add_folders(self, name: str) -> None:
        folder = name.rpartition("/")[0]
        if self._lists and folder not in {"", self._folder}:
            for above in accumulate(folder.split("/"), "{}/{}".format):
                if self._is_new(f"{above}/"):
                    self.writer.add_folder(f"{above}/")
        self._folder = folder

    def _is_new(self, name: str) -> bool:
        return self.given.add(name) and (
            self.archive.tree.extent(name) is None or name in self.changes.removed
        )

    def _are_new(self, names: Sequence[str]) -> bool:
        """Return whether all names are plain, new and in one folder that is empty."""
        (folder, *others) = {name.rpartition("/")[0] for name in names}
        return (
            bool(folder)
            and not others
            and are_plain(names)
            and not f"{folder}/".startswith(HEADER)
            and is_empty(self.archive.tree, f"{folder}/")
            and self.given.add_new(names)
        )


def comparable(archive: Archive) -> bool:
    """Return whether messageDigest can be compared with the archive's bytes.

    It covers bytes of a zip file (SIARD 2.2 M_5.1); an unpacked archive, and one zipped again with a folder
    that wraps all entries, have other bytes.
    """
    return archive.container is not None and not archive.prefix


def sealed_size(archive: Archive) -> int:
    """Return the number of bytes that messageDigest covers, or 0 unless it is ``comparable``.

    It covers the bytes before the header's first entry (SIARD 2.2 M_5.1).
    """
    container = archive.container
    if container is None or archive.prefix:
        return 0
    return next((record.extent.offset for record in container.records(folder=HEADER)), container.size)


WHOLE = "SHA-256"
"""The algorithm of the digest that identifies a package's source."""


def compared_digests(
    archive: Archive, read: Callable[[int], None]
) -> tuple[tuple[tuple[Digest, Digest], ...], str]:
    """Return each messageDigest of an archive with the computed one, and its file's SHA-256.

    The first is empty if they cannot be compared, the second "" for an unpacked archive. ``read`` is called
    with each number of bytes read; their sum is the size of the file.
    """
    container = archive.container
    if container is None:
        return (), ""
    digests = archive.metadata.digests if comparable(archive) else ()
    hashers = ThreadedHashers({WHOLE, *(each.algorithm for each in digests)})
    found: tuple[tuple[Digest, Digest], ...] = ()
    stop = sealed_size(archive)
    for start, end in ((0, stop), (stop, container.size)):
        for block in raw_bytes(container.medium, str(container.path), start, end):
            hashers.update(block)
            read(len(block))
        if end == stop:
            found = tuple((each, hashers.digest(each.algorithm)) for each in digests)
    return found, hashers.digest(WHOLE).value
