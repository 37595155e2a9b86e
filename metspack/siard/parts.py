"""A LOB that was split: its parts found beside where the whole would be, and in the segments that follow.

Two ways of naming them exist: ``<file>_part001``, ``_part002`` ... in ``seg_<n>`` folders (SIARD 2.2
S_8.1.1-0), and ``<file>.0``, ``.1`` ... with ``.z`` for the last in ``*_lobseg_<n>`` folders
(recommendation 0.28, 5.3). All in one folder is understood too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from metspack.errors import SourceError
from metspack.model import FileExtent, ZipExtent
from metspack.uris import shown

Extent = ZipExtent | FileExtent
Names = tuple[str, ...]
Look = Callable[[Names], Extent | None]
"""What is at these names, in the zip or below a granted root; raises ``SourceError`` for what is no file."""


class PartMissing(SourceError):  # noqa: N818 -- says what is missing
    """Some parts of a LOB are there, and one is not."""


class TooMany(SourceError):  # noqa: N818 -- says what is too many
    """A part is there twice, or parts lie beside the whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """A way of naming parts: ``folder`` matches the name of a segment's folder, up to its number."""

    first: int
    last: str | None
    folder: re.Pattern[str]
    spelled: Callable[[int], tuple[str, ...]]
    """The suffix of a part, and other spellings that it may not have beside it."""

    def suffix(self, number: int) -> str:
        """Return the suffix of the part with this number."""
        return self.spelled(number)[0]


SIARD22 = Style(
    first=1,
    last=None,
    folder=re.compile(r"(se[gq]_?)([0-9]{1,18})"),
    spelled=lambda n: tuple(dict.fromkeys(f"_part{n:0{width}d}" for width in (3, 1, 2, 4))),
)
LOBSEG = Style(
    first=0,
    last=".z",
    folder=re.compile(r"(.*_lobseg_)([0-9]{1,18})", re.DOTALL),
    spelled=lambda n: tuple(dict.fromkeys(f".{n:0{width}d}" for width in (1, 2, 3))),
)
STYLES = (SIARD22, LOBSEG)
FIRST_SUFFIXES = tuple(style.suffix(style.first) for style in STYLES)
"""The names of first parts: what lies beside a whole LOB only by mistake."""


def found(look: Look, path: Names, fits: Callable[[int], bool]) -> tuple[Extent, ...]:
    """Return the parts of the LOB at ``path`` in order, none when no first part is there.

    ``fits`` tells whether a number of bytes can be the whole LOB. Raises ``PartMissing`` and
    ``TooMany`` naming the part.
    """
    for style in STYLES:
        if look(_part(path, style.suffix(style.first))) is not None:
            return _collected(look, path, style, fits)
    return ()


def check_none_is_left(look: Look, path: Names) -> None:
    """Raise ``PartMissing`` when later parts are there though the first is not."""
    for style in STYLES:
        later = (*([] if style.last is None else [style.last]), style.suffix(style.first + 1))
        for here in (path, *_following(path, style, 1)):
            for suffix in later:
                if look(_part(here, suffix)) is not None:
                    raise _missing(path, style.suffix(style.first), f"{suffix} is there")


def _collected(look: Look, path: Names, style: Style, fits: Callable[[int], bool]) -> tuple[Extent, ...]:
    here, extents = path, list[Extent]()
    while (hit := _one(look, here, style, style.first + len(extents))) is not None:
        here, extent = hit
        extents.append(extent)
    missing = style.first + len(extents)
    # A hole is told from an end by what lies behind it, up to two segments on.
    for beyond in (here, *_following(here, style, 2)):
        if look(_part(beyond, style.suffix(missing + 1))) is not None:
            raise _missing(path, style.suffix(missing), f"{style.suffix(missing + 1)} is there")
    if style.last is not None:
        end = _there(look, here, style, (style.last,))
        if len(end) > 1:
            raise _twice(end)
        if end:
            extents.append(end[0][1])
        elif not fits(sum(extent.size for extent in extents)):
            raise _missing(path, style.suffix(missing), f"nor is {style.last}, the last")
    return tuple(extents)


def _one(look: Look, here: Names, style: Style, number: int) -> tuple[Names, Extent] | None:
    """Return a part and the whole's name beside it: in this segment or the next, and in one only."""
    hits = _there(look, here, style, style.spelled(number))
    if len(hits) > 1:
        raise _twice(hits)
    if not hits or not hits[0][0][-1].endswith(style.suffix(number)):
        return None
    found_at, extent = hits[0]
    return (*found_at[:-1], here[-1]), extent


def _there(look: Look, here: Names, style: Style, suffixes: tuple[str, ...]) -> list[tuple[Names, Extent]]:
    names = [_part(each, suffix) for each in (here, *_following(here, style, 1)) for suffix in suffixes]
    return [(each, extent) for each in names if (extent := look(each)) is not None]


def _following(path: Names, style: Style, most: int) -> Iterator[Names]:
    """Yield the same path in the segments that follow, none when it lies in no segment's folder."""
    for depth in range(len(path) - 2, -1, -1):
        if (segment := style.folder.fullmatch(path[depth])) is not None:
            for step in range(1, most + 1):
                number = str(int(segment[2]) + step).zfill(len(segment[2]))
                yield (*path[:depth], segment[1] + number, *path[depth + 1 :])
            return


def _part(path: Names, suffix: str) -> Names:
    return (*path[:-1], path[-1] + suffix)


def _missing(path: Names, suffix: str, why: str) -> PartMissing:
    return PartMissing(
        f"the LOB {shown('/'.join(path))} is split and its part {path[-1]}{suffix} is missing ({why})",
        hint="Parts lie in one segment folder or in consecutive ones; get the missing part.",
    )


def _twice(hits: list[tuple[Names, Extent]]) -> TooMany:
    names = ", ".join(shown("/".join(each)) for each, _extent in hits)
    return TooMany(
        f"one part of a LOB is there {len(hits)} times: {names}",
        hint="Each part exists once; take the wrong one away.",
    )


def beside_whole(path: Names, parts: list[str]) -> TooMany:
    """Return the error for a LOB that is there whole and, beside it, in parts."""
    return TooMany(
        f"the LOB {shown('/'.join(path))} is there whole, and so is its part {', '.join(parts)}",
        hint="A LOB is whole or in parts; take away what does not belong to it.",
    )
