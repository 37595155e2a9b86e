"""The files below a folder, for comparing packages byte for byte."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Mapping
from pathlib import Path


def tree(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder by path: folders end in a slash, links hold their target."""
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = b"-> " + os.fsencode(path.readlink())
        elif path.is_dir():
            found[f"{name}/"] = b""
        else:
            found[name] = path.read_bytes()
    return found


def untar(path: Path, folder: Path) -> None:
    """Unpack a tar file that a test knows; the first releases of Python 3.11 have no filters."""
    with tarfile.open(path) as packed:
        if hasattr(tarfile, "data_filter"):
            packed.extraction_filter = tarfile.data_filter
        packed.extractall(folder)  # noqa: S202 -- as it says


def put(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write files below a folder, by their paths, and the folders for them; return it."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def names(folder: Path) -> set[str]:
    """Return what lies in a folder, not below it."""
    return {path.name for path in folder.iterdir()}


def put_in_the_way(path: Path, kind: str) -> None:
    """Let something be at a path: a file, a folder, a link or a link that leads nowhere."""
    if kind == "file":
        path.write_bytes(b"mine")
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to({"link": os.devnull, "dangling": "nowhere"}[kind])
