"""Try a wheel with each of its extras alone: ``python -m tests.extras FOLDER [PYTHON ...]``.

Each has a fresh environment of each Python, where the sample is built and checked by what the extra adds.
Without extras the same is refused with a hint. uv gets the dependencies; a missing Python is a row.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import CHECKOUT

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_ON_POSIX = {"cloud", "cluster"}
_LIMITS = ("--max-files", "4", "--max-bytes", "45000", "-q")
_FAST = (
    "from metspack.containers.zipreader import inflating as used; assert used.__name__ == 'isal.isal_zlib'"
)
_SERVER = CHECKOUT / "tests" / "stores" / "server.py"
USES: dict[str, tuple[tuple[str, ...], ...]] = {
    "cloud": (
        ("build", "Northwind.siard", "-o", "s3://archive/out", *_LIMITS),
        ("check", "s3://archive/out", "-q"),
    ),
    "cluster": (("build", "Northwind.siard", "-o", "by-cluster", *_LIMITS, "--cluster", "local:2"),),
    "fast": (("check", "out", "-q"),),
    "strict": (("check", "out", "--strict-schema", "-q"),),
}
"""The commands that each extra is for, in a folder with the sample and the package ``out``."""


def main(folder: Path, pythons: Sequence[str]) -> int:
    """Print a row for each Python and extra; return the number of those that failed."""
    (wheel,) = folder.absolute().glob("*.whl")
    failed = 0
    for python in pythons:
        with tempfile.TemporaryDirectory() as name, store(Path(name)) as variables:
            for extra in ("", *USES):
                place = Path(name, extra or "none")
                place.mkdir()
                begun = time.monotonic()
                result = tried(wheel, python, extra, place, variables)
                failed += result.startswith("FAILED")
                row = f"{python:6} {extra or '(none)':8} {time.monotonic() - begun:5.1f} s  {result}"
                sys.stdout.write(f"{row}\n")
                sys.stdout.flush()
    return failed


@contextmanager
def store(folder: Path) -> Iterator[dict[str, str]]:
    """Start a store on loopback, and give the variables of those who use it."""
    own = os.environ | {"AWS_ACCESS_KEY_ID": "server", "AWS_SECRET_ACCESS_KEY": "server"}
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, _SERVER, folder], env=own, stdin=subprocess.PIPE, stdout=log, stderr=log
        )
        try:
            while not (folder / "ports").exists():
                if server.poll() is not None:
                    raise SystemExit(f"the store does not start: {(folder / 'log').read_text()}")
                time.sleep(0.1)
            port = (folder / "ports").read_text().split()[0]
            named = {
                "AWS_ACCESS_KEY_ID": "tester",
                "AWS_SECRET_ACCESS_KEY": "tester",
                "AWS_REGION": "us-east-1",
            }
            yield {**named, "AWS_ENDPOINT_URL": port if "://" in port else f"http://127.0.0.1:{port}"}
        finally:
            server.kill()
            server.communicate()


def tried(wheel: Path, python: str, extra: str, place: Path, variables: dict[str, str]) -> str:
    """Return what came of a wheel with an extra: the version of Python, or what failed."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    own |= variables | {"VIRTUAL_ENV": str(place / "env"), "NO_COLOR": "1"}

    def run(*words: str | Path, code: int | None = 0) -> str:
        line = [str(each) for each in words]
        done = subprocess.run(line, cwd=place, env=own, capture_output=True, text=True, check=False)
        if code is not None and done.returncode != code:
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise ChildProcessError(f"{' '.join(line[1:4])}: exit code {done.returncode}: {''.join(last)}")
        return done.stdout + done.stderr

    try:
        run("uv", "venv", "-q", "--python", python, place / "env")
    except ChildProcessError:
        return "no such Python here"
    scripts = place / "env" / ("Scripts" if os.name == "nt" else "bin")
    metspack = (scripts / "python", "-m", "metspack")
    try:
        run("uv", "pip", "install", "-q", f"metspack[{extra}] @ {wheel.as_uri()}" if extra else wheel)
        run(*metspack, "sample", "northwind", ".", "-q")
        run(scripts / "metspack", "build", "Northwind.siard", "-o", "out", *_LIMITS)
        run(*metspack, "check", "out", "-q")
        used = (
            {extra: USES[extra]} if extra else {name: uses for name, uses in USES.items() if name != "fast"}
        )
        for name, uses in used.items():
            code = 0 if extra and not (os.name == "nt" and name in _ON_POSIX) else 2
            for words in uses if code == 0 else uses[:1]:
                found = run(*metspack, *words, code=code)
                if not extra and os.name != "nt" and f"metspack[{name}]" not in found:
                    return f"FAILED: no hint at {name}: {found}"
        if extra == "fast":
            run(scripts / "python", "-c", _FAST)
        return run(scripts / "python", "-V").strip()
    except ChildProcessError as error:
        return f"FAILED {error}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:] or PYTHONS))
