"""Reports of checks as JSON and JSON lines (``schemas/check-report*.schema.json``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from metspack.reporting import jsontext
from metspack.reporting.model import Frame, head, record, result
from metspack.reporting.store import FindingStore


def members(frame: Frame, kept: FindingStore) -> dict[str, Any]:
    """Return the report as an object whose findings are an iterator."""
    return head(frame) | result(frame) | {"findings": map(record, kept.by_place())}


def document(frame: Frame, kept: FindingStore) -> Iterator[str]:
    """Yield the report as one JSON object, plain ASCII, the findings streamed one by one."""
    yield from jsontext.pieces(members(frame, kept))
    yield "\n"


def lines(frame: Frame, kept: FindingStore) -> Iterator[str]:
    """Yield the report as one JSON object a line: the head, each finding, the result; plain ASCII.

    A report without a ``result`` in its last line was cut off.
    """
    yield _line("check", head(frame))
    for each in kept.by_place():
        yield _line("finding", record(each))
    yield _line("result", result(frame))


def _line(kind: str, value: dict[str, Any]) -> str:
    return f"{json.dumps({'type': kind, **value})}\n"
