"""Ways to damage a forged package with a split LOB, each with its message."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.packages import forge
from tests.restoring import splitting
from tests.restoring.splitting import LOBS, SPLIT, mets

WHOLE = LOBS[1]
Change = Callable[[Path], object]


@dataclass(frozen=True, kw_only=True)
class Damage:
    """A damage, and a pattern of the sentence that names it; ``late``: only the last byte tells."""

    name: str
    change: Change
    message: str
    late: bool = False


def part(root: Path, number: int) -> Path:
    return root / f"Northwind_lobseg_{number}" / WHOLE.path(number)


def listing(root: Path, *paths: str) -> None:
    """List files in the parent's METS in place of the archive, with their digests."""
    text = (root / "mets.xml").read_text()
    listed = re.search('<mets:file ID="ID_NORTHWIND.SIARD".*?</mets:file>', text, re.DOTALL)
    assert listed is not None
    files = "".join(
        f'<mets:file ID="a{number}" CHECKSUM="{forge.md5((root / path).read_bytes())}" CHECKSUMTYPE="MD5">'
        f'<mets:FLocat xlink:href="{path}"/></mets:file>'
        for number, path in enumerate(paths)
    )
    (root / "mets.xml").write_text(text.replace(listed[0], files))


def in_pieces(root: Path) -> list[str]:
    """Cut the archive into three pieces as SIARD 2.2 S_8.2 has it, and return their names."""
    data = (root / "Northwind.siard").read_bytes()
    (root / "Northwind.siard").unlink()
    names = [f"Northwind.siard_part00{number}" for number in (1, 2, 3)]
    for number, name in enumerate(names):
        (root / name).write_bytes(data[number * 400 : (number + 1) * 400 if number < 2 else None])
    listing(root, *names)
    return names


def without_map(root: Path) -> None:
    text = (root / "mets.xml").read_text()
    (root / "mets.xml").write_text(
        re.sub(r'<mets:structMap [^>]*TYPE="SPLITLOB".*?</mets:structMap>', "", text, flags=re.DOTALL)
    )


def unlisted(*numbers: int) -> Change:
    """Take parts out of the METS of their children, and their files away."""

    def change(root: Path) -> None:
        for number in numbers:
            child = root / mets(number)
            child.write_text(re.sub(rf'<mets:file ID="{SPLIT}.*?</mets:file>', "", child.read_text()))
            part(root, number).unlink()
        splitting.agreed(root)

    return change


DAMAGES = (
    Damage(
        name="part 0 missing",
        change=unlisted(0),
        message=rf"its part {SPLIT}\.p0 is missing: mets\.xml line \d+ expects it in \w+_0_",
    ),
    Damage(
        name="file of part 1 missing",
        change=lambda root: part(root, 1).unlink(),
        message=rf"its part {SPLIT}\.p1, .*record1\.bin\..,? cannot be opened: No such file",
        late=True,
    ),
)
