"""Required attributes of elements, taken from the requirements' XPath."""

from __future__ import annotations

from collections.abc import Mapping

from metspack.checking.rules.faults import Faults, quoted
from metspack.checking.rules.table import demands


class Demands:
    """The attributes that each element at one place (``mets/dmdSec/mdRef``) must have."""

    def __init__(self, place: str, faults: Faults) -> None:
        self._faults = faults
        self._rows = tuple((rule.id, demand.attribute, demand.value) for rule, demand in demands(place))
        self._names = frozenset(name for _, name, _ in self._rows)
        self._values = tuple((name, value) for _, name, value in self._rows if value is not None)

    def judge(self, attributes: Mapping[str, str], line: int) -> None:
        """Keep what an element lacks: attributes that are absent, blank or of another value."""
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
