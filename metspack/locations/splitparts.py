"""Find the parts of split LOBs, at the place of the whole and in the segments that follow.

Two styles of names exist: ``<file>_part001``, ``_part002`` ... in ``seg_<n>`` folders (SIARD 2.2
S_8.1.1-0), and ``<file>.0``, ``.1`` ... with ``.z`` for the last in ``*_lobseg_<n>`` folders
(recommendation 0.28, 5.3). All parts may be in one folder, and segments may be packed, in files that end with
``.zip``. A number may have leading zeros, up to four digits in all; a part that exists in two spellings is an
error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from metspack.errors import SourceError
from metspack.files.paths import Names
from metspack.layouts import names
from metspack.model import Extent
from metspack.uris import shown

Look = Callable[[Names], Extent | None]
"""A look-up in the zip or below a granted root; raises ``SourceError`` for other than files."""


class PartMissing(SourceError):  # noqa: N818 -- the state of a LOB
    """Some parts of a LOB exist, and one is missing."""


class TooMany(SourceError):  # noqa: N818 -- the state of a LOB
    """A part exists twice, or parts exist beside the whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """A style of part names: first number, last suffix, and pattern of a segment's folder.

    The pattern's second group is the number of the segment.
    """

    first: int
    last: str | None
    folder: re.Pattern[str]
    spelled: Callable[[int], tuple[str, ...]]
    """Returns the suffixes of a part by its number: the usual spelling, then others."""

    def suffix(self, number: int) -> str:
        """Return the suffix of the part with this number."""
        return self.spelled(number)[0]


_PACKED = r"(\.[zZ][iI][pP])?"  # packed as one file
_SOME = lru_cache(maxsize=64)  # the search for every LOB needs the first numbers
SIARD22 = Style(
    first=1,
    last=None,
    folder=re.compile(names.SEG.pattern + _PACKED),
    spelled=_SOME(lambda n: tuple(dict.fromkeys(names.part_suffix(n, width) for width in (3, 1, 2, 4)))),
)
LOBSEG = Style(
    first=0,
    last=f".{names.LAST}",
    folder=re.compile(names.LOBSEG.pattern + _PACKED, re.DOTALL),
    spelled=_SOME(lambda n: tuple(dict.fromkeys(f".{n:0{width}d}" for width in (1, 2, 3, 4)))),
)
STYLES = (SIARD22, LOBSEG)
FIRST_SUFFIXES = tuple(style.suffix(style.first) for style in STYLES)
"""The suffixes of first parts; beside a whole LOB such a part is a mistake."""


def is_first(suffix: str) -> bool:
    """Return whether a suffix is that of a first part, in any spelling of the styles."""
    return any(suffix in style.spelled(style.first) for style in STYLES)


def found(look: Look, path: Names, fits: Callable[[int], bool], *, wide: bool = False) -> tuple[Extent, ...]:
    """Return the parts of the LOB at ``path`` in order, or an empty tuple without a first part.

    The first part is searched by its usual name, or with ``wide`` by the other spellings: these take three
    look-ups more, too many for every LOB that is elsewhere. ``fits`` returns whether a number of bytes can be
    that of the whole. Raises ``PartMissing`` and ``TooMany``, naming the part.
    """
    for style in STYLES:
        spelled = style.spelled(style.first)
        if any(look(_part(path, each)) is not None for each in (spelled[1:] if wide else spelled[:1])):
            return _collected(look, path, style, fits)
    return ()


def check_no_later_part(look: Look, path: Names) -> None:
    """Raise ``PartMissing`` if later parts exist without the first."""
    for style in STYLES:
        later = (*([] if style.last is None else [style.last]), *style.spelled(style.first + 1))
        for here in (path, *_following(path, style, 1)):
            for suffix in later:
                if look(_part(here, suffix)) is not None:
                    raise _missing(path, style.suffix(style.first), f"{suffix} exists")


def _collected(look: Look, path: Names, style: Style, fits: Callable[[int], bool]) -> tuple[Extent, ...]:
    here, extents = path, list[Extent]()
    while (hit := _one(look, here, style, style.spelled(style.first + len(extents)))) is not None:
        here, extent = hit
        extents.append(extent)
    missing = style.first + len(extents)
    # A later part, in this or one of the next two segments, shows a gap in place of the end.
    for beyond in (here, *_following(here, style, 2)):
        for suffix in style.spelled(missing + 1):
            if look(_part(beyond, suffix)) is not None:
                raise _missing(path, style.suffix(missing), f"{suffix} exists")
    if style.last is not None:
        if (end := _one(look, here, style, (style.last,))) is not None:
            extents.append(end[1])
        elif not fits(sum(extent.size for extent in extents)):
            raise _missing(path, style.suffix(missing), f"the last, {style.last}, is missing too")
    return tuple(extents)


def _one(look: Look, here: Names, style: Style, suffixes: tuple[str, ...]) -> tuple[Names, Extent] | None:
    """Return a part in this segment or the next, and the whole's path in that segment, or None.

    Raises ``TooMany`` for a part in both, or with two of the suffixes.
    """
    names = [_part(each, suffix) for each in (here, *_following(here, style, 1)) for suffix in suffixes]
    hits = [(each, extent) for each in names if (extent := look(each)) is not None]
    if len(hits) > 1:
        raise twice([shown("/".join(each)) for each, _extent in hits])
    if not hits:
        return None
    found_at, extent = hits[0]
    return (*found_at[:-1], here[-1]), extent


def _following(path: Names, style: Style, most: int) -> Iterator[Names]:
    """Yield a path in the next segments, if it has the folder of a segment."""
    for depth in range(len(path) - 2, -1, -1):
        if (segment := style.folder.fullmatch(path[depth])) is not None:
            for step in range(1, most + 1):
                number = str(int(segment[2]) + step).zfill(len(segment[2]))
                yield (*path[:depth], segment[1] + number + (segment[3] or ""), *path[depth + 1 :])
            return


def _part(path: Names, suffix: str) -> Names:
    return (*path[:-1], path[-1] + suffix)


def _missing(path: Names, suffix: str, why: str) -> PartMissing:
    return PartMissing(
        f"the LOB {shown('/'.join(path))} is split and its part {path[-1]}{suffix} is missing ({why})",
        hint="Parts lie in one segment folder or in consecutive ones; get the missing part.",
    )


def twice(places: list[str]) -> TooMany:
    """Return the error for a part that exists more than once."""
    return TooMany(
        f"one part of a LOB exists {len(places)} times: {', '.join(places)}",
        hint="Each part exists once; remove the wrong one.",
    )


def beside_whole(path: Names, parts: list[str]) -> TooMany:
    """Return the error for a LOB that exists both whole and in parts."""
    return TooMany(
        f"the LOB {shown('/'.join(path))} exists whole, and so does its part {', '.join(parts)}",
        hint="A LOB is whole or in parts; remove the files that do not belong to it.",
    )
