"""The listed survivors are in the code, and the page has their figures; without mutmut."""

from __future__ import annotations

import ast
import json
from functools import cache

from tests.codemutants.__main__ import FIGURES, PAGE, as_listed, table
from tests.codemutants.groups import GROUPS
from tests.codemutants.listed import EQUIVALENT, KINDS, Mutant, Reason, reasons
from tests.conftest import CHECKOUT

MODULES = tuple(module for group in GROUPS for module in group.modules)


@cache
def functions(module: str) -> dict[str, str]:
    """Return the text of each function of a module by its name, on one line."""
    text = (CHECKOUT / "metspack" / f"{module}.py").read_text(encoding="utf-8")
    lines = text.splitlines()
    found: dict[str, str] = {}
    for node in ast.parse(text).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        for each in inner:
            if isinstance(each, ast.FunctionDef):
                name = f"{node.name}.{each.name}" if isinstance(node, ast.ClassDef) else each.name
                found[name] = " ".join(map(str.strip, lines[each.lineno - 1 : each.end_lineno]))
    return found


def test_the_groups_name_modules_and_tests_that_there_are() -> None:
    assert len(set(MODULES)) == len(MODULES)
    for group in GROUPS:
        assert all((CHECKOUT / each).exists() for each in (*group.files, *group.paths)), group.name


def test_what_is_listed_stands_in_the_code() -> None:
    for reason in reasons():
        assert reason.kind in KINDS
        for function, was, now in reason.mutants:
            module = next(each for each in MODULES if function.startswith(f"{each.replace('/', '.')}."))
            text = functions(module)[function[len(module) + 1 :]]
            assert was is None or was in text, function
            assert now is None or now != was


def test_a_mutant_is_listed_as_it_is_printed() -> None:
    mutant = Mutant(function="uris.shown", was='return "ä\\n"', now="return None")
    text = f'[[reason]]\nwhy = "x"\nkind = "{EQUIVALENT}"\nmutants = [\n{as_listed(mutant)}\n]\n'
    (read,) = reasons(text)
    assert read.covers(mutant)
    assert not read.covers(Mutant(function="uris.shown", was=mutant.was, now="return 1"))
    assert not read.covers(Mutant(function="uris.other", was=mutant.was, now=mutant.now))
    anything = Reason(why="x", kind=EQUIVALENT, mutants=((mutant.function, mutant.was, None),))
    assert anything.covers(mutant)


def test_the_page_has_the_table_of_the_last_figures() -> None:
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    assert table(figures) in PAGE.read_text(encoding="utf-8")
    assert set(figures) <= set(MODULES)
    for row in figures.values():
        assert row["killed"] + row["survived"] == row["tried"] <= row["mutants"]
        assert sum(row[kind] for kind in KINDS) <= row["survived"]
