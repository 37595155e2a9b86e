"""Keep packages as this version of metspack builds them: ``python -m tests.packages.keep``.

They are never made anew: later versions must go on reading them (``tests/cli/test_kept.py``). One compressed
tar holds those of a version, as most of their bytes, the schemas in each IP, are the same in all.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from metspack import __version__
from tests import siards

KEPT = Path(__file__).parent / "kept"
CONTENTS = tuple(
    bytes((number * 37 + place) % 251 for place in range(900 * number)) for number in range(1, 7)
)
"""The LOBs of every kept package; the largest are larger than a segment, and so in parts."""

LIMITS = ("--max-files", "3", "--max-bytes", "4000")
PACKAGES = {
    "recommendation": (),
    "recommendation-siard22": ("--layout", "siard22", "--split", "alone"),
    "recommendation-tar": ("--pack", "tar"),
    "csip": ("--dialect", "csip", "--id", "KEPT-1"),
    "csip-sip": ("--dialect", "csip", "--profile", "sip", "--submitter", "A", "--id", "KEPT-2"),
    "csip-zip": ("--dialect", "csip", "--pack", "zip", "--id", "KEPT-3"),
}
"""The packages, each with the options that it is built with."""

_CLOCK = 1456185600


def main() -> None:
    """Keep the packages of this version with their contents, beside those kept already."""
    archive, statement = KEPT / f"{__version__}.tar.xz", KEPT / f"{__version__}.json"
    if archive.exists():
        raise SystemExit(f"{archive} is kept already, and must stay as it is")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "source").mkdir()
        source = siards.siard(folder / "source" / "Kept.siard", *CONTENTS)
        for package, options in PACKAGES.items():
            _run("build", source, "-o", folder / package, *LIMITS, *options, "-q")
        archive.write_bytes(_packed(folder, list(PACKAGES)))
        found = {package: _content(folder / package) for package in PACKAGES}
    statement.write_text(f"{json.dumps(found, indent=1)}\n", encoding="utf-8")


def _content(package: Path) -> dict[str, object]:
    (graph,) = json.loads(_run("links", package, "--json"))["packages"]
    lobs = {
        f"s0.t0.c2.r{number}": [len(content), hashlib.sha256(content).hexdigest()]
        for number, content in enumerate(CONTENTS, 1)
    }
    return {"documents": len(graph["documents"]), "links": len(graph["links"]), "lobs": lobs}


def _packed(folder: Path, names: list[str]) -> bytes:
    block = io.BytesIO()
    with tarfile.open(fileobj=block, mode="w:xz", preset=9) as tar:
        for path in sorted(path for name in names for path in (folder / name).rglob("*") if path.is_file()):
            data = path.read_bytes()
            entry = tarfile.TarInfo(str(path.relative_to(folder)))
            entry.size, entry.mtime = len(data), _CLOCK
            tar.addfile(entry, io.BytesIO(data))
    return block.getvalue()


def _run(*words: str | Path) -> str:
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(_CLOCK)}
    command = [sys.executable, "-m", "metspack", *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
