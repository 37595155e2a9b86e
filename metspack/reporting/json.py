"""Reports of checks as JSON and JSON lines (``schemas/check-report*.schema.json``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from metspack.reporting.model import Frame, head, record, result
from metspack.reporting.store import FindingStore


def document(frame: Frame, kept: FindingStore) -> Iterator[str]:
    """Yield the report as one JSON object, plain ASCII, the findings streamed one by one."""
    facts = head(frame) | result(frame)
    yield json.dumps(facts, indent=2).removesuffix("\n}")
    yield ',\n  "findings": ['
    separator = "\n"
    for each in kept.by_place():
        yield f"{separator}    {json.dumps(record(each))}"
        separator = ",\n"
    yield "\n  ]\n}\n" if separator != "\n" else "]\n}\n"


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
