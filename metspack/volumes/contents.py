"""Contents of a package as media hold them: files of the parent, segment after segment, by the manifests."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import groupby, islice, zip_longest
from pathlib import Path
from typing import BinaryIO

from metspack.checking.opening import PackageToCheck, opened
from metspack.containers.ipreader import Content, OpenPacks, PackedError, unpacked_name
from metspack.digests import MANIFEST_ALGORITHMS, MANIFESTS, OCTETS, Hashers, Seal
from metspack.errors import ConfigError, SourceError
from metspack.files import reading, walking
from metspack.files.byteranges import Below
from metspack.layouts.names import FURTHER_PARENT, FURTHER_PARENTS
from metspack.mets import is_mets_name, is_of_representation, reader
from metspack.mets.links import By, Mptr
from metspack.model import LONGEST, Budgets
from metspack.packages.files import FolderTree, PackedTree
from metspack.packages.metsfiles import located
from metspack.progress import Progress
from metspack.sizes import counted
from metspack.uris import shown
from metspack.values import dataclass, regex

MANIFEST_NAMES = tuple(MANIFESTS[each] for each in MANIFEST_ALGORITHMS)
"""The names of both manifests."""

SEALED = len(MANIFEST_NAMES) + 1
"""The files of the seal: both manifests, and METS of the parent or the file that it is packed in."""

_CHECK = "metspack check tells what is wrong with the package; put that right first."
_LONGEST = 1 << 16  # bytes of a line: no path is as long
_LINES = {
    algorithm: regex(rb"([0-9a-f]{%d})  ([^\n]+)\n" % (2 * OCTETS[algorithm]))
    for algorithm in MANIFEST_ALGORITHMS
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestRow:
    """A file as both manifests have it."""

    path: str
    digests: Mapping[str, str]

    @property
    def names(self) -> list[str]:
        """Its names from the package's root."""
        return self.path.split("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldFiles:
    """Files that stay together: of the segment at ``path``, its folder or file, or the parent's ("")."""

    path: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedFile:
    """A file that lies on every volume."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageContents:
    """A package in one folder: what lies on every volume, what the parent has besides, and its segments.

    On every volume lie the files of the seal and, behind them, METS of further parents, or the files that
    these are packed in. The segments are in the order of the parents' METS.
    """

    root: Path
    name: str
    objid: str
    everywhere: tuple[RepeatedFile, ...]
    parent: HeldFiles
    segments: tuple[HeldFiles, ...]


def seal_of(everywhere: Iterable[RepeatedFile]) -> Seal:
    """Return the package's seal: over the first of what lies on every volume, up to METS of the parent."""
    return Seal.of((each.path, each.sha256) for each in islice(everywhere, SEALED))


class SegmentPlaces:
    """The segments of a package by the paths in it: folders, or the zip or tar files that they are packed in.

    A packed segment is found by the paths that its files have once unpacked as well.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_folder = {_unpacked(path): path for path in paths}
        self._depths = sorted({folder.count("/") + 1 for folder in self._by_folder})

    def find(self, path: str) -> str | None:
        """Return the segment that a path is or lies in, None for none."""
        names = path.split("/")
        for depth in self._depths:
            if depth > len(names):
                break
            folder = "/".join(names[:depth])
            found = self._by_folder.get(folder)
            if found is None and depth == len(names):
                found = self._by_folder.get(_unpacked(folder))
            if found is not None:
                return found
        return None

    def below(self, folder: str) -> list[str]:
        """Return the segments in a folder."""
        return [path for own, path in self._by_folder.items() if own.startswith(f"{folder}/")]


def _unpacked(path: str) -> str:
    stem = unpacked_name(os.fsencode(path))
    return path if stem is None else os.fsdecode(stem)


def read_contents(
    package: Path,
    budgets: Budgets,
    progress: Progress,
    *,
    weighed: bool = True,
    known: tuple[RepeatedFile, ...] = (),
) -> PackageContents:
    """Read what a package in a folder consists of, by METS of the parent and both manifests.

    Where it is to be ``weighed`` every file is looked at: then each has to be there, and no other. Else all
    sizes are 0. What lies on every volume is not read if it is ``known``. Raises ``SourceError`` and
    ``ConfigError``.
    """
    progress.stage("Reading METS and manifests", None)
    with closing(OpenPacks(budgets)) as packs:
        found = _opened(package, packs, budgets)
        objid = found.identity(budgets).objid
        top = found.mets or "" if found.top is None else os.fsdecode(found.top.pack)
        segments, further = _named(found, top, packs, budgets)
    root = found.root.resolve()
    repeated = dict.fromkeys((*MANIFEST_NAMES, top, *further))
    read = {each.path: each for each in known}
    everywhere = tuple(read.get(path) or read_repeated(root, path) for path in repeated)
    places = SegmentPlaces(segments)
    held = dict.fromkeys(("", *segments), (0, 0))
    packed: dict[str, str] = {}
    count = 0
    for path, size in _weights(root, weighed=weighed):
        count += 1
        if path in repeated:
            continue
        segment = places.find(path) or ""
        if segment and _unpacked(path) == segment:
            packed[segment] = path
        files, octets = held[segment]
        held[segment] = files + 1, octets + size
    if weighed:
        _check_no_more(root, count + len(MANIFEST_NAMES))
    lost = [segment for segment, (files, _) in held.items() if segment and not files]
    if lost:
        raise SourceError(
            f"the manifests of {root} have no file of the segment {shown(lost[0])}", hint=_CHECK
        )
    return PackageContents(
        root=root,
        name=root.name,
        objid=objid,
        everywhere=everywhere,
        parent=HeldFiles(path="", files=held[""][0], bytes=held[""][1]),
        segments=tuple(
            HeldFiles(path=packed.get(each, each), files=held[each][0], bytes=held[each][1])
            for each in segments
        ),
    )


def _opened(package: Path, packs: OpenPacks, budgets: Budgets) -> PackageToCheck:
    found = opened((package,), (), packs, budgets)
    one = found[0] if len(found) == 1 else None
    if not isinstance(one, PackageToCheck) or one.mets is None or one.is_bag:
        raise SourceError(
            f"{package} is not a package that can be divided: no METS of a parent is in it, or of several",
            hint="Name the folder that holds the parent, its segments and both manifests.",
        )
    if not isinstance(one.tree, FolderTree) or one.members:
        raise ConfigError(
            f"{package} is not a folder, and only folders go onto volumes",
            hint="Unpack it: the folder in it is the package.",
        )
    for name in MANIFEST_NAMES:
        if not one.root.joinpath(name).is_file():
            raise SourceError(
                f"{package} has no {name}",
                hint="Name the folder with both manifests: every byte is compared with them as it is copied.",
            )
    return one


def _named(
    package: PackageToCheck, top: str, packs: OpenPacks, budgets: Budgets
) -> tuple[list[str], list[str]]:
    """Return the folders of the children that METS of the parents name, in their order, and further parents.

    These are parents that the parent names (``--parent-limit``), each as the path of its METS or of the file
    that it is packed in; their children come behind its own.
    """
    mets = package.mets or ""
    tree, name = (package.tree, mets) if package.top is None else (package.top.tree, mets.rpartition("/")[2])
    with tree.content(os.fsencode(name)) as content:
        found = _children(content, mets, {mets, top}, budgets)
    segments = dict[str, None]()
    further = dict[str, str]()
    waiting = deque([found])
    while waiting:
        for folder, (path, is_parent) in waiting.popleft().items():
            if not is_parent:
                segments.setdefault(folder)
            elif folder not in further:
                tree, further[folder] = package.tree, path
                if package.top is not None:  # as the parent is packed, so are further ones
                    further[folder] = f"{folder}{os.path.splitext(top)[1]}"
                    tree = PackedTree(packs, Below(root=package.root, segments=(further[folder],)))
                try:
                    with tree.content(os.fsencode(path)) as content:
                        waiting.append(_children(content, path, {mets, top, path}, budgets))
                except (OSError, PackedError) as error:
                    why = error.message if isinstance(error, PackedError) else error.strerror or error
                    raise SourceError(
                        f"{package.root / further[folder]} cannot be read: {why}", hint=_CHECK
                    ) from error
    return list(segments), list(further.values())


def _children(
    content: Content, mets: str, above: Collection[str], budgets: Budgets
) -> dict[str, tuple[str, bool]]:
    """Return the METS that a parent's METS names by their folders, in its order, but those ``above`` it.

    Each comes with whether it is that of a parent in its turn, by its group or the name of its folder.
    """
    folder = tuple(mets.split("/")[:-1])
    found: dict[str, tuple[str, bool]] = {}
    for fact in reader.read(content.blocks(), budgets):
        if not isinstance(fact, Mptr | reader.File) or not fact.href:
            continue
        if isinstance(fact, Mptr) and (fact.named_by is not By.LOCATION or fact.is_upward):
            continue
        names, _ = located(folder, fact.href)
        path = "/".join(names or ())
        if not is_mets_name(path) or path in above or is_of_representation(os.fsencode(path)):
            continue
        child = path.rpartition("/")[0]
        is_listed = isinstance(fact, reader.File) and FURTHER_PARENTS in fact.groups
        found.setdefault(child, (path, is_listed or FURTHER_PARENT.fullmatch(child) is not None))
    found.pop("", None)
    return found


def read_repeated(root: Path, path: str) -> RepeatedFile:
    """Read a file that lies on every volume; raises ``SourceError``."""
    try:
        with reading.opening(root, path.split("/")) as descriptor:
            hashers = Hashers(("SHA-256",)).take(reading.chunks(descriptor))
    except OSError as error:
        raise SourceError(f"{root / path} cannot be read: {error.strerror or error}", hint=_CHECK) from error
    return RepeatedFile(path=path, bytes=hashers.size, sha256=hashers.digest("SHA-256").value)


def manifest_rows(root: Path) -> Iterator[ManifestRow]:
    """Yield the files of both manifests side by side, in the order of their paths.

    Raises ``SourceError`` where they are not as metspack writes them, or do not name the same files.
    """
    last = b""
    with (
        reading.buffered(root, (MANIFEST_NAMES[0],)) as first,
        reading.buffered(root, (MANIFEST_NAMES[1],)) as second,
    ):
        for number, lines in enumerate(zip_longest(_read_lines(first), _read_lines(second)), 1):
            found = [
                pattern.fullmatch(line or b"") for pattern, line in zip(_LINES.values(), lines, strict=True)
            ]
            one, other = found
            if one is None or other is None or one[2] != other[2] or one[2] <= last or not _is_safe(one[2]):
                name = MANIFEST_NAMES[1 if one is not None and other is None else 0]
                raise SourceError(
                    f"{root / name} line {number:,} is not one that both manifests have, in their order",
                    hint=_CHECK,
                )
            last = one[2]
            digests = zip(_LINES, (one[1].decode(), other[1].decode()), strict=True)
            yield ManifestRow(path=os.fsdecode(last), digests=dict(digests))


def _read_lines(file: BinaryIO) -> Iterator[bytes]:
    return iter(partial(file.readline, _LONGEST), b"")


def _is_safe(path: bytes) -> bool:
    return b"\0" not in path and not any(name in {b"", b".", b".."} for name in path.split(b"/"))


def _weights(root: Path, *, weighed: bool) -> Iterator[tuple[str, int]]:
    """Yield the files of the manifests with their sizes."""
    for folder, rows in groupby(manifest_rows(root), key=lambda row: row.path.rpartition("/")[0]):
        while batch := [row.path for row in islice(rows, LONGEST)]:
            if not weighed:
                yield from ((path, 0) for path in batch)
                continue
            names = [path.rpartition("/")[2] for path in batch]
            try:
                found = reading.statuses(root, folder.split("/") if folder else (), names)
            except OSError:
                found = [None] * len(batch)
            for path, status in zip(batch, found, strict=True):
                if status is None:
                    raise SourceError(f"{root / path}, which the manifests name, is not there", hint=_CHECK)
                yield path, status[0]


def _check_no_more(root: Path, files: int) -> None:
    with closing(walking.listings(root, are_stamped=False)) as listings:
        found = sum(len(each.files) for each in listings)
    if found != files:
        raise SourceError(
            f"{root} has {counted(found, 'file')}, expected {files:,}: the manifests do not name all of them",
            hint=_CHECK,
        )
