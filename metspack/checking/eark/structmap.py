"""Check the structMap labelled CSIP against CSIP; other structMaps are ignored."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote

from metspack.checking.eark.document import (
    DOCUMENTATION,
    KEPT,
    REPRESENTATIONS,
    SCHEMAS,
    Attributes,
    Elements,
    Outline,
    StatedFileGroup,
)
from metspack.checking.eark.faults import Demands, Faults
from metspack.checking.eark.requirements import Version, none_but, quoted
from metspack.mets import REPRESENTATIONS_FOLDER

_MAP = "mets/structMap[@LABEL='CSIP']"
_METADATA = "Metadata"
# For each division: the requirements on its spelling, its presence, its pointers to groups, their targets.
_SPELLED = {_METADATA: "CSIP90", DOCUMENTATION: "CSIP95", SCHEMAS: "CSIP99", REPRESENTATIONS: "CSIP103"}
_THERE = {DOCUMENTATION: "CSIP93", SCHEMAS: "CSIP97", REPRESENTATIONS: "CSIP101"}
_POINTING = {DOCUMENTATION: "CSIP96", SCHEMAS: "CSIP100", REPRESENTATIONS: "CSIP104"}
_NAMING = {DOCUMENTATION: "CSIP116", SCHEMAS: "CSIP118", REPRESENTATIONS: "CSIP119"}
_LABELS = 1_000  # kept to name one that is nearly right
_PATH = re.compile(r"(?i:representations)/([^/]+)/METS\.xml")
_LOCATION = re.compile(r"(?:\./)?(?i:representations)/([^/]+)/[^/]+")
_CANONICAL = {each.casefold(): each for each in _SPELLED}


@dataclass(slots=True)
class _DivElement:
    attributes: Attributes
    line: int
    pointers: list[tuple[str | None, int]] = field(default_factory=list)
    titles: list[tuple[str | None, int]] = field(default_factory=list)
    href: str = ""  # of its last mptr

    @property
    def label(self) -> str:
        return self.attributes.get("LABEL", "")


class Structure:
    """Checks the structMaps of one document, which come after its sections and files."""

    def __init__(self, elements: Elements, outline: Outline, faults: Faults, *, is_package: bool) -> None:
        self._outline = outline
        self._is_package = is_package
        self._faults = faults
        self._maps: list[str] = []
        self._own_maps = 0
        self._line = 0
        self._is_own = False
        self._depth = 0
        self._tops = 0
        self._division: _DivElement | None = None
        self._counts = dict.fromkeys(_SPELLED, 0)
        self._group_ids: frozenset[str] = frozenset()
        self._pointed_below: set[str] = set()  # in the divisions of divisions
        self._pointed: dict[str, set[str]] = {each: set() for each in _NAMING}
        self._map = Demands(_MAP, faults)
        self._top = Demands(f"{_MAP}/div", faults)
        self._divisions = {each: Demands(f"{_MAP}/div/div[@LABEL='{each}']", faults) for each in _SPELLED}
        self._pointer = Demands("mets/structMap/div/div/mptr", faults)
        elements.starts |= {
            "structMap": self._start_map,
            "div": self._start_div,
            "fptr": self._keep_fptr,
            "mptr": self._keep_mptr,
        }
        elements.ends |= {"structMap": self._end_map, "div": self._end_div}

    def finish(self) -> None:
        """Check the requirements that need the whole structMap."""
        add, line = self._faults.add, self._outline.line
        labels = self._outline.labels
        if not self._maps:
            add("CSIP80", line, "none")
        elif not self._own_maps:
            add("CSIP82", line, none_but("LABEL", "CSIP", self._maps))
        else:
            if self._own_maps > 1:
                add("CSIP80", self._line, f"{self._own_maps} of them")
            if not self._counts[_METADATA]:
                add("CSIP88", self._line, none_but("LABEL", _METADATA, labels))
            elif self._counts[_METADATA] > 1:
                add("CSIP88", self._line, f"{self._counts[_METADATA]} of them")
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
        if kind != REPRESENTATIONS or self._is_package:
            return self._outline.of_kind(kind)
        return [each for each in self._outline.groups if each.kind not in {DOCUMENTATION, SCHEMAS}]

    def _start_map(self, attributes: Attributes, line: int) -> None:
        if len(self._maps) < _LABELS:
            self._maps.append(attributes.get("LABEL", ""))
        self._depth = self._tops = 0
        self._is_own = attributes.get("LABEL") == "CSIP"
        if self._is_own:
            self._own_maps += 1
            self._line = line
            self._group_ids = frozenset(each.id for each in self._outline.groups)
            self._map.judge(attributes, line)
            if attributes.get("TYPE") != "PHYSICAL":
                self._faults.add("CSIP81", line, quoted(attributes.get("TYPE")))

    def _end_map(self) -> None:
        if self._is_own and self._tops != 1:
            self._faults.add("CSIP84", self._line, f"{self._tops} of them")
        self._is_own = False

    def _start_div(self, attributes: Attributes, line: int) -> None:
        self._depth += 1
        if not self._is_own:
            return
        if self._depth == 1:
            self._tops += 1
            self._top.judge(attributes, line)
            if attributes.get("LABEL") != self._outline.root.get("OBJID"):
                self._faults.add("CSIP86", line, quoted(attributes.get("LABEL")))
        elif self._depth == 2:  # noqa: PLR2004 -- the divisions that CSIP knows are right below the top
            self._division = _DivElement(attributes, line)

    def _keep_fptr(self, attributes: Attributes, line: int) -> None:
        if self._is_own and self._depth > 2 and attributes.get("FILEID") in self._group_ids:  # noqa: PLR2004
            self._pointed_below.add(attributes["FILEID"])
        if self._is_own and self._depth == 2 and self._division is not None:  # noqa: PLR2004
            if len(self._division.pointers) < KEPT:
                self._division.pointers.append((attributes.get("FILEID"), line))
            else:
                self._outline.is_complete = False

    def _keep_mptr(self, attributes: Attributes, line: int) -> None:
        if self._is_own and self._depth == 2 and self._division is not None:  # noqa: PLR2004
            self._pointer.judge(attributes, line)
            if len(self._division.titles) < KEPT:
                self._division.titles.append((attributes.get("xlink:title"), line))
                self._division.href = attributes.get("xlink:href", "")

    def _end_div(self) -> None:
        if self._depth == 2 and self._division is not None:  # noqa: PLR2004
            division, self._division = self._division, None
            if len(self._outline.labels) < _LABELS:
                self._outline.labels.append(division.label)
            canonical = _CANONICAL.get(division.label.strip().casefold())
            if canonical is not None:
                self._judge_known(division, canonical)
            elif division.titles or division.label.casefold().startswith(f"{REPRESENTATIONS_FOLDER}/"):
                self._judge_representation(division)
        self._depth -= 1

    def _judge_known(self, division: _DivElement, label: str) -> None:
        self._counts[label] += 1
        self._divisions[label].judge(division.attributes, division.line)
        if division.label != label:
            self._faults.add(_SPELLED[label], division.line, quoted(division.label))
        if label == _METADATA:
            self._judge_metadata(division)
            return
        if label == REPRESENTATIONS:
            self._outline.divided[label] = division.line
        own = {each.id for each in self._named(label)}
        for identifier, line in division.pointers:
            if identifier is None or (identifier not in own and self._outline.is_complete):
                self._faults.add(_NAMING[label], line, quoted(identifier))
            else:
                self._pointed[label].add(identifier)

    def _judge_metadata(self, division: _DivElement) -> None:
        outline = self._outline
        if not outline.is_complete:
            return
        named = set(division.attributes.get("ADMID", "").split())
        for identifier, within in outline.administrative:
            if identifier not in named and not within <= named:
                self._faults.add("CSIP91", division.line, f"nothing that names {min(within - named)!r}")
        lost_ids = outline.descriptive - set(division.attributes.get("DMDID", "").split())
        if lost_ids:
            self._faults.add("CSIP92", division.line, f"nothing that names {min(lost_ids)!r}")

    def _judge_representation(self, division: _DivElement) -> None:
        add, line, label = self._faults.add, division.line, division.label
        has_id = bool(division.attributes.get("ID"))
        if self._faults.version is Version.V2_0_4:  # "the path to the representation level METS document"
            label = _PATH.sub(f"{REPRESENTATIONS}/\\1", label)
        kind, _, folder = label.partition("/")
        if kind != REPRESENTATIONS or not folder or _PATH.fullmatch(label):
            add("CSIP107", line, quoted(division.attributes.get("LABEL")))
        is_named = kind == REPRESENTATIONS and bool(folder)
        if is_named and len(self._outline.divided) < KEPT:
            self._outline.divided[label] = line
        elif is_named:
            self._outline.is_complete = False
        if not division.titles:
            self._outline.unpointed[label] = (
                has_id  # a representation without a METS has no further requirement
            )
            return
        if not has_id:
            add("CSIP106", line, "none", label)
        self._judge_pointers(division, label, is_named=is_named)

    def _judge_pointers(self, division: _DivElement, label: str, *, is_named: bool) -> None:
        if len(division.titles) != 1:
            self._faults.add("CSIP109", division.line, f"{len(division.titles)} of them", label)
        groups = {each.id: each.representation for each in self._outline.of_kind(REPRESENTATIONS)}
        for title, at in division.titles:
            if title is None or (title not in groups and self._outline.is_complete):
                self._faults.add("CSIP108", at, quoted(title), label)
        if is_named and len(division.titles) == 1:
            title, at = division.titles[0]
            self._judge_agreement(division, label, groups.get(title or "", ""), at)

    def _judge_agreement(self, division: _DivElement, label: str, grouped: str, line: int) -> None:
        """Record a division whose label, title and location differ in their representation.

        ``grouped`` is the representation of the fileGrp in the title, empty when that names none.
        """
        named = label.split("/")[1].casefold()
        located = _LOCATION.fullmatch(unquote(division.href))
        led = located[1].casefold() if located else named
        if grouped and grouped.casefold() != named:
            if located and led == grouped.casefold():
                self._faults.add("CSIP107", division.line, f"{quoted(label)} for {quoted(division.href)}")
            else:
                self._faults.add("CSIP108", line, quoted(division.titles[0][0]), label)
        elif led != named and led in {each.representation.casefold() for each in self._outline.groups}:
            self._faults.add("CSIP109", line, quoted(division.href), label)


def identified_divisions(blocks: Iterable[bytes], found: dict[tuple[int, str], str]) -> None:
    """Fill in the requirement on the ID of a division in CSIP's structMap, by its line and ID.

    Raises ``XmlError`` for a document that is not well-formed.
    """
    elements, depth = Elements(), [_OUTSIDE]

    def enter(attributes: Attributes, _line: int) -> None:
        depth[0] = 0 if attributes.get("LABEL") == "CSIP" else _OUTSIDE

    def start(attributes: Attributes, line: int) -> None:
        depth[0] += 1
        if depth[0] in {1, 2} and len(found) < KEPT:
            label = attributes.get("LABEL", "")
            rule = "CSIP85" if depth[0] == 1 else _IDENTIFIED.get(label)
            if rule is None and label.startswith(f"{REPRESENTATIONS}/"):
                rule = "CSIP106"
            if rule is not None:
                found[line, attributes.get("ID", "").strip()] = rule

    def end() -> None:
        depth[0] -= 1

    elements.starts |= {"structMap": enter, "div": start}
    elements.ends["div"] = end
    elements.read(blocks)


_OUTSIDE = 1_000_000  # deeper than any division
_IDENTIFIED = {_METADATA: "CSIP89", DOCUMENTATION: "CSIP94", SCHEMAS: "CSIP98", REPRESENTATIONS: "CSIP102"}
