"""A target in a store: a package made on disk is sent file by file, and published as a whole.

The object ``metspack-unfinished.json`` marks the prefix of an unfinished package until all files are there.
"""

from __future__ import annotations

import hashlib
import json
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from metspack.errors import StoreError, TargetError, TargetExistsError
from metspack.files import mirrors, reading, walking, writing
from metspack.files.journal import run_events
from metspack.files.mirrors import UNFINISHED, StorePath
from metspack.files.paths import names_of
from metspack.stores import client, ranges
from metspack.stores.client import PART, StoredObject
from metspack.stores.ranges import BLOCK
from metspack.system import os

_WAITS = (0, 0.5, 1, 2, 4, 8)
"""The seconds before each of the listings until all sent objects are there."""


class StoreTarget:
    """A package's prefix in a store, and the folder on disk in which the package is made.

    ``local`` is the path of the package in that folder. Raises ``TargetExistsError`` for a prefix that is not
    empty, unless an unfinished package is in it, and ``StoreError``.
    """

    def __init__(self, target: StorePath) -> None:
        self._target = target
        self.shown = str(target)
        scheme, self._bucket, *names = target.parts
        if not names:
            raise TargetExistsError(
                f"{target} is a whole bucket; expected the prefix of a package",
                hint=f"Name a prefix in it: {target}/NAME.",
            )
        self._prefix = "/".join(names)
        self._mark_key = f"{self._prefix}/{UNFINISHED}"
        self._store = client.store(scheme.rstrip(":"), self._bucket)
        objects, folders = self._store.level(self._prefix)
        with suppress(FileNotFoundError):
            self._store.head(self._prefix)
            raise TargetExistsError(f"{target} is an object already", hint="Choose another prefix.")
        if (objects or folders) and self._mark_key not in {each.key for each in objects}:
            raise TargetExistsError(
                f"{target} is not empty",
                hint="Choose another prefix, or remove what is there: nothing is overwritten.",
            )
        self._folder = Path(mirrors.make_working_folder(self.shown))
        self.local = self._folder / names[-1]
        self._log = self._folder / "sent.jsonl"
        self._sent: dict[str, tuple[int, int]] = {}
        self._is_begun = False

    def begin(self, facts: Mapping[str, Any], package: Path, *, is_resumed: bool, restarts: bool) -> None:
        """Mark the prefix as unfinished; with ``restarts`` remove the objects of an earlier run.

        ``facts`` decide the bytes of the package; the mark has their digest. A file on disk that a killed run
        emptied in part is repaired. Raises ``TargetExistsError`` for a mark of other facts, unless
        ``restarts``.
        """
        canonical = json.dumps(facts, sort_keys=True).encode(errors="surrogateescape")
        words = {"metspack": "unfinished", "facts": hashlib.sha256(canonical).hexdigest()}
        mark = f"{json.dumps(words)}\n".encode()
        there = self._mark()
        if there not in {None, mark} and not restarts:
            raise TargetExistsError(
                f"{self.shown} holds an unfinished package of another source or other options",
                hint="Run that command again to finish it, choose another prefix, or start over: "
                "--restart removes what is there.",
            )
        if there != mark:
            self._store.put(self._mark_key, (mark,), len(mark))
        if there is not None and restarts:
            self._remove_others({UNFINISHED})
        self._is_begun = True
        if not is_resumed:
            writing.remove(self._log)
        with closing(writing.RunJournal(self._log)) as log:
            noted = run_events(log.descriptor)
            log.cut(noted.size)  # the next event begins a line
        writing.sync_directory(self._folder)
        for event in noted.events:
            self._sent |= {path: (size, modified) for path, size, modified in event["sent"]}
        for path, stamp in self._sent.items():
            with writing.explained(package), suppress(FileNotFoundError):
                found = os.lstat(package / path)
                if _is_emptied(found) and (found.st_size, found.st_mtime_ns) != stamp:
                    mirrors.empty(package / path, *stamp)

    def _mark(self) -> bytes | None:
        """Return the content of the mark, or None without one."""
        with suppress(FileNotFoundError):
            found = self._store.head(self._mark_key)
            return self._store.read(found, 0, found.size)
        return None

    def send(self, package: Path, paths: Iterable[str], *, empties: bool) -> None:
        """Send those of the package's files that the store lacks, and record them as sent.

        With ``empties`` their bytes on disk are freed; each file keeps its size and its time of change.
        Raises ``StoreError`` and ``TargetError``.
        """

        def put(task: tuple[str, os.stat_result]) -> tuple[str, os.stat_result]:
            path, found = task
            try:
                with reading.opening(package, path.split("/")) as descriptor:
                    self._store.put(f"{self._prefix}/{path}", reading.chunks(descriptor), found.st_size)
            except OSError as error:
                error.filename = os.fspath(package / path)  # in place of one of the folders above
                raise
            return task

        waiting = [(path, found) for path in paths if (found := self._unsent(package, path)) is not None]
        small = [task for task in waiting if task[1].st_size <= PART]
        # The client sends the parts of a large one in parallel.
        large = [task for task in waiting if task[1].st_size > PART]
        done = [*ranges.in_flight(put, small), *map(put, large)]
        if not done:
            return
        noted = [(path, found.st_size, found.st_mtime_ns) for path, found in done]
        writing.record_event(self._log, {"event": "sent", "sent": noted})
        self._sent |= {path: (size, modified) for path, size, modified in noted}
        if empties:  # only once the log on disk lists them as sent
            with writing.explained(package):
                for path, *stamp in noted:
                    mirrors.empty(package / path, *stamp)

    def _unsent(self, package: Path, path: str) -> os.stat_result | None:
        found = os.lstat(package / path)
        if self._sent.get(path) == (found.st_size, found.st_mtime_ns):
            return None
        if _is_emptied(found):
            raise TargetError(
                f"{package / path} was put into the store by an earlier run, and the record of that is lost",
                hint="Start over: --restart.",
            )
        return found

    def finish(self, package: Path, last: Collection[str], verify: Mapping[str, str] | None) -> None:
        """Send all remaining files, those in ``last`` after the others, and publish the package.

        Before ``last`` the store's listing is compared with the files sent, and with ``verify`` each object
        is read and compared with its SHA-256. Raises ``StoreError``; the prefix then stays unfinished.
        """
        everything = list(files_below(package))
        self.send(package, (path for path in everything if path not in last), empties=False)
        expected = {path: os.lstat(package / path).st_size for path in everything if path not in last}
        listed = self._await_listing(expected)
        if verify is not None:
            self._verify(listed, verify)
        self.send(package, sorted(last), empties=False)
        self._await_listing({path: os.lstat(package / path).st_size for path in everything})
        self._store.remove(self._mark_key)
        mirrors.relist(self._target)

    def _await_listing(self, expected: Mapping[str, int]) -> dict[str, StoredObject]:
        """Wait until all sent objects are listed, remove all others, and return the listing."""
        missing = [""]
        for wait in _WAITS:
            time.sleep(wait)
            listed = dict(self._listed())
            missing = [
                path for path, size in expected.items() if path not in listed or listed[path].size != size
            ]
            if not missing:
                self._remove_others({*expected, UNFINISHED})
                return listed
        raise StoreError(
            f"{self.shown}: the store does not list {len(missing):,} of {len(expected):,} objects that were "
            f"put, such as {missing[0]}",
            hint="It lists late, or something else removes objects there. Nothing was published: run the "
            "same command again.",
        )

    def _remove_others(self, kept: Collection[str]) -> None:
        """Remove all objects below the prefix except those ``kept``."""
        for path, each in list(self._listed()):
            if path not in kept:
                self._store.remove(each.key)

    def _listed(self) -> Iterator[tuple[str, StoredObject]]:
        """Yield the objects below the prefix, each with its path from there."""
        for each in self._store.below(self._prefix):
            yield each.key[len(self._prefix) + 1 :], each

    def _verify(self, listed: Mapping[str, StoredObject], digests: Mapping[str, str]) -> None:
        def compare(path: str) -> str:
            found, hasher = listed[path], hashlib.sha256()
            for start in range(0, found.size, BLOCK):
                hasher.update(self._store.read(found, start, start + BLOCK))
            return "" if hasher.hexdigest() == digests[path] else path

        for wrong in ranges.in_flight(compare, [path for path in digests if path in listed]):
            if wrong:
                raise StoreError(
                    f"{self.shown}/{wrong}: the store does not give back the bytes that were put",
                    hint="Nothing was published. Look at the store; --restart puts everything anew.",
                )

    def close(self) -> None:
        """Remove the folder on disk in which the package was made."""
        writing.remove(self._folder)

    def abandon(self) -> None:
        """Remove the sent objects, the mark last, and the folder on disk; a finished package stays."""
        if self._is_begun and self._mark() is not None:
            self._remove_others({UNFINISHED})
            self._store.remove(self._mark_key)
        self.close()


def _is_emptied(found: os.stat_result) -> bool:
    return stat.S_IMODE(found.st_mode) == mirrors.EMPTIED


def files_below(package: Path, folder: str = "") -> Iterator[str]:
    """Yield the paths in a package of all files below one of its folders."""
    for lot in walking.checked_lots(package, names_of(os.fsencode(folder))):
        for name in lot.names:
            yield os.fsdecode(lot.prefix + name)
