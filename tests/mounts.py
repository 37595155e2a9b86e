"""Small file systems that a test mounts and takes away again."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_WAITED = 5.0
"""Seconds that a file system may be busy: a process that has just ended may hold it a while longer."""


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """Mount a file system in memory on a new folder for as long as the block lasts."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs to be root, to mount a small file system")
    try:
        yield folder
    finally:
        unmount(folder, _WAITED)


def unmount(folder: Path, waited: float) -> None:
    """Unmount a file system, lazily where it stays busy."""
    end = time.monotonic() + waited
    while subprocess.run(["umount", str(folder)], capture_output=True, check=False).returncode != 0:
        if time.monotonic() > end:
            subprocess.run(["umount", "-l", str(folder)], check=True)
            return
        time.sleep(0.1)
