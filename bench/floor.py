"""The least that a build, a check and a copy of LOBs can cost: reference programs that trust their input.

``floor.py build SOURCE OUT`` divides the LOBs of a folder, or of a .siard with stored entries and MD5
digests in its cells, into segments. Each LOB is read once, hashed by MD5 and SHA-256 and written; METS
files and manifests name it. ``floor.py check PACKAGE`` compares such a package with its METS, both
manifests and every byte, and validates METS with ``--schema``. ``floor.py copy SOURCE OUT`` copies files of
any size, hashing both ways; ``--again`` adds one more MD5, as LOBs that are split need it. Faults of the
source, links, interruptions and full disks are not handled, which is why this is a measure and not a tool.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import mmap
import multiprocessing
import os
import re
import struct
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from xml.parsers import expat

LOT = 1_000
"""The largest number of LOBs that a worker is given at a time."""

_BLOCK = 1 << 20
_ENTRY = struct.Struct(
    "<20xLLHHH8xL"
)  # of a zip's directory: sizes, lengths of name, extra and comment; offset
_ENTRY_SIZE = 46
_HEAD_SIZE = 30
_SPARE = 1 << 10  # what a local header, its name and extra field take at most here
_CREATED = "2026-01-01T00:00:00Z"
_METS = "{http://www.loc.gov/METS/}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_OPENING = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<mets xmlns="http://www.loc.gov/METS/" '
    'xmlns:xlink="http://www.w3.org/1999/xlink" OBJID="{0}">\n<metsHdr CREATEDATE="' + _CREATED + '"/>\n'
    "<fileSec>\n<fileGrp>\n"
)
_BETWEEN = '</fileGrp>\n</fileSec>\n<structMap TYPE="physical">\n<div TYPE="Directory">\n'
_CLOSING = "</div>\n</structMap>\n</mets>\n"

Task = TypeVar("Task")
Result = TypeVar("Result")


class FaultError(Exception):
    """A package or source is not as it says."""


class Lob(NamedTuple):
    """A LOB to copy; ``offset`` is that of its local header, ``digest`` empty where none is known."""

    name: str
    size: int
    offset: int = 0
    digest: str = ""


class Lot(NamedTuple):
    """LOBs of one folder that go into one segment."""

    segment: int
    folder: str
    lobs: list[Lob]


class Described(NamedTuple):
    """Text about the LOBs of a lot, for METS and both manifests."""

    segment: int
    files: str
    pointers: str
    md5: str
    sha256: str


class Job(NamedTuple):
    """The arguments that all workers of a build share."""

    source: str
    out: str
    name: str

    def child(self, segment: int) -> str:
        """Return the name of a segment's folder."""
        return f"{self.name}_lobseg_{segment}"


# Planning


def lots(stretches: Iterable[tuple[str, list[Lob]]], limit: int) -> Iterator[Lot]:
    """Yield lots in order, each at most ``LOT`` LOBs, with at most ``limit`` in a segment."""
    segment, room = 0, limit
    for folder, lobs in stretches:
        start = 0
        while start < len(lobs):
            if room == 0:
                segment, room = segment + 1, limit
            taken = lobs[start : start + min(LOT, room)]
            yield Lot(segment, folder, taken)
            start, room = start + len(taken), room - len(taken)


def folder_lobs(source: str, folder: str = "") -> Iterator[tuple[str, list[Lob]]]:
    """Yield each folder below the source with its files, record9 before record10."""
    files, folders = [], []
    with os.scandir(os.path.join(source, folder)) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(os.path.join(folder, entry.name))
            else:
                files.append(Lob(entry.name, entry.stat(follow_symlinks=False).st_size))
    if files:
        files.sort(key=lambda lob: (len(lob.name), lob.name))
        yield folder, files
    for each in sorted(folders):
        yield from folder_lobs(source, each)


def zip_entries(handle: int) -> dict[str, tuple[int, int]]:
    """Return offset and size of every entry of a stored zip, read from its directory."""
    size = os.fstat(handle).st_size
    tail = os.pread(handle, 1 << 10, max(0, size - (1 << 10)))
    length, start = struct.unpack_from("<LL", tail, tail.rindex(b"PK\5\6") + 12)
    if (large := tail.rfind(b"PK\6\6")) >= 0:
        length, start = struct.unpack_from("<QQ", tail, large + 40)
    directory = os.pread(handle, length, start)
    found, at = {}, 0
    while at < length:
        _, stored, named, extra, comment, offset = _ENTRY.unpack_from(directory, at)
        at += _ENTRY_SIZE
        found[directory[at : at + named].decode()] = offset, stored
        at += named + extra + comment
    return found


def entry_bytes(handle: int, offset: int, size: int) -> bytes:
    """Return the content of a stored entry."""
    head = os.pread(handle, _HEAD_SIZE, offset)
    return os.pread(handle, size, offset + _HEAD_SIZE + sum(struct.unpack_from("<HH", head, 26)))


def siard_lobs(handle: int, entries: dict[str, tuple[int, int]]) -> Iterator[tuple[str, list[Lob]]]:
    """Yield the LOBs that the cells of each table name, in the order of the cells."""
    found: list[tuple[str, Lob]] = []

    def begin(_name: str, attributes: dict[str, str]) -> None:
        if "file" in attributes:
            path = attributes["file"]
            folder, _, name = path.rpartition("/")
            found.append(
                (folder, Lob(name, int(attributes["length"]), entries[path][0], attributes["digest"]))
            )

    for table in filter(re.compile(r"content/.*/table\d+\.xml").fullmatch, entries):
        parser = expat.ParserCreate()
        parser.StartElementHandler = begin
        parser.Parse(entry_bytes(handle, *entries[table]), True)  # noqa: FBT003 -- expat takes no keyword
        for folder, run in itertools.groupby(found, key=lambda each: each[0]):
            yield folder, [lob for _, lob in run]
        found.clear()


# Copying


class Copier:
    """Copies lots; one for each worker, with a buffer that is used again."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._buffer = memoryview(bytearray(_BLOCK))
        self._archive = None if os.path.isdir(job.source) else os.open(job.source, os.O_RDONLY)

    def copy(self, lot: Lot) -> Described:
        """Copy the LOBs of a lot and return the text about them."""
        target = f"{self._job.out}/{self._job.child(lot.segment)}/{lot.folder}"
        os.makedirs(target, exist_ok=True)
        into = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
        origin = self._archive
        if origin is None:
            origin = os.open(f"{self._job.source}/{lot.folder}", os.O_RDONLY | os.O_DIRECTORY)
        text = _Text(self._job.child(lot.segment), lot.folder)
        for lob in lot.lobs:
            data = self._read(origin, lob)
            md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
            sha256 = hashlib.sha256(data).hexdigest()
            if lob.digest and lob.digest.lower() != md5:
                raise FaultError(f"{lob.name} has another digest than its cell")
            handle = os.open(lob.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=into)
            os.write(handle, data)
            os.close(handle)
            text.add(lob, md5, sha256)
        os.close(into)
        if origin != self._archive:
            os.close(origin)
        return text.described(lot.segment)

    def _read(self, origin: int, lob: Lob) -> memoryview:
        if self._archive is not None:
            os.preadv(origin, [self._buffer[: lob.size + _SPARE]], lob.offset)
            named, extra = struct.unpack_from("<HH", self._buffer, 26)
            start = _HEAD_SIZE + named + extra
            return self._buffer[start : start + lob.size]
        handle = os.open(lob.name, os.O_RDONLY, dir_fd=origin)
        size = os.readv(handle, [self._buffer])
        os.close(handle)
        return self._buffer[:size]


class _Text:
    """METS elements and manifest lines of LOBs that are in one folder."""

    def __init__(self, child: str, folder: str) -> None:
        self._folder = f"{folder}/" if folder else ""
        self._listed = f"  {child}/{self._folder}"
        self._column = "c" + re.sub(r"\D+", ".", folder)
        self._files: list[str] = []
        self._pointers: list[str] = []
        self._md5: list[str] = []
        self._sha256: list[str] = []

    def add(self, lob: Lob, md5: str, sha256: str) -> None:
        """Describe a LOB."""
        name = lob.name
        identifier = f"{self._column}.{name}"
        self._files.append(mets_file(identifier, lob.size, md5, self._folder + name))
        self._pointers.append(f'<fptr FILEID="{identifier}"/>\n')
        self._md5.append(f"{md5}{self._listed}{name}\n")
        self._sha256.append(f"{sha256}{self._listed}{name}\n")

    def described(self, segment: int) -> Described:
        """Return the whole text."""
        texts = (self._files, self._pointers, self._md5, self._sha256)
        return Described(segment, *map("".join, texts))


def mets_file(identifier: str, size: int, md5: str, path: str) -> str:
    """Return the METS element of a file."""
    return (
        f'<file ID="{identifier}" OWNERID="{identifier}" MIMETYPE="application/octet-stream" SIZE="{size}" '
        f'CREATED="{_CREATED}" CHECKSUM="{md5}" CHECKSUMTYPE="MD5">\n'
        f'<FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{path}"/>\n</file>\n'
    )


# Workers

_worker: Any = None


def _begin(make: Callable[..., Any], *arguments: object) -> None:
    global _worker  # noqa: PLW0603 -- a pool's worker has no other place for it
    _worker = make(*arguments)


def _copy(lot: Lot) -> Described:
    described: Described = _worker.copy(lot)
    return described


def _examine(segment: Segment) -> int:
    examined: int = _worker.examine(segment)
    return examined


def results(
    work: Callable[[Task], Result], tasks: Iterable[Task], jobs: int, made: tuple[Any, ...]
) -> Iterator[Result]:
    """Yield the results in the order of the tasks; ``made`` is what each worker has, as a call."""
    if jobs == 1:
        _begin(*made)
        yield from map(work, tasks)
        return
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, mp_context=fork, initializer=_begin, initargs=made) as pool:
        yield from pool.map(work, tasks)


# The build


def build(source: str, out: str, jobs: int, limit: int) -> None:
    """Write a package of the LOBs of a folder or an archive."""
    job = Job(source, out, Path(source).name.removesuffix(".siard"))
    os.mkdir(out)
    with ExitStack() as stack:
        entries: dict[str, tuple[int, int]] = {}
        handle = None
        if os.path.isdir(source):
            stretches = folder_lobs(source)
        else:
            handle = os.open(source, os.O_RDONLY)
            stack.callback(os.close, handle)
            entries = zip_entries(handle)
            stretches = siard_lobs(handle, entries)
        md5, sha256 = (
            stack.enter_context(open(f"{out}/manifest-{kind}.txt", "w", encoding="utf-8"))
            for kind in ("md5", "sha256")
        )
        children = []
        done = results(_copy, lots(stretches, limit), jobs, (Copier, job))
        for segment, run in itertools.groupby(done, key=lambda each: each.segment):
            pieces = list(run)
            path = f"{job.child(segment)}/mets.xml"
            texts = [piece.files for piece in pieces], [piece.pointers for piece in pieces]
            data = "".join((_OPENING.format(path), *texts[0], _BETWEEN, *texts[1], _CLOSING)).encode()
            Path(out, path).write_bytes(data)
            digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
            md5.writelines((*(piece.md5 for piece in pieces), f"{digest}  {path}\n"))
            sha256.writelines(
                (*(piece.sha256 for piece in pieces), f"{hashlib.sha256(data).hexdigest()}  {path}\n")
            )
            children.append(mets_file(f"m{segment}", len(data), digest, path))
        pointers = (f'<fptr FILEID="m{segment}"/>\n' for segment in range(len(children)))
        parent = "".join((_OPENING.format(job.name), *children, _BETWEEN, *pointers, _CLOSING))
        Path(out, "mets.xml").write_text(parent, encoding="utf-8")
        if handle is not None:
            write_archive(Path(out, f"{job.name}.siard"), handle, entries, job, limit)


def write_archive(path: Path, handle: int, entries: dict[str, tuple[int, int]], job: Job, limit: int) -> None:
    """Write the archive without its LOBs; cells name the segment folders."""
    cells = itertools.count()

    def moved(_match: re.Match[bytes]) -> bytes:
        return b' file="%s/' % job.child(next(cells) // limit).encode()

    with zipfile.ZipFile(path, "w") as archive:
        for name, place in entries.items():
            if not name.endswith((".bin", "/")):
                archive.writestr(name, re.sub(rb' file="', moved, entry_bytes(handle, *place)))


# The check


class Segment(NamedTuple):
    """A child package, and the extents of its lines in both manifests."""

    folder: str
    md5: tuple[int, int]
    sha256: tuple[int, int]


class Examiner:
    """Compares segments with METS, manifests and bytes; one for each worker."""

    def __init__(self, out: str, schema: str | None) -> None:
        from lxml import etree  # noqa: PLC0415 -- a build needs none

        self._out = out
        self._iterparse = etree.iterparse
        self._schema = etree.XMLSchema(etree.parse(schema)) if schema else None
        self._buffer = memoryview(bytearray(_BLOCK))

    def examine(self, segment: Segment) -> int:
        """Return the number of files of a segment; raises ``FaultError`` at the first fault."""
        listed = self._listed(f"{self._out}/{segment.folder}/mets.xml")
        md5 = self._manifest("md5", segment.md5)
        sha256 = self._manifest("sha256", segment.sha256)
        seen = 0
        for folder, _, names, handle in os.fwalk(f"{self._out}/{segment.folder}"):
            place = folder[len(self._out) + 1 :]
            inside = place[len(segment.folder) + 1 :]
            for name in names:
                data = self._content(name, handle)
                digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
                path = f"{place}/{name}"
                same = md5.pop(path) == digest and sha256.pop(path) == hashlib.sha256(data).hexdigest()
                if inside:
                    same = same and listed.pop(f"{inside}/{name}") == (len(data), digest)
                if not same:
                    raise FaultError(f"{path} is not as it was")
                seen += 1
        if listed or md5 or sha256:
            raise FaultError(f"files of {segment.folder} are gone")
        return seen

    def _listed(self, path: str) -> dict[str, tuple[int, str]]:
        found, identifiers = {}, set()
        tags = (f"{_METS}file", f"{_METS}fptr")
        for _, element in self._iterparse(path, tag=tags, schema=self._schema):
            if element.tag == tags[0]:
                found[element[0].get(_HREF)] = int(element.get("SIZE")), element.get("CHECKSUM")
                identifiers.add(element.get("ID"))
            else:
                identifiers.remove(element.get("FILEID"))
            element.clear(keep_tail=True)
            while element.getprevious() is not None:
                del element.getparent()[0]
        if identifiers:
            raise FaultError(f"{path} has files without an fptr")
        return found

    def _manifest(self, kind: str, extent: tuple[int, int]) -> dict[str, str]:
        with open(f"{self._out}/manifest-{kind}.txt", "rb") as file:
            file.seek(extent[0])
            lines = file.read(extent[1] - extent[0]).decode().splitlines()
        return {path: digest for digest, _, path in (line.partition("  ") for line in lines)}

    def _content(self, name: str, folder: int) -> memoryview | bytes:
        handle = os.open(name, os.O_RDONLY, dir_fd=folder)
        size = os.readv(handle, [self._buffer])
        data: memoryview | bytes = self._buffer[:size]
        if size == _BLOCK:  # a METS, for LOBs are small
            data = bytes(data) + b"".join(iter(lambda: os.read(handle, _BLOCK), b""))
        os.close(handle)
        return data


def extents(manifest: str, folders: list[str]) -> list[tuple[int, int]]:
    """Return first and last byte of each folder's lines, which follow one another in this order."""
    starts, at = [], 0
    with open(manifest, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for folder in folders:
            at = data.find(f"  {folder}/".encode(), at)
            starts.append(data.rfind(b"\n", 0, at) + 1)
        starts.append(len(data))
    return list(itertools.pairwise(starts))


def check(out: str, jobs: int, schema: str | None) -> int:
    """Return the number of files of a package; raises ``FaultError`` at the first fault."""
    folders = sorted(
        (each.name for each in os.scandir(out) if each.is_dir()), key=lambda each: (len(each), each)
    )
    places = (extents(f"{out}/manifest-{kind}.txt", folders) for kind in ("md5", "sha256"))
    segments = itertools.starmap(Segment, zip(folders, *places, strict=True))
    return sum(results(_examine, segments, jobs, (Examiner, out, schema)))


# Copies of large files


def copy(source: str, out: str, jobs: int, *, again: bool) -> None:
    """Copy a folder's files, hashing each both ways; with ``again``, by MD5 once more."""
    names = [os.path.relpath(each, source) for each in sorted(Path(source).rglob("*")) if each.is_file()]
    for name in names:
        Path(out, name).parent.mkdir(parents=True, exist_ok=True)
    for name, digests in zip(
        names, results(_transfer, names, jobs, (Carrier, source, out, again)), strict=True
    ):
        print(name, *digests)


def _transfer(name: str) -> list[str]:
    digests: list[str] = _worker.transfer(name)
    return digests


class Carrier:
    """Copies files of any size; one for each worker."""

    def __init__(self, source: str, out: str, again: bool) -> None:
        self._source, self._out = source, out
        self._kinds = ("md5", "sha256", "md5") if again else ("md5", "sha256")
        self._buffer = memoryview(bytearray(_BLOCK))

    def transfer(self, name: str) -> list[str]:
        """Copy a file and return its digests."""
        hashers = [hashlib.new(kind, usedforsecurity=False) for kind in self._kinds]
        with (
            open(f"{self._source}/{name}", "rb", buffering=0) as file,
            open(f"{self._out}/{name}", "xb", buffering=0) as target,
        ):
            while size := file.readinto(self._buffer):
                block = self._buffer[:size]
                for hasher in hashers:
                    hasher.update(block)
                target.write(block)
        return [hasher.hexdigest() for hasher in hashers]


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", choices=("build", "check", "copy"))
    parser.add_argument("source")
    parser.add_argument("out", nargs="?", default="")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--max-files", type=int, default=2_000)
    parser.add_argument("--schema")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    try:
        if options.work == "build":
            build(options.source, options.out, options.jobs, options.max_files)
        elif options.work == "check":
            print(check(options.source, options.jobs, options.schema))
        else:
            copy(options.source, options.out, options.jobs, again=options.again)
    except FaultError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
