"""One METS document against the requirements that need nothing else, and its outline.

The document is read in runs of ``mets:file`` elements that are written alike: what one of them has, all have.
Only when something is wrong, or must be counted for each file, is it read again file by file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from metspack.checking.eark.elements import Elements
from metspack.checking.eark.faults import Faults
from metspack.checking.eark.header import Header
from metspack.checking.eark.outline import DOCUMENTATION, SCHEMAS, Outline
from metspack.checking.eark.sections import FileSection, Sections
from metspack.checking.eark.structmap import Structure
from metspack.mets.fastreader import condensed
from metspack.mets.reader import File
from metspack.mets.runs import Run
from metspack.model import Budgets


def surveyed(
    blocks: Callable[[], Iterable[bytes]], faults: Faults, *, is_package: bool, budgets: Budgets
) -> Outline:
    """Return the outline of a METS document; what it breaks goes to ``faults``.

    ``is_package`` is false for the METS of a representation; ``blocks`` gives the document from its start.
    Raises ``XmlError`` for what is not well-formed, or not METS within the budgets.
    """
    quick = _Survey(Faults(faults.standards), is_package=is_package)
    if quick.is_told_by(blocks(), budgets):
        return quick.outline
    exact = _Survey(faults, is_package=is_package)
    exact.elements.read(blocks())
    exact.finish()
    return exact.outline


class _Survey:
    def __init__(self, faults: Faults, *, is_package: bool) -> None:
        self.elements = Elements()
        self.outline = Outline()
        self._faults = faults
        given = (self.elements, self.outline, faults)
        self._header = Header(*given, is_package=is_package)
        Sections(*given)
        self._files = FileSection(*given, is_package=is_package)
        self._structure = Structure(*given, is_package=is_package)

    def is_told_by(self, blocks: Iterable[bytes], budgets: Budgets) -> bool:
        """Read a document in runs; return whether that is all there is to say of it: nothing is broken."""
        self.elements.begin()
        for each in condensed(blocks, budgets, sink=self.elements.feed):
            if isinstance(each, Run) and not _are_alike(each):
                return False
        self.elements.feed(b"", final=True)
        self.finish()
        return not self._faults

    def finish(self) -> None:
        """Judge what takes the whole document."""
        self._header.finish()
        self._files.finish()
        self._structure.finish()


def _are_alike(run: Run) -> bool:
    """Whether nothing can be said of an element in a run that is not said of the one before it.

    Pointers, and where documentation and schemas lie, are looked at one by one.
    """
    if not isinstance(run.fact, File) or any("" in column for column in run.columns.values()):
        return False
    return not any(group.startswith((DOCUMENTATION, SCHEMAS)) for group in run.fact.groups)
