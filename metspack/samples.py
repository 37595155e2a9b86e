"""The sample archives that come with metspack, to try its commands on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metspack import fsio, reading, resources
from metspack.errors import ConfigError, TargetError

_FILES = {"northwind": ("Northwind.siard", "Northwind-full.siard")}


def names() -> tuple[str, ...]:
    """Return the names of the samples."""
    return tuple(_FILES)


def written(name: str, folder: Path) -> Iterator[Path]:
    """Copy the files of a sample into a folder and yield the path of each when it is there.

    The folder is made when it is missing. An identical file is left as it is; a different one of the
    same name is refused with ``TargetError`` before anything is written. Raises ``ConfigError`` for a
    name that is none of ``names()``.
    """
    if name not in _FILES:
        raise ConfigError(f"there is no sample {name!r}", hint=f"The samples are: {', '.join(names())}.")
    contents = {folder / file: _content(resources.sample_folder(name), file) for file in _FILES[name]}
    there = {path for path, content in contents.items() if _is_there(path, content)}
    fsio.make_directories(folder)
    for path, content in contents.items():
        if path not in there:
            with fsio.NewFile(path) as file:
                file.write(content)
        yield path


def _content(folder: Path, *segments: str) -> bytes:
    with reading.opening(folder, segments) as descriptor:
        return b"".join(reading.chunks(descriptor))


def _is_there(path: Path, content: bytes) -> bool:
    """Tell whether a file is there already; raises ``TargetError`` when another one stands in its place."""
    with fsio.explained(path):
        if not (path.exists() or path.is_symlink()):
            return False
        if path.is_file() and path.stat().st_size == len(content) and _content(path) == content:
            return True
    raise TargetError(
        f"{path} is there already and is not the sample of that name",
        hint="Choose another folder, or move that file away.",
    )
