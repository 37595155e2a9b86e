"""Every target takes or refuses each file of its corpus, and what changes make of it; without atheris."""

from __future__ import annotations

import gc
import random
import subprocess
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.hostile import put_section
from tests.conftest import CHECKOUT
from tests.fuzz import __main__ as command
from tests.fuzz.targets import CORPUS, TARGETS, corpus, remaining, run
from tests.laws import law

FILES = [(name, path) for name in TARGETS for path in corpus(name)]
_WORDS = (
    b"",
    b"\0",
    b"\xff\xff\xff\xff",
    b"<",
    b'"',
    b"/../",
    b"%2e%2e",
    b"-1",
    b"99999999999999999999",
    b"&#0;",
)
_LONGEST = 20_000


def changed(data: bytes, number: int) -> bytes:
    """Return data with some bytes changed, cut, doubled, or put elsewhere: always the same for a number."""
    chance = random.Random(number)  # noqa: S311 -- seeded, so that what fails can be tried again
    for _ in range(chance.randint(1, 4)):
        start = chance.randint(0, len(data))
        stop = min(len(data), start + chance.choice((0, 1, 1, 2, 4, 16, 200)))
        piece = data[start:stop]
        put = chance.choice((*_WORDS, piece * 2, piece[::-1], bytes([chance.randrange(256)])))
        data = (data[:start] + put + data[stop:])[:_LONGEST]
    return data


def test_every_target_has_a_corpus_of_small_files() -> None:
    assert {each.name for each in CORPUS.iterdir()} == set(TARGETS)
    for name, path in FILES:
        assert path.stat().st_size <= 16_000, name
    assert all(sum(name == each for name, _path in FILES) >= 2 for each in TARGETS)


@pytest.mark.parametrize(("name", "path"), FILES, ids=[f"{name}/{path.name}" for name, path in FILES])
def test_the_corpus_is_taken_or_refused(name: str, path: Path) -> None:
    run(name, path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_something_of_each_corpus_is_taken(name: str) -> None:
    assert any(run(name, path.read_bytes()) for path in corpus(name))


@pytest.mark.parametrize("name", TARGETS)
def test_changes_of_the_corpus_are_taken_or_refused(name: str) -> None:
    contents = [path.read_bytes() for path in corpus(name)]

    @law(40)
    @given(st.integers(0, len(contents) - 1), st.integers(0, 1 << 32))
    def holds(which: int, number: int) -> None:
        run(name, changed(contents[which], number))

    holds()


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_refused_leaves_no_file_open_and_little_in_memory(name: str) -> None:
    contents = [changed(path.read_bytes(), number) for path in corpus(name) for number in range(4)]
    for data in contents:
        run(name, data)
    gc.collect()  # an exception may hold what it came out of
    before = remaining()
    tracemalloc.start()
    try:
        for data in contents:
            run(name, data)
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    gc.collect()
    assert remaining() == before
    assert peak < 100 << 20


def test_the_executions_are_read_from_what_libfuzzer_prints() -> None:
    assert command.executions("#2 INITED\n#1024 pulse\nDone 2048 runs in 3 second(s)\n") == 2048
    assert command.executions("#2 INITED\n#1024 pulse corp: 3\n== crash\n") == 1024
    assert command.executions("") == 0


def test_what_was_slow_by_chance_is_no_finding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told: list[str] = []
    calls: list[list[str]] = []

    def run_again(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        return subprocess.CompletedProcess(command, 0, "", told[len(calls) - 1])

    monkeypatch.setattr(subprocess, "run", run_again)
    assert not command.is_slow_by_chance("mets", tmp_path / "mets-crash-1")
    assert not calls
    told += ["Executed x in 7000 ms\n", "ALARM: working on the last Unit\n", "#1\nExecuted x in 12 ms\n"]
    assert command.is_slow_by_chance("mets", tmp_path / "mets-timeout-1")
    assert [each[-1] for each in calls] == [str(tmp_path / "mets-timeout-1")] * 3
    told += ["Executed x in 5000 ms\n"] * 3
    assert not command.is_slow_by_chance("mets", tmp_path / "mets-timeout-2")
    assert len(calls) == 6


def test_figures_are_read_from_the_page_as_they_are_written(tmp_path: Path) -> None:
    figures = {"mets": command.Figures(150, 1_234_567, 0), "zip": command.Figures(1_280, 2, 1)}
    page = tmp_path / "page.md"
    page.write_text("| xml | 1 | 1 | 1 |\n<!-- fuzzing -->\n<!-- end of fuzzing -->\n| tar | 1 | 1 | 1 |\n")
    assert command.standing(page) == {}
    put_section(page, "fuzzing", command.table(figures))
    assert command.standing(page) == {**figures, "all": command.Figures(1_430, 1_234_569, 1)}


def test_the_page_tells_of_all_targets_and_an_hour() -> None:
    figures = command.standing(CHECKOUT / "docs" / "reliability.md")
    assert set(figures) == {*TARGETS, "all"}
    assert figures["all"].seconds >= 3_600
