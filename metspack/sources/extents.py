"""What the LOBs of a source are read from: a value that any process can open, and what it opens."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from metspack.containers import zipreader
from metspack.errors import SourceError
from metspack.files.byteranges import HeldMedium, Medium
from metspack.files.tempdb import Closable
from metspack.model import Extent, ZipExtent
from metspack.siard import entries

_OPEN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """The zip files and the granted roots that extents count: ``ZipExtent.archive``, ``FileExtent.root``.

    Archive 0 is the SIARD archive itself, without any file when it is an unpacked one.
    """

    archives: tuple[HeldMedium, ...]
    roots: tuple[Path, ...]


class OpenHoldings(Closable):
    """Holdings opened as they are asked for, a few at a time; a context manager, for one thread."""

    __slots__ = ("_holdings", "_media")

    def __init__(self, holdings: Holdings) -> None:
        self._holdings = holdings
        self._media: OrderedDict[int, Medium] = OrderedDict()

    def contents(self, extent: Extent, what: str) -> Iterator[bytes]:
        """Yield the bytes of an extent, proven when the iterator has ended; ``what`` names it in errors.

        Raises SourceError when they cannot be read or are not those that were found.
        """
        if isinstance(extent, ZipExtent):
            return zipreader.contents(self._medium(extent.archive), extent, what=what)
        return entries.contents(self._holdings.roots[extent.root], extent)

    def _medium(self, number: int) -> Medium:
        medium = self._media.get(number)
        if medium is None:
            if len(self._media) >= _OPEN:
                self._let_go(next(iter(self._media)))
            medium = self._media[number] = self._opened(self._holdings.archives[number])
        else:
            self._media.move_to_end(number)
        return medium

    @staticmethod
    def _opened(held: HeldMedium) -> Medium:
        try:
            medium = Medium(held.paths)
        except OSError as error:
            raise SourceError(
                f"{held.paths[0]} cannot be opened any more: {error.strerror or error}",
                hint="It was there when the source was first looked through.",
            ) from error
        if medium.stamps != held.stamps:
            medium.close()
            raise _changed(held)
        return medium

    def _let_go(self, number: int) -> None:
        with self._media.pop(number) as medium:
            if medium.stamped() != medium.stamps:
                raise _changed(self._holdings.archives[number])

    def unchanged(self) -> None:
        """Close what is open; raises SourceError when a zip file was changed while it was read."""
        while self._media:
            self._let_go(next(iter(self._media)))

    def close(self) -> None:
        """Close what is open."""
        while self._media:
            self._media.popitem()[1].close()


def _changed(held: HeldMedium) -> SourceError:
    return SourceError(
        f"{held.paths[0]} was changed while it was read",
        hint="Build again when nothing writes to it any more.",
    )
