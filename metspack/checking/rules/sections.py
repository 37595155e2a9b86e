"""The dmdSec and amdSec against CSIP."""

from __future__ import annotations

from metspack.checking.rules.demands import Demands
from metspack.checking.rules.elements import Attributes, Elements, Start
from metspack.checking.rules.faults import Faults, quoted
from metspack.checking.rules.outline import KEPT, Outline
from metspack.checking.rules.vocabulary import STATUS

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
        href = attributes.get("xlink:href", "").removeprefix("./")
        if rule and href and not href.startswith(folder):
            self._faults.add(rule, line, quoted(href), self._open[1].get("ID", ""))

    def _end_section(self) -> None:
        if self._open is not None and not self._references:
            name, attributes, line = self._open
            self._faults.add(_REFERENCE[name], line, "none", attributes.get("ID", ""))
        self._open = None
