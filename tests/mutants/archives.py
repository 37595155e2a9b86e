"""A SIARD archive in memory: its entries in order, written again with the messageDigest that it then has."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
import zipfile
from dataclasses import dataclass
from typing import Self

METADATA = "header/metadata.xml"
_TIME = (2020, 1, 1, 0, 0, 0)


@dataclass
class Entry:
    name: str
    data: bytes
    method: int = zipfile.ZIP_STORED


@dataclass
class Archive:
    """The entries of an archive; ``digest`` is its messageDigest if that is right, else empty."""

    entries: list[Entry]
    digest: str = ""

    @classmethod
    def read(cls, data: bytes) -> Self:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [
                Entry(each.filename, archive.read(each), each.compress_type) for each in archive.infolist()
            ]
            start = next(
                (each.header_offset for each in archive.infolist() if each.filename.startswith("header/")), 0
            )
        content = hashlib.md5(data[:start], usedforsecurity=False).hexdigest()
        is_stated = any(content.encode() in each.data for each in entries if each.name == METADATA)
        return cls(entries, content if is_stated else "")

    def __getitem__(self, name: str) -> Entry:
        return next(each for each in self.entries if each.name == name)

    @property
    def tables(self) -> list[Entry]:
        return [each for each in self.entries if re.fullmatch(r"content/.*/table[0-9]+\.xml", each.name)]

    @property
    def holds_lobs(self) -> bool:
        """True if it contains the bytes of LOBs."""
        return any(re.search(r"/lob[0-9]+/.*[^/]$", each.name) for each in self.entries)

    def written(self) -> bytes:
        """Return the archive; a messageDigest that agreed before does so again."""
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an entry twice
            found = ""
            for each in self.entries:
                if each.name.startswith("header/") and not found:
                    found = hashlib.md5(target.getvalue(), usedforsecurity=False).hexdigest()
                data = each.data
                if each.name == METADATA and self.digest:
                    data = data.replace(self.digest.encode(), found.encode())
                info = zipfile.ZipInfo(each.name, _TIME)
                info.compress_type = each.method
                archive.writestr(info, data)
        return target.getvalue()
