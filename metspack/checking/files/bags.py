"""Bags (BagIt) and lists of digests around packages: each read once, and compared with all that it covers.

The lines on a package's own files go to its catalogue, and are compared there with its METS; what is in no
package is compared here.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path

from metspack.checking import inventory
from metspack.checking.catalogue import (
    BAG,
    IN_OUTERMOST,
    LISTED_PATH,
    PAYLOAD,
    Batch,
    Catalogue,
    fault,
    folder_of,
    shown,
)
from metspack.checking.codes import Code
from metspack.checking.files import manifests
from metspack.checking.files.fixity import Fixity
from metspack.checking.files.manifests import BAGS, PUT_LINE, PUT_MANIFEST, SHOWN, Manifest, stated_path
from metspack.checking.opening import CheckedTree, PackageToCheck
from metspack.checking.options import Looking
from metspack.checking.segments import Unsettled
from metspack.containers.ipreader import Content, cut, stretches
from metspack.digests import OCTETS, algorithm_name
from metspack.errors import MetspackError
from metspack.model import Finding
from metspack.packages.files import FolderTree, PackageTree, PackedTree
from metspack.sizes import counted

_LIST = re.compile(r"(tag)?manifest-([a-z0-9-]+)\.txt", re.IGNORECASE)
_LINE = re.compile(rb"([0-9A-Fa-f]+)[ \t]+\*?(?:\./)*([^\r\n]+?)[\r\n]*", re.DOTALL)
_ENCODED = re.compile(rb"%(0A|0D|25)", re.IGNORECASE)
_FETCH, _INFORMATION = "fetch.txt", "bag-info.txt"
_FETCH_LINE = re.compile(rb"(\S+)[ \t]+(?:[0-9]+|-)[ \t]+([^\r\n]+?)[\r\n]*", re.DOTALL)
_OXUM = re.compile(rb"Payload-Oxum:[ \t]*([0-9]{1,99})\.([0-9]{1,99})[ \t\r]*", re.IGNORECASE)
_DECLARED = re.compile(rb"Tag-File-Character-Encoding:[ \t]*(.*)", re.IGNORECASE | re.DOTALL)
_AS_THEY_STAND = frozenset({"ascii", "utf-8", "utf-8-sig"})  # names need not be what is declared
# Python calls more a codec: those of bytes, and its own ways to write text.
_CODEC = re.compile(r"ascii|utf-(8|16|32)\b.*|(big5|cp|euc|gb|hp|hz|iso|johab|koi8|kz|mac|ptcp|shift|tis).*")
# Of a list that is of tag files the path is its own name.
_PUT_LIST = "INSERT INTO manifest (id, name, path, algorithm, read) VALUES (?, ?, ?, ?, ?)"
_LISTS = "SELECT id, name, algorithm, read, path FROM manifest ORDER BY id"
_LINES = """
SELECT manifest, path, digest, line FROM listed l WHERE manifest = ? AND path NOT IN unfetched
"""
_LINES_BELOW = f"{_LINES} AND path >= ? AND path < ?"
_IS_LISTED = "SELECT 1 FROM listed WHERE path = ?"
_PUT_SAMPLED = "INSERT OR IGNORE INTO sampled SELECT path FROM listed WHERE manifest = ?"
_PAYLOAD = "d.kind = 'f' AND d.path >= CAST('data/' AS BLOB) AND d.path < CAST('data0' AS BLOB)"
_LINES_IN_NO_PACKAGE = f"{_LINES} AND (? OR NOT {IN_OUTERMOST.format('l.path')})"
_FILES_IN_NO_PACKAGE = f"""
SELECT * FROM disk d WHERE kind IN ('f', 'd') AND (NOT ({_PAYLOAD}) OR NOT {IN_OUTERMOST.format("d.path")})
"""  # noqa: S608 -- a constant
_UNNAMED = f"""
SELECT m.name, d.path FROM manifest m CROSS JOIN disk d WHERE m.path IS NULL AND m.read AND {_PAYLOAD}
AND NOT EXISTS (SELECT 1 FROM listed l WHERE l.path = d.path AND l.manifest = m.id)
"""  # noqa: S608 -- a constant
_LOST = """
SELECT 1 FROM listed l JOIN manifest m ON m.id = l.manifest AND m.path IS NULL
WHERE NOT EXISTS (SELECT 1 FROM disk d WHERE d.path = l.path AND d.kind = 'f')
"""
_PAYLOAD_SIZE = f"SELECT coalesce(sum(d.size), 0), count(*) FROM disk d WHERE {_PAYLOAD}"  # noqa: S608

_Tree = FolderTree | PackedTree


def is_payload(tree: PackageTree) -> bool:
    """Return whether a package is the whole payload of a bag, whose folder has not the package's name."""
    return any(above == PAYLOAD and outer.is_there(BAG) for outer, above in _around(tree))


def _around(tree: PackageTree) -> Iterator[tuple[_Tree, bytes]]:
    """Yield a tree and the folders that it is in, each with its path there and a slash."""
    if isinstance(tree, FolderTree | PackedTree):
        yield tree, b""
        yield from tree.around()


class Surroundings:
    """The bags and lists around the packages of a check: those of a bag, and in the folders given."""

    def __init__(self, packages: Sequence[PackageToCheck], given: Sequence[Path], looking: Looking) -> None:
        self._given = [os.path.join(os.path.realpath(each), "") for each in given]
        self._looking = looking
        self._folders: dict[str, _ListedFolder | None] = {}
        for each in packages:
            for tree, above in _around(each.tree):
                if (found := self._folder(tree, above)) is not None:
                    found.packages.add(above)
                    found.waiting.add(above)

    def _folder(self, tree: _Tree, above: bytes) -> _ListedFolder | None:
        """Return the bag or folder with lists that a package is in, None for any other."""
        if tree.shown not in self._folders:
            is_given = tree.is_packed or any(f"{tree.shown}/".startswith(each) for each in self._given)
            is_bag = tree.is_there(BAG)
            is_one = is_bag or (is_given and above and any(map(_LIST.fullmatch, tree.names_at_top())))
            self._folders[tree.shown] = (
                _ListedFolder(self._looking, tree, is_bag=is_bag, is_whole=is_given) if is_one else None
            )
        found = self._folders[tree.shown]
        is_in_bag = not above or above.startswith(PAYLOAD)
        return None if found is None or (found.is_bag and not is_in_bag) else found

    def findings(
        self, catalogue: Catalogue, places: CheckedTree, trees: Iterable[tuple[bytes, PackageTree]]
    ) -> Generator[Finding, None, bool]:
        """Give the catalogue what is listed of a package; yield what is wrong with lists and in no package.

        ``trees`` are those of the package with their paths in it. Returns whether it is a bag itself: lists
        at its root are the bag's then.
        """
        is_bag = False
        for at, tree in trees:
            for outer, above in _around(tree):
                if (folder := self._folder(outer, above)) is None:
                    continue
                if places.agreement is not None:
                    raise Unsettled  # its lists speak of each file
                before = "../" * above.count(b"/")
                yield from folder.findings(before, above)
                if tree.is_packed == outer.is_packed:
                    folder.give(catalogue, before, above, at)
                folder.waiting.discard(above)
                if not (folder.waiting or outer.is_packed):
                    folder.close()  # of very many bags one at a time is held
                is_bag |= not above
        return is_bag

    def covers(self, place: str) -> bool:
        """Return whether a file in a zip or tar file is a list, named by one, or in a bag."""
        return any(each.has(place) for each in self._folders.values() if each is not None)

    def close(self) -> None:
        """Drop what was read."""
        for folder in filter(None, self._folders.values()):
            folder.close()


class _ListedFolder:
    """A bag, or a folder with lists; ``packages`` are the paths of those in it, each with its slash.

    Those ``waiting`` have not got their lines yet.
    Its catalogue has the lists, their lines and the files. Where it ``is_whole`` under check so are all
    packages in it.
    """

    def __init__(self, looking: Looking, tree: _Tree, *, is_bag: bool, is_whole: bool) -> None:
        self.packages, self.waiting = set[bytes](), set[bytes]()
        self.is_bag, self._is_whole = is_bag, is_whole
        self._hashes = looking.level.hashes and looking.sample is None
        self._tree, self._places = tree, CheckedTree(tree, None, looking.budgets)
        self._is_read, self._before = False, ""
        self._encoding, self._codec = "", ""  # as declared, and the codec of one that must be decoded

    @cached_property
    def _catalogue(self) -> Catalogue:
        return Catalogue()

    def findings(self, before: str, above: bytes) -> Iterator[Finding]:
        """Yield what is wrong with the folder, once, with the first package in it."""
        if self._is_read:
            return
        self._is_read, self._before = True, before
        names = self._tree.names_at_top()
        if self.is_bag:
            yield from self._of(BAG.decode(), self._declaration())
        yield from self._lists(names)
        if self.is_bag and _FETCH in names:
            yield from self._of(_FETCH, self._unfetched(above))
        for _ in inventory.findings(self._catalogue, self._places, whole=True):
            pass  # of what is in no package only the lists speak
        self._catalogue.put(LISTED_PATH)
        others = () if self._is_whole else self._catalogue.rows("SELECT path FROM document")
        self._catalogue.keep_outermost(sorted({*self.packages, *(folder_of(path) for (path,) in others)}))
        yield from self._in_no_package()
        if self.is_bag and _INFORMATION in names:
            yield from self._of(_INFORMATION, self._information())

    def give(self, catalogue: Catalogue, before: str, above: bytes, at: bytes) -> None:
        """Put the lines on the files of the package at ``above`` into its catalogue, where it lies ``at``."""
        span = above, (above[:-1] + b"0" if above else b"\xff")
        batch = Batch(catalogue)
        for number, name, algorithm, is_read, tags in self._catalogue.all(_LISTS):
            if tags or not (self.is_bag or self._catalogue.row(_LINES_BELOW, number, *span)):
                continue
            given = catalogue.put(PUT_MANIFEST, name if self.is_bag else before + name, algorithm)
            catalogue.put("UPDATE manifest SET read = ? WHERE id = ?", is_read, given)
            for _, path, digest, line in self._catalogue.rows(_LINES_BELOW, number, *span):
                batch.add(PUT_LINE, given, at + path[len(above) :], digest, line)
        for (path,) in self._catalogue.rows("SELECT path FROM unfetched WHERE path >= ? AND path < ?", *span):
            batch.add("INSERT OR IGNORE INTO unfetched VALUES (?)", at + path[len(above) :])
        batch.flush()

    def has(self, place: str) -> bool:
        """Return whether a file in the same zip or tar file is a list, named by one, or in the bag."""
        path = place.removeprefix(f"{self._tree.shown}/")
        if path == place or not self._tree.is_packed:
            return False
        is_list = self.is_bag or _LIST.fullmatch(path) is not None
        return is_list or self._catalogue.row(_IS_LISTED, os.fsencode(path)) is not None

    def _of(self, name: str, findings: Iterator[Finding]) -> Iterator[Finding]:
        """Yield the findings on a list or another file about the bag, or that it cannot be read."""
        try:
            yield from findings
        except (OSError, MetspackError, UnicodeError) as error:
            reason = fault(error) if isinstance(error, OSError) else str(error)
            if isinstance(error, UnicodeError):  # its own words differ between versions of Python
                reason = f"not in {self._encoding}, as bagit.txt says"
            yield Code.UNREADABLE.at(self._before + name, reason=reason)

    # --- Lists and other files about the folder ---------------------------------------------------------

    def _declaration(self) -> Iterator[Finding]:
        """Take the encoding of the other files about the bag; yield that it is none of text."""
        with self._tree.content(BAG) as content:
            lines = ((line, _DECLARED.fullmatch(line.strip())) for line in content.lines())
            line, declared = next((each for each in lines if each[1]), (b"", None))
        if declared is None:
            return
        self._encoding = declared[1].decode("utf-8", "replace")
        try:
            codec = codecs.lookup(self._encoding).name
        except (LookupError, ValueError):
            codec = ""
        if _CODEC.fullmatch(codec):
            self._codec = "" if codec in _AS_THEY_STAND else codec
        else:
            yield from self._strange(BAG.decode(), 1, line)

    def _strange(self, name: str, count: int, first: bytes) -> Iterator[Finding]:
        """Yield that some lines of a file are not understood, if there are any."""
        if count:
            facts = {"found": shown(first.strip()[:SHOWN]), "count": f"{count:,}", "manifest": name}
            yield Code.BAG_LINE.at(self._before + name, **facts)

    def _lists(self, names: Sequence[str]) -> Iterator[Finding]:
        found = [(name, kind) for name in names if (kind := _LIST.fullmatch(name)) is not None]
        known = {name: algorithm_name(kind[2]) for name, kind in found if self.is_bag or not kind[1]}
        payload = [known[name] for name, kind in found if not kind[1]]
        if self.is_bag and not payload:
            yield Code.BAG_WITHOUT_MANIFEST.at(self._before + BAG.decode())
        for name, kind in found:
            if algorithm := known.get(name):
                yield from self._of(name, self._lines(name, algorithm, is_of_tags=kind[1] is not None))
            elif name in known:
                unknown = Code.UNKNOWN_ALGORITHM.at if any(payload) else Code.UNKNOWN_ALGORITHM.error_at
                reason = f"digests by {kind[2]!r} are not computed: nothing was compared with this list"
                yield unknown(self._before + name, reason=reason, expected=", ".join(OCTETS))

    def _lines(self, name: str, algorithm: str, *, is_of_tags: bool) -> Iterator[Finding]:
        """Put the lines of a list into the catalogue; yield that some are not understood."""
        named, tags = f"{BAGS if self.is_bag else ''}{name}", name.encode() if is_of_tags else None
        number = self._catalogue.put(_PUT_LIST, None, named, tags, algorithm, 0)
        batch = Batch(self._catalogue)
        strange, first = 0, b""
        with self._tree.content(name.encode()) as content:
            if not self.is_bag:
                manifest = Manifest(self._catalogue, number, self._before + name, algorithm)
                forms = Code.MANIFEST_FORM.id  # which no list of others need have
                yield from (each for each in manifest.findings(content) if each.code != forms)
                return
            for line_number, line in enumerate(_lines(content, self._codec), start=1):
                digest, path = self._parsed(line, algorithm)
                if digest and is_of_tags != path.startswith(PAYLOAD):
                    batch.add(PUT_LINE, number, path, digest, line_number)
                    if b"\\" in line and b"\\" not in path:
                        strange, first = strange + 1, first or b"backslashes for slashes: " + line
                elif line.strip():
                    strange, first = strange + 1, first or line
        batch.flush()
        self._catalogue.put("UPDATE manifest SET read = 1 WHERE id = ?", number)
        yield from self._strange(name, strange, first)

    def _parsed(self, line: bytes, algorithm: str) -> tuple[str, bytes]:
        """Return digest and path of a line of a list; no digest of one that is none."""
        found = _LINE.fullmatch(line)
        if found is None or len(found[1]) != 2 * OCTETS[algorithm]:
            return "", b""
        reason, path = stated_path(self._meant(found[2]))
        return "" if reason else found[1].decode().lower(), path

    def _meant(self, written: bytes) -> bytes:
        """Return the path that is written: before version 1.0 a per cent sign stands for itself."""
        path = written.removeprefix(b"./")
        if b"\\" in path and not self._tree.is_there(path):
            path = path.replace(b"\\", b"/")  # as programs on Windows write them
        is_so = b"%" in path and not path.startswith(b"/") and b".." not in path and self._tree.is_there(path)
        return path if is_so else _ENCODED.sub(lambda mark: bytes((int(mark[1], 16),)), path)

    def _unfetched(self, above: bytes) -> Iterator[Finding]:
        """Yield that files of the payload are still to be fetched, which are not lost then."""
        strange, fault, count, first = 0, b"", 0, ("", "")
        with self._tree.content(_FETCH.encode()) as content:
            for line in filter(bytes.strip, _lines(content, self._codec)):
                found = _FETCH_LINE.fullmatch(line)
                reason, path = ("no line", b"") if found is None else stated_path(self._meant(found[2]))
                if found is None or reason or not path.startswith(PAYLOAD):
                    strange, fault = strange + 1, fault or line
                elif not self._tree.is_there(path):
                    self._catalogue.put("INSERT OR IGNORE INTO unfetched VALUES (?)", path)
                    inner = shown(path.removeprefix(above))
                    count, first = count + 1, first if count else (inner, shown(found[1]))
        if count:
            facts = {"count": f"{count:,}", "expected": first[0], "url": first[1]}
            yield Code.NOT_FETCHED.at(self._before + _FETCH, **facts)
        yield from self._strange(_FETCH, strange, fault)

    def _information(self) -> Iterator[Finding]:
        """Yield that there are more or fewer files, or bytes, than bag-info.txt says (Payload-Oxum)."""
        with self._tree.content(_INFORMATION.encode()) as content:
            stated = [found for line in _lines(content, self._codec) if (found := _OXUM.fullmatch(line))]
        if self._catalogue.row(_LOST) is not None or self._catalogue.row(_UNNAMED) is not None:
            return  # what is missing or not named is told one by one
        size, count = self._catalogue.row(_PAYLOAD_SIZE) or (0, 0)
        for each in stated:
            if (int(each[1]), int(each[2])) != (size, count):
                facts = {
                    "expected": f"{counted(int(each[2]), 'file')} of {counted(int(each[1]), 'byte')}",
                    "found": f"{counted(count, 'file')} of {counted(size, 'byte')}",
                }
                yield Code.BAG_DIFFERS.at(self._before + _INFORMATION, manifest=_INFORMATION, **facts)

    # --- What is in no package --------------------------------------------------------------------------

    def _in_no_package(self) -> Iterator[Finding]:
        """Yield what a catalogue of the files and lines that are in no package is found to have."""
        with Catalogue() as own:
            for number, name, algorithm, read, tags in self._catalogue.all(_LISTS):
                own.put(_PUT_LIST, number, name, None, algorithm, 0 if tags else read)
                lines = self._catalogue.rows(_LINES_IN_NO_PACKAGE, number, tags is not None)
                own.put_many(PUT_LINE, lines)
                if tags:  # they are few, and read at every level
                    own.put(_PUT_SAMPLED, number)
            own.put_many("INSERT INTO folder VALUES (?, ?)", self._catalogue.rows("SELECT * FROM folder"))
            own.put_many("INSERT INTO disk VALUES (?, ?, ?)", self._catalogue.rows(_FILES_IN_NO_PACKAGE))
            own.index()
            fixity = Fixity(own, self._places, lambda _: None, lambda _: None)
            for each in chain(manifests.findings(own), fixity.of_files(sampled=not self._hashes)):
                finding = self._of_bag(each) if self.is_bag else each
                yield replace(finding, path=self._before + finding.path)

    def _of_bag(self, finding: Finding) -> Finding:
        """Return the finding on a digest as one on a bag."""
        if finding.code != Code.MANIFEST_DIGEST_DIFFERS.id:
            return finding
        facts = dict(finding.facts)
        manifest = facts["source"].removeprefix(BAGS).partition(" line ")[0]
        stated = f"{facts['algorithm']} {facts['expected']}"
        return Code.BAG_DIFFERS.at(finding.path, manifest=manifest, expected=stated, found=facts["found"])

    def close(self) -> None:
        """Drop what was read."""
        if (held := self.__dict__.pop("_catalogue", None)) is not None:
            held.close()


def _lines(content: Content, codec: str) -> Iterator[bytes]:
    """Yield the lines of a list, which may end as on any system; a mark of UTF-8 is left out.

    Raises ``UnicodeError`` for one that is not in the encoding of ``codec``, if there is one.
    """
    blocks = content.blocks()
    if codec:
        first = next(blocks, b"")
        # Without a mark UTF-16 is big-endian (RFC 2781, 4.3), and begins with a character of ASCII.
        codec += "-be" if codec in {"utf-16", "utf-32"} and first.startswith(b"\0") else ""
        blocks = (each.encode() for each in codecs.iterdecode(chain((first,), blocks), codec))
    for number, line in enumerate(chain.from_iterable(map(cut, stretches(blocks)))):
        yield from (line.removeprefix(codecs.BOM_UTF8) if number == 0 else line).splitlines()
