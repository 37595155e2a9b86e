"""``dask worker --preload``: makes a worker slow, or lets it be what a cluster refuses; notes its attempts.

The variable ``CLUSTER_WORKER`` says how: as JSON, ``notes`` a file that each attempt is a line of, ``slow``
the seconds that each takes longer, ``version`` and ``blind`` what the worker
says of itself; ``dying`` the name of a worker that dies as it is asked. What a file beside the notes
says holds from then on: ``blind`` and ``unreadable``.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from metspack import cluster
from metspack.building import segments
from metspack.files import reading
from metspack.restoring import files


class _Said:
    """What a worker is to be: what the variable says, and by now a file beside the notes."""

    def __init__(self) -> None:
        self.first: dict[str, Any] = json.loads(os.environ.get("CLUSTER_WORKER", "{}"))

    def now(self, name: str) -> Any:
        with suppress(FileNotFoundError):
            return json.loads(Path(f"{self.first['notes']}.said").read_bytes()).get(name)
        return self.first.get(name)


def dask_setup(worker: Any) -> None:
    said = _Said()
    _change_terms(said)
    if said.first.get("dying") == worker.name:
        cluster._worker_fault = lambda *_: os._exit(1)
    _note_placing(worker, said)
    _spoil_reading(worker, said)


def _change_terms(said: _Said) -> None:
    if "version" in said.first:
        setattr(cluster, "__version__", said.first["version"])  # noqa: B010 -- a name that it imports
    lexists, stamp = os.path.lexists, cluster._stamp

    def blind_stamp(path: str) -> tuple[int, ...]:
        if (blind := said.now("blind")) and path.endswith(blind):
            raise FileNotFoundError(2, "No such file or directory")
        return stamp(path)

    if "blind" in said.first:
        os.path.lexists = lambda path: said.first["blind"] not in str(path) and lexists(path)
    cluster._stamp = blind_stamp


def _note(worker: Any, said: _Said, label: str) -> None:
    descriptor = os.open(said.first["notes"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(descriptor, f"{worker.name} {label}\n".encode())
    os.close(descriptor)


def _note_placing(worker: Any, said: _Said) -> None:
    def noted(real: Any, label_of: Any) -> Any:
        def attempt(task: Any, moved: Any, disk: Any) -> Any:
            label = label_of(task)
            _note(worker, said, label)
            done = real(task, moved, disk)
            ending = time.monotonic() + said.first.get("slow", 0)
            while time.monotonic() < ending:
                time.sleep(0.02)
                moved(cluster._REPORTED)
            return done

        return attempt

    segments.place_rest = noted(segments.place_rest, lambda task: task.label)
    files._write_lobs = noted(files._write_lobs, lambda task: f"{task.number}")


def _spoil_reading(worker: Any, said: _Said) -> None:
    reads: Any = reading
    hash_run, small_files, hash_file = reads._hash_run, reads.small_files, reads.hash_file

    def noted_hash_run(run: Any, *given: Any) -> Any:
        _note(worker, said, f"{zlib.crc32(repr((run.folder, run.names)).encode())}")
        time.sleep(said.first.get("slow", 0))
        return hash_run(run, *given)

    def unread_files(root: Any, folder: Any, listed: Any, *more: Any, **named: Any) -> Any:
        if said.now("unreadable"):
            return iter([None] * len(listed))
        return small_files(root, folder, listed, *more, **named)

    def unread_file(*given: Any, **named: Any) -> Any:
        is_away = said.now("unreadable")
        return OSError(5, "Input/output error") if is_away else hash_file(*given, **named)

    reads._hash_run, reads.small_files, reads.hash_file = noted_hash_run, unread_files, unread_file
