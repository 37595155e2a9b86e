"""Threats and promises are held by packages and tests that exist; pages are their tables."""

from __future__ import annotations

import ast
import re
from functools import cache

from tests import threats_page
from tests.conftest import CHECKOUT
from tests.laws import of_each
from tests.packages.cases import cases
from tests.threats_page import Threat, threats

THREATS = list(threats())
PACKAGES = {case.id for case in cases()}


@cache
def functions(file: str) -> frozenset[str]:
    """Return the tests of a file, by their names."""
    tree = ast.parse((CHECKOUT / file).read_text(encoding="utf-8"))
    return frozenset(each.name for each in tree.body if isinstance(each, ast.FunctionDef))


@of_each(THREATS)
def test_a_threat_is_held_by_what_is_there(threat: Threat) -> None:
    assert threat.held_by
    assert len(set(threat.held_by)) == len(threat.held_by)
    assert set(threat.packages) <= PACKAGES
    for test in threat.tests:
        file, _, name = test.partition("::")
        assert name.startswith("test_")
        assert name in functions(file), test


def test_every_threat_has_an_outcome() -> None:
    silent = [each for each in THREATS if not each.outcome and not each.packages]
    assert silent == []


def test_none_is_lost() -> None:
    assert len(THREATS) >= 190
    assert len({each.area for each in THREATS}) >= 10


def test_the_page_is_the_tables() -> None:
    text = threats_page.PAGE.read_text(encoding="utf-8")
    assert text == threats_page.page(), "write it anew: just threats"


PAGE = (CHECKOUT / "docs" / "threat-model.md").read_text(encoding="utf-8")


def promises() -> dict[str, list[tuple[str, str]]]:
    """Return those who might do harm, each with the tests that are named, as file and function."""
    _, _, part = PAGE.partition("## Who, and what is promised\n")
    found = re.split(r"^\*\*(.+?)\*\*", part.partition("\n## ")[0], flags=re.MULTILINE)[1:]
    return {
        who: re.findall(r"^- `(tests/\S+\.py)::(\w+)`$", text, re.MULTILINE)
        for who, text in zip(found[::2], found[1::2], strict=True)
    }


def test_every_promise_names_tests_that_exist() -> None:
    assert len(promises()) >= 5
    for who, named in promises().items():
        assert named, who
        for file, name in named:
            tree = ast.parse((CHECKOUT / file).read_text(encoding="utf-8"))
            assert name in {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}, name


def test_the_page_has_what_is_not_promised() -> None:
    _, _, part = PAGE.partition("## What is not promised\n")
    assert "MD5 alone" in part
