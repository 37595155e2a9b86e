"""How two identifiers or names are alike, in words for a hint; pure."""

from __future__ import annotations

import unicodedata

from metspack.mets.links import bare

_LETTERS = ("", "one letter off", "two letters off")
_LONGEST = 400


def likeness(text: str, other: str) -> str:
    """Return how ``other`` differs from ``text`` (``two letters off``), nothing when it is very different."""
    if text == other:
        return ""
    if text.casefold() == other.casefold():
        return "differs only in case"
    if unicodedata.normalize("NFC", text) == unicodedata.normalize("NFC", other):
        return "differs only in its Unicode form"
    if bare(text) == bare(other):
        return "differs only in its URN prefix"
    if max(len(text), len(other)) > _LONGEST:
        return ""
    off = _letters_off(text, other)
    return _LETTERS[off] if off < len(_LETTERS) else ""


def _letters_off(text: str, other: str) -> int:
    """Return how many letters must be changed, added or taken away (Levenshtein)."""
    before = list(range(len(other) + 1))
    for row, letter in enumerate(text, start=1):
        now = [row]
        for column, another in enumerate(other, start=1):
            now.append(min(before[column] + 1, now[-1] + 1, before[column - 1] + (letter != another)))
        before = now
    return before[-1]
