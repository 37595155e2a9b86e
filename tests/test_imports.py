"""The direction of imports between modules, read from the source with ``ast``."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from tests.laws import of_each
from tests.syntax import nodes, parsed
from tests.tables import read_table

PACKAGE = Path(__file__).resolve().parents[1] / "metspack"
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

FURTHER = frozenset(read_table(__file__, "further"))
"""Modules whose every line is tested as well, and which do more than compute."""

PURE = {
    name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    for name in re.findall(
        r"^metspack/(.+)$",
        Path(__file__).with_name("pure_modules.txt").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
} - FURTHER
"""Modules that only compute: the same arguments always give the same result."""

EFFECTS = frozenset(read_table(__file__, "effects"))
BUILDERS = frozenset(read_table(__file__, "builders"))
"""Modules that make a package; a checker that shared any of them would share their faults."""


def _imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and full name of everything a module imports, wherever in it that stands."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield node.lineno, each.name
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are written in full"
            assert node.module is not None
            for each in node.names:
                name = f"{node.module}.{each.name}"
                yield node.lineno, name if name in MODULES else node.module


@cache
def imports(module: str) -> tuple[tuple[int, str], ...]:
    return tuple(_imported(parsed(MODULES[module])))


def own(module: str) -> Iterator[tuple[int, str]]:
    """Yield line and name, without ``metspack.``, of the project's modules that one imports."""
    for line, name in imports(module):
        if name == "metspack" or name.startswith("metspack."):
            yield line, name.removeprefix("metspack").removeprefix(".")


def below(name: str, rooms: Collection[str]) -> bool:
    return any(name == room or name.startswith(f"{room}.") for room in rooms)


def words(module: str, line: int, name: str, rule: str) -> str:
    return f"{MODULES[module]}:{line} imports {name}: {rule}"


def reached(module: str) -> dict[str, str]:
    """Return the modules of the project that one leads to, each with its first importer."""
    found: dict[str, str] = {}
    ahead = [module]
    while ahead:
        here = ahead.pop()
        for _line, name in own(here):
            full = f"metspack.{name}" if name else "metspack"
            if full not in found:
                found[full] = here
                ahead.append(full)
    return found


@of_each(sorted(PURE))
def test_pure_modules_import_only_model_errors_and_each_other(module: str) -> None:
    allowed = PURE | {"model", "errors", "limits", "siard.metadata", "siard.offsets"}
    wrong = [
        words(f"metspack.{module}", line, name, "a pure module knows only model, errors and other pure ones")
        for line, name in own(f"metspack.{module}")
        if name not in allowed
    ]
    assert not wrong, "\n".join(wrong)


@of_each(["model", "errors", *sorted(PURE)])
def test_pure_modules_import_nothing_with_effects(module: str) -> None:
    wrong = [
        words(f"metspack.{module}", line, name, "a pure module computes; it opens and reads nothing")
        for line, name in imports(f"metspack.{module}")
        if name.partition(".")[0] in EFFECTS
    ]
    assert not wrong, "\n".join(wrong)


@of_each(sorted(name for name in MODULES if below(name, {"metspack.checking"})))
def test_the_checker_shares_nothing_with_the_builder(module: str) -> None:
    wrong = [
        f"{MODULES[module]} leads to {name} (imported by {through}): a checker that shares code with the "
        "builder shares its faults"
        for name, through in reached(module).items()
        if below(name.removeprefix("metspack."), BUILDERS)
    ]
    assert not wrong, "\n".join(wrong)
