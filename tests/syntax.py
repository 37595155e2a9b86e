"""The source of the package as syntax trees, read once when the first test asks for them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path


class Trees(Mapping[str, ast.Module]):
    """The modules at some paths by their names; each is parsed when it is asked for."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = paths

    def __getitem__(self, name: str) -> ast.Module:
        return parsed(self._paths[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


_PARSED: dict[Path, ast.Module] = {}


def parsed(path: Path) -> ast.Module:
    """Return the tree of a module, parsed once."""
    if path not in _PARSED:
        _PARSED[path] = ast.parse(path.read_bytes())
    return _PARSED[path]


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Return all nodes of a module, which many tests look at."""
    return tuple(walk(tree))


def walk(node: ast.AST) -> list[ast.AST]:
    """Return a node and all below it as ``ast.walk`` has them, which takes three times as long."""
    found = [node]
    for each in found:
        for value in vars(each).values():
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found += [one for one in value if isinstance(one, ast.AST)]
    return found


def written(node: ast.expr) -> str:
    """Return an expression as ``ast.unparse`` writes it, names with dots in little time."""
    names, first = [], node
    while isinstance(first, ast.Attribute):
        names.append(first.attr)
        first = first.value
    if not isinstance(first, ast.Name):
        return ast.unparse(node)
    return ".".join((first.id, *reversed(names)))


def lines_of_code(text: str, tree: ast.Module | None = None) -> int:
    """Return the number of lines of a module that have code: no blank ones, comments or docstrings."""
    found = nodes(ast.parse(text) if tree is None else tree)
    lines = map(str.strip, text.split("\n"))
    code = {number for number, line in enumerate(lines, 1) if line and line[0] != "#"}
    for each in found:
        if isinstance(each, ast.Constant | ast.JoinedStr):  # a text may have blank lines, and such with a #
            code.update(range(each.lineno, (each.end_lineno or each.lineno) + 1))
    return len(code - set(_lines_of_docstrings(found)))


def _lines_of_docstrings(found: tuple[ast.AST, ...]) -> Iterator[int]:
    """Yield the lines of strings that stand as statements: of docstrings, those of values too."""
    for node in found:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for each in node.body:
                held = each.value if isinstance(each, ast.Expr) else None
                if isinstance(held, ast.Constant) and isinstance(held.value, str):
                    yield from range(each.lineno, (each.end_lineno or each.lineno) + 1)
