"""Check the metadata files that METS documents name (mdRef): form, kind, PREMIS content.

PREMIS statements on a file are compared with those of METS, manifests and cells; no file is read for them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, compress, islice, takewhile
from operator import itemgetter
from typing import Any

from metspack import digests, safexml, uris
from metspack.checking.catalogue import PUT_OBJECT, Catalogue
from metspack.checking.codes import Code
from metspack.checking.files.listed import source_of
from metspack.checking.mets.documents import of_opening
from metspack.checking.reconciliation import DifferenceError
from metspack.checking.tree import CheckedTree
from metspack.containers.ipreader import Content
from metspack.errors import MetspackError
from metspack.files.paths import shown
from metspack.mets import MDTYPES, MDTYPES_BY_ROOT
from metspack.mets.reader import File
from metspack.model import LONGEST, Finding

_PREMIS, _DC = "PREMIS", "DC"
_OBJECT, _IDENTIFIER, _LOCATION, _SIZE = "object", "objectIdentifierValue", "contentLocationValue", "size"
_ALGORITHM, _DIGEST = "messageDigestAlgorithm", "messageDigest"
_BOUNDS = frozenset({_OBJECT, "event", "agent", "rights"})  # each ends the object before it
_OF_PREMIS = (*_BOUNDS, _IDENTIFIER, _LOCATION, _SIZE, _ALGORITHM, _DIGEST)
_KINDS = frozenset(MDTYPES.values())

_FILES = """
SELECT e.mets, e.path, e.mdtype, e.mimetype, m.path, m.folder, e.line
FROM entry e INDEXED BY entry_metadata JOIN mets m ON m.id = e.mets
JOIN disk d ON d.path = e.path AND d.kind = 'f'
WHERE e.element = 'mdRef' GROUP BY e.path ORDER BY min(e.id)
"""
# Objects are compared with at most a hundred statements on a file: no package has more, and for very many
# objects on a file with very many statements the work would be the product.
_RANKED = """(SELECT * FROM (
    SELECT x.*, row_number() OVER (PARTITION BY {0}) AS rank FROM (SELECT DISTINCT {1} FROM object) d
    CROSS JOIN {2} x ON {3}
) WHERE rank <= 100)"""
_OF_ID = "x.mets = d.mets AND x.xml_id = d.xml_id"
_BY_PATH = _RANKED.format("x.path", "path", "entry", "x.path = d.path")
_BY_ID = _RANKED.format("x.mets, x.xml_id", "mets, xml_id", "entry", _OF_ID)
_LINES = _RANKED.format("x.path, x.manifest", "path", "listed", "x.path = d.path")
_CELLS = _RANKED.format("x.path", "path", "cell", "x.path = d.path AND NOT x.inside")
_LOCATED = f"""
SELECT o.document, o.line, o.size, o.algorithm, o.digest, e.path, e.size AS expected, e.algorithm AS kind,
    e.digest AS value, e.mets, e.line AS place FROM {_BY_PATH} e CROSS JOIN object o ON o.path = e.path
UNION ALL
SELECT o.document, o.line, o.size, o.algorithm, o.digest, e.path, e.size, e.algorithm, e.digest, e.mets,
    e.line FROM {_BY_ID} e CROSS JOIN object o ON o.mets = e.mets AND o.xml_id = e.xml_id
WHERE o.path IS NULL OR NOT EXISTS (SELECT 1 FROM entry n WHERE n.path = o.path)
"""  # noqa: S608 -- constants
_SIZES = f"""
SELECT document, min(line), count(*), path, '', size || ' bytes', expected, mets, place FROM ({_LOCATED})
WHERE size <> expected GROUP BY document
"""  # noqa: S608 -- a constant
# A split LOB's whole is no file: its parts have its bytes, and are read with the statements on them.
_WHOLE_SIZES = """
SELECT document, min(line), count(*), NULL, '', size || ' bytes', parts, NULL, 'its parts' FROM (
    SELECT o.document, o.line, o.size, sum(d.size) AS parts, count(*) AS found,
        (SELECT count(*) FROM piece n WHERE n.whole = o.xml_id AND n.origin = p.origin) AS named
    FROM object o JOIN piece p ON p.whole = o.xml_id AND p.origin IN (0, 3)
    JOIN disk d ON d.path = p.path AND d.kind = 'f' WHERE o.path IS NULL AND o.size IS NOT NULL
    GROUP BY o.id
) WHERE size <> parts AND found = named GROUP BY document
"""
_PUT_WHOLES = """
INSERT INTO statement (source, xml_id, document, line, algorithm, digest)
SELECT 'whole', o.xml_id, o.document, o.line, o.algorithm, o.digest FROM object o
WHERE o.path IS NULL AND o.algorithm IS NOT NULL
AND EXISTS (SELECT 1 FROM piece p WHERE p.whole = o.xml_id AND p.origin IN (0, 3)) ORDER BY o.id
"""
# Digests that only PREMIS states are compared with the files, when those are read.
_PUT_APART = f"""
INSERT INTO statement (source, path, line, document, algorithm, digest)
WITH p AS MATERIALIZED (
    SELECT o.path, o.line, o.document, o.algorithm, o.digest FROM object o
    WHERE o.path IS NOT NULL AND o.algorithm IS NOT NULL
    UNION ALL
    SELECT e.path, o.line, o.document, o.algorithm, o.digest FROM {_BY_ID} e
    CROSS JOIN object o ON o.mets = e.mets AND o.xml_id = e.xml_id
    WHERE o.path IS NULL AND e.path IS NOT NULL AND o.algorithm IS NOT NULL
), d AS MATERIALIZED (SELECT DISTINCT path FROM p), stated AS MATERIALIZED (
    SELECT e.path, e.algorithm FROM d CROSS JOIN entry e ON e.path = d.path
    UNION SELECT l.path, f.algorithm FROM d CROSS JOIN listed l ON l.path = d.path
    CROSS JOIN manifest f ON f.id = l.manifest
    UNION SELECT c.path, c.algorithm FROM d CROSS JOIN cell c ON c.path = d.path AND NOT c.inside
)
SELECT 'PREMIS only', p.path, p.line, p.document, p.algorithm, p.digest FROM p
LEFT JOIN stated s ON s.path = p.path AND s.algorithm = p.algorithm WHERE s.path IS NULL
ORDER BY p.document, p.line
"""  # noqa: S608 -- constants
# If no location of a document leads to a listed file, all may start from another folder: then only objects
# with the ID or the digest of an entry are reported.
_NOWHERE = """
SELECT o.document, min(o.line), count(DISTINCT o.line), o.path FROM object o
WHERE o.path IS NOT NULL AND NOT EXISTS (SELECT 1 FROM disk d WHERE d.path = o.path)
AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.path = o.path)
AND (o.document IN (
        SELECT n.document FROM object n WHERE EXISTS (SELECT 1 FROM entry e WHERE e.path = n.path))
    OR EXISTS (SELECT 1 FROM entry e WHERE e.mets = o.mets AND e.xml_id = o.xml_id)
    OR (o.mets, o.digest) IN (SELECT mets, digest FROM entry WHERE digest IN (SELECT digest FROM object)))
GROUP BY o.document
"""
_DIGESTS = f"""
SELECT document, min(line), count(*), path, algorithm || ' ', digest, value, mets, place FROM ({_LOCATED})
WHERE algorithm = kind AND digest <> value GROUP BY document
"""  # noqa: S608 -- a constant
_OF_CELLS = f"""
SELECT o.document, min(o.line), count(*), c.path, o.algorithm || ' ', o.digest, c.digest, NULL,
    'cell ' || c.place FROM {_CELLS} c CROSS JOIN object o ON o.path = c.path
WHERE o.algorithm = c.algorithm AND o.digest <> c.digest GROUP BY o.document
"""  # noqa: S608 -- constants
_OF_MANIFESTS = f"""
SELECT o.document, min(o.line), count(*), l.path, o.algorithm || ' ', o.digest, l.digest, NULL,
    m.name || ' line ' || l.line
FROM {_LINES} l CROSS JOIN manifest m ON m.id = l.manifest CROSS JOIN object o ON o.path = l.path
WHERE o.algorithm = m.algorithm AND o.digest <> l.digest GROUP BY o.document
"""  # noqa: S608 -- constants
_HEX = re.compile(r"[0-9A-Fa-f]+")
_TAG = re.compile(r"<([^\s<>/:]+:)?([^\s<>/:]+)")
_MARKUP = re.compile(r"(<[^<>]*>)")
_IN_NO_SHAPE = re.compile(r"[^\t\n\x20-\x7e]|&|<!|<\?|xmlns|>[^<>]*>")
_PLAIN_TEXT = r"[ -%'-;=?-~]*+"
_OBJECT_END = re.compile(rb"</(?:[^\s<>/:]+:)?object>")
_LONGEST_OBJECT = 1 << 14  # bytes of one that is read by its shape
_TRIES = 20  # objects of a document whose shape is learned
_MOST = 100  # pieces of a text, digests of an object, names of algorithms: no file has more
_DIGITS = 18  # of the largest size that is compared


_Statements = Mapping[tuple[str, ...], tuple[list[Any], ...]]
"""Statements of objects on files: identifiers, locations, lines, sizes, digests by each algorithm.

They are kept by the algorithms of their digests.
"""
_Paths = Mapping[str, bytes | None]
"""The paths that locations mean, or None for a refused location."""


Objects = tuple[str, list[list[Any]]]
"""Statements on files: algorithms, with spaces between; names, sizes or -1, digests by each algorithm."""


def _put(catalogue: Catalogue, of: tuple[bytes, int], statements: _Statements, paths: _Paths) -> None:
    """Put some statements of a document into the catalogue.

    ``of`` is its path, and the number of its METS.
    """
    for algorithms, (named, locations, lines, sizes, *digests_) in statements.items():
        places = list(map(paths.__getitem__, locations))
        none = [None] * len(lines)
        for algorithm, values in zip(algorithms, digests_, strict=True) if algorithms else [(None, none)]:
            stated = zip(named, places, lines, sizes, values, strict=True)
            catalogue.put_many(PUT_OBJECT, ((*of, *each, algorithm, one or None) for *each, one in stated))
            sizes = none  # noqa: PLW2901 -- stated once


def _of_files(folder: bytes, statements: _Statements, paths: _Paths) -> Iterator[Objects]:
    """Yield statements on files below a folder.

    Raises ``DifferenceError`` for one on another file.
    """
    names_of = {at: path[len(folder) :] for at, path in paths.items() if path and path.startswith(folder)}
    if len(names_of) < len(paths):
        raise DifferenceError
    for algorithms, (_, locations, _, sizes, *digests_) in statements.items():
        columns: list[list[Any]] = [list(map(str.encode, each)) for each in digests_]
        stated = [-1 if size is None else size for size in sizes]
        yield " ".join(algorithms), [list(map(names_of.__getitem__, locations)), stated, *columns]


_ObjectShape = tuple[re.Pattern[str], tuple[str, ...], int]
"""Objects that equal one but for their texts: a pattern, its groups, its lines.

The pattern matches one, or is empty behind the last. Its groups are the white space before the object, then
the texts of the named elements.
"""


def _shape_of(element: str) -> _ObjectShape | None:
    """Return the shape of an object as written, None where only a parser can read such objects."""
    tags = _TAG.findall(element)
    read = [each for each in tags if each[1] in _OF_PREMIS]
    if _IN_NO_SHAPE.search(element) or {prefix for prefix, _ in read} != {tags[0][0]}:
        return None
    parts, names, seen, last, algorithm = [r"([ \t\n]*+)"], list[str](), [_OBJECT], "", ""
    pieces = _MARKUP.split(element)
    for number, piece in enumerate(pieces):
        tag = _TAG.match(piece)
        is_text = bool(last) and pieces[number + 1].startswith("</")
        seen += [last] if is_text and last in _OF_PREMIS else []
        if is_text and last == _ALGORITHM:
            algorithm = digests.algorithm_name(piece.strip()) or ""
            parts.append(re.escape(piece))
        elif is_text and last in _OF_PREMIS:
            names.append(algorithm if last == _DIGEST else last)
            parts.append(f"({_PLAIN_TEXT})")
        else:
            parts.append(_PLAIN_TEXT if is_text and piece.strip() else re.escape(piece))
        last = "" if tag is None or piece.endswith("/>") else tag[2]
    if seen != [name for _, name in read]:
        return None  # one of them has no text, or other elements within
    return re.compile("".join((*parts, "|"))), tuple(names), element.count("\n")


class _MetadataFile:
    """One metadata file, read for its root, and for objects when it is PREMIS."""

    def __init__(self, folder: bytes) -> None:
        self._folder = folder
        self._statements = dict[tuple[str, ...], tuple[list[Any], ...]]()
        self._count = 0
        self._values: dict[str, str] | None = None  # of the object, the first text of each name
        self._digests: list[tuple[str, str]] = []  # and of the elements of its digests
        self._object_line = 0
        self._algorithm = self._name = ""
        self._words = deque[str](maxlen=_MOST)
        self._interest: Mapping[str, str] = {}
        self._fed, self._begun, self._ended = 0, 0, -1  # bytes; offsets of the last object and its end tag
        self._held = b""
        self._is_between = False  # whether the parser stands right behind an object
        self._shape: _ObjectShape | None = None
        self._tries = _TRIES
        self.root = ""
        self.kind = ""
        self.line = 0
        self.has_dc = False
        self.parser = safexml.expat_parser(namespaces=True)
        self.parser.ordered_attributes = True
        self.parser.StartElementHandler = self._start

    def statements(self, blocks: Iterable[bytes]) -> Iterator[tuple[_Statements, _Paths]]:
        """Read the whole file, once, and yield successive statements.

        Raises ``XmlError``, and the errors of reading.
        """
        try:
            for block in blocks:
                self._feed(block)
                yield from self._passed_on(LONGEST)
            self._parse(self._held)
            safexml.feed_block(self.parser, b"", final=True)
        except safexml.XmlError:
            yield from self._passed_on()  # all objects before the fault, whatever is passed on together
            raise
        finally:
            # The parser and its megabyte would otherwise stay until the next collection of cycles.
            self.parser.StartElementHandler = self.parser.EndElementHandler = None
            self.parser.CharacterDataHandler = None
        yield from self._passed_on()

    def _feed(self, block: bytes) -> None:
        """Read objects by their shape, and give the parser all other bytes.

        Nearly all objects of a document differ in their texts alone, and the parser takes ten times as long.
        """
        data, at = self._held + block, 0
        text = data.decode("latin-1")  # shapes are of ASCII alone
        while (end := _OBJECT_END.search(data, at := self._take_like(text, at))) is not None:
            fed = self._fed
            self._parse(data[at : end.end()])
            self._is_between = self._ended == self._fed - len(end[0])
            start = self._begun - fed + at
            if self._is_between and self._tries and at <= start > end.end() - _LONGEST_OBJECT:
                self._tries -= 1
                self._shape = _shape_of(text[start : end.end()])
            at = end.end()
        is_held = self._is_between and self._shape is not None and len(data) - at < _LONGEST_OBJECT
        self._held = data[at:] if is_held else b""
        if not is_held:
            self._parse(data[at:])
            self._is_between = False

    def _parse(self, piece: bytes) -> None:
        self._fed += len(piece)
        safexml.feed_block(self.parser, piece, final=False)

    def _take_like(self, data: str, at: int) -> int:
        """Take the objects of the shape at an offset; return the offset behind them.

        The parser gets white space in their place, of as many lines, and as many columns in the last.
        """
        if self._shape is None or not self._is_between:
            return at
        pattern, names, inner = self._shape
        found = list(takewhile(itemgetter(0), pattern.finditer(data, at)))
        stop = found[-1].end() if found else at
        if found:
            spaces, *texts = zip(*(each.groups() for each in found), strict=True)
            before = {each: inner + each.count("\n") for each in set(spaces)}
            begun = map(before.__getitem__, spaces)
            ends = accumulate(begun, initial=self.parser.CurrentLineNumber)
            self._take_objects([end - inner for end in islice(ends, 1, None)], names, texts)
        columns = stop - (data.rfind("\n", at, stop) + 1 or at)
        self._parse(b"\n" * data.count("\n", at, stop) + b" " * columns)
        return stop

    def _start(self, tag: str, _attributes: list[str]) -> None:
        namespace, _, name = tag.rpartition(" ")
        self.root = tag
        self.kind = MDTYPES.get(namespace) or MDTYPES_BY_ROOT.get(name.casefold(), "")
        self.line = self.parser.CurrentLineNumber
        self.has_dc = self.kind == _DC
        if self.kind == _PREMIS:
            prefix = f"{namespace} " if namespace else ""
            self._interest = {f"{prefix}{each}": each for each in _OF_PREMIS}
            self.parser.StartElementHandler = self._premis
            self.parser.EndElementHandler = self._end
            self._premis(tag, [])
        else:
            self.parser.StartElementHandler = None if self.has_dc else self._other

    def _other(self, tag: str, _attributes: list[str]) -> None:
        if MDTYPES.get(tag.rpartition(" ")[0]) == _DC:
            self.has_dc = True
            self.parser.StartElementHandler = None

    def _premis(self, tag: str, _attributes: list[str]) -> None:
        if self._name:
            self._end_text()
        name = self._interest.get(tag)
        if name is None:
            return
        if name in _BOUNDS:
            self._end_object()
            self._values = {} if name == _OBJECT else None
            self._object_line, self._begun = self.parser.CurrentLineNumber, self.parser.CurrentByteIndex
        elif self._values is not None:
            self._name = name
            self.parser.CharacterDataHandler = self._words.append

    def _end(self, tag: str) -> None:
        if self._name:
            self._end_text()
        if self._interest.get(tag) == _OBJECT:
            self._ended = self.parser.CurrentByteIndex
            self._end_object()

    def _end_text(self) -> None:
        """Take an element of an object, whose text ends before the next tag."""
        self.parser.CharacterDataHandler = None
        text, name = "".join(self._words).strip(), self._name
        self._words.clear()
        self._name = ""
        if name == _ALGORITHM:
            self._algorithm = digests.algorithm_name(text) or ""
        elif name != _DIGEST and self._values is not None:
            self._values[name] = self._values.get(name) or text
        elif len(self._digests) < _MOST:
            self._digests.append((self._algorithm, text))

    def _end_object(self) -> None:
        """Keep an object's size and digests, if it states any."""
        stated = [*(self._values or {}).items(), *self._digests]
        self._take_objects([self._object_line], [name for name, _ in stated], [[text] for _, text in stated])
        self._values, self._digests = None, []

    def _take_objects(self, lines: list[int], names: Sequence[str], texts: Iterable[Sequence[str]]) -> None:
        """Take objects that state the same: by names of elements, or digests by their algorithms."""
        none = [""] * len(lines)
        values, stated = dict.fromkeys((_IDENTIFIER, _LOCATION, _SIZE), none), list[tuple[str, list[str]]]()
        for name, column in zip(names, texts, strict=True):
            found = list(map(str.strip, column))
            if name in values:  # the first that is not empty
                values[name] = [one or other for one, other in zip(values[name], found, strict=True)]
            elif name:
                bare = digests.bare_digests(found, name)
                stated.append((name, [_value(each, name) for each in found] if bare is None else bare))
        sizes = [int(text) if text.isdecimal() and len(text) <= _DIGITS else None for text in values[_SIZE]]
        columns: list[list[Any]] = [values[_IDENTIFIER], values[_LOCATION], lines, sizes]
        columns += (each for _, each in stated)
        which = [bool(stated) or size is not None for size in sizes]
        kept = self._statements.setdefault(tuple(name for name, _ in stated), tuple([] for _ in columns))
        for column, more in zip(kept, columns, strict=True):
            column.extend(compress(more, which))
        self._count += len(lines)

    def _passed_on(self, least: int = 1) -> Iterator[tuple[_Statements, _Paths]]:
        """Yield the statements that were read so far if they are on so many objects."""
        if self._count < least:
            return
        locations = tuple({each for _, some, *_ in self._statements.values() for each in some})
        plain = (self._folder + each.encode() for each in locations)
        paths = plain if uris.are_plain(locations) else map(self._resolved, locations)
        if locations:
            yield self._statements, dict(zip(locations, paths, strict=True))
        self._statements.clear()
        self._count = 0

    def _resolved(self, text: str) -> bytes | None:
        try:
            reference = uris.parsed(text)
            names = uris.walked(tuple(shown(self._folder).split("/")[:-1]), reference.segments)
        except uris.ReferenceRefused:
            return None
        return None if reference.kind is not uris.Kind.RELATIVE else "/".join(names).encode()


_NAMED = "SELECT path FROM object WHERE path IS NOT NULL AND path NOT IN (SELECT path FROM disk)"


def _value(text: str, algorithm: str) -> str:
    """Return a digest in the form of METS's digests, or the text itself if it is no digest."""
    if len(text) == 2 * digests.OCTETS[algorithm] and _HEX.fullmatch(text):
        return text.lower()
    digest = digests.parsed(text, algorithm)
    return digest.value if digest else text


def _kind(mdtype: str | None, mimetype: str | None, path: bytes) -> str | None:
    """Return the kind that a METS states for a metadata file, or None if it is left out."""
    kind = (mdtype or "").partition(":")[0]
    is_xml = "xml" in (mimetype or "") or path.lower().endswith(b".xml")
    return kind if kind in _KINDS or is_xml else None


def _is_of(kind: str, file: _MetadataFile) -> bool:
    """Return whether a file has the stated kind; True for a kind without a defined namespace."""
    return kind not in _KINDS or file.kind == kind or (kind == _DC and file.has_dc and not file.kind)


def findings(catalogue: Catalogue, places: CheckedTree) -> Iterator[Finding]:
    """Yield the findings on the metadata files of all METS documents, each read once.

    The files that METS of agreed segments name were read with the segments.
    """
    for mets, path, mdtype, mimetype, source, folder, line in catalogue.all(_FILES):
        kind = _kind(mdtype, mimetype, path)
        if kind is None or places.agreement.holding(source) is not None:
            continue
        file = _MetadataFile(folder)
        try:
            with places.content(path) as content:
                for statements, paths in file.statements(content.blocks()):
                    _put(catalogue, (path, mets), statements, paths)
        except safexml.DoctypeError:
            continue  # EAD 2002 has one: it is never read, and METS has the file's digest
        except safexml.XmlError as error:
            yield Code.METADATA_FILE_DAMAGED.at(
                path, error.line, reason=error.message, source=source_of(source, line)
            )
            continue
        except (OSError, MetspackError) as error:
            if not catalogue.has("SELECT 1 FROM entry WHERE path = ? AND digest IS NOT NULL", path):
                yield of_opening(path, error)
            continue
        if not _is_of(kind, file):
            facts = {"found": file.root.replace(" ", ":"), "expected": mdtype}
            yield Code.METADATA_FILE_OF_ANOTHER_KIND.at(
                path, file.line, **facts, source=source_of(source, line)
            )
    places.agreement.put_holding_back(*(path for (path,) in catalogue.all(_NAMED)))
    yield from _compared(catalogue)


def objects(reference: File, path: bytes, content: Content, folder: bytes) -> Iterator[Objects]:
    """Yield the statements of a metadata file on files below a folder.

    Raises ``DifferenceError`` for a file with a finding, ``XmlError``, and the errors of reading.
    """
    kind = _kind(reference.mdtype, reference.mimetype, path)
    if kind is None:
        return
    file = _MetadataFile(folder)
    for statements, paths in file.statements(content.blocks()):
        yield from _of_files(folder, statements, paths)
    if not _is_of(kind, file):
        raise DifferenceError


def _compared(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield the findings on PREMIS statements that differ from METS, manifests or cells.

    A document's sizes are reported once, and so are its digests and its locations.
    """
    if not catalogue.has("SELECT 1 FROM object"):
        return
    for sql in (_PUT_WHOLES, _PUT_APART):
        catalogue.put(sql)
    yield from _differing(catalogue, (_SIZES, _WHOLE_SIZES))
    yield from _differing(catalogue, (_DIGESTS, _OF_CELLS, _OF_MANIFESTS))
    for document, line, count, path in catalogue.all(_NOWHERE):
        yield Code.PREMIS_NOWHERE.at(document, line, file=path, count=f"{count:,}")


def _differing(catalogue: Catalogue, statements: Sequence[str]) -> Iterator[Finding]:
    reported: set[bytes] = set()
    for sql in statements:
        for document, line, count, path, kind, found, expected, mets, place in catalogue.all(sql):
            if document in reported:
                continue
            reported.add(document)
            row = None if mets is None else catalogue.row("SELECT path FROM mets WHERE id = ?", mets)
            source = place if row is None else source_of(row[0], place)
            facts = {"found": f"{kind}{found}", "expected": expected, "source": source}
            yield Code.PREMIS_DIFFERS.at(
                document, line, **facts, file=path or "a LOB in parts", count=f"{count:,}"
            )
