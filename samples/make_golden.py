"""Build the golden packages: what the sample archives become, kept in git and compared byte for byte.

Run it after a change that is meant to change packages, and read the difference it makes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NORTHWIND = Path(__file__).resolve().parent / "northwind"
SAMPLES = {
    "Northwind": ("Northwind", ()),
    "Northwind-full": ("Northwind-full", ()),
    "Northwind-csip": ("Northwind", ("--dialect", "csip")),
}
"""The golden packages: each one's sample, and the options it is built with beside ``OPTIONS``."""

MERGED = {"Northwind-merged": "Northwind-csip"}
"""The golden packages that others of them are put together into."""

CLOCK = "1456185600"
"""The one time these packages know: 2016-02-23, the day of the recommendation's 0.16."""

OPTIONS = ("--max-files", "4", "--max-bytes", "45000")


def built(name: str, target: Path) -> None:
    """Build a golden package at ``target``."""
    sample, options = SAMPLES[name]
    _made("build", NORTHWIND / f"{sample}.siard", target, *OPTIONS, *options)


def merged(name: str, target: Path) -> None:
    """Put a golden package together at ``target`` of the one beside it."""
    _made("merge", target.parent / MERGED[name], target)


def _made(command: str, source: Path, target: Path, *options: str) -> None:
    line = [sys.executable, "-m", "metspack", command, str(source), "-o", str(target), *options]
    environment = os.environ | {"SOURCE_DATE_EPOCH": CLOCK}
    subprocess.run([*line, "--verify", "-q"], env=environment, check=True)  # noqa: S603 -- ourselves


def main(folder: Path) -> None:
    """Put the golden packages into a folder, in place of those that are there."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as fresh:
        for name in SAMPLES:
            built(name, Path(fresh) / name)
        for name in MERGED:
            merged(name, Path(fresh) / name)
        for name in (*SAMPLES, *MERGED):
            shutil.rmtree(folder / name, ignore_errors=True)
            (Path(fresh) / name).rename(folder / name)
            print(folder / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else NORTHWIND / "golden")
