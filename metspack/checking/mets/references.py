"""Check references by ID within a METS document, OTHER kinds, and hrefs against LOCTYPE.

That a FILEID names a file and that no ID occurs twice is checked elsewhere, with the files themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from metspack import safexml
from metspack.checking.catalogue import Batch
from metspack.checking.codes import Code
from metspack.files import tempdb
from metspack.limits import Budgets
from metspack.mets import reader
from metspack.mets.reader import XLINK, Reader
from metspack.mets.schema import Blocks
from metspack.model import Finding
from metspack.uris import CHARACTERS, URN

_METADATA = frozenset({"techMD", "rightsMD", "sourceMD", "digiprovMD", "amdSec"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """The elements that an attribute may refer to, and the name for them in messages."""

    elements: frozenset[str]
    called: str


_TARGETS = {
    "ADMID": _Target(elements=_METADATA, called="administrative metadata"),
    "DMDID": _Target(elements=frozenset({"dmdSec"}), called="a dmdSec"),
    "STRUCTID": _Target(elements=frozenset({"div", "structMap"}), called="a div"),
    "TRANSFORMBEHAVIOR": _Target(elements=frozenset({"behavior"}), called="a behavior"),
}
_OTHERS = {
    **dict.fromkeys(("FLocat", "mptr", "mechanism", "interfaceDef"), ("LOCTYPE",)),
    "mdRef": ("LOCTYPE", "MDTYPE"),
    "mdWrap": ("MDTYPE",),
    "agent": ("ROLE", "TYPE"),
}
"""The attributes of elements that may be OTHER, which another attribute then names."""
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

_BASE = "http://www.w3.org/XML/1998/namespace base"
_NO_BASE = {"", ".", "./"}
_LEFT_OUT = frozenset({"file", "fptr", "div"})  # many, and rarely referred to

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
_FAULTS = (
    "SELECT code, line, attribute, element, value, other, count FROM fault ORDER BY line, code, attribute"
)

_IDS, _LABELS, _GROUPS = 0, 1, 2  # scopes: IDs, xlink:labels of divs, and from 2 the labels of each smLinkGrp


class References(tempdb.Scratch):
    """The references and IDs of one document, whose elements ``take`` gets; a context manager.

    ``name`` is the document's path in findings. IDs are kept on disk, as hashes. Raises ``sqlite3.Error``
    when the disk is full.
    """

    def __init__(self, name: str, budgets: Budgets) -> None:
        super().__init__("BEGIN", schema=_SCHEMA)
        self._name = name
        self._budgets = budgets
        self._batch = Batch(self._database.executemany)
        self._put = self._batch.add
        self._fault: safexml.XmlError | None = None
        self._group = _LABELS  # the last smLinkGrp

    def take(self, element: str, attributes: dict[str, str], at: Reader) -> None:
        """Take the next element; elements in runs have no references and may be left out."""
        try:
            stated = at.expanded(attributes)
        except safexml.XmlError as error:  # a namespace prefix without its declaration
            self._fault = self._fault or error
            return
        if element not in _LEFT_OUT:
            self._keep_target(element, stated)
        self._keep_references(element, stated, at.line)
        if stated.get(_BASE, "").strip() not in _NO_BASE:
            self._put(_PUT_FAULT, Code.XML_BASE.id, "xml:base", element, stated[_BASE], "", at.line)
        for attribute in _OTHERS.get(element, ()):
            self._keep_kind(element, stated, attribute, at.line)

    def findings(self, blocks: Blocks) -> Iterator[Finding]:
        """Yield the findings after the last block.

        A document with references to other elements than sections is read once more for its IDs. Equal
        faults are one finding, with the first line.
        """
        if self._fault is not None:
            yield Code.NOT_WELL_FORMED.at(self._name, self._fault.line, reason=self._fault.message)
            return
        self._batch.flush()
        if next(self._unmet(), None) is not None:
            self._group = _LABELS
            for _ in reader.read(blocks(), self._budgets, watch=self._take_target):
                pass
            self._batch.flush()
        yield from self._unmet()
        yield from self._faults()

    def _take_target(self, element: str, attributes: dict[str, str], at: Reader) -> None:
        self._keep_target(element, at.expanded(attributes))

    def _keep_target(self, element: str, attributes: dict[str, str]) -> None:
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

    def _keep_references(self, element: str, attributes: dict[str, str], line: int) -> None:
        for attribute in _TARGETS.keys() & attributes.keys():
            for value in attributes[attribute].split():
                hashed = _hash(value.removeprefix("#"))  # the schema reports the hash
                self._put(_PUT_REFERENCE, _IDS, hashed, attribute, element, value, line)
        if element in {"smLink", "smArcLink"}:
            scope = _LABELS if element == "smLink" else self._group
            for end in ("from", "to"):
                if (label := attributes.get(f"{XLINK} {end}")) is not None:
                    self._put(_PUT_REFERENCE, scope, _hash(label), f"xlink:{end}", element, label, line)

    def _keep_kind(self, element: str, attributes: dict[str, str], attribute: str, line: int) -> None:
        """Keep the fault of an unnamed OTHER, or of a location in another form than its LOCTYPE."""
        value, other = attributes.get(attribute, ""), f"OTHER{attribute}"
        named = bool(attributes.get(other, "").strip())
        if value == "OTHER" and not named:
            self._put(_PUT_FAULT, Code.OTHER_UNNAMED.id, attribute, element, value, other, line)
        elif value and value != "OTHER" and named:
            self._put(_PUT_FAULT, Code.OTHER_UNUSED.id, attribute, element, value, other, line)
        if attribute == "LOCTYPE" and value in _FORMS and not (value == "URL" and element in _BY_PATH):
            href = attributes.get(f"{XLINK} href")
            if href is not None and not _FORMS[value].fullmatch(href.strip()):
                self._put(_PUT_FAULT, Code.HREF_NOT_OF_LOCTYPE.id, "xlink:href", element, href, value, line)

    def _unmet(self) -> Iterator[Finding]:
        for line, attribute, element, value, count, met in self.rows(_UNMET):
            facts = {"attribute": attribute, "element": element, "found": value, "count": f"{count:,}"}
            if met is None:
                yield Code.REFERENCE_DANGLING.at(self._name, line, value, **facts)
            elif (target := _TARGETS.get(attribute)) is not None and met not in target.elements:
                yield Code.REFERENCE_KIND.at(self._name, line, value, expected=target.called, **facts)

    def _faults(self) -> Iterator[Finding]:
        for id_, line, attribute, element, value, other, count in self.rows(_FAULTS):
            code = Code.named(id_)
            if code is Code.HREF_NOT_OF_LOCTYPE:
                facts = {"href": value, "element": element, "expected": other}
            elif code is Code.XML_BASE:
                facts = {"element": element, "found": value, "count": f"{count:,}"}
            else:
                facts = {"attribute": attribute, "element": element, "expected": other, "count": f"{count:,}"}
                facts |= {"found": value} if code is Code.OTHER_UNUSED else {}
            yield code.at(self._name, line, **facts)


def _hash(value: str) -> int:
    return int.from_bytes(blake2b(value.encode(), digest_size=8).digest(), "big", signed=True)
