"""Links that come in place of folders for some seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile import exchanging


@pytest.mark.slow
def test_nothing_behind_a_link_is_read_written_or_removed(tmp_path: Path) -> None:
    ended, others = exchanging.run(tmp_path, 5)
    if not ended:
        pytest.skip("the file system does not note readings")
    assert not others
