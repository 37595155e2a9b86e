"""Survey a METS document for the requirements of E-ARK's standards while it is read."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from metspack import safexml
from metspack.checking.eark.faults import Faults, demanded, is_registered
from metspack.checking.eark.outline import DOCUMENTATION, SCHEMAS, Outline
from metspack.checking.eark.sections import FileSection, Header, Sections
from metspack.checking.eark.structmap import Structure
from metspack.mets.elements import MAP, Elements
from metspack.mets.fastreader import Run
from metspack.mets.reader import File


class Survey:
    """A survey of one document, which is fed in blocks; broken requirements go to ``faults``.

    ``is_package`` is false for the METS of a representation. Files are surveyed unless ``whole`` is false.
    """

    def __init__(self, faults: Faults, *, is_package: bool, whole: bool = True) -> None:
        self.faults = faults
        self.outline = Outline(is_package=is_package)
        self._whole = whole
        self._elements = Elements()
        given = (self._elements, self.outline, faults)
        Sections(*given)
        self._parts = (Header(*given), FileSection(*given), Structure(*given))
        for place in demanded():
            # CSIP's XPath of pointers matches every structMap; they are required in the CSIP structMap.
            path = place.replace("mets/structMap/", f"{MAP}/")
            self._elements.handle({path: partial(faults.demand, place)})

    def takes(self, run: Run) -> bool:
        """Return whether the element before a run stands for all of it.

        Files of a package, pointers, locations of documentation and schemas and outside the package, and what
        breaks a requirement are checked one by one.
        """
        if not self._whole:
            return True
        if self.faults or self.outline.is_package or not isinstance(run.fact, File):
            return False
        is_filled = all(all(map(str.strip, column)) for column in run.columns.values())
        is_inside = not (run.fact.href or "").startswith("../")
        if not (is_filled and is_inside and all(map(is_registered, set(run.columns.get("mimetype", ()))))):
            return False
        return not any(group.startswith((DOCUMENTATION, SCHEMAS)) for group in run.fact.groups)

    def feed(self, block: bytes) -> None:
        """Take the next bytes; those behind a fault in XML, which the reader reports, are ignored."""
        with suppress(safexml.XmlError):
            self._elements.feed(block)

    def end(self) -> None:
        """Check the requirements that need the whole document."""
        with suppress(safexml.XmlError):
            self._elements.feed(b"", final=True)
        self._elements.close()
        for each in self._parts:
            each.finish()
