"""What lies on disk is bad: files, folders, names, segments, manifests."""

import os
import shutil
from pathlib import Path

from tests.packages.bad.recipe import FIRST, SECOND, Bad, bad
from tests.packages.forge import edit

MD5 = "manifest-md5.txt"


def _swap(root: Path) -> None:
    first, second = (root / FIRST).read_bytes(), (root / SECOND).read_bytes()
    (root / FIRST).write_bytes(second)
    (root / SECOND).write_bytes(first)


def _flip(root: Path) -> None:
    data = bytearray((root / FIRST).read_bytes())
    data[7] ^= 0x10
    (root / FIRST).write_bytes(data)


def _append(path: str, data: bytes) -> object:
    def damage(root: Path) -> None:
        with (root / path).open("ab") as file:
            file.write(data)

    return damage


def _lines(change: object) -> object:
    def damage(root: Path) -> None:
        lines = (root / MD5).read_bytes().splitlines(keepends=True)
        (root / MD5).write_bytes(b"".join(change(lines)))

    return damage
