"""Docstrings and names keep the rules of words; the places that break one only become fewer."""

from __future__ import annotations

import ast

import pytest

from tests import words
from tests.tables import read_table, tabled


@pytest.mark.parametrize(("rule", "source"), read_table(__file__, "wrong"))
def test_what_breaks_a_rule_is_seen(rule: str, source: str) -> None:
    assert rule in {each.rule for each in words.wrong(ast.parse(source))}


@tabled
def test_what_keeps_the_rules_is_let_be(source: str) -> None:
    assert not list(words.wrong(ast.parse(source)))


@pytest.mark.parametrize(("name", "is_wrong"), [("come", True), ("_make_key", False)])
def test_what_makes_a_function_is_called_so(name: str, is_wrong: bool) -> None:
    tree = ast.parse(f"def {name}():\n    def inner(): pass\n    return inner")
    assert [each.rule for each in words.factories(tree)] == ["factories"] * is_wrong


def test_allowances_only_fall() -> None:
    allowed = {"a": {"order": 2, "names": 2}, "b": {"names": 1}}
    text = words.lowered({"a": {"order": 3, "names": 1}, "b": {}}, allowed)
    assert text.splitlines()[2:] == ['"a" = { order = 2, names = 1 }']


def test_each_package_keeps_its_allowances() -> None:
    allowed = words.allowances()
    over = [
        f"{package}: {count} of {allowed.get(package, {}).get(rule, 0)}: {words.RULES[rule]}"
        for package, counts in words.counted().items()
        for rule, count in counts.items()
        if count > allowed.get(package, {}).get(rule, 0)
    ]
    assert not over, "\n".join(["python -m tests.words PACKAGE lists the places:", *over])
