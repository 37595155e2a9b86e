"""The findings of the packages in tests/packages at each level: of each, and of one delivery."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from metspack.checking import Level, check
from metspack.checking.eark.profiles import Profile
from metspack.errors import MetspackError
from metspack.model import Finding
from tests.findings import ordered
from tests.packages.cases import Case, cases

HERE = Path(__file__).parent
GOLDEN = HERE.parents[1] / "samples" / "northwind" / "golden"
SINGLE, DELIVERY = HERE / "alone.jsonl", HERE / "delivery.jsonl"

Row: TypeAlias = dict[str, Any]


def golden() -> list[str]:
    """Return the names of the golden packages."""
    return sorted(each.name for each in GOLDEN.iterdir())


def case_rows(case: Case, folder: Path, *levels: Level) -> list[Row]:
    """Make a case in an empty folder and return its findings at each of the levels."""
    package = case.made(folder)
    given = [package, *(package.with_name(each) for each in case.also)]
    roots = [package.with_name(each) for each in case.roots]
    options = {"roots": roots, "strict": case.strict, "profile": Profile(case.profile)}
    return [row for level in levels for row in rows(case.id, given, level, package.parent, **options)]


def golden_rows(name: str, level: Level) -> list[Row]:
    """Return the findings of a golden package."""
    return rows(f"golden/{name}", [GOLDEN / name], level, GOLDEN)


def delivery(folder: Path) -> list[Path]:
    """Make each package in its folder below an empty folder; return the paths to check."""
    given = []
    for case in cases():
        home = folder / case.id
        home.mkdir(parents=True)
        if case.is_of_files:
            shutil.copytree(case.folder, home, symlinks=True, dirs_exist_ok=True)
            package = home / "package" / str(case.recipe.get("mets", ""))
        else:
            package = case.made(home)
        given += [package, *(package.with_name(each) for each in case.also)]
    for name in golden():
        shutil.copytree(GOLDEN / name, folder / "golden" / name)
        given.append(folder / "golden" / name)
    return given


def rows(name: str, given: Sequence[Path], level: Level, beside: Path, **options: Any) -> list[Row]:
    """Return findings as rows; ``DIR`` stands for the folder ``beside`` the packages."""
    try:
        found: Iterable[Finding] = ordered(check(given, level, **options))
    except MetspackError as error:
        return [{"package": name, "level": level.value, "error": error.message.replace(str(beside), "DIR")}]
    texts = (_of_anywhere(_text(each), str(beside)) for each in found)
    return [{"package": name, "level": level.value} | json.loads(each) for each in texts]


def _of_anywhere(text: str, folder: str) -> str:
    """Return a finding with ``DIR`` for a folder: in a command to be copied, in a location, and elsewhere."""
    written = json.dumps(folder).strip('"')
    text = re.sub(f"(metspack build )'{re.escape(written)}([^']*)'", r"\1DIR\2", text)
    return text.replace(quote(written), "DIR").replace(written, "DIR")


def _text(finding: Finding) -> str:
    return json.dumps(asdict(finding), default=lambda each: each.value)


def keys(found: Iterable[Row]) -> list[tuple[str, ...]]:
    """Return what no change of wording changes: package, level, code, severity and path."""
    names = ("package", "level", "code", "severity", "path")
    return sorted(tuple(str(each.get(name, "")) for name in names) for each in found)


def lines(found: Iterable[Row]) -> list[str]:
    """Return rows as lines, in order: all that is recorded of them."""
    return sorted(json.dumps(each, sort_keys=True) for each in found)


def write(path: Path, found: Iterable[Row]) -> None:
    """Write rows, those that differ by the level alone as one row with its levels."""
    levels: dict[str, list[str]] = {}
    for each in found:
        rest = {name: value for name, value in each.items() if name != "level"}
        levels.setdefault(json.dumps(rest), []).append(each["level"])
    kept = sorted(f'{text[:-1]}, "levels": {json.dumps(given)}}}\n' for text, given in levels.items())
    path.write_text("".join(kept), encoding="utf-8", newline="\n")


def recorded(path: Path, package: str, *levels: Level) -> list[Row]:
    """Return the rows that are recorded of a package at some levels."""
    return [row for level in levels for row in _read(path).get((package, level.value), [])]


@cache
def _read(path: Path) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for each in _levelled(path):
        found.setdefault((each["package"], each["level"]), []).append(each)
    return found


def _levelled(path: Path) -> Iterator[Row]:
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        row = json.loads(line)
        for level in row.pop("levels"):
            yield row | {"level": level}
