"""The documentation stays short: words and pages that people write, beside those that programs write."""

from __future__ import annotations

from pathlib import Path

from tests import findings_page, options_page, refusals_page, rules_page, threats_page
from tests.conftest import CHECKOUT

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
