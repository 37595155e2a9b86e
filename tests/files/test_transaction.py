"""Whatever stops a transaction, the folder is as it was, or the same command ends what was begun."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from metspack import checking
from metspack.errors import TargetError
from metspack.files import journal, writing
from metspack.files.journal import ADD, IN_PLACE
from metspack.files.transaction import Transaction, recover
from metspack.files.writing import Journal
from tests.adding.packages import DIALECTS, SECOND, add, codes, package, siard, stats
from tests.laws import spread
from tests.trees import names, tree

PARTIAL = "out.partial"


_TURNS = 13
"""So many steps an addition has at least, from its first word to its last."""


@dataclass
class Stage:
    """A package in ``home``, the archive to be added, and what the package comes to be."""

    home: Path
    source: Path
    before: dict[str, bytes]

    @property
    def out(self) -> Path:
        return self.home / "out"


@pytest.fixture(params=spread(DIALECTS, 2))
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    home = tmp_path / "home"
    home.mkdir()
    made = package(tmp_path, request.param)
    source = siard(tmp_path, "Orders", *SECOND)
    made.rename(home / "out")
    return Stage(home, source, tree(home / "out"))


Act = Callable[[], object]


def watching(monkeypatch: pytest.MonkeyPatch, told: Callable[[str, Act], None]) -> None:
    """Let every step of a transaction, a journal's word or a renaming, be done by ``told``."""
    record, move, supersede = Journal.record, writing.move, writing.supersede

    def recording(journal: Journal, **event: object) -> None:
        told(f"record {event['event']}", lambda: record(journal, **event))

    def moving(source: Path, target: Path) -> None:
        told(f"move {target.name}", lambda: move(source, target))

    def superseding(staged: Path, target: Path) -> None:
        told(f"supersede {target.name}", lambda: supersede(staged, target))

    monkeypatch.setattr(Journal, "record", recording)
    monkeypatch.setattr(writing, "move", moving)
    monkeypatch.setattr(writing, "supersede", superseding)


def steps(stage: Stage, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """Add for once, and yield what lies on disk after each step: what a kill at that moment would leave."""
    found: list[tuple[str, Path]] = []

    def told(name: str, act: Act) -> None:
        act()
        found.append((name, folder / f"{len(found)}"))
        shutil.copytree(stage.home, found[-1][1])

    with monkeypatch.context() as patched:
        watching(patched, told)
        add(stage.out, stage.source)
    yield from found


def test_killed_at_any_step_the_state_is_known_and_the_same_command_ends_it(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = list(steps(stage, tmp_path, monkeypatch))
    after = tree(stage.out)
    assert names(stage.home) == {"out"}
    assert codes(stage.out, checking.Level.STRUCTURE) == []
    seen = []
    ended = spread(killed, 2)
    for name, home in killed:
        out = home / "out"
        begun = tree(out) != stage.before
        found = codes(out, checking.Level.STRUCTURE)
        seen.append((name, found))
        assert found in ([], ["M011"]), name
        assert not begun or found or tree(out) == after, name
        if (name, home) not in ended:
            continue
        add(out, stage.source)
        assert tree(out) == after, name
        assert names(home) == {"out"}, name
    told = [name for name, found in seen if found]
    assert told[0] == "record putting"
    assert told[-1] == "supersede manifest-sha256.txt"
    assert [name for name, _ in seen][-2:] == ["record all put", "record done"]
    assert sum(name.startswith("move") for name in told) >= 3


def test_killed_while_it_was_taken_back_the_package_is_made_whole_again(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[Path] = []

    def told(name: str, act: Act) -> None:
        if name == "record all put":
            raise KeyboardInterrupt
        act()
        if killed or name == f"record {journal.TAKING_BACK}":
            killed.append(tmp_path / f"{len(killed)}")
            shutil.copytree(stage.home, killed[-1])

    with monkeypatch.context() as patched:
        watching(patched, told)
        with pytest.raises(KeyboardInterrupt):
            add(stage.out, stage.source)
    assert tree(stage.out) == stage.before
    add(stage.out, stage.source)
    after = tree(stage.out)
    assert len(killed) > 5
    for home in killed:
        assert codes(home / "out", checking.Level.STRUCTURE) == ["M011"]
    for home in spread(killed, 2):
        add(home / "out", stage.source)
        assert tree(home / "out") == after
        assert names(home) == {"out"}


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), TargetError("cannot write x: No space left on device")]
)
def test_whatever_interrupts_it_the_package_is_as_it_was(
    stage: Stage, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stats(stage.out)
    seen = set()
    for turn in range(_TURNS):
        done: list[str] = []

        def told(name: str, act: Act, turn: int = turn, done: list[str] = done) -> None:
            done.append(name)
            if len(done) == turn + 1:
                raise error
            act()

        with monkeypatch.context() as patched:
            watching(patched, told)
            with pytest.raises(type(error)):
                add(stage.out, stage.source)
        assert stats(stage.out) == before, done
        assert names(stage.home) == {"out"}, done
        seen.update(done)
    assert f"record {journal.PUTTING}" in seen


def test_a_disk_too_full_for_a_word_does_not_keep_it_from_being_taken_back(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, full = stats(stage.out), False

    def told(name: str, act: Act) -> None:
        nonlocal full
        full = full or name.startswith("supersede")
        if full and name.startswith("record"):
            raise TargetError("cannot write the journal: No space left on device")
        act()

    with monkeypatch.context() as patched:
        watching(patched, told)
        with pytest.raises(TargetError, match="No space left"):
            add(stage.out, stage.source)
    assert stats(stage.out) == before
    assert names(stage.home) == {"out"}


def test_what_cannot_be_taken_back_either_waits_for_the_same_command(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = False

    def told(name: str, act: Act) -> None:
        nonlocal failing
        failing = failing or name.startswith("supersede")
        if failing:
            raise TargetError("cannot write: Input/output error")
        act()

    with monkeypatch.context() as patched:
        watching(patched, told)
        with pytest.raises(TargetError, match="Input/output"):
            add(stage.out, stage.source)
    assert names(stage.home) == {"out", PARTIAL}
    assert codes(stage.out) == ["M011"]
    add(stage.out, stage.source)
    assert codes(stage.out) == []
    assert names(stage.home) == {"out"}


def stopped(stage: Stage, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Leave what a kill leaves at the first step whose name begins so."""
    left = stage.home.parent / "left"

    def told(name: str, act: Act) -> None:
        if name.startswith(at) and not left.exists():
            shutil.copytree(stage.home, left)
        act()

    with monkeypatch.context() as patched:
        watching(patched, told)
        add(stage.out, stage.source)
    shutil.rmtree(stage.home)
    left.rename(stage.home)


def test_another_command_is_refused_until_the_one_that_was_stopped_has_ended(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(stage, monkeypatch, "supersede")
    between = tree(stage.home)
    other = siard(tmp_path, "Other", b"x")
    for source, changes in ((other, {}), (stage.source, {"name": "Another"})):
        with pytest.raises(TargetError, match=r"metspack add of .*Orders\.siard was interrupted") as caught:
            add(stage.out, source, **changes)
        assert "run that command again first" in caught.value.hint
        assert tree(stage.home) == between
    add(stage.out, stage.source, jobs=2, created="2030-01-01T00:00:00Z", accepted=frozenset())
    assert codes(stage.out) == []
    add(stage.out, other)
    assert codes(stage.out) == []


def test_the_archive_is_not_needed_to_end_what_was_begun(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(stage, monkeypatch, "record all put")
    stage.source.unlink()
    built = add(stage.out, stage.source)
    assert (built.target, built.name, built.files, built.split) == (stage.out, "Orders", 4, 1)
    assert codes(stage.out) == []


def test_what_was_stopped_before_anything_was_put_is_forgotten(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(stage, monkeypatch, "record putting")
    assert codes(stage.out) == []
    add(stage.out, siard(tmp_path, "Other", b"x"))
    assert codes(stage.out) == []
    assert names(stage.home) == {"out"}
    assert not list(stage.out.rglob("Orders*"))


def test_when_it_cannot_be_ended_it_is_taken_back(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped(stage, monkeypatch, "supersede manifest")
    staged = stage.home / PARTIAL / "package" / "manifest-sha256.txt"
    staged.write_bytes(staged.read_bytes()[66:])
    with pytest.raises(TargetError, match=r"would have errors; nothing was added: .* F0"):
        add(stage.out, stage.source)
    assert tree(stage.out) == stage.before
    assert names(stage.home) == {"out"}


def test_a_journal_whose_last_word_was_cut_off_says_what_it_said_before(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(stage, monkeypatch, "record all put")
    with (stage.home / PARTIAL / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"event": "all pu')
    assert codes(stage.out) == ["M011"]
    add(stage.out, stage.source)
    assert codes(stage.out) == []


@pytest.mark.parametrize(
    "more", [[], [{"event": journal.PUTTING, "moves": ["nowhere"], "puts": [], "replaces": []}]]
)
def test_a_journal_that_others_made_does_not_stand_for_the_work(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, more: list[dict[str, object]]
) -> None:
    stopped(stage, monkeypatch, "record putting")
    with (stage.home / PARTIAL / "journal.jsonl").open("a") as words:
        done: dict[str, object] = {"event": journal.DONE}
        for each in (*more, done):
            words.write(f"{journal.sealed({**each, 'made': {'name': 'Orders'}})}\n")
    built = add(stage.out, stage.source)
    assert (built.name, built.files) == ("Orders", 4)
    assert list(stage.out.rglob("Orders*"))
    assert codes(stage.out) == []
    assert names(stage.home) == {"out"}


def test_what_was_to_be_put_and_is_gone_is_told(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped(stage, monkeypatch, "record putting")
    putting = {"event": journal.PUTTING, "moves": ["nowhere"], "puts": [], "replaces": [], "made": {}}
    with (stage.home / PARTIAL / "journal.jsonl").open("a") as words:
        words.write(f"{journal.sealed(putting)}\n")
    with pytest.raises(TargetError, match=r"out/nowhere is not there, and neither is what was made for it"):
        add(stage.out, stage.source)
    assert tree(stage.out) == stage.before
    assert names(stage.home) == {"out"}


def test_two_at_once_are_refused(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = []

    def told(name: str, act: Act) -> None:
        act()
        if name.startswith("record") and "done" not in name:
            with pytest.raises(TargetError, match="another run is working on") as caught:
                recover(stage.out, ADD, job="another", check=lambda: None)
            refused.append(caught.value.hint)

    watching(monkeypatch, told)
    add(stage.out, stage.source)
    assert len(refused) == len(set(refused)) * len(refused) > 3


def test_a_folder_beside_that_is_nobodys_is_left(stage: Stage) -> None:
    (stage.home / PARTIAL).mkdir()
    (stage.home / PARTIAL / "mine.txt").write_text("mine")
    with pytest.raises(TargetError, match="its origin is unknown"):
        add(stage.out, stage.source)
    assert (stage.home / PARTIAL / "mine.txt").read_text() == "mine"
    assert tree(stage.out) == stage.before


@pytest.mark.parametrize("journal", [None, b""])
def test_a_run_killed_before_its_first_word_leaves_no_trace(stage: Stage, journal: bytes | None) -> None:
    (stage.home / PARTIAL / "work").mkdir(parents=True)
    if journal is not None:
        (stage.home / PARTIAL / "journal.jsonl").write_bytes(journal)
    add(stage.out, stage.source)
    assert names(stage.home) == {"out"}


def test_the_folder_beside_of_a_package_described_in_place_is_left_to_that_command(stage: Stage) -> None:
    (stage.home / PARTIAL).mkdir()
    words = stage.home / PARTIAL / "journal.jsonl"
    words.write_text(f'{{"event": "begun", "command": "{IN_PLACE}", "job": "", "source": ""}}\n')
    with pytest.raises(
        TargetError, match="metspack build --keep-segments --in-place was interrupted"
    ) as caught:
        add(stage.out, stage.source)
    assert "Leave that folder where it is" in caught.value.hint
    assert words.exists()


def test_what_was_stopped_is_not_in_the_way_of_describing_in_place(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(stage, monkeypatch, "supersede")
    between = tree(stage.home)
    with pytest.raises(TargetError, match=r"metspack add of .*Orders\.siard was interrupted") as told:
        recover(stage.out, IN_PLACE)
    assert "run that command again first" in told.value.hint
    assert tree(stage.home) == between


def test_where_there_are_no_links_what_is_made_anew_is_kept_as_a_copy(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    def told(name: str, act: Act) -> None:
        if name == "record all put":
            raise KeyboardInterrupt
        act()

    monkeypatch.setattr(os, "link", unknown)
    with monkeypatch.context() as patched:
        watching(patched, told)
        with pytest.raises(KeyboardInterrupt):
            add(stage.out, stage.source)
    assert tree(stage.out) == stage.before
    add(stage.out, stage.source)
    assert codes(stage.out) == []


def test_a_file_system_that_fails_at_links_is_told(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", failing)
    with pytest.raises(TargetError, match="No space left on device"):
        add(stage.out, stage.source)
    assert tree(stage.out) == stage.before
    assert names(stage.home) == {"out"}


def test_what_comes_to_be_there_meanwhile_is_not_overwritten(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(name: str, act: Act) -> None:
        if name == "record putting":
            (first := stage.home / PARTIAL / "package").mkdir(exist_ok=True)
            path = next(
                each
                for each in sorted(first.rglob("*"))
                if not (stage.out / each.relative_to(first)).exists()
            )
            (stage.out / path.relative_to(first)).write_text("mine")
        act()

    watching(monkeypatch, told)
    with pytest.raises(TargetError, match="File exists"):
        add(stage.out, stage.source)
    mine = {name for name in tree(stage.out) if name not in stage.before}
    assert len(mine) == 1
    assert (stage.out / mine.pop()).read_text() == "mine"
    assert names(stage.home) == {"out"}


_KILLED = """
import os, runpy, signal, sys
from metspack.files import writing

def at(name, count):
    act = getattr(writing, name)
    def killed(*arguments):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        act(*arguments)
    setattr(writing, name, killed)

left = int(sys.argv[2])
at(sys.argv[1], left)
sys.argv[1:] = sys.argv[3:]
runpy.run_module("metspack", run_name="__main__")
"""


@pytest.mark.parametrize(("name", "count"), spread([("supersede", 1), ("move", 1)], 2))
def test_a_real_kill(tmp_path: Path, name: str, count: int) -> None:
    out = package(tmp_path, "recommendation")
    source = siard(tmp_path, "Orders", *SECOND)
    command = ["add", str(out), str(source), "--max-files", "3", "--max-bytes", "100", "-q"]
    run = subprocess.run(
        [sys.executable, "-c", _KILLED, name, str(count), *command], check=False, capture_output=True
    )
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert codes(out) == ["M011"]
    again = subprocess.run(
        [sys.executable, "-m", "metspack", *command], check=False, capture_output=True, text=True
    )
    assert (again.returncode, again.stderr) == (0, "")
    assert codes(out) == []
    assert PARTIAL not in names(tmp_path)


# --- moves, puts and replacements together ----------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file of its own."""
    folder = tmp_path / "home" / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "own").write_bytes(b"old")
    return folder


def publish(folder: Path, check: Callable[[], None]) -> None:
    """Rename a folder in, put a file beside what is there, make one anew."""
    with Transaction(folder, "a command", job="1") as staging:
        (staging.package / "new").mkdir()
        (staging.package / "inner").mkdir()
        for path, data in (("new/file", b"moved"), ("inner/put", b"put"), ("own", b"anew")):
            (staging.package / path).write_bytes(data)
        staging.publish(moves=("new",), puts=("inner/put",), replaces=("own",), made={"n": 1}, check=check)


AFTER = {"inner/": b"", "inner/put": b"put", "new/": b"", "new/file": b"moved", "own": b"anew"}


def watching_all(monkeypatch: pytest.MonkeyPatch, told: Callable[[str, Act], None]) -> None:
    put, take_away = writing.put, writing.take_away
    watching(monkeypatch, told)
    monkeypatch.setattr(writing, "put", lambda *paths: told("put", lambda: put(*paths)))
    monkeypatch.setattr(writing, "take_away", lambda path: told("take away", lambda: take_away(path)))


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_a_kill_at_any_step_is_ended_or_taken_back(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool, fails: bool
) -> None:
    before, killed = tree(folder), list[tuple[str, Path]]()

    def alike(one: str, other: str) -> None:
        """Copy so that names of one file stay such; but the journal goes on being written."""
        (shutil.copy2 if one.endswith(".jsonl") else os.link)(one, other)

    def copy(one: Path, other: Path) -> None:
        shutil.copytree(one, other, copy_function=alike if links else shutil.copy2)

    def told(name: str, act: Act) -> None:
        act()
        killed.append((name, tmp_path / f"{len(killed)}"))
        copy(folder.parent, killed[-1][1])

    def failing() -> None:
        if fails:
            raise TargetError("it is wrong")

    if not links:
        monkeypatch.setattr(writing, "hard_link", lambda *_: False)
    with monkeypatch.context() as patched:
        watching_all(patched, told)
        if fails:
            with pytest.raises(TargetError, match="it is wrong"):
                publish(folder, failing)
        else:
            publish(folder, failing)
    assert tree(folder) == (before if fails else AFTER)
    assert names(folder.parent) == {"folder"}
    said = ""
    assert {"record begun", "move new", "put", "supersede own"} < {name for name, _ in killed}
    for name, home in killed:
        said = name if name.startswith("record") else said
        one, other = home / "folder", home / "other"
        is_between = said in {"record putting", "record taking back"}
        assert (journal.interrupted(one) is not None) == is_between, name
        copy(one, other)
        copy(home / "folder.partial", home / "other.partial")
        recover(other, "a command")
        assert tree(other) == (AFTER if name == "record done" else before), name
        made = recover(one, "a command", job="1", check=lambda: None)
        is_ended = said not in {"record begun", "record taking back"}
        assert made == ({"n": 1} if is_ended else None), name
        assert tree(one) == (AFTER if is_ended else before), name
        assert names(home) == {"folder", "other"}


def test_what_was_made_is_gone_from_the_disk_before_the_journal_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "own").write_bytes(b"own")
    with monkeypatch.context() as broken:
        broken.setattr(Transaction, "__exit__", lambda *_: None)  # killed before anything is removed
        with Transaction(folder, "a command", job="1") as staged:
            (staged.package / "own").write_bytes(b"new")
            staged.publish(replaces=["own"], check=lambda: None)
            staged.journal.close()
    partial, unlink, steps = tmp_path / "folder.partial", os.unlink, list[str]()

    def unlinking(path: str | Path, **rest: int) -> None:
        steps.append(f"unlink {Path(path).name}")
        unlink(path, **rest)

    monkeypatch.setattr(os, "unlink", unlinking)
    monkeypatch.setattr(
        writing,
        "sync_directory",
        lambda path: steps.append(f"sync {path.name}: {sorted(os.listdir(path))}"),
    )
    recover(folder, "a command", job="1", check=lambda: None)
    assert steps[-2:] == ["sync folder.partial: ['journal.jsonl']", "unlink journal.jsonl"]
    assert not partial.exists()
