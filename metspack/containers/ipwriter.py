"""Write each IP as one zip or tar file that contains the IP's folder, file by file.

Unpacked side by side these files give, byte for byte, the package with folders: METS is the same in both, and
an OBJID leads to an IP's file as to its folder. The same IP gives the same bytes: files in the order of
``put``, all with one time and without owners.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from tarfile import BLOCKSIZE, PAX_FORMAT, RECORDSIZE, USTAR_FORMAT, TarInfo
from typing import Protocol, Self

from metspack.containers.zipformat import CENTRAL, LOCAL, STORED
from metspack.containers.zipwriter import ZipWriter, moment
from metspack.digests import Hashers
from metspack.errors import ConfigError
from metspack.files import reading, writing
from metspack.files.reading import Closable
from metspack.files.threads import ThreadedHashers
from metspack.model import LONGEST, SMALL

ZIP, TAR = "zip", "tar"
FORMS = (ZIP, TAR)
"""The forms of packed IPs, without compression (AIP28), so that readers can seek in files."""

_MODE = 0o644


def packed_size(form: str | None, files: Iterable[tuple[int, int]], *, name: int) -> int:
    """Estimate the bytes of an IP's packed file, or of its folder with the form None.

    ``files`` are counts of files with their sum of bytes. Files of one count are taken to have the same size,
    and all names to have ``name`` characters.
    """
    total = 0
    for count, size in files:
        total += size
        if form == ZIP:
            total += count * (LOCAL.size + CENTRAL.size + 2 * name)
        elif form == TAR and count:
            mean = size / count
            padding = BLOCKSIZE / 2 if mean > BLOCKSIZE else -mean % BLOCKSIZE
            total += int(count * (BLOCKSIZE + padding))
    return -(-total // RECORDSIZE) * RECORDSIZE if form == TAR else total


class Destination(Protocol):
    """A folder or packed file into which files are put, one after the other, each once."""

    def put(self, path: str, blocks: Iterable[bytes], size: int) -> None:
        """Put a file of ``size`` bytes; if ``blocks`` raises, no part of it stays.

        Raises ``TargetError``.
        """

    def put_small(self, path: str, data: bytes | memoryview) -> None:
        """Put a file of these bytes; raises ``TargetError``."""


class Folder(Closable):
    """A new folder for files; a context manager.

    Raises ``TargetError`` if it exists, unless it is ``shared`` with other processes. With ``is_synced``
    False the caller puts all files on disk together.
    """

    def __init__(self, root: Path, *, shared: bool = False, is_synced: bool = True) -> None:
        writing.make_directories(root if shared else root.parent)
        if not shared:
            writing.make_directory(root)
        self.root = root
        self._is_synced = is_synced
        self._made: set[str] = set()
        self._open: tuple[str, writing.OpenFolder] | None = None

    def put(self, path: str, blocks: Iterable[bytes], size: int) -> None:
        """Write a file."""
        self._make(path.rpartition("/")[0])
        with writing.NewFile(self.root / path, is_synced=self._is_synced) as file:
            file.write_all(blocks, size)

    def put_small(self, path: str, data: bytes | memoryview) -> None:
        """Write a file of these bytes; the folder of the last stays open."""
        folder, name = self._enter(path)
        folder.write(name, data)

    def link(self, path: str, folder: int, file: str) -> bool:
        """Make a hard link to a file of another open folder; return False without such a file.

        Raises ``TargetError`` if it cannot be linked.
        """
        here, name = self._enter(path)
        return here.link(name, folder, file)

    def take_back(self, path: str) -> None:
        """Remove a file of the folder, if it exists; raises ``TargetError``."""
        folder, name = self._enter(path)
        folder.take_back(name)

    def _enter(self, path: str) -> tuple[writing.OpenFolder, str]:
        """Return the folder of a file, opened unless it is the last one, and the file's name."""
        folder, _, name = path.rpartition("/")
        if self._open is None or self._open[0] != folder:
            self.close()
            self._make(folder)
            self._open = folder, writing.OpenFolder(self.root / folder, is_synced=self._is_synced)
        return self._open[1], name

    def _make(self, folder: str) -> None:
        if folder not in self._made:
            writing.make_directories(self.root / folder)
            self._made.add(folder)

    def close(self) -> None:
        """Close the folder of the last file."""
        if self._open is not None:
            (_, folder), self._open = self._open, None
            folder.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """The packing of IPs: one of ``FORMS``, and the time of all files as xs:dateTime."""

    form: str
    created: str

    def check(self) -> None:
        """Raise ``ConfigError`` for an unknown form."""
        if self.form not in FORMS:
            raise ConfigError(
                f"unknown packing form {self.form!r}", hint=f"Choose one of {', '.join(FORMS)}."
            )

    def file(self, ip: str) -> str:
        """Return the path of an IP's packed file in the package."""
        return f"{ip}.{self.form}"

    def open_pack(self, package: Path, ip: str, work: Path, algorithms: Iterable[str]) -> Pack:
        """Make the file of an IP, to be filled; ``work`` is a folder for temporary files."""
        target = package / self.file(ip)
        writing.make_directories(target.parent)
        form = _Zip if self.form == ZIP else _TarWriter
        when = datetime.fromisoformat(self.created)
        return Pack(form(target, work, when), ip.rpartition("/")[2], tuple(algorithms))


class _Zip:
    """A growing zip file, with ZIP64 for large sizes, offsets and numbers; ``Pack`` closes it."""

    def __init__(self, target: Path, work: Path, when: datetime) -> None:
        self._writer = ZipWriter(target, work)
        self._when = moment(when)
        self.file = self._writer.file

    def add(self, name: str, blocks: Iterable[bytes], size: int) -> None:
        self._writer.add(name, blocks, method=STORED, most=size, when=self._when)

    def add_run(self, files: Sequence[tuple[str, bytes]]) -> bytes:
        names, contents = [name for name, _ in files], (data for _, data in files)
        return self._writer.add_run(names, contents, method=STORED, when=self._when)

    def finish(self) -> None:
        self._writer.finish(b"")

    def abandon(self) -> None:
        self._writer.abandon()


class _TarWriter:
    """A growing tar file: ustar, and pax for a long name or large size; ``Pack`` closes it."""

    def __init__(self, target: Path, work: Path, when: datetime) -> None:
        del work
        self.file = writing.NewFile(target)
        self._when = int(when.timestamp())

    def add(self, name: str, blocks: Iterable[bytes], size: int) -> None:
        self.file.write(_header(name, size, self._when))
        came = 0
        for block in blocks:
            came += len(block)
            self.file.write(block)
        if came != size:
            raise AssertionError(f"{name} has {came:,} bytes; expected {size:,}")
        self.file.write(bytes(-size % BLOCKSIZE))

    def add_run(self, files: Sequence[tuple[str, bytes]]) -> bytes:
        members = (
            (_header(name, len(data), self._when), data, bytes(-len(data) % BLOCKSIZE))
            for name, data in files
        )
        whole = b"".join(chain.from_iterable(members))
        self.file.write(whole)
        return whole

    def finish(self) -> None:
        self.file.write(bytes(2 * BLOCKSIZE))
        self.file.write(bytes(-self.file.size % RECORDSIZE))

    def abandon(self) -> None:
        self.file.discard()


def _header(name: str, size: int, when: int) -> bytes:
    info = TarInfo(name)
    info.size, info.mtime, info.mode = size, when, _MODE
    if name.isascii():
        try:
            return info.tobuf(USTAR_FORMAT)
        except ValueError:  # a name or size too large for ustar
            pass
    return info.tobuf(PAX_FORMAT)


class Pack:
    """The packed file of one IP; a context manager that removes the file after an error.

    Paths are those below the IP's folder, the one folder at the root of the file. Small files are hashed as
    they are written; all other bytes are read back for hashing, as a zip file's local headers are complete
    only after the data.
    """

    def __init__(self, form: _Zip | _TarWriter, folder: str, algorithms: tuple[str, ...]) -> None:
        self._form = form
        self._folder = folder
        self._hashers = ThreadedHashers(algorithms)
        self._hashed = 0
        self._waiting: list[tuple[str, bytes]] = []
        self._held = 0

    def put(self, path: str, blocks: Iterable[bytes], size: int) -> None:
        """Add a file of ``size`` bytes."""
        self._flush()
        self._form.add(f"{self._folder}/{path}", blocks, size)

    def put_small(self, path: str, data: bytes | memoryview) -> None:
        """Add a file of these bytes; several such files are written together."""
        self._waiting.append((f"{self._folder}/{path}", bytes(data)))
        self._held += len(data)
        if self._held >= SMALL or len(self._waiting) == LONGEST:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._hash_rest()
            self._hashers.update(self._form.add_run(self._waiting))
            self._hashed = self._form.file.size
            self._waiting.clear()
            self._held = 0

    def _hash_rest(self) -> None:
        self._hashers.take(self._form.file.read_back(self._hashed, self._form.file.size))
        self._hashed = self._form.file.size

    def below(self, folder: str) -> Destination:
        """Return the destination for files below a folder of the IP, "" for the IP's folder."""
        return _PackedFolder(self, f"{folder}/") if folder else self

    def take(self, root: Path, ip: str, files: Mapping[str, Hashers]) -> None:
        """Add ``files``, which are below ``root``, in sorted order; ``ip`` is the IP's folder there."""
        for path in sorted(files, key=str.encode):
            self.put(path.removeprefix(f"{ip}/"), _blocks(root / path), files[path].size)

    def finish(self) -> Hashers:
        """Write the end of the file; return its digests."""
        self._flush()
        self._form.finish()
        self._hash_rest()
        self._form.file.close()
        return self._hashers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._form.abandon()
            writing.remove(self._form.file.path)


@dataclass(frozen=True, slots=True)
class _PackedFolder:
    """A folder in a pack."""

    pack: Pack
    prefix: str

    def put(self, path: str, blocks: Iterable[bytes], size: int) -> None:
        self.pack.put(self.prefix + path, blocks, size)

    def put_small(self, path: str, data: bytes | memoryview) -> None:
        self.pack.put_small(self.prefix + path, data)


def _blocks(path: Path) -> Iterator[bytes]:
    with reading.opening(path) as descriptor:
        yield from reading.chunks(descriptor)
