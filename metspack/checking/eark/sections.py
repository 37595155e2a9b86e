"""Check of the fileSec, dmdSec and amdSec against CSIP and CITS SIARD; a file takes no memory."""

from __future__ import annotations

from urllib.parse import unquote

from metspack.checking.eark import siard
from metspack.checking.eark.document import (
    DOCUMENTATION,
    KEPT,
    REPRESENTATIONS,
    SCHEMAS,
    Attributes,
    Elements,
    Outline,
    Start,
    StatedFileGroup,
)
from metspack.checking.eark.faults import Demands, Faults, quoted
from metspack.checking.eark.requirements import STATUS

_OTHER = "csip:OTHERCONTENTINFORMATIONTYPE"
_FOLDERS = {DOCUMENTATION: ("CSIPSTR16", "documentation"), SCHEMAS: ("CSIPSTR15", "schemas")}
_MARKS = 100  # words that files are marked with; CITS SIARD has six


class FileSection:
    """Checks the fileSec of one document."""

    def __init__(self, elements: Elements, outline: Outline, faults: Faults, *, is_package: bool) -> None:
        self._outline = outline
        self._faults = faults
        self._is_package = is_package
        self._line = 0
        self._depth = 0
        self._group: StatedFileGroup | None = None
        self._files = 0
        self._open: list[tuple[str, int]] = []
        self._locations: list[int] = []
        self._folder: tuple[str, str] | None = None
        self._section = Demands("mets/fileSec", faults)
        self._of_group = Demands("mets/fileSec/fileGrp", faults)
        self._of_file = Demands("mets/fileSec/fileGrp/file", faults)
        self._of_location = Demands("mets/fileSec/fileGrp/file/FLocat", faults)
        elements.starts |= {
            "fileSec": self._start_section,
            "fileGrp": self._start_group,
            "file": self._start_file,
            "FLocat": self._start_location,
        }
        elements.ends |= {"fileGrp": self._end_group, "file": self._end_file}

    def finish(self) -> None:
        """Check the requirements that need the whole section."""
        outline = self._outline
        if not (outline.has_files and self._is_package and outline.is_complete):
            return
        for rule, kind in (("CSIP60", DOCUMENTATION), ("CSIP113", SCHEMAS), ("CSIP114", REPRESENTATIONS)):
            if not outline.of_kind(kind):
                self._faults.add(rule, self._line, "none")

    def _start_section(self, attributes: Attributes, line: int) -> None:
        self._outline.has_files = True
        self._line = line
        self._section.judge(attributes, line)

    def _start_group(self, attributes: Attributes, line: int) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        self._of_group.judge(attributes, line)
        group = StatedFileGroup(
            id=attributes.get("ID", ""),
            use=attributes.get("USE", ""),
            content=attributes.get("csip:CONTENTINFORMATIONTYPE"),
            other=attributes.get(_OTHER),
            line=line,
        )
        self._group, self._files = group, 0
        self._folder = _FOLDERS.get(group.kind)
        if len(self._outline.groups) < KEPT:
            self._outline.groups.append(group)
        else:
            self._outline.is_complete = False
        if group.kind == REPRESENTATIONS and not group.content:
            self._faults.add("CSIP62", line, "none", group.id)
        if group.content == "OTHER" and not group.other:
            self._faults.add("CSIP63", line, "none", group.id)
        if group.content == siard.TYPE and self._is_package and group.other not in siard.VOCABULARY:
            self._faults.add("SIARD_7", line, quoted(group.other), group.id)

    def _end_group(self) -> None:
        if self._depth == 1 and self._group is not None and not self._files:
            self._faults.add("CSIP66", self._group.line, "none", self._group.id)
        self._depth -= 1

    def _start_file(self, attributes: Attributes, line: int) -> None:
        self._of_file.judge(attributes, line)
        self._open.append((attributes.get("ID", ""), line))
        self._locations.append(0)
        if self._depth == 1:
            self._files += 1
        mark = attributes.get(_OTHER)
        marked = self._outline.marked
        if mark is not None and (mark in marked or len(marked) < _MARKS):
            marked[mark] = marked.get(mark, 0) + 1

    def _start_location(self, attributes: Attributes, line: int) -> None:
        if not self._open:
            return
        self._of_location.judge(attributes, line)
        self._locations[-1] += 1
        if self._folder is not None:
            rule, folder = self._folder
            href = attributes.get("xlink:href", "")
            if href and folder not in unquote(href).split("/")[:-1]:
                self._faults.add(rule, line, quoted(href), self._open[-1][0])

    def _end_file(self) -> None:
        name, line = self._open.pop()
        locations = self._locations.pop()
        if locations != 1:
            self._faults.add("CSIP76", line, f"{locations} FLocat", name)


_PLACES = {
    "dmdSec": "mets/dmdSec",
    "digiprovMD": "mets/amdSec/digiprovMD",
    "rightsMD": "mets/amdSec/rightsMD",
}
# Of each: what asks for a status, what for a reference to a file, and for the folder that this lies in.
_STATUS = {"dmdSec": "CSIP20", "digiprovMD": "CSIP34", "rightsMD": "CSIP47"}
_REFERENCE = {"dmdSec": "CSIP21", "digiprovMD": "CSIP35", "rightsMD": "CSIP48"}
_FOLDER = {
    "dmdSec": ("CSIPSTR7", "metadata/descriptive/"),
    "digiprovMD": ("CSIPSTR6", "metadata/preservation/"),
}


class Sections:
    """Checks the dmdSec and amdSec of one document."""

    def __init__(self, elements: Elements, outline: Outline, faults: Faults) -> None:
        self._outline = outline
        self._faults = faults
        self._open: tuple[str, Attributes, int] | None = None
        self._references = 0
        self._amd_secs = 0
        self._section = {name: Demands(place, faults) for name, place in _PLACES.items()}
        self._reference = {name: Demands(f"{place}/mdRef", faults) for name, place in _PLACES.items()}
        elements.starts |= {"amdSec": self._start_administrative, "mdRef": self._start_reference}
        for name in _PLACES:
            elements.starts[name] = self._section_start(name)
            elements.ends[name] = self._end_section

    def _start_administrative(self, attributes: Attributes, line: int) -> None:
        self._amd_secs += 1
        if self._amd_secs > 1:
            self._faults.add("CSIP31", line, "another amdSec")
        if self._amd_secs < KEPT:
            self._outline.administrative.append((attributes.get("ID", ""), set()))
        else:
            self._outline.is_complete = False

    def _section_start(self, name: str) -> Start:
        def start(attributes: Attributes, line: int) -> None:
            self._open = name, attributes, line
            self._references = 0
            self._section[name].judge(attributes, line)
            status = attributes.get("STATUS")
            if status not in STATUS:
                self._faults.add(_STATUS[name], line, quoted(status), attributes.get("ID", ""))
            if name == "digiprovMD":
                self._outline.has_provenance = True
            if status != "SUPERSEDED" and "ID" in attributes:
                self._keep(name, attributes["ID"])

        return start

    def _keep(self, name: str, identifier: str) -> None:
        outline = self._outline
        if name == "dmdSec":
            kept = outline.descriptive
        elif outline.administrative:
            kept = outline.administrative[-1][1]
        else:
            return  # the schema has something to say on that
        if len(kept) < KEPT:
            kept.add(identifier)
        else:
            outline.is_complete = False

    def _start_reference(self, attributes: Attributes, line: int) -> None:
        if self._open is None:
            return
        name = self._open[0]
        self._references += 1
        self._reference[name].judge(attributes, line)
        rule, folder = _FOLDER.get(name, ("", ""))
        href = attributes.get("xlink:href", "").strip()
        if rule and href and not unquote(href).removeprefix("./").startswith(folder):
            self._faults.add(rule, line, quoted(href), self._open[1].get("ID", ""))

    def _end_section(self) -> None:
        if self._open is not None and not self._references:
            name, attributes, line = self._open
            self._faults.add(_REFERENCE[name], line, "none", attributes.get("ID", ""))
        self._open = None
