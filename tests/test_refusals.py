"""The page of refusals lists exactly the refusals that a source can meet."""

from __future__ import annotations

from tests import refusals_page
from tests.refusals import refusals

ROWS = list(refusals_page.listed())
LISTED = [message for row in ROWS for message in row.messages]


def test_every_refusal_has_a_row() -> None:
    missing = {text: sorted(where) for text, where in refusals().items() if text not in LISTED}
    assert not missing, f"refusals without a row in tests/refusals.toml: {missing}"


def test_no_row_is_of_a_refusal_that_is_gone() -> None:
    assert not set(LISTED) - set(refusals())


def test_each_message_is_listed_once_with_a_reason_and_a_remedy() -> None:
    assert len(LISTED) == len(set(LISTED)) > 150
    for row in ROWS:
        assert all((row.what.strip(), row.why.strip(), row.remedy.strip(), row.messages))


def test_the_page_is_the_table() -> None:
    text = refusals_page.PAGE.read_text(encoding="utf-8")
    assert text == refusals_page.page(), "write it anew: just refusals"
