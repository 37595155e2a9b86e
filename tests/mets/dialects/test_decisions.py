"""Only the folder of a dialect decides by its name or class."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from metspack.mets import dialects
from tests.tables import tabled
from tests.test_static_rules import TREES, found

FOLDER = "mets/dialects/"
FACE = "api.py"
"""The public names, some of them of one dialect, which this module only passes on."""

CLASSES = {"Dialect", *(dialects.named(name).__name__ for name in dialects.DIALECTS)}
REGISTRY = {"DIALECTS", "dialects.DIALECTS"}
_DECIDING = (
    *(ast.Compare, ast.Call, ast.Subscript, ast.Match, ast.Dict),
    *(ast.Import, ast.ImportFrom, ast.Constant),
)


def is_dialect(node: ast.expr) -> bool:
    """Tell whether an expression is a dialect or its name: ``dialect``, ``x.dialect``, ``x["dialect"]``."""
    match node:
        case (
            ast.Name(id=name)
            | ast.Attribute(attr=name)
            | ast.Subscript(slice=ast.Constant(value=str(name)))
            | ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_])
        ):
            return name.endswith("dialect")
        case ast.Call(func=ast.Name(id="type"), args=[of]) | ast.NamedExpr(value=of):
            return is_dialect(of)
        case ast.BoolOp(values=values):
            return any(map(is_dialect, values))
        case _:
            return False


def is_compared(node: ast.expr) -> bool:
    """Tell whether a comparison decides by dialect: not one with None, a dialect or the registry."""
    if not isinstance(node, ast.Compare):
        return False
    sides = [node.left, *node.comparators]
    others = [each for each in sides if not is_dialect(each)]
    is_none = all(isinstance(each, ast.Constant) and each.value is None for each in others)
    is_registered = all(ast.unparse(each) in REGISTRY for each in others)
    return len(others) < len(sides) and not (is_none or is_registered)


def is_judged_by_class(node: ast.AST) -> bool:
    """Tell whether a call asks for the class of a dialect, or for a class that is a dialect's."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[what, kinds]):
            named = (each for each in ast.walk(kinds) if isinstance(each, ast.Name | ast.Attribute))
            names = {ast.unparse(each).rpartition(".")[2] for each in named}
            return is_dialect(what) or bool(names & CLASSES)
        case _:
            return False


def is_looked_up(node: ast.AST) -> bool:
    """Tell whether something is chosen from a table by dialect, or is such a table."""
    match node:
        case ast.Subscript(value=value, slice=ast.expr() as key) if not isinstance(key, ast.Constant):
            return is_dialect(key) and ast.unparse(value) not in REGISTRY
        case ast.Call(func=ast.Attribute(attr="get"), args=[key, *_]) | ast.Match(subject=key):
            return is_dialect(key)
        case ast.Dict(keys=keys):
            names = {each.value for each in keys if isinstance(each, ast.Constant)}
            return names >= dialects.DIALECTS.keys()
        case _:
            return False


def is_imported(node: ast.AST) -> bool:
    """Tell whether a module of one dialect is imported, or named to be."""
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [each.name for each in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [f"{node.module}.{each.name}" for each in node.names]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        names = [node.value if node.value.startswith("metspack.") else f"metspack.{node.value}"]
    concrete = tuple(dialects.DIALECTS.values())
    return any(f"{name}.".startswith(f"{each}.") for name in names for each in concrete)


def decisions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of everything that decides by dialect."""
    for node in ast.walk(tree):
        if not isinstance(node, _DECIDING):
            continue
        compared = isinstance(node, ast.expr) and is_compared(node)
        if compared or is_judged_by_class(node) or is_looked_up(node) or is_imported(node):
            yield getattr(node, "lineno", 0), ast.unparse(node).partition("\n")[0]


@pytest.mark.slow
def test_nothing_outside_decides_by_dialect() -> None:
    wrong = [
        (name, *each)
        for name, tree in TREES.items()
        if name != FACE and not name.startswith(FOLDER)
        for each in decisions(tree)
    ]
    assert not wrong, found(wrong, "ask the dialect, for a further one is a folder and a line:")


def test_the_registry_and_what_dialects_share_know_none_of_them() -> None:
    shared = {"mets/dialects/interface.py": 0, "mets/dialects/__init__.py": len(dialects.DIALECTS)}
    for name, lines in shared.items():
        assert sum(is_imported(node) for node in ast.walk(TREES[name])) == lines, name


@tabled
def test_the_rule_sees_what_it_forbids(source: str) -> None:
    assert list(decisions(ast.parse(source)))


@tabled
def test_the_rule_lets_be_what_is_fine(source: str) -> None:
    assert not list(decisions(ast.parse(source)))
