"""A library of Windows that has one function, which is another library's: what Wine 8 lacks.

Wheels that are written in Rust, such as that of pydantic-core, take random numbers from ``ProcessPrng`` of
bcryptprimitives.dll, which Wine has since version 8.19.
"""

from __future__ import annotations

import struct

_AT = 0x1000  # where the one section begins, in memory
_ALIGNED = 0x200


def library(name: str, function: str, other: str) -> bytes:
    """Return a DLL for 64-bit Windows whose ``function`` is ``other``: ``DLL.name``."""
    tables = 40 + 4 + 4 + 2 + 2  # the directory, one address, one name, one number
    texts = [text.encode() + b"\0" for text in (name, function, other)]
    at = [_AT + tables + sum(map(len, texts[:number])) for number in range(3)]
    directory = struct.pack("<IIHHIIIIIII", 0, 0, 0, 0, at[0], 1, 1, 1, _AT + 40, _AT + 44, _AT + 48)
    section = directory + struct.pack("<IIHH", at[2], at[1], 0, 0) + b"".join(texts)
    # An address within the directory is read as the name of the function that is meant.
    size = len(section)
    file = struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 240, 0x2022)
    optional = struct.pack(
        "<HBBIIIIIQIIHHHHHHIIIIHHQQQQII",
        *(0x20B, 14, 0, 0, _ALIGNED, 0, 0, _AT, 0x180000000, 0x1000, _ALIGNED),
        *(6, 0, 0, 0, 6, 0, 0, 2 * _AT, _ALIGNED, 0, 3, 0x100),
        *(1 << 20, 1 << 12, 1 << 20, 1 << 12, 0, 16),
    )
    directories = struct.pack("<II", _AT, size) + bytes(15 * 8)
    header = struct.pack("<8sIIIIIIHHI", b".edata", size, _AT, _ALIGNED, _ALIGNED, 0, 0, 0, 0, 0x40000040)
    start = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + file + optional + directories + header
    return start.ljust(_ALIGNED, b"\0") + section.ljust(_ALIGNED, b"\0")
