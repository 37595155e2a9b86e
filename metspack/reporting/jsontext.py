"""JSON written in pieces: arrays of any length take little memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TypeGuard


def pieces(value: Mapping[str, object], before: str = "\n") -> Iterator[str]:
    """Yield an object as JSON: plain ASCII, which cannot steer a terminal.

    A member that is an iterator becomes an array with a line for each element; objects among members or
    elements are written the same way if they have such a member. A member that is a function is called when
    the members before it were written. ``before`` begins each line but the first.
    """
    inner = f"{before}  "
    opening = "{"
    for name, each in value.items():
        yield f"{opening}{inner}{json.dumps(name)}: "
        opening = ","
        if isinstance(each, Iterator):
            yield from _array(each, inner)
        elif _has_arrays(each):
            yield from pieces(each, inner)
        else:
            yield json.dumps(each() if callable(each) else each, indent=2).replace("\n", inner)
    yield f"{before}}}"


def _array(elements: Iterator[object], before: str) -> Iterator[str]:
    opening = "["
    for each in elements:
        if _has_arrays(each):
            yield f"{opening}{before}  "
            yield from pieces(each, f"{before}  ")
        else:
            yield f"{opening}{before}  {json.dumps(each)}"
        opening = ","
    yield "[]" if opening == "[" else f"{before}]"


def _has_arrays(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping) and any(isinstance(each, Iterator) for each in value.values())
