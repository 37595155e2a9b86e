"""Paths of files in a package: bytes with ``/`` from its root, as names need not be UTF-8."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from metspack.system import os

Names = tuple[str, ...]
"""The names on a path: those of the folders, and the file's."""


def shown(path: bytes) -> str:
    """Return a path for messages and reports; bytes outside UTF-8 are escaped as hexadecimal."""
    return path.decode("utf-8", "backslashreplace")


def folder_of(path: bytes) -> bytes:
    """Return the folder part of a path with its last ``/``, empty at the root."""
    return path[: path.rfind(b"/") + 1]


def span_below(folder: bytes) -> tuple[bytes, bytes]:
    """Return the bounds of the sorted paths below a folder, which ends with ``/``."""
    return folder, folder[:-1] + b"0" if folder else b"\xff"


def folded_name(name: bytes) -> bytes:
    """Return a name folded as in file systems that ignore letter case and Unicode form."""
    if name.isascii():
        return name.lower()
    text = name.decode("utf-8", "surrogateescape")
    return unicodedata.normalize("NFC", text.casefold()).encode("utf-8", "surrogateescape")


def reason_of(error: OSError) -> str:
    """Return the system's error message without the path."""
    return error.strerror or str(error)


def names_of(path: bytes) -> Names:
    """Return the names on a path; the empty path is that of the root."""
    return tuple(os.fsdecode(path).split("/")) if path else ()


def path_of(names: Sequence[str]) -> bytes:
    """Return the path of names from a METS or an archive."""
    return "/".join(names).encode("utf-8", "surrogateescape")
