"""The containers that are to be put together: which are given, and how they belong together (E-ARK AIP)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from metspack import reading, safexml
from metspack.digests import OCTETS, Hashers
from metspack.errors import MetspackError, SourceError
from metspack.mets import reader, tops
from metspack.model import Budgets, Digest
from metspack.restoring.meaning import digest_of, located, size_of
from metspack.uris import shown

REPRESENTATIONS = "representations"
_SPLIT = "SPLITLOB"
_BLOCK = 1 << 16
_ANOTHER = "Get it from another copy; metspack check tells what else is wrong with it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What METS says of a file's bytes: size and digest, None for what it does not say or nobody can compute.

    ``by`` is where it says so.
    """

    size: int | None
    digest: Digest | None
    by: str

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithm that the digest can be compared by, if any."""
        return (self.digest.algorithm,) if self.digest is not None and self.digest.algorithm in OCTETS else ()

    def check(self, what: str, hashers: Hashers) -> None:
        """Raise ``SourceError`` when the bytes that were read are not those."""
        if self.size is not None and self.size != hashers.size:
            raise SourceError(
                f"{what} has {hashers.size:,} bytes, but {self.by} says {self.size:,}", hint=_ANOTHER
            )
        if self.digest is not None and self.algorithms:
            found = hashers.digest(self.digest.algorithm)
            if found.value != self.digest.value:
                raise SourceError(
                    f"{what} has the {found.algorithm} digest {found.value}, but {self.by} says "
                    f"{self.digest.value}",
                    hint=_ANOTHER,
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """An IP that was given: its folder, what it is called, and the IPs that its METS names.

    ``above`` are names of its parent, ``below`` those of its children in order, each with the location beside
    it; ``fixity`` is what is said of METS documents elsewhere, by the ID of the entry and by its location.
    """

    folder: Path
    objid: str
    representations: tuple[str, ...]
    above: tuple[str, ...]
    below: tuple[tuple[str, str], ...]
    fixity: dict[str, Said]

    @property
    def mets(self) -> Path:
        """Its METS."""
        return self.folder / tops.METS


def ordered(paths: Sequence[Path], budgets: Budgets) -> tuple[Container, ...]:
    """Return the containers in some folders, the parent first and its children as its METS has them.

    Each path is that of an IP, or of a folder that holds IPs side by side. Raises ``SourceError`` unless they
    are one parent with all of its children.
    """
    found: dict[str, Container] = {}
    for folder in _folders(paths):
        container = _read(folder, budgets)
        other = found.setdefault(container.objid, container)
        if other is not container:
            raise SourceError(
                f"{other.folder} and {container.folder} are both {container.objid}",
                hint="Name each container once.",
            )
    parent = _parent(tuple(found.values()))
    result = {parent.objid: parent}
    for objid, href in parent.below:
        child = found.get(objid) or next(
            (each for each in found.values() if tops.same(each.objid, objid)), None
        )
        if child is None:
            raise SourceError(
                f"{parent.mets} names the child {objid}, which is not among the containers",
                hint=f"Name it as well{f' (it was made to lie at {shown(href)})' if href else ''}: a "
                "representation is put together of all its parts.",
            )
        result[child.objid] = child
    if strangers := [each for each in found.values() if each.objid not in result]:
        raise SourceError(
            f"{strangers[0].folder} ({strangers[0].objid}) is no child that {parent.mets} names",
            hint="Leave it out, or get the newest METS of the parent; metspack links tells whose it is.",
        )
    containers = tuple(result.values())
    _check_representations(containers)
    return containers


def said_of_mets(parent: Container, child: Container) -> Said | None:
    """Return what the parent's METS says of a child's, None when it says nothing."""
    for objid, href in parent.below:
        if tops.same(child.objid, objid):
            return parent.fixity.get(href) or parent.fixity.get(objid)
    return None


def _folders(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            raise SourceError(
                f"{path} is no folder",
                hint="Name the folder of an IP, or one that holds IPs side by side; packed ones are unpacked "
                "first.",
            )
        if (path / tops.METS).is_file():
            yield path
            continue
        inside = sorted(each for each in path.iterdir() if (each / tops.METS).is_file())
        if not inside:
            raise SourceError(
                f"{path} holds no {tops.METS}, nor does a folder in it",
                hint="Containers are IPs of the dialect csip: metspack build --dialect csip. Packages of the "
                "other dialect are one folder already.",
            )
        yield from inside


def _read(folder: Path, budgets: Budgets) -> Container:
    """Return what an IP's METS says of it and of others."""
    objid = ""
    above: list[str] = []
    pointers: dict[int, list[reader.Mptr]] = {}
    fixity: dict[str, Said] = {}
    here = folder.resolve().name
    for fact in facts(folder, (tops.METS,), budgets):
        if isinstance(fact, reader.Root):
            objid = (fact.objid or "").strip()
        elif isinstance(fact, reader.Mptr) and fact.href and fact.structmap_type != _SPLIT:
            if tops.leads_up(fact):
                above.append(fact.href)
            else:
                pointers.setdefault(fact.div, []).append(fact)
        elif isinstance(fact, reader.File) and fact.href:
            path, _ = located((here,), fact.href)
            if path is not None and path[0] != here:
                said = Said(size=size_of(fact), digest=digest_of(fact), by=f"{folder / tops.METS}")
                fixity |= {fact.href: said, fact.id or "": said}
    if not objid:
        raise SourceError(f"{folder / tops.METS} has no OBJID", hint=_ANOTHER)
    return Container(
        folder=folder,
        objid=objid,
        representations=_representations(folder),
        above=tuple(above),
        below=tuple(_children(pointers.values())),
        fixity=fixity,
    )


def _children(pointers: Iterable[list[reader.Mptr]]) -> Iterator[tuple[str, str]]:
    """Yield name and location of each child that is named; what has a location alone is a representation."""
    for each in pointers:
        hrefs = {"URL" if mptr.loctype == "URL" else "": mptr.href or "" for mptr in each}
        if "" in hrefs:
            yield hrefs[""], hrefs.get("URL", "")


def _representations(folder: Path) -> tuple[str, ...]:
    try:
        with os.scandir(folder / REPRESENTATIONS) as found:
            return tuple(sorted(each.name for each in found if each.is_dir(follow_symlinks=False)))
    except FileNotFoundError:
        return ()


def _parent(containers: Sequence[Container]) -> Container:
    parents = [each for each in containers if not each.above]
    if len(parents) == 1:
        return parents[0]
    if not parents:
        raise SourceError(
            f"no parent is among the containers: {containers[0].folder} names {containers[0].above[0]}",
            hint="Name the parent IP as well: it knows all children and, as a rule, holds the archive.",
        )
    raise SourceError(
        f"{parents[0].folder} ({parents[0].objid}) and {parents[1].folder} ({parents[1].objid}) are both "
        "parents; expected the containers of one package",
        hint="Put each package together by itself.",
    )


def _check_representations(containers: Sequence[Container]) -> None:
    """Raise ``SourceError`` unless all have one representation of the same name, or none (AIP1)."""
    first = next((each for each in containers if each.representations), None)
    for each in containers:
        if len(each.representations) > 1:
            names = ", ".join(each.representations)
            raise SourceError(
                f"{each.folder} has {len(each.representations)} representations ({names}), expected one",
                hint="Representations are put together one by one.",
            )
        if first is not None and each.representations not in {(), first.representations}:
            raise SourceError(
                f"the representation is called {first.representations[0]} in {first.folder} and "
                f"{each.representations[0]} in {each.folder}",
                hint="The parts of a representation have the same name in all containers (E-ARK AIP, AIP1).",
            )


def facts(
    folder: Path, names: tuple[str, ...], budgets: Budgets, hashers: Hashers | None = None
) -> Iterator[reader.Fact]:
    """Yield what a METS in a container says; ``hashers`` take its bytes. Raises ``SourceError``."""
    path = folder.joinpath(*names)
    try:
        with reading.opening(folder, names) as descriptor:
            yield from reader.read(_blocks(descriptor, hashers), budgets)
    except safexml.XmlError as error:
        raise SourceError(
            f"{path} line {error.line}, column {error.column}: {error.message}", hint=error.hint or _ANOTHER
        ) from None
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError | MetspackError) -> SourceError:
    """Return the error of a file in a container that cannot be read."""
    why = error.message if isinstance(error, MetspackError) else error.strerror or error
    return SourceError(f"{path} cannot be read: {why}", hint=_ANOTHER)


def _blocks(descriptor: int, hashers: Hashers | None) -> Iterator[bytes]:
    start = 0
    while block := os.pread(descriptor, _BLOCK, start):
        if hashers is not None:
            hashers.update(block)
        yield block
        start += len(block)
