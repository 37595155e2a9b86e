"""Ways to damage a forged package with a split LOB, each with what is said of it."""

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
_FILE = f'<mets:file ID="{SPLIT}.p1" GROUPID="{SPLIT}" SEQ="1"'


@dataclass(frozen=True, kw_only=True)
class Damage:
    """A damage, and a pattern of the sentence that names it; ``late``: only the last byte tells."""

    name: str
    change: Change
    said: str
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


def edited(where: str, old: str, new: str) -> Change:
    return lambda root: splitting.edit(root / where, old, new)


def together(*changes: Change) -> Change:
    def change(root: Path) -> None:
        for each in changes:
            each(root)

    return change


def _swapped(root: Path) -> None:
    one, other = part(root, 0), part(root, 1)
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)


def _another_whole(root: Path) -> None:
    splitting.edit(root / "mets.xml", forge.md5(WHOLE.data), forge.md5(b"?"))


def _doubled(root: Path) -> None:
    """List a part twice: SEQ 1 and 01, record1.bin.1 and record1.bin.01."""
    child = root / mets(1)
    text = child.read_text()
    found = re.search(rf'<mets:file ID="{SPLIT}\.p1".*?</mets:file>', text)
    assert found is not None
    again = found[0].replace('SEQ="1"', 'SEQ="01"').replace("bin.1", "bin.01").replace(".p1", ".p01")
    child.write_text(text.replace(found[0], found[0] + again))
    splitting.agreed(root)
    path = part(root, 1)
    path.with_name("record1.bin.01").write_bytes(path.read_bytes())


DAMAGES = (
    *(
        Damage(
            name=f"part {number} missing",
            change=unlisted(number),
            said=rf"its part {SPLIT}\.p{number} is missing: mets\.xml line \d+ expects it in \w+_{number}_",
        )
        for number in range(3)
    ),
    *(
        Damage(
            name=f"file of part {number} missing",
            change=lambda root, number=number: part(root, number).unlink(),  # type: ignore[misc]
            said=rf"its part {SPLIT}\.p{number}, .*record1\.bin\..,? cannot be opened: No such file",
            late=number > 0,
        )
        for number in range(3)
    ),
    Damage(
        name="all parts missing",
        change=unlisted(0, 1, 2),
        said=rf"all its parts are missing, {SPLIT}\.p0, which mets\.xml line \d+ expects",
    ),
    Damage(
        name=".z missing",
        change=together(without_map, unlisted(2)),
        said=r"its last part, \.z, is missing; found 'record1\.bin\.1'",
    ),
    Damage(
        name="gap",
        change=together(without_map, unlisted(1)),
        said=r"its part 1 is missing: expected it after .*\.p0 .*; found .*\.p2 with SEQ 2",
    ),
    Damage(
        name=".1 and .01",
        change=together(without_map, _doubled),
        said=r"a part is listed twice: .*\.p1 with SEQ 1 .*bin\.1, .* and .*\.p01 with SEQ 01 .*bin\.01, ",
    ),
    Damage(
        name="part and whole",
        change=edited(mets(1), _FILE, f'<mets:file ID="{SPLIT}"'),
        said=r"it is listed whole, .*record1\.bin\.1 .*, and in parts: its part .*\.p0",
    ),
    Damage(
        name="out of order by size",
        change=_swapped,
        said=r"its part .*\.p0, .* has 21 bytes; expected 16 \(Northwind_lobseg_0/mets\.xml line \d+\)",
    ),
    Damage(
        name="out of order by SEQ",
        change=together(edited(mets(0), 'SEQ="0"', 'SEQ="1"'), edited(mets(1), 'SEQ="1"', 'SEQ="0"')),
        said=r"part 0 by SEQ is .*\.p1 .*, but by the parent's map .*\.p0",
    ),
    Damage(
        name="sum wrong",
        change=edited("mets.xml", f'ID="{SPLIT}" MIMETYPE="image/png" SIZE="46"', f'ID="{SPLIT}" SIZE="47"'),
        said=r"its 3 parts \(.*\) have 46 bytes; expected 47 \(mets\.xml line \d+\)",
    ),
    Damage(
        name="part changed",
        change=lambda root: part(root, 1).write_bytes(b"#" * 21),
        said=r"LOB s0\.t2\.c4\.r2: its part .*\.p1, .* has the MD5 \w{32}, but METS says \w{32}",
        late=True,
    ),
    Damage(
        name="parts right and whole wrong",
        change=_another_whole,
        said=r"the whole \(mets\.xml line \d+\) has the MD5 \w{32}, but METS says \w{32}",
        late=True,
    ),
)
