"""Every target accepts or refuses each file of its corpus, also changed; without atheris."""

from __future__ import annotations

import gc
import random
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import CHECKOUT
from tests.fuzz import __main__ as command
from tests.fuzz.targets import CORPUS, TARGETS, corpus, remaining, run
from tests.laws import law, of_each

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


@pytest.mark.slow
@of_each(TARGETS)
def test_changes_of_the_corpus_are_taken_or_refused(name: str) -> None:
    contents = [path.read_bytes() for path in corpus(name)]

    @law(40)
    @given(st.integers(0, len(contents) - 1), st.integers(0, 1 << 32))
    def holds(which: int, number: int) -> None:
        run(name, changed(contents[which], number))

    holds()


@pytest.mark.slow
@of_each(TARGETS)
def test_what_is_refused_leaves_no_file_open_and_little_in_memory(name: str) -> None:
    contents = [changed(path.read_bytes(), number) for path in corpus(name) for number in range(2)]
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


def test_the_page_tells_of_all_targets_and_an_hour() -> None:
    figures = command.standing(CHECKOUT / "docs" / "reliability.md")
    assert set(figures) == {*TARGETS, "all"}
    assert figures["all"].seconds >= 3_600
