"""What holds the files of an IP: its folder, or a zip or tar file with that folder in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from metspack import reading, walking
from metspack.errors import MetspackError, SourceError
from metspack.media import Below, Stretch
from metspack.mets import CSIP_METS
from metspack.packs import SUFFIXES, PackFile, Shelf
from metspack.uris import shown

REPRESENTATIONS = "representations"
_ANOTHER = "Get it from another copy; metspack check tells what else is wrong with it."
_UNPACK = "Unpack it where it lies and name the folder."

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderIp:
    """An IP that is a folder; ``name`` is what METS in other IPs call that folder."""

    path: Path

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.path.resolve().name

    def blocks(self, names: Names) -> Iterator[bytes]:
        """Yield the bytes of a file, by its names below the folder; raises ``SourceError``."""
        try:
            with reading.opening(self.path, names) as descriptor:
                yield from reading.chunks(descriptor)
        except (OSError, SourceError) as error:
            raise unreadable(self.path.joinpath(*names), error) from None

    def files(self) -> Iterator[Names]:
        """Yield all files, by their names below the folder; raises ``SourceError`` for what is none."""
        with closing(walking.entries(self.path)) as found:
            yield from (each.path for each in found if each.stamp is not None)

    def representations(self) -> Names:
        """Return the names of the folders below ``representations``."""
        try:
            with os.scandir(self.path / REPRESENTATIONS) as found:
                return tuple(sorted(each.name for each in found if each.is_dir(follow_symlinks=False)))
        except FileNotFoundError:
            return ()

    def stretch(self, names: Names) -> Stretch | None:  # noqa: ARG002 -- as PackedIp has it
        """Return None: a file is not within another one."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedIp:
    """An IP packed as a zip or tar file that is called after the folder in it; ``path`` is the file."""

    path: Path
    shelf: Shelf

    @property
    def name(self) -> str:
        """The name of the folder in it."""
        return self.path.stem

    def _pack(self) -> PackFile:
        try:
            return self.shelf.opened(Below(root=self.path.parent, segments=(self.path.name,)))
        except SourceError as error:
            raise unreadable(self.path, error) from None

    def _inner(self, names: Names) -> bytes:
        return os.fsencode("/".join((self.name, *names)))

    def blocks(self, names: Names) -> Iterator[bytes]:
        """Yield the bytes of a file, by its names below the folder; raises ``SourceError``."""
        content = self._pack().content(self._inner(names))
        if content is None:
            raise SourceError(f"{self.path} does not hold {'/'.join((self.name, *names))}", hint=_ANOTHER)
        try:
            yield from content.chunks()
        except (OSError, SourceError) as error:
            raise unreadable(self.path.joinpath(*names), error) from None

    def files(self) -> Iterator[Names]:
        """Yield all files, by their names below the folder; raises ``SourceError`` for what is none."""
        for item in self._pack().items(b""):
            first, *names = os.fsdecode(item.name).split("/")
            if item.kind == "d":
                continue
            if item.kind != "f" or first != self.name or not names:
                found = shown(os.fsdecode(item.name))
                raise SourceError(
                    f"{self.path} holds {found}, expected files in the folder {self.name} alone",
                    hint="An IP that is packed is one folder in one file, without links.",
                )
            yield tuple(names)

    def representations(self) -> Names:
        """Return the names of the folders below ``representations``."""
        found = (each for each in self.files() if each[0] == REPRESENTATIONS)
        return tuple(sorted({each[1] for each in found if len(each) > 2}))  # noqa: PLR2004 -- a file in it

    def stretch(self, names: Names) -> Stretch | None:
        """Return where the bytes of a file lie; raises ``SourceError`` where they are compressed."""
        found = self._pack().stretch(self._inner(names))
        if found is None:
            raise SourceError(
                f"{'/'.join(names)} is compressed in {self.path}, or not in it; expected it there as it is",
                hint=_UNPACK,
            )
        return found


Holder = FolderIp | PackedIp


def holders(path: Path, shelf: Shelf) -> Iterator[Holder]:
    """Yield what holds the IP at a path, or the IPs side by side in a folder, sorted by name.

    Raises ``SourceError`` when there is none.
    """
    found: list[Holder]
    if path.is_dir():
        found = [FolderIp(path=path)] if (path / CSIP_METS).is_file() else list(_inside(path, shelf))
    elif path.is_file() and os.fsencode(path.suffix.lower()) in SUFFIXES:
        found = [PackedIp(path=path, shelf=shelf)]
    else:
        raise SourceError(
            f"{path} is no folder, and no zip or tar file",
            hint="Name an IP, its folder or its file, or the folder that holds IPs side by side.",
        )
    if not found:
        raise SourceError(
            f"{path} holds no {CSIP_METS}, nor does a folder in it, or a zip or tar file",
            hint="Containers are IPs of the dialect csip: metspack build --dialect csip. Packages of the "
            "other dialect are one folder already.",
        )
    yield from found


def _inside(path: Path, shelf: Shelf) -> Iterator[Holder]:
    for each in sorted(path.iterdir()):
        if (each / CSIP_METS).is_file():
            yield FolderIp(path=each)
        elif each.is_file() and os.fsencode(each.suffix.lower()) in SUFFIXES:
            yield PackedIp(path=each, shelf=shelf)


def unreadable(path: Path, error: OSError | MetspackError) -> SourceError:
    """Return the error of a file in a container that cannot be read."""
    why = error.message if isinstance(error, MetspackError) else error.strerror or error
    return SourceError(f"{path} cannot be read: {why}", hint=_ANOTHER)
