"""Changes of LOBs and other files: bytes, names and places; METS, PREMIS and manifests say the same."""

from __future__ import annotations

import copy
import posixpath
from collections.abc import Callable
from random import Random
from urllib.parse import quote, unquote

from lxml import etree

from tests.mutants.archives import Archive
from tests.mutants.documents import HREF, Document, local, remove
from tests.mutants.kinds.kind import Change, Kind
from tests.mutants.package import Package
from tests.mutants.sealing import digest, parts, target, whole_bytes


def _flipped(data: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]


def _cut(data: bytes, chance: Random) -> bytes:
    return data[: chance.randrange(len(data))]


def _longer(data: bytes, chance: Random) -> bytes:
    return data + bytes([chance.randrange(256)])


def _emptied(_data: bytes, _chance: Random) -> bytes:
    return b""


Altering = Callable[[bytes, Random], bytes]


def _kind_of(package: Package, path: str) -> str:
    return "part" if any(path in held for held in parts(package).values()) else "LOB"


def _altered(
    words: str, alter: Altering, *, with_cell: bool = False
) -> Callable[[Package, Random], Change | None]:
    """Change a LOB's bytes; its cell says so only ``with_cell``."""

    def apply(package: Package, chance: Random) -> Change | None:
        lobs = [path for path in package.lobs if package.files[path]]
        if with_cell:  # a text's length is counted in characters
            lobs = [path for path in lobs if not path.endswith(".txt")]
        if not lobs:
            return None
        path = chance.choice(lobs)
        wholes = parts(package)
        before = whole_bytes(package, wholes)
        package.files[path] = alter(package.files[path], chance)
        if with_cell:
            for name, data in whole_bytes(package, wholes).items():
                if before[name] != data:
                    _tell_cells(package, before[name], data)
        what = f"{_kind_of(package, path)} {words}{' with its cell' if with_cell else ''}"
        return Change(what, path, is_of_other_lobs=with_cell)

    return apply


def _tell_cells(package: Package, old: bytes, new: bytes) -> None:
    for path in package.archives:
        archive = Archive.read(package.files[path])
        touched = False
        for table in archive.tables:
            document = Document.parsed(table.data)
            for cell in document.elements():
                if cell.get("digest", "").lower() == digest("md5", old):
                    cell.set("digest", digest("md5", new))
                    cell.set("length", str(len(new)))
                    table.data, touched = document.written(), True
        if touched:
            package.files[path] = archive.written()


def _exchanged(package: Package, chance: Random) -> Change | None:
    lobs = package.lobs
    pairs = [
        (one, two) for one in lobs for two in lobs if one < two and package.files[one] != package.files[two]
    ]
    if not pairs:
        return None
    one, two = chance.choice(pairs)
    package.files[one], package.files[two] = package.files[two], package.files[one]
    kinds = sorted({_kind_of(package, one), _kind_of(package, two)})
    return Change(f"bytes of {' and '.join(kinds)} exchanged", f"{one}, {two}")


def _entries(package: Package, path: str) -> list[tuple[str, Document, etree._Element]]:
    """Return the METS entries of a file: document's path, document, FLocat or mdRef."""
    found = []
    for mets in package.mets:
        document = Document.parsed(package.files[mets])
        found += [
            (mets, document, each)
            for each in document.elements()
            if each.get(HREF)
            and local(each) in {"FLocat", "mdRef"}
            and target(mets, each.get(HREF, "")) == path
        ]
    return found


def _relocate(package: Package, path: str, new: str) -> None:
    """Put a file elsewhere; its entry in METS and its place in PREMIS follow, its cell does not."""
    for mets, document, place in _entries(package, path):
        place.set(HREF, quote(posixpath.relpath(new, posixpath.dirname(mets) or ".")))
        package.files[mets] = document.written()
    for premis in package.premis:
        folder = posixpath.dirname(posixpath.dirname(posixpath.dirname(premis)))
        document = Document.parsed(package.files[premis])
        for each in document.elements("contentLocationValue"):
            if posixpath.normpath(posixpath.join(folder, unquote(each.text or ""))) == path:
                each.text = posixpath.relpath(new, folder or ".")
                package.files[premis] = document.written()
    package.files = {new if each == path else each: data for each, data in package.files.items()}


def _files(package: Package) -> list[str]:
    """Return files that METS may have elsewhere."""
    return [
        path
        for path in package.files
        if path not in package.mets and "manifest" not in path and "mapping" not in path
    ]


def _sort(package: Package, path: str) -> str:
    if path in package.lobs:
        return _kind_of(package, path)
    return "archive" if path.endswith(".siard") else "other file"


def _renamed(package: Package, chance: Random) -> Change | None:
    path = chance.choice(chance.choice([package.lobs, _files(package)]))
    folder, _, name = path.rpartition("/")
    new = chance.choice(
        (f"x{name}", name.swapcase(), f"{name}x", name.replace("_", "-").replace("record", "Record"))
    )
    new = f"{folder}/{new}" if folder else new
    if new in package.files or new == path:
        return None
    words = f"{_sort(package, path)} renamed with its entry"
    _relocate(package, path, new)
    return Change(words, f"{path} to {new}")


def _moved(package: Package, chance: Random) -> Change | None:
    path = chance.choice(chance.choice([package.lobs, _files(package)]))
    folder, name = posixpath.dirname(path), posixpath.basename(path)
    folders = sorted(
        {posixpath.dirname(each) for each in package.files} | {posixpath.join(folder, "other")} - {folder}
    )
    new = posixpath.join(chance.choice(folders), name)
    if new in package.files:
        return None
    words = f"{_sort(package, path)} moved with its entry"
    _relocate(package, path, new)
    return Change(words, f"{path} to {new}")


def _exchanged_with_entries(package: Package, chance: Random) -> Change | None:
    """Let two LOBs have each other's names, in METS too: only cells and ids know which is which."""
    if len(package.lobs) < 2:
        return None
    one, two = chance.sample(package.lobs, 2)
    kinds = sorted({_kind_of(package, one), _kind_of(package, two)})
    _relocate(package, one, "aside")
    _relocate(package, two, one)
    _relocate(package, "aside", two)
    return Change(f"names of {' and '.join(kinds)} exchanged with their entries", f"{one}, {two}")


def _deleted(package: Package, chance: Random) -> Change | None:
    path = chance.choice(chance.choice([package.lobs, _files(package)]))
    words = f"{_sort(package, path)} deleted with its entry"
    for mets, document, place in _entries(package, path):
        entry = place if local(place) == "mdRef" else place.getparent()
        assert entry is not None
        identifier = entry.get("ID")
        gone = entry.getparent() if local(place) == "mdRef" else entry
        assert gone is not None
        remove(gone)
        for each in document.elements("fptr"):
            if identifier and each.get("FILEID") == identifier:
                remove(each)
        package.files[mets] = document.written()
    for premis in package.premis:
        folder = posixpath.dirname(posixpath.dirname(posixpath.dirname(premis)))
        document = Document.parsed(package.files[premis])
        for each in document.elements("object"):
            place_in = each.findtext(".//{*}contentLocationValue")
            if place_in and posixpath.normpath(posixpath.join(folder, place_in)) == path:
                remove(each)
                package.files[premis] = document.written()
    package.files.pop(path, None)
    return Change(words, path)


def _doubled(package: Package, chance: Random) -> Change | None:
    """Copy a file to another name, with an entry and a pointer of its own."""
    path = chance.choice(package.lobs)
    entries = [each for each in _entries(package, path) if local(each[2]) == "FLocat"]
    if not entries:
        return None
    mets, document, place = entries[0]
    entry = place.getparent()
    assert entry is not None
    folder, _, name = path.rpartition("/")
    new = f"{folder}/copy-{name}"
    twin = copy.deepcopy(entry)
    twin.set("ID", f"{entry.get('ID')}.copy")
    for each in twin:
        each.set(HREF, quote(posixpath.relpath(new, posixpath.dirname(mets) or ".")))
    entry.addnext(twin)
    for each in document.elements("fptr"):
        if each.get("FILEID") == entry.get("ID"):
            pointer = copy.deepcopy(each)
            pointer.set("FILEID", twin.get("ID", ""))
            each.addnext(pointer)
    package.files[mets] = document.written()
    package.files[new] = package.files[path]
    return Change(f"{_kind_of(package, path)} doubled with its entry", path)


def _unlisted(package: Package, chance: Random) -> Change:
    """Put a file into the package that the manifests list and METS does not."""
    folder = posixpath.dirname(chance.choice(sorted(package.files)))
    new = posixpath.join(
        folder, chance.choice(("notes.txt", "record99.bin", ".hidden", "Thumbs.db", "mets.xml.bak"))
    )
    package.files[new] = b"more\n"
    return Change("file that no METS lists", new)


def _mets_exchanged(package: Package, chance: Random) -> Change | None:
    """Let two children have each other's METS, as their parent then says."""
    if len(package.mets) < 3:
        return None
    one, two = chance.sample(package.mets, 2)
    package.files[one], package.files[two] = package.files[two], package.files[one]
    return Change("two METS exchanged", f"{one}, {two}")


LOB_KINDS = (
    Kind("LOB changed", _altered("changed", _flipped), weight=2),
    Kind("LOB cut", _altered("cut", _cut)),
    Kind("LOB longer", _altered("longer", _longer)),
    Kind("LOB emptied", _altered("emptied", _emptied)),
    Kind("LOB changed with its cell", _altered("changed", _flipped, with_cell=True)),
    Kind("LOB cut with its cell", _altered("cut", _cut, with_cell=True)),
    Kind("LOBs exchanged", _exchanged, weight=2),
    Kind("LOBs exchanged with their entries", _exchanged_with_entries, weight=2),
    Kind("file renamed with its entry", _renamed, weight=2),
    Kind("file moved with its entry", _moved, weight=2),
    Kind("file deleted with its entry", _deleted, weight=2),
    Kind("LOB doubled with its entry", _doubled),
    Kind("file that no METS lists", _unlisted),
    Kind("METS exchanged", _mets_exchanged),
)
