"""Check of a database's representations against CITS SIARD."""

from __future__ import annotations

import re

from metspack import safexml
from metspack.checking.catalogue import Catalogue, shown
from metspack.checking.eark import siard
from metspack.checking.eark.document import Outline, StatedFileGroup
from metspack.checking.eark.faults import Faults, quoted
from metspack.checking.eark.folders import FOLDER, CataloguedFiles, Representation
from metspack.checking.opening import CheckedTree
from metspack.checking.options import Looking
from metspack.containers.zipreader import ZipContainer
from metspack.errors import SourceError
from metspack.layouts.names import ARCHIVE_BYTES, SIARD
from metspack.locations import mappingtxt
from metspack.siard import metadata

_OUTSIDE = "SELECT path FROM cell WHERE archive = ? AND NOT inside AND path IS NOT NULL ORDER BY id"
_PLACED = re.compile(r"s\d+_t\d+_c\d+/seg_\d+/t\d+_c\d+(?:_[a-z]\d+)*_r\d+\.\w+")
"""A LOB in its segment, or a part of one: the suffix of a part is such as can stand in an extension."""


def judge_package(outline: Outline, found: list[Representation], faults: Faults) -> None:
    """Record the requirements of CITS SIARD that a package's METS breaks."""
    line, root = outline.line, outline.root
    if not any(each.mets for each in found):
        faults.add("SIARD_1", line, "none")
    _judge_names(outline, faults, "SIARD_2", "SIARD_3")
    if "csip:OTHERCONTENTINFORMATIONTYPE" in root:
        faults.add("SIARD_4", line, quoted(outline.other))
    if not outline.is_complete:
        return
    groups = [each for each in outline.groups if each.content == siard.TYPE]
    if not any(each.kind == "Representations" for each in groups):
        faults.add("SIARD_6", line, "none")
    divided = outline.representations
    for group in groups:
        if group.representation and group.representation not in divided:
            faults.add("SIARD_8", group.line, "none", group.id)


def _judge_names(outline: Outline, faults: Faults, kind: str, content: str) -> None:
    if outline.root.get("TYPE") != "Databases":
        faults.add(kind, outline.line, quoted(outline.root.get("TYPE")))
    if outline.content != siard.TYPE:
        faults.add(content, outline.line, quoted(outline.content or None))


class Database:
    """The check of one representation; ``group`` is its fileGrp in the package's METS, None if missing."""

    def __init__(self, catalogue: Catalogue, places: CheckedTree, looking: Looking) -> None:
        self._catalogue = catalogue
        self._holdings = CataloguedFiles(catalogue)
        self._places = places
        self._budgets = looking.budgets
        self._opens = looking.level.opens_archives

    def judge(
        self, each: Representation, group: StatedFileGroup | None, outline: Outline, faults: Faults
    ) -> None:
        """Record the requirements that a representation and its METS break."""
        _judge_names(outline, faults, "SIARD_9", "SIARD_10")
        line, held = outline.line, outline.other
        if held not in siard.VOCABULARY:
            faults.add("SIARD_11", line, quoted(held or None))
        if group is not None and (group.other or "") != held:
            faults.add("SIARD_14", line, f"{quoted(held or None)} and {quoted(group.other)}")
        if held in siard.VOCABULARY and held != siard.LOBS and outline.marked.get(held, 0) != 1:
            faults.add("SIARD_13", line, f"{outline.marked.get(held, 0):,} of them")
        if held in siard.VERSIONS:
            self._judge_archive(each, held, faults, line)
        elif held == siard.DUMP:
            if next(self._holdings.files(each.folder + b"data/"), None) is None:
                faults.add("SIARD_20", line, "none")
            if not outline.has_provenance:
                faults.add("SIARD_21", line, "none")
        self._judge_mapping(each, faults, line)

    def _archives(self, each: Representation) -> list[bytes]:
        data = each.folder + b"data/"
        files = (name for name, is_folder in self._holdings.children(data) if not is_folder)
        # Of one in parts the first stands for all.
        return [data + n for n in files if (found := ARCHIVE_BYTES.fullmatch(n)) and int(found[2] or 1) == 1]

    def _judge_archive(self, each: Representation, held: str, faults: Faults, line: int) -> None:
        archives = self._archives(each)
        if not archives:
            faults.add("SIARD_15", line, "none")
        for path in archives:
            version = self._version(path)
            if version is not None and f"SIARD_{version}" != held:
                faults.add("SIARD_16", line, f"{quoted(held)}, {shown(path)} is of version {version}")
            self._judge_lobs(each, path, held, faults, line)

    def _version(self, path: bytes) -> str | None:
        """Return the SIARD version of an archive, None for one that is not read."""
        where = self._places.below(path)
        if not self._opens or where is None or not path.lower().endswith(SIARD.encode()):
            return None
        try:
            with ZipContainer.opened(where, self._budgets) as container:
                extent = container.extent(metadata.NAME)
                if extent is None or extent.size > self._budgets.metadata:
                    return None
                return metadata.read(b"".join(container.contents(extent))).version
        except (SourceError, safexml.XmlError, OSError):
            return None  # what is wrong with it has been told

    def _judge_lobs(self, each: Representation, archive: bytes, held: str, faults: Faults, line: int) -> None:
        same = b"/" + FOLDER + each.name.encode("utf-8", "surrogateescape") + b"/"
        for (path,) in self._catalogue.rows(_OUTSIDE, archive):
            if same not in b"/" + path:
                faults.add("SIARD_22", line, quoted(shown(path)))
            above, _, below = shown(path).partition("_lobs/")
            if held == siard.VERSIONS[-1] and below and not _PLACED.fullmatch(below):
                faults.add("SIARD_22b", line, quoted(f"{above}_lobs/{below}"))

    def _judge_mapping(self, each: Representation, faults: Faults, line: int) -> None:
        beside = {path.rpartition(b"/")[0] for path in self._archives(each)}
        for path in self._holdings.files(each.folder + b"data/"):
            folder, _, name = path.rpartition(b"/")
            if name == mappingtxt.NAME.encode() and folder not in beside:
                faults.add("SIARD_19b", line, quoted(shown(path)))
