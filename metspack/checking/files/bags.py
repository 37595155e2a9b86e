"""Check bags (BagIt) and lists of digests around packages, each read once.

The lines on a package's files go to its catalogue, and are compared there with its METS; files outside
packages are compared here.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path

from metspack.checking import inventory
from metspack.checking.catalogue import IN_OUTERMOST, PUT_MARK, Batch, Catalogue, Mark, is_marked
from metspack.checking.codes import Code
from metspack.checking.files import manifests
from metspack.checking.files.fixity import Fixity
from metspack.checking.files.manifests import BAGS, PUT_LINE, PUT_LIST, SHOWN
from metspack.checking.options import Level, Looking
from metspack.checking.segments import Agreement
from metspack.checking.tree import CheckedTree
from metspack.containers.ipreader import OpenPacks
from metspack.digests import OCTETS, algorithm_name
from metspack.errors import MetspackError
from metspack.files.paths import folder_of, reason_of, shown, span_below
from metspack.model import Finding
from metspack.packages.bagit import BAG, FETCH, INFORMATION, PAYLOAD, BagFiles
from metspack.packages.delivery import DeliveredPackage
from metspack.packages.digestlists import BEYOND_BAGIT, LineReader, algorithm_of, is_list
from metspack.packages.files import FolderTree, PackageTree, PackedTree
from metspack.sizes import counted
from metspack.system import os

_LIST = re.compile(r"(tag)?manifest-([a-z0-9-]+)\.txt", re.IGNORECASE)
# A list of tag files has its name as its path.
_PUT_LIST = "INSERT INTO manifest (id, name, path, algorithm, read) VALUES (?, ?, ?, ?, ?)"
_GIVEN = "SELECT id FROM manifest WHERE name = ? AND algorithm = ? AND path IS NULL"
_LISTS = "SELECT id, name, algorithm, read, path FROM manifest ORDER BY id"
_LINES = f"""
SELECT manifest, path, digest, line FROM listed l
WHERE manifest = ? AND NOT {is_marked(Mark.UNFETCHED, "l.path")}
"""  # noqa: S608 -- a constant
_LINES_BELOW = f"{_LINES} AND path >= ? AND path < ?"
_IS_LISTED = "SELECT 1 FROM listed WHERE path = ?1 UNION ALL SELECT 1 FROM manifest WHERE path = ?1"
_PUT_SAMPLED = "INSERT OR IGNORE INTO mark (mark, path) SELECT ?, path FROM listed WHERE manifest = ?"
_PAYLOAD = "d.kind = 'f' AND d.path >= CAST('data/' AS BLOB) AND d.path < CAST('data0' AS BLOB)"
_LINES_IN_NO_PACKAGE = f"{_LINES} AND (? OR NOT {IN_OUTERMOST.format('l.path')})"
_FILES_IN_NO_PACKAGE = f"""
SELECT * FROM disk d WHERE kind IN ('f', 'd') AND (NOT ({_PAYLOAD}) OR NOT {IN_OUTERMOST.format("d.path")})
"""  # noqa: S608 -- a constant
_LOOSE = f"SELECT path, EXISTS ({_IS_LISTED.replace('?1', 'd.path')}) FROM disk d WHERE kind = 'f'"  # noqa: S608
_NEITHER = f"SELECT path, kind FROM disk d WHERE kind IN ('l', 's') AND NOT {IN_OUTERMOST.format('d.path')}"  # noqa: S608
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
    """Return whether a package is the whole payload of a bag, whose folder has another name."""
    return any(above == PAYLOAD and outer.is_there(BAG) for outer, above in _around(tree))


def _around(tree: PackageTree) -> Iterator[tuple[_Tree, bytes]]:
    """Yield a tree and the folders that it is in, each with its path there and a slash."""
    if isinstance(tree, FolderTree | PackedTree):
        yield tree, b""
        yield from tree.around()


class Surroundings:
    """The bags and lists around the packages of a check: in the folders given, and bags above."""

    def __init__(
        self, packages: Sequence[DeliveredPackage], given: Sequence[Path], packs: OpenPacks, looking: Looking
    ) -> None:
        self._given = [os.path.join(os.path.realpath(each), "") for each in given]
        self._looking, self._packs = looking, packs
        self._folders: dict[str, _ListedFolder | None] = {}
        self.apart = set[str]()
        self._loose: dict[str, bool] = {}  # files in no package: whether a list names them
        for each in packages:
            for tree, above in _around(each.tree(self._packs)):
                if (found := self._folder(tree, above)) is not None:
                    found.packages.add(above)
                    found.waiting.add(above)

    def _folder(self, tree: _Tree, above: bytes) -> _ListedFolder | None:
        """Return the bag or folder with lists that a package is in, or None for any other."""
        if tree.shown not in self._folders:
            is_given = tree.is_packed or any(f"{tree.shown}/".startswith(each) for each in self._given)
            is_bag = tree.is_there(BAG)
            has_lists = is_given and above and any(map(is_list, tree.names_at_top()))
            new = _ListedFolder(self._looking, tree, self._loose, is_bag=is_bag, is_whole=is_given)
            self._folders[tree.shown] = new if is_bag or has_lists else None
        found = self._folders[tree.shown]
        is_in_bag = not above or above.startswith(PAYLOAD)
        return None if found is None or (found.is_bag and not is_in_bag) else found

    def findings(self, catalogue: Catalogue, package: DeliveredPackage) -> Generator[Finding, None, bool]:
        """Put the lines on a package into its catalogue; yield findings on lists and other files.

        Returns whether the package is a bag: then the lists at its root are the bag's. Findings on lists
        outside bags have one of the paths ``apart``: from the package as it was given. Those on lists in a
        packed file that was given as the package are left out of ``apart``.
        """
        is_bag = False
        self.apart.clear()
        for each in package.members or (package,):
            at = os.fsencode(each.folder) + b"/" if package.members else b""
            for outer, above in _around(each.tree(self._packs)):
                if (folder := self._folder(outer, above)) is None:
                    continue
                is_named = each.within and each.shown == str(each.path)
                unshown = each.within.count("/") + 1 if is_named else 0
                before = "../" * (above.count(b"/") - (0 if outer.is_packed else unshown))
                is_apart = not (folder.is_bag or (outer.is_packed and unshown))
                for finding in folder.findings(before):
                    self.apart.update((finding.path,) if is_apart else ())
                    yield finding
                if each.is_packed == outer.is_packed:
                    folder.give(catalogue, before, above, at)
                folder.waiting.discard(above)
                if not (folder.waiting or outer.is_packed):
                    folder.close()  # so that one of very many bags is held at a time
                is_bag |= not above
        return is_bag

    def unnamed(self, finding: Finding) -> Iterator[Finding]:
        """Yield the finding on an entry of a delivery unless a list names it.

        In a folder with some named files, each other file has a finding. All lists must have been read; a
        check of links leaves lists out.
        """
        folder, name = os.path.split(finding.path)
        path = os.path.join(os.path.realpath(folder), name)
        if self._looking.level is Level.LINKS and any(
            path.startswith(f"{shown}/") for shown in self._folders if self._folders[shown] is not None
        ):
            return
        start, stop = (bisect_left(self._paths, path + end) for end in ("/", "0"))
        inside = self._paths[start:stop]
        if any(self._loose[each] for each in inside):
            for each in inside:
                if not self._loose[each]:
                    yield Code.OTHER_ENTRY.at(f"{finding.path}{each[len(path) :]}", found="another file")
        elif not self._loose.get(path):
            yield finding

    @cached_property
    def _paths(self) -> list[str]:
        return sorted(self._loose)

    def covers(self, place: str) -> bool:
        """Return whether a file in a zip or tar file is a list, named by a list, or in a bag."""
        return any(each.has(place) for each in self._folders.values() if each is not None)

    def close(self) -> None:
        """Drop the catalogues."""
        for folder in filter(None, self._folders.values()):
            folder.close()


class _ListedFolder:
    """A bag, or a folder with lists; ``packages`` are those in it, as paths with a slash.

    The packages ``waiting`` have not got their lines yet. The catalogue has the lists, their lines and the
    files. With ``is_whole`` the whole folder is under check, and so are all packages in it.
    """

    def __init__(
        self, looking: Looking, tree: _Tree, loose: dict[str, bool], *, is_bag: bool, is_whole: bool
    ) -> None:
        self.packages, self.waiting = set[bytes](), set[bytes]()
        self.is_bag, self._is_whole = is_bag, is_whole
        self._hashes = looking.level.hashes and looking.sample is None
        self._tree, self._looking, self._bag = tree, looking, BagFiles(tree)
        self._found: Iterable[Finding] = self._all_findings()
        self._loose = loose

    @cached_property
    def _catalogue(self) -> Catalogue:
        return Catalogue()

    @cached_property
    def _places(self) -> CheckedTree:
        empty = Agreement(Path(), self._looking, self._catalogue)
        return CheckedTree(self._tree, empty, self._looking.budgets.holes)

    def findings(self, before: str) -> Iterator[Finding]:
        """Yield the findings on the folder, once, with the first package in it."""
        found, self._found = self._found, ()
        for each in found:
            yield replace(each, path=before + each.path)

    def _all_findings(self) -> Iterator[Finding]:
        for _ in inventory.findings(self._catalogue, self._places, whole=True):
            pass  # only the lists cover the files in no package
        names = {os.fsdecode(path): kind for path, kind in self._catalogue.rows(manifests.AT_ROOT)}
        if self.is_bag:
            yield from self._of(BAG.decode(), self._declaration())
        yield from self._lists(names)
        if self.is_bag and FETCH in names:
            yield from self._of(FETCH, self._unfetched(min(self.packages)))
        others = () if self._is_whole else self._catalogue.marked(Mark.DOCUMENT)
        self._catalogue.keep_outermost(sorted({*self.packages, *map(folder_of, others)}))
        yield from self._in_no_package()
        if self.is_bag and INFORMATION in names:
            yield from self._of(INFORMATION, self._information())

    def give(self, catalogue: Catalogue, before: str, above: bytes, at: bytes) -> None:
        """Put the lines on the files of the package at ``above`` into its ``catalogue``.

        ``at`` is the package's path there; ``before`` goes before the names of lists that are no bag's.
        """
        span = span_below(above)
        batch = Batch(catalogue.put_many)
        for number, name, algorithm, is_read, tags in self._catalogue.all(_LISTS):
            is_of_bag = name.startswith(BAGS)
            if (is_of_bag and tags) or not (is_of_bag or self._catalogue.row(_LINES_BELOW, number, *span)):
                continue
            named = name if is_of_bag else before + name, algorithm
            if (row := catalogue.row(_GIVEN, *named)) is None:  # if not, another IP is in the same bag
                row = (catalogue.put(PUT_LIST, named[0], None, algorithm),)
            given = row[0]
            catalogue.put("UPDATE manifest SET read = ? WHERE id = ?", is_read, given)
            for _, path, digest, line in self._catalogue.rows(_LINES_BELOW, number, *span):
                batch.add(PUT_LINE, given, at + path[len(above) :], digest, line)
        sql = "SELECT path FROM mark WHERE mark = ? AND path >= ? AND path < ?"
        for (path,) in self._catalogue.rows(sql, Mark.UNFETCHED, *span):
            batch.add(PUT_MARK, Mark.UNFETCHED, at + path[len(above) :], None, None)
        batch.flush()

    def has(self, place: str) -> bool:
        """Return whether a file in the same pack is a list, named by one, or in the bag."""
        path = place.removeprefix(f"{self._tree.shown}/")
        if path == place or not self._tree.is_packed:
            return False
        self._found = [*self._found]  # the lists are read by then, maybe with another package
        return self.is_bag or self._catalogue.has(_IS_LISTED, os.fsencode(path))

    def _of(self, name: str, findings: Iterator[Finding]) -> Iterator[Finding]:
        """Yield the findings on a list or another file about the bag, or one if it is unreadable."""
        try:
            yield from findings
        except (OSError, MetspackError, UnicodeError) as error:
            reason = reason_of(error) if isinstance(error, OSError) else str(error)
            if isinstance(error, UnicodeError):  # the error's text differs between versions of Python
                reason = f"not in {self._bag.encoding}, as bagit.txt says"
            yield Code.UNREADABLE.at(name, reason=reason)

    # --- Lists and other files about the folder ---------------------------------------------------------

    def _declaration(self) -> Iterator[Finding]:
        """Take the encoding of the other files about the bag; yield a finding if no text has it."""
        if (unlike := self._bag.take_declaration()) is not None:
            yield from self._strange(BAG.decode(), 1, *unlike)

    def _strange(self, name: str, count: int, number: int, first: bytes) -> Iterator[Finding]:
        """Yield a finding on the unreadable lines of a file, if any."""
        if count:
            facts = {"found": shown(first.strip()[:SHOWN]), "count": f"{count:,}", "manifest": name}
            yield Code.BAG_LINE.at(name, number, **facts)

    def _lists(self, kinds: Mapping[str, str]) -> Iterator[Finding]:
        of_bag = {name: kind for name in kinds if self.is_bag and (kind := _LIST.fullmatch(name))}
        payload = [kind[2] for kind in of_bag.values() if not kind[1]]
        if self.is_bag and not payload:
            yield Code.BAG_WITHOUT_MANIFEST.at(BAG.decode())
        others = [name for name in kinds.keys() - of_bag if kinds[name] == "f" and is_list(name)]
        is_only = not any(map(algorithm_name, payload or map(algorithm_of, others)))
        for name, kind in of_bag.items():
            yield from self._of(name, self._list(name, kind, is_only=is_only))
        for name in sorted(others):
            found = manifests.read_partial(self._catalogue, self._places, os.fsencode(name), is_only=is_only)
            yield from self._of(shown(os.fsencode(name)), found)

    def _list(self, name: str, kind: re.Match[str], *, is_only: bool) -> Iterator[Finding]:
        """Put the lines of a bag's list into the catalogue; yield a finding on those outside BagIt."""
        reader = LineReader(name[len(kind[1] or "") :], self._tree.is_there, decode=self._bag.decoded)
        if reader.algorithm not in OCTETS:
            yield manifests.not_computed(name, kind[2], is_only=is_only)
            return
        tags = name.encode() if kind[1] else None
        number = self._catalogue.put(PUT_LIST, BAGS + name, tags, reader.algorithm)
        batch = Batch(self._catalogue.put_many)
        with self._tree.content(name.encode()) as content:
            whole, lines = self._bag.text(content)
            strange, line_of_first, first = len(whole), len(whole), "".join(whole).encode()
            for line_number, line in enumerate(lines, start=1):
                found = reader.parsed(line)
                is_right = bool(found.digest) and (tags is None) == found.path.startswith(PAYLOAD)
                if is_right:
                    batch.add(PUT_LINE, number, found.path, found.digest, line_number)
                forms = [f"{each}: " for each in found.forms if each in BEYOND_BAGIT]
                if forms or (line.strip() and not is_right):
                    strange, line_of_first = strange + 1, line_of_first or line_number
                    first = first or "".join(forms).encode() + line
        batch.flush()
        self._catalogue.put("UPDATE manifest SET read = 1 WHERE id = ?", number)
        yield from self._strange(name, strange, line_of_first, first)

    def _unfetched(self, above: bytes) -> Iterator[Finding]:
        """Yield a finding on files of the payload still to be fetched, and mark them."""
        strange, line_of_first, fault, count, first = 0, 0, b"", 0, ("", "")
        for number, line, path, url in self._bag.fetched():
            if not path.startswith(PAYLOAD):
                strange, line_of_first, fault = strange + 1, line_of_first or number, fault or line
            elif not self._tree.is_there(path):
                self._catalogue.mark(Mark.UNFETCHED, path)
                inner = shown(path.removeprefix(above))
                count, first = count + 1, first if count else (inner, shown(url))
        if count:
            facts = {"count": f"{count:,}", "expected": first[0], "url": first[1]}
            yield Code.NOT_FETCHED.at(FETCH, **facts)
        yield from self._strange(FETCH, strange, line_of_first, fault)

    def _information(self) -> Iterator[Finding]:
        """Yield a finding if the number of files or bytes differs from Payload-Oxum in bag-info.txt."""
        stated = self._bag.payload_sums()
        if self._catalogue.has(_LOST) or self._catalogue.has(_UNNAMED):
            return  # missing and unnamed files are reported one by one
        size, count = self._catalogue.row(_PAYLOAD_SIZE) or (0, 0)
        for octets, files in stated:
            if (octets, files) != (size, count):
                facts = {
                    "expected": f"{counted(files, 'file')} of {counted(octets, 'byte')}",
                    "found": f"{counted(count, 'file')} of {counted(size, 'byte')}",
                }
                yield Code.BAG_DIFFERS.at(INFORMATION, manifest=INFORMATION, **facts)

    # --- What is in no package --------------------------------------------------------------------------

    def _in_no_package(self) -> Iterator[Finding]:
        """Yield the findings on files and lines in no package, which get a separate catalogue."""
        with Catalogue() as rest:
            for number, name, algorithm, read, path in self._catalogue.all(_LISTS):
                rest.put(_PUT_LIST, number, name, path, algorithm, 0 if path else read)
                tags = path if name.startswith(BAGS) else None
                lines = self._catalogue.rows(_LINES_IN_NO_PACKAGE, number, tags is not None)
                rest.put_many(PUT_LINE, lines)
                if tags:  # they are few, and read at every level
                    rest.put(_PUT_SAMPLED, Mark.SAMPLED, number)
            rest.put_many("INSERT INTO disk VALUES (?, ?, ?)", self._catalogue.rows(_FILES_IN_NO_PACKAGE))
            for path, is_named in () if self._tree.is_packed else rest.rows(_LOOSE):
                at = f"{self._tree.shown}/{os.fsdecode(path)}"
                self._loose[at] = bool(is_named) or self._loose.get(at, False)
            for path, kind in self._catalogue.rows(_NEITHER) if self.is_bag else ():
                yield (Code.SYMLINK if kind == "l" else Code.SPECIAL).at(path)
            fixity = Fixity(rest, self._places, lambda _: None, lambda _: None)
            for each in chain(manifests.findings(rest), fixity.of_files(sampled=not self._hashes)):
                yield self._of_bag(each) if self.is_bag else each

    def _of_bag(self, finding: Finding) -> Finding:
        """Return the finding on a digest as one on a bag."""
        if finding.code != Code.MANIFEST_DIGEST_DIFFERS.id:
            return finding
        facts = dict(finding.facts)
        manifest = facts["source"].removeprefix(BAGS).partition(" line ")[0]
        stated = f"{facts['algorithm']} {facts['expected']}"
        return Code.BAG_DIFFERS.at(finding.path, manifest=manifest, expected=stated, found=facts["found"])

    def close(self) -> None:
        """Drop the catalogue."""
        if (held := self.__dict__.pop("_catalogue", None)) is not None:
            held.close()
