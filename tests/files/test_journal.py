"""The journal of a run: lines with checksums, its state, and what other commands meet beside a folder."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import (
    SourceError,
    SourceNotFoundError,
    SourceUnfinishedError,
    TargetError,
    TargetUnfinishedError,
)
from metspack.files import journal
from metspack.files.journal import RunEvents, RunFacts, Status
from metspack.resources import __version__

STARTED = "2026-05-01T12:00:00+00:00"
BEGIN = {
    "event": "begin",
    "command": "build",
    "version": __version__,
    "facts": {},
    "created": STARTED,
    "pid": 41,
    "started": STARTED,
    "words": "metspack build x",
}
PLANNED = {"event": "planned", "segments": 3, "bytes": 3_000}
CHANGES = {"event": journal.PUTTING, "puts": [["third/mets.xml", "0" * 64]]}


def segment(number: int, size: int = 100, event: str = "segment") -> dict[str, Any]:
    return {"event": event, "number": number, "bytes": size}


def lines(*events: Mapping[str, object]) -> bytes:
    return "".join(f"{journal.sealed(each)}\n" for each in events).encode()


@contextmanager
def opened(path: Path, content: bytes) -> Iterator[int]:
    path.write_bytes(content)
    descriptor = os.open(path, os.O_RDWR)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def left(partial: Path, content: bytes, seconds: float = 0) -> Path:
    """Leave a journal in a new ``.partial``, last written so many seconds after the run started."""
    partial.mkdir()
    path = partial / "journal.jsonl"
    path.write_bytes(content)
    newest = datetime.fromisoformat(STARTED).timestamp() + seconds
    os.utime(path, (newest, newest))
    return path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


EVENTS = st.dictionaries(
    st.text(max_size=5).filter("sum".__ne__),
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=3),
    min_size=1,
    max_size=4,
)


@given(EVENTS)
def test_an_event_is_read_back_from_its_line(event: dict[str, Any]) -> None:
    line = journal.sealed(event)
    assert journal.unsealed(line.encode()) == event
    text = json.dumps(event, sort_keys=True)
    assert json.loads(line)["sum"] == hashlib.sha256(text.encode()).hexdigest()[:16]


@given(EVENTS, st.data())
def test_a_line_of_which_a_character_changed_is_none(event: dict[str, Any], data: st.DataObject) -> None:
    line = journal.sealed(event)
    at = data.draw(st.integers(0, len(line) - 1))
    changed = line[:at] + data.draw(st.sampled_from('0aZ"}{ ').filter(line[at].__ne__)) + line[at + 1 :]
    assert journal.unsealed(changed.encode()) in (None, event)  # white space is the same event


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"[]", b"1", b"\xff", b'{"a": 1}', b"[" * 100_000, b'{"sum": ""}']
)
def test_what_has_no_checksum_is_none(line: bytes) -> None:
    assert journal.unsealed(line) is None


def test_the_events_of_a_run_are_read_up_to_what_was_not_written_to_its_end(tmp_path: Path) -> None:
    whole = lines(BEGIN, PLANNED)
    for rest in (b"", b"x", journal.sealed(segment(0)).encode()):
        with opened(tmp_path / "j", whole + rest) as descriptor:
            os.lseek(descriptor, 3, os.SEEK_SET)
            assert journal.run_events(descriptor) == RunEvents(events=(BEGIN, PLANNED), size=len(whole))
            os.fstat(descriptor)  # it stays open
    for rest in (b"", b"torn", b"a whole line of something else\n"):
        with opened(tmp_path / "j", rest) as descriptor:
            assert journal.run_events(descriptor) == RunEvents()


def test_a_damaged_line_before_others_has_its_number(tmp_path: Path) -> None:
    first = lines(BEGIN)
    for bad in (b"x\n", b"\n", lines(PLANNED).replace(b"3", b"4", 1)):
        for rest in (b"t", lines(segment(0)), lines(segment(0), segment(1)), b"y\n"):
            with opened(tmp_path / "j", first + bad + rest) as descriptor:
                expected = RunEvents(events=(BEGIN,), size=len(first), damaged=2)
                assert journal.run_events(descriptor) == expected
                read = list(journal.sealed_events(descriptor, 1 << 26))
                assert read == [(1, BEGIN, len(first)), (2, None, len(first))]


def test_a_lock_of_another_is_seen_and_none_is_left(tmp_path: Path) -> None:
    path = left(tmp_path / "out.partial", lines(BEGIN))
    assert journal.status(tmp_path / "out").state == "stopped"
    with locked(path):  # none of ours is in the way
        assert journal.status(tmp_path / "out").state == "running"
    assert journal.status(tmp_path / "out").state == "stopped"


def test_a_file_system_that_knows_no_locks_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_descriptor: int, _what: int) -> None:
        raise OSError(95, "not supported")

    monkeypatch.setattr(fcntl, "flock", fails)
    left(tmp_path / "out.partial", lines(BEGIN))
    assert journal.status(tmp_path / "out").state == "stopped"


FACTS = RunFacts(
    command="build",
    created="2026-05-01T12:00:00Z",
    facts={"source": "a.siard", "--max-files": "4", "same": "1"},
)


def differences(now: RunFacts, /, **changed: object) -> list[str]:
    return list(now.differences({**FACTS.document(), **changed}))


def test_facts_are_kept_as_they_are() -> None:
    assert FACTS.document() == {
        "command": "build",
        "created": "2026-05-01T12:00:00Z",
        "is_dated": False,
        "is_resumable": True,
        "facts": {"source": "a.siard", "--max-files": "4", "same": "1"},
        "version": __version__,
    }
    assert differences(FACTS) == []


def test_each_difference_of_two_runs_is_named() -> None:
    assert differences(FACTS, command="convert", version="0", facts={}) == [
        "command: metspack convert then, metspack build now"
    ]
    assert differences(FACTS, version="0.0") == [f"version of metspack: 0.0 then, {__version__} now"]
    assert differences(FACTS, facts={"source": "b.siard", "--sip": "yes", "same": "1"}) == [
        "source: b.siard then, a.siard now",
        "--max-files: none then, 4 now",
        "--sip: yes then, none now",
    ]
    assert differences(FACTS, facts={**FACTS.facts, "gone": ""}) == ["gone: none then, none now"]


def test_a_time_differs_where_it_was_given() -> None:
    dated = RunFacts(command="build", created="2026-05-01T12:00:00Z", is_dated=True, facts=FACTS.facts)
    assert differences(FACTS, created="2020-01-01T00:00:00Z") == []
    assert differences(dated) == []
    assert differences(dated, created="2020-01-01T00:00:00Z") == [
        "time (SOURCE_DATE_EPOCH): 2020-01-01T00:00:00Z then, 2026-05-01T12:00:00Z now"
    ]


def test_a_state_is_printed_in_lines() -> None:
    path, partial = Path("/o"), Path("/o.partial")
    assert list(Status(path=path).words()) == ["/o: nothing is at work on it"]
    assert list(Status(path=path, state="complete").words()) == ["/o: complete"]
    running = Status(
        path=path,
        partial=partial,
        state="running",
        command="build",
        stage="placing LOBs",
        segments_done=1_000,
        segments=2_000,
        bytes_done=5_000_000,
        bytes=6_000_000,
        rate=1_250_000.0,
        pid=7,
        resume="metspack build x",
    )
    assert list(running.words()) == [
        "/o.partial: metspack build, running (process 7)",
        "stage: placing LOBs",
        "segments: 1,000 of 2,000",
        "bytes: 5,000,000 of 6,000,000, 1.2 MB/s",
    ]
    assert list(replace(running, rate=1_050_000.0).words())[3].endswith(", 1.1 MB/s")
    stopped = Status(path=path, partial=partial, state="stopped", command="build", pid=7, resume="again")
    assert list(stopped.words()) == [
        "/o.partial: metspack build, stopped",
        "stage: ",
        "segments: 0",
        "bytes: 0",
        "to go on: again",
    ]
    assert (
        next(iter(Status(path=path, partial=partial, state="running").words()))
        == "/o.partial: metspack , running"
    )
    data = running.to_json()
    assert (data["path"], data["partial"], data["rate"], data["pid"]) == ("/o", "/o.partial", 1_250_000.0, 7)
    assert Status(path=path).to_json()["partial"] is None
    assert json.loads(json.dumps(data)) == data


def test_a_run_at_work_has_the_rate_of_what_it_did_itself(tmp_path: Path) -> None:
    again = {"event": "resumed", "pid": 42, "started": "2026-05-01T12:00:10+00:00", "words": ""}
    content = lines(BEGIN, PLANNED, segment(0, 500), again, segment(1, 40, "stretch"), segment(1, 900))
    path = left(tmp_path / "out.partial", content, 14)
    with locked(path):
        found = journal.status(tmp_path / "out")
    assert (found.state, found.rate, found.pid) == ("running", 940 / 4, 42)
    assert (found.bytes_done, found.started) == (1_400, "2026-05-01T12:00:10+00:00")
    assert found.resume == "metspack build x"
    assert journal.status(tmp_path / "out").rate is None
    path = left(tmp_path / "other.partial", content, 10.5)
    with locked(path):
        assert journal.status(tmp_path / "other").rate == 940 / 0.5


@pytest.mark.parametrize("seconds", [10, 9])
def test_where_no_time_has_passed_or_nothing_is_done_there_is_no_rate(tmp_path: Path, seconds: int) -> None:
    again = {"event": "resumed", "pid": 42, "started": "2026-05-01T12:00:10+00:00", "words": ""}
    path = left(tmp_path / "a.partial", lines(BEGIN, again, segment(0)), seconds)
    with locked(path):
        assert journal.status(tmp_path / "a").rate is None
    path = left(tmp_path / "b.partial", lines(BEGIN, segment(0), again), 20)
    with locked(path):
        assert journal.status(tmp_path / "b").rate is None


@pytest.mark.parametrize(
    ("events", "stage"),
    [
        ([], "planning"),
        ([PLANNED], "placing LOBs"),
        ([PLANNED, segment(0), {"event": "archive"}], "placing LOBs"),
        ([PLANNED, {"event": "describing"}, segment(0)], "describing and checking"),
        ([PLANNED, {"event": "describing"}, {"event": "publishing"}], "publishing"),
    ],
)
def test_the_stage_is_of_the_last_event(tmp_path: Path, events: list[dict[str, Any]], stage: str) -> None:
    left(tmp_path / "out.partial", lines(BEGIN, *events))
    found = journal.status(tmp_path / "out")
    assert found.stage == stage
    assert (found.segments, found.bytes) == ((3, 3_000) if events else (None, None))


def test_the_way_to_resume_is_in_the_programs_words(tmp_path: Path) -> None:
    left(tmp_path / "out.partial", lines({**BEGIN, "words": ""}))
    assert journal.status(tmp_path / "out").resume == "call metspack.build again with the same arguments"
    resumed = {"event": "resumed", "pid": 1, "started": STARTED, "words": "metspack build y"}
    left(tmp_path / "other.partial", lines(BEGIN, resumed))
    assert journal.status(tmp_path / "other").resume == "metspack build y"


@pytest.mark.parametrize(
    "event",
    [
        {"no": "event"},
        {**BEGIN, "pid": "41"},
        {**PLANNED, "bytes": None},
        {**CHANGES, "puts": [["third/mets.xml"]]},
        {**CHANGES, "puts": [["third/mets.xml", 0]]},
        {**CHANGES, "puts": "third/mets.xml"},
    ],
)
def test_an_event_without_what_its_kind_has_is_damaged(tmp_path: Path, event: Mapping[str, object]) -> None:
    left(tmp_path / "out.partial", lines(event))
    with pytest.raises(TargetUnfinishedError, match=r"journal\.jsonl line 1 is damaged"):
        journal.status(tmp_path / "out")


@pytest.mark.parametrize("content", [b"", b"torn", lines(PLANNED)])
def test_a_run_before_its_first_event_is_beginning(tmp_path: Path, content: bytes) -> None:
    path = left(tmp_path / "out.partial", content)
    expected = Status(
        path=tmp_path / "out",
        partial=tmp_path / "out.partial",
        state="stopped",
        stage="beginning",
        resume="run the command again",
    )
    assert journal.status(tmp_path / "out") == expected
    with locked(path):
        assert journal.status(tmp_path / "out").state == "running"


def test_a_state_of_what_no_run_made_is_an_error(tmp_path: Path) -> None:
    for name in ("nowhere", "nowhere.partial"):
        with pytest.raises(SourceNotFoundError) as missing:
            journal.status(tmp_path / name)
        assert missing.value.message == f"{tmp_path / name} was not found"
        assert missing.value.hint == "Name a target, or its .partial folder."
    (tmp_path / "there").mkdir()
    assert journal.status(tmp_path / "there") == Status(path=tmp_path / "there", state="complete")
    (tmp_path / "empty.partial").mkdir()
    with pytest.raises(SourceError) as unread:
        journal.status(tmp_path / "empty")
    assert unread.value.message == (
        f"{tmp_path}/empty.partial has no journal that can be read: No such file or directory"
    )
    assert unread.value.hint == "No run of metspack is at work there, or it has just begun."
    left(tmp_path / "bad.partial", b"x\n" + lines(BEGIN))
    with pytest.raises(TargetUnfinishedError, match=r"bad\.partial/journal\.jsonl line 1 is damaged"):
        journal.status(tmp_path / "bad")


def test_a_missing_target_is_reported_with_its_maker(tmp_path: Path) -> None:
    out = tmp_path / "out"
    error = journal.not_found(out, "Look.")
    assert (type(error), error.message, error.hint) == (SourceNotFoundError, f"{out} was not found", "Look.")
    assert journal.not_found(out, "Look.", "is gone").message == f"{out} is gone"
    path = left(tmp_path / "out.partial", lines(BEGIN))
    error = journal.not_found(out, "Look.")
    assert type(error) is SourceUnfinishedError
    assert error.message == f"{out} was not found: metspack build, which makes it, was stopped earlier"
    assert error.hint == "It can go on: metspack build x"
    with locked(path):
        error = journal.not_found(out, "Look.")
    assert (type(error), error.hint) == (SourceNotFoundError, "Wait until it has ended.")
    assert error.message == f"{out} was not found: metspack build is making it (process 41)"
    for content in (b"x\n" + lines(BEGIN), None):
        path.unlink()
        if content is not None:
            path.write_bytes(content)
        error = journal.not_found(out, "Look.")
        assert (type(error), error.message) == (SourceNotFoundError, f"{out} was not found")


BEGUN = {
    "event": journal.BEGIN,
    "command": journal.IN_PLACE,
    "version": "0",
    "facts": {},
    "created": "",
    "pid": 1,
    "words": "",
    "started": "2026-05-01T12:00:00+00:00",
}
PUTTING = {"event": journal.PUTTING, "puts": [["third/mets.xml", "0" * 64], ["mets.xml", "0" * 64]]}


def written(folder: Path, *events: object) -> Path:
    """Leave a journal beside a new folder, and return that."""
    folder.mkdir()
    partial = folder.with_name(f"{folder.name}.partial")
    partial.mkdir()
    lines = [journal.sealed(each) if isinstance(each, dict) else json.dumps(each) for each in events]
    (partial / "journal.jsonl").write_text("".join(f"{each}\n" for each in lines))
    return folder


@pytest.mark.parametrize(
    ("put", "expected"),
    [((), True), (("third",), True), (("mets.xml",), True), (("third", "mets.xml"), False)],
)
def test_a_folder_until_all_files_are_put(tmp_path: Path, put: tuple[str, ...], *, expected: bool) -> None:
    folder = written(tmp_path / "out", BEGUN, PUTTING, {"event": "a word of another day"})
    if "third" in put:
        (folder / "third").mkdir()
        (folder / "third" / "mets.xml").touch()
    if "mets.xml" in put:
        (folder / "mets.xml").touch()
    assert journal.interrupted(folder) == ("out.partial" if expected else None)


@pytest.mark.parametrize(
    "events",
    [
        (BEGUN,),
        (PUTTING,),
        (PUTTING, BEGUN),
        ({"event": journal.BEGIN}, PUTTING),
        ({**BEGUN, "command": "build"}, PUTTING),
        ({**BEGUN, "started": "at noon"}, PUTTING),
        (BEGUN, {**PUTTING, "puts": 1}),
        (BEGUN, {**PUTTING, "puts": [["mets.xml"]]}),
        ([], "x", 1),
    ],
)
def test_another_journal_interrupts_nothing(tmp_path: Path, events: tuple[Any, ...]) -> None:
    assert journal.interrupted(written(tmp_path / "out", *events)) is None


def test_what_is_no_journal_at_all_says_nothing(tmp_path: Path) -> None:
    folder = written(tmp_path / "out")
    (tmp_path / "out.partial" / "journal.jsonl").unlink()
    assert journal.interrupted(folder) is None
    (tmp_path / "out.partial" / "journal.jsonl").mkdir()
    assert journal.interrupted(folder) is None


@pytest.mark.parametrize("folder", ["/", "/package"])
def test_a_package_at_the_root_of_the_file_system(folder: str) -> None:
    assert journal.interrupted(Path(folder)) is None


def test_a_line_too_long_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    putting = {**PUTTING, "puts": [["m" * 100, "0"]] * 9}
    folder = written(tmp_path / "out", BEGUN, putting)
    monkeypatch.setattr(journal, "_LINE", 1_000)
    with pytest.raises(TargetError, match=r"the journal would have a line of 1,\d\d\d bytes"):
        journal.sealed(putting)
    assert journal.interrupted(folder) is None
    assert journal.interrupted(written(tmp_path / "other", BEGUN, PUTTING)) is not None


@pytest.mark.parametrize("damage", [b"", b"0", b"[]"])
def test_what_follows_a_damaged_line_does_not_count(tmp_path: Path, damage: bytes) -> None:
    folder = written(tmp_path / "out", BEGUN, PUTTING)
    path = tmp_path / "out.partial" / "journal.jsonl"
    first, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join((first, last, damage + b"\n", last)))
    assert journal.interrupted(folder) is not None
    path.write_bytes(b"".join((first, damage + b"\n", last)))
    assert journal.interrupted(folder) is None
