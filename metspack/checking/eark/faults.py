"""The requirements by their ids, their demands, and those that a document does not meet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cache

from metspack import mediatypes, resources
from metspack.checking.codes import Code, Rule
from metspack.checking.eark import csip, siard, sip
from metspack.checking.eark.document import Element
from metspack.checking.eark.requirements import NEWEST, Need, Requirement, Standard, Version, quoted
from metspack.files import reading
from metspack.model import Finding

REQUIREMENTS = {each.standard: tuple(each.rows.values()) for each in (csip.TABLE, sip.TABLE, siard.TABLE)}

_ALL = tuple(each for rows in REQUIREMENTS.values() for each in rows)

NAMED: dict[str, Requirement] = {each.id: each for each in _ALL if not each.id.startswith("REF_")}
"""The requirements that a finding can name; references to other standards are left out."""

_FOLDED = {id_.casefold(): each for id_, each in NAMED.items()}


def named(id_: str) -> Requirement | None:
    """Return the requirement of an id in either letter case, or None without one."""
    return _FOLDED.get(id_.strip().casefold())


def _data(name: str) -> str:
    with reading.opening(resources.template_folder(), ("standards", name)) as descriptor:
        return b"".join(reading.chunks(descriptor)).decode()


@cache
def examples() -> Mapping[str, str]:
    """Return an example for each requirement: lines of XML or, for folders, paths."""
    found: dict[str, str] = {}
    for each in _data("examples.txt").split("\n\n"):
        ids, _, example = each.strip().partition("\n")
        found |= dict.fromkeys(ids.removeprefix("# ").split(), example)
    return found


@cache
def registered_types() -> frozenset[str]:
    """Return the media types of IANA's list, in lower case."""
    lines = (each.split() for each in _data("media-types.txt").splitlines() if not each.startswith("#"))
    return frozenset(f"{top}{name}" for top, *names in lines for name in names)


@cache
def demanded() -> Mapping[str, Sequence[Requirement]]:
    """Return the requirements of an attribute of each element at a place, by their places."""
    found: dict[str, list[Requirement]] = {}
    for each in _ALL:
        if each.demand is not None:
            found.setdefault(each.demand.place, []).append(each)
    return found


_PLACED = re.compile(r"(?:mets/)?(.*?)(?:\[[^\]]*\])?/?@([\w:]+)")


@cache
def _as_well() -> Mapping[tuple[str, str], tuple[tuple[str, Requirement], ...]]:
    """Return the requirements by code and element, each with its attribute."""
    found: dict[tuple[str, str], list[tuple[str, Requirement]]] = {}
    for each in NAMED.values():
        place, attribute = "", ""
        if each.demand is not None:
            place, attribute = re.sub("^mets(/|$)", "", each.demand.place), each.demand.attribute
        elif (placed := _PLACED.fullmatch(each.where)) is not None:
            place, attribute = placed.groups()
        *above, element = re.sub(r"\[.*?\]", "", place).split("/")
        if element == "mdRef":
            element = f"{above[-1]}/mdRef"
        is_of_schema = each.demand is not None and element not in {"div", "structMap", "mptr"}  # of many
        for code in (*each.codes, *((_SCHEMA,) if is_of_schema else ())):
            found.setdefault((code, element), []).append((attribute, each))
    return {key: tuple(rows) for key, rows in found.items()}


_SCHEMA = Code.NOT_VALID.id
TOLD_AS_WELL = frozenset(code for each in _ALL for code in each.codes) | {_SCHEMA}
"""The codes of findings that may break a requirement as well."""


def told_as_well(code: str, element: str, attribute: str | None = None) -> Requirement | None:
    """Return the requirement that a code breaks as well at an element, or None.

    The element is like ``dmdSec/mdRef`` or ``file``, and empty where the code is of none in METS.
    """
    for name, each in _as_well().get((code, "" if element == "mets" else element), ()):
        if attribute in {None, name}:
            return each
    return None


CODES = {
    Need.MUST: Code.REQUIREMENT_BROKEN,
    Need.MUST_NOT: Code.REQUIREMENT_BROKEN,
    Need.SHOULD: Code.RECOMMENDATION_NOT_FOLLOWED,
    Need.MAY: Code.OPTION_INCOMPLETE,
}
"""The code of a broken requirement, by its strength."""

_PARTS = 127  # characters of each half of a media type (RFC 6838, 4.2)
_ONCE = " (places: 1)"
_ASSUMED = f"; the METS declares no version of the standard, {NEWEST.value} is assumed"


@dataclass(slots=True)
class _FailedDemand:
    line: int
    place: str
    found: str
    count: int = 0


class Faults:
    """The requirements of some standards that a document of any size breaks, one entry each.

    ``version`` is that of CSIP and SIP, or None where the document declares none.
    """

    def __init__(self, standards: AbstractSet[Standard], version: Version | None = None) -> None:
        self.standards = standards
        self.declared = version
        self.version = version or NEWEST
        self._faults: dict[tuple[str, Need], _FailedDemand] = {}

    def __bool__(self) -> bool:
        """Return whether anything is broken."""
        return bool(self._faults)

    def add(self, id_: str, line: int, found: str, place: str = "", need: Need | None = None) -> None:
        """Record a broken requirement; ``found`` is the text in its place, for messages.

        ``need`` is given where not all of the requirement is as strong as its level.
        """
        if NAMED[id_].standard not in self.standards:
            return
        requirement = NAMED[id_].of(self.version)
        if requirement is not None:
            key = id_, need or requirement.need
            fault = self._faults.setdefault(key, _FailedDemand(line, place, found))
            fault.count += 1

    def findings(self, name: str) -> Iterator[Finding]:
        """Yield a finding for each broken requirement of the document at path ``name``, in order."""
        broken = {id_ for id_, _ in self._faults}
        for id_, requirement in NAMED.items() if broken else ():
            for need, code in CODES.items() if id_ in broken else ():
                fault = self._faults.get((id_, need))
                if fault is not None:
                    yield self._finding(name, requirement.of(self.version) or requirement, need, code, fault)

    def _finding(
        self, name: str, requirement: Requirement, need: Need, code: Rule, fault: _FailedDemand
    ) -> Finding:
        found = code.at(
            name,
            fault.line,
            fault.place,
            rule=requirement.id,
            need=need.value,
            standard=requirement.standard.value.replace(NEWEST.value, self.version.value),
            where=requirement.where,
            expected=requirement.says,
            found=fault.found,
            count=f"{fault.count:,}",
        )
        said = _ASSUMED if self.declared is None and NAMED[requirement.id].varies else ""
        message = f"{found.message.removesuffix(_ONCE)}{said}"
        return replace(found, requirement=requirement.id, message=message)


class Demands:
    """The attributes that each element at one place (``mets/dmdSec/mdRef``) must have."""

    def __init__(self, place: str, faults: Faults) -> None:
        self._faults = faults
        self._rows = [
            (each.id, each.demand.attribute, each.demand.values) for each in demanded()[place] if each.demand
        ]
        self._names = frozenset(name for _, name, _ in self._rows)
        self._values = tuple((name, values) for _, name, values in self._rows if values)

    def judge(self, element: Element, _parent: Element) -> None:
        """Record the attributes of an element that are absent, blank or of another value."""
        attributes = element.attributes
        is_full = self._names <= attributes.keys() and all(map(str.strip, attributes.values()))
        if is_full and self._is_met(attributes):
            return
        for rule, name, values in self._rows:
            found = attributes.get(name)
            if not (found or "").strip() or (values and found not in values):
                self._faults.add(rule, element.line, quoted(found), element.get("ID"))

    def _is_met(self, attributes: Mapping[str, str]) -> bool:
        for name, values in self._values:  # noqa: SIM110 -- a generator costs more, for each of a million files
            if attributes[name] not in values:
                return False
        return True


class MediaTypes:
    """The media types in a document: whether each is one, and whether IANA lists it."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._sound: set[str] = set()

    def are_sound(self, kinds: Iterable[str]) -> bool:
        """Return whether all media types are in IANA's list."""
        return all(each in self._sound or self._is_sound(each) for each in set(kinds))

    def judge(self, rule: str, kind: str, line: int, place: str) -> None:
        """Record a text that is no media type, or one outside IANA's list; a blank one is absent."""
        if kind in self._sound or not kind.strip() or self._is_sound(kind):
            return
        bare = mediatypes.essence(kind)
        if not mediatypes.is_media_type(bare) or max(map(len, bare.split("/"))) > _PARTS:
            found = f"{quoted(kind)} ({len(kind):,} characters), which is not a media type"
            self._faults.add(rule, line, found, place)
        else:
            # Until 2.1.0 "the IANA mime type"; since then another list may be agreed on.
            need = Need.SHOULD if self._faults.version is NEWEST else None
            said = "" if self._faults.declared else " (a MUST until 2.1.0; the METS declares no version)"
            self._faults.add(rule, line, f"{quoted(kind)}, which IANA does not list{said}", place, need)

    def _is_sound(self, kind: str) -> bool:
        is_sound = mediatypes.essence(kind) in registered_types()
        if is_sound:
            self._sound.add(kind)
        return is_sound
