"""All requirements of the E-ARK standards in one table. Pure."""

from __future__ import annotations

from metspack.checking.eark import csip, siard, sip
from metspack.checking.eark.requirements import Demand, Requirement, Standard

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
    """Return what each element at a place needs, with the requirement that asks for it."""
    return tuple((each, each.demand) for each in _ALL if each.demand and each.demand.place == place)
