"""The requirements by their ids, what each demands, and those that a document does not meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from metspack.checking.codes import Code
from metspack.checking.eark import csip, siard, sip
from metspack.checking.eark.requirements import Demand, Need, Requirement, Standard
from metspack.model import Finding

REQUIREMENTS: dict[Standard, tuple[Requirement, ...]] = {
    Standard.CSIP: csip.REQUIREMENTS,
    Standard.SIP: sip.REQUIREMENTS,
    Standard.SIARD: siard.REQUIREMENTS,
}

_ALL = tuple(each for rows in REQUIREMENTS.values() for each in rows)

NAMED: dict[str, Requirement] = {each.id: each for each in _ALL if not each.id.startswith("REF_")}
"""The requirements that a finding can name; what only refers to another standard is told by that one's."""

_FOLDED = {id_.casefold(): each for id_, each in NAMED.items()}


def named(id_: str) -> Requirement | None:
    """Return the requirement of an id in either letter case, None when there is none."""
    return _FOLDED.get(id_.strip().casefold())


def demands(place: str) -> tuple[tuple[Requirement, Demand], ...]:
    """Return the attributes that each element at a place must have, with their requirements."""
    return tuple((each, each.demand) for each in _ALL if each.demand and each.demand.place == place)


CODES = {
    Need.MUST: Code.REQUIREMENT_BROKEN,
    Need.MUST_NOT: Code.REQUIREMENT_BROKEN,
    Need.SHOULD: Code.RECOMMENDATION_NOT_FOLLOWED,
    Need.MAY: Code.OPTION_INCOMPLETE,
}
"""What a requirement that is broken is called, by how strongly it asks."""


@dataclass(slots=True)
class _FailedDemand:
    line: int
    place: str
    found: str
    count: int = 0


class Faults:
    """The requirements of some standards that one document breaks, one entry each, however large it is."""

    def __init__(self, standards: AbstractSet[Standard]) -> None:
        self.standards = standards
        self._faults: dict[str, _FailedDemand] = {}

    def __bool__(self) -> bool:
        """Whether anything is broken."""
        return bool(self._faults)

    def add(self, id_: str, line: int, found: str, place: str = "") -> None:
        """Record a broken requirement; ``found`` says what is there instead, for messages."""
        if NAMED[id_].standard not in self.standards:
            return
        fault = self._faults.setdefault(id_, _FailedDemand(line, place, found))
        fault.count += 1

    def findings(self, name: str) -> Iterator[Finding]:
        """Yield a finding for each broken requirement, in their order; ``name`` is the document's path."""
        for requirement in NAMED.values():
            fault = self._faults.get(requirement.id)
            if fault is None:
                continue
            yield CODES[requirement.need].at(
                name,
                fault.line,
                fault.place,
                rule=requirement.id,
                need=requirement.need.value,
                standard=requirement.standard.value,
                where=requirement.where,
                expected=requirement.says,
                found=fault.found,
                count=f"{fault.count:,}",
            )


def quoted(value: str | None) -> str:
    """Return a value for people: quoted, cut when long, ``none`` for one that is not there."""
    if value is None:
        return "none"
    return repr(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}...")


_LONGEST = 100


class Demands:
    """The attributes that each element at one place (``mets/dmdSec/mdRef``) must have."""

    def __init__(self, place: str, faults: Faults) -> None:
        self._faults = faults
        self._rows = tuple((rule.id, demand.attribute, demand.value) for rule, demand in demands(place))
        self._names = frozenset(name for _, name, _ in self._rows)
        self._values = tuple((name, value) for _, name, value in self._rows if value is not None)

    def judge(self, attributes: Mapping[str, str], line: int) -> None:
        """Record the attributes of an element that are absent, blank or of another value."""
        if self._names <= attributes.keys() and "" not in attributes.values() and self._is_met(attributes):
            return
        for rule, name, value in self._rows:
            found = attributes.get(name)
            if not (found or "").strip() or value not in {None, found}:
                self._faults.add(rule, line, quoted(found), attributes.get("ID", ""))

    def _is_met(self, attributes: Mapping[str, str]) -> bool:
        for name, value in self._values:  # noqa: SIM110 -- a generator costs more, for each of a million files
            if attributes[name] != value:
                return False
        return True
