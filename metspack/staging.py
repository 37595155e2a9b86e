"""What is made beside its target and published whole, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metspack import fsio, scratch


@contextmanager
def staged(target: Path) -> Iterator[fsio.Staging]:
    """Give a place to make something in for the length of a block, which publishes it itself.

    After an error or an interruption nothing is left. Raises ``TargetError``.
    """
    staging = fsio.Staging(target)
    try:
        with scratch.unexplained():
            yield staging
    except BaseException:
        staging.discard()
        raise
