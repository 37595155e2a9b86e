"""The documentation stays short: words and pages that people write, beside those that programs write."""

from __future__ import annotations

from tests import findings_page, options_page, refusals_page, rules_page, threats_page
from tests.conftest import CHECKOUT

GENERATED = {each.PAGE for each in (findings_page, options_page, refusals_page, rules_page, threats_page)}
WRITTEN = set((CHECKOUT / "docs").glob("*.md")) - GENERATED
OF_THE_INSIDE = {"architecture.md", "performance.md", "reliability.md", "threat-model.md"}
"""The pages for engineers; all others are for users."""
MOST_PAGES = 22
MOST_WORDS_FOR_USERS = 17_000


def test_pages_are_few() -> None:
    assert {each for each in GENERATED if not each.exists()} == set()
    assert len(WRITTEN) <= MOST_PAGES


def test_pages_for_users_have_few_words() -> None:
    pages = (each for each in WRITTEN if each.name not in OF_THE_INSIDE)
    words = {each.name: len(each.read_text(encoding="utf-8").split()) for each in pages}
    assert sum(words.values()) <= MOST_WORDS_FOR_USERS, words
