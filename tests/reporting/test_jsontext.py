"""JSON in pieces is the text of the whole."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from metspack.reporting.jsontext import pieces


def nested(value: object) -> object:
    """Return the value with iterators in place of lists of objects."""
    if isinstance(value, dict):
        return {name: nested(each) for name, each in value.items()}
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        return map(nested, value)
    return value


@pytest.mark.parametrize(
    "whole",
    [
        {"a": 1, "b": "é\n\u2028", "c": {"d": [1, 2], "e": None}},
        {"empty": [], "some": [{"x": 1}, {"x": "2"}], "after": True},
        {"outer": [{"name": "p", "inner": [{"x": 1}], "none": []}, {"inner": []}]},
        {"object": {"rows": [{"x": 1}], "after": 2}},
    ],
)
def test_pieces_are_the_text_of_the_whole(whole: dict[str, object]) -> None:
    streamed = nested(whole)
    assert isinstance(streamed, dict)
    text = "".join(pieces(streamed))
    assert json.loads(text) == whole
    assert text.isascii()


def test_members_and_elements_have_a_line_each() -> None:
    members = {"total": {"lobs": 1}, "rows": iter([{"x": 1}, {"x": [2]}]), "last": iter(())}
    assert "".join(pieces(members)).splitlines() == [
        "{",
        '  "total": {',
        '    "lobs": 1',
        "  },",
        '  "rows": [',
        '    {"x": 1},',
        '    {"x": [2]}',
        "  ],",
        '  "last": []',
        "}",
    ]


def test_elements_are_taken_one_by_one_and_functions_called_in_their_turn() -> None:
    taken: list[int] = []

    def elements() -> Iterator[int]:
        for number in range(3):
            taken.append(number)
            yield number

    text = pieces({"rows": elements(), "total": lambda: len(taken)})
    assert next(text) + next(text) == '{\n  "rows": [\n    0'
    assert taken == [0]
    assert json.loads('{"rows": [0' + "".join(text)) == {"rows": [0, 1, 2], "total": 3}
