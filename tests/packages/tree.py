"""A small package with further parents, as ``build`` makes it, to be damaged."""

from __future__ import annotations

from pathlib import Path

import metspack
from tests import siards

CREATED = "2026-01-02T03:04:05Z"


def tree(root: Path, limit: int = 2) -> None:
    """Build the package of five LOBs in a segment each, of which one METS names ``limit`` children."""
    source = root.with_name("Tree")
    folder = source / "content/schema0/table0/lob1"
    folder.mkdir(parents=True)
    for number in range(5):
        folder.joinpath(f"record{number}.bin").write_bytes(b"%d" % number * (number + 1))
    options = metspack.BuildOptions(
        limits=metspack.Limits(files=1), created=CREATED, objid="PARENT", parent_limit=limit
    )
    metspack.build(source, root, options)


def csip_tree(root: Path) -> None:
    """Build such a package of the dialect csip, in which every parent is an IP beside the others."""
    source = siards.siard(root.with_name("Tree.siard"), *(b"%d" % each * (each + 1) for each in range(5)))
    options = metspack.BuildOptions(
        limits=metspack.Limits(files=1), created=CREATED, objid="TREE", parent_limit=2, dialect="csip"
    )
    metspack.build(source, root, options)
    source.unlink()
