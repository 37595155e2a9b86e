"""The modules whose code is mutated, each with the tests that are to fail."""

from __future__ import annotations

from dataclasses import dataclass


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


GROUPS = (
    Group(
        name="planner",
        modules=("planning/division",),
        tests=("tests/planning",),
    ),
    Group(
        name="parts",
        modules=("locations/splitparts", "packages/splitlobs"),
        tests=("tests/locations/test_splitparts.py", "tests/packages/test_splitlobs_order.py"),
    ),
    Group(
        name="journal",
        modules=("files/journal",),
        tests=("tests/files/test_journal.py",),
    ),
    Group(
        name="links",
        modules=tuple(f"checking/links/{name}" for name in ("links", "graph", "objids", "mounting", "swaps")),
        tests=(
            *("tests/checking/links", "tests/checking/test_codes.py", "tests/checking/test_expected.py"),
            "tests/checking/test_hostile.py",
            *("-k", "links or expected or L0 or F011 or F012 or M003 or M036 or M038 or P003 or P011"),
        ),
    ),
    Group(
        name="statement",
        modules=tuple(f"locations/{name}" for name in ("statement", "candidates", "conventions")),
        tests=("tests/locations/test_statement.py", "tests/locations/test_candidates.py"),
    ),
    Group(
        name="resolver",
        modules=("locations/resolver",),
        tests=(
            *("tests/locations/test_resolver.py", "tests/locations/test_packedsegments.py"),
            *("tests/locations/test_together.py", "tests/locations/test_advice.py"),
            *("tests/sources/test_archive.py", "tests/inspecting/test_inspection.py"),
            *("-k", "not hostile_paths and not any_number"),
        ),
    ),
    Group(
        name="assignment",
        modules=("planning/assignment", "planning/sharedlobs"),
        tests=(
            *(f"tests/planning/test_{name}.py" for name in ("assign", "assignment", "columns_inside")),
            "tests/planning/test_sharing_model.py",
        ),
    ),
    Group(name="uris", modules=("uris",), tests=("tests/test_uris.py",)),
    Group(
        name="layouts",
        modules=tuple(f"layouts/{name}" for name in ("interface", "lobseg", "siard22", "names", "readers")),
        tests=("tests/layouts",),
    ),
)
