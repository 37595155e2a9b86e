"""Read the directories of tar files: POSIX ustar and pax, and GNU long names.

Members are read in place and never extracted. Ambiguous files (a name twice, a name that leads out of its
folder) are refused, as by the zip reader.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from metspack.containers.zipformat import PLAIN, folder_of_all
from metspack.errors import SourceError
from metspack.files import tempdb
from metspack.files.byteranges import FileBelow, Medium
from metspack.limits import Budgets
from metspack.model import ZipExtent
from metspack.system import os

_BLOCK = 512
_LONGEST = 1 << 20  # the most bytes of a pax header or a GNU long name
_KINDS = {b"1": "l", b"2": "l", b"3": "s", b"4": "s", b"5": "d", b"6": "s", b"D": "d"}
"""The kinds of members by type flag (D: a folder of an incremental backup); others are files."""
_GLOBAL, _LONG_NAME = b"g", b"L"
_EXTENDED = {b"x", b"X", _GLOBAL, _LONG_NAME}
_IGNORED = {b"A", b"K", b"V"}  # an ACL of Solaris, a link's long target, the label of a GNU tar
_SPARSE = "has a sparse member, whose bytes are not all there: unpack it with GNU tar and take the folder"
_VOLUME = "begins with the rest of a member: it is one of several volumes; unpack them together (tar -xM)"
_IN_PART = {b"S": _SPARSE, b"M": _VOLUME}
_OCTAL = re.compile(rb"[ \0]*([0-7]*)[ \0]*")
_RECORD = re.compile(rb"([0-9]{1,7}) ")
_TABLE = "CREATE TABLE member (name BLOB PRIMARY KEY, kind TEXT, offset INTEGER, size INTEGER) WITHOUT ROWID"
_HINT = "Get the file again from another copy, or unpack it with a tool that you trust."


class Member(NamedTuple):
    """A member: ``kind`` is f (file), d (folder, its name ends with ``/``), l (link), s (special)."""

    name: bytes
    kind: str
    offset: int
    size: int


class Tar(tempdb.Scratch):
    """A tar file opened for reading; a context manager.

    Its directory is in a temporary database on disk. Raises SourceError for another kind of file, and for a
    damaged, truncated or misleading one, and OSError.
    """

    __slots__ = ("_end", "_holes", "medium", "what")

    def __init__(self, path: FileBelow, budgets: Budgets) -> None:
        self.what = str(path)
        self.medium = Medium((path,))
        self._holes, self._end = budgets.holes, 0
        super().__init__(_TABLE, "BEGIN")
        try:
            for number, member in enumerate(self._members()):
                self._put(member, number, budgets.entries)
        except BaseException:
            self.close()
            raise

    def _put(self, member: Member, number: int, most: int) -> None:
        if number >= most:
            raise self._refusal(f"has more than {most:,} members")
        try:
            self._database.execute("INSERT INTO member VALUES (?, ?, ?, ?)", member)
        except sqlite3.IntegrityError:
            if member.kind != "d":
                raise self._refusal(f"has the member {_shown(member.name)} twice") from None

    @property
    def top(self) -> str:
        """The one folder that holds all members, or "" without one."""
        sql = "SELECT (SELECT min(name) FROM member), (SELECT max(name) FROM member)"  # each by the index
        names = self._database.execute(sql).fetchone()
        return folder_of_all(*(os.fsdecode(each or b"") for each in names))

    def extent(self, name: str) -> ZipExtent | None:
        """Return the extent of the file of exactly that name, or None without one."""
        row = self.row("SELECT offset, size FROM member WHERE name = ? AND kind = 'f'", os.fsencode(name))
        if row is None:
            return None
        offset, size = row
        return ZipExtent(
            name=name,
            offset=offset,
            limit=offset + size,
            compressed=size,
            size=size,
            crc=0,
            method=PLAIN,
            flags=0,
        )

    def members(self, prefix: bytes = b"") -> Iterator[Member]:
        """Yield the members whose names begin with ``prefix``, sorted as bytes."""
        sql = "SELECT name, kind, offset, size FROM member WHERE name >= ? AND name < ? ORDER BY name"
        for row in self._database.execute(sql, (prefix, prefix + b"\xff")):
            yield Member(*row)

    def stray(self) -> str:
        """Return words on a missing end, or on bytes after the end, or "" for a usual end.

        One block of zeros is an end: no program writes one between members.
        """
        if self.medium.pread(_BLOCK, self._end) != bytes(_BLOCK):
            at = min(self._end, self.medium.size)
            return f"has no end at byte {at:,} (expected blocks of zeros): members may be missing there"
        at = self._end
        if self.medium.size - at > self._holes:
            return (
                f"has more than {self._holes:,} bytes from byte {at:,} on, after its end (--budget holes=N)"
            )
        for block in self.medium.chunks(at):
            if rest := block.lstrip(b"\0"):
                at += len(block) - len(rest)
                return (
                    f"has {self.medium.size - at:,} bytes from byte {at:,} on, after its end at byte "
                    f"{self._end:,} (expected only zeros): they were not read"
                )
            at += len(block)
        return ""

    def close(self) -> None:
        """Close the file and drop the directory."""
        super().close()
        self.medium.close()

    def _refusal(self, problem: str) -> SourceError:
        return SourceError(f"{self.what}: {problem}", hint=_HINT)

    def _members(self) -> Iterator[Member]:
        at = 0
        extended: dict[bytes, bytes] = {}
        while block := self.medium.pread(_BLOCK, at):
            if not block.strip(b"\0"):
                break
            kind, size = self._header(block, at)
            data, at = at + _BLOCK, at + _BLOCK + -(-size // _BLOCK) * _BLOCK
            if kind in _EXTENDED:
                found = self._extended(kind, self._short(data, size))
                extended |= {} if kind == _GLOBAL else found
            if kind in _EXTENDED | _IGNORED:
                continue
            if kind in _IN_PART:
                raise self._refusal(_IN_PART[kind])
            if b"size" in extended:
                size = self._number(extended[b"size"])
                at = data + -(-size // _BLOCK) * _BLOCK
            if data + size > self.medium.size:
                raise self._refusal(f"is cut off: a member at byte {data:,} would have {size:,} bytes")
            raw = extended.get(b"path") or _short_name(block)
            what = _KINDS.get(kind, "d" if raw.endswith(b"/") else "f")
            if name := self._name(raw):
                # With the slash a folder sorts right before its contents.
                slash = b"/" if what == "d" else b""
                yield Member(name=name + slash, kind=what, offset=data, size=size)
            extended = {}
        self._end = at

    def _header(self, block: bytes, at: int) -> tuple[bytes, int]:
        """Return the type flag and size in a header; raises SourceError for a wrong checksum."""
        stated = _OCTAL.fullmatch(block[148:156])
        found = sum(block) - sum(block[148:156]) + 8 * 0x20
        if len(block) < _BLOCK or stated is None or int(stated[1] or b"0", 8) != found:
            raise self._refusal(f"is not a tar file, or damaged: no header at byte {at:,}")
        size = block[124:136]
        if size[0] & 0x80:  # GNU's form of sizes beyond 11 octal digits
            return block[156:157], int.from_bytes(size, "big") & ((1 << 88) - 1)
        digits = _OCTAL.fullmatch(size)
        if digits is None:
            raise self._refusal(f"has a header at byte {at:,} without a size")
        return block[156:157], int(digits[1] or b"0", 8)

    def _short(self, start: int, size: int) -> bytes:
        if size > _LONGEST:
            raise self._refusal(f"has an extended header of {size:,} bytes, more than {_LONGEST:,}")
        data = self.medium.pread(size, start)
        if len(data) < size:
            raise self._refusal("is cut off within an extended header")
        return data

    def _extended(self, kind: bytes, data: bytes) -> dict[bytes, bytes]:
        if kind == _LONG_NAME:
            return {b"path": data.rstrip(b"\0")}
        found: dict[bytes, bytes] = {}
        while data:
            length = _RECORD.match(data)
            if length is None or not length.end() < int(length[1]) <= len(data):
                raise self._refusal("has a damaged extended header")
            key, _, value = data[length.end() : int(length[1])].rstrip(b"\n").partition(b"=")
            found[key] = value
            data = data[int(length[1]) :]
        if any(key.startswith(b"GNU.sparse") for key in found):
            raise self._refusal(_SPARSE)
        if b"GNU.volume.offset" in found:
            raise self._refusal(_VOLUME)
        return found

    def _number(self, text: bytes) -> int:
        if not re.fullmatch(rb"[0-9]{1,18}", text):
            raise self._refusal(f"has a member of {text!r} bytes")
        return int(text)

    def _name(self, raw: bytes) -> bytes:
        names = [each for each in raw.split(b"/") if each not in {b"", b"."}]
        if raw.startswith(b"/") or b".." in names or b"\0" in raw:
            raise self._refusal(f"has a member that would lie outside its folder: {_shown(raw)}")
        return b"/".join(names)


def _short_name(block: bytes) -> bytes:
    name = block[:100].split(b"\0")[0]
    prefix = block[345:500].split(b"\0")[0] if block[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _shown(name: bytes) -> str:
    return repr(name.decode("utf-8", "backslashreplace"))
