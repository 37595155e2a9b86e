"""Files of others for tests: real archives, official schemas, texts of standards.

Run as a module, it writes the table of them into CONTRIBUTING.md.
"""

import hashlib
import os
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ARCHIVES = (
    ("northwind", "Northwind.siard"),
    ("siard", "dbptk-example.siard"),
    ("siard", "sfdbsakila-2.1.siard"),
    ("siard", "sfdbsakila-2.2.siard"),
    ("siard", "sample-datalink-2.2.siard"),
)
"""Real archives, below ``data``."""

FOLDER = "METSPACK_TEST_DATA"
"""The variable that names the folder of the files."""

PAGE = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"
_LIST = Path(__file__).with_name("outside_files.toml")
_DEFAULT = Path(__file__).resolve().parents[2] / "shared"
_HEADER = "| file | publisher | version | published | bytes | SHA-256 |\n|---|---|---|---|---:|---|\n"
_TABLE = re.compile(rf"{re.escape(_HEADER)}(?:\|.*\n)*")


@dataclass(frozen=True, kw_only=True)
class OutsideFile:
    """A file that the project does not hold, as the list of them has it."""

    path: str
    publisher: str
    version: str
    published: str
    bytes: int
    sha256: str
    needs: str | None = None
    """A folder of the list without which the file is of no use."""


FILES = tuple(OutsideFile(**each) for each in tomllib.loads(_LIST.read_text(encoding="utf-8"))["file"])


def shared(*parts: str) -> Path:
    """Return a listed file, or a folder with all listed files; else skip the test with a reason."""
    folder, name = Path(os.environ.get(FOLDER, _DEFAULT)), "/".join(parts)
    wanted = [each for each in FILES if _below(each.path, name)]
    assert wanted, f"{name} is not in {_LIST.name}"
    wanted += [each for file in wanted if file.needs for each in FILES if _below(each.path, file.needs)]
    for each in wanted:
        if (reason := _refused(folder, each)) is not None:
            pytest.skip(f"needs {each.path}, {reason} (CONTRIBUTING.md tells where {FOLDER} has it from)")
    return folder / name


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


@cache
def _refused(folder: Path, file: OutsideFile) -> str | None:
    path = folder / file.path
    if not path.is_file():
        return f"which is not in {folder}"
    content = path.read_bytes()
    if (digest := hashlib.sha256(content).hexdigest()) != file.sha256:
        return f"but {path} is another file: {len(content)} bytes, SHA-256 {digest}"
    return None


def table() -> str:
    """Return the table of the files in Markdown."""
    return _HEADER + "".join(
        f"| `{each.path}` | {each.publisher} | {each.version} | {each.published} | {each.bytes:,} "
        f"| `{each.sha256}` |\n"
        for each in FILES
    )


def page(text: str) -> str:
    """Return the text of CONTRIBUTING.md with the table as the list has it now."""
    parts = _TABLE.split(text)
    assert len(parts) == len("ab"), "CONTRIBUTING.md has one table of files"
    return table().join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
