"""Values and cases of tests, as TOML beside them: ``test_x.toml`` is that of ``test_x.py``."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.laws import of_each


@cache
def tables_of(module: str) -> Mapping[str, Any]:
    """Return the tables beside a module, which is named by its path."""
    return tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8"))


def read_table(module: str, name: str) -> Any:
    """Return one of the tables beside a module: a mapping, or rows whose lists are tuples."""
    found = tables_of(module)[name]
    return [_frozen(each) for each in found] if isinstance(found, list) else found


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def tabled(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test for each row of its table, whose first row names the arguments.

    A row without a value gives None: a shorter one, or one of the values by name.
    A name states the kind of its values: ``data:bytes`` (of the same code points) or ``cells:tuple``.
    A test without further arguments is one test of all rows, and names all that fail.
    """
    head, *rows = tables_of(inspect.getfile(test))[test.__name__]
    names, kinds = zip(*(each.partition(":")[::2] for each in head), strict=True)
    cases = [tuple(map(_of_kind, kinds, _values(row, names))) for row in rows]
    if set(inspect.signature(test).parameters) == set(names):
        return of_each([case if len(case) > 1 else case[0] for case in cases])(
            lambda *values: test(**dict(zip(names, values, strict=True)))
        )
    parametrized: Callable[..., None] = pytest.mark.parametrize(names, cases)(test)
    return parametrized


def _of_kind(kind: str, value: Any) -> Any:
    if kind == "bytes" and value is not None:
        return value.encode("latin-1")
    return _frozen(value) if kind == "tuple" else value


def _values(row: Any, names: Sequence[str]) -> list[Any]:
    if isinstance(row, dict):
        assert set(row) <= set(names), row
        return [row.get(name) for name in names]
    return [*row, *[None] * (len(names) - len(row))]
