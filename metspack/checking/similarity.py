"""Likeness of names and of bytes: the nearest name, and how one differs from another; pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby

from metspack.digests import Hashers
from metspack.mets.links import bare
from metspack.model import Digest

_LETTERS = ("", "differs by 1 character", "differs by 2 characters")
_LONGEST = 400
_SHORTEST = 3
_MOST_LETTERS = 1_000  # difflib takes the square of their number
_PART = 40
_EDITS = 8
_LINE_ENDS = {
    b"\n": "matches with LF line endings: line endings were converted",
    b"\r\n": "matches with CRLF line endings: line endings were converted",
}


def nearest(text: str, candidates: Iterable[str]) -> str:
    """Return the candidate most like ``text``, or ""; letter case counts least."""
    # Only a few messages need it, and difflib is slow to import.
    from difflib import get_close_matches  # noqa: PLC0415

    names = list(candidates)
    short = [each for each in names if len(each) <= _MOST_LETTERS] if len(text) <= _MOST_LETTERS else []
    cased = (each for each in names if each.casefold() == text.casefold())
    found = get_close_matches(text, short, n=1, cutoff=0.7)
    found = found or [
        each
        for each in names
        if min(len(text), len(each)) >= _SHORTEST and (each.endswith(text) or text.endswith(each))
    ]
    return next(cased, found[0] if found else "")


def likeness(text: str, other: str) -> str:
    """Return how ``other`` differs from ``text`` (``differs by 2 characters``), "" when by much."""
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
    return _LETTERS[off] if off < len(_LETTERS) else _other_part(text, other)


def _other_part(text: str, other: str) -> str:
    """Return the only part in which similar texts differ, for messages, or ""."""
    start = _shared(text, other)
    end = min(_shared(text[::-1], other[::-1]), min(len(text), len(other)) - start)
    before, now = text[start : len(text) - end], other[start : len(other) - end]
    if max(len(before), len(now)) > min(start + end, _PART):
        return ""
    if not before:
        return f"{now!r} before it" if not start else f"with {now!r}"
    return f"{now!r} where {before!r} was expected" if now else f"without {before!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEdit:
    """A change to a text: another beginning, or the same letters in another case (``is_case``).

    All texts that one cause has changed have the same edit. A beginning that was added has an empty
    ``before``, one that was taken away an empty ``now``. A letter case that was changed throughout has an
    empty ``before``, and ``lower`` or ``upper`` as ``now``.
    """

    before: str
    now: str
    is_case: bool = False

    @classmethod
    def of(cls, text: str, other: str) -> TextEdit:
        """Return the edit that makes ``other`` of ``text``."""
        if len(text) == len(other) and text.casefold() == other.casefold():
            runs = dict.fromkeys(_differing(text, other))
            if len(runs) == 1:
                before, now = next(iter(runs))
                return cls(before=before, now=now, is_case=True)
            for case in ("lower", "upper"):
                if all(now == getattr(before, case)() for before, now in runs):
                    return cls(before="", now=case, is_case=True)
        end = _shared(text[::-1], other[::-1])
        return cls(before=text[: len(text) - end], now=other[: len(other) - end])

    @classmethod
    def within(cls, text: str, other: str) -> TextEdit:
        """Return the edit as ``of`` does, but of the part alone in which the texts differ."""
        edit = cls.of(text, other)
        if edit.is_case:
            return edit
        start = _shared(edit.before, edit.now)
        return cls(before=edit.before[start:], now=edit.now[start:])

    def applied(self, text: str) -> str:
        """Return the text after the edit, unchanged where the edit does not apply."""
        if self.is_case:
            if self.before:
                return text.replace(self.before, self.now)
            return text.lower() if self.now == "lower" else text.upper()
        return self.now + text[len(self.before) :] if text.startswith(self.before) else text


def _differing(text: str, other: str) -> Iterator[tuple[str, str]]:
    """Yield the stretches in which texts of one length differ."""
    pairs = groupby(zip(text, other, strict=True), key=lambda pair: pair[0] != pair[1])
    for differs, letters in pairs:
        if differs:
            before, now = zip(*letters, strict=True)
            yield "".join(before), "".join(now)


class RecentEdits:
    """The edits met last, which give the meaning of a text that was changed in the same way."""

    def __init__(self) -> None:
        self._edits: dict[TextEdit, None] = {}

    def learn(self, text: str, other: str) -> None:
        """Remember the edit between the written and the meant text."""
        edit = TextEdit.of(text, other)
        self._edits.pop(edit, None)
        self._edits[edit] = None
        if len(self._edits) > _EDITS:
            del self._edits[next(iter(self._edits))]

    def meant(self, text: str) -> Iterator[str]:
        """Yield the possible meanings of a text, that by the last edit first."""
        for edit in reversed(list(self._edits)):
            if (other := edit.applied(text)) != text:
                yield other


def _shared(text: str, other: str) -> int:
    """Return the number of letters that both begin with."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((number for number, (one, another) in pairs if one != another), min(len(text), len(other)))


def _letters_off(text: str, other: str) -> int:
    """Return how many letters must be changed, added or taken away (Levenshtein)."""
    before = list(range(len(other) + 1))
    for row, letter in enumerate(text, start=1):
        now = [row]
        for column, another in enumerate(other, start=1):
            now.append(min(before[column] + 1, now[-1] + 1, before[column - 1] + (letter != another)))
        before = now
    return before[-1]


def line_end_likeness(blocks: Iterable[bytes], expected: Digest) -> str:
    """Return a note that bytes have a digest once their line ends are converted, or ""."""
    hashers = {end: Hashers((expected.algorithm,)) for end in _LINE_ENDS}
    for block in _whole_ends(blocks):
        unix = block.replace(b"\r\n", b"\n")
        hashers[b"\n"].update(unix)
        hashers[b"\r\n"].update(unix.replace(b"\n", b"\r\n"))
    found = (text for end, text in _LINE_ENDS.items() if hashers[end].digest(expected.algorithm) == expected)
    return next(found, "")


def _whole_ends(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the bytes in blocks that do not split a CRLF."""
    rest = b""
    for block in chain(blocks, (b"",)):
        whole = rest + block
        keep = len(whole) - 1 if block and whole.endswith(b"\r") else len(whole)
        rest = whole[keep:]
        yield whole[:keep]
