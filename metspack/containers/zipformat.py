"""Structures of zip files: records, flags, limits and accepted features; pure.

"APPNOTE" is PKWARE's specification; SIARD requires version 6.3.2 of it (SIARD 2.2 G_4.1-1). An ambiguous
archive, in which two readers could find different content, is refused.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from operator import eq, or_
from typing import NamedTuple

from metspack.errors import SourceError
from metspack.limits import Budgets
from metspack.model import ZipExtent

LOCAL = struct.Struct("<IHHHHHIIIHH")
CENTRAL = struct.Struct("<IHHHH4xIIIHHHH2xII")
"""A central record without time and internal attributes, which do not affect the content."""
WHOLE_CENTRAL = struct.Struct("<IHHHHHHIIIHHHHHII")
"""A central record with all its fields, to be written."""
END = struct.Struct("<IHHHHIIH")
END64 = struct.Struct("<IQHHIIQQQQ")
LOCATOR = struct.Struct("<IIQI")

LOCAL_SIGNATURE = 0x04034B50
CENTRAL_SIGNATURE = 0x02014B50
END_SIGNATURE = 0x06054B50
END64_SIGNATURE = 0x06064B50
LOCATOR_SIGNATURE = 0x07064B50
DESCRIPTOR_SIGNATURE = 0x08074B50

MAX16 = 0xFFFF
MAX32 = 0xFFFFFFFF
MAX64 = 0xFFFFFFFFFFFFFFFF
_LARGEST = (1 << 62) - 1  # offsets stay within what a file system and SQLite can hold

PLAIN = -1
"""The method of bytes without a local header: a member of a tar file."""

STORED = 0
DEFLATED = 8
STREAMED = 0x0008
"""Flag bit 3: sizes and CRC-32 follow the data in a data descriptor (APPNOTE 4.4.4)."""
UTF8 = 0x0800
"""Flag bit 11: the name is UTF-8, otherwise code page 437 (APPNOTE D.2)."""
MEANT_UTF8 = 0x1_0000
"""Added to the 16 bits of flags: the name is UTF-8 without flag bit 11."""
BY_FIELD = 0x2_0000
"""Added to flags: the name is in the extra field ``UNICODE_PATH``.

The bits from ``_CRC_AT`` on are the CRC-32 of the name in the header.
"""
_CRC_AT = 18
_ENCRYPTED = 0x0001 | 0x0040 | 0x2000
_PATCHED = 0x0020
REFUSED_FLAGS = _ENCRYPTED | _PATCHED

ORDINARY_KINDS = frozenset({0, 4, 8})
"""The top four bits of external attributes for no Unix file type, a directory and a file."""
_UNIX_SYSTEMS = frozenset({3, 19})  # Unix and OS X (APPNOTE 4.4.2)

_LINK = 0xA
_AES = 99

ZIP64_EXTRA = 1
UNICODE_PATH = 0x7075
renames = re.compile(rb"up..\x01", re.DOTALL).search
"""Searches for bytes that may be a Unicode Path extra field."""
ZIP64_VERSION = 45
"""The version that is needed for sizes and offsets of 8 bytes (APPNOTE 4.4.3.2)."""
_SHOWN = 120

DAMAGED = "The archive is damaged or was written by a faulty program: get it again from where it came."
MISLEADING = (
    "Programs do not agree on what such an archive holds, so it is not read; "
    "have it written again by the program that made it, or unpack and zip it again."
)
_CLAUSE_NAMES = "Names in an archive are relative paths with '/' (APPNOTE 4.4.17, SIARD 2.2 P_4.2)."

_METHODS = {9: "deflate64", 12: "bzip2", 14: "lzma", 93: "zstd", 95: "xz"}

_KINDS = (
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"%PDF-", "a PDF document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an OLE file (an old Word, Excel or Outlook file)"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"MZ", "a Windows program"),
    (b"\x7fELF", "a Linux program"),
    (b"<?xml", "an XML document"),
    (b"\xef\xbb\xbf<?xml", "an XML document"),
    (b"<\0?\0", "an XML document"),
    (b"\xff\xfe<\0", "an XML document"),
    (b"\xfe\xff\0<", "an XML document"),
)


class Row(NamedTuple):
    """One entry in the index: ``at`` is the offset of its central record."""

    offset: int
    name: str
    compressed: int
    size: int
    crc: int
    method: int
    flags: int
    at: int


class Lengths(NamedTuple):
    """CRC-32 and sizes of an entry in a local header or data descriptor."""

    crc: int
    compressed: int
    size: int

    def __str__(self) -> str:
        return f"CRC-32 {self.crc:08x}, compressed size {self.compressed:,}, size {self.size:,}"


def kind(head: bytes) -> str:
    """Return words for the format of a file by its first bytes, 512 or more, or all."""
    for magic, name in _KINDS:
        if head.startswith(magic):
            return name
    if head[257:262] == b"ustar":
        return "a tar archive"
    if not head.strip(b"\0"):
        return "nothing but zero bytes so far"
    text = head.decode("utf-8", "ignore")
    if len(text.encode()) >= len(head) - 3 and all(each.isprintable() or each in "\t\r\n\f" for each in text):
        return "an XML or HTML document" if text.lstrip().startswith("<") else "text"
    return f"something else (it begins with the bytes {head[:8].hex(' ')})"


def refusal(what: str, name: str, problem: str, hint: str) -> SourceError:
    """Return the error about one entry, with its name escaped and cut to a readable length."""
    shown = repr(name) if len(name) <= _SHOWN else f"{name[:_SHOWN]!r}... ({len(name):,} characters)"
    return SourceError(f"{what}: entry {shown}: {problem}", hint=hint)


def encoded(name: str, flags: int) -> bytes:
    """Return an entry's name in the archive's encoding, or b"" for one in the extra field."""
    if flags & BY_FIELD:
        return b""
    # ASCII is the same in both encodings, and encoding to cp437 takes ten times as long.
    return name.encode("utf-8" if flags & (UTF8 | MEANT_UTF8) or name.isascii() else "cp437")


def unicode_path(raw: bytes, extra: bytes) -> str | None:
    """Return the name in the Unicode Path extra field for ``raw`` (APPNOTE 4.6.9), or None."""
    field = extra_field(extra, UNICODE_PATH) or b""
    if field[:5] != b"\1" + zlib.crc32(raw).to_bytes(4, "little"):
        return None
    with suppress(UnicodeDecodeError):
        return field[5:].decode()
    return None


def _named(raw: bytes, extra: bytes, made: int, flags: int, what: str) -> tuple[str, int]:
    """Return an entry's name, and its flags with the detected encoding (APPNOTE D.1, D.2).

    Programs on Unix and macOS write UTF-8 without a flag. Raises SourceError for a name that contradicts its
    flag, and if the extra field has another name than a header's that is flagged as UTF-8 or unfit.
    """
    is_meant = made >> 8 in _UNIX_SYSTEMS and not raw.isascii() and not flags & UTF8
    try:
        name = raw.decode("utf-8" if is_meant or flags & UTF8 or raw.isascii() else "cp437")
        flags |= is_meant and MEANT_UTF8
    except UnicodeDecodeError as error:
        if flags & UTF8:
            name = raw.decode("latin-1")
            problem = f"its name is marked as UTF-8 (flag bit 11), and byte {error.start:,} of it is not"
            raise refusal(what, name, problem, MISLEADING) from None
        name = raw.decode("cp437")
    path = unicode_path(raw, extra)
    if path is None or path == name:
        return name, flags
    # Programs that ignore the field take the header's name, where a backslash can be half a character.
    fault = name_fault(name.replace("\\", "_"))
    if flags & UTF8:
        fault = "its name is marked as UTF-8 (flag bit 11)"
    if fault:
        raise refusal(what, name, f"{fault}, and its extra field names {path!r}", MISLEADING)
    return path, flags | BY_FIELD | zlib.crc32(raw) << _CRC_AT


def name_fault(name: str) -> str:
    """Return the fault that makes a name unfit for an entry, or "" for a fit one.

    A relative path is fit: segments that are not empty, ``.`` or ``..``, joined by ``/``, with one
    more ``/`` at the end of a directory's name.
    """
    if not name:
        return "has no name"
    for character, word in (("\0", "a NUL character"), ("\\", "a backslash")):
        if character in name:
            return f"its name holds {word}"
    if name.startswith("/"):
        return "its name is an absolute path"
    if name[1:2] == ":" and name[0].isascii() and name[0].isalpha():
        return "its name begins with a drive letter"
    for segment in name.removesuffix("/").split("/"):
        if segment in {"", ".", ".."}:
            return f"its name holds the segment {segment!r}"
    return ""


def central_row(record: bytes, at: int, what: str, budgets: Budgets) -> Row:
    """Return the entry of a whole central record at offset ``at``, after all checks.

    Raises SourceError for each feature that is not accepted: unfit names, links and special files,
    encryption, methods other than stored and deflated, several disks, ratios over budget, directories with
    data, ZIP64 fields of a wrong length (APPNOTE 4.3.12).
    """
    fields = CENTRAL.unpack_from(record)
    _, made, _, flags, method, crc, short_compressed, short_size, *lengths, short_disk = fields[:-2]
    attributes, short_offset = fields[-2:]
    end = CENTRAL.size + lengths[0]
    extra = record[end : end + lengths[1]]
    name, flags = _named(record[CENTRAL.size : end], extra, made, flags, what)
    if fault := name_fault(name):
        raise refusal(what, name, f"{fault} (central record at byte {at:,})", _CLAUSE_NAMES)
    try:
        size, compressed, offset, disk = widened(
            (short_size, short_compressed, short_offset, short_disk), extra
        )
    except ValueError as error:
        raise refusal(what, name, f"{error} (central record at byte {at:,})", DAMAGED) from None
    if max(size, compressed, offset) > _LARGEST:
        problem = (
            f"has size {size:,}, compressed size {compressed:,} at byte {offset:,}; "
            f"expected at most {_LARGEST:,}"
        )
        raise refusal(what, name, problem, DAMAGED)
    if disk:
        raise refusal(what, name, f"lies on disk {disk + 1:,}; expected the first and only one", SPLIT)
    row = Row(offset, name, compressed, size, crc, method, flags, at)
    for problem, hint in _faults(row, made, attributes, budgets):
        raise refusal(what, name, problem, hint)
    return row


SPLIT = "Archives over several disks are not read: join them first (`zip -s 0 split.zip --out whole.zip`)."


def _faults(row: Row, made: int, attributes: int, budgets: Budgets) -> Iterator[tuple[str, str]]:
    """Yield each feature of an entry that is not accepted, and the remedy."""
    flags, method, size, compressed = row.flags & MAX16, row.method, row.size, row.compressed
    if made >> 8 in _UNIX_SYSTEMS and attributes >> 28 not in ORDINARY_KINDS:
        what = "a symbolic link" if attributes >> 28 == _LINK else "a special file"
        yield (
            f"is {what} (Unix mode {attributes >> 16:#o}); expected a file or a directory",
            "A link could lead out of the archive, so it is not followed: put the file itself in its place.",
        )
    if size and row.name.endswith("/"):
        yield f"is a directory and has {size:,} bytes of data; expected none", MISLEADING
    if flags & _ENCRYPTED or method == _AES:
        yield (
            f"is encrypted (flags {flags:#06x}, method {method})",
            "A SIARD file is not password-protected or encrypted (SIARD 2.2 G_4.1-3): decrypt it first.",
        )
    if flags & _PATCHED:
        yield "holds compressed patched data (flag bit 5)", MISLEADING
    if method not in {STORED, DEFLATED}:
        name = f" ({_METHODS[method]})" if method in _METHODS else ""
        yield (
            f"is compressed with method {method}{name}; expected 0 (stored) or 8 (deflate)",
            "SIARD allows stored and deflate only (SIARD 2.2 G_4.1-2): unpack it and zip it again.",
        )
    if method == STORED and compressed != size:
        yield (
            f"is stored in {compressed:,} bytes and has the size {size:,}; expected them to be equal",
            DAMAGED,
        )
    if size > budgets.ratio * compressed:
        yield (
            f"would grow from {compressed:,} to {size:,} bytes; at most {budgets.ratio:,} times expected",
            "Deflate cannot reach that, so the sizes are wrong, or the archive is a decompression bomb.",
        )


def extra_field(extra: bytes, number: int = ZIP64_EXTRA) -> bytes | None:
    """Return the data of the first extra field with an id, or None (APPNOTE 4.5.1)."""
    field = next((field for found, field in extra_fields(extra) if found == number), b"")
    return field[4:] if field and len(field) == 4 + int.from_bytes(field[2:4], "little") else None


def extra_fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield id and bytes of each extra field; a malformed rest comes last, with the id -1."""
    at = 0
    while at + 4 <= len(extra):
        number, length = struct.unpack_from("<2H", extra, at)
        yield number, extra[at : at + 4 + length]
        at += 4 + length
    if at < len(extra):
        yield -1, extra[at:]


def widened(short: tuple[int, int, int, int], extra: bytes) -> tuple[int, int, int, int]:
    """Return size, compressed size, offset and disk, maximal ones from the ZIP64 field.

    The field has exactly those (APPNOTE 4.5.3), or, as some programs write, all from the first on; then the
    others must agree. Raises ValueError with the fault.
    """
    size, compressed, offset, disk = short
    needed = [size == MAX32, compressed == MAX32, offset == MAX32, disk == MAX16]
    if not any(needed):
        return short
    field = extra_field(extra)
    if field is None:
        raise ValueError("has a size, offset or disk at its maximum and no ZIP64 extra field")
    expected = 8 * sum(needed[:3]) + 4 * needed[3]
    if len(field) == expected:
        numbers = iter(struct.unpack(f"<{sum(needed[:3])}Q{'I' * needed[3]}", field))
        values = [next(numbers) if each else value for each, value in zip(needed, short, strict=True)]
    else:
        form = _WHOLE_ZIP64.get(len(field))
        whole = struct.unpack(form, field) if form else ()
        values = [*whole, *short[len(whole) :]]
        agreed = all(map(or_, needed, map(eq, short, values)))
        if any(needed[len(whole) :]) or not agreed:
            raise ValueError(f"its ZIP64 extra field has {len(field):,} bytes; expected {expected}")
    return values[0], values[1], values[2], values[3]


_WHOLE_ZIP64 = {16: "<QQ", 24: "<QQQ", 28: "<QQQI"}


def local_header_length(head: bytes, extent: ZipExtent, what: str) -> tuple[int, bool, bool]:
    """Return a local header's length in bytes, and whether a descriptor may and must follow.

    ``head`` are the bytes from ``extent.offset`` on, at least the header (30 bytes, the name and the extra
    field). Raises SourceError if it differs from the central directory (APPNOTE 4.3.7). Lengths that were
    unknown when it was written (zero, or 0xFFFFFFFF with ZIP64 zeros) are in the data descriptor after the
    data; some programs omit flag bit 3 in the second case.
    """
    signature, _, flags, method, _, _, crc, compressed, size, named, extra = LOCAL.unpack_from(head)
    name = head[LOCAL.size : LOCAL.size + named]
    expected_name: object = encoded(extent.name, extent.flags)
    if extent.flags & BY_FIELD:
        crc_of_name = extent.flags >> _CRC_AT
        expected_name = name if zlib.crc32(name) == crc_of_name else f"one of CRC-32 {crc_of_name:08x}"
    watched = UTF8 | REFUSED_FLAGS
    for thing, expected, found in (
        ("signature ", f"{LOCAL_SIGNATURE:#010x}", f"{signature:#010x}"),
        ("name ", expected_name, name),
        ("flags ", f"{extent.flags & watched:#06x}", f"{flags & watched:#06x}"),
        ("method ", extent.method, method),
    ):
        if expected != found:
            raise _differs(thing, expected, found, extent, what)
    length = LOCAL.size + named + extra
    local = _local_lengths(Lengths(crc, compressed, size), head[LOCAL.size + named : length])
    central = Lengths(extent.crc, extent.compressed, extent.size)
    streamed = bool(flags & STREAMED)
    if local == central:
        return length, streamed, False
    unknown = local.crc in {0, extent.crc} and all(
        mine in {theirs, 0, MAX32, MAX64} for mine, theirs in zip(local[1:], central[1:], strict=True)
    )
    if not unknown or not (streamed or compressed == size == MAX32):
        raise _differs("", central, local, extent, what)
    return length, True, True


def _differs(thing: str, expected: object, found: object, extent: ZipExtent, what: str) -> SourceError:
    return refusal(
        what,
        extent.name,
        f"its local header at byte {extent.offset:,} has {thing}{found}; "
        f"expected {expected} as in the central directory",
        MISLEADING,
    )


def _local_lengths(short: Lengths, extra: bytes) -> Lengths:
    field = extra_field(extra) if MAX32 in short[1:] else None
    if field is None:
        return short
    if len(field) < _BOTH_SIZES.size:  # both must be there, the size first (APPNOTE 4.5.3)
        return short
    size, compressed = _BOTH_SIZES.unpack_from(field)
    return Lengths(
        short.crc,
        compressed if short.compressed == MAX32 else short.compressed,
        size if short.size == MAX32 else short.size,
    )


_BOTH_SIZES = struct.Struct("<QQ")
_MARK = DESCRIPTOR_SIGNATURE.to_bytes(4, "little")
_DESCRIPTORS = tuple((mark, struct.Struct(form)) for form in ("<IQQ", "<III") for mark in (_MARK, b""))
DESCRIPTOR_MAX = 24


def descriptor_length(tail: bytes, extent: ZipExtent, room: int) -> int | None:
    """Return the length of the data descriptor that ``tail`` begins with, or None without one.

    It has one of four forms, with or without a signature and with sizes of 8 or 4 bytes (APPNOTE 4.3.9), and
    the values of the central directory. Preferred is the form that fills ``room``, the bytes up to the next
    structure, then the longest.
    """
    expected = (extent.crc, extent.compressed, extent.size)
    fitting = [
        len(mark) + form.size
        for mark, form in _DESCRIPTORS
        if len(mark) + form.size <= min(len(tail), room)
        and tail.startswith(mark)
        and form.unpack_from(tail, len(mark)) == expected
    ]
    return room if room in fitting else max(fitting, default=None)


def folder_of_all(first: str | None, last: str | None) -> str:
    """Return the one folder that has all paths, by the first and last in sorted order, or ""."""
    folder, slash, _ = (first or "").partition("/")
    return folder if slash and (last or "").startswith(f"{folder}/") else ""
