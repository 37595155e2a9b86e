"""The source of the package as syntax trees, read once when the first test asks for them."""

from __future__ import annotations

import ast
import io
import tokenize
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


_LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    tokenize.ENDMARKER,
}


def lines_of_code(text: str) -> int:
    """Return the number of lines of a module that have code: no blank ones, comments or docstrings."""
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _LAYOUT
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(code - set(_lines_of_docstrings(ast.parse(text))))


def _lines_of_docstrings(tree: ast.Module) -> Iterator[int]:
    """Yield the lines of strings that stand as statements: of docstrings, those of values too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for each in node.body:
                held = each.value if isinstance(each, ast.Expr) else None
                if isinstance(held, ast.Constant) and isinstance(held.value, str):
                    yield from range(each.lineno, (each.end_lineno or each.lineno) + 1)
