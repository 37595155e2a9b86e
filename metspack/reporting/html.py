"""The report as one HTML page, with charts, and with the lines of METS that findings point at."""

from __future__ import annotations

import codecs
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from metspack import resources
from metspack.checking import Code, Level
from metspack.checking.links.graph import LinkState
from metspack.errors import MetspackError
from metspack.files import reading, tempdb
from metspack.layouts import readers
from metspack.model import Finding, Limits
from metspack.reporting import linkmap
from metspack.reporting.model import (
    Frame,
    ListedSplitLob,
    Relation,
    ReportFacts,
    SegmentContent,
    parts,
    printable,
    readers_lines,
    sampled,
    verdict,
    word,
)
from metspack.reporting.store import CodeGroup, FindingStore
from metspack.reporting.text import INTERRUPTED, counts
from metspack.resources import __version__
from metspack.sizes import counted


def visible(value: object) -> Markup:
    """Return a value as HTML text; characters that do not print, or turn text around, are shown as codes."""
    return value if isinstance(value, Markup) else escape(printable(str(value)))


@cache
def environment() -> Environment:
    """Return the environment of the templates: all values are escaped, and none may be missing."""
    environment = Environment(
        loader=FileSystemLoader(resources.template_folder() / "report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["counted"] = counted
    environment.filters["number"] = lambda value: f"{value:,}"
    return environment


LONGEST = 240
"""Characters of a line that are shown; what is left out is said with an ellipsis."""

_WHAT = "the lines of documents"
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_ENOUGH = 1 << 30  # bytes of a document that are looked through; its lines further on stay unseen


class Excerpts(tempdb.Scratch):
    """The lines that findings point at, in a temporary database; a context manager.

    ``roots`` are the packages' folders by what the paths of their findings begin with: nothing for the
    only package.
    """

    def __init__(self, roots: Mapping[str, Path]) -> None:
        self._roots = {f"{name}/" if name else "": root for name, root in sorted(roots.items(), reverse=True)}
        self._database = tempdb.create()
        self._database.execute(
            "CREATE TABLE line (path TEXT, number INTEGER, text TEXT, PRIMARY KEY (path, number))"
        )
        self._database.execute("BEGIN")

    def want(self, findings: Iterable[Finding]) -> None:
        """Take note of the lines that findings point at."""
        sql = "INSERT OR IGNORE INTO line (path, number) VALUES (?, ?)"
        with tempdb.explained(_WHAT):
            self._database.executemany(sql, ((each.path, each.line) for each in findings if each.line))

    def read(self) -> None:
        """Read the lines that are wanted; what cannot be read is left out."""
        put = "UPDATE line SET text = ? WHERE path = ? AND number = ?"
        with tempdb.explained(_WHAT):
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


SHOWN = 500
"""Findings of one code on the page; how many more there are is said."""

DRAWN = 60
"""Children that are drawn with their arrows; more become tiles."""

_CHILDREN = 5_000
_BUFFERED_EVENTS = 200
_VERDICTS = {"ok": "No faults found", "warning": "Warnings", "error": "Errors found"}
_OPEN = "Interrupted"
_LEVELS = {
    Level.LINKS: "the METS files only",
    Level.STRUCTURE: "everything that needs no LOB's bytes",
    Level.FIXITY: "every file's bytes against its digests, without the archive's cells",
    Level.FULL: "every byte, and every cell of the archive",
}
_SAMPLED_LEVELS = {
    Level.FIXITY: "the bytes of the files in the sample against their digests, without the archive's cells",
    Level.FULL: "every byte of the files in the sample, and every cell of the archive",
}
MEANINGS = {
    word(state): meaning
    for state, meaning in (
        (LinkState.OK, "both name each other"),
        (LinkState.ELSEWHERE, "both name each other, but the child is not where its parent says"),
        (LinkState.ONE_WAY_DOWN, "only one names the other"),
        (LinkState.BROKEN, "the link leads nowhere or to another METS, or one of the two METS was changed"),
        (LinkState.MISSING, "named, but does not exist"),
        (LinkState.EXTRA, "exists, but no METS names it"),
        (LinkState.UNKNOWN, "a parent that is not in the packages and roots checked"),
    )
}
"""What the states of children mean; a legend has those that occur."""


def document(frame: Frame, kept: FindingStore, roots: Mapping[str, Path]) -> Iterator[str]:
    """Yield the report as HTML; ``roots`` are as ``Excerpts`` has them, to quote what findings point at."""
    with Excerpts(roots) as excerpts:
        for group in kept.groups():
            excerpts.want(kept.of_group(group, SHOWN))
        excerpts.read()
        stream = environment().get_template("page.html.j2").stream(_facts(frame, kept, excerpts))
        stream.enable_buffering(_BUFFERED_EVENTS)
        yield from stream


def _facts(frame: Frame, kept: FindingStore, excerpts: Excerpts) -> dict[str, Any]:
    facts = frame.facts
    found = verdict(frame.summary)
    children = _shown(facts.children)
    states = Counter(each.word for each in facts.children)
    drawn = linkmap.link_map(facts.tops, facts.children, facts.parents) if _is_drawn(facts) else None
    return {
        "version": __version__,
        "frame": frame,
        "summary": frame.summary,
        "counts": counts(frame.summary),
        "level": (_LEVELS if frame.sample is None else _SAMPLED_LEVELS)[Level(frame.level)],
        "sampled": sampled(frame),
        "unopened": printable(readers.unopened(frame.summary.unopened)),
        "readers": readers_lines(frame.summary),
        "facts": facts,
        "verdict": found if frame.is_complete or found == "error" else "warning",
        "headline": _VERDICTS[found] if frame.is_complete or found == "error" else _OPEN,
        "interrupted": INTERRUPTED,
        "map": drawn,
        "legend": list(_legend(facts)),
        "has_absent": drawn is not None and any(each.is_missing for each in drawn.arrows),
        "children": children,
        "children_left_out": len(facts.children) - len(children),
        "states": [(state, states[state]) for state in MEANINGS if states[state]],
        "fills": list(fills(facts.segments[:_CHILDREN], frame.limits)),
        "segments_left_out": max(len(facts.segments) - _CHILDREN, 0),
        "strips": list(strips(facts.splits)),
        "groups": kept.groups(),
        "sections": (_section(kept, group, excerpts) for group in kept.groups()),
    }


def _is_drawn(facts: ReportFacts) -> bool:
    return bool(facts.children or facts.parents) and len(facts.children) <= DRAWN


def _legend(facts: ReportFacts) -> Iterator[tuple[str, str]]:
    """Yield the states that are in the picture, and what they mean."""
    found = {each.word for each in facts.children}
    if facts.parents:
        found.add(word(LinkState.UNKNOWN))
    yield from ((state, meaning) for state, meaning in MEANINGS.items() if state in found)


def _shown(children: Sequence[Relation]) -> Sequence[Relation]:
    """Return the children that get a tile: all, or of very many those at fault first, in their order."""
    if len(children) <= _CHILDREN:
        return children
    worst = sorted(range(len(children)), key=lambda number: children[number].state is LinkState.OK)[
        :_CHILDREN
    ]
    return [children[number] for number in sorted(worst)]


def _section(kept: FindingStore, group: CodeGroup, excerpts: Excerpts) -> dict[str, Any]:
    return {
        "group": group,
        "rule": Code.named(group.code),
        "findings": (
            {"where": where, "said": said, "line": each.line, "excerpt": excerpts.of(each)}
            for each in kept.of_group(group, SHOWN)
            for where, said in (parts(each),)
        ),
        "left_out": max(group.count - SHOWN, 0),
    }


# --- Charts of segments and split LOBs: lengths of bars and strips, which templates draw as SVG ---

_STRIP = 1_000
_NARROWEST = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareBar:
    """A number as a share in percent of a limit or of the largest, and whether it exceeds the limit."""

    value: int
    share: float
    is_over: bool
    percent: str
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """How full a segment is."""

    name: str
    files: ShareBar
    bytes: ShareBar


@dataclass(frozen=True, slots=True, kw_only=True)
class StripPiece:
    """A part of a split LOB on its strip: where it begins and how wide it is, of 1,000."""

    x: float
    width: float
    title: str
    is_missing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """A split LOB over the children that hold its parts."""

    id: str
    said: str
    is_whole: bool
    pieces: tuple[StripPiece, ...]


def fills(segments: Sequence[SegmentContent], limits: Limits) -> Iterator[Fill]:
    """Yield how full each segment is, against the limits or, where there is none, the fullest segment."""
    most_files = max((each.files for each in segments), default=0)
    most_bytes = max((each.bytes for each in segments), default=0)
    for each in segments:
        yield Fill(
            name=each.name,
            files=_bar(each.files, limits.files, most_files, "file"),
            bytes=_bar(each.bytes, limits.bytes, most_bytes, "byte"),
        )


def _bar(value: int, limit: int | None, most: int, what: str) -> ShareBar:
    whole = limit or most
    share = round(100 * value / whole, 1) if whole else 0.0
    of = "the limit" if limit else "the fullest"
    return ShareBar(
        value=value,
        share=min(share, 100.0),
        is_over=limit is not None and value > limit,
        percent=f"{share:,} %",
        said=f"{counted(value, what)}, {share:,} % of {of} ({whole:,})",
    )


def strips(lobs: Iterable[ListedSplitLob]) -> Iterator[Strip]:
    """Yield each split LOB as a strip; parts of unknown size share what is missing of the whole."""
    for lob in lobs:
        held = sum(part.size or 0 for part in lob.parts)
        lost = sum(part.size is None for part in lob.parts)
        missing = max((lob.size or 0) - held, 0)
        # Without the whole's size a lost part is drawn as wide as the others are on average.
        guess = (missing or held // max(len(lob.parts) - lost, 1) or 1) // max(lost, 1) if lost else 0
        yield Strip(
            id=lob.id,
            said=_said(lob, held, lost),
            is_whole=not lost
            and not any(part.is_lost for part in lob.parts)
            and (lob.size is None or lob.size == held),
            pieces=tuple(_pieces(lob, max(guess, 1), held + max(guess, 1) * lost)),
        )


def _said(lob: ListedSplitLob, held: int, lost: int) -> str:
    of = "" if lob.size is None else f" of {lob.size:,}"
    gone = f", {counted(lost, 'part')} without a known size" if lost else ""
    missing = sum(part.is_lost for part in lob.parts)
    gone += f", the file of {counted(missing, 'part')} missing" if missing else ""
    return f"{counted(len(lob.parts), 'part')}, {held:,}{of} bytes{' listed' if missing else ''}{gone}"


def _pieces(lob: ListedSplitLob, guess: int, total: int) -> Iterator[StripPiece]:
    x = 0.0
    for part in lob.parts:
        width = round(_STRIP * (guess if part.size is None else part.size) / max(total, 1), 1)
        size = "size unknown" if part.size is None else counted(part.size, "byte")
        yield StripPiece(
            x=round(x, 1),
            width=max(width, _NARROWEST),
            title=f"{part.id}: {size} in {part.child}{', file missing' if part.is_lost else ''}",
            is_missing=part.size is None or part.is_lost,
        )
        x += width
