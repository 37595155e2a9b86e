"""Check references by ID within a METS document, OTHER kinds, and hrefs against LOCTYPE.

That a FILEID names a file and that no ID occurs twice is checked elsewhere, with the files themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from sqlite3 import Connection

from metspack import safexml
from metspack.checking.catalogue import Batch
from metspack.checking.codes import Code
from metspack.checking.mets.schema import Blocks
from metspack.files import tempdb
from metspack.mets.reader import METS, XLINK
from metspack.model import Finding
from metspack.uris import CHARACTERS, URN

_METADATA = frozenset({"techMD", "rightsMD", "sourceMD", "digiprovMD", "amdSec"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """The elements that an attribute may refer to, and their common name."""

    elements: frozenset[str]
    called: str


_TARGETS = {
    "ADMID": _Target(elements=_METADATA, called="administrative metadata"),
    "DMDID": _Target(elements=frozenset({"dmdSec"}), called="a dmdSec"),
    "STRUCTID": _Target(elements=frozenset({"div", "structMap"}), called="a div"),
    "TRANSFORMBEHAVIOR": _Target(elements=frozenset({"behavior"}), called="a behavior"),
}
_OTHERS = {
    "LOCTYPE": ("OTHERLOCTYPE", ("FLocat", "mptr", "mdRef", "mechanism", "interfaceDef")),
    "MDTYPE": ("OTHERMDTYPE", ("mdRef", "mdWrap")),
    "ROLE": ("OTHERROLE", ("agent",)),
    "TYPE": ("OTHERTYPE", ("agent",)),
}
_LOCATED = frozenset(_OTHERS["LOCTYPE"][1])
_BY_PATH = frozenset({"FLocat", "mdRef"})  # their hrefs are paths, judged where the files are looked for
_FORMS = {
    "URL": re.compile(rf"{CHARACTERS}*"),
    "PURL": re.compile(rf"https?://{CHARACTERS}+", re.IGNORECASE),
    "URN": URN,
    "DOI": re.compile(
        r"(?:doi:\s*|info:doi/|https?://(?:[\w-]+\.)*doi\.org/)?10\.[0-9.]+/\S.*", re.IGNORECASE
    ),
    "HANDLE": re.compile(r"\S+"),  # RODA gives its ancestors this LOCTYPE with any identifier
    "ARK": re.compile(r"(?:\S*/)?ark:\S+", re.IGNORECASE),
}

_NAMES = tuple(each for each in _FORMS if each != "URL")
_BASE = "http://www.w3.org/XML/1998/namespace base"
_NO_BASE = {"", ".", "./"}
_MARKS = (b"ADMID", b"DMDID", b"TRANSFORMBEHAVIOR", b"OTHER", b"mptr", b"xml:base")
_SECTIONS = (b"structLink", b"behaviorSec")
_LEFT_OUT = frozenset({"file", "fptr"})
_LOCTYPE, _USUAL = b"LOCTYPE", b'LOCTYPE="URL"'
_LONGEST_MARK = 32

_SCHEMA = """
CREATE TABLE target (
    scope INTEGER, hash INTEGER, element TEXT, PRIMARY KEY (scope, hash)
) WITHOUT ROWID;
CREATE TABLE reference (
    scope INTEGER, hash INTEGER, attribute TEXT, element TEXT, value TEXT, line INTEGER, count INTEGER,
    PRIMARY KEY (scope, hash, attribute, element)
) WITHOUT ROWID;
CREATE TABLE fault (
    code TEXT, attribute TEXT, element TEXT, value TEXT, other TEXT, line INTEGER, count INTEGER,
    PRIMARY KEY (code, attribute, element, value)
) WITHOUT ROWID;
"""
_PUT_TARGET = "INSERT OR IGNORE INTO target VALUES (?, ?, ?)"
_PUT_REFERENCE = """INSERT INTO reference VALUES (?, ?, ?, ?, ?, ?, 1)
    ON CONFLICT DO UPDATE SET count = count + 1"""
_PUT_FAULT = "INSERT INTO fault VALUES (?, ?, ?, ?, ?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1"
_UNMET = """SELECT r.line, r.attribute, r.element, r.value, r.count, t.element FROM reference r
    LEFT JOIN target t ON t.scope = r.scope AND t.hash = r.hash ORDER BY r.line, r.attribute, r.value"""

_IDS, _LABELS, _GROUPS = 0, 1, 2  # scopes: IDs, xlink:labels of divs, and from 2 the labels of each smLinkGrp
_KEPT = "the IDs of a METS document"


class References(tempdb.Scratch):
    """One document's references and names, its blocks given to ``take``; a context manager.

    The document is METS that another reader has taken already (no DTD, within the budgets); ``name`` is its
    path in findings. Memory is flat: IDs are kept on disk, by hash. Raises ``TargetError`` without room.
    """

    def __init__(self, name: str) -> None:
        super().__init__("BEGIN", schema=_SCHEMA)
        self._name = name
        self._batch = Batch(self._database.executemany)
        self._fault: safexml.XmlError | None = None
        self._reading = _Reading(_Referring(self._batch).take, first=_Referred(self._batch).take)

    def take(self, block: bytes) -> None:
        """Take the next block; elements without references may have been left out of it."""
        if self._fault is None:
            with tempdb.explained(_KEPT):
                try:
                    self._reading.take(block)
                except safexml.XmlError as error:  # a namespace prefix without its declaration
                    self._fault = error

    def findings(self, blocks: Blocks) -> Iterator[Finding]:
        """Yield the findings after the last block.

        A document with references to anything but elements before its files is read once more, whole. Equal
        faults of equal elements are one finding, with the first line.
        """
        with tempdb.explained(_KEPT):
            try:
                self._finish(blocks)
            except safexml.XmlError as error:
                yield Code.NOT_WELL_FORMED.at(self._name, error.line, reason=error.message)
                return
            yield from _unmet(self._name, self._database)
            yield from _faults(self._name, self._database)

    def _finish(self, blocks: Blocks) -> None:
        if self._fault is not None:
            raise self._fault
        self._reading.end()
        self._batch.flush()
        if next(_unmet(self._name, self._database), None) is not None:
            reading = _Reading(_Referred(self._batch).take, everything=True)
            for block in blocks():
                reading.take(block)
            reading.end()
            self._batch.flush()


def _unmet(name: str, database: Connection) -> Iterator[Finding]:
    for line, attribute, element, value, count, met in database.execute(_UNMET):
        facts = {"attribute": attribute, "element": element, "found": value, "count": f"{count:,}"}
        if met is None:
            yield Code.REFERENCE_DANGLING.at(name, line, value, **facts)
        elif (target := _TARGETS.get(attribute)) is not None and met not in target.elements:
            yield Code.REFERENCE_KIND.at(name, line, value, expected=target.called, **facts)


def _faults(name: str, database: Connection) -> Iterator[Finding]:
    sql = (
        "SELECT code, line, attribute, element, value, other, count FROM fault ORDER BY line, code, attribute"
    )
    for id_, line, attribute, element, value, other, count in database.execute(sql):
        code = Code.named(id_)
        if code is Code.HREF_NOT_OF_LOCTYPE:
            yield code.at(name, line, href=value, element=element, expected=other)
            continue
        if code is Code.XML_BASE:
            yield code.at(name, line, element=element, found=value, count=f"{count:,}")
            continue
        facts = {"attribute": attribute, "element": element, "expected": other, "count": f"{count:,}"}
        if code is Code.OTHER_UNUSED:
            facts["found"] = value
        yield code.at(name, line, **facts)


def _hash(value: str) -> int:
    return int.from_bytes(blake2b(value.encode(), digest_size=8).digest(), "big", signed=True)


Take = Callable[[str, dict[str, str], int], None]


class _Referring:
    """METS elements that refer to others, or that do not state their kind."""

    def __init__(self, batch: Batch) -> None:
        self._put = batch.add
        self._group = _LABELS

    def take(self, element: str, attributes: dict[str, str], line: int) -> None:
        """Keep an element's references and oddities; XLink's attributes are ``namespace name``."""
        self._keep_references(element, attributes, line)
        if attributes.get(_BASE, "").strip() not in _NO_BASE:
            self._put(_PUT_FAULT, Code.XML_BASE.id, "xml:base", element, attributes[_BASE], "", line)
        for attribute, (other, elements) in _OTHERS.items():
            if element in elements:
                self._keep_kind(element, attributes, attribute, other, line)
        if element in _LOCATED and element not in _BY_PATH:
            self._name(element, attributes, ("URL", *_NAMES), line)
        elif element in _BY_PATH:
            self._name(element, attributes, _NAMES, line)

    def _keep_references(self, element: str, attributes: dict[str, str], line: int) -> None:
        for attribute in _TARGETS.keys() & attributes.keys():
            for value in attributes[attribute].split():
                hashed = _hash(value.removeprefix("#"))  # the schema reports the hash
                self._put(_PUT_REFERENCE, _IDS, hashed, attribute, element, value, line)
        if element == "smLinkGrp":
            self._group += 1
        elif element in {"smLink", "smArcLink"}:
            scope = _LABELS if element == "smLink" else self._group
            for end in ("from", "to"):
                if (label := attributes.get(f"{XLINK} {end}")) is not None:
                    self._put(_PUT_REFERENCE, scope, _hash(label), f"xlink:{end}", element, label, line)

    def _keep_kind(
        self, element: str, attributes: dict[str, str], attribute: str, other: str, line: int
    ) -> None:
        value = attributes.get(attribute, "")
        named = bool(attributes.get(other, "").strip())
        if value == "OTHER" and not named:
            self._put(_PUT_FAULT, Code.OTHER_UNNAMED.id, attribute, element, value, other, line)
        elif value and value != "OTHER" and named:
            self._put(_PUT_FAULT, Code.OTHER_UNUSED.id, attribute, element, value, other, line)

    def _name(self, element: str, attributes: dict[str, str], kinds: tuple[str, ...], line: int) -> None:
        kind = attributes.get("LOCTYPE", "")
        href = attributes.get(f"{XLINK} href")
        if href is not None and kind in kinds and not _FORMS[kind].fullmatch(href.strip()):
            code = Code.HREF_NOT_OF_LOCTYPE
            self._put(_PUT_FAULT, code.id, "xlink:href", element, href, kind, line)


class _Referred:
    """METS elements that others can refer to."""

    def __init__(self, batch: Batch) -> None:
        self._put = batch.add
        self._group = _LABELS

    def take(self, element: str, attributes: dict[str, str], _line: int) -> None:
        """Keep an element's ID and label."""
        label = attributes.get(f"{XLINK} label")
        if (value := attributes.get("ID")) is not None:
            hashed = _hash(value.strip())
            self._put(_PUT_TARGET, _IDS, hashed, element)
            if element == "div":
                self._put(_PUT_TARGET, _LABELS, hashed, element)
        if element == "smLinkGrp":
            self._group += 1
        elif label is not None and element in {"div", "smLocatorLink"}:
            scope = _LABELS if element == "div" else self._group
            self._put(_PUT_TARGET, scope, _hash(label), element)


class _Reading:
    """Passes on a document's METS elements: all, or those in blocks with marks and some more.

    ``first`` gets those before all files: none was left out there, as long as all blocks have marks.
    """

    def __init__(self, take: Take, *, everything: bool = False, first: Take | None = None) -> None:
        self._take = take
        self._first = first
        self._parser = safexml.expat_parser(namespaces=True)
        self._marked = _Marked(always=everything)
        self._hot = False
        self._fired = False

    def take(self, block: bytes) -> None:
        """Take the next block; raises ``XmlError``."""
        of_interest = self._marked.has(block)
        # A block that is passed over is parsed only in C, at a tenth of the cost.
        self._parser.StartElementHandler = self._start if of_interest or self._hot else None
        if not of_interest and not self._hot:
            self._first = None
        self._fired = False
        safexml.feed_block(self._parser, block, final=False)
        # A tag that the block's end cuts in two comes with a later block.
        self._hot = of_interest or (self._hot and not self._fired)

    def end(self) -> None:
        """End the document; raises ``XmlError``."""
        self._parser.StartElementHandler = self._start if self._hot else None
        safexml.feed_block(self._parser, b"", final=True)
        self._parser.StartElementHandler = None  # with which it would stay until a collection of cycles

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._fired = True
        namespace, _, local = name.rpartition(" ")
        if namespace == METS:
            self._take(local, attributes, self._parser.CurrentLineNumber)
            if local in _LEFT_OUT:
                self._first = None
            elif self._first is not None:
                self._first(local, attributes, self._parser.CurrentLineNumber)


class _Marked:
    """The search for blocks that may hold a start tag of interest, by bytes only."""

    def __init__(self, *, always: bool) -> None:
        self._always = always
        self._before = b""

    def has(self, block: bytes) -> bool:
        """Return whether the next block may hold such a tag, or the end of one."""
        if self._always:
            return True
        joined = self._before + block
        # Marks are ASCII: with two bytes a character none can be found. The sections at the end are of
        # interest whole.
        self._always = b"\0" in joined or any(each in joined for each in _SECTIONS)
        self._before = joined[-_LONGEST_MARK:]
        return (
            self._always
            or any(mark in joined for mark in _MARKS)
            or joined.count(_LOCTYPE) != joined.count(_USUAL)
        )
