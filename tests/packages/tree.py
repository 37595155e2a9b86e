"""A small package with further parents, as ``build`` makes it, to be damaged."""

from __future__ import annotations

from pathlib import Path

import metspack

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
