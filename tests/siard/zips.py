"""Zip files forged byte by byte, so that a test can make any one of their fields a lie."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from typing import Any

LOCAL = "<IHHHHHIIIHH"
CENTRAL = "<IHHHHHHIIIHHHHHII"
MAX16, MAX32 = 0xFFFF, 0xFFFFFFFF


def deflated(data: bytes) -> bytes:
    """Return a raw deflate stream."""
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    return deflater.compress(data) + deflater.flush()


def zip64_extra(*values: int) -> bytes:
    """Return a ZIP64 extra field of 8-byte values."""
    return struct.pack(f"<HH{len(values)}Q", 1, 8 * len(values), *values)


def unicode_path(raw: bytes, name: str | bytes, version: int = 1) -> bytes:
    """Return an Info-ZIP Unicode Path extra field for a name with ``raw`` bytes in the header."""
    path = name if isinstance(name, bytes) else name.encode()
    return struct.pack("<HHBI", 0x7075, 5 + len(path), version, zlib.crc32(raw)) + path


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry; ``local`` and ``central`` replace fields of its headers by name.

    Fields: signature, made, needed, flags, method, crc, compressed, size, name, extra, comment,
    disk, attributes, offset. ``payload`` is the compressed data when it is not to be right, ``descriptor``
    the bytes after it.
    """

    name: str | bytes
    data: bytes = b""
    method: int = 0
    flags: int = 0
    payload: bytes | None = None
    descriptor: bytes = b""
    local: dict[str, Any] = field(default_factory=dict)
    central: dict[str, Any] = field(default_factory=dict)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of both end records as they should be."""
        return {
            "made": 0x0314,
            "needed": 20,
            "flags": self.flags,
            "method": self.method,
            "crc": zlib.crc32(self.data),
            "compressed": len(self.compressed),
            "size": len(self.data),
            "name": self.name if isinstance(self.name, bytes) else self.name.encode(),
            "extra": b"",
            "comment": b"",
            "disk": 0,
            "attributes": 0,
        }

    @property
    def compressed(self) -> bytes:
        """The bytes between local header and descriptor."""
        if self.payload is not None:
            return self.payload
        return deflated(self.data) if self.method == 8 else self.data


def local_header(entry: Entry) -> bytes:
    """Return an entry's local header."""
    say = {"signature": 0x04034B50, **entry.fields, **entry.local}
    header: bytes = (
        struct.pack(
            LOCAL,
            *(say[key] for key in ("signature", "needed", "flags", "method")),
            0,
            0x21,
            *(say[key] for key in ("crc", "compressed", "size")),
            len(say["name"]),
            len(say["extra"]),
        )
        + say["name"]
        + say["extra"]
    )
    return header


def central_header(entry: Entry, offset: int) -> bytes:
    """Return an entry's central directory record."""
    say = {"signature": 0x02014B50, "offset": offset, **entry.fields, **entry.central}
    header: bytes = (
        struct.pack(
            CENTRAL,
            *(say[key] for key in ("signature", "made", "needed", "flags", "method")),
            0,
            0x21,
            *(say[key] for key in ("crc", "compressed", "size")),
            *(len(say[key]) for key in ("name", "extra", "comment")),
            say["disk"],
            0,
            say["attributes"],
            say["offset"],
        )
        + say["name"]
        + say["extra"]
        + say["comment"]
    )
    return header


def forged(
    *entries: Entry,
    comment: bytes = b"",
    zip64: bool = False,
    end: dict[str, int] | None = None,
    end64: dict[str, int] | None = None,
    locator: dict[str, int] | None = None,
    order: list[int] | None = None,
) -> bytes:
    """Return a zip file with fields of its end records replaced.

    The fields of ``end``, ``end64`` and ``locator`` are: disk, directory_disk, here, entries, length, start,
    comment (its length); signature and size of ``end64``; disk, position and disks of ``locator``. ``order``
    is the central directory's.
    """
    body, offsets = b"", []
    for entry in entries:
        offsets.append(len(body))
        body += local_header(entry) + entry.compressed + entry.descriptor
    directory = b"".join(
        central_header(entries[number], offsets[number]) for number in (order or range(len(entries)))
    )
    stated = {
        "disk": 0,
        "directory_disk": 0,
        "here": len(entries),
        "entries": len(entries),
        "length": len(directory),
        "start": len(body),
    }
    whole = body + directory
    if zip64:
        wide = {"signature": 0x06064B50, "size": 44, **stated, **(end64 or {})}
        place = {"disk": 0, "position": len(whole), "disks": 1, **(locator or {})}
        whole += struct.pack("<IQHHIIQQQQ", wide.pop("signature"), wide.pop("size"), 45, 45, *wide.values())
        whole += struct.pack("<IIQI", 0x07064B50, *place.values())
        stated |= {"here": MAX16, "entries": MAX16, "length": MAX32, "start": MAX32}
    short = {**stated, "comment": len(comment), **(end or {})}
    return whole + struct.pack("<IHHHHIIH", 0x06054B50, *short.values()) + comment
