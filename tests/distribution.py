"""Install the wheel and the sdist of a folder, each in a fresh environment, and use them.

``python -m tests.distribution dist``; uv gets the dependencies, from its cache or the index.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def main(folder: Path) -> None:
    """Try the wheel and the sdist of a folder; raise ``CalledProcessError`` on a failure."""
    for pattern in ("*.whl", "*.tar.gz"):
        (package,) = folder.glob(pattern)
        with tempfile.TemporaryDirectory() as place:
            sys.stdout.write(f"{package.name}: {used(package.resolve(), Path(place))}\n")


def used(package: Path, place: Path) -> str:
    """Install a wheel or an sdist in a new environment, build and check the sample there."""
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("PYTHON")}
    environment |= {"VIRTUAL_ENV": str(place / "env"), "NO_COLOR": "1"}

    def run(*words: str | Path) -> str:
        return subprocess.run(
            [str(each) for each in words], cwd=place, env=environment, stdout=subprocess.PIPE, check=True
        ).stdout.decode()

    run("uv", "venv", "-q", "--python", sys.executable, place / "env")
    run("uv", "pip", "install", "-q", package)
    metspack = place / "env" / ("Scripts" if os.name == "nt" else "bin") / "metspack"
    run(metspack, "sample", "northwind", ".", "-q")
    run(metspack, "build", "Northwind.siard", "-o", "out", "--max-files", "4", "--max-bytes", "45000", "-q")
    report = json.loads(run(metspack, "check", "out", "--json", "--report", "report.html"))
    if report["findings"] or not (place / "report.html").is_file():
        raise SystemExit(f"{package.name}: the sample that it built does not check")
    return run(metspack, "--version").strip()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
