"""Plan, tasks and parents of very many LOBs: bytes and children are made up, all else is the real thing.

``python -m bench.scale FOLDER LOBS [FILES]`` plans so many LOBs into segments of FILES (1,000) files, cuts
the plan into tasks, and writes the METS of the parent; it prints seconds and memory of each stage as JSON.
Nothing is left in the folder.

``python -m bench.scale tasks [NUMBER...]`` has one worker of a Dask scheduler do so many tasks (1,000 and
10,000) that come to nothing, as builds and checks give them out; it prints the same of each number.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from metspack import cluster
from metspack.building.parents import Parent, PlacedSegments, SegmentSpots
from metspack.building.segments import SegmentDone, named_child
from metspack.cluster import ClusterExecutor, ClusterPool, RemoteWork
from metspack.layouts import lobseg
from metspack.limits import Limits
from metspack.mets.dialects.interface import Software
from metspack.mets.dialects.recommendation.dialect import Recommendation
from metspack.model import LONGEST, LobRun, RunShared
from metspack.planning import assignment, slices
from metspack.planning.assignment import Assignment, SegmentGroups
from metspack.planning.division import Division
from metspack.planning.sharedlobs import Sharing
from metspack.processes import Moved

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


def planned(lobs: int, files: int, work: Path) -> Assignment:
    """Plan the LOBs, slice by slice; a slice is removed once it is written, which no build does."""
    done = iter(range(lobs))

    def grown(_course: Assignment) -> None:
        slices.path(work, next(done)).unlink()

    with Sharing(shares=True) as sharing:
        return assignment.assign(
            made_up(lobs),
            Division(limits=Limits(files=files)),
            work,
            sharing=sharing,
            record_departure=lambda _: None,
            compare=lambda _: None,
            report_growth=grown,
        )


def described(assigned: Assignment, package: Path) -> int:
    """Write the METS of the parent of segments that were never placed; returns its bytes."""
    dialect = Recommendation(
        version=None,
        created="2026-01-01T00:00:00Z",
        checksum_type="MD5",
        software=Software(name="metspack", version="bench"),
        agents=(),
        profile="http://SIARD2.0.xml",
        href_style="relative",
    )
    spots = SegmentSpots(
        dialect=dialect, layout=lobseg.LAYOUT, keys=assigned.keys, name=_NAME, parent="PARENT"
    )
    placed = PlacedSegments(spots, None)
    for number in range(len(assigned.keys)):
        child = named_child(
            spots.of(number),
            dialect,
            None,
            (_SIZE, 1, _SIZE, _SIZE),
            {"MD5": _DIGEST, "SHA-256": 2 * _DIGEST},
        )
        done = SegmentDone(
            number=number, digest="", files=1, bytes=child.bytes, sizes=(0, 0, 0), child=child, notes={}
        )
        placed.take((done,))
    content = Parent(dialect=dialect, objid="PARENT", name=_NAME).content(package, placed)
    return sum(each.size for each in dialect.write_parent(package, content).values())


def nothing(_task: int, _moved: Moved) -> int:
    """Be a task that comes to nothing."""
    return 0


def scheduled(tasks: int) -> dict[str, Any]:
    """Have a worker do so many tasks; returns the time of each, and the memory of this process in MB.

    The scheduler is a part of it.
    """
    with cluster.connect("local:1") as helpers:
        if helpers is None:
            raise AssertionError("a cluster was named")
        executor = ClusterExecutor(helpers, partial(ClusterPool, helpers, RemoteWork(), ()))
        before, start = peak(), time.perf_counter()
        done = sum(1 for _ in executor.results(nothing, range(tasks), 2, lambda _: None))
        seconds = time.perf_counter() - start
    each = round(1_000 * seconds / max(done, 1), 2)
    return {"tasks": done, "ms each": each, "MB": {"before": before, "done": peak()}}


def peak() -> int:
    """Return the largest memory of this process so far, in MB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))
    return int(found[1]) // 1024 if found else 0


def measured(folder: Path, lobs: int, files: int = 1_000) -> dict[str, Any]:
    """Run all stages; returns their seconds, and the memory after each."""
    work = Path(tempfile.mkdtemp(dir=folder))
    try:
        before, start = peak(), time.perf_counter()
        assigned = planned(lobs, files, work)
        planning, in_plan = time.perf_counter() - start, peak()
        start = time.perf_counter()
        tasks = sum(1 for _ in SegmentGroups(assigned, 2))
        cutting, start = time.perf_counter() - start, time.perf_counter()
        size = described(assigned, work)
        return {
            "lobs": assigned.lobs,
            "segments": assigned.segments,
            "tasks": tasks,
            "planning": round(planning, 2),
            "cutting": round(cutting, 2),
            "parent": round(time.perf_counter() - start, 2),
            "parent bytes": size,
            "MB": {"before": before, "planned": in_plan, "described": peak()},
        }
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    if sys.argv[1] == "tasks":
        for wanted in map(int, sys.argv[2:] or ("1000", "10000")):
            print(json.dumps(scheduled(wanted)), flush=True)
    else:
        print(json.dumps(measured(Path(sys.argv[1]), *map(int, sys.argv[2:]))))
