"""Help, findings and pages are short, and in words of a native speaker."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from typer.core import TyperOption

from metspack.checking.codes import ALL_CODES
from metspack.cli.app import Commands
from tests import findings_page, options_page, refusals_page, rules_page, threats_page
from tests.conftest import CHECKOUT
from tests.laws import of_each

RIDDLES = re.compile(
    r"\b(anew|be had|at hand|goe?s? by (?!itself)|but for (the|a|one)|(is|are) told|any time later)\b",
    re.IGNORECASE,
)
PAGES = (CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md")))


def riddles(text: str) -> list[str]:
    """Return the phrases with the text around them."""
    return [
        text[max(0, each.start() - 40) : each.end() + 20] for each in RIDDLES.finditer(" ".join(text.split()))
    ]


def helped() -> Iterator[tuple[str, str]]:
    """Yield all help of each command, by its name."""
    for name, command in Commands().items():
        texts = [
            command.help or "",
            *(each.help or "" for each in command.params if isinstance(each, TyperOption)),
        ]
        yield name, "\n".join(texts)


@of_each(helped())
def test_help(name: str, text: str) -> None:
    assert riddles(text) == [], name


def test_findings() -> None:
    texts = "\n".join(f"{each.title}. {each.message}. {each.why} {each.remedy}" for each in ALL_CODES)
    assert riddles(texts) == []


@of_each(PAGES)
def test_pages(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert riddles(re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)) == []


DOCS = CHECKOUT / "docs"
GENERATED = {
    *(each.PAGE for each in (findings_page, options_page, refusals_page, rules_page, threats_page)),
    DOCS / "performance.md",  # by bench/
}
WRITTEN = set(DOCS.glob("*.md")) - GENERATED
DECISIONS = set((DOCS / "decisions").glob("[0-9]*.md"))
MOST_PAGES, MOST_WORDS, MOST_WORDS_OF_A_DECISION = 22, 25_000, 200


def words(page: Path) -> int:
    return len(page.read_text(encoding="utf-8").split())


def test_pages_are_few_and_short() -> None:
    assert {each for each in GENERATED if not each.exists()} == set()
    assert len(WRITTEN) <= MOST_PAGES
    assert sum(map(words, WRITTEN)) <= MOST_WORDS, sorted((words(each), each.name) for each in WRITTEN)


def test_decisions_are_short() -> None:
    assert DECISIONS
    assert {each.name for each in DECISIONS if words(each) > MOST_WORDS_OF_A_DECISION} == set()
