"""The modules whose code is mutated, each with the tests that are to fail."""

from __future__ import annotations

from dataclasses import dataclass

from tests.tables import tables_of


@dataclass(frozen=True, kw_only=True)
class Group:
    """Modules that the same tests hold: mutmut finds out which of these tests reach which function.

    ``tests`` are paths, and options of pytest that choose among them.
    """

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """The modules as files of the checkout."""
        return tuple(f"metspack/{module}.py" for module in self.modules)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the tests, without the options."""
        return self.tests[: self.tests.index("-k")] if "-k" in self.tests else self.tests


GROUPS = tuple(
    Group(name=each["name"], modules=tuple(each["modules"]), tests=tuple(each["tests"]))
    for each in tables_of(__file__)["groups"]
)
