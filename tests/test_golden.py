"""The packages that the samples build into, compared byte for byte with those kept in git."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from metspack import checking
from tests.conftest import CHECKOUT
from tests.trees import tree

GOLDEN = CHECKOUT / "samples" / "northwind" / "golden"
HINT = "; if it was meant to, run `just golden` and read what changed"


@pytest.fixture
def script() -> Any:
    """The script that makes the golden packages."""
    spec = importlib.util.spec_from_file_location("make_golden", CHECKOUT / "samples" / "make_golden.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_samples_still_build_into_the_golden_packages(script: Any, tmp_path: Path) -> None:
    script.main(tmp_path)
    made, kept = tree(tmp_path), tree(GOLDEN)
    assert made.keys() == kept.keys(), f"the package has other files than before{HINT}"
    different = [name for name, data in kept.items() if made[name] != data]
    assert not different, f"these became different: {different}{HINT}"


@pytest.mark.parametrize("name", ["Northwind", "Northwind-full", "Northwind-csip", "Northwind-merged"])
def test_the_golden_packages_check_without_a_finding(name: str) -> None:
    assert list(checking.check(GOLDEN / name, checking.Level.FULL)) == []
