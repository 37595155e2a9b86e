"""Plan, tasks and parents of very many LOBs: bytes and children are made up, all else is the real thing.

``python -m bench.scale FOLDER LOBS [FILES]`` plans so many LOBs into segments of FILES (1,000) files, cuts
the plan into tasks, and writes the METS of the parents; it prints seconds and memory of each stage as JSON.
Nothing is left in the folder.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metspack.building.segments import TaskPlaced
from metspack.building.targets import PARENT_LIMIT, ParentTree, parent_content
from metspack.layouts import lobseg
from metspack.mets.dialects.interface import ChildMets, SegmentSpot, Software
from metspack.mets.dialects.recommendation.dialect import Recommendation
from metspack.model import LONGEST, Limits, LobRun, RunShared
from metspack.planning import assignment, slices
from metspack.planning.assignment import Course, SegmentGroups
from metspack.planning.division import Division
from metspack.planning.sharedlobs import Sharing

_SIZE, _NAME = 1_000, "Archive"
_DIGEST = "0123456789abcdef" * 2


def made_up(lobs: int) -> Iterator[LobRun]:
    """Yield so many LOBs of one column, as a source does."""
    shared = RunShared(
        schema=0, table=0, cell="c1", extension="bin", media_type="image/png", digest="MD5", folders=("lob1",)
    )
    for start in range(0, lobs, LONGEST):
        rows = range(start + 1, min(lobs, start + LONGEST) + 1)
        names = [f"record{row}.bin" for row in rows]
        stamps = [[1_700_000_000] * len(rows), list(rows), [1] * len(rows)]
        yield LobRun(
            shared=shared,
            rows=list(rows),
            files=names,
            sizes=[_SIZE] * len(rows),
            digests=[_DIGEST] * len(rows),
            extents=[names, *stamps],
        )


def planned(lobs: int, files: int, work: Path) -> Course:
    """Plan the LOBs, slice by slice; a slice is removed once it is written, which no build does."""
    done = iter(range(lobs))

    def grown(course: Course) -> None:
        slices.path(work, next(done)).unlink()
        course.digests.setdefault(len(course.segments) - 1, "")

    with Sharing(shares=True) as sharing:
        return assignment.assign(
            made_up(lobs),
            Division(limits=Limits(files=files)),
            work,
            sharing=sharing,
            departs=lambda _: None,
            agreed=lambda _: None,
            grown=grown,
        )


def described(course: Course, package: Path) -> int:
    """Write the METS of the parents of segments that were never placed; returns their bytes."""
    dialect = Recommendation(
        version=None,
        created="2026-01-01T00:00:00Z",
        checksum_type="MD5",
        software=Software(name="metspack", version="bench"),
        agents=(),
        profile="http://SIARD2.0.xml",
        href_style="relative",
    )
    spots, placed = [], []
    for number, (container, index) in enumerate(course.keys):
        folder = lobseg.LAYOUT.segment_folder(_NAME, container, index)
        objid = f"ID_{folder}_mets"
        spots.append(SegmentSpot(number=number, ip=folder, content=folder, index=index, objid=objid))
        child = ChildMets(
            objid=objid,
            folder=folder,
            content=folder,
            size=_SIZE,
            checksum=_DIGEST,
            path=folder,
            mets=f"{folder}/mets.xml",
            files=course.segments[number].files,
            bytes=course.segments[number].bytes,
            digests={"MD5": _DIGEST, "SHA-256": 2 * _DIGEST},
        )
        placed.append(
            TaskPlaced(numbers=(number,), children=(child,), is_split=False, has_digests=False, notes={})
        )
    tree = ParentTree(objid="PARENT", name=_NAME, limit=PARENT_LIMIT)
    further, files = tree.write_further(dialect, package, package, spots, placed)
    own = [each for each in placed if tree.is_of_top(each)]
    content = parent_content(package, spots, own, objid="PARENT", name=_NAME, further=further)
    files |= dialect.write_parent(package, content)
    return sum(each.size for each in files.values())


def peak() -> int:
    """Return the largest memory of this process so far, in MB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))
    return int(found[1]) // 1024 if found else 0


def measured(folder: Path, lobs: int, files: int = 1_000) -> dict[str, Any]:
    """Run all stages; returns their seconds, and the memory after each."""
    work = Path(tempfile.mkdtemp(dir=folder))
    try:
        before, start = peak(), time.perf_counter()
        course = planned(lobs, files, work)
        planning, in_plan = time.perf_counter() - start, peak()
        start = time.perf_counter()
        tasks = sum(1 for _ in SegmentGroups(course, 2))
        cutting, start = time.perf_counter() - start, time.perf_counter()
        size = described(course, work)
        return {
            "lobs": course.lobs,
            "segments": len(course.segments),
            "tasks": tasks,
            "planning": round(planning, 2),
            "cutting": round(cutting, 2),
            "parents": round(time.perf_counter() - start, 2),
            "parent bytes": size,
            "MB": {"before": before, "planned": in_plan, "described": peak()},
        }
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    print(json.dumps(measured(Path(sys.argv[1]), *map(int, sys.argv[2:]))))
