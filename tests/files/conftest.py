"""Fixtures of the tests of reading and writing files."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest

_WATCHED = {"test_reading", "test_staging", "test_writing"}


@pytest.fixture(autouse=True)
def _no_descriptor_is_left_open(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.module.__name__.rpartition(".")[2] not in _WATCHED:
        yield
        return
    gc.collect(1)  # what the test before dropped
    before = set(os.listdir("/dev/fd"))
    yield
    assert set(os.listdir("/dev/fd")) <= before
