"""The packages that are data: what they are, what a check is to find in each, and how recipes make them.

``README.md`` beside this module tells how a case is written.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from metspack.model import Severity
from tests.packages import csip, steps
from tests.packages.forge import forge
from tests.packages.placed import packaged
from tests.packages.samples import PIECES, sample

HERE = Path(__file__).parent
KINDS: Mapping[str, Severity] = {"bad": Severity.ERROR, "warn": Severity.WARNING, "good": Severity.INFO}
"""The folders, by the gravest finding of their cases; cases in ``good`` may lack it."""
_RECIPE = "case.toml"
_PACKAGE = "package"
_NAME = re.compile(r"(?:((?:[A-Z][0-9]{3})(?:-[A-Z][0-9]{3})*)(?:__|$))?([a-z0-9_]*)")
_KEYS = {
    *("about", "level", "mets", "roots", "also", "given", "strict", "profile"),
    *("form", "sample", "into", "lacks", "adds", "steps"),
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A package and the codes that a check of it gives.

    ``roots`` are folders beside it, looked in too; ``also`` other packages beside it that are given with it;
    ``strict`` asks the second schema engine; ``profile`` is that of E-ARK's which is chosen.
    """

    folder: Path
    codes: frozenset[str]
    level: str
    roots: tuple[str, ...]
    also: tuple[str, ...]
    strict: bool
    profile: str
    recipe: Mapping[str, Any]

    @property
    def kind(self) -> str:
        return self.folder.parent.name

    @property
    def code(self) -> str:
        """The code that the case is for, the first in its name."""
        return self.folder.name[:4]

    @property
    def id(self) -> str:
        return f"{self.kind}/{self.folder.name}"

    @property
    def is_of_files(self) -> bool:
        """True if the package is here in the form to check."""
        return (self.folder / _PACKAGE).is_dir()

    def made(self, folder: Path) -> Path:
        """Return the package: where it lies, or made by the recipe in a folder that is there and empty."""
        if self.is_of_files:
            return self.folder / _PACKAGE / str(self.recipe.get("mets", ""))
        root = folder / _PACKAGE
        if "sample" in self.recipe:
            self._packaged(root)
        elif self.recipe.get("form") == "csip":
            return csip.forge(root, self._damage)
        elif self.recipe.get("form") == "csip divided":
            csip.divided(root)
        elif self.recipe.get("form") in {"csip siblings", "csip objid"}:
            return csip.divide(root, self._damage, by_objid=self.recipe["form"] == "csip objid")
        elif "form" in self.recipe:
            shutil.copytree(HERE / "forms" / self.recipe["form"].replace(" ", "_"), root)
        else:
            forge(root)
        self._damage(root)
        return root.with_name(self.recipe.get("given", root.name))

    def _damage(self, root: Path) -> None:
        for step in self.recipe.get("steps", ()):
            steps.taken(root, step)

    def _packaged(self, root: Path) -> None:
        begin = sample(self.recipe["sample"], root)
        outside = {name: data for name, data in begin.outside.items() if name not in self._listed("lacks")}
        outside |= {name: PIECES[piece] for name, piece in self.recipe.get("adds", {}).items()}
        packaged(root, replace(begin, outside=outside), into=self.recipe.get("into", ""))

    def _listed(self, key: str) -> Sequence[str]:
        listed: Sequence[str] = self.recipe.get(key, ())
        return listed


def _case(folder: Path) -> Case:
    recipe = tomllib.loads((folder / _RECIPE).read_text(encoding="utf-8"))
    found = _NAME.fullmatch(folder.name)
    assert found, f"{folder.name} is no name of a case: codes joined by -, then __ and words"
    assert set(recipe) <= _KEYS, f"{folder}: {set(recipe) - _KEYS} means nothing"
    return Case(
        folder=folder,
        codes=frozenset(found[1].split("-") if found[1] else ()),
        level=recipe.get("level", "full"),
        roots=tuple(recipe.get("roots", ())),
        also=tuple(recipe.get("also", ())),
        strict=recipe.get("strict", False),
        profile=recipe.get("profile", "auto"),
        recipe=recipe,
    )


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases, in the order of their names."""
    folders = (path for kind in KINDS for path in (HERE / kind).iterdir() if path.is_dir())
    return tuple(_case(path) for path in sorted(folders))
