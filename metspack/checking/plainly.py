"""Catalogue rows for runs of ``mets:file`` elements that need no individual check.

Each attribute is tested for all files of a run at once. When one of them needs an individual check, the
files of that run are read one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

from metspack import digests, uris
from metspack.mets.runs import Run

_DIGITS = re.compile(r"[0-9]*")
_LONGEST_SIZE = 18
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRun:
    """What a run of files has in common, and a row for each: xml_id, groupid, line, size, digest, href."""

    algorithm: str
    rows: Iterator[tuple[str, str | None, int, int, str, str]]


def files(run: Run) -> PlainRun | None:
    """Return what is to be kept of files with ID, SIZE, CHECKSUM and a plain href each; None for others."""
    ids, hrefs = run.columns.get("id"), run.columns.get("href")
    sizes = _sizes(run.columns.get("size", ()))
    algorithm, found = _digests(run)
    if ids is None or hrefs is None or sizes is None or algorithm is None or not uris.are_plain(hrefs):
        return None
    groups = run.columns.get("groupid") or repeat(None)
    return PlainRun(
        algorithm=algorithm,
        rows=zip(map(str.strip, ids), groups, run.lines, sizes, found, hrefs, strict=False),
    )


def _sizes(texts: Sequence[str]) -> Iterable[int] | None:
    lengths = set(map(len, texts)) or {0}
    if min(lengths) < 1 or max(lengths) > _LONGEST_SIZE or not _DIGITS.fullmatch("".join(texts)):
        return None
    return map(int, texts)


def _digests(run: Run) -> tuple[str | None, Sequence[str]]:
    """Return the algorithm of all CHECKSUMs and their values; None when one is not as it should be."""
    kinds, values = run.columns.get("checksum_type", ()), run.columns.get("checksum", ())
    algorithm = digests.algorithm_name(kinds[0]) if kinds and kinds.count(kinds[0]) == len(kinds) else None
    text = "".join(values)
    if algorithm is None or set(map(len, values)) != {2 * digests.OCTETS[algorithm]}:
        return None, ()
    if not _HEXADECIMAL.fullmatch(text):
        return None, ()
    return algorithm, values if text == text.lower() else [each.lower() for each in values]
