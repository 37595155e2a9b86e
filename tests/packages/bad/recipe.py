"""What a recipe is."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.packages.forge import forge, seal

CHILD = "Northwind_lobseg_0/mets.xml"
FIRST = "Northwind_lobseg_0/content/schema0/table2/lob4/record0.bin"
SECOND = "Northwind_lobseg_0/content/schema0/table2/lob4/record1.bin"


@dataclass(frozen=True)
class Bad:
    """A damaged package: ``damage`` is done to a good one, and sealed over when ``sealed``.

    ``roots`` are the names of folders beside it that the check may look in as well.
    """

    name: str
    damage: Callable[[Path], object]
    codes: frozenset[str]
    level: str
    sealed: bool
    roots: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        return self.name[:4]

    def made(self, root: Path) -> Path:
        forge(root)
        self.damage(root)
        if self.sealed:
            seal(root)
        return root


def bad(
    name: str,
    damage: Callable[[Path], object],
    *also: str,
    level: str = "full",
    sealed: bool = True,
    roots: tuple[str, ...] = (),
) -> Bad:
    """Return a recipe; ``also`` are the codes that come with the one in the name."""
    return Bad(name, damage, frozenset({name[:4], *also}), level, sealed, roots)
