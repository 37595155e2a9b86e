"""Check of the metadata files that METS documents name (mdRef): their form, their kind, and what PREMIS says.

What PREMIS says of a file is compared with what METS, the manifests and the cells say: none is read for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from metspack import digests, safexml, uris
from metspack.checking.catalogue import Batch, Catalogue, shown
from metspack.checking.codes import Code
from metspack.checking.files.listed import source_of
from metspack.checking.mets.documents import of_opening
from metspack.checking.opening import CheckedTree
from metspack.errors import MetspackError
from metspack.model import Finding

_PREMIS, _DC = "PREMIS", "DC"
_BY_NAMESPACE: Mapping[str, str] = {
    "http://www.loc.gov/premis/v3": _PREMIS,
    "info:lc/xmlns/premis-v2": _PREMIS,
    "http://www.loc.gov/standards/premis": _PREMIS,
    "http://www.loc.gov/standards/premis/v1": _PREMIS,
    "http://www.openarchives.org/OAI/2.0/oai_dc/": _DC,
    "http://purl.org/dc/elements/1.1/": _DC,
    "http://purl.org/dc/terms/": _DC,
    "urn:isbn:1-931666-22-9": "EAD",
    "http://ead3.archivists.org/schema/": "EAD",
    "http://ead3.archivists.org/schema/undeprecated/": "EAD",
    "http://www.loc.gov/mods/v3": "MODS",
    "http://www.loc.gov/MARC21/slim": "MARC",
    "urn:isbn:1-931666-33-4": "EAC-CPF",
    "https://archivists.org/ns/eac/v2": "EAC-CPF",
    "http://www.lido-schema.org": "LIDO",
}
_BY_NAME: Mapping[str, str] = {
    "premis": _PREMIS,
    "dc": _DC,
    "simpledc": _DC,
    "ead": "EAD",
    "mods": "MODS",
    "modscollection": "MODS",
    "eac-cpf": "EAC-CPF",
    "eac": "EAC-CPF",
    "lido": "LIDO",
    "lidowrap": "LIDO",
}
_KINDS = frozenset(_BY_NAMESPACE.values())

_FILES = """
SELECT r.mets, r.path, r.mdtype, r.mimetype, m.path, m.folder, r.line
FROM reference r JOIN mets m ON m.id = r.mets JOIN disk d ON d.path = r.path AND d.kind = 'f'
GROUP BY r.path ORDER BY min(r.rowid)
"""
_LOCATED = """
SELECT o.document, o.line, o.size, o.algorithm, o.digest, e.path, e.size AS expected, e.algorithm AS kind,
    e.digest AS value, e.mets, e.line AS place FROM object o JOIN entry e ON e.path = o.path
UNION ALL
SELECT o.document, o.line, o.size, o.algorithm, o.digest, e.path, e.size, e.algorithm, e.digest, e.mets,
    e.line FROM object o JOIN entry e ON e.mets = o.mets AND e.xml_id = o.xml_id
WHERE o.path IS NULL OR NOT EXISTS (SELECT 1 FROM entry n WHERE n.path = o.path)
"""
_SIZES = f"""
SELECT document, min(line), count(*), path, '', size || ' bytes', expected, mets, place FROM ({_LOCATED})
WHERE size <> expected GROUP BY document
"""  # noqa: S608 -- a constant
# A split LOB's whole is no file: its parts have its bytes, and are read with what is said of them.
_WHOLE_SIZES = """
SELECT document, min(line), count(*), NULL, '', size || ' bytes', parts, NULL, 'its parts' FROM (
    SELECT o.document, o.line, o.size, sum(d.size) AS parts, count(*) AS found,
        (SELECT count(*) FROM piece n WHERE n.whole = o.xml_id AND n.origin = p.origin) AS named
    FROM object o JOIN piece p ON p.whole = o.xml_id AND p.origin IN (0, 3)
    JOIN disk d ON d.path = p.path AND d.kind = 'f' WHERE o.path IS NULL AND o.size IS NOT NULL
    GROUP BY o.rowid
) WHERE size <> parts AND found = named GROUP BY document
"""
_PUT_WHOLES = """
INSERT INTO said SELECT o.xml_id, o.document, o.line, NULL, o.algorithm, o.digest, NULL FROM object o
WHERE o.path IS NULL AND o.algorithm IS NOT NULL
AND EXISTS (SELECT 1 FROM piece p WHERE p.whole = o.xml_id AND p.origin IN (0, 3)) ORDER BY o.rowid
"""
# Digests that nothing else states are compared with the files, when those are read.
_PUT_APART = """
INSERT INTO apart_object SELECT path, line, document, algorithm, digest FROM (
    SELECT o.path, o.line, o.document, o.algorithm, o.digest FROM object o
    WHERE o.path IS NOT NULL AND o.algorithm IS NOT NULL
    UNION ALL
    SELECT e.path, o.line, o.document, o.algorithm, o.digest FROM object o
    JOIN entry e ON e.mets = o.mets AND e.xml_id = o.xml_id
    WHERE o.path IS NULL AND e.path IS NOT NULL AND o.algorithm IS NOT NULL
) p
WHERE NOT EXISTS (SELECT 1 FROM entry e WHERE e.path = p.path AND e.algorithm = p.algorithm)
AND NOT EXISTS (SELECT 1 FROM listed l JOIN manifest f ON f.id = l.manifest
    WHERE l.path = p.path AND f.algorithm = p.algorithm)
AND NOT EXISTS (SELECT 1 FROM cell c WHERE c.path = p.path AND c.algorithm = p.algorithm AND NOT c.inside)
ORDER BY p.document, p.line
"""
# Where no location leads anywhere they may be meant from another folder, of files that nothing else tells.
_NOWHERE = """
SELECT o.document, min(o.line), count(DISTINCT o.line), o.path FROM object o
WHERE o.path IS NOT NULL AND NOT EXISTS (SELECT 1 FROM disk d WHERE d.path = o.path)
AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.path = o.path)
AND (o.document IN (SELECT n.document FROM object n JOIN entry e ON e.path = n.path)
    OR o.rowid IN (SELECT n.rowid FROM object n JOIN entry e ON e.mets = n.mets AND e.xml_id = n.xml_id)
    OR o.rowid IN (SELECT n.rowid FROM object n JOIN entry e ON e.mets = n.mets AND e.digest = n.digest))
GROUP BY o.document
"""
_DIGESTS = f"""
SELECT document, min(line), count(*), path, algorithm || ' ', digest, value, mets, place FROM ({_LOCATED})
WHERE algorithm = kind AND digest <> value GROUP BY document
"""  # noqa: S608 -- a constant
_OF_CELLS = """
SELECT o.document, min(o.line), count(*), c.path, o.algorithm || ' ', o.digest, c.digest, NULL,
    'cell ' || c.place FROM object o JOIN cell c ON c.path = o.path AND NOT c.inside
WHERE o.algorithm = c.algorithm AND o.digest <> c.digest GROUP BY o.document
"""
_OF_MANIFESTS = """
SELECT o.document, min(o.line), count(*), l.path, o.algorithm || ' ', o.digest, l.digest, NULL,
    m.name || ' line ' || l.line
FROM object o JOIN listed l ON l.path = o.path JOIN manifest m ON m.id = l.manifest
WHERE o.algorithm = m.algorithm AND o.digest <> l.digest GROUP BY o.document
"""
_METS = "SELECT path FROM mets WHERE id = ?"
_HEX = re.compile(r"[0-9A-Fa-f]+")
_MOST = 100  # pieces of a text, digests of an object, names of algorithms: more are nobody's
_SIZE = 18  # digits of the largest size that is compared


@dataclass(slots=True)
class _PremisObject:
    """An object of a PREMIS document, as far as it was read."""

    line: int
    identifier: str = ""
    path: str = ""
    size: str = ""
    digests: list[tuple[str, str]] = field(default_factory=list)


class _MetadataFile:
    """One metadata file, read for its root, and for objects when it is PREMIS."""

    def __init__(self, catalogue: Catalogue, mets: int, path: bytes, folder: bytes) -> None:
        self._batch = Batch(catalogue)
        self._mets = mets
        self._path = path
        self._folder = folder
        self._object: _PremisObject | None = None
        self._algorithm = ""
        self._name = ""
        self._words: list[str] = []
        self._algorithms: dict[str, str] = {}
        self._interest: Mapping[str, str] = {}
        self.root = ""
        self.kind = ""
        self.line = 0
        self.has_dc = False
        self.parser = safexml.expat_parser(namespaces=True)
        self.parser.StartElementHandler = self._start

    def end(self) -> None:
        """Put the last object into the catalogue."""
        self._end_text()
        self._put()
        self._batch.flush()

    def _start(self, tag: str, _attributes: dict[str, str]) -> None:
        namespace, _, name = tag.rpartition(" ")
        self.root = tag
        self.kind = _BY_NAMESPACE.get(namespace) or _BY_NAME.get(name.casefold(), "")
        self.line = self.parser.CurrentLineNumber
        self.has_dc = self.kind == _DC
        if self.kind == _PREMIS:
            prefix = f"{namespace} " if namespace else ""
            self._interest = {f"{prefix}{each}": each for each in _OF_PREMIS}
            self.parser.StartElementHandler = self._premis
            self._premis(tag, {})
        else:
            self.parser.StartElementHandler = None if self.has_dc else self._other

    def _other(self, tag: str, _attributes: dict[str, str]) -> None:
        if _BY_NAMESPACE.get(tag.rpartition(" ")[0]) == _DC:
            self.has_dc = True
            self.parser.StartElementHandler = None

    def _premis(self, tag: str, _attributes: dict[str, str]) -> None:
        if self._name:
            self._end_text()
        name = self._interest.get(tag)
        if name is None:
            return
        if name == _OBJECT:
            self._put()
            self._object = _PremisObject(line=self.parser.CurrentLineNumber)
        elif name in _AFTER_OBJECTS:
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
        if found is None:
            return
        if name == "objectIdentifierValue":
            found.identifier = found.identifier or text
        elif name == "messageDigestAlgorithm":
            self._algorithm = text
        elif name == "messageDigest" and len(found.digests) < _MOST:
            found.digests.append((self._algorithm, text))
        elif name == "size":
            found.size = found.size or text
        elif name == "contentLocationValue":
            found.path = found.path or text

    def _put(self) -> None:
        found, self._object = self._object, None
        if found is None:
            return
        path = self._resolved(found.path) if found.path else None
        shared = self._path, self._mets, found.identifier, path, found.line
        is_size = found.size.isdecimal() and len(found.size) <= _SIZE
        size = int(found.size) if is_size else None
        for algorithm, text in found.digests:
            if known := self._known(algorithm):
                self._batch.add(_PUT_OBJECT, *shared, size, known, _value(text, known))
                size = None  # said once
        if size is not None:
            self._batch.add(_PUT_OBJECT, *shared, size, None, None)

    def _known(self, algorithm: str) -> str:
        if algorithm not in self._algorithms:
            if len(self._algorithms) >= _MOST:
                self._algorithms.clear()
            self._algorithms[algorithm] = digests.algorithm_name(algorithm) or ""
        return self._algorithms[algorithm]

    def _resolved(self, text: str) -> bytes | None:
        if uris.are_plain((text,)):
            return self._folder + text.encode()
        try:
            reference = uris.parsed(text)
            names = uris.walked(tuple(shown(self._folder).split("/")[:-1]), reference.segments)
        except uris.ReferenceRefused:
            return None
        return None if reference.kind is not uris.Kind.RELATIVE else "/".join(names).encode()


_OBJECT = "object"
_AFTER_OBJECTS = frozenset({"event", "agent", "rights"})
_OF_PREMIS = (
    *(_OBJECT, *sorted(_AFTER_OBJECTS)),
    *("objectIdentifierValue", "messageDigestAlgorithm", "messageDigest", "size", "contentLocationValue"),
)
_PUT_OBJECT = "INSERT INTO object VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


def _value(text: str, algorithm: str) -> str:
    """Return a digest as METS has it read, or the text when it is none."""
    if len(text) == 2 * digests.OCTETS[algorithm] and _HEX.fullmatch(text):
        return text.lower()
    digest = digests.parsed(text, algorithm)
    return digest.value if digest else text


def findings(catalogue: Catalogue, places: CheckedTree) -> Iterator[Finding]:
    """Yield the findings on the metadata files of all METS documents, each read once."""
    for mets, path, mdtype, mimetype, source, folder, line in list(catalogue.rows(_FILES)):
        kind = (mdtype or "").partition(":")[0]
        if kind not in _KINDS and "xml" not in (mimetype or "") and not path.lower().endswith(b".xml"):
            continue
        file = _MetadataFile(catalogue, mets, path, folder)
        try:
            with places.content(path) as content:
                safexml.feed(file.parser, content.blocks())
        except safexml.DoctypeError:
            continue  # EAD 2002 has one: it is never read, and METS has the file's digest
        except safexml.XmlError as error:
            yield Code.METADATA_FILE_DAMAGED.at(
                shown(path), error.line, reason=error.message, source=source_of(source, line)
            )
            continue
        except (OSError, MetspackError) as error:
            if catalogue.row("SELECT 1 FROM entry WHERE path = ? AND digest IS NOT NULL", path) is None:
                yield of_opening(path, error)
            continue
        file.end()
        is_it = file.kind == kind or (kind == _DC and file.has_dc and not file.kind)
        if kind in _KINDS and not is_it:
            facts = {"found": file.root.replace(" ", ":"), "expected": mdtype}
            yield Code.METADATA_FILE_OF_ANOTHER_KIND.at(
                shown(path), file.line, **facts, source=source_of(source, line)
            )
    yield from _compared(catalogue)


def _compared(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield the findings on what PREMIS says of files otherwise than METS, manifests or cells.

    A document's sizes are told once, and so are its digests and its locations.
    """
    catalogue.put(_PUT_WHOLES)
    catalogue.put(_PUT_APART)
    yield from _differing(catalogue, (_SIZES, _WHOLE_SIZES))
    yield from _differing(catalogue, (_DIGESTS, _OF_CELLS, _OF_MANIFESTS))
    for document, line, count, path in list(catalogue.rows(_NOWHERE)):
        yield Code.PREMIS_NOWHERE.at(shown(document), line, file=shown(path), count=f"{count:,}")


def _differing(catalogue: Catalogue, statements: Sequence[str]) -> Iterator[Finding]:
    told: set[bytes] = set()
    for sql in statements:
        for document, line, count, path, kind, found, expected, mets, place in list(catalogue.rows(sql)):
            if document in told:
                continue
            told.add(document)
            row = None if mets is None else catalogue.row(_METS, mets)
            yield Code.PREMIS_DIFFERS.at(
                shown(document),
                line,
                file=shown(path) if path else "a LOB in parts",
                found=f"{kind}{found}",
                expected=expected,
                source=place if row is None else source_of(row[0], place),
                count=f"{count:,}",
            )
