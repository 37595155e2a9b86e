"""Tables of cases in TOML, beside the tests that read them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def read_table(test: str, name: str) -> Any:
    """Return a table of the TOML file beside a test: a mapping, or rows whose lists are tuples."""
    found = tomllib.loads(Path(test).with_suffix(".toml").read_text(encoding="utf-8"))[name]
    return [_frozen(each) for each in found] if isinstance(found, list) else found


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
