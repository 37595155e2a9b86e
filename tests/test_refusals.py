"""The page of refusals lists every refusal that a source can meet, and none that there is not."""

from __future__ import annotations

import re

from tests.conftest import CHECKOUT
from tests.refusals import refusals

PAGE = CHECKOUT / "docs" / "refusals.md"


def rows() -> list[list[str]]:
    lines = PAGE.read_text().splitlines()
    return [
        line.strip("|").split("|") for line in lines if line.startswith("| ") and "what is met" not in line
    ]


def listed() -> list[str]:
    return [message for row in rows() for message in re.findall("`([^`]+)`", row[1])]


def test_every_refusal_has_a_row() -> None:
    missing = {text: sorted(where) for text, where in refusals().items() if text not in listed()}
    assert not missing, f"refusals without a row in {PAGE.name}: {missing}"


def test_no_row_is_of_a_refusal_that_is_gone() -> None:
    assert not set(listed()) - set(refusals())


def test_each_message_is_listed_once_with_a_reason_and_a_remedy() -> None:
    assert len(listed()) == len(set(listed())) > 150
    for row in rows():
        assert len(row) == 4
        assert all(cell.strip() for cell in row)
