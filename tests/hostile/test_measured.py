"""The measuring of hostile input, at the smallest sizes: each input is made, and met with an exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile import __main__ as hostile
from tests.hostile.inputs import INPUTS, Hostile
from tests.laws import spread
from tests.pages import put_section

pytestmark = pytest.mark.slow

_BYTES = 10_000_000
EXPECTED = {
    "check": {0, 1, 3},
    "links": {1},
    "list": {0, 1},
    "shards": {1},
    "inspect": {0, 1, 3},
    "build": {0, 3, 4},
}


@pytest.mark.parametrize("each", spread(INPUTS, 4), ids=lambda each: each.name)
def test_each_input_is_met_with_an_exit_code_in_little_memory(tmp_path: Path, each: Hostile) -> None:
    size = 200 if each.size <= 1_000_000 else _BYTES if each.size < 1 << 40 else 1 << 24
    met = hostile.met(each, each.commands[0], size, tmp_path)
    assert met.code in EXPECTED[each.commands[0].split()[0]], met.news
    assert met.memory < hostile.MEMORY
    assert not list(tmp_path.iterdir())


def test_figures_are_put_into_a_page_between_their_comments(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- fuzzing -->\nold\n<!-- end of fuzzing -->\nafter\n")
    put_section(page, "fuzzing", "| new |\n")
    assert page.read_text() == "before\n<!-- fuzzing -->\n\n| new |\n\n<!-- end of fuzzing -->\nafter\n"
    with pytest.raises(SystemExit, match="has no comments"):
        put_section(page, "hostile input", "")
