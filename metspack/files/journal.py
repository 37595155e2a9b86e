"""The journal of a transaction on a folder: its command, its changes, and its last step; read only.

``<folder>.partial/journal.jsonl`` is written by ``files.transaction``; here it is only read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from metspack.errors import SourceError
from metspack.files import reading

ADD = "metspack add"
IN_PLACE = "metspack build --keep-segments --in-place"

BEGUN = "begun"
"""The first event, with the command: the new files are being made beside the folder."""

PUTTING = "putting"
"""From here on the folder may have changed; the event lists all changes."""

ALL_PUT = "all put"
"""All changes are made: the folder is complete again."""

TAKING_BACK = "taking back"
"""From here on the changes may be undone."""

DONE = "done"
"""The changes stay; the folder beside can be removed."""

_NAME = "journal.jsonl"
_LINE = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderChanges:
    """The changes to a folder, as paths below it, in the order in which they are made.

    ``moves`` are new files and folders that are renamed into it, ``puts`` new files with their SHA-256,
    ``replaces`` files of its own that are replaced.
    """

    moves: tuple[str, ...] = ()
    puts: tuple[tuple[str, str], ...] = ()
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """The state of a transaction: its last event, its command, its job and its source.

    ``made`` is the command's result, for the report once all is done.
    """

    event: str
    command: str
    job: str
    source: str
    changes: FolderChanges = field(default_factory=FolderChanges)
    made: Mapping[str, Any] = field(default_factory=dict)

    @property
    def named(self) -> str:
        """The command with its source, for messages."""
        return f"{self.command} of {self.source}" if self.source else self.command


def partial_of(folder: Path) -> Path:
    """Return the ``.partial`` folder beside an absolute one, in which files for it are made."""
    return folder.parent / f"{folder.name}.partial"


def journal_of(partial: Path) -> Path:
    """Return the journal in a ``.partial`` folder."""
    return partial / _NAME


def recovery(descriptor: int) -> Recovery | None:
    """Return the state that an open journal records, None when it is not a transaction's.

    A last line that was not written to its end is ignored.
    """
    found: Recovery | None = None
    try:
        for line in _events(descriptor):
            name = line.get("event")
            if found is None:
                if name != BEGUN:
                    return None
                command, job, source = (str(line[word]) for word in ("command", "job", "source"))
                found = Recovery(event=BEGUN, command=command, job=job, source=source)
            elif name == PUTTING:
                changes = FolderChanges(
                    moves=tuple(map(str, line["moves"])),
                    puts=tuple((str(path), str(digest)) for path, digest in line["puts"]),
                    replaces=tuple(map(str, line["replaces"])),
                )
                found = replace(found, event=name, changes=changes, made=dict(line["made"]))
            elif name in {ALL_PUT, TAKING_BACK, DONE}:
                found = replace(found, event=name)
    except (KeyError, TypeError, ValueError):
        return None
    return found


def _events(descriptor: int) -> Iterator[dict[str, Any]]:
    with open(reading.opened(descriptor), "rb", closefd=True) as file:
        while line := file.readline(_LINE):
            if not line.endswith(b"\n"):
                return
            with suppress(ValueError, RecursionError):  # the rest of a word that a kill cut off
                event = json.loads(line)
                if isinstance(event, dict):
                    yield event


def interrupted(folder: Path) -> tuple[Recovery, str] | None:
    """Return the transaction that is changing a folder or was interrupted, and the name of its ``.partial``.

    The folder, a package or one of its IPs, is then neither as it was nor as it is to become.
    None when there is no such transaction. Never raises.
    """
    resolved = folder.resolve()
    for package, within in ((resolved, ""), (resolved.parent, resolved.name)):
        partial = partial_of(package)
        # Beside a folder that holds the package nothing is opened that is not there.
        found = _read(partial) if os.path.lexists(partial) else None
        if found is not None and found.event in {PUTTING, TAKING_BACK}:
            changes = found.changes
            if not within or within in {
                path.partition("/")[0] for path in (*changes.moves, *changes.replaces)
            }:
                return found, partial.name
    return None


def _read(partial: Path) -> Recovery | None:
    try:
        with reading.opening(journal_of(partial)) as descriptor:
            return recovery(descriptor)
    except (OSError, SourceError):
        return None
