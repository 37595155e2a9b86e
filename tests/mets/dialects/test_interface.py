"""A dialect need not merge packages: then it says so, to whoever asks it all the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metspack.errors import ConfigError
from metspack.mets import dialects
from metspack.mets.dialects.interface import Dialect

OF_MERGING: tuple[Callable[[Any], object], ...] = (
    lambda _: Dialect.adopted(None, Path(), (), None, ()),
    lambda given: Dialect.data_folder(given, "NW-1"),
    lambda given: Dialect.write_merged(given, Path(), given),
)


@pytest.mark.parametrize("call", OF_MERGING)
def test_what_a_dialect_does_not_do_it_refuses(call: Callable[[Any], object]) -> None:
    with pytest.raises(ConfigError, match=r"^packages of this dialect cannot be merged$") as refused:
        call(None)
    assert "metspack convert" in refused.value.hint


def test_merged_packages_have_a_dialect_that_merges() -> None:
    assert dialects.for_merging() in dialects.that_merge()
    assert dialects.facts(dialects.for_merging()).merges
