"""Packages to be checked: opened by path, widened to the folder of their files, mounted in one tree."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from metspack import uris
from metspack.checking.catalogue import DEEPEST, fault, folder_of, shown
from metspack.checking.codes import Code
from metspack.checking.links.roots import Roots
from metspack.checking.segments import Agreement
from metspack.checking.similarity import KnownEdits
from metspack.containers.ipreader import Content, OpenPacks
from metspack.errors import MetspackError, SourceError
from metspack.files import reading, walking
from metspack.files.byteranges import Below
from metspack.layouts.names import is_archive
from metspack.mets import CSIP_METS, METS_NAMES, is_mets_name, reader
from metspack.mets import packages as mets_packages
from metspack.model import Budgets, Finding
from metspack.packages import delivery
from metspack.packages.files import FolderTree, MountedTree, NoTree, PackageTree, PackedTree, path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Top:
    """The parent IP packed in the zip or tar file ``pack``; ``folder`` is its name once unpacked."""

    pack: bytes
    folder: bytes
    tree: PackageTree


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageToCheck:
    """A package to be checked: its number, its file tree and the name of its METS (None if it has none).

    ``root`` is its folder, or the zip or tar file; ``shown`` its path as given, for people; ``within`` the
    folder that it is in a zip or tar file. ``top`` is the packed IP among those side by side in a folder,
    ``ips`` those IPs, each a package of its own where others are checked too. ``members`` are IPs that are
    one package, first the one at the top, wherever they lie: each is read as if it lay beside the others in
    the folder that is named. ``is_bag`` tells that it is the payload of a bag.
    """

    number: int
    root: Path
    tree: PackageTree
    mets: str | None
    shown: str
    within: bytes = b""
    top: Top | None = None
    members: tuple[tuple[bytes, PackageToCheck], ...] = ()
    ips: tuple[PackageToCheck, ...] = ()
    is_bag: bool = False

    @property
    def is_in_a_folder(self) -> bool:
        """Whether it is a folder, all of it, that has a METS."""
        return isinstance(self.tree, FolderTree) and self.mets is not None and self.top is None

    @property
    def is_ip(self) -> bool:
        """Whether it is one IP in a folder or a file of its own, with the METS that CSIP has."""
        return self.mets == CSIP_METS and self.top is None and bool(self.folder)

    @property
    def folder(self) -> str:
        """The name of its folder, once unpacked."""
        if self.within:
            return shown(self.within).rpartition("/")[2]
        name = os.path.basename(os.path.realpath(self.root))
        return (self.tree.is_packed and mets_packages.stem_of_pack(name)) or name

    def identity(self, budgets: Budgets) -> reader.Identity:
        """Return the OBJID of the package and what kind it is, with the form that it has."""
        if self.mets is None:
            with suppress(OSError, MetspackError), closing(self.tree.walk()) as items:
                if all(each.kind == "d" for each in items):
                    return reader.Identity(kind=NO_PACKAGE)
            return reader.Identity(kind="no METS")
        tree = self.tree if self.top is None else self.top.tree
        mets = self.mets if self.top is None else self.mets.rpartition("/")[2]
        found = reader.Identity()
        for _ in range(2):  # what fails once may be read again by the check, which then finds nothing wrong
            with suppress(OSError, MetspackError), tree.content(os.fsencode(mets)) as content:
                found = reader.identity(content.blocks(), mets.rpartition("/")[2], budgets)
                break
        form = ", in a bag" if self.is_bag else ""
        if self.tree.is_packed:
            stem = mets_packages.stem_of_pack(self.root.name) or ""
            form += f", in a {self.root.name[len(stem) + 1 :].lower()} file"
        return replace(found, kind=f"{found.kind or 'unreadable METS'}{form}")

    @property
    def folders_not_shown(self) -> int:
        """How many folders it is in, in a zip or tar file that it is called as."""
        return self.within.count(b"/") + 1 if self.within and self.shown == str(self.root) else 0

    @property
    def mets_below(self) -> bytes:
        """The path of the package's METS below its root, in a zip or tar file below that."""
        mets = os.fsencode(self.mets or "")
        return self.within + b"/" + mets if self.within else mets

    @property
    def mets_shown(self) -> str:
        """The path of the package's METS, for messages."""
        return f"{self.tree.shown}/{self.mets or METS_NAMES[0]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnopenedPackage:
    """A package given or delivered that cannot be checked: its path, and the finding that says why.

    ``kind`` is what it is, where that is known: also what is none, but can be made one. It has no ``ips``.
    """

    shown: str
    finding: Finding
    kind: str = ""
    ips: tuple[PackageToCheck, ...] = ()

    @property
    def is_other(self) -> bool:
        """Whether it is an entry of a delivery that lists may name."""
        return self.finding.code in {Code.NOT_ARRIVED.id, Code.OTHER_ENTRY.id}


Opened = PackageToCheck | UnopenedPackage


def opened(
    paths: Sequence[Path], granted: Sequence[Path], packs: OpenPacks, budgets: Budgets
) -> tuple[Opened, ...]:
    """Return the packages at the paths and in the deliveries among them, each once, in that order.

    Packages are numbered by their roots. Raises ``SourceError`` if one path alone is given and there is
    nothing to check; of several paths that is said of the one.
    """
    found = list(_opened(paths, packs, budgets))
    _check_some(found, paths)
    if len(found) > 1:
        found = [ip for each in found for ip in (each.ips or (each,))]
    packages = _once([widened(each, granted, budgets) for each in found if isinstance(each, PackageToCheck)])
    if len(found) > 1:
        packages = [each if Path(each.shown).is_dir() else _by_folder(each) for each in packages]
    numbers = {root: number for number, root in enumerate(dict.fromkeys(each.root for each in packages))}
    packages = [replace(each, number=numbers[each.root]) for each in packages]
    # What was left out lies in what was not.
    return (*packages, *(each for each in found if isinstance(each, UnopenedPackage)))


def _by_folder(package: PackageToCheck) -> PackageToCheck:
    """Return a package as it is called beside others, where its METS was given: by its folder."""
    return package if package.tree.is_packed else replace(package, shown=str(package.root))


def _opened(paths: Sequence[Path], packs: OpenPacks, budgets: Budgets) -> Iterator[Opened]:
    for path in paths:
        try:
            yield from _at(path, packs, budgets, is_only=len(paths) == 1)
        except (SourceError, OSError) as error:
            if len(paths) == 1:
                raise
            if isinstance(error, delivery.NoPackageError):
                yield _no_package(path, error)
                continue
            reason = error.message if isinstance(error, SourceError) else fault(error)
            yield _unopened(path, reason.removeprefix(f"{path}: ").removeprefix(f"{path} "))


NO_PACKAGE = "no package"
"""The kind of what is none."""


def _no_package(path: Path, error: delivery.NoPackageError) -> UnopenedPackage:
    shown = str(path)
    reason = error.message.removeprefix(f"{path} is ").partition(", expected")[0]
    finding = Code.NO_PACKAGE.at(shown, reason=reason, expected=error.hint or "")
    return UnopenedPackage(shown=shown, finding=finding, kind=NO_PACKAGE)


def _check_some(found: Sequence[Opened], paths: Sequence[Path]) -> None:
    """Raise ``SourceError`` if nothing of what was found is a package, or the one path is of what is none."""
    known = [each.finding for each in found if isinstance(each, UnopenedPackage)]
    if known and len(known) == len(found) and all(each.code == Code.NO_PACKAGE.id for each in known):
        facts = dict(known[0].facts)
        raise SourceError(f"{known[0].path} is {facts['reason']}", hint=facts["expected"])
    if [each.path for each in known] == [str(each) for each in paths] and len(known) == len(found) == 1:
        hint = Code.named(known[0].code).remedy
        raise SourceError(f"{known[0].path}: {known[0].message}", hint=hint)


def _at(path: Path, packs: OpenPacks, budgets: Budgets, *, is_only: bool) -> Iterator[Opened]:
    """Yield what is at a path: a package, or the packages of a delivery."""
    found = delivery.named(path, packs, budgets)
    is_lost = found[0].path == path and found[0].is_package and not found[0].mets
    is_none = path.is_dir() and (is_lost or (is_only and all(each.source for each in found)))
    if is_none and (error := delivery.never_a_package(path)) is not None:
        raise error
    held = Counter(each.path for each in found if not each.source)
    for each in found:
        one = _delivered(each, packs, is_alone=held[each.path] == 1)
        is_named = each.path == path.parent and each.mets == path.name
        yield replace(one, shown=str(path)) if is_named else one


def _unopened(path: Path, reason: str) -> UnopenedPackage:
    return UnopenedPackage(shown=str(path), finding=Code.PACKAGE_UNREADABLE.at(str(path), reason=reason))


def _no_part(each: delivery.DeliveredPackage) -> UnopenedPackage:
    """Return what is in a delivery and is no package that can be read."""
    shown = str(each.path)
    if each.source:
        return _no_package(*delivery.about_source(each))
    if each.other:
        rule = Code.NOT_ARRIVED if each.other in delivery.INCOMPLETE else Code.OTHER_ENTRY
        return UnopenedPackage(shown=shown, finding=rule.at(shown, found=each.other), kind=NO_PACKAGE)
    if each.unread:
        return UnopenedPackage(shown=shown, finding=Code.FORM_NOT_READ.at(shown, found=each.unread))
    return _unopened(each.path, each.fault)


def _delivered(each: delivery.DeliveredPackage, packs: OpenPacks, *, is_alone: bool) -> Opened:
    if not each.is_package:
        return _no_part(each)
    within = os.fsencode(each.within)
    packed = PackedTree(packs, Below(root=each.path, segments=()), within)
    found = PackageToCheck(
        number=0,
        root=each.path,
        tree=packed if each.is_packed else FolderTree(each.path),
        mets=each.mets,
        shown=str(each.path if is_alone else each.path / each.within),
        within=within,
        is_bag=each.is_bag,
    )
    ips = (_delivered(ip, packs, is_alone=True) for ip in each.ips)
    found = replace(found, ips=tuple(ip for ip in ips if isinstance(ip, PackageToCheck)))
    if (top := each.top) is None:
        return found
    file, folder = Below(root=each.path, segments=(top.path.name,)), os.fsencode(top.folder)
    tree = PackedTree(packs, file, os.fsencode(top.within))
    return replace(found, top=Top(pack=os.fsencode(top.path.name), folder=folder, tree=tree))


def _once(packages: Sequence[PackageToCheck]) -> list[PackageToCheck]:
    """Return the packages without those that were given twice, and those in the folder of another."""
    found: dict[tuple[str, bytes, str | None], PackageToCheck] = {}
    for each in packages:
        found.setdefault((os.path.realpath(each.root), each.within, each.mets), each)
    whole = {at for at, _, mets in found if mets is not None}
    return [each for (at, _, _), each in found.items() if whole.isdisjoint(map(os.fspath, Path(at).parents))]


_GUESSES = 50  # locations outside that get a guess at what was meant


def put_together(
    packages: Sequence[PackageToCheck], roots: Roots, budgets: Budgets
) -> Iterator[PackageToCheck]:
    """Yield packages in their order; IPs to which one leads that is under check too become one with it.

    So they are checked as if they lay in one folder, side by side, which is how their METS name each other.
    """
    given = {each.shown: each for each in packages}
    beside = {(os.path.dirname(os.path.realpath(each.root)), each.folder): each for each in packages}
    taken: set[str] = set()
    for each in packages:
        if each.shown in taken:
            continue
        members = {each.folder: each}
        ahead = [each] if each.is_ip else []
        while ahead:
            here = ahead.pop()
            with suppress(OSError, MetspackError), here.tree.content(CSIP_METS.encode()) as content:
                located, named = delivery.downs(content.blocks(), here.folder, budgets)
                at = os.path.dirname(os.path.realpath(here.root))
                found = [beside[at, name] for name in sorted(located) if (at, name) in beside]
                known = roots.at(here.number, here.mets, here.within)
                for objid in sorted(named):
                    children, _ = roots.children(objid, None if known is None else known.objid)
                    children = [child for child in children if child.given and child.given not in taken]
                    children.sort(key=lambda child: roots.distance(each.number, child))
                    found += [given[child.given] for child in children[:1]]
                for child in found:
                    if child.is_ip and child.shown not in taken and child.folder not in members:
                        members[child.folder] = child
                        taken.add(child.shown)
                        ahead.append(child)
        yield each if len(members) == 1 else _of_members(each, list(members.values()))


def _of_members(top: PackageToCheck, members: Sequence[PackageToCheck]) -> PackageToCheck:
    return replace(
        top,
        tree=NoTree(top.tree.shown),
        mets=f"{top.folder}/{top.mets}",
        members=tuple((os.fsencode(each.folder), each) for each in members),
    )


_METS_PLACES = ("", "*/", "representations/*/", "*/representations/*/")


def weight(path: Path | Sequence[Path], *, whole: bool = True) -> int:
    """Return about how many bytes a check of what is at ``path`` reads, to tell how far it is.

    ``whole`` is a full check; any other reads METS files alone, where these have their usual places.
    """
    if not isinstance(path, Path):
        return sum(weight(each, whole=whole) for each in path)
    if not whole:
        folder = path if path.is_dir() else path.parent
        found = (each for place in _METS_PLACES for each in folder.glob(f"{place}[mM][eE][tT][sS].xml"))
        with suppress(OSError):
            return sum(each.stat().st_size for each in found)
        return 0
    if mets_packages.stem_of_pack(path.name) is not None and path.is_file():
        return path.stat().st_size
    # What cannot be looked at is the check's business, not its progress's.
    lots = walking.all_lots(path if path.is_dir() else path.parent, (), (b"",), sizes=True)
    sizes = chain.from_iterable(zip(each.names, each.sizes, strict=True) for each in lots)
    # An archive is read as a file, and its entries once more.
    return sum(2 * size if is_archive(os.fsdecode(name)) else size for name, size in sizes)


_UP = b"../"


def widened(package: PackageToCheck, granted: Sequence[Path], budgets: Budgets) -> PackageToCheck:
    """Return the package rooted at the folder that its METS leads up into, if a root given contains it.

    Only the files that a METS lists make a folder the package's: METS of other packages, and links, do not.
    """
    if package.mets is None or package.tree.is_packed or package.top is not None:
        return package
    root = os.path.realpath(package.root)
    above = [each for each in map(os.path.realpath, granted) if root.startswith(f"{each.rstrip('/')}/")]
    if not above or not (steps := _steps_up(package, budgets)):
        return package
    folder = Path(root).parents[steps - 1] if steps <= len(Path(root).parents) else None
    if folder is None or not any(folder.is_relative_to(each) for each in above):
        return package
    within = os.path.relpath(root, folder)
    return replace(package, root=folder, tree=FolderTree(folder), mets=f"{within}/{package.mets}")


def _steps_up(package: PackageToCheck, budgets: Budgets) -> int:
    """Return how many folders above its METS the listed files lie; 0 if the METS cannot be read."""
    path = os.fsencode(package.mets or "")
    own = path.count(b"/")
    try:
        with package.tree.content(path) as content:
            if not _holds(content.blocks(), _UP):
                return 0
            facts = reader.read(content.blocks(), budgets)
            return max((_climb(fact) - own for fact in facts if isinstance(fact, reader.File)), default=0)
    except (OSError, MetspackError):
        return 0  # what is wrong with it is told where it is checked


def _climb(file: reader.File) -> int:
    href = file.href or ""
    if _UP.decode() not in href or is_mets_name(href):
        return 0
    try:
        reference = uris.located(href)
    except uris.ReferenceRefused:
        return 0
    if reference.kind is not uris.Kind.RELATIVE:
        return 0
    return uris.collapsed(reference.segments).count("..")


def _holds(data: Iterator[bytes], mark: bytes) -> bool:
    before = b""
    for block in data:
        before = before[1 - len(mark) :] + block
        if mark in before:
            return True
    return False


def _lies(at: bytes, tree: PackageTree) -> list[tuple[bytes, tuple[str, ...]]]:
    """Return the absolute path of a tree on disk as names, as given and without links; none if packed."""
    if tree.is_packed or isinstance(tree, NoTree):
        return []
    forms = dict.fromkeys((os.path.abspath(tree.shown), os.path.realpath(tree.shown)))
    return [(at, tuple(name for name in form.split("/") if name)) for form in forms]


class CheckedTree(MountedTree):
    """A package's file tree with mounted children; resolves references to paths in it.

    The files in which its segments agree, if that was looked at, are not to be put into the catalogue.
    """

    def __init__(
        self, base: PackageTree, agreement: Agreement | None = None, budgets: Budgets | None = None
    ) -> None:
        super().__init__(base)
        self.agreement, self.holes = agreement, (budgets or Budgets()).holes
        self._apart: list[bytes] = []
        self.given: dict[str, str] = {}
        """The paths of children that are packages under check themselves, with what they were given as."""
        self.members: dict[int, list[tuple[bytes, bytes]]] = {}
        """By the number of a root the IPs in it that are one package: the folder of each there and here."""
        self._outside, self._guesses = KnownEdits(), 0
        self._last: tuple[bytes, bytes, tuple[str, ...]] = (b"", b"", ())
        self._here: list[tuple[bytes, tuple[str, ...]]] = _lies(b"", base)

    @property
    def agreed_files(self) -> int:
        """The number of files that are not put into the catalogue."""
        return 0 if self.agreement is None else self.agreement.files

    def mount(self, at: bytes, tree: PackageTree, *, apart: bool = False) -> None:
        """Mount a tree at a path; ``apart`` if the path is only a label and not a path of the package."""
        super().mount(at, tree)
        self._here += _lies(at + b"/", tree)
        if apart:
            self._apart.append(at + b"/")

    def join(self, folder: bytes, member: PackageToCheck) -> None:
        """Mount an IP that is one of those which are one package."""
        self.mount(folder, member.tree)
        self.given[shown(folder)] = member.shown
        self.members.setdefault(member.number, []).append((member.within, folder))

    def of_member(self, root: int, path: bytes) -> bytes | None:
        """Return the path in the package of what lies at a path in a root; None for what is no member's."""
        for within, folder in self.members.get(root, ()):
            if not within or path.startswith(within + b"/"):
                return folder + b"/" + (path[len(within) + 1 :] if within else path)
        return None

    def on_disk(self, path: bytes) -> str:
        """Return the path of a file on disk, for messages and for comparison."""
        tree, inner = self.held(path)
        return f"{tree.shown}/{shown(inner)}"

    def as_given(self, path: str) -> tuple[str, str] | None:
        """Return the package of its own that a path is in, as it was given, and the path there; else None."""
        at = path if self.given else ""
        while at:
            if (given := self.given.get(at)) is not None:
                return given, path[len(at) + 1 :]
            at = at.rpartition("/")[0]
        return None

    @contextmanager
    def content(self, path: bytes) -> Iterator[Content]:
        """Open a file; raises ``HolesRefused`` for one on disk that has too many bytes of holes."""
        with super().content(path) as content:
            if content.size > self.holes and (place := self.below(path)) is not None:
                reading.check_holes_of(place.root, place.segments, self.holes)
            yield content

    def below(self, path: bytes) -> Below | None:
        """Return the file on disk at a path, None for one that is packed."""
        tree, inner = self.held(path)
        found = None if tree.is_packed else tree.location(inner)
        return found if isinstance(found, Below) else None

    def here(self, reference: uris.Reference) -> bytes | None:
        """Return the path in the package that an absolute reference leads to, None if it leads elsewhere."""
        if reference.kind is not uris.Kind.ABSOLUTE or ".." in reference.segments:
            return None
        for at, names in self._here:
            if reference.segments[: len(names)] == names and len(reference.segments) > len(names):
                return at + path_of(reference.segments[len(names) :])
        return None

    def nearest_inside(self, document: bytes, href: str) -> str:
        """Return the file, at the root or beside the document, whose path a location outside ends with."""
        for known in self._outside.meant(href):
            if self.is_there(os.fsencode(known)):
                return known
        self._guesses += 1
        if self._guesses > _GUESSES:
            return ""
        try:
            names = [each for each in uris.located(href).segments if each != ".."][-DEEPEST:]
        except uris.ReferenceRefused:
            return ""
        for start in range(len(names)):
            tail = path_of(tuple(names[start:]))
            for folder in dict.fromkeys((b"", folder_of(document))):
                if folder + tail != document and self.is_there(folder + tail):
                    self._outside.learn(href, shown(folder + tail))
                    return shown(folder + tail)
        return ""

    def resolved(self, document: bytes, reference: uris.Reference) -> bytes:
        """Return the path that a reference in a document means; raises ``ReferenceRefused``.

        A tree mounted apart is a package of its own; no reference leads out of it.
        """
        if self._last[0] != document:  # a document's references come one after the other
            boundary = next((each for each in self._apart if document.startswith(each)), b"")
            inner = folder_of(document)[len(boundary) :]
            self._last = document, boundary, tuple(shown(inner).split("/")[:-1])
        if (path := self.here(reference)) is not None:
            return path
        _, boundary, base = self._last
        return boundary + path_of(mets_packages.located(base, reference))
