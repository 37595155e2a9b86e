"""The requirements by their ids, their demands, and the broken ones of a document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain, product
from typing import TYPE_CHECKING

from metspack import resources
from metspack.checking.codes import Code
from metspack.checking.eark import standards as tables
from metspack.checking.eark.requirements import NEWEST, Demand, Need, Requirement, Standard, Version, quoted
from metspack.files import reading
from metspack.model import Finding
from metspack.sources import mediatypes

if TYPE_CHECKING:
    from metspack.mets.elements import MetsElement

REQUIREMENTS = {each: tuple(tables.rows(each, NEWEST).values()) for each in Standard}
"""The requirements of each standard up to the assumed version."""

_ALL = tuple(each for rows in REQUIREMENTS.values() for each in rows)

NAMED: dict[str, Requirement] = {each.id: each for each in _ALL if not each.id.startswith("REF_")}
"""The requirements that a finding can name; references to other standards are left out."""

_FOLDED = {id_.casefold(): each for id_, each in NAMED.items()}


def named(id_: str) -> Requirement | None:
    """Return the requirement of an id in either letter case, or None without one."""
    return _FOLDED.get(id_.strip().casefold())


def of_version(id_: str, standard: str) -> Requirement | None:
    """Return the requirement of an id in a version such as ``E-ARK SIP 2.3.0``, or None."""
    found = (each.rows.get(id_) for each in chain(*tables.TABLES.values()) if each.name == standard)
    return next(found, None)


def others(requirement: Requirement) -> Mapping[str, Requirement | None]:
    """Return the requirements of differing versions by their names, or None if absent."""
    rows = {each.name: each.rows.get(requirement.id) for each in tables.TABLES[requirement.standard]}
    return {
        name: row
        for name, row in rows.items()
        if row is None or (row.need, row.says) != (requirement.need, requirement.says)
    }


def _data(name: str) -> str:
    with reading.opening(resources.root() / "templates", ("standards", name)) as descriptor:
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


@lru_cache(1_000)
def is_registered(kind: str) -> bool:
    """Return whether a media type is in IANA's list."""
    return mediatypes.essence(kind) in registered_types()


@cache
def demanded() -> Mapping[str, Sequence[Demand]]:
    """Return the attributes that each element at a place must have, by places."""
    found: dict[str, list[Demand]] = {}
    for each in _ALL:
        if each.demand is not None:
            found.setdefault(each.demand.place, []).append(each.demand)
    return found


@cache
def _by_code_and_element() -> Mapping[tuple[str, str], Sequence[tuple[str, Requirement]]]:
    """Return the requirements by code and element, each with its attribute."""
    found: dict[tuple[str, str], list[tuple[str, Requirement]]] = {}
    for each in NAMED.values():
        place, _, attribute = each.where.rpartition("@")
        names = re.sub(r"\[.*?\]", "", place).rstrip("/[").split("/")
        element = "/".join(names[-2:] if names[-1] == "mdRef" else names[-1:])
        codes = each.codes
        if each.demand is not None:
            attribute = each.demand.attribute
            codes += () if element in {"div", "structMap", "mptr"} else (_SCHEMA,)  # those are of many
        for code in codes:
            found.setdefault((code, element), []).append((attribute, each))
    return found


_SCHEMA = Code.NOT_VALID.id
MAY_BREAK_REQUIREMENTS = frozenset(code for each in _ALL for code in each.codes) | {_SCHEMA}
"""The codes of findings whose faults may break a requirement too."""


def broken_by(code: str, element: str, attribute: str | None = None) -> Requirement | None:
    """Return the requirement that the fault of a code at an element breaks too, or None.

    The element is like ``dmdSec/mdRef`` or ``file``, or "" for a code outside METS.
    """
    rows = _by_code_and_element().get((code, element), ())
    return next((each for name, each in rows if attribute in {None, name}), None)


CODES = {
    Need.MUST: Code.REQUIREMENT_BROKEN,
    Need.MUST_NOT: Code.REQUIREMENT_BROKEN,
    Need.SHOULD: Code.RECOMMENDATION_NOT_FOLLOWED,
    Need.MAY: Code.OPTION_INCOMPLETE,
}
"""The code of a broken requirement, by its strength."""


def _varies(requirement: Requirement) -> bool:
    """Return whether a requirement differs between the versions up to the assumed one."""
    versions = (tables.table(requirement.standard, each) for each in Version if each.number <= NEWEST.number)
    return len({str(each.rows.get(requirement.id)) for each in versions}) > 1


_PARTS = 127  # characters of each half of a media type (RFC 6838, 4.2)
_ONCE = " (places: 1)"
_ASSUMED = f"; the METS declares no version of the standard, {NEWEST.value} is assumed"


@dataclass(slots=True)
class _FailedDemand:
    requirement: Requirement
    line: int
    place: str
    found: str
    count: int = 0


class Faults:
    """The requirements of some standards that a document of any size breaks, one entry each.

    ``version`` is the declared one of CSIP and SIP, or None. Without ``is_certain`` it is only the nearest to
    the declared one: broken requirements of CSIP and SIP are then reported as information.
    """

    def __init__(
        self, standards: AbstractSet[Standard], version: Version | None = None, *, is_certain: bool = True
    ) -> None:
        self.standards = standards
        self.declared = version
        self.is_certain = is_certain
        self.tables = {each: tables.table(each, version or NEWEST) for each in Standard}
        self.version = self.tables[Standard.CSIP].version
        self._faults: dict[tuple[str, Need], _FailedDemand] = {}

    def __bool__(self) -> bool:
        """Return whether anything is broken."""
        return bool(self._faults)

    def add(self, id_: str, line: int, found: str, place: str = "", need: Need | None = None) -> None:
        """Record a broken requirement; ``found`` is the text in its place, for messages.

        ``need`` is given where not all of the requirement is as strong as its level.
        """
        rows = (self.tables[each].rows.get(id_) for each in self.standards)
        if (requirement := next(filter(None, rows), None)) is not None:
            key = id_, need or requirement.need
            self._faults.setdefault(key, _FailedDemand(requirement, line, place, found)).count += 1

    def take(self, others: Faults) -> None:
        """Record the faults of other records that break one of these standards."""
        for key, each in others._faults.items():
            if each.requirement.standard in self.standards:
                self._faults[key] = replace(each)

    def demand(self, place: str, element: MetsElement, _parent: MetsElement) -> None:
        """Record the attributes of an element at a place that are absent, blank or of another value."""
        for each in demanded()[place]:
            found = element.attributes.get(each.attribute)
            if not (found or "").strip() or (each.values and found not in each.values):
                self.add(each.id, element.line, quoted(found), element.get("ID"))

    def judge_type(self, rule: str, kind: str, line: int, place: str) -> None:
        """Record a text that is no media type, or one outside IANA's list; a blank one is absent."""
        if not kind.strip() or is_registered(kind):
            return
        bare = mediatypes.essence(kind)
        if not mediatypes.is_media_type(bare) or max(map(len, bare.split("/"))) > _PARTS:
            self.add(
                rule, line, f"{quoted(kind)} ({len(kind):,} characters), which is not a media type", place
            )
        else:
            # Until 2.1.0 "the IANA mime type"; since then another list may be agreed on.
            need = Need.SHOULD if self.version is NEWEST else None
            more = "" if self.declared else " (a MUST until 2.1.0; the METS declares no version)"
            self.add(rule, line, f"{quoted(kind)}, which IANA does not list{more}", place, need)

    def findings(self, name: str) -> Iterator[Finding]:
        """Yield a finding for each broken requirement of the document at path ``name``, in order."""
        ids = (id_ for each in self.tables.values() for id_ in each.rows)
        for id_, need in product(ids, CODES) if self._faults else ():
            if (fault := self._faults.get((id_, need))) is not None:
                yield self._finding(name, need, fault)

    def _finding(self, name: str, need: Need, fault: _FailedDemand) -> Finding:
        requirement = fault.requirement
        is_judged = self.is_certain or requirement.standard is Standard.SIARD  # it has one version
        found = CODES[need if is_judged else Need.MAY].at(
            name,
            fault.line,
            fault.place,
            rule=requirement.id,
            need=need.value,
            standard=self.tables[requirement.standard].name,
            where=requirement.where,
            expected=requirement.says,
            found=fault.found,
            count=f"{fault.count:,}",
        )
        note = _ASSUMED if self.declared is None and _varies(requirement) else ""
        message = f"{found.message.removesuffix(_ONCE)}{note}"
        return replace(found, requirement=requirement.id, message=message)
