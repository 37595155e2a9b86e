"""The commands that are disturbed: what each starts from, and what it makes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from metspack.files.journal import unsealed
from tests import segmented_folders, siards

_LOBS = (b"a" * 40, b"c" * 130)
_LIMITS = ("--max-files", "3", "--max-bytes", "100")
_IN_PARTS = "s0.t0.c2.r2"
_CSIP = ("--dialect", "csip")


class Run(Protocol):
    """A function that runs metspack undisturbed, and must succeed.

    With ``until`` what it made is thrown away, and it is run again and killed after that share of its calls.
    """

    def __call__(self, arguments: Sequence[str | Path], *, until: float | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of a disturbed command, all below ``root``."""

    root: Path

    @property
    def given(self) -> Path:
        """The folder that is read-only."""
        return self.root / "given"

    @property
    def made(self) -> Path:
        """The folder in which the target is."""
        return self.root / "made"

    @property
    def target(self) -> Path:
        """The path that a command makes or changes."""
        return self.made / "out"

    @property
    def temporary(self) -> Path:
        """The folder of temporary files."""
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


def _give_folder(place: Place, _run: Run) -> None:
    folder = place.given / "A" / "content" / "schema0" / "table0" / "lob2"
    folder.mkdir(parents=True)
    for number, lob in enumerate(_LOBS * 3):
        (folder / f"record{number}.bin").write_bytes(lob)


def _give_segments(place: Place, _run: Run) -> None:
    segmented_folders.dbptk_21(place.target, _LOBS)


def _give_ledger(place: Place, run: Run) -> None:
    _give_package()(place, run)
    run(_check_with_ledger(place))
    lines = _ledger(place).read_bytes().splitlines(keepends=True)
    _ledger(place).write_bytes(b"".join(lines[: len(lines) // 2]))


def _ledger(place: Place) -> Path:
    return place.made / "ledger"


def _check_with_ledger(place: Place) -> list[str | Path]:
    return ["check", place.given / "package", "--ledger", _ledger(place)]


def _lines(ledger: bytes) -> list[dict[str, Any]]:
    """Return the whole lines of a ledger, without the times."""
    lines = filter(None, map(unsealed, ledger.splitlines()))
    return [{**each, "time": ""} for each in lines]


def _without_times(ledger: bytes) -> bytes:
    """Return what a ledger says of files, which is the same each time that it is made."""
    return "\n".join(sorted(json.dumps(each, sort_keys=True) for each in _lines(ledger))).encode()


def _says_no_more(ledger: bytes, golden: bytes) -> bool:
    golden_lines = {each.get("path"): each for each in _lines(golden)}
    return all(
        each == {**golden_lines.get(each["path"], {}), "facts": each["facts"]}
        and {*each["facts"]} <= {*golden_lines[each["path"]]["facts"]}
        for each in _lines(ledger)
        if each["event"] == "file"
    )


def _is_whole_report(report: bytes, _golden: bytes) -> bool:
    return report.rstrip().endswith((b"</html>", b"}"))


@dataclass(frozen=True, slots=True)
class Command:
    """A command for trials; ``give`` makes the files that it reads and changes, once.

    ``changes`` is said of one whose target is there before. ``every`` is how many times rarer than others
    a call of it is disturbed: those with processes of their own take ten times as long, and a build of csip
    makes three times as many calls in the same places, each of which takes twice as long. ``is_right``
    is given where files appear one by one or grow: whether one may stay as it is, beside the golden one;
    with ``may_say_less`` also after success. ``essence`` is what of a file is the same each time that it is
    made. ``discards``: an interrupted run removes all its files, ``has_several`` of one with
    several targets, each of which is absent or complete. ``constant`` is one of metspack's, and ``value``
    what it is set to, for few files to be treated as many are. ``is_stored``: the target is in a store, which
    survives a power loss of this machine; what the run goes on from is then among the temporary files.
    """

    name: str
    give: Callable[[Place, Run], None]
    arguments: Callable[[Place], Sequence[str | Path]]
    changes: bool = False
    every: int = 1
    only_reads: bool = False
    is_right: Callable[[bytes, bytes], bool] | None = None
    may_say_less: bool = False
    essence: Callable[[bytes], bytes] = bytes
    discards: bool = False
    has_several: bool = False
    constant: str = ""
    value: object = 0
    is_stored: bool = False


def _build(*options: str) -> Callable[[Place], Sequence[str | Path]]:
    return lambda place: ["build", place.given / "First.siard", "-o", place.target, *_LIMITS, *options]


def _stopped(
    give: Callable[[Place, Run], None], arguments: Callable[[Place], Sequence[str | Path]], until: float
) -> Callable[[Place, Run], None]:
    """Return what gives what a command has left that was killed after a share of its calls."""

    def stop(place: Place, run: Run) -> None:
        give(place, run)
        run(arguments(place), until=until)

    return stop


def _of_package(*words: str) -> Callable[[Place], Sequence[str | Path]]:
    return lambda place: [words[0], place.given / "package", "-o", place.target, *words[1:]]


COMMANDS = (
    Command("build", _give_archive, _build()),
    Command("build --dialect csip", _give_archive, _build(*_CSIP), every=2),
    Command("build --pack zip", _give_archive, _build(*_CSIP, "--pack", "zip")),
    Command("build, stopped before", _stopped(_give_archive, _build(), 0.5), _build()),
    Command(
        "build into a store",
        _give_archive,
        lambda place: [
            *("build", place.given / "First.siard", "-o", "s3://archive/out"),
            *(*_LIMITS, "--io-jobs", "1"),
        ],
        every=2,
        is_stored=True,
    ),
    Command("build --discard-on-interrupt", _give_archive, _build("--discard-on-interrupt"), discards=True),
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
        "build -j 2 of a folder",  # LOBs are placed before their parent has an OBJID
        _give_folder,
        lambda place: [
            *("build", place.given / "A", "-o", place.target),
            *("--max-files", "1", "-j", "2", "--quiet"),
        ],
        every=10,
        constant="metspack.processes._SMALL_FILES",
        value=1,
    ),
    Command(
        "build --in-place",
        _give_segments,
        lambda place: ["build", place.target, "--keep-segments", "--in-place"],
        changes=True,
    ),
    Command("restore", _give_package(), _of_package("restore")),
    Command(
        "restore -j 2",
        _give_package(),
        _of_package("restore", "-j", "2", "--quiet"),
        every=10,
        constant="metspack.restoring.files._FILES_AT_ONCE",
        value=1,
    ),
    Command("restore --siard", _give_package(), _of_package("restore", "--siard")),
    Command("convert", _give_package(), _of_package("convert", "--max-files", "2", "--max-bytes", "90")),
    Command("merge", _give_package(*_CSIP), _of_package("merge")),
    Command("check", _give_package(), lambda place: ["check", place.given / "package"], only_reads=True),
    Command(
        "inspect", _give_archive, lambda place: ["inspect", place.given / "First.siard"], only_reads=True
    ),
    Command(
        "plan -o",
        _give_archive,
        lambda place: ["plan", place.given / "First.siard", *_LIMITS, "-o", place.made / "plan.json"],
    ),
    Command("list", _give_package(), lambda place: ["list", place.given / "package"], only_reads=True),
    Command("shards", _give_package(), lambda place: ["shards", place.given / "package"], only_reads=True),
    Command(
        "cat", _give_package(), lambda place: ["cat", place.given / "package", _IN_PARTS], only_reads=True
    ),
    Command(
        "restore --dry-run",
        _give_package(),
        lambda place: ["restore", place.given / "package", "--dry-run"],
        only_reads=True,
        every=4,
    ),
    Command(
        "sample",
        lambda _place, _run: None,
        lambda place: ["sample", "northwind", place.made],
        has_several=True,
    ),
    Command(
        "check --report",
        _give_package(),
        lambda place: [
            *("check", place.given / "package"),
            *("--report", place.made / "report.html", "--report", place.made / "report.json"),
        ],
        is_right=_is_whole_report,
    ),
    Command(
        "check --ledger",
        _give_package(),
        _check_with_ledger,
        is_right=_says_no_more,
        may_say_less=True,
        essence=_without_times,
    ),
    Command(
        "check --older-than",
        _give_ledger,
        lambda place: [*_check_with_ledger(place), "--older-than", "90d"],
        is_right=_says_no_more,
        may_say_less=True,
        essence=_without_times,
    ),
)
