"""A transaction that is stopped leaves the folder as it was, or complete."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.errors import TargetError
from metspack.files import journal, writing
from metspack.files.transaction import Transaction
from metspack.files.writing import RunJournal
from tests.trees import names, tree

Act = Callable[[], object]
AFTER = {"inner/": b"", "inner/put": b"put", "last": b"the last"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "folder"
    (folder / "inner").mkdir(parents=True)
    return folder


def begun(folder: Path) -> Transaction:
    """Begin a transaction, and so take back what an earlier one left."""
    return Transaction(folder, "last", lambda: [each for each in tree(folder) if not each.endswith("/")])


def recover(folder: Path) -> None:
    """Begin an empty transaction."""
    with begun(folder):
        pass


def publish(folder: Path, check: Callable[[], None]) -> None:
    """Put two files into the folder."""
    with begun(folder) as staging:
        (staging.package / "inner").mkdir()
        for path, data in (("inner/put", b"put"), ("last", b"the last")):
            (staging.package / path).write_bytes(data)
        staging.publish(["inner/put", "last"], check=check)


def refuse_links(*_: object, **_named: object) -> None:
    raise PermissionError(errno.EPERM, "no links here")


def watching(monkeypatch: pytest.MonkeyPatch, observe: Callable[[str, Act], None]) -> None:
    """Let every step of a transaction, a journal's word or a file's name, be done by ``told``."""
    record, put, take_away = RunJournal.record, writing.put, writing.take_away

    def recording(journal: RunJournal, **event: object) -> None:
        observe(f"record {event['event']}", lambda: record(journal, **event))

    monkeypatch.setattr(RunJournal, "record", recording)
    monkeypatch.setattr(writing, "put", lambda *paths: observe("put", lambda: put(*paths)))
    monkeypatch.setattr(writing, "take_away", lambda path: observe("take away", lambda: take_away(path)))


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_a_kill_at_any_step_is_ended_or_taken_back(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool, fails: bool
) -> None:
    before, killed = tree(folder), list[tuple[str, Path]]()

    def equal(one: str, other: str) -> None:
        """Copy so that names of one file stay such; but the journal goes on being written."""
        (shutil.copy2 if one.endswith(".jsonl") else os.link)(one, other)

    def observe(name: str, act: Act) -> None:
        act()
        killed.append((name, tmp_path / f"{len(killed)}"))
        shutil.copytree(folder.parent, killed[-1][1], copy_function=equal if links else shutil.copy2)

    def failing() -> None:
        if fails:
            raise TargetError("it is wrong")

    if not links:
        monkeypatch.setattr(os, "link", refuse_links)
    with monkeypatch.context() as patched:
        watching(patched, observe)
        if fails:
            with pytest.raises(TargetError, match="it is wrong"):
                publish(folder, failing)
        else:
            publish(folder, failing)
    assert tree(folder) == (before if fails else AFTER)
    assert names(folder.parent) == {"folder"}
    assert {"record begin", "record putting", "put"} <= {name for name, _ in killed}
    for name, home in killed:
        one = home / "folder"
        is_ended = tree(one) == AFTER
        is_between = name != "record begin" and not is_ended
        assert (journal.interrupted(one) is not None) == is_between, name
        recover(one)
        assert tree(one) == (AFTER if is_ended else before), name
        assert names(home) == {"folder"}


def test_two_at_once_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = []

    def observe(name: str, act: Act) -> None:
        act()
        if name.startswith("record"):
            with pytest.raises(TargetError, match="another run is at work on") as caught:
                recover(folder)
            refused.append(caught.value.hint)

    watching(monkeypatch, observe)
    publish(folder, lambda: None)
    assert len(refused) == 2


def test_a_journal_with_a_torn_last_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(Transaction, "__exit__", lambda staging, *_: staging.journal.close())
        publish(folder, lambda: None)
    path = journal.journal_of(journal.partial_of(folder))
    path.write_bytes(path.read_bytes() + b'{"event": "all')
    (folder / "last").unlink()
    recover(folder)
    assert tree(folder) == {"inner/": b""}


def test_a_file_made_meanwhile_is_not_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def observe(name: str, act: Act) -> None:
        if name == "record putting":
            (folder / "last").write_text("mine")
        act()

    watching(monkeypatch, observe)
    with pytest.raises(TargetError, match="exists"):
        publish(folder, lambda: None)
    assert tree(folder) == {"inner/": b"", "last": b"mine"}
    assert names(folder.parent) == {"folder"}
