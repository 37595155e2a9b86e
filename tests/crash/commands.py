"""The commands that are disturbed: what each starts from, and what it makes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import segmented_folders, siards

_LOBS = (b"a" * 40, b"c" * 130)
_OTHERS = (b"A" * 50, b"")
_LIMITS = ("--max-files", "3", "--max-bytes", "100")
_CSIP = ("--dialect", "csip")

Run = Callable[[Sequence[str | Path]], None]
"""A function that runs metspack undisturbed, and must succeed."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command is disturbed: all below ``root`` is of interest."""

    root: Path

    @property
    def given(self) -> Path:
        """What is only read."""
        return self.root / "given"

    @property
    def made(self) -> Path:
        """The folder in which the target is."""
        return self.root / "made"

    @property
    def target(self) -> Path:
        """What a command makes or changes."""
        return self.made / "out"

    @property
    def temporary(self) -> Path:
        """Where temporary files are put."""
        return self.root / "temporary"


def _archive(folder: Path, name: str, lobs: Sequence[bytes]) -> Path:
    return siards.packed(folder / f"{name}.siard", siards.parts(siards.lobs(*lobs)))


def _give_archive(place: Place, _run: Run) -> None:
    _archive(place.given, "First", _LOBS)


def _give_many(place: Place, _run: Run) -> None:
    _archive(place.given, "First", [bytes([each]) for each in range(8)])


def _give_package(*options: str) -> Callable[[Place, Run], None]:
    def give(place: Place, run: Run) -> None:
        source = _archive(place.temporary, "First", _LOBS)
        run(["build", source, "-o", place.given / "package", *_LIMITS, *options])
        source.unlink()

    return give


def _give_package_to_add_to(place: Place, run: Run) -> None:
    _give_package()(place, run)
    shutil.move(place.given / "package", place.target)
    _archive(place.given, "Second", _OTHERS)


def _give_segments(place: Place, _run: Run) -> None:
    segmented_folders.dbptk_21(place.target, _LOBS)


@dataclass(frozen=True, slots=True)
class Command:
    """A command to be disturbed; ``give`` makes what it reads and changes, once.

    ``changes`` is said of one whose target is there before. ``every`` is how many times rarer than others
    a call of it is disturbed: those with processes of their own take ten times as long. ``makes_reports``
    is said of one whose files appear one by one.
    """

    name: str
    give: Callable[[Place, Run], None]
    arguments: Callable[[Place], Sequence[str | Path]]
    changes: bool = False
    every: int = 1
    only_reads: bool = False
    makes_reports: bool = False


def _build(*options: str) -> Callable[[Place], Sequence[str | Path]]:
    return lambda place: ["build", place.given / "First.siard", "-o", place.target, *_LIMITS, *options]


def _of_package(*words: str) -> Callable[[Place], Sequence[str | Path]]:
    return lambda place: [words[0], place.given / "package", "-o", place.target, *words[1:]]


COMMANDS = (
    Command("build", _give_archive, _build()),
    Command("build --dialect csip", _give_archive, _build(*_CSIP)),
    Command("build --pack zip", _give_archive, _build(*_CSIP, "--pack", "zip")),
    Command(
        "build -j 2",
        _give_many,
        lambda place: [
            *("build", place.given / "First.siard", "-o", place.target),
            *("--max-files", "1", "-j", "2", "--quiet"),
        ],
        every=10,
    ),
    Command(
        "build --in-place",
        _give_segments,
        lambda place: ["build", place.target, "--keep-segments", "--in-place"],
        changes=True,
    ),
    Command("restore", _give_package(), _of_package("restore")),
    Command("restore --siard", _give_package(), _of_package("restore", "--siard")),
    Command("convert", _give_package(), _of_package("convert", "--max-files", "2", "--max-bytes", "90")),
    Command(
        "add",
        _give_package_to_add_to,
        lambda place: ["add", place.target, place.given / "Second.siard", *_LIMITS],
        changes=True,
    ),
    Command("merge", _give_package(*_CSIP), _of_package("merge")),
    Command("check", _give_package(), lambda place: ["check", place.given / "package"], only_reads=True),
    Command(
        "check --report",
        _give_package(),
        lambda place: [
            *("check", place.given / "package"),
            *("--report", place.made / "report.html", "--report", place.made / "report.json"),
        ],
        makes_reports=True,
    ),
)
