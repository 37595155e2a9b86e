"""What the list of surviving mutants has is in the code, and the page has its figures; without mutmut."""

from __future__ import annotations

import ast
import json
from collections import Counter
from functools import cache

import pytest

from tests.codemutants.__main__ import FIGURES, PAGE, as_listed, drawn, table
from tests.codemutants.groups import GROUPS
from tests.codemutants.listed import EQUIVALENT, KINDS, Mutant, Reason, kind_of, reasons
from tests.codemutants.trial import function_of, in_order
from tests.conftest import CHECKOUT

MODULES = tuple(module for group in GROUPS for module in group.modules)


@cache
def functions(module: str) -> dict[str, str]:
    """Return the text of each function of a module by its name, on one line."""
    text = (CHECKOUT / "metspack" / f"{module}.py").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for node in ast.parse(text).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        for each in inner:
            if isinstance(each, ast.FunctionDef):
                name = f"{node.name}.{each.name}" if isinstance(node, ast.ClassDef) else each.name
                lines = (ast.get_source_segment(text, each) or "").splitlines()
                found[name] = " ".join(line.strip() for line in lines)
    return found


def test_the_groups_name_modules_and_tests_that_there_are() -> None:
    assert len(set(MODULES)) == len(MODULES)
    for group in GROUPS:
        assert all((CHECKOUT / each).exists() for each in (*group.files, *group.paths)), group.name


@pytest.mark.parametrize("reason", reasons(), ids=lambda each: each.why[:40])
def test_what_is_listed_stands_in_the_code(reason: Reason) -> None:
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


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        ('sql = "SELECT id FROM mets WHERE id = ?"', 'sql = "select id from mets where id = ?"', EQUIVALENT),
        ('"CREATE TABLE again (cell TEXT)",', '"create table again (cell text)",', EQUIVALENT),
        ('"BEGIN",', '"begin",', EQUIVALENT),
        ('stage = "BEGIN"', 'stage = "begin"', None),
        ('sql = "SELECT id FROM mets"', 'sql = "XXSELECT id FROM metsXX"', None),
        ("sql = \"SELECT 'file ID'\"", "sql = \"select 'file id'\"", None),
        ('name = "METS"', 'name = "mets"', None),
    ],
)
def test_the_letter_case_of_sql_means_nothing(was: str, now: str, expected: str | None) -> None:
    assert kind_of(Mutant(function="uris.shown", was=was, now=now)) == expected


def test_the_same_mutants_are_drawn_each_time_and_of_each_module() -> None:
    names = [str(number) for number in range(101)]
    assert drawn(names, 1) == names
    assert len(drawn(names, 10)) == 11
    assert drawn(names, 10) == drawn(names, 10)
    assert drawn(["only"], 10) == ["only"]
    assert set(drawn(names, 20)) < set(drawn(names, 10))


def test_what_was_tried_before_stays_in_the_sample() -> None:
    names = [str(number) for number in range(100)]
    before = drawn(names, 20)
    more = [*names, "100", "101"]
    assert set(before) < set(drawn(more, 15, before))
    assert drawn(more, 20, ["101", "7", *before]) == sorted(["7", "101", *before[:4]], key=int)
    assert drawn(names, 20, ["gone"]) == before


def test_the_tests_that_killed_most_come_first_then_the_quickest() -> None:
    seconds = {"slow": 2.0, "quick": 0.1, "same": 0.1, "killer": 9.0, "other": 8.0}
    order = in_order(set(seconds), Counter(killer=2), Counter(killer=2, other=7), seconds)
    assert order == ["killer", "other", "quick", "same", "slow"]


def test_a_mutant_tells_its_function() -> None:
    assert function_of("metspack.uris.x__as_meant__mutmut_12") == "metspack.uris.x__as_meant"


def test_the_page_has_the_table_of_the_last_figures() -> None:
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    assert table(figures) in PAGE.read_text(encoding="utf-8")
    assert set(figures) <= set(MODULES)
    for row in figures.values():
        assert row["killed"] + row["survived"] == row["tried"] <= row["mutants"]
        assert sum(row[kind] for kind in KINDS) <= row["survived"]
