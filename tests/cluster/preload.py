"""``dask worker --preload``: makes a worker slow, or lets it be what a cluster refuses; notes its attempts.

The variable ``CLUSTER_WORKER`` says how: as JSON, ``notes`` a file that each attempt is a line of, ``slow``
the seconds that each takes longer (``slow_at`` by label), ``version``, ``python`` and ``blind`` what the
worker says of itself.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

from metspack import cluster
from metspack.building import segments


def dask_setup(worker: Any) -> None:
    said = json.loads(os.environ.get("CLUSTER_WORKER", "{}"))
    if "version" in said:
        setattr(cluster, "__version__", said["version"])  # noqa: B010 -- a name that it imports
    if "python" in said:
        cluster._python = lambda: str(said["python"])
    if "blind" in said:
        lexists, stamp = os.path.lexists, cluster._stamp

        def blind_stamp(path: str) -> tuple[int, ...]:
            if path.endswith(said["blind"]):
                raise FileNotFoundError(2, "No such file or directory")
            return stamp(path)

        os.path.lexists = lambda path: said["blind"] not in str(path) and lexists(path)
        cluster._stamp = blind_stamp
    real = segments.place_rest

    def place_rest(task: Any, moved: Any, disk: Any) -> Any:
        descriptor = os.open(said["notes"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(descriptor, f"{worker.name} {task.label}\n".encode())
        os.close(descriptor)
        done = real(task, moved, disk)
        ending = time.monotonic() + said.get("slow_at", {}).get(task.label, said.get("slow", 0))
        while time.monotonic() < ending:
            time.sleep(0.02)
            moved(cluster._REPORTED)
        return done

    segments.place_rest = place_rest
