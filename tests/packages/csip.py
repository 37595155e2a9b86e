"""A small package of E-ARK CSIP, SIP and CITS SIARD in one IP and in several.

It meets every rule. Its files, in ``forms``, are written by hand as the standards' own examples are, and METS
documents get sizes and digests when they are sealed. It shares no code with metspack on purpose.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from tests.packages.forge import write_manifests

_FORMS = Path(__file__).parent / "forms"
REPRESENTATION = "representations/rep1"
DATA = f"{REPRESENTATION}/data"
ARCHIVE = f"{DATA}/Northwind.siard"
LOB = f"{DATA}/Northwind_lobs/s0_t2_c4/seg_0/t2_c4_r1.bin"
PACKAGE_METS = "METS.xml"
REPRESENTATION_METS = f"{REPRESENTATION}/METS.xml"
PARENT, TOP, CHILDREN = "NW", "top", ("child_0", "child_1")
with zipfile.ZipFile(_FORMS / "csip" / ARCHIVE) as _archive:
    TABLE = _archive.read("content/schema0/table2/table2.xml")


def forge(root: Path, damage: Callable[[Path], object] | None = None) -> Path:
    """Write the package into a new folder, whose name it has as OBJID; return it.

    ``damage`` is done before the METS documents get the digests and sizes of what they name.
    """
    shutil.copytree(_FORMS / "csip", root, dirs_exist_ok=True)
    mets = root / PACKAGE_METS
    mets.write_text(mets.read_text(encoding="utf-8").replace('"package"', f'"{root.name}"'), encoding="utf-8")
    if damage is not None:
        damage(root)
    seal(root)
    return root


def divided(root: Path) -> Path:
    """Write a parent and a child for each part of its split LOB, to be sealed once."""
    return Path(shutil.copytree(_FORMS / "csip_divided", root, dirs_exist_ok=True))


def divide(root: Path, damage: Callable[[Path], object] | None = None, *, by_objid: bool = False) -> Path:
    """Write a parent and two children side by side into a new folder, as an AIP; return it.

    The parent has the archive and its one LOB, each child a file. ``by_objid`` reduces the parent's
    statements on its children to their OBJIDs.
    """
    shutil.copytree(_FORMS / ("csip_objid" if by_objid else "csip_siblings"), root, dirs_exist_ok=True)
    if damage is not None:
        damage(root)
    seal(root)
    write_manifests(root)
    return root


_ENTRY = re.compile(
    r'SIZE="0"( CREATED="[^"]*")? CHECKSUM="0"([^>]*(?:>\s*<FLocat )?[^>]*xlink:href="([^"]*)")'
)


def seal(root: Path) -> None:
    """Write sizes and digests of the files, representations first and the parent last."""
    found = root.rglob("[Mm][Ee][Tt][Ss].xml")
    for mets in sorted(found, key=lambda path: (-len(path.parts), path.parent.name in {PARENT, TOP})):

        def entry(found: re.Match[str], folder: Path = mets.parent) -> str:
            path = folder / unquote(found[3])
            data = path.read_bytes() if path.is_file() else b""
            digest = hashlib.sha256(data).hexdigest()
            return f'SIZE="{len(data)}"{found[1] or ""} CHECKSUM="{digest}"{found[2]}'

        mets.write_text(_ENTRY.sub(entry, mets.read_text(encoding="utf-8")), encoding="utf-8")
    if (root / PARENT).is_dir():
        write_manifests(root)
