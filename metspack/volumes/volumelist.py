"""List of what lies on which volume: the same on each, a line of JSON for each segment."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from metspack.digests import Seal
from metspack.errors import PlanError, SourceError
from metspack.files import journal, reading
from metspack.sizes import counted
from metspack.uris import shown
from metspack.values import dataclass, regex
from metspack.volumes.contents import HeldFiles, PackageContents, RepeatedFile, seal_of

FORM = 1
"""The form of the list, which another version may change."""

_NAME = regex(r"volume_([1-9][0-9]{0,8})_of_([1-9][0-9]{0,8})\.jsonl")
_LONGEST = 1 << 20  # bytes of a line
_MOST_BYTES = 1 << 28  # of the list, which is held: there is room for more than a million segments
_DIGITS = 19  # of a volume's size
_SHOWN = 3
_HEAD, _FILE, _PARENT, _SEGMENT = "volumes", "file", "parent", "segment"


class ListDamaged(SourceError):  # noqa: N818 -- the state of the list
    """A list of volumes that is not as it was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeList:
    """What lies on which volume: the package, what is on every volume, and the segments of each.

    The parent's other files are on the first. ``volumes`` are the segments of each, in their order.
    """

    name: str
    objid: str
    volume_size: int
    everywhere: tuple[RepeatedFile, ...]
    parent: HeldFiles
    volumes: tuple[tuple[HeldFiles, ...], ...]

    @property
    def seal(self) -> Seal:
        """The package's seal."""
        return seal_of(self.everywhere)

    @property
    def count(self) -> int:
        """The number of segments."""
        return sum(map(len, self.volumes))

    def file_name(self, number: int) -> str:
        """Return the name that the list has on a volume."""
        return f"volume_{number}_of_{len(self.volumes)}.jsonl"

    def folder_name(self, number: int) -> str:
        """Return the name of a volume's folder."""
        return f"{self.name}_volume_{number}"

    def amounts(self) -> list[tuple[int, int]]:
        """Return the files on each volume and their bytes, with the list."""
        files, size = len(self.everywhere) + 1, sum(each.bytes for each in self.everywhere)
        size += len(self.document())
        own = (self.parent, *(HeldFiles(path="", files=0, bytes=0) for _ in self.volumes[1:]))
        return [
            (
                files + rest.files + sum(each.files for each in segments),
                size + rest.bytes + sum(each.bytes for each in segments),
            )
            for rest, segments in zip(own, self.volumes, strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the list as data for JSON."""
        return {
            "name": self.name,
            "objid": self.objid,
            "seal": self.seal.value,
            "volume_size": self.volume_size,
            "segments": self.count,
            "everywhere": [{"path": each.path, "bytes": each.bytes} for each in self.everywhere],
            "parent": {"files": self.parent.files, "bytes": self.parent.bytes},
            "volumes": [
                {
                    "volume": number,
                    "files": files,
                    "bytes": size,
                    "segments": [
                        {"path": each.path, "files": each.files, "bytes": each.bytes} for each in segments
                    ],
                }
                for number, (segments, (files, size)) in enumerate(
                    zip(self.volumes, self.amounts(), strict=True), 1
                )
            ],
        }

    def document(self) -> bytes:
        """Return the list as it is written: lines of JSON, each with its checksum."""
        return "".join(f"{each}\n" for each in self._lines()).encode()

    def digest(self) -> str:
        """Return the SHA-256 of the list, which tells one writing from another."""
        return hashlib.sha256(self.document()).hexdigest()

    def _lines(self) -> Iterator[str]:
        yield journal.sealed(
            {
                "type": _HEAD,
                "form": FORM,
                "name": self.name,
                "objid": self.objid,
                "seal": self.seal.value,
                "volume_size": self.volume_size,
                "volumes": len(self.volumes),
                "segments": self.count,
            }
        )
        for each in self.everywhere:
            facts = {"path": each.path, "bytes": each.bytes, "sha256": each.sha256}
            yield journal.sealed({"type": _FILE, "volume": "every", **facts})
        own = {"files": self.parent.files, "bytes": self.parent.bytes}
        yield journal.sealed({"type": _PARENT, "volume": 1, **own})
        for number, segments in enumerate(self.volumes, 1):
            for held in segments:
                facts = {"path": held.path, "files": held.files, "bytes": held.bytes}
                yield journal.sealed({"type": _SEGMENT, "volume": number, **facts})


def divide(contents: PackageContents, volume_size: int) -> VolumeList:
    """Divide a package over volumes: whole segments in their order, each volume filled before the next.

    A volume closes when the next segment would exceed its size. Raises ``PlanError`` for what no volume can
    hold.
    """
    whole = VolumeList(
        name=contents.name,
        objid=contents.objid,
        volume_size=volume_size,
        everywhere=contents.everywhere,
        parent=contents.parent,
        volumes=(contents.segments,),
    )
    repeated = sum(each.bytes for each in contents.everywhere) + _most_of_list(whole)
    first = repeated + contents.parent.bytes
    least = max(first, *(repeated + each.bytes for each in contents.segments), 0)
    if first > volume_size:
        raise PlanError(
            f"the parent's own files, METS, manifests and the list need {counted(first, 'byte')}, "
            f"a volume has {volume_size:,}",
            hint=f"They lie on the first volume together: --volume-size {least} at least.",
        )
    odd = [each for each in contents.segments if repeated + each.bytes > volume_size]
    if odd:
        named = ", ".join(f"{shown(each.path)} ({counted(each.bytes, 'byte')})" for each in odd[:_SHOWN])
        words = "a segment fits" if len(odd) == 1 else f"{len(odd):,} segments fit"
        raise PlanError(
            f"{words} on no volume of {volume_size:,} bytes: {named}",
            hint=f"Segments stay whole: --volume-size {least} at least, with METS, manifests and the list; "
            "or metspack convert --max-bytes makes smaller segments.",
        )
    volumes: list[list[HeldFiles]] = [[]]
    used = first
    for each in contents.segments:
        if used + each.bytes > volume_size:
            volumes.append([])
            used = repeated
        volumes[-1].append(each)
        used += each.bytes
    return VolumeList(
        name=whole.name,
        objid=whole.objid,
        volume_size=volume_size,
        everywhere=whole.everywhere,
        parent=whole.parent,
        volumes=tuple(map(tuple, volumes)),
    )


def _most_of_list(whole: VolumeList) -> int:
    """Return the most bytes that the list can have, however many volumes there are and however large."""
    of_numbers = (len(str(whole.count + 1)) - 1) * (whole.count + 1)
    return len(whole.document()) + of_numbers + _DIGITS - len(str(whole.volume_size))


def find_list(folder: Path) -> tuple[int, Path]:
    """Return the number of the volume in a folder, and the path of its list; raises ``SourceError``."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise SourceError(
            f"{folder} cannot be read: {error.strerror or error}",
            hint="Name the folders of volumes: NAME_volume_1, or where such a medium is mounted.",
        ) from error
    found = [(int(match[1]), folder / name) for name in names if (match := _NAME.fullmatch(name)) is not None]
    if not found:
        raise SourceError(
            f"{folder} is not a volume: it has no list, such as volume_1_of_3.jsonl",
            hint="Name the folders of volumes that metspack volumes write made: NAME_volume_1.",
        )
    if len(found) > 1:
        raise SourceError(
            f"{folder} holds several volumes: {found[0][1].name}, {found[1][1].name}",
            hint="Volumes that were put together are a package again: metspack check takes the folder beside "
            "the lists.",
        )
    return found[0]


def read_list(path: Path) -> VolumeList:
    """Read a list; raises ``ListDamaged`` where it is not as it was written, ``SourceError`` otherwise."""
    events = list[dict[str, Any]]()
    try:
        with reading.opening(path) as descriptor:
            size = os.fstat(descriptor).st_size
            if size > _MOST_BYTES:
                raise ListDamaged(f"has {size:,} bytes, expected at most {_MOST_BYTES:,}")
            for number, event, _ in journal.sealed_events(descriptor, _LONGEST):
                if event is None:
                    raise ListDamaged(f"has line {number:,} without its checksum")
                events.append(event)
    except OSError as error:
        raise ListDamaged(f"cannot be read: {error.strerror or error}") from error
    if events and events[0].get("type") == _HEAD and events[0].get("form") != FORM:
        raise SourceError(
            f"{path} is of form {events[0].get('form')}, expected {FORM}",
            hint="Another version of metspack wrote it; use that one.",
        )
    try:
        found = _list_of(events)
    except (KeyError, TypeError, ValueError, IndexError):
        raise ListDamaged("has lines that no list of volumes has") from None
    if len(found.document()) != size:
        raise ListDamaged("has lost lines, or has lines too many")
    return found


def _list_of(events: Sequence[dict[str, Any]]) -> VolumeList:
    """Return the list of lines; raises ``KeyError``, ``TypeError`` or ``ValueError`` for another form."""
    head, *rest = events
    everywhere, volumes = [], [list[HeldFiles]() for _ in range(min(int(head["volumes"]), len(rest) + 1))]
    parent = HeldFiles(path="", files=0, bytes=0)
    for each in rest:
        kind, octets = each["type"], int(each["bytes"])
        if kind == _FILE:
            file = RepeatedFile(path=_checked(str(each["path"])), bytes=octets, sha256=str(each["sha256"]))
            everywhere.append(file)
        elif kind == _PARENT:
            parent = HeldFiles(path="", files=int(each["files"]), bytes=octets)
        elif kind == _SEGMENT and each["volume"] > 0:
            held = HeldFiles(path=_checked(str(each["path"])), files=int(each["files"]), bytes=octets)
            volumes[each["volume"] - 1].append(held)
        else:
            raise ValueError(kind)
    name = _checked(str(head["name"]))
    found = VolumeList(
        name=name,
        objid=str(head["objid"]),
        volume_size=int(head["volume_size"]),
        everywhere=tuple(everywhere),
        parent=parent,
        volumes=tuple(map(tuple, volumes)),
    )
    if found.seal.value != head["seal"] or found.count != head["segments"]:
        raise ValueError(head)
    return found


def _checked(path: str) -> str:
    """Return a path that leads nowhere else; raises ValueError for another."""
    if "\0" in path or not {"", ".", ".."}.isdisjoint(path.split("/")):
        raise ValueError(path)
    return path
