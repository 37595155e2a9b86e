"""``metspack sample``: archives for first tries."""

from __future__ import annotations

from pathlib import Path

from metspack import resources
from metspack.cli import console
from metspack.cli.options import choices, common
from metspack.cli.options.groups import argument
from metspack.errors import ConfigError, TargetError
from metspack.files import reading, writing
from metspack.system import quoted

_FILES = {"northwind": ("Northwind.siard", "Northwind-full.siard")}


def sample(
    name: str = argument(
        "NAME",
        "Name of the sample: northwind.",
        choice=choices.of(*_FILES),
    ),
    folder: Path = argument("DIR", "Folder to write it to."),
    *,
    json_output: bool = common.JSON,
    quiet: bool = common.QUIET,
) -> None:
    """Write sample archives to try metspack on.

    **northwind** is the E-ARK recommendation's example: 13 tables, 8 pictures. Its second
    archive, Northwind-full, has photographs, text LOBs and nested ones too.

    `metspack sample northwind .`
    """
    if not folder.exists():
        writing.check_folder(folder)
    paths = copy_sample(name, folder)
    if json_output:
        files = ({"path": str(each), "bytes": len(_content(each))} for each in paths)
        console.document({"sample": name, "files": files})
    if json_output or quiet:
        return
    for path in paths:
        console.out(str(path))
    console.out(f"Try: metspack plan {quoted(str(paths[0]))} --max-files 4 --max-bytes 45000")


def copy_sample(name: str, folder: Path) -> list[Path]:
    """Copy the files of a sample into a folder; return their paths.

    The folder is made when it is missing. An identical file is left as it is; a different one of the same
    name is refused with ``TargetError`` before anything is written. Raises ``ConfigError`` for a name without
    a sample.
    """
    if name not in _FILES:
        raise ConfigError(f"there is no sample {name!r}", hint=f"The samples are: {', '.join(_FILES)}.")
    contents = {folder / file: _content(resources.root() / "samples" / name, file) for file in _FILES[name]}
    there = {path for path, content in contents.items() if _is_there(path, content)}
    writing.make_directories(folder)
    for path, content in contents.items():
        if path not in there:
            with writing.open_whole(path) as file:
                file.write(content)
    return list(contents)


def _content(folder: Path, *segments: str) -> bytes:
    with reading.opening(folder, segments) as descriptor:
        return b"".join(reading.chunks(descriptor))


def _is_there(path: Path, content: bytes) -> bool:
    """Return whether a file exists already; raises ``TargetError`` for another one in its place."""
    with writing.explained(path):
        if not (path.exists() or path.is_symlink()):
            return False
        if path.is_file() and path.stat().st_size == len(content) and _content(path) == content:
            return True
    raise TargetError(
        f"{path} already exists and is not the sample of that name",
        hint="Choose another folder, or move that file away.",
    )
