"""Ledger of checked volumes: which segments were verified when, beyond one check."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from metspack import clock
from metspack.errors import ConfigError, SourceError, TargetError
from metspack.files import journal, writing
from metspack.files.reading import Closable
from metspack.uris import shown
from metspack.volumes.volumelist import VolumeList

_FORM = 1
_HEAD, _VERIFIED, _FAULTY = "ledger of volumes", "verified", "faulty"
_NEW = "Name a new file: a ledger is begun there."


class VolumeLedger(Closable):
    """A file of JSON lines, each with its checksum: a head, then what was verified on which volume and when.

    Locked while it is open. ``times`` are those of the segments that were verified and not found faulty
    since, by their paths; the parent's own files are "".
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._journal: writing.RunJournal | None = None
        self.times: dict[str, str] = {}

    def begin(self, listed: VolumeList, folders: Iterable[Path]) -> None:
        """Read what the file says of a package divided so; it is made if it is not there.

        Raises ``ConfigError`` for a ledger of another package, for what is none, and for a place on a
        volume, ``SourceError`` for a damaged one, ``TargetError`` where it cannot be read or written.
        """
        path = Path(os.path.realpath(self._path))
        if any(path.is_relative_to(folder.resolve()) for folder in folders):
            raise ConfigError(
                f"--ledger {self._path} would lie on a volume", hint="Name a file outside of the volumes."
            )
        if path.is_dir():
            raise ConfigError(f"--ledger {self._path}: is a folder", hint="Name a file.")
        head = {
            "event": _HEAD,
            "form": _FORM,
            "objid": listed.objid,
            "seal": listed.seal.value,
            "division": listed.digest(),
        }
        self._journal = file = writing.RunJournal(path)
        with writing.explained(self._path):
            self._open(file, head)

    def _open(self, file: writing.RunJournal, head: Mapping[str, object]) -> None:
        if file.is_held or not file.is_there():
            raise TargetError(
                f"{self._path} is in use: another check keeps its ledger there",
                hint="Wait until it has ended.",
            )
        size = self._read(file.descriptor, head)
        if not size and os.fstat(file.descriptor).st_size:
            raise self._strange()
        file.cut(size)
        if not size:
            file.record(**head)

    def _strange(self) -> ConfigError:
        return ConfigError(
            f"--ledger {self._path}: the file is not a ledger of volumes, and is left alone", hint=_NEW
        )

    def _read(self, descriptor: int, head: Mapping[str, object]) -> int:
        size = 0
        for number, event, stop in journal.sealed_events(descriptor):
            if number == 1:
                self._check_head(event, head)
            elif event is None:
                raise SourceError(
                    f"{self._path} line {number:,} is damaged: its checksum is not that of the line",
                    hint=f"What it says of segments cannot be relied on. {_NEW}",
                )
            else:
                self._take(event)
            size = stop
        return size

    def _check_head(self, event: Mapping[str, Any] | None, head: Mapping[str, object]) -> None:
        if event is None or event.get("event") != _HEAD:
            raise self._strange()
        for name, what in (
            ("form", "form"),
            ("objid", "OBJID"),
            ("seal", "seal"),
            ("division", "division over volumes"),
        ):
            if event.get(name) != head[name]:
                raise ConfigError(
                    f"--ledger {self._path}: is of other volumes: its {what} is "
                    f"{shown(str(event.get(name)))}, expected {shown(str(head[name]))}",
                    hint=f"Each package, divided once, has a ledger of its own. {_NEW}",
                )

    def _take(self, event: Mapping[str, Any]) -> None:
        if event.get("event") == _VERIFIED:
            self.times[str(event.get("segment"))] = str(event.get("time"))
        else:
            self.times.pop(str(event.get("segment")), None)

    def note(self, volume: int, verified: Iterable[str], faulty: Iterable[str]) -> None:
        """Note what was found of a volume, on disk when this returns."""
        if self._journal is None:
            return
        now = clock.ago(0)
        events = [
            *({"event": _VERIFIED, "volume": volume, "segment": each, "time": now} for each in verified),
            *({"event": _FAULTY, "volume": volume, "segment": each, "time": now} for each in faulty),
        ]
        if events:
            self._journal.record_all(events)
        for each in events:
            self._take(each)

    def close(self) -> None:
        """Close the file."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def __enter__(self) -> Self:
        return self
