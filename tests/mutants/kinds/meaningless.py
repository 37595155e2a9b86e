"""Changes without a meaning: XML written in another way, locations spelt otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from lxml import etree

from tests.mutants.archives import METADATA, Archive
from tests.mutants.documents import Document, local
from tests.mutants.kinds.kind import Change, Kind
from tests.mutants.package import Package

Writing = Callable[[bytes, Random], bytes]
_TAG = re.compile(rb"<[A-Za-z][^<>]*>")


def _written(write: Writing, *, only_mets: bool = False) -> Callable[[Package, Random], Change | None]:
    """Write a document in another way: a METS, a document of PREMIS, or one in the archive."""

    def apply(package: Package, chance: Random) -> Change | None:
        if not only_mets and chance.random() < 0.3:
            path = chance.choice(package.archives)
            archive = Archive.read(package.files[path])
            entry = chance.choice([*archive.tables, archive[METADATA]])
            entry.data = write(entry.data, chance)
            package.files[path] = archive.written()
            name = "metadata.xml" if entry.name == METADATA else "table"
            return Change(f"{name} written otherwise", f"{path} {entry.name}")
        among = package.mets if only_mets else [*package.mets, *package.premis]
        path = chance.choice(among)
        package.files[path] = write(package.files[path], chance)
        return Change(f"{'PREMIS' if path in package.premis else 'METS'} written otherwise", path)

    return apply


def _parsed(change: Callable[[Document, Random], None]) -> Writing:
    def write(data: bytes, chance: Random) -> bytes:
        document = Document.parsed(data)
        unchanged = document.written()
        change(document, chance)
        changed = document.written()
        return data if changed == unchanged else changed

    return write


def _comment(document: Document, chance: Random) -> None:
    chance.choice(document.elements()).insert(0, etree.Comment(" a comment "))


def _instruction(document: Document, chance: Random) -> None:
    element = chance.choice(document.elements())
    element.insert(len(element), etree.ProcessingInstruction("anybody", "told"))


def _attribute_order(document: Document, _chance: Random) -> None:
    for each in document.elements():
        pairs = [(str(key), value) for key, value in each.attrib.items()]
        each.attrib.clear()
        for key, value in reversed(pairs):
            each.set(key, value)


def _link_prefix(data: bytes, _chance: Random) -> bytes:
    return data.replace(b"xmlns:xlink=", b"xmlns:l=").replace(b" xlink:", b" l:")


def _indented(document: Document, chance: Random) -> None:
    """Put white space between elements in another way; that of texts stays."""
    space = chance.choice(("", "\n", "\n\t\t", "  "))
    for each in document.elements():
        if len(each) and not (each.text or "").strip() and not any((one.tail or "").strip() for one in each):
            each.text = space
            for one in each:
                one.tail = space


def _cdata(document: Document, _chance: Random) -> None:
    for each in document.elements():
        if (each.text or "").strip() and not len(each):
            each.text = etree.CDATA(each.text or "")


def _file_order(document: Document, _chance: Random) -> None:
    for group in document.elements("fileGrp"):
        files = [each for each in group.iterchildren("*") if local(each) == "file"]
        for each in files[::-1]:
            group.append(each)


def _referenced(data: bytes, chance: Random) -> bytes:
    """Write a letter in an attribute as a character reference."""
    found = list(re.finditer(rb'(?<=[ \n])(?!xmlns|xsi|version|encoding)[A-Za-z:]+="([^"&]+)"', data))
    if not found:
        return data
    value = chance.choice(found)
    at = chance.randrange(*value.span(1))
    return data[:at] + b"&#%d;" % data[at] + data[at + 1 :] if data[at] < 128 else data


def _quoted(data: bytes, _chance: Random) -> bytes:
    return _TAG.sub(lambda tag: tag[0].replace(b'"', b"'") if b"'" not in tag[0] else tag[0], data)


def _closed(data: bytes, _chance: Random) -> bytes:
    """Write empty elements with an end tag."""
    return re.sub(rb"<([A-Za-z0-9:]+)((?:\s[^<>]*)?)/>", rb"<\1\2></\1>", data)


def _spaced(data: bytes, _chance: Random) -> bytes:
    return _TAG.sub(lambda tag: re.sub(rb'" (?=[A-Za-z])', b'"\n   ', tag[0]), data)


def _followed(data: bytes, chance: Random) -> bytes:
    return data + chance.choice((b"\n\n", b"<!-- the end -->\n", b"<?the end?>\n"))


MEANINGLESS_KINDS = (
    *(
        Kind(f"written with {name}", _written(write), has_meaning=False)
        for name, write in (
            ("a comment", _parsed(_comment)),
            ("a processing instruction", _parsed(_instruction)),
            ("attributes in another order", _parsed(_attribute_order)),
            ("other indentation", _parsed(_indented)),
            ("CDATA", _parsed(_cdata)),
            ("character references", _referenced),
            ("other quotes", _quoted),
            ("end tags", _closed),
            ("line ends in tags", _spaced),
            ("something behind the root", _followed),
        )
    ),
    *(
        Kind(f"written with {name}", _written(write, only_mets=True), has_meaning=False)
        for name, write in (
            ("another prefix of XLink", _link_prefix),
            ("files in another order", _parsed(_file_order)),
        )
    ),
)
