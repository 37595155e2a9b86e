"""Sizes and digests put right after a change: only in METS, PREMIS and manifests.

A value is put right where it was right before and what it is of has changed. What a change itself wrote
stays as it is.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from urllib.parse import unquote

from lxml import etree

from tests.mutants.documents import HREF, Document, local
from tests.mutants.package import MANIFESTS, Package

_ALGORITHMS = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}
_WHOLE = "whole of "


@lru_cache(maxsize=4096)
def digest(algorithm: str, data: bytes) -> str:
    return hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()


def target(document: str, href: str) -> str:
    """Return the path that a location in a document leads to, as long as it is a relative one."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(document), unquote(href)))


def parts(package: Package) -> dict[str, list[str]]:
    """Return the paths of each split LOB's parts in order, by the LOB's id."""
    found: dict[str, list[tuple[int, str]]] = {}
    for path in package.mets:
        for each in Document.parsed(package.files[path]).elements("file"):
            place = next((one.get(HREF) for one in each.iterchildren("*") if local(one) == "FLocat"), None)
            if place and each.get("GROUPID") and each.get("SEQ"):
                lob = found.setdefault(each.get("GROUPID", ""), [])
                lob.append((int(each.get("SEQ", "0")), target(path, place)))
    return {lob: [path for _, path in sorted(held)] for lob, held in found.items()}


def whole_bytes(package: Package, wholes: Mapping[str, list[str]]) -> dict[str, bytes]:
    """Return all bytes that a digest may be of: files by their paths, and whole split LOBs by their ids."""
    joined = {
        f"{_WHOLE}{lob}": b"".join(package.files[path] for path in paths)
        for lob, paths in wholes.items()
        if all(path in package.files for path in paths)
    }
    return package.files | joined


def seal(before: Package, after: Package) -> None:
    """Correct the values that were right before a change."""
    wholes = parts(before)
    old = whole_bytes(before, wholes)
    documents = [*after.premis, *sorted(after.mets, key=lambda path: -path.count("/"))]
    for _ in range(len(documents) + 1):  # a METS that is put right is another file to the one that lists it
        pending = False
        new = whole_bytes(after, wholes)
        changed = {path: (data, new[path]) for path, data in old.items() if new.get(path, data) != data}
        for path in documents:
            data = _with_digests(path, after.files[path], changed)
            pending |= data != after.files[path]
            after.files[path] = data
        old |= new
        if not pending:  # never so where METS list one another in a circle, or themselves
            break
    _seal_lists(before, after)
    _seal_manifests(before, after)


def _with_digests(path: str, data: bytes, changed: Mapping[str, tuple[bytes, bytes]]) -> bytes:
    if not any(
        digest(name, old).encode() in data for old, _ in changed.values() for name in _ALGORITHMS.values()
    ):
        return data
    try:
        document = Document.parsed(data)
    except etree.XMLSyntaxError:
        return data
    described = _premis if path.endswith("premis.xml") else _mets
    touched = False
    for of, put in described(path, document):
        if of in changed:
            touched |= put(*changed[of])
    return document.written() if touched else data


_Put = Callable[[bytes, bytes], bool]


def _mets(path: str, document: Document) -> Iterator[tuple[str, _Put]]:
    for each in document.elements():
        if each.get("CHECKSUM") is None:
            continue
        places = [each.get(HREF), *(one.get(HREF) for one in each.iterchildren("*"))]
        href = next((place for place in places if place), None)

        def put(old: bytes, new: bytes, entry: etree._Element = each) -> bool:
            algorithm = _ALGORITHMS.get(entry.get("CHECKSUMTYPE", ""))
            if algorithm is None or entry.get("CHECKSUM", "").lower() != digest(algorithm, old):
                return False
            entry.set("CHECKSUM", digest(algorithm, new))
            if entry.get("SIZE") == str(len(old)):
                entry.set("SIZE", str(len(new)))
            return True

        yield (target(path, href) if href else f"{_WHOLE}{each.get('ID')}"), put


def _premis(path: str, document: Document) -> Iterator[tuple[str, _Put]]:
    folder = posixpath.dirname(posixpath.dirname(posixpath.dirname(path)))
    for each in document.elements("object"):
        texts = {local(one): one for one in each.iter("*")}
        place = texts.get("contentLocationValue")
        name = texts.get("objectIdentifierValue")

        def put(old: bytes, new: bytes, entry: etree._Element = each) -> bool:
            values = {digest(name, old): digest(name, new) for name in _ALGORITHMS.values()}
            touched = False
            for one in entry.iter("*"):
                if local(one) == "messageDigest" and one.text in values:
                    one.text, touched = values[one.text], True
                elif local(one) == "size" and one.text == str(len(old)):
                    one.text, touched = str(len(new)), True
            return touched

        if place is not None:
            yield posixpath.normpath(posixpath.join(folder, place.text or "")), put
        elif name is not None:
            # The first identifier is the object's own; later ones are of what it is related to.
            yield f"{_WHOLE}{each.findtext('.//{*}objectIdentifierValue')}", put


def _seal_lists(before: Package, after: Package) -> None:
    """Put right the digests of a list of LOBs beside the archive (SIARD 2.2, S_8.1.3)."""
    for path in [each for each in after.files if each.rpartition("/")[2] == "manifest.txt"]:
        folder = posixpath.dirname(path)
        below = {posixpath.relpath(each, folder or "."): each for each in before.files}
        text = after.files[path].decode(errors="surrogateescape")
        for line in text.splitlines():
            stated, _, name = line.partition(" ")
            of = below.get(name.lstrip(" *./"), "")
            if of in after.files and stated == digest("md5", before.files[of]):
                text = text.replace(line, f"{digest('md5', after.files[of])} {name}")
        after.files[path] = text.encode(errors="surrogateescape")


def _seal_manifests(before: Package, after: Package) -> None:
    old, new = before.on_disk(), after.on_disk()
    for manifest in MANIFESTS:
        if manifest not in new:
            continue
        algorithm = manifest[9:-4]
        lines = after.files[manifest].splitlines(keepends=True)
        right = {f"{digest(algorithm, data)}  {path}\n".encode(): path for path, data in old.items()}
        kept = []
        for line in lines:
            path = right.get(line)
            if path is None:
                kept.append(line)
            elif path in new:
                kept.append(f"{digest(algorithm, new[path])}  {path}\n".encode())
        added = [path for path in new if path not in old and path not in MANIFESTS]
        if added:
            kept += [f"{digest(algorithm, new[path])}  {path}\n".encode() for path in added]
            kept.sort(key=lambda line: line.partition(b"  ")[2])
        after.files[manifest] = b"".join(kept)
