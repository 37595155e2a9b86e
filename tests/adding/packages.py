"""Packages to add to, small ones of both dialects, and what must not change in them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from metspack import checking
from metspack.adding.add import add_archive
from metspack.building import build
from metspack.building.build import BuildOptions, Built
from metspack.mets.dialects.csip.package import CsipOptions
from metspack.mets.dialects.interface import Software
from metspack.model import Limits, Severity
from tests import siards
from tests.kept import copied

FIRST = (b"a" * 40, b"b" * 30, b"c" * 250, b"d", b"")
SECOND = (b"A" * 50, b"B" * 260, b"C", b"D" * 70)
DIALECTS = ("recommendation", "csip")
OPTIONS = BuildOptions(
    created="2024-05-06T07:08:09Z",
    software=Software(name="metspack", version="metspack 0"),
    limits=Limits(files=3, bytes=100),
)


_ASKED = {"P004"}


class Stat(NamedTuple):
    inode: int
    modified: int
    mode: int
    data: bytes


def stats(folder: Path) -> dict[str, Stat]:
    """Return what must not change of every file below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            told = path.stat()
            found[str(path.relative_to(folder))] = Stat(
                told.st_ino, told.st_mtime_ns, told.st_mode, path.read_bytes()
            )
    return found


def siard(folder: Path, name: str, *contents: bytes, **options: Any) -> Path:
    return siards.packed(folder / f"{name}.siard", siards.parts(siards.lobs(*contents), **options))


def package(folder: Path, dialect: str, *contents: bytes, **changes: Any) -> Path:
    """Build the package ``out`` of the archive ``First``."""
    options = replace(
        OPTIONS,
        created="2020-01-01T00:00:00Z",
        dialect=dialect,
        checksum={"recommendation": "MD5", "csip": "SHA-256"}[dialect],
    )
    options, source = replace(options, **changes), siard(folder, "First", *(contents or FIRST))
    return copied((contents, repr(options)), folder / "out", lambda out: build.build(source, out, options))


def add(out: Path, source: Path, representation: str | None = None, **changes: Any) -> Built:
    return add_archive(out, source, replace(OPTIONS, **changes), representation)


def codes(out: Path, level: checking.Level = checking.Level.FULL, **options: Any) -> list[str]:
    """Return what is wrong with a package, infos left out, and warnings of references that it was to have."""
    found = checking.check(out, level, **options)
    return sorted(
        each.code for each in found if each.severity is not Severity.INFO and each.code not in _ASKED
    )


def csip(**options: Any) -> dict[str, Any]:
    return {"dialect_options": CsipOptions(**options)}


def parent(out: Path) -> Path:
    """Return the parent's METS."""
    plain = out / "mets.xml"
    return (
        plain
        if plain.exists()
        else next(out.glob("*/representations/*/data/First.siard")).parents[3] / "METS.xml"
    )
