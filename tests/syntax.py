"""The source of the package as syntax trees, read once when the first test asks for them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path


class Trees(Mapping[str, ast.Module]):
    """The modules at some paths by their names; each is parsed when it is asked for."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = paths

    def __getitem__(self, name: str) -> ast.Module:
        return _parsed(self._paths[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


_PARSED: dict[Path, ast.Module] = {}


def _parsed(path: Path) -> ast.Module:
    if path not in _PARSED:
        _PARSED[path] = ast.parse(path.read_bytes())
    return _PARSED[path]
