"""Charts of segments and split LOBs: lengths of bars and strips, which templates draw as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from metspack.model import Limits
from metspack.reporting.model import ListedSplitLob, SegmentContent
from metspack.sizes import counted

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
