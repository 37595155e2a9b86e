"""The packages that the samples build into, compared byte for byte with those kept in git."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.conftest import Commands
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


def test_the_samples_still_build_into_the_golden_packages(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    metspack = Commands(monkeypatch, capsys)

    def run(line: list[str], *, env: dict[str, str], check: bool) -> None:
        assert check
        monkeypatch.setenv("SOURCE_DATE_EPOCH", env["SOURCE_DATE_EPOCH"])
        metspack.fine(*line[3:])

    monkeypatch.setattr(script, "subprocess", SimpleNamespace(run=run))
    script.main(tmp_path)
    made, kept = tree(tmp_path), tree(GOLDEN)
    assert made.keys() == kept.keys(), f"the package has other files than before{HINT}"
    different = [name for name, data in kept.items() if made[name] != data]
    assert not different, f"these became different: {different}{HINT}"
