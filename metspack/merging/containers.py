"""The containers that are to be put together: which are given, and how they belong together (E-ARK AIP)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from metspack import reading, safexml
from metspack.digests import OCTETS, Hashers
from metspack.errors import SourceError
from metspack.merging.holders import Holder, holders
from metspack.mets import reader, tops
from metspack.model import Budgets, Digest
from metspack.packs import Shelf
from metspack.restoring.meaning import digest_of, located, size_of
from metspack.uris import shown

_SPLIT = "SPLITLOB"
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
    """An IP that was given: what holds it, what it is called, and the IPs that its METS names.

    ``above`` are names of its parent, ``below`` those of its children in order, each with the location beside
    it; ``fixity`` is what is said of METS documents elsewhere, by the ID of the entry and by its location.
    """

    holder: Holder
    objid: str
    representations: tuple[str, ...]
    above: tuple[str, ...]
    below: tuple[tuple[str, str], ...]
    fixity: dict[str, Said]

    @property
    def folder(self) -> Path:
        """The folder that it is, or the file that it is packed in."""
        return self.holder.path

    @property
    def mets(self) -> Path:
        """Its METS."""
        return self.folder / tops.METS


def ordered(paths: Sequence[Path], shelf: Shelf, budgets: Budgets) -> tuple[Container, ...]:
    """Return the containers in some folders, the parent first and its children as its METS has them.

    Each path is that of an IP, a folder or packed, or of a folder that holds IPs side by side. Packed ones
    stay on the ``shelf``. Raises ``SourceError`` unless they are one parent with all of its children.
    """
    found: dict[str, Container] = {}
    for holder in (each for path in paths for each in holders(path, shelf)):
        container = _read(holder, budgets)
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


def _read(holder: Holder, budgets: Budgets) -> Container:
    """Return what an IP's METS says of it and of others."""
    objid = ""
    above: list[str] = []
    pointers: dict[int, list[reader.Mptr]] = {}
    fixity: dict[str, Said] = {}
    here, mets = holder.name, holder.path / tops.METS
    for fact in facts(holder, (tops.METS,), budgets):
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
                said = Said(size=size_of(fact), digest=digest_of(fact), by=str(mets))
                fixity |= {fact.href: said, fact.id or "": said}
    if not objid:
        raise SourceError(f"{mets} has no OBJID", hint=_ANOTHER)
    return Container(
        holder=holder,
        objid=objid,
        representations=holder.representations(),
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
                hint="A package of one archive is put together. Give each back and build packages of them: "
                "metspack restore OUT --siard --archive NAME -o NAME.siard, then metspack build.",
            )
        if first is not None and each.representations not in {(), first.representations}:
            raise SourceError(
                f"the representation is called {first.representations[0]} in {first.folder} and "
                f"{each.representations[0]} in {each.folder}",
                hint="The parts of a representation have the same name in all containers (E-ARK AIP, AIP1).",
            )


def facts(
    holder: Holder, names: tuple[str, ...], budgets: Budgets, hashers: Hashers | None = None
) -> Iterator[reader.Fact]:
    """Yield what a METS in a container says; ``hashers`` take its bytes. Raises ``SourceError``."""
    try:
        yield from reader.read(_blocks(holder.blocks(names), hashers), budgets)
    except safexml.XmlError as error:
        raise damaged(holder.path.joinpath(*names), error) from None


def damaged(path: Path, error: safexml.XmlError) -> SourceError:
    """Return the error of a document in a container that is not XML."""
    return SourceError(
        f"{path} line {error.line}, column {error.column}: {error.message}", hint=error.hint or _ANOTHER
    )


def _blocks(chunks: Iterable[bytes], hashers: Hashers | None) -> Iterator[bytes]:
    for chunk in chunks:
        if hashers is not None:
            hashers.update(chunk)
        yield from reading.pieces([chunk])
