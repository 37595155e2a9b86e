"""Building packages of small LOBs against the floors: unpacking them, and unpacking and hashing them.

Figures are ratios to `unzip` of the same archive into the same file system, which neither hashes nor
describes. Peak memory is the largest process of a build. The CSIP dialect writes PREMIS beside METS.

Usage: python bench/build.py [FOLDER [COUNT ...]]   (FOLDER on the file system to measure)
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from measuring import Measured, measured

_SIZE = 10_000
_COUNTS = (1_000, 10_000, 50_000)

_EXTRACT = "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])"


def _fresh(target: Path, command: list[str]) -> Measured:
    shutil.rmtree(target, ignore_errors=True)
    result = measured(command)
    shutil.rmtree(target, ignore_errors=True)
    return result


def _ways(path: Path, target: Path) -> dict[str, list[str]]:
    metspack = [sys.executable, "-m", "metspack", "build", str(path), "-o", str(target), "-q"]
    unzip = f"unzip -q {path} -d {target}"
    files = f"find {target} -type f -print0"
    return {
        "unzip": ["sh", "-c", unzip],
        "unzip, md5sum, sha256sum": [
            "sh",
            "-c",
            " && ".join((unzip, f"{files} | xargs -0 md5sum", f"{files} | xargs -0 sha256sum")),
        ],
        "zipfile.extractall": [sys.executable, "-c", _EXTRACT, str(path), str(target)],
        "metspack build -j 1": [*metspack, "-j", "1"],
        "metspack build -j 2": [*metspack, "-j", "2"],
        "--dialect csip -j 1": [*metspack, "-j", "1", "--dialect", "csip"],
        "--dialect csip -j 2": [*metspack, "-j", "2", "--dialect", "csip"],
    }


def main(folder: Path, counts: tuple[int, ...]) -> None:
    """Print a table per number of LOBs."""
    for count in counts:
        path = folder / f"build-{count}.siard"
        synthetic = str(Path(__file__).with_name("synthetic.py"))
        measured([sys.executable, synthetic, str(path), str(count), str(_SIZE)])
        print(f"{count:,} LOBs of {_SIZE:,} bytes")
        floor = None
        for name, command in _ways(path, folder / "built").items():
            result = _fresh(folder / "built", command)
            floor = floor or result.seconds
            print(
                f"  {name:<26} {1e6 * result.seconds / count:>7.1f} us/LOB"
                f"  {result.seconds / floor:>5.2f} x unzip  {result.rss / 1e6:>6.1f} MB"
            )


if __name__ == "__main__":
    chosen = tuple(int(each) for each in sys.argv[2:]) or _COUNTS
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]), chosen)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary), chosen)
