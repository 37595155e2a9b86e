"""The state between two: what the journal beside a folder says of files that are being put into it.

``<folder>.partial/journal.jsonl`` is written by ``insertion``; here it is only read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

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

ADD_BEGUN = "begun adding"
"""The first event of another kind of journal: an archive's segments are being made, to be added."""

ADDING = "adding"
"""From here on they may be there, and files that they make anew; the event has all of their paths."""

ALL_ADDED = "all added"
"""They are all there: what lies in the package speaks for itself again."""

WITHDRAWING = "withdrawing"
"""From here on they may be gone again."""

ADDED = "added"
"""They stay; the folder beside can go."""

_JOURNAL = "journal.jsonl"
_LINE = 1 << 30
_Told = TypeVar("_Told")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progressed:
    """How far an insertion came: the last event's name, and the files to be put once it had them.

    ``files`` are paths below the folder, in the order in which they are put, with their SHA-256.
    """

    event: str
    files: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adding:
    """How far an addition came: the last event's name, for which job it was, and of which source.

    ``moves`` are paths that were not there before, ``replaces`` files that are made anew; ``made`` is what
    there is to be said once all is done.
    """

    event: str
    job: str
    source: str
    moves: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    made: Mapping[str, Any] = field(default_factory=dict)


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


def adding(descriptor: int) -> Adding | None:
    """Return what an open journal says, None when it is not one of an addition."""
    found: Adding | None = None
    for line in _events(descriptor):
        name = line.get("event")
        if found is None:
            if name != ADD_BEGUN:
                return None
            found = Adding(event=name, job=str(line["job"]), source=str(line["source"]))
        elif name == ADDING:
            found = replace(
                found,
                event=name,
                moves=tuple(map(str, line["moves"])),
                replaces=tuple(map(str, line["replaces"])),
                made=dict(line["made"]),
            )
        elif name in {ALL_ADDED, WITHDRAWING, ADDED}:
            found = replace(found, event=name)
    return found


def _events(descriptor: int) -> Iterator[dict[str, Any]]:
    with open(reading.opened(descriptor), "rb", closefd=True) as file:
        while line := file.readline(_LINE):
            if not line.endswith(b"\n"):
                return
            with suppress(ValueError):  # the rest of a word that a kill cut off
                event = json.loads(line)
                if isinstance(event, dict):
                    yield event


def interrupted(folder: Path) -> bool:
    """Return whether files are being put into a folder now, or were when the work was stopped.

    What lies in it then is neither the folder as it was nor a package. Never raises.
    """
    found = _told(partial_of(folder.resolve()), progressed)
    return found is not None and found.event == PUTTING


def interrupted_adding(folder: Path) -> tuple[str, str]:
    """Return what is being added to a package, or was when that was stopped, and the folder's name beside it.

    What lies in ``folder`` then, the package or one of its IPs, is neither as it was nor as it is to become.
    Two empty names when that is not so. Never raises.
    """
    resolved = folder.resolve()
    for package, within in ((resolved, ""), (resolved.parent, resolved.name)):
        partial = partial_of(package)
        # Beside a folder that holds the package nothing is opened that is not there.
        found = _told(partial, adding) if os.path.lexists(partial) else None
        if found is not None and found.event in {ADDING, WITHDRAWING}:
            changed = {path.partition("/")[0] for path in (*found.moves, *found.replaces)}
            if not within or within in changed:
                return found.source, partial.name
    return "", ""


def command(partial: Path) -> str | None:
    """Return which command the journal in a ``.partial`` folder is of, None without one. Never raises."""
    if (found := _told(partial, adding)) is not None:
        return f"metspack add of {found.source}"
    return None if _told(partial, progressed) is None else "metspack build --keep-segments --in-place"


def _told(partial: Path, reader: Callable[[int], _Told | None]) -> _Told | None:
    try:
        with reading.opening(journal_of(partial)) as descriptor:
            return reader(descriptor)
    except (OSError, MetspackError, KeyError, TypeError, ValueError):
        return None
