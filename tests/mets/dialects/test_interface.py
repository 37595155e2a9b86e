"""A dialect need not add to packages, nor merge them: then it says so, to whoever asks it all the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metspack.errors import ConfigError
from metspack.mets import dialects
from metspack.mets.dialects.interface import Dialect

OF_ADDING: tuple[Callable[[Any], object], ...] = (
    lambda given: Dialect.inherited(given, {}),
    lambda _: Dialect.replaced(""),
    lambda given: Dialect.write_addition(given, given, Path(), given),
)
OF_MERGING: tuple[Callable[[Any], object], ...] = (
    lambda _: Dialect.adopted(None, Path(), (), None),
    lambda given: Dialect.data_folder(given, "NW-1"),
    lambda given: Dialect.write_merged(given, Path(), given),
)


@pytest.mark.parametrize(
    ("asked", "what"),
    [*((each, "added to") for each in OF_ADDING), *((each, "merged") for each in OF_MERGING)],
)
def test_what_a_dialect_does_not_do_it_refuses(asked: Callable[[Any], object], what: str) -> None:
    with pytest.raises(ConfigError, match=f"^packages of this dialect cannot be {what}$") as refused:
        asked(None)
    assert "metspack convert" in refused.value.hint


def test_it_finds_no_package_to_add_to(tmp_path: Path) -> None:
    assert Dialect.find(tmp_path) is None


def test_merged_packages_have_a_dialect_that_merges() -> None:
    assert dialects.for_merging() in dialects.that_merge()
    assert dialects.facts(dialects.for_merging()).merges
