"""A forged ``.partial`` beside a package or a target: files outside of both stay untouched."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import random
import shutil
import tracemalloc
from collections.abc import Callable, Mapping
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest

from metspack.building.segmentedfolder import descriptions
from metspack.errors import TargetError
from metspack.files import journal
from metspack.files.transaction import Transaction
from tests import siards
from tests.cli.conftest import Commands
from tests.kept import copied
from tests.packages import forge
from tests.trees import tree

VICTIM = b"what was there before"
EVIL = b"what somebody else wants there"

# --- A package, and a transaction on it that nobody began -------------------------------------------------

Event = Mapping[str, Any]


def forged(folder: Path, *events: Event) -> Path:
    """Put a journal of these events beside a folder."""
    partial = journal.partial_of(folder)
    (partial / "package").mkdir(parents=True)
    (partial / "work").mkdir()
    lines = (journal.sealed(each) + "\n" for each in events)
    (partial / "journal.jsonl").write_text("".join(lines))
    return partial


def putting(*puts: tuple[str, str]) -> tuple[Event, Event]:
    """Return the events of a transaction that was stopped while it put files into the folder."""
    run = {"command": journal.IN_PLACE, "version": "0", "facts": {}, "created": "", "is_resumable": False}
    begun = {"event": journal.BEGIN, **run, "pid": 1, "words": "", "started": "2026-05-01T12:00:00+00:00"}
    return begun, {"event": journal.PUTTING, "puts": puts}


def recover(package: Path) -> None:
    """Take back a transaction that was stopped."""
    with Transaction(package, "mets.xml", lambda: descriptions(package)):
        pass


OUTWARD = (
    *("../victim", "../../victim", "../../../victim", "a/../../victim", "a/../../../../victim", "..", "."),
    *("{home}/victim", "", "a//b", "a/./b", "vic\0tim", "to/victim"),
)


@pytest.mark.parametrize(("path", "is_listed"), [*zip(OUTWARD, cycle([False, True]), strict=False)])
def test_a_forged_transaction_stays_inside(tmp_path: Path, path: str, *, is_listed: bool) -> None:
    home = tmp_path / "home"
    package = forge.forge(home / "delivery" / "package")
    (package / "to").symlink_to(home)
    path = path.replace("{home}", str(home))
    mets = [(each, "0" * 64) for each in descriptions(package)] if is_listed else []
    partial = forged(package, *putting((path, hashlib.sha256(VICTIM).hexdigest()), *mets))
    (partial / "package" / "to").mkdir()
    for place in ("package", "package/..", "package/../..", "package/../../..", "package/a", "package/to"):
        (partial / place).mkdir(exist_ok=True)
        (partial / place / "victim").write_bytes(EVIL)
    (home / "victim").write_bytes(VICTIM)
    (home / "delivery" / "victim").write_bytes(VICTIM)
    before = tree(home)
    if is_listed:
        (package / "mets.xml").unlink()  # then what was put is taken back
        recover(package)
        left = {
            each: data for each, data in before.items() if not each.startswith("delivery/package.partial")
        }
        del left["delivery/package/mets.xml"]
        assert tree(home) == left
        return
    with pytest.raises(TargetError, match="which its journal does not name") as caught:
        recover(package)
    assert caught.value.hint
    assert tree(home) == before


@pytest.mark.parametrize("link", ["package", "work", "journal.jsonl", ""])
def test_a_transaction_behind_a_link_is_nobodys(tmp_path: Path, link: str) -> None:
    package = forge.forge(tmp_path / "package")
    partial = forged(package, *putting(("mets.xml", hashlib.sha256(EVIL).hexdigest())))
    (partial / "package" / "mets.xml").write_bytes(EVIL)
    away = tmp_path / "away"
    (partial / link).rename(away)
    (partial / link).symlink_to(away)
    before = tree(tmp_path)
    with pytest.raises(TargetError):
        recover(package)
    assert tree(tmp_path) == before


LISTED = ("all", "LOBs", "METS", "manifests", "children", "twice")


def _listed(package: Path, which: str) -> list[str]:
    """Return files of a package that a journal is to list."""
    paths = [each for each in tree(package) if not each.endswith("/")]
    chosen: dict[str, Callable[[str], bool]] = {
        "LOBs": lambda each: each.endswith(".bin"),
        "METS": lambda each: each.lower().endswith("mets.xml"),
        "manifests": lambda each: each.startswith("manifest-"),
        "children": lambda each: each.endswith("/mets.xml"),
    }
    found = sorted(filter(chosen.get(which, bool), paths), key=lambda each: ("/" not in each, each))
    return [*found, *(found if which == "twice" else ())]


def _puts(package: Path, which: str) -> list[tuple[str, str]]:
    return [(each, digest(package / each)) for each in _listed(package, which)]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _forged_whole(package: Path, puts: list[tuple[str, str]], data: bytes) -> None:
    """Put a journal beside a package, and for each of its files others to take their places."""
    partial = forged(package, *putting(*puts))
    for path in _listed(package, "all"):
        (partial / "package" / path).parent.mkdir(parents=True, exist_ok=True)
        if data:
            (partial / "package" / path).write_bytes(data)


def _built(metspack: Commands, source: Path, package: Path) -> Path:
    def build(out: Path) -> None:
        assert metspack("build", source, "-o", out, "--max-files", "2", "-j", "1").code == 0

    return copied("forged partial", package, build)


@pytest.mark.parametrize(("which", "data"), [*product(LISTED, (b"", EVIL))])
def test_a_forged_transaction_takes_nothing_from_the_package(
    metspack: Commands, source: Path, tmp_path: Path, which: str, data: bytes
) -> None:
    package = _built(metspack, source, tmp_path / "package")
    _forged_whole(package, _puts(package, which), data)
    before = tree(package)
    assert metspack("build", package, "--keep-segments", "--in-place").code in {3, 4, 5, 6}
    assert tree(package) == before


def test_another_dialects_package_is_not_taken_for_a_folder_that_was_being_described(
    metspack: Commands, source: Path, tmp_path: Path
) -> None:
    package = tmp_path / "package"
    assert metspack("build", source, "-o", package, "--dialect", "csip").code == 0
    forged(package, *putting(*_puts(package, "manifests"), ("mets.xml", "")))
    before = tree(tmp_path)
    outcome = metspack("build", package, "--keep-segments", "--in-place")
    assert outcome.code == 6
    assert "which its journal does not name" in outcome.err
    assert tree(tmp_path) == before


def test_a_complete_forged_description_is_kept(metspack: Commands, source: Path, tmp_path: Path) -> None:
    """All that a description puts is there, as after a kill during the check: then it is a package."""
    package = _built(metspack, source, tmp_path / "package")
    parent = ("mets.xml", digest(package / "mets.xml"))
    puts = [*_puts(package, "children"), *_puts(package, "manifests"), parent]
    partial = forged(package, *putting(*puts))
    before = tree(package)
    outcome = metspack("build", package, "--keep-segments", "--in-place")
    assert outcome.code == 5
    assert "run metspack check if it is a package already" in outcome.err
    assert tree(package) == before
    assert not partial.exists()


# --- A target, and a run that somebody else began ---------------------------------------------------------


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return siards.siard(tmp_path / "Small.siard", *(b"content %d" % each for each in range(6)))


def stopped(metspack: Commands, source: Path, out: Path, *, segments: int = 1) -> Path:
    """Stop a build once so many segments are finished; returns its ``.partial``."""
    command = ("build", source, "-o", out, "--max-files", "2", "-j", "1", "-q")
    with pytest.MonkeyPatch.context() as patch:
        from metspack.building import segments as module  # noqa: PLC0415

        real = module.place
        done: list[object] = []

        def place(task: Any, moved: Callable[[int], None]) -> Any:
            if len(done) == segments:
                raise KeyboardInterrupt
            done.append(task)
            return real(task, moved)

        patch.setattr(module, "place", place)
        assert metspack(*command).code == 130
    return journal.partial_of(out)


def again(metspack: Commands, source: Path, out: Path, *options: str) -> Any:
    return metspack("build", source, "-o", out, "--max-files", "2", "-j", "1", *options)


@pytest.mark.parametrize("below", ["", "work", "package/Small_lobseg_1"])
def test_a_run_behind_a_link_is_refused(metspack: Commands, source: Path, tmp_path: Path, below: str) -> None:
    out, away = tmp_path / "out", tmp_path / "away"
    partial = stopped(metspack, source, out)
    away.mkdir()
    (away / "precious").write_bytes(VICTIM)
    place = partial / below
    if place.exists():
        shutil.copytree(place, away, dirs_exist_ok=True)
        shutil.rmtree(place)
    place.symlink_to(away, target_is_directory=True)
    before = tree(away)
    outcome = again(metspack, source, out)
    assert (outcome.code, tree(away)) == (5 if not below else 6, before), outcome
    assert "link" in outcome.err or not below
    if below:
        assert again(metspack, source, out, "--restart").code == 0
        assert metspack("check", out).code == 0
    assert tree(away) == before


@pytest.mark.parametrize("below", ["work/pipe", "package/Small_lobseg_0/content/pipe"])
def test_a_pipe_in_the_partial_folder(metspack: Commands, source: Path, tmp_path: Path, below: str) -> None:
    partial = stopped(metspack, source, tmp_path / "out")
    os.mkfifo(partial / below)
    outcome = again(metspack, source, tmp_path / "out")
    assert outcome.code == 6
    assert below in outcome.err


VALUES: tuple[object, ...] = (None, -1, 1 << 70, "", "../../victim", [], {}, [None], {"a": None}, True, 1.5)


def changed(value: Any, draw: random.Random) -> Any:
    """Return a value of JSON with one thing in it changed."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        name = draw.choice(sorted(value))
        if draw.random() < 0.2:
            return {each: value[each] for each in value if each != name}
        return value | {name: changed(value[name], draw)}
    if isinstance(value, list) and value and draw.random() < 0.8:
        at = draw.randrange(len(value))
        return [*value[:at], changed(value[at], draw), *value[at + 1 :]]
    return draw.choice(VALUES)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_forged_journal_is_no_crash(metspack: Commands, source: Path, tmp_path: Path, seed: int) -> None:
    out = tmp_path / "out"
    kept = tmp_path / "kept"
    stopped(metspack, source, out, segments=2).rename(kept)
    lines = (kept / "journal.jsonl").read_text().splitlines()
    draw = random.Random(seed)  # noqa: S311 -- to repeat a failure
    for _ in range(12):
        partial = journal.partial_of(out)
        shutil.copytree(kept, partial)
        at = draw.randrange(len(lines))
        event = json.loads(lines[at])
        del event["sum"]
        forged = changed(event, draw)
        line = journal.sealed(forged) if isinstance(forged, dict) and forged else json.dumps(forged)
        text = "\n".join((*lines[:at], line, *lines[at + 1 :], ""))
        (partial / "journal.jsonl").write_text(text)
        outside = tree(kept)
        for outcome in (metspack("status", out), again(metspack, source, out)):
            assert outcome.code in {0, 3, 4, 6}, (line, outcome)
            assert "Traceback" not in outcome.err, line
        assert tree(kept) == outside
        if out.exists():
            assert metspack("check", out).code == 0, line
            shutil.rmtree(out)
        shutil.rmtree(partial, ignore_errors=True)


# --- What has no end --------------------------------------------------------------------------------------


def endless(path: Path) -> Path:
    """Make a file that is one line of 3 GB, and takes no room."""
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.truncate(3_000_000_000)
    return path


def peak(call: Callable[[], object]) -> int:
    """Return the most bytes of Python's that a call took."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_line_without_end_is_not_read_to_its_end(metspack: Commands, source: Path, tmp_path: Path) -> None:
    package = forge.forge(tmp_path / "package")
    out = tmp_path / "out"
    endless(journal.partial_of(package) / journal.NAME)
    endless(journal.partial_of(out) / journal.NAME)
    (journal.partial_of(out) / "package").mkdir()
    file = endless(tmp_path / "endless")
    codes: list[int] = []
    calls: tuple[tuple[str | Path, ...], ...] = (
        ("check", package, "-j", "1"),
        ("status", package),
        ("build", source, "-o", out),
        ("build", source, "-o", tmp_path / "other", "--plan", file),
        ("check", package, "-j", "1", "--ledger", file),
        ("check", package, "-j", "1", "--seal", file),
        ("check", package, "-j", "1", "--expect", file),
    )

    def run(words: tuple[str | Path, ...]) -> None:
        codes.append(metspack(*words).code)

    for call in calls:
        most = peak(functools.partial(run, call))
        assert most < 180_000_000, call
        assert codes[-1] in {0, 2, 3, 4, 5, 6}, (call, codes)
