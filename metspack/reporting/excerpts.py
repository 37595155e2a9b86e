"""The lines of a package's documents that findings point at, each read once."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from metspack import reading, scratch
from metspack.errors import MetspackError
from metspack.model import Finding

LONGEST = 240
"""Characters of a line that are shown; what is left out is said with an ellipsis."""

_WHAT = "the lines of documents"
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_ENOUGH = 1 << 30  # bytes of a document that are looked through; its lines further on stay unseen


class Excerpts(scratch.Scratch):
    """The lines that findings point at, in a temporary database; a context manager.

    ``roots`` are the packages' folders by what the paths of their findings begin with: nothing for the
    only package.
    """

    def __init__(self, roots: Mapping[str, Path]) -> None:
        self._roots = {f"{name}/" if name else "": root for name, root in sorted(roots.items(), reverse=True)}
        self._database = scratch.opened()
        self._database.execute(
            "CREATE TABLE line (path TEXT, number INTEGER, text TEXT, PRIMARY KEY (path, number))"
        )
        self._database.execute("BEGIN")

    def want(self, findings: Iterable[Finding]) -> None:
        """Take note of the lines that findings point at."""
        sql = "INSERT OR IGNORE INTO line (path, number) VALUES (?, ?)"
        with scratch.explained(_WHAT):
            self._database.executemany(sql, ((each.path, each.line) for each in findings if each.line))

    def read(self) -> None:
        """Read the lines that are wanted; what cannot be read is left out."""
        put = "UPDATE line SET text = ? WHERE path = ? AND number = ?"
        with scratch.explained(_WHAT):
            # A copy: rows that change while they are read may come twice.
            self._database.execute("CREATE TABLE wanted AS SELECT path, number FROM line")
            wanted = self._database.execute("SELECT path, number FROM wanted ORDER BY path, number")
            for path, rows in groupby(wanted, key=lambda row: row[0]):
                found = self._lines(path, (number for _, number in rows))
                self._database.executemany(put, ((text, path, number) for number, text in found))
            self._database.execute("DROP TABLE wanted")

    def of(self, finding: Finding) -> str | None:
        """Return the line that a finding points at, shortened; None when there is none or it was not read."""
        sql = "SELECT text FROM line WHERE path = ? AND number = ?"
        row = self._database.execute(sql, (finding.path, finding.line)).fetchone()
        return row[0] if row else None

    def _lines(self, path: str, numbers: Iterator[int]) -> Iterator[tuple[int, str]]:
        """Yield the lines of those numbers, which ascend, shortened."""
        start = next((name for name in self._roots if path.startswith(name)), None)
        if start is None:
            return
        try:
            with reading.opening(self._roots[start], path.removeprefix(start).split("/")) as descriptor:
                yield from _among(_text(reading.chunks(descriptor, 0, _ENOUGH, size=reading.BLOCK)), numbers)
        except (OSError, MetspackError):
            return  # the findings say what is wrong with the file; a report goes without its lines


def _text(blocks: Iterable[bytes]) -> Iterator[str]:
    """Yield a document's text with every line end as a line feed, as parsers count them; never fails."""
    decoder: io.IncrementalNewlineDecoder | None = None
    for block in blocks:
        if decoder is None:
            encoding = _UTF_16.get(block[:2], "utf-8-sig")
            decoder = io.IncrementalNewlineDecoder(
                codecs.getincrementaldecoder(encoding)(errors="replace"), translate=True
            )
        yield decoder.decode(block)
    if decoder is not None:
        yield decoder.decode(b"", final=True)


def _among(blocks: Iterator[str], numbers: Iterator[int]) -> Iterator[tuple[int, str]]:
    wanted = next(numbers, None)
    number, kept = 1, ""
    for block in blocks:
        start = 0
        while wanted is not None:
            stop = block.find("\n", start)
            piece = block[start:] if stop < 0 else block[start:stop]
            if number == wanted:
                kept += piece[: LONGEST + 1 - len(kept)]
            if stop < 0:
                break
            if number == wanted:
                yield number, _shortened(kept)
                wanted, kept = next(numbers, None), ""
            number, start = number + 1, stop + 1
        if wanted is None:
            return
    if number == wanted and kept:
        yield number, _shortened(kept)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
