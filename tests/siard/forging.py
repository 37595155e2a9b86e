"""Small SIARD archives of any version, made with the standard library alone."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

METADATA = "header/metadata.xml"
NAMESPACES = {
    "1.0": "http://www.bar.admin.ch/xmlns/siard/1.0/metadata.xsd",
    "2.0": "http://www.bar.admin.ch/xmlns/siard/2.0/metadata.xsd",
    "2.1": "http://www.bar.admin.ch/xmlns/siard/2/metadata.xsd",
    "2.2": "http://www.bar.admin.ch/xmlns/siard/2/metadata.xsd",
}
OLD_MD5 = "<messageDigest>MD5{MD5}</messageDigest>"
NEW_MD5 = "<messageDigest>\n  <digestType>MD5</digestType>\n  <digest>{md5}</digest>\n </messageDigest>"


def column(
    name: str = "DATA",
    sql: str = "BLOB",
    *,
    folder: str | None = None,
    lob_folder: str | None = None,
    fields: str = "",
) -> str:
    """Return a column of metadata.xml, with its elements in the order of all schema versions."""
    what = f"<type>{sql}</type>" if not fields else "<typeSchema>s</typeSchema><typeName>udt</typeName>"
    return f"<column>{_settings(name, folder, lob_folder)}{what}{_fields(fields)}</column>"


def field(
    name: str = "f", *, folder: str | None = None, lob_folder: str | None = None, fields: str = ""
) -> str:
    """Return a field of a structured column."""
    return f"<field>{_settings(name, folder, lob_folder)}{_fields(fields)}</field>"


def _settings(name: str, folder: str | None, lob_folder: str | None) -> str:
    settings = f"\n     <name>{name}</name>" if name else ""  # 2.0 has no name of a field
    for tag, value in (("folder", folder), ("lobFolder", lob_folder)):
        if value is not None:
            settings += f"\n     <{tag}>{value}</{tag}>" if value else f"\n     <{tag}/>"
    return settings + "\n     "


def _fields(fields: str) -> str:
    return f"<fields>{fields}</fields>" if fields else ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: its columns in metadata.xml, and the inner XML of its rows."""

    folder: str = "table0"
    name: str = "t"
    columns: tuple[str, ...] = (column(),)
    rows: tuple[str, ...] = ()
    document: bytes | None = None

    @property
    def path(self) -> str:
        """The document's place in the archive."""
        return f"content/schema0/{self.folder}/{self.folder}.xml"

    @property
    def data(self) -> bytes:
        """The document."""
        if self.document is not None:
            return self.document
        rows = "\n".join(f"<row>{row}</row>" for row in self.rows)
        return (
            '<?xml version="1.0" encoding="utf-8"?>\n<!-- > \' " -->\n'
            '<table xmlns="http://www.bar.admin.ch/xmlns/siard/2/table.xsd" version="2.1">\n'
            f"{rows}\n</table>\n"
        ).encode()


def metadata(
    version: str,
    tables: Iterable[Table],
    *,
    digests: str = "",
    lob_folder: str | None = None,
    codec: str = "utf-8",
    prefix: str = "",
) -> bytes:
    """Return a metadata.xml; ``codec`` is one of Python's that its declaration names too."""
    listed = "\n".join(
        f"<table>\n   <name>{each.name}</name>\n   <folder>{each.folder}</folder>\n   "
        f"<columns>{''.join(each.columns)}</columns>\n   <rows>{len(each.rows)}</rows>\n  </table>"
        for each in tables
    )
    folder = "" if lob_folder is None else f"<lobFolder>{lob_folder}</lobFolder>\n "
    types = ""
    if "<fields>" in listed:
        types = (
            "<types><type><name>udt</name><category>udt</category><instantiable>true</instantiable>"
            "<final>true</final></type></types>"
        )
    text = f"""<siardArchive xmlns="{NAMESPACES[version]}" version="{version}">
 <dbname>Näme &amp; more</dbname>
 <dataOwner>owner</dataOwner>
 <dataOriginTimespan>1999 &gt; 2000</dataOriginTimespan>
 {folder.replace("<lobFolder></lobFolder>", "<lobFolder/>")}<archivalDate>2020-01-01</archivalDate>
 {digests}<!-- <lobFolder>not one</lobFolder> -->
 <schemas><schema><name>s</name><folder>schema0</folder>{types}<tables>{listed}</tables></schema></schemas>
 <users><user><name>admin</name></user></users>
</siardArchive>
"""
    if prefix:
        text = re.sub(r"<(/?)(?=[a-z])", rf"<\1{prefix}:", text).replace("xmlns=", f"xmlns:{prefix}=")
    declared = {"utf-16": "UTF-16", "utf-16-be": "UTF-16", "utf-8-sig": "UTF-8"}.get(codec, codec)
    mark = b"\xfe\xff" if codec == "utf-16-be" else b""
    return mark + f'<?xml version="1.0" encoding="{declared}"?>\n{text}'.encode(codec, "xmlcharrefreplace")


class _Pipe:
    """A stream that cannot seek: what is written to it gets data descriptors."""

    def __init__(self, target: io.BytesIO) -> None:
        self._target = target

    def write(self, data: bytes) -> int:
        return self._target.write(data)

    def flush(self) -> None:
        """Nothing waits."""


@dataclass(frozen=True, kw_only=True)
class Packing:
    """The form of an archive's entries."""

    method: int = zipfile.ZIP_STORED
    streamed: bool = False
    zip64: bool = False
    header_first: bool = False
    comment: bytes = b""


def siard(
    path: Path,
    *,
    version: str = "2.2",
    tables: Iterable[Table] = (),
    lobs: Mapping[str, bytes] | None = None,
    folders: Iterable[str] = (),
    digests: str = "",
    lob_folder: str | None = None,
    codec: str = "utf-8",
    prefix: str = "",
    document: bytes | None = None,
    packing: Packing | None = None,
) -> Path:
    """Write an archive and return its path.

    In ``digests``, ``{md5}``, ``{MD5}``, ``{sha1}``, ``{sha256}`` and ``{SHA256}`` become the digests
    of the bytes before the header, in lower or upper case. ``document`` replaces metadata.xml.
    """
    packing, tables = packing or Packing(), tuple(tables)
    target = io.BytesIO()
    stream: Any = _Pipe(target) if packing.streamed else target  # the stubs ask for more than is needed
    content: dict[str, bytes] = {name: b"" for name in folders if name.startswith("content/")}
    for table in tables:
        content[table.path] = table.data
        content[table.path.replace(".xml", ".xsd")] = b"<xsd/>"
    content.update(lobs or {})
    others = {name: b"" for name in folders if name not in content}
    with zipfile.ZipFile(stream, "w", packing.method) as archive:
        archive.comment = packing.comment

        def add(entries: Mapping[str, bytes]) -> None:
            for name, data in entries.items():
                info = zipfile.ZipInfo(name, (2001, 2, 3, 4, 5, 6))
                info.compress_type = zipfile.ZIP_STORED if name.endswith("/") else packing.method
                info.external_attr = 0o40755 << 16 if name.endswith("/") else 0o100640 << 16
                with archive.open(info, "w", force_zip64=packing.zip64) as entry:
                    entry.write(data)

        if not packing.header_first:
            add(content)
        hashes = {
            name: hashlib.new(name, target.getvalue()).hexdigest() for name in ("md5", "sha1", "sha256")
        }
        hashes |= {name.upper(): value.upper() for name, value in hashes.items()}
        filled = re.sub(r"\{(\w+)\}", lambda found: hashes[found[1]], digests)
        whole = document or metadata(
            version, tables, digests=filled, lob_folder=lob_folder, codec=codec, prefix=prefix
        )
        folder = f"header/siardversion/{version}/"
        add({folder: b"", METADATA: whole, "header/metadata.xsd": b"<xsd/>", **others})
        if packing.header_first:
            add(content)
    path.write_bytes(target.getvalue())
    return path
