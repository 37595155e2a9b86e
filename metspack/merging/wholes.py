"""The split LOBs of a package while their parts are copied, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from metspack import scratch
from metspack.digests import Hashers
from metspack.merging.datafiles import DataFile
from metspack.mets.dialects.interface import SplitLob, SplitPart
from metspack.restoring.formats import SplitFormat

_KEEPING = "the split LOBs"


class Wholes(scratch.Scratch):
    """The split LOBs with their digests as wholes, and their parts, kept on disk; a context manager.

    ``objid`` is the package that has all parts, ``formats`` what is known of the LOBs. They come LOB by LOB,
    in their order.
    """

    def __init__(self, objid: str, formats: Mapping[str, SplitFormat]) -> None:
        super().__init__(
            "CREATE TABLE lob (n INTEGER PRIMARY KEY, id TEXT, size INTEGER, media TEXT, checksum TEXT)",
            "CREATE TABLE part (n INTEGER PRIMARY KEY, lob TEXT, id TEXT)",
            "BEGIN",
        )
        self._objid = objid
        self._formats = formats
        self._lob = ""
        self._media = ""
        self._checksum = ""
        self._hashers = Hashers(())

    def hashers(self, file: DataFile, checksum: str) -> Hashers:
        """Return what the bytes of the next file are to be given to as well: the whole it is part of."""
        if not file.part_of:
            self.end()
            return Hashers(())
        if file.part_of != self._lob:
            self.end()
            self._lob, self._media, self._checksum = file.part_of, file.media_type, checksum
            self._hashers = Hashers((checksum,))
        with scratch.explained(_KEEPING):
            self._database.execute("INSERT INTO part (lob, id) VALUES (?, ?)", (file.part_of, file.id))
        return self._hashers

    def end(self) -> None:
        """Say that the LOB that came last is whole."""
        if self._lob:
            value = self._hashers.digest(self._checksum).value
            with scratch.explained(_KEEPING):
                self._database.execute(
                    "INSERT INTO lob (id, size, media, checksum) VALUES (?, ?, ?, ?)",
                    (self._lob, self._hashers.size, self._media, value),
                )
        self._lob = ""

    def lobs(self) -> Iterator[SplitLob]:
        """Yield the split LOBs in the order in which their parts came."""
        for identifier, size, media, checksum in self._database.execute(
            "SELECT id, size, media, checksum FROM lob ORDER BY n"
        ):
            known = self._formats.get(identifier)
            kind = known.format if known is not None and known.size == str(size) else None
            yield SplitLob(id=identifier, size=size, media_type=media, checksum=checksum, format=kind)

    def parts(self) -> Iterator[SplitPart]:
        """Yield their parts in the same order."""
        for lob, identifier in self._database.execute("SELECT lob, id FROM part ORDER BY n"):
            yield SplitPart(lob=lob, id=identifier, child=self._objid)
