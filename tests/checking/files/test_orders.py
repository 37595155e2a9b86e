"""Findings do not depend on the order of files in METS, manifests or folders."""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest

from metspack.checking import Level, check
from metspack.model import Finding
from tests.laws import seed
from tests.packages import forge
from tests.packages.forge import lobs

LOBS = lobs(60, 3)
_FILE = re.compile(r"<(?:mets:)?file\b.*?</(?:mets:)?file>", re.DOTALL)
_LINE = re.compile(r"\bline [0-9]+")


def damaged(package: Path) -> Path:
    """Damage the statements on files of a package and their bytes in many ways."""
    held = [package / f"Northwind_lobseg_{each.segment}" / each.path for each in LOBS]
    first, second = held[0].read_bytes(), held[1].read_bytes()
    held[0].write_bytes(second)
    held[1].write_bytes(first)
    held[7].write_bytes(b"other")
    held[40].write_bytes(held[40].read_bytes().replace(b"\n", b"\r\n"))
    held[50].unlink()
    held[55].with_name("unlisted").write_bytes(b"unlisted")
    held[59].write_bytes(b"")
    manifest = package / "manifest-md5.txt"
    lines = manifest.read_text().splitlines(keepends=True)
    manifest.write_text("".join(lines[:9] + lines[10:]) + f"{'0' * 32}  nowhere\n")
    return package


@pytest.fixture(params=["whole", "damaged"])
def package(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    package = forge.forge(tmp_path / "package", LOBS)
    return damaged(package) if request.param == "damaged" else package


@contextmanager
def shuffled_listing(chance: random.Random, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let folders be listed in any order."""
    real = os.scandir

    class Shuffled(Iterator[os.DirEntry[str]]):
        """The entries of a folder, as ``os.scandir`` gives them."""

        def __init__(self, folder: int) -> None:
            with real(folder) as entries:
                found = list(entries)
            chance.shuffle(found)
            self.found = iter(found)

        def __next__(self) -> os.DirEntry[str]:
            return next(self.found)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    with monkeypatch.context() as patched:
        patched.setattr("metspack.files.walking.os.scandir", Shuffled)
        yield


def shuffle_mets(path: Path, chance: random.Random) -> None:
    """Let a METS list its files in another order."""
    text = path.read_text()
    files = _FILE.findall(text)
    chance.shuffle(files)
    path.write_text(_FILE.sub(lambda _: files.pop(), text))


def shuffle_lines(path: Path, chance: random.Random) -> None:
    lines = path.read_text().splitlines(keepends=True)
    chance.shuffle(lines)
    path.write_text("".join(lines))


def facts_of(found: list[Finding]) -> Counter[tuple[object, ...]]:
    """Return findings without numbers of lines, and without F022."""
    return Counter(
        (each.code, each.severity, each.path, each.place, _LINE.sub("line", each.message))
        for each in found
        if "out of order" not in each.message
    )


@pytest.mark.slow
@pytest.mark.parametrize("level", [Level.STRUCTURE, Level.FULL])
def test_lines_and_listings_in_any_order_give_the_same_findings(
    package: Path, level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed())  # noqa: S311 -- any order will do
    ordered = list(check(package, level))
    with shuffled_listing(chance, monkeypatch):
        assert list(check(package, level)) == ordered
    for name in ("manifest-md5.txt", "manifest-sha256.txt"):
        shuffle_lines(package / name, chance)
    assert facts_of(list(check(package, level))) == facts_of(ordered)


@pytest.mark.parametrize("level", [Level.STRUCTURE, Level.FULL])
def test_files_in_any_order_in_mets_give_the_same_findings(tmp_path: Path, level: Level) -> None:
    chance = random.Random(seed())  # noqa: S311 -- any order will do
    found = []
    for name in ("ordered", "shuffled"):
        package = forge.forge(tmp_path / name, LOBS)
        if name == "shuffled":
            for child in sorted(package.glob("*/mets.xml")):
                shuffle_mets(child, chance)
            forge.seal(package)
        found.append(facts_of(list(check(damaged(package), level))))
    ordered, shuffled = found
    assert ordered == shuffled
    assert len(ordered) > 5
