"""The threat model: every promise names tests, and these exist."""

from __future__ import annotations

import ast
import re

from tests.conftest import CHECKOUT

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


def test_what_is_not_promised_is_said() -> None:
    _, _, part = PAGE.partition("## What is not promised\n")
    assert "MD5 alone" in part
