"""Check the metadata files that METS documents name (mdRef): form, kind, PREMIS content.

PREMIS statements on a file are compared with those of METS, the manifests and the cells: no file is read for
them. Objects of the same form are not kept where all of these statements agree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, islice, pairwise, takewhile
from operator import itemgetter

from metspack import digests, safexml, uris
from metspack.checking.catalogue import PUT_OBJECT, Batch, Catalogue, shown
from metspack.checking.codes import Code
from metspack.checking.files.listed import source_of
from metspack.checking.mets.documents import of_opening
from metspack.checking.tree import CheckedTree
from metspack.containers.ipreader import Content
from metspack.errors import MetspackError
from metspack.mets import MDTYPES, MDTYPES_BY_ROOT
from metspack.mets.fastreader import (
    AFTER_OBJECTS,
    IDENTIFIER,
    LOCATION,
    OBJECT,
    OF_PREMIS,
    VALUES,
    ObjectShape,
    shape_of_object,
)
from metspack.mets.reader import File
from metspack.model import LONGEST, Digest, Finding

_PREMIS, _DC = "PREMIS", "DC"
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
SELECT 'PREMIS alone', p.path, p.line, p.document, p.algorithm, p.digest FROM p
LEFT JOIN stated s ON s.path = p.path AND s.algorithm = p.algorithm WHERE s.path IS NULL
ORDER BY p.document, p.line
"""  # noqa: S608 -- constants
# Where no location leads to a listed file they may start from another folder: then only those of objects with
# the ID or the digest of an entry are reported.
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
# The statements on files by paths, which an index finds one by one: size, algorithm, digest.
_STATED = """
SELECT e.path, e.size, e.algorithm, e.digest, 1 FROM json_each(?1) g
    CROSS JOIN entry e ON e.path = CAST(g.value AS BLOB)
UNION ALL
SELECT l.path, NULL, f.algorithm, l.digest, 0 FROM json_each(?1) g
    CROSS JOIN listed l ON l.path = CAST(g.value AS BLOB) JOIN manifest f ON f.id = l.manifest
UNION ALL
SELECT c.path, NULL, c.algorithm, c.digest, 0 FROM json_each(?1) g
    CROSS JOIN cell c ON c.path = CAST(g.value AS BLOB) WHERE NOT c.inside
"""
_STATED_OF_EACH = 20  # statements of a file: where there are more each object is kept
_INDEX_OBJECTS = (
    "CREATE INDEX IF NOT EXISTS statement_path ON statement (path) WHERE source = 'PREMIS'",
    "CREATE INDEX IF NOT EXISTS statement_id ON statement (mets, xml_id) WHERE source = 'PREMIS'",
)
_METS = "SELECT path FROM mets WHERE id = ?"
_HEX = re.compile(r"[0-9A-Fa-f]+")
_HEAD = 1 << 11  # bytes that a root has nearly always ended in
_FEW = 8  # objects of one shape: where there are fewer, that of the next one is tried
_LONGEST = 1 << 16  # bytes of an object that is taken without a parser
_OBJECT_END = re.compile(rb"</(?:[^\s<>/:]+:)?object>")
_TRIES = 20  # objects whose shape is tried for the next ones
_MOST = 100  # pieces of a text, digests of an object, names of algorithms: no file has more
_SIZE = 18  # digits of the largest size that is compared


@dataclass(slots=True)
class _PremisObject:
    """An object of a PREMIS document, as far as it was read."""

    line: int
    values: dict[str, str] = field(default_factory=dict)
    digests: list[tuple[str, str]] = field(default_factory=list)


class _InCatalogue:
    """The statements in the catalogue, which also keeps the objects of a document of a METS."""

    def __init__(self, catalogue: Catalogue, document: bytes, mets: int) -> None:
        self._catalogue = catalogue
        self._document = document
        self._mets = mets
        self._batch = Batch(catalogue.put_many)

    def are_agreed(self, paths: list[bytes], sizes: list[int], given: Mapping[str, list[str]]) -> bool:
        """Return whether METS lists all files, and all statements equal those ``given`` in PREMIS."""
        size_of = dict(zip(paths, sizes, strict=True))
        if len(size_of) < len(paths):
            return False
        asked, most = json.dumps([path.decode() for path in paths]), _STATED_OF_EACH * len(paths)
        stated = self._catalogue.all(f"{_STATED} LIMIT {most}", asked)
        if len(stated) == most or {row[0] for row in stated if row[-1]} != size_of.keys():
            return False
        if any(size not in {None, size_of[path]} for path, size, *_ in stated):
            return False
        own = {
            (path, name, value)
            for name, values in given.items()
            for path, value in zip(paths, values, strict=True)
        }
        return own == {(path, name, value) for path, _, name, value, _ in stated if name in given}

    def add(
        self, identifier: str, path: bytes | None, line: int, size: int | None, digest: Digest | None
    ) -> None:
        """Put an object's statement on a file into the catalogue."""
        algorithm, value = (None, None) if digest is None else (digest.algorithm, digest.value)
        self._batch.add(
            PUT_OBJECT, self._document, self._mets, identifier, path, line, size, algorithm, value
        )

    def flush(self) -> None:
        """Put in the rest."""
        self._batch.flush()


TakeObjects = Callable[[str, list[bytes], Sequence[int], list[bytes]], None]
"""Takes statements on files: the algorithm or "", and names, sizes or -1, and digests or nothing."""


class _InParts:
    """Statements on the files below a folder, taken into parts to be compared later.

    ``is_other`` is True once one cannot be, as it is on a file elsewhere or no digest.
    """

    def __init__(self, folder: bytes, take: TakeObjects) -> None:
        self._folder = folder
        self._take_objects = take
        self.is_other = False

    def are_agreed(self, paths: list[bytes], sizes: list[int], given: Mapping[str, list[str]]) -> bool:
        """Take statements on all files."""
        for algorithm, values in given.items():
            self._take(paths, sizes, algorithm, values)
        return True

    def add(
        self, _identifier: str, path: bytes | None, _line: int, size: int | None, digest: Digest | None
    ) -> None:
        """Take one statement."""
        algorithm, value = ("", "") if digest is None else (digest.algorithm, digest.value)
        self._take([path or b""], [-1 if size is None else size], algorithm, [value])

    def _take(
        self, paths: Sequence[bytes], sizes: Sequence[int], algorithm: str, values: Sequence[str]
    ) -> None:
        above, stated = len(self._folder), list(map(str.encode, values))
        are_inside = min(paths).startswith(self._folder) and max(paths).startswith(self._folder)
        if b"\0" in b"".join((*paths, *stated)) or not are_inside:
            self.is_other = True
        else:
            self._take_objects(algorithm, [path[above:] for path in paths], sizes, stated)


class _MetadataFile:
    """One metadata file, read for its root, and for objects when it is PREMIS."""

    def __init__(self, stated: _InCatalogue | _InParts, folder: bytes) -> None:
        self._stated = stated
        self._folder = folder
        self._object: _PremisObject | None = None
        self._algorithm = ""
        self._name = ""
        self._words: list[str] = []
        self._name_of = lru_cache(_MOST)(digests.algorithm_name)
        self._interest: Mapping[str, str] = {}
        # Bytes that the parser was given, and where in them the last object begins and ends.
        self._fed, self._begun, self._ended = 0, -1, -1
        self._object_end = b""  # as it is written; empty before the first one
        self._is_between = False  # whether an object has ended right here
        self._held = b""  # the beginning of an object that may turn out to be like others
        self._shape: ObjectShape | None = None
        self._tries = _TRIES
        self._are_few = True
        self.root = ""
        self.kind = ""
        self.line = 0
        self.has_dc = False
        self.parser = safexml.expat_parser(namespaces=True)
        self.parser.StartElementHandler = self._start

    def read(self, blocks: Iterable[bytes]) -> None:
        """Read the whole file, once; raises ``XmlError``, and the errors of reading."""
        try:
            for block in blocks:
                if b"\r" in block:  # which may end a line or not
                    self._shape, self._tries = None, 0
                self._feed(block, final=False)
            self._feed(b"", final=True)
            safexml.feed_block(self.parser, b"", final=True)
        finally:
            # The parser and its megabyte would otherwise stay until the next collection of cycles.
            self.parser.StartElementHandler = self.parser.EndElementHandler = None
            self.parser.CharacterDataHandler = None
        self._put()

    def _feed(self, block: bytes, *, final: bool) -> None:
        """Take objects of one shape out of the next bytes, and give all others to the parser.

        What may be the beginning of such an object is kept back unless the block is the final one.
        """
        data, at = self._held + block, 0
        self._held = b""
        if not self._object_end:
            self._parse(data[:_HEAD])
            at = len(data[:_HEAD])
            end = _OBJECT_END.search(data) if self.kind == _PREMIS else None
            self._object_end = b"" if end is None else end[0]
        while at < len(data):
            if self._is_between and self._shape is not None:
                at = self._pass(data, at, self._shape)
            stop = self._stop(data, at)
            if stop is None:
                if self._is_between and self._shape is not None and len(data) - at < _LONGEST and not final:
                    self._held = data[at:]
                    return
                stop = len(data)
            self._parse(data[at:stop])
            at = stop
            self._is_between = self._ended >= 0 and self._ended == self._fed - len(self._object_end)
            if self._is_between and self._are_few and self._tries:
                self._learn(data, at)

    def _stop(self, data: bytes, at: int) -> int | None:
        """Return the offset behind the object that ends next, or None if unknown or of no use."""
        is_of_use = self._object_end and (self._tries or self._shape is not None)
        found = data.find(self._object_end, at) if is_of_use else -1
        return None if found < 0 else found + len(self._object_end)

    def _parse(self, piece: bytes) -> None:
        """Give the parser some bytes."""
        self._fed += len(piece)
        safexml.feed_block(self.parser, piece, final=False)

    def _end(self, tag: str) -> None:
        if self._name:
            self._end_text()
        elif self._interest.get(tag) == OBJECT:
            self._ended = self.parser.CurrentByteIndex

    def _learn(self, data: bytes, at: int) -> None:
        """Take the shape of the object that ends at an offset as that of the next ones."""
        start = at - (self._fed - self._begun)
        self._tries -= 1
        if 0 <= start < at and (shape := shape_of_object(data[start:at])) is not None:
            self._shape = shape

    def _pass(self, data: bytes, begin: int, shape: ObjectShape) -> int:
        """Take the objects of one shape at an offset; return the offset behind them.

        The parser is given white space of as many lines in their place, and of as many columns in the last.
        """
        self._put()
        stop, count = begin, 0
        objects = takewhile(itemgetter(0), shape.pattern.finditer(data, begin))
        while found := list(islice(objects, LONGEST)):
            starts = [each.start(1) for each in found]
            before = self.parser.CurrentLineNumber + data.count(b"\n", begin, starts[0])
            gone = (data.count(b"\n", *each) for each in pairwise(starts))
            texts = zip(*(each.groups()[1:] for each in found), strict=True)
            values = (b"\n".join(each).decode().split("\n") for each in texts)
            self._take_run(dict(zip(shape.names, values, strict=True)), accumulate(gone, initial=before))
            count += len(found)
            stop = found[-1].end()
        self._are_few = count < _FEW
        lines, columns = data.count(b"\n", begin, stop), stop - (data.rfind(b"\n", begin, stop) + 1 or begin)
        self._parse(b"\n" * lines + b" " * columns)
        return stop

    def _take_run(self, columns: Mapping[str, list[str]], lines: Iterator[int]) -> None:
        """Take objects as columns: all of them, or one where all statements agree with them."""
        located = columns[LOCATION]
        paths = [self._folder + each.encode() for each in located] if uris.are_plain(located) else None
        sizes = list(map(int, columns["size"]))
        given = {name: list(map(str.lower, values)) for name, values in columns.items() if name not in VALUES}
        is_agreed = paths is not None and self._stated.are_agreed(paths, sizes, given)
        for number in range(1 if is_agreed else len(sizes)):
            values = {name: columns[name][number] for name in VALUES}
            stated = [(name, values[number]) for name, values in given.items()]
            self._add(_PremisObject(line=next(lines), values=values, digests=stated))

    def _start(self, tag: str, _attributes: dict[str, str]) -> None:
        namespace, _, name = tag.rpartition(" ")
        self.root = tag
        self.kind = MDTYPES.get(namespace) or MDTYPES_BY_ROOT.get(name.casefold(), "")
        self.line = self.parser.CurrentLineNumber
        self.has_dc = self.kind == _DC
        if self.kind == _PREMIS:
            prefix = f"{namespace} " if namespace else ""
            self._interest = {f"{prefix}{each}": each for each in OF_PREMIS}
            self.parser.StartElementHandler = self._premis
            self.parser.EndElementHandler = self._end
            self._premis(tag, {})
        else:
            self.parser.StartElementHandler = None if self.has_dc else self._other

    def _other(self, tag: str, _attributes: dict[str, str]) -> None:
        if MDTYPES.get(tag.rpartition(" ")[0]) == _DC:
            self.has_dc = True
            self.parser.StartElementHandler = None

    def _premis(self, tag: str, _attributes: dict[str, str]) -> None:
        if self._name:
            self._end_text()
        name = self._interest.get(tag)
        if name is None:
            return
        if name == OBJECT:
            self._put()
            self._begun = self.parser.CurrentByteIndex
            self._object = _PremisObject(line=self.parser.CurrentLineNumber)
        elif name in AFTER_OBJECTS:
            self._put()
        elif self._object is not None:
            self._name = name
            self.parser.CharacterDataHandler = self._take_text

    def _take_text(self, words: str) -> None:
        if len(self._words) < _MOST:
            self._words.append(words)

    def _end_text(self) -> None:
        text, name, found = "".join(self._words).strip(), self._name, self._object
        self._words.clear()
        self._name = ""
        self.parser.CharacterDataHandler = None
        if name == "messageDigestAlgorithm":
            self._algorithm = text
        elif found is not None and name == "messageDigest":
            found.digests += [(self._algorithm, text)] if len(found.digests) < _MOST else []
        elif found is not None:
            found.values[name] = found.values.get(name) or text

    def _put(self) -> None:
        found, self._object = self._object, None
        if found is not None:
            self._add(found)

    def _add(self, found: _PremisObject) -> None:
        """Pass on an object's size and digests."""
        located, text = found.values.get(LOCATION), found.values.get("size", "")
        path = self._resolved(located) if located else None
        shared = found.values.get(IDENTIFIER, ""), path, found.line
        size = int(text) if text.isdecimal() and len(text) <= _SIZE else None
        for algorithm, text in found.digests:
            if known := self._name_of(algorithm):
                self._stated.add(*shared, size, Digest(algorithm=known, value=_value(text, known)))
                size = None  # passed on once
        if size is not None:
            self._stated.add(*shared, size, None)

    def _resolved(self, text: str) -> bytes | None:
        if uris.are_plain((text,)):
            return self._folder + text.encode()
        try:
            reference = uris.parsed(text)
            names = uris.walked(tuple(shown(self._folder).split("/")[:-1]), reference.segments)
        except uris.ReferenceRefused:
            return None
        return None if reference.kind is not uris.Kind.RELATIVE else "/".join(names).encode()


_NAMED = "SELECT path FROM object WHERE path IS NOT NULL AND path NOT IN (SELECT path FROM disk)"


def _value(text: str, algorithm: str) -> str:
    """Return a digest as METS has it read, or the text when it is no digest."""
    if len(text) == 2 * digests.OCTETS[algorithm] and _HEX.fullmatch(text):
        return text.lower()
    digest = digests.parsed(text, algorithm)
    return digest.value if digest else text


def _kind(mdtype: str | None, mimetype: str | None, path: bytes) -> str | None:
    """Return the kind that a METS states for a metadata file, or None for one that is left out."""
    kind = (mdtype or "").partition(":")[0]
    is_xml = "xml" in (mimetype or "") or path.lower().endswith(b".xml")
    return kind if kind in _KINDS or is_xml else None


def _is_of(kind: str, file: _MetadataFile) -> bool:
    """Return whether a file that was read is of a kind; True for a kind without known namespace."""
    return kind not in _KINDS or file.kind == kind or (kind == _DC and file.has_dc and not file.kind)


def findings(catalogue: Catalogue, places: CheckedTree) -> Iterator[Finding]:
    """Yield the findings on the metadata files of all METS documents, each read once.

    Those that the METS of agreed segments name were read with these.
    """
    for mets, path, mdtype, mimetype, source, folder, line in catalogue.all(_FILES):
        kind = _kind(mdtype, mimetype, path)
        if kind is None or (places.agreement is not None and places.agreement.is_held(source)):
            continue
        stated = _InCatalogue(catalogue, path, mets)
        file = _MetadataFile(stated, folder)
        try:
            with places.content(path) as content:
                file.read(content.blocks())
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
        stated.flush()
        if not _is_of(kind, file):
            facts = {"found": file.root.replace(" ", ":"), "expected": mdtype}
            yield Code.METADATA_FILE_OF_ANOTHER_KIND.at(
                path, file.line, **facts, source=source_of(source, line)
            )
    places.put_back(*(path for (path,) in catalogue.all(_NAMED)))
    yield from _compared(catalogue)


def is_sound(reference: File, path: bytes, content: Content, folder: bytes, take: TakeObjects) -> bool:
    """Return whether a metadata file is sound; keep its statements on files.

    Raises ``XmlError``, and the errors of reading.
    """
    kind = _kind(reference.mdtype, reference.mimetype, path)
    if kind is None:
        return True
    stated = _InParts(folder, take)
    file = _MetadataFile(stated, folder)
    file.read(content.blocks())
    return _is_of(kind, file) and not stated.is_other


def _compared(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield the findings on PREMIS statements that differ from METS, manifests or cells.

    A document's sizes are reported once, and so are its digests and its locations.
    """
    if not catalogue.has("SELECT 1 FROM object"):
        return
    for sql in (*_INDEX_OBJECTS, _PUT_WHOLES, _PUT_APART):
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
            row = None if mets is None else catalogue.row(_METS, mets)
            source = place if row is None else source_of(row[0], place)
            facts = {"found": f"{kind}{found}", "expected": expected, "source": source}
            yield Code.PREMIS_DIFFERS.at(
                document, line, **facts, file=path or "a LOB in parts", count=f"{count:,}"
            )
