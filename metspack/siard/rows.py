"""Match the usual rows of a table's document: many at once, and without a parser.

Usual rows consist of simple cells, and name at most one file, with the same attributes. What the pattern
matches is well-formed XML, if it is UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile
from operator import itemgetter

from metspack.digests import OCTETS

ROW_END = "</row>"
BYTE_BY_BYTE = "latin-1"
"""The codec of the texts that are matched: each character is a byte."""

_GAP = r"[ \t\n]*+"
_TEXT = r"[^<>&\x00-\x08\x0b-\x1f]*+"
_CELLS = rf"(?:<(?P<WHERE>c[1-9][0-9]{{0,8}}+)(?:/>|>{_TEXT}</(?P=WHERE)>){_GAP})*"
_VALUES = {"file": r"[ !#-%'-;=?-~]{1,4096}+", "length": "[0-9]{1,18}+"}


@lru_cache(maxsize=32)
def pattern(cell: str, names: Sequence[str], algorithm: str | None) -> re.Pattern[str] | None:
    """Return a pattern of one usual row or "", or None if attributes are not usual.

    ``cell`` names files, if it is not empty; ``names`` are its attributes, and ``algorithm`` is that of its
    digests. The groups are ``tag``, at the start tag of the cell, and the values of other attributes.
    """
    forms = dict(_VALUES)
    if algorithm in OCTETS:
        forms |= {
            "digestType": re.escape(algorithm),
            "digest": f"[0-9A-Fa-f]{{{2 * OCTETS[algorithm]}}}+",
        }
    if "." in cell or not forms.keys() >= {*names} or ("digest" in names) != ("digestType" in names):
        return None
    groups = {name: form if name == "digestType" else f"(?P<{name}>{form})" for name, form in forms.items()}
    values = " ".join(f'{name}="{groups[name]}"' for name in names)
    tag = rf"(?P<tag>)<{cell} {values}(?:/>|></{cell}>){_GAP}" if cell else "(?P<tag>(?!))"
    cells, others = _CELLS.replace("WHERE", "before"), _CELLS.replace("WHERE", "behind")
    return re.compile(f"{_GAP}<row>{_GAP}{cells}(?:{tag}{others})?{ROW_END}|")


def matches(usual: re.Pattern[str], text: str, at: int) -> list[re.Match[str]]:
    """Return matches of the consecutive usual rows at an offset, or [] unless all are UTF-8."""
    found = list(takewhile(itemgetter(0), usual.finditer(text, at)))
    return found if found and _is_utf8(text[at : found[-1].end()]) else []


def _is_utf8(text: str) -> bool:
    """Return whether a text is UTF-8 of characters that XML allows, U+FFFD excepted."""
    decoded = text if text.isascii() else text.encode(BYTE_BY_BYTE).decode(errors="replace")
    return not any(each in decoded for each in "\ufffd\ufffe\uffff")
