"""Check the structMap labelled CSIP against CSIP; other structMaps are ignored."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from metspack.checking.eark.faults import Faults, demanded
from metspack.checking.eark.outline import (
    DOCUMENTATION,
    KEPT,
    REPRESENTATIONS,
    SCHEMAS,
    Outline,
    StatedFileGroup,
)
from metspack.checking.eark.requirements import Version, none_but, quoted
from metspack.mets import REPRESENTATIONS_FOLDER
from metspack.mets.elements import DIVISION, MAP, Elements, MetsElement

_METADATA = "Metadata"
# For each division: the requirements on its spelling, its presence, its pointers to groups, their targets.
_SPELLED = {_METADATA: "CSIP90", DOCUMENTATION: "CSIP95", SCHEMAS: "CSIP99", REPRESENTATIONS: "CSIP103"}
_THERE = {_METADATA: "CSIP88", DOCUMENTATION: "CSIP93", SCHEMAS: "CSIP97", REPRESENTATIONS: "CSIP101"}
_POINTING = {DOCUMENTATION: "CSIP96", SCHEMAS: "CSIP100", REPRESENTATIONS: "CSIP104"}
_NAMING = {DOCUMENTATION: "CSIP116", SCHEMAS: "CSIP118", REPRESENTATIONS: "CSIP119"}
_LABELS = 1_000  # kept to name one that is nearly right
_PATH = re.compile(r"(?i:representations)/([^/]+)/METS\.xml")
_LOCATION = re.compile(r"(?:\./)?(?i:representations)/([^/]+)/[^/]+")
_CANONICAL = {each.casefold(): each for each in _SPELLED}


class Structure:
    """Checks the structMaps of one document, which come after its sections and files."""

    def __init__(self, elements: Elements, outline: Outline, faults: Faults) -> None:
        self._outline = outline
        self._faults = faults
        self._labels: list[str] = []  # of the other structMaps
        self._csip_maps = 0
        self._line = 0
        self._counts = dict.fromkeys(_SPELLED, 0)
        self._group_ids: frozenset[str] = frozenset()
        self._pointed_below: set[str] = set()  # in the divisions of divisions
        self._pointed: dict[str, set[str]] = {each: set() for each in _NAMING}
        elements.handle(
            {
                "mets/structMap": self._start_other_map,
                MAP: self._start_map,
                f"{MAP}/div": self._start_top,
                f"{DIVISION}/fptr": self._keep_pointer,
                f"{DIVISION}/mptr": self._keep_pointer,
                f"{DIVISION}/div/fptr": self._start_fptr_below,
            },
            {MAP: self._end_map, DIVISION: self._end_division},
        )
        elements.handle({f"{MAP}/div": self._identify, DIVISION: self._identify})

    def finish(self) -> None:
        """Check the requirements that need the whole structMap."""
        add, line = self._faults.add, self._outline.line
        labels = self._outline.labels
        if not self._csip_maps:
            if self._labels:
                add("CSIP82", line, none_but("LABEL", "CSIP", self._labels))
            else:
                add("CSIP80", line, "none")
        else:
            if self._csip_maps > 1:
                add("CSIP80", self._line, f"{self._csip_maps} of them")
            if not self._counts[_METADATA]:
                add("CSIP88", self._line, none_but("LABEL", _METADATA, labels))
            for kind, rule in _THERE.items():
                if self._counts[kind] > 1:
                    add(rule, self._line, f"{self._counts[kind]} of them")
            if self._outline.is_complete:
                self._judge_groups()

    def _judge_groups(self) -> None:
        divided = self._outline.representations
        for kind in _NAMING:
            groups = [each for each in self._named(kind) if each.representation not in divided]
            if not self._counts[kind]:
                if groups and kind != REPRESENTATIONS:
                    found = none_but("LABEL", kind, self._outline.labels)
                    self._faults.add(_THERE[kind], self._line, found)
                continue
            for group in groups:
                if group.id not in self._pointed[kind] | self._pointed_below:
                    self._faults.add(_POINTING[kind], group.line, "none", group.id)

    def _named(self, kind: str) -> list[StatedFileGroup]:
        """Return the groups of a division's kind; a representation's other groups are its content."""
        if kind != REPRESENTATIONS or self._outline.is_package:
            return self._outline.of_kind(kind)
        return [each for each in self._outline.groups if each.kind not in {DOCUMENTATION, SCHEMAS}]

    def _start_other_map(self, element: MetsElement, _mets: MetsElement) -> None:
        if len(self._labels) < _LABELS:
            self._labels.append(element.get("LABEL"))

    def _start_map(self, element: MetsElement, _mets: MetsElement) -> None:
        self._csip_maps += 1
        self._line = element.line
        self._group_ids = frozenset(each.id for each in self._outline.groups)
        if element.get("TYPE") != "PHYSICAL":
            self._faults.add("CSIP81", element.line, quoted(element.attributes.get("TYPE")))

    def _end_map(self, element: MetsElement, _mets: MetsElement) -> None:
        if element.count != 1:
            self._faults.add("CSIP84", element.line, f"{element.count} of them")

    def _start_top(self, top: MetsElement, element: MetsElement) -> None:
        element.count += 1
        outline = self._outline
        if top.attributes.get("LABEL") != outline.root.get("OBJID") and len(outline.unlike) < KEPT:
            outline.unlike.append((top.line, quoted(top.attributes.get("LABEL"))))

    def _identify(self, division: MetsElement, _above: MetsElement) -> None:
        """Note the requirement on the ID of a division by its line and ID."""
        label, place = division.get("LABEL"), division.path
        is_representation = place == DIVISION and label.startswith(f"{REPRESENTATIONS}/")
        demands = demanded().get(f"{place}[@LABEL='{label}']" if place == DIVISION else place, ())
        for rule in ["CSIP106"] if is_representation else [each.id for each in demands]:
            if len(self._outline.identified) < KEPT:
                self._outline.identified[division.line, division.get("ID").strip()] = rule

    def _keep_pointer(self, pointer: MetsElement, division: MetsElement) -> None:
        if self._outline.has_room(division.children):
            division.children.append(pointer)

    def _start_fptr_below(self, pointer: MetsElement, _division: MetsElement) -> None:
        if pointer.attributes.get("FILEID") in self._group_ids:
            self._pointed_below.add(pointer.get("FILEID"))

    def _end_division(self, division: MetsElement, _top: MetsElement) -> None:
        label = division.get("LABEL")
        if len(self._outline.labels) < _LABELS:
            self._outline.labels.append(label)
        canonical = _CANONICAL.get(label.strip().casefold())
        if canonical is not None:
            self._judge_defined(division, canonical)
        elif division.named("mptr") or label.casefold().startswith(f"{REPRESENTATIONS_FOLDER}/"):
            self._judge_representation(division)

    def _judge_defined(self, division: MetsElement, label: str) -> None:
        self._counts[label] += 1
        self._faults.demand(f"{DIVISION}[@LABEL='{label}']", division, division)
        if division.get("LABEL") != label:
            self._faults.add(_SPELLED[label], division.line, quoted(division.get("LABEL")))
        if label == _METADATA:
            self._judge_metadata(division)
            return
        if label == REPRESENTATIONS:
            self._outline.divided[label] = division.line
        groups = {each.id for each in self._named(label)}
        for each in division.named("fptr"):
            identifier = each.attributes.get("FILEID")
            if identifier is None or (identifier not in groups and self._outline.is_complete):
                self._faults.add(_NAMING[label], each.line, quoted(identifier))
            else:
                self._pointed[label].add(identifier)

    def _judge_metadata(self, division: MetsElement) -> None:
        outline = self._outline
        if not outline.is_complete:
            return
        named = set(division.get("ADMID").split())
        for identifier, within in outline.administrative:
            if identifier not in named and not within <= named:
                self._faults.add("CSIP91", division.line, f"nothing that names {min(within - named)!r}")
        lost_ids = outline.descriptive - set(division.get("DMDID").split())
        if lost_ids:
            self._faults.add("CSIP92", division.line, f"nothing that names {min(lost_ids)!r}")

    def _judge_representation(self, division: MetsElement) -> None:
        add, line, label = self._faults.add, division.line, division.get("LABEL")
        has_id = bool(division.get("ID"))
        if self._faults.version is Version.V2_0_4:  # "the path to the representation level METS document"
            label = _PATH.sub(f"{REPRESENTATIONS}/\\1", label)
        kind, _, folder = label.partition("/")
        if kind != REPRESENTATIONS or not folder or _PATH.fullmatch(label):
            add("CSIP107", line, quoted(division.attributes.get("LABEL")))
        is_named = kind == REPRESENTATIONS and bool(folder)
        if is_named and self._outline.has_room(self._outline.divided):
            self._outline.divided[label] = line
        if not (pointers := division.named("mptr")):
            self._outline.unpointed[label] = has_id
            return  # a representation without a METS has no further requirement
        if not has_id:
            add("CSIP106", line, "none", label)
        if len(pointers) > 1:
            add("CSIP109", line, f"{len(pointers)} of them", label)
        groups = {each.id: each.representation for each in self._outline.of_kind(REPRESENTATIONS)}
        for each in pointers:
            title = each.attributes.get("xlink:title")
            if title is None or (title not in groups and self._outline.is_complete):
                add("CSIP108", each.line, quoted(title), label)
        if is_named and len(pointers) == 1:
            self._judge_agreement(division, pointers[0], label, groups)

    def _judge_agreement(
        self, division: MetsElement, pointer: MetsElement, label: str, groups: Mapping[str, str]
    ) -> None:
        """Record a division whose label, title and location differ in their representation.

        ``groups`` are the representations by the ID of their fileGrp, which the title names.
        """
        title, href = pointer.get("xlink:title"), pointer.get("xlink:href")
        named, grouped = label.split("/")[1].casefold(), groups.get(title, "").casefold()
        located = _LOCATION.fullmatch(unquote(href))
        led = located[1].casefold() if located else named
        if grouped and grouped != named:
            if located and led == grouped:
                self._faults.add("CSIP107", division.line, f"{quoted(label)} for {quoted(href)}")
            else:
                self._faults.add("CSIP108", pointer.line, quoted(title), label)
        elif led != named and led in {each.representation.casefold() for each in self._outline.groups}:
            self._faults.add("CSIP109", pointer.line, quoted(href), label)
