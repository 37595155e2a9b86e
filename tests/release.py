"""Make the files of a release, the same bytes in any folder: ``just release``.

Wheel, sdist, SBOM, the documentation as a site, release notes, and the SHA-256 of each. What it takes is the
last commit, the locked tools and this Python; ``--tag v1.2.3`` refuses another version or one without a date.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from hatch_build import description
from metspack import __version__
from tests.conftest import CHECKOUT

SUMS = "SHA256SUMS"
_EARLIEST = 315_532_800  # zip knows no time before 1980


def main() -> None:
    """Make a release in a folder, which is emptied first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tag", default="", help="the tag of the commit: it must be that of the version")
    given = parser.parse_args()
    text = section((CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8"), __version__)
    if given.tag:
        check_tag(given.tag, text)
    if changed := _run("git", "status", "--porcelain").strip():
        raise SystemExit(f"not committed, so not to be released:\n{changed}")
    os.environ.setdefault("SOURCE_DATE_EPOCH", _run("git", "log", "-1", "--format=%ct").strip())
    shutil.rmtree(given.folder, ignore_errors=True)
    given.folder.mkdir(parents=True)
    sys.stdout.write(made(given.folder.absolute(), text))


def made(folder: Path, text: str) -> str:
    """Make all files of a release in a folder, with these notes; return their sums."""
    stem = folder / f"metspack-{__version__}"
    _run(sys.executable, "-m", "hatchling", "build", "-d", folder)
    (wheel,) = folder.glob("*.whl")
    with tempfile.TemporaryDirectory() as name:
        write_sbom(Path(f"{stem}.cdx.json"), wheel, Path(name, "environment"))
        site = Path(name, "site")
        _run(sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", site)
        write_zip(Path(f"{stem}-docs.zip"), site, int(os.environ["SOURCE_DATE_EPOCH"]))
    Path(f"{stem}-notes.md").write_text(notes(text, folder), encoding="utf-8")
    sums = "".join(f"{digest}  {path.name}\n" for path, digest in digests(folder))
    (folder / SUMS).write_text(sums, encoding="utf-8")
    return sums


def section(changelog: str, version: str) -> str:
    """Return the section of a version, from its heading on."""
    found = re.search(rf"^## \[{re.escape(version)}\].*?(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"CHANGELOG.md has no section {version}")
    return found[0]


def check_tag(tag: str, text: str) -> None:
    """Refuse a tag that is not the version's, and a section without a date."""
    if tag != f"v{__version__}":
        raise SystemExit(f"the tag is {tag}, and the version {__version__}")
    if not re.match(r"## \[[\d.]+\] - \d{4}-\d\d-\d\d\n", text):
        raise SystemExit(f"CHANGELOG.md has no date for {__version__}: {text.splitlines()[0]}")


def notes(text: str, folder: Path) -> str:
    """Return the page of a section, with the files of a release and how to verify them."""
    body = description(text.partition("\n")[2].strip()).replace("\n### ", "\n## ")
    rows = [f"| {path.name} | {path.stat().st_size:,} | `{digest}` |" for path, digest in digests(folder)]
    head = "## Files\n\n| file | bytes | SHA-256 |\n|---|---:|---|"
    verify = f"`sha256sum -c {SUMS}` verifies them."
    return "\n".join([f"# metspack {__version__}\n", body, head, *rows, "", verify, ""])


def digests(folder: Path) -> list[tuple[Path, str]]:
    """Return the files of a folder by name, each with its SHA-256."""
    return [(path, hashlib.sha256(path.read_bytes()).hexdigest()) for path in sorted(folder.iterdir())]


def write_sbom(path: Path, wheel: Path, environment: Path) -> None:
    """Write the CycloneDX SBOM of a wheel with all extras, as locked, in a new environment."""
    variables = {"UV_PROJECT_ENVIRONMENT": str(environment)}
    extras = ("--all-extras", "--no-dev", "--no-install-project")
    _run("uv", "sync", "-q", "--locked", *extras, "--python", sys.executable, **variables)
    python = next(each for each in _pythons(environment) if each.exists())
    _run("uv", "pip", "install", "-q", "--no-deps", "--python", python, wheel)
    given = ("--pyproject", CHECKOUT / "pyproject.toml", "--output-reproducible", "--of", "JSON")
    bom = json.loads(_run(sys.executable, "-m", "cyclonedx_py", "environment", python, *given))
    bom["metadata"]["component"]["version"] = __version__  # which pyproject.toml leaves to the build
    path.write_text(f"{json.dumps(bom, indent=1)}\n", encoding="utf-8")


def _pythons(environment: Path) -> tuple[Path, ...]:
    return environment / "bin" / "python", environment / "Scripts" / "python.exe"


def write_zip(path: Path, folder: Path, when: int) -> None:
    """Write the files of a folder into a zip file, sorted, all of one time."""
    stamp = time.gmtime(max(when, _EARLIEST))[:6]
    with zipfile.ZipFile(path, "w") as archive:
        for each in sorted(each for each in folder.rglob("*") if each.is_file()):
            entry = zipfile.ZipInfo(f"{path.stem}/{each.relative_to(folder).as_posix()}", stamp)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, each.read_bytes())


def _run(*words: str | Path, **variables: str) -> str:
    environment = os.environ | variables | {"NO_MKDOCS_2_WARNING": "1"}
    command = [str(each) for each in words]
    return subprocess.run(
        command, cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


if __name__ == "__main__":
    main()
