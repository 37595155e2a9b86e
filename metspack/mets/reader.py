"""Read a METS document of any dialect as a stream of facts, in flat memory.

Values are as written and unchecked; absent ones are None. Callers combine the facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any

from metspack import safexml
from metspack.errors import MetspackError
from metspack.limits import Budgets
from metspack.mets import UNREAD, is_top_mets_name
from metspack.mets.links import Mptr, div_labels
from metspack.safexml import Allowance

METS = "http://www.loc.gov/METS/"
XLINK = "http://www.w3.org/1999/xlink"
SIP = "https://DILCIS.eu/XML/METS/SIPExtensionMETS"

PREMIS_2 = "info:lc/xmlns/premis-v2"
PREMIS_3 = "http://www.loc.gov/premis/v3"

_BOUND = {
    "": "",
    "xml": "http://www.w3.org/XML/1998/namespace",
    "xmlns": "http://www.w3.org/2000/xmlns/",
}  # the prefixes that are bound without a declaration (Namespaces in XML, 3)
_HREF = f"{XLINK} href"
_FORMAT = {
    f"{SIP} FORMATREGISTRY": "format_registry",
    f"{SIP} FORMATREGISTRYKEY": "format_key",
}
_PREFIX = f"{METS} "
_METS = f"{_PREFIX}mets"
FILE = f"{_PREFIX}file"
FPTR = f"{_PREFIX}fptr"
MPTR = f"{_PREFIX}mptr"
_GROUP = f"{_PREFIX}fileGrp"
DIV = f"{_PREFIX}div"
_AGENT = f"{_PREFIX}agent"
_NAME = f"{_PREFIX}name"
_NOTE = f"{_PREFIX}note"
_CODE = "IDENTIFICATIONCODE"
_OF_AGENTS = frozenset({_AGENT, _NAME, _NOTE})
_AMD = f"{_PREFIX}amdSec"
_DATA = f"{_PREFIX}xmlData"
_TECHNICAL = frozenset({f"{_PREFIX}techMD", f"{_PREFIX}digiprovMD"})
_PREMIS = frozenset({PREMIS_2, PREMIS_3, "http://www.loc.gov/standards/premis/v1"})
_FIXITY = frozenset({"messageDigestAlgorithm", "messageDigest", "size"})
_FILES = frozenset({FILE, f"{_PREFIX}mdRef"})
# Locations that a network or a registry would resolve; a scheme of one letter is a drive.
_ELSEWHERE = re.compile(r"\s*(?!file:)[a-z][a-z0-9+.-]+:", re.IGNORECASE)
_OTHERS = 10  # the most further locations of one file, and digests of one object
_OTHER_ELEMENTS = "agents, fileGrp and elements that METS has not"
_NAMES_KEPT = 1_000  # the most resolved names in memory; a METS has a few dozen


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """The ``mets`` element; ``attributes`` are all of its attributes, by their names as written."""

    objid: str | None
    type: str | None
    profile: str | None
    label: str | None
    line: int
    attributes: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetsHeader:
    """The attributes of ``metsHdr``, by their names as written."""

    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An ``agent`` of ``metsHdr``; ``role`` is its OTHERROLE, or else its ROLE.

    ``code`` is its note with the identification code (CSIP15), "" without one.
    """

    type: str
    role: str
    name: str
    notes: tuple[str, ...]
    line: int = field(default=0, compare=False)
    code: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StructMap:
    """The beginning of a ``structMap``."""

    type: str | None
    label: str | None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A ``file`` or ``mdRef`` (the name is in ``element``), with its location.

    ``groups`` are the IDs and USEs of the ``fileGrp`` elements around it, outermost first. ``href`` is that
    of the first ``FLocat`` that may be a path, or else of the first with an href; ``others`` are further ones
    that may be paths. ``embedded``: it has an ``FContent``. ``line`` is that of the start tag.
    ``format_registry`` and ``format_key`` are E-ARK's attributes of a file (SIP34, SIP35), ``mdtype`` is the
    MDTYPE of an ``mdRef``, ``admid`` the ADMID of a ``file``.
    """

    element: str
    id: str | None
    groupid: str | None
    seq: str | None
    groups: tuple[str, ...]
    size: str | None
    checksum: str | None
    checksum_type: str | None
    mimetype: str | None
    href: str | None
    loctype: str | None
    embedded: bool
    line: int
    others: tuple[str, ...] = ()
    format_registry: str | None = None
    format_key: str | None = None
    mdtype: str | None = None
    admid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fptr:
    """An ``fptr``, or an ``area`` in one, that has a FILEID.

    ``div`` is the number of the innermost div in the document, as in ``Mptr``.
    """

    fileid: str
    line: int
    div: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """An element other than ``file`` and ``mdRef`` with an ``ID``."""

    id: str
    element: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedObject:
    """A PREMIS object with fixity in a ``techMD`` or ``digiprovMD`` that is not superseded.

    ``ids`` are the IDs of that section and of the ``amdSec`` around it, to which files refer (ADMID);
    ``digests`` are pairs of algorithm and digest.
    """

    ids: tuple[str, ...]
    digests: tuple[tuple[str, str], ...]
    size: str
    line: int


Watch = Callable[[str, dict[str, str], "Reader"], None]
"""Called at the start of METS elements with name, attributes as written, and the reader."""

Fact = Root | MetsHeader | Agent | File | StructMap | Mptr | Fptr | Identified | StatedObject


_METS2 = "{http://www.loc.gov/METS/v2}mets"


class NotMets(safexml.XmlError):
    """A well-formed document with another root than METS: ``found``, as ``{namespace}name``."""

    def __init__(self, found: str, *, line: int) -> None:
        what = (
            f"the root element is {found!r}"
            if found != _METS2
            else "it is METS 2.0, which metspack does not read yet"
        )
        super().__init__(
            f"{what}, expected {f'{{{METS}}}mets'!r}",
            hint="This document is not METS 1.",
            line=line,
            column=1,
        )
        self.found = found

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(NotMets, line=self.line), (self.found,)


def read(
    blocks: Iterable[bytes], budgets: Budgets | None = None, *, watch: Watch | None = None
) -> Iterator[Fact]:
    """Yield a METS document's facts in document order, a ``File`` or ``Agent`` at its end tag.

    ``Root`` comes first. Raises ``safexml.XmlError`` for a document that is not well-formed, ``DoctypeError``
    for a DTD, ``NotMets`` for another root, ``BudgetError`` for more of something than ``budgets`` allow; the
    facts before the error are yielded first. ``watch`` is called with all METS elements.
    """
    with closing(Reader(budgets or Budgets(), watch)) as reader:
        for block in blocks:
            yield from reader.take(block, final=False)
        yield from reader.take(b"", final=True)


def head(blocks: Iterable[bytes], budgets: Budgets | None = None) -> list[Fact]:
    """Return the facts of a METS document's root, header and agents; raises as ``read``."""
    return list(takewhile(lambda fact: isinstance(fact, Root | MetsHeader | Agent), read(blocks, budgets)))


class Reader:
    """A reader of one document, block by block, by handlers of expat."""

    def __init__(self, budgets: Budgets, watch: Watch | None = None) -> None:
        self._budgets = budgets
        self._watch = watch
        self._found: list[Fact] = []
        self._fault: safexml.XmlError | None = None
        self._depth = 0
        # Each scope: depth, namespaces by prefix, and names that were resolved in it.
        self._scopes: list[tuple[int, dict[str, str], dict[str, str]]] = [(0, _BOUND, {})]
        self._groups: list[str] = []
        self._group_marks: list[int] = []
        self._files: list[_OpenFile] = []
        self._agent: _OpenAgent | None = None
        self._text = ""
        self._amd: str | None = None
        self._section: tuple[str, ...] | None = None  # the IDs of a section of metadata around PREMIS
        self._object: _OpenObject | None = None
        self._structmap: tuple[str | None, str | None] = (None, None)
        self._divs: list[tuple[str | None, str | None, int]] = []
        self._divs_seen = 0
        self._parser = safexml.expat_parser()
        self._fed = 0  # bytes
        self._mptrs = Allowance("mptr", budgets.links, "links", self._parser)
        self._others = Allowance(_OTHER_ELEMENTS, budgets.others, "others", self._parser)
        self._wrapped = 0  # the number of open xmlData, whose content is no METS
        self._starts = {
            f"{_PREFIX}metsHdr": self._header,
            _AMD: self._open_amd,
            **dict.fromkeys(_TECHNICAL, self._open_section),
            _DATA: self._open_data,
            _AGENT: self._open_agent,
            _NAME: self._open_text,
            _NOTE: self._open_text,
            _GROUP: self._group,
            FILE: self._file,
            f"{_PREFIX}FLocat": self._location,
            f"{_PREFIX}FContent": self._content,
            f"{_PREFIX}mdRef": self._reference,
            f"{_PREFIX}structMap": self._struct_map,
            DIV: self._div,
            MPTR: self._mptr,
            FPTR: self._fptr,
            f"{_PREFIX}area": self._fptr,
        }
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def take(self, block: bytes, *, final: bool) -> Iterator[Fact]:
        """Yield the facts in the next bytes, the last with ``final``; raises as ``read``."""
        yield from self._parse(block, final=final)
        self._check_bounds(len(block))

    def close(self) -> None:
        """Remove all handlers: they refer to this reader, which would stay in memory with its parser."""
        self._parser.StartElementHandler = self._parser.EndElementHandler = None
        self._parser.CharacterDataHandler = self._parser.XmlDeclHandler = None
        self._parser.StartDoctypeDeclHandler = None
        self._starts.clear()
        self._watch = None

    def _parse(self, block: bytes, *, final: bool) -> Iterator[Fact]:
        self._found = []
        try:
            self._fed += len(block)
            safexml.feed_block(self._parser, block, final=final)
        except safexml.XmlError as error:
            self._fault = error
        yield from self._found
        if self._fault is not None:
            raise self._fault

    def _check_bounds(self, size: int) -> None:
        """Raise ``BudgetError`` for too many names, and for a tag longer than the budget.

        ``size`` is the number of bytes of the last block, in which the tag may still be open.
        """
        if len(self._parser.intern) > (most := self._budgets.names):
            raise safexml.exceeded(
                f"elements and attributes have more than {most:,} different names", "names", self._parser
            )
        # The index is -1 while expat defers parsing: then a later block shows the length.
        if 0 <= self._parser.CurrentByteIndex < self._fed - self._budgets.attribute - size:
            why = f"a tag or comment is longer than {self._budgets.attribute:,} bytes"
            raise safexml.exceeded(why, "attribute", self._parser)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > self._budgets.depth:
            raise safexml.exceeded(
                f"elements are nested more than {self._budgets.depth} deep", "depth", self._parser
            )
        if attributes and "xmlns" in "".join(attributes):
            self._declare(attributes)
        local = self._scopes[-1][2].get(name) or self._name(name)
        if self._depth == 1:
            self._root(local, attributes)
        elif not local.startswith(_PREFIX):
            self._take_other()
            if self._section is not None:
                self._open_premis(local)
            return
        elif (handle := self._starts.get(local)) is not None:
            handle(attributes)
        elif local.removeprefix(_PREFIX) not in UNREAD:
            self._take_other()
        if (identifier := attributes.get("ID")) is not None and local not in _FILES:
            element = local.removeprefix(_PREFIX)
            self._found.append(Identified(id=identifier, element=element, line=self.line))
        if self._watch is not None:
            self._watch(local.removeprefix(_PREFIX), attributes, self)

    def _end(self, name: str) -> None:
        local = self._scopes[-1][2].get(name) or self._name(name)
        if local == FILE:
            self._found.append(self._files.pop().fact())
        elif local == _GROUP:
            del self._groups[self._group_marks.pop() :]
        elif local == DIV:
            self._divs.pop()
        elif self._agent is not None and local in _OF_AGENTS:
            self._close_agent(self._agent, local)
        elif local == _DATA:
            self._wrapped -= 1
        elif self._section is not None:
            self._close_premis(local)
        if self._scopes[-1][0] == self._depth:
            self._scopes.pop()
        self._depth -= 1

    @property
    def line(self) -> int:
        """The line of the last tag."""
        return self._parser.CurrentLineNumber

    def expanded(self, attributes: dict[str, str]) -> dict[str, str]:
        """Return attributes by ``namespace name`` in place of their names; raises ``XmlError``."""
        if ":" not in "".join(attributes):
            return attributes
        return {self._name(name) if ":" in name else name: value for name, value in attributes.items()}

    def _declare(self, attributes: dict[str, str]) -> None:
        """Open a scope if an element declares namespaces."""
        names = (each for each in attributes if f"{each}:".startswith("xmlns:"))
        if declared := {each[6:]: attributes[each] for each in names}:
            self._scopes.append((self._depth, self._scopes[-1][1] | declared, {}))

    def _name(self, raw: str) -> str:
        """Return ``namespace name`` for a name as written."""
        _, namespaces, names = self._scopes[-1]
        expanded = names.get(raw)
        if expanded is None:
            prefix, _, local = raw.rpartition(":")
            if prefix not in namespaces:
                raise safexml.XmlError(
                    f"not well-formed: the namespace prefix {prefix!r} is not declared",
                    line=self.line,
                    column=self._parser.CurrentColumnNumber + 1,
                )
            if len(names) >= _NAMES_KEPT:
                names.clear()
            expanded = names[raw] = f"{namespaces[prefix]} {local}"
        return expanded

    def _href(self, attributes: dict[str, str]) -> str | None:
        """Return the value of ``xlink:href`` with any prefix, or else of another ``href``.

        An ``href`` without its namespace, or with a misspelt one, counts as a link; validation reports it.
        """
        other = attributes.get("href")
        for name, value in attributes.items():
            if name.endswith(":href"):
                if self._name(name) == _HREF:
                    return value
                other = value
        return other

    def _root(self, name: str, attributes: dict[str, str]) -> None:
        if name != _METS:
            namespace, _, local = name.partition(" ")
            raise NotMets(f"{{{namespace}}}{local}" if namespace else local, line=self.line)
        self._found.append(
            Root(
                objid=attributes.get("OBJID"),
                type=attributes.get("TYPE"),
                profile=attributes.get("PROFILE"),
                label=attributes.get("LABEL"),
                line=self.line,
                attributes=attributes,
            )
        )

    def _header(self, attributes: dict[str, str]) -> None:
        self._found.append(MetsHeader(attributes=attributes))

    def _open_agent(self, attributes: dict[str, str]) -> None:
        self._take_other()
        self._agent = _OpenAgent(attributes, self.line)

    def _open_text(self, attributes: dict[str, str]) -> None:
        if self._agent is not None:
            types = (value for name, value in attributes.items() if name.rpartition(":")[2] == "NOTETYPE")
            self._agent.note_type = next(types, "")
            # Set only now: calls for the white space between millions of elements would take long.
            self._parser.CharacterDataHandler = self._add_text

    def _add_text(self, text: str) -> None:
        self._text += text[: max(0, self._budgets.attribute - len(self._text))]

    def _close_agent(self, agent: _OpenAgent, local: str) -> None:
        self._parser.CharacterDataHandler = None
        if local == _NAME:
            agent.name = agent.name or self._text
        elif local == _NOTE:
            if agent.size < self._budgets.attribute:
                agent.notes.append(self._text)
                agent.code = agent.code or (self._text if agent.note_type == _CODE else "")
                agent.size += 1 + len(self._text)
        else:
            self._found.append(agent.fact())
            self._agent = None
        self._text = ""

    def _take_other(self) -> None:
        if not self._wrapped:
            self._others.take()

    def _open_data(self, _attributes: dict[str, str]) -> None:
        self._wrapped += 1

    def _open_amd(self, attributes: dict[str, str]) -> None:
        self._amd = attributes.get("ID")

    def _open_section(self, attributes: dict[str, str]) -> None:
        is_old = attributes.get("STATUS", "").strip().lower() == "superseded"
        ids = (attributes.get("ID"), self._amd)
        self._section = None if is_old else tuple(each.strip() for each in ids if each is not None)

    def _open_premis(self, name: str) -> None:
        namespace, _, local = name.partition(" ")
        if namespace not in _PREMIS:
            return
        if local == "object":
            self._object = _OpenObject(self.line)
        elif self._object is not None and local in _FIXITY:
            self._text = ""
            self._parser.CharacterDataHandler = self._add_text

    def _close_premis(self, name: str) -> None:
        namespace, _, local = name.partition(" ")
        if name in _TECHNICAL:
            self._section = self._object = None
        elif self._object is None or namespace not in _PREMIS:
            return
        elif local == "object":
            if self._section and self._object.has_fixity:
                self._found.append(self._object.fact(self._section))
            self._object = None
        elif local in _FIXITY:
            self._parser.CharacterDataHandler = None
            self._object.take(local, self._text.strip())
            self._text = ""

    def _group(self, attributes: dict[str, str]) -> None:
        self._take_other()
        self._group_marks.append(len(self._groups))
        self._groups += [attributes[name] for name in ("ID", "USE") if name in attributes]

    def _file(self, attributes: dict[str, str]) -> None:
        file = _OpenFile("file", attributes, tuple(self._groups), self.line)
        if SIP in self._scopes[-1][1].values():
            file.format = self._format(attributes)
        self._files.append(file)

    def _format(self, attributes: dict[str, str]) -> dict[str, str]:
        """Return the values of E-ARK's attributes of a file, by the field of ``File``."""
        prefixed = ((self._name(name), value) for name, value in attributes.items() if ":" in name)
        return {_FORMAT[name]: value for name, value in prefixed if name in _FORMAT}

    def _location(self, attributes: dict[str, str]) -> None:
        if self._files and (href := self._href(attributes)) is not None:
            # With several locations, as of copies, one that may be in the package is preferred.
            is_last = _ELSEWHERE.match(href) is not None, "href" in attributes
            file = self._files[-1]
            is_first = file.href is None or is_last < file.is_last
            if file.href is not None and not (is_last[0] or file.is_last[0]) and len(file.others) < _OTHERS:
                file.others += (file.href if is_first else href,)
            if is_first:
                file.href, file.loctype, file.is_last = href, attributes.get("LOCTYPE"), is_last

    def _content(self, _attributes: dict[str, str]) -> None:
        if self._files:
            self._files[-1].embedded = True

    def _reference(self, attributes: dict[str, str]) -> None:
        reference = _OpenFile("mdRef", attributes, (), self.line)
        reference.href = self._href(attributes)
        reference.loctype = attributes.get("LOCTYPE")
        self._found.append(reference.fact())

    def _struct_map(self, attributes: dict[str, str]) -> None:
        self._structmap = attributes.get("TYPE"), attributes.get("LABEL")
        self._found.append(StructMap(type=self._structmap[0], label=self._structmap[1], line=self.line))

    def _div(self, attributes: dict[str, str]) -> None:
        self._divs_seen += 1
        self._divs.append((attributes.get("LABEL"), attributes.get("ORDER"), self._divs_seen))

    def _mptr(self, attributes: dict[str, str]) -> None:
        self._mptrs.take()
        self._found.append(
            Mptr(
                href=self._href(attributes),
                loctype=attributes.get("LOCTYPE"),
                otherloctype=attributes.get("OTHERLOCTYPE"),
                contentids=attributes.get("CONTENTIDS"),
                structmap_type=self._structmap[0],
                structmap_label=self._structmap[1],
                div_labels=div_labels(self._structmap[1], self._divs),
                line=self.line,
                order=self._divs[-1][1] if self._divs else None,
                div=self._divs[-1][2] if self._divs else 0,
                within=self._divs[-2][2] if len(self._divs) > 1 else 0,
            )
        )

    def _fptr(self, attributes: dict[str, str]) -> None:
        if (fileid := attributes.get("FILEID")) is not None:
            div = self._divs[-1][2] if self._divs else 0
            self._found.append(Fptr(fileid=fileid, line=self.line, div=div))


@dataclass(slots=True)
class _OpenAgent:
    """An ``agent`` element that has not ended yet."""

    attributes: dict[str, str]
    line: int
    name: str = ""
    notes: list[str] = field(default_factory=list)
    size: int = 0
    note_type: str = ""
    code: str = ""

    def fact(self) -> Agent:
        value = self.attributes.get
        role = value("OTHERROLE") or value("ROLE", "")
        return Agent(
            type=value("TYPE", ""),
            role=role,
            name=self.name,
            notes=tuple(self.notes),
            line=self.line,
            code=self.code,
        )


class _OpenObject:
    """An object of PREMIS that has not ended yet."""

    def __init__(self, line: int) -> None:
        self.line = line
        self._algorithm = self._size = ""
        self._digests: list[tuple[str, str]] = []

    @property
    def has_fixity(self) -> bool:
        return bool(self._digests or self._size)

    def take(self, name: str, text: str) -> None:
        if name == "size":
            self._size = self._size or text
        elif name == "messageDigestAlgorithm":
            self._algorithm = text
        elif len(self._digests) < _OTHERS:
            self._digests.append((self._algorithm, text))

    def fact(self, ids: tuple[str, ...]) -> StatedObject:
        return StatedObject(ids=ids, digests=tuple(self._digests), size=self._size, line=self.line)


@dataclass(slots=True)
class _OpenFile:
    """A ``file`` element that has not ended yet.

    ``is_last``: its location is elsewhere; its location is not an XLink.
    """

    element: str
    attributes: dict[str, str]
    groups: tuple[str, ...]
    line: int
    href: str | None = None
    loctype: str | None = None
    is_last: tuple[bool, bool] = (False, False)
    others: tuple[str, ...] = ()
    embedded: bool = False
    format: Mapping[str, str] = field(default_factory=dict)

    def fact(self) -> File:
        value = self.attributes.get
        return File(
            element=self.element,
            id=value("ID"),
            groupid=value("GROUPID"),
            seq=value("SEQ"),
            groups=self.groups,
            size=value("SIZE"),
            checksum=value("CHECKSUM"),
            checksum_type=value("CHECKSUMTYPE"),
            mimetype=value("MIMETYPE"),
            mdtype=value("MDTYPE"),
            admid=value("ADMID") if self.element == "file" else None,
            href=self.href,
            loctype=self.loctype,
            embedded=self.embedded,
            line=self.line,
            others=self.others,
            **self.format,
        )


# --- The identity of a package by its METS ------------------------------------------------------------------

_PROFILES = (
    (re.compile(r"e-?ark-?sip(?!-root)", re.IGNORECASE), "E-ARK SIP"),
    (re.compile(r"e-?ark-?aip", re.IGNORECASE), "E-ARK AIP"),
    (re.compile(r"e-?ark-?dip", re.IGNORECASE), "E-ARK DIP"),
    (re.compile(r"e-?ark-?csip|dilcis", re.IGNORECASE), "E-ARK"),
)
_INDEX = re.compile(r"SIARD.* INDEX", re.IGNORECASE)
_OAIS = "OAISPACKAGETYPE"
_RECOMMENDED = "package of the recommendation on external LOBs"
_MAKERS = 10
_MOST_FACTS = 1_000  # the most facts that are read for header and agents
_VERSION = re.compile(r"v?[0-9][\w.+-]{0,39}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The OBJID, kind (in words) and maker of a package; empty with an unreadable METS.

    ``makers`` are all its creators, software with its version; ``made`` is its CREATEDATE as written.
    """

    objid: str = ""
    kind: str = ""
    software: str = ""
    makers: tuple[str, ...] = ()
    made: str = ""


def identity(document: Iterable[bytes], name: str, budgets: Budgets | None = None) -> Identity:
    """Return a package's identity from the root and header of its METS; raises OSError only."""
    root: Root | None = None
    oais = software = made = ""
    makers: dict[str, None] = {}
    with suppress(MetspackError):
        for number, fact in enumerate(read(document, budgets)):
            if isinstance(fact, Root):
                root = fact
            elif isinstance(fact, MetsHeader):
                found = (value for key, value in fact.attributes.items() if key.rpartition(":")[2] == _OAIS)
                oais = next(found, "")
                made = fact.attributes.get("CREATEDATE", "").strip()
            elif number > _MOST_FACTS or not isinstance(fact, Agent | Identified):
                break
            elif isinstance(fact, Agent) and fact.role == "CREATOR" and (name_given := fact.name.strip()):
                is_software = fact.type == "OTHER"
                software = software or (name_given if is_software else "")
                if len(makers) < _MAKERS:
                    makers[_versioned(name_given, fact.notes) if is_software else name_given] = None
    if root is None:
        return Identity()
    kind = _spec(root, oais.strip(), name)
    kind = f"{kind} by {software}" if software and kind != _RECOMMENDED else kind
    objid = (root.objid or "").strip()
    return Identity(objid=objid, kind=kind, software=software, makers=tuple(makers), made=made)


def _versioned(software: str, notes: Iterable[str]) -> str:
    """Return the name of software with its version, if one of its notes is a version."""
    for note in (" ".join(each.split()).removeprefix(software).strip() for each in notes):
        if _VERSION.fullmatch(note):
            return f"{software} {note}"
    return software


def _spec(root: Root, oais: str, name: str) -> str:
    found = next((word for form, word in _PROFILES if form.search(root.profile or "")), "")
    if found or oais:
        return f"E-ARK {oais}" if oais and found in {"", "E-ARK"} else found
    if _INDEX.search(root.type or ""):
        return _RECOMMENDED
    return "Archivematica AIP" if is_top_mets_name(name) else "METS"
