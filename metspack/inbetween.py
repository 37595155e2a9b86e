"""The state between two: what the journal beside a folder says of files that are being put into it.

``<folder>.partial/journal.jsonl`` is written by ``insertion``; here it is only read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metspack import reading
from metspack.errors import MetspackError

BEGUN = "begun in place"
"""The first event: files are being made that are to be put into the folder."""

PUTTING = "putting"
"""From here on they may be there, each as the event's ``files`` has it: path and SHA-256."""

ALL_PUT = "all put"
"""They are all there: what lies in the folder speaks for itself again."""

TAKEN_BACK = "taken back"
"""None of them is there any more."""

DONE = "done"
"""They stay; the folder beside can go."""

_JOURNAL = "journal.jsonl"
_LINE = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Progressed:
    """How far an insertion came: the last event's name, and the files to be put once it had them.

    ``files`` are paths below the folder, in the order in which they are put, with their SHA-256.
    """

    event: str
    files: tuple[tuple[str, str], ...]


def partial_of(folder: Path) -> Path:
    """Return the folder beside an absolute one in which files for it are made."""
    return folder.with_name(f"{folder.name}.partial")


def journal_of(partial: Path) -> Path:
    """Return the journal in a ``.partial`` folder."""
    return partial / _JOURNAL


def progressed(descriptor: int) -> Progressed | None:
    """Return what an open journal says, None when it is not one of an insertion.

    A line that was not written to its end says nothing.
    """
    event = ""
    files: tuple[tuple[str, str], ...] = ()
    for line in _events(descriptor):
        name = line.get("event")
        if not event and name != BEGUN:
            return None
        if name in {BEGUN, PUTTING, ALL_PUT, TAKEN_BACK, DONE}:
            event = name
        if name == PUTTING:
            files = tuple((str(path), str(digest)) for path, digest in line["files"])
    return Progressed(event=event, files=files) if event else None


def _events(descriptor: int) -> Iterator[dict[str, Any]]:
    with open(reading.opened(descriptor), "rb", closefd=True) as file:
        while line := file.readline(_LINE):
            if not line.endswith(b"\n"):
                return
            try:
                event = json.loads(line)
            except ValueError:
                return
            if not isinstance(event, dict):
                return
            yield event


def interrupted(folder: Path) -> bool:
    """Return whether files are being put into a folder now, or were when the work was stopped.

    What lies in it then is neither the folder as it was nor a package. Never raises.
    """
    try:
        with reading.opening(journal_of(partial_of(folder.resolve()))) as descriptor:
            found = progressed(descriptor)
    except (OSError, MetspackError, KeyError, TypeError, ValueError):
        return False
    return found is not None and found.event == PUTTING
