from pathlib import Path

import pytest

from tests.restoring import splitting


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A package with a LOB in three parts, beside two that are whole; a test may change it."""
    return splitting.forged(tmp_path / "package")
