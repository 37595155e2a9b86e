"""One METS document, read once: its outline, and what it breaks of itself."""

from __future__ import annotations

from collections.abc import Iterable

from metspack.checking.rules.elements import Elements
from metspack.checking.rules.faults import Faults
from metspack.checking.rules.filesection import FileSection
from metspack.checking.rules.header import Header
from metspack.checking.rules.outline import Outline
from metspack.checking.rules.sections import Sections
from metspack.checking.rules.structure import Structure


def surveyed(blocks: Iterable[bytes], faults: Faults, *, is_package: bool) -> Outline:
    """Return the outline of a METS document, whose faults go to ``faults``.

    ``is_package`` is false for the METS of a representation. Raises ``XmlError`` for what is not well-formed.
    """
    elements, outline = Elements(), Outline()
    header = Header(elements, outline, faults, is_package=is_package)
    Sections(elements, outline, faults)
    files = FileSection(elements, outline, faults, is_package=is_package)
    structure = Structure(elements, outline, faults, is_package=is_package)
    elements.read(blocks)
    header.finish()
    files.finish()
    structure.finish()
    return outline
