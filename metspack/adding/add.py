"""Add a further archive with segments of its own to a package, whose segments are left untouched.

What the parent's documents say of themselves and of others is kept: they are written anew with more in
them. In METS the ids of the new LOBs begin with the archive's name (``Orders.s0.t2.c4.r1``), which makes
them unique in the package.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

from metspack.adding.leftovers import Leftovers
from metspack.building import OF_SOURCE, CheckOutcome, build, check_outcome, manifests
from metspack.building.build import BuildOptions, Built
from metspack.building.parents import PlacedSegments
from metspack.checking.codes import Code
from metspack.digests import Hashers, Seal
from metspack.errors import ConfigError, SourceError, TargetError, TargetExistsError
from metspack.files import reading, tempdb
from metspack.files.journal import ADD, Recovery
from metspack.files.staging import Partial
from metspack.files.transaction import Believed, Transaction, recover
from metspack.layouts.names import is_archive
from metspack.layouts.readers import Readership
from metspack.mets import dialects, ids, reader
from metspack.mets.dialects.interface import Dialect, ExistingPackage, Software, Statement
from metspack.mets.links import By, Mptr
from metspack.model import Finding
from metspack.planning.assignment import Course
from metspack.planning.sharedlobs import Sharing
from metspack.progress import Progress, Silent
from metspack.safexml import XmlError
from metspack.sizes import counted
from metspack.sources import opening
from metspack.sources.archive import Archive
from metspack.sources.opening import SourceFacts
from metspack.values import dataclass, regex

_FINDINGS = 20
_OF_MANIFESTS = (Code.MANIFEST_MISSING.id, Code.MANIFEST_FORM.id)
_MADE_BY = "metspack"
_PACKED = regex(r".*\.(?:zip|tar)", re.IGNORECASE | re.DOTALL)
_UNPACKED = "Only packages in folders can be added to: take the IPs out of their zip or tar files."
_BUILD = "metspack build makes a package of the archive by itself."


@dataclass(frozen=True, slots=True, kw_only=True)
class MetspackPackage(ExistingPackage):
    """A package that metspack made, with its dialect and the paths of its SIARD archives."""

    dialect: str
    checksum: str
    archives: tuple[str, ...]

    def options(self, options: BuildOptions, representation: str | None) -> BuildOptions:
        """Return the options with which a further archive is built for the package.

        ``representation`` is the name of the new one, None for the next number. Raises ``ConfigError`` for
        one that exists already, or for a dialect without representations.
        """
        given = {} if representation is None else {"representation": representation}
        if not given.keys() <= dialects.facts(self.dialect).options.keys():
            raise ConfigError(
                f"a package of the dialect {self.dialect} has no representations",
                hint="Leave --representation out.",
            )
        inherited = dialects.named(self.dialect).inherited(self, given)
        return replace(
            options,
            objid=self.objid,
            dialect=self.dialect,
            checksum=self.checksum,
            layout=options.layout or inherited.layout,
            agents=inherited.agents,
            mets_profile=inherited.mets_profile,
            href_style=inherited.href_style,
            dialect_options=inherited.options,
        )


def read_package(root: Path) -> MetspackPackage:
    """Return the package in a folder.

    Raises ``SourceError`` when there is none, when another tool made it and when it has no SIARD archive;
    ``TargetError`` when its IPs are packed.
    """
    if not root.is_dir():
        raise SourceError(
            f"{root} is not a folder", hint=f"Name the folder that metspack build made. {_UNPACKED}"
        )
    if packed := sorted(name for name in os.listdir(root) if _PACKED.fullmatch(name)):
        raise TargetError(f"{root} holds packed IPs: {packed[0]}", hint=_UNPACKED)
    dialect, folder, name = _found(root)
    kind = dialects.named(dialect)
    said = _said(root, (*((folder,) if folder else ()), name))
    objid = said.root.get("OBJID", "")
    made_by = [each.name for each in said.agents if each.role == "CREATOR" and not each.is_organisation]
    if made_by != [_MADE_BY] or folder != kind.parent_folder(objid):
        by = (
            f"was made by {made_by[0]}"
            if made_by and made_by[0] != _MADE_BY
            else "is not as metspack made it"
        )
        raise SourceError(f"{root / folder / name} {by}", hint=f"Nothing is added to such packages; {_BUILD}")
    archives = tuple(_archives(root, folder, kind))
    if not archives:
        raise SourceError(
            f"{root} holds no SIARD archive in one file, to which another could be added",
            hint=f"Nothing is added to such packages; {_BUILD}",
        )
    return MetspackPackage(
        root=root,
        folder=folder,
        objid=objid,
        said=said,
        dialect=dialect,
        checksum=said.checksum,
        archives=archives,
    )


def _found(root: Path) -> tuple[str, str, str]:
    """Return the dialect of the package in a folder, and folder and name of its parent's METS."""
    for dialect in dialects.DIALECTS:
        if (found := dialects.named(dialect).find(root)) is not None:
            return (dialect, *found)
    raise SourceError(f"{root} does not hold a package", hint=f"Nothing could be added to it; {_BUILD}")


def _archives(root: Path, folder: str, kind: type[Dialect]) -> Iterator[str]:
    for path in sorted((root / folder).glob(kind.archives)):
        if is_archive(path.name) and path.is_file():
            yield str(path.relative_to(root))


def _said(root: Path, names: tuple[str, ...]) -> Statement:
    """Return what the METS of a parent says of itself; raises ``XmlError``."""
    said = Statement()
    with reading.opening(root, names) as descriptor:
        for fact in reader.read(reading.chunks(descriptor, size=reading.BLOCK)):
            if isinstance(fact, reader.Root):
                said.root = fact.attributes
            elif isinstance(fact, reader.MetsHeader):
                said.header = fact.attributes
            elif isinstance(fact, reader.Agent):
                said.agents.append(fact)
            elif isinstance(fact, reader.StructMap):
                said.labels.add(fact.label or "")
            elif isinstance(fact, reader.File) and fact.element == "file":
                said.add_file(fact.checksum_type or "", fact.href or "")
            elif isinstance(fact, Mptr) and fact.is_childward and fact.named_by is not By.LOCATION:
                said.child_objid = said.child_objid or fact.href or ""
                said.children += 1
    return said


def add_archive(
    folder: Path,
    source: Path,
    options: BuildOptions,
    representation: str | None = None,
    progress: Progress | None = None,
) -> Built:
    """Add the archive ``source`` to the package in ``folder``; return what was made of it.

    Dialect, OBJID, digests, agents and terms are the package's, whatever ``options`` say; so is the layout
    when they say none. ``representation`` is the name of the new one in dialects that have such. Raises
    ``SourceError``, ``PlanError``, ``TargetError`` and ``ConfigError``: after an error or an interruption the
    package is as it was. After a kill the same call goes on from there.
    """
    progress = progress or Silent()
    root = folder.resolve()
    if not root.is_dir():
        read_package(folder)
    _check_place(root, source)
    job = _job(source, options, representation)
    check = _Check(root, options, progress)
    made = recover(root, ADD, job=job, check=check.check_after, judge=lambda found: _believed(root, found))
    if made is not None:
        return _restored(made, folder)
    with _explained(root), Transaction(root, ADD, job=job, source=str(source)) as staging:
        found = read_package(root)
        check.check_before()
        settings = found.options(options, representation)
        with opening.opened(source, options.budgets, options.grants) as archive:
            if not isinstance(archive, Archive):
                raise SourceError(
                    f"{source} is not a SIARD archive, and LOBs without one could not be told apart",
                    hint="metspack build makes a package of them.",
                )
            archive.check_complete(options.accepted)
            with Sharing() as sharing, tempdb.unexplained(root):
                work = _AddWork(archive, sharing, settings, progress, found)
                built = replace(work.make(staging), target=folder)
                archive.check_unchanged()
                check.known |= archive.miscounted.keys()
                staging.publish(
                    moves=staging.new(work.replaced),
                    replaces=work.replaced,
                    made=_made(built),
                    check=check.check_after,
                )
    return built


def _believed(root: Path, found: Recovery) -> Believed:
    """Return how far the journal of an interrupted addition is believed."""
    dialect, folder, _ = _found(root)
    return Leftovers(root, dialects.named(dialect).replaced(folder), found).judge()


@contextmanager
def _explained(root: Path) -> Iterator[None]:
    try:
        yield
    except XmlError as error:
        raise SourceError(
            f"{root}: its METS or PREMIS: {error.message}", hint="metspack check shows what is wrong with it."
        ) from None


def _check_place(root: Path, source: Path) -> None:
    if source.resolve().is_relative_to(root):
        raise TargetError(
            f"the source {source} lies inside the package {root}",
            hint="Move it elsewhere first: no file but the package's own belongs there.",
        )
    if source.is_dir() and root.is_relative_to(source.resolve()):
        raise TargetError(
            f"the package {root} lies inside the source folder {source}",
            hint="Move one of them elsewhere first: the source is never written to.",
        )


def _job(source: Path, options: BuildOptions, representation: str | None) -> str:
    """Return a digest of the command, the same whenever, by whomever and however fast it is run."""
    nobody = Software(name="", version="")
    same = replace(options, created="", software=nobody, accepted=frozenset(), jobs=None, verify=False)
    told = (str(source.resolve()), representation, sorted(options.accepted), same)
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _made(built: Built) -> dict[str, Any]:
    made_of = None if built.made_of is None else built.made_of.document()
    built = replace(built, children=list(built.children))
    return asdict(built) | {"target": str(built.target), "made_of": made_of}


def _restored(made: Mapping[str, Any], folder: Path) -> Built:
    """Return the result that a journal has; raises ``TargetError`` for one that add does not write."""
    try:
        return _built(made, folder)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TargetError(
            f"{folder} has what a journal beside it said was added, and the journal did not say what that is",
            hint="It was not as metspack add writes it. metspack list shows what the package has.",
        ) from error


def _built(made: Mapping[str, Any], folder: Path) -> Built:
    readers = made["readers"] and Readership.restored(made["readers"])
    made_of = made["made_of"] and SourceFacts.restored(made["made_of"])
    lists = {name: tuple(made[name]) for name in ("warnings", "unopened")}
    sealed = made["sealed"] and Seal(value=made["sealed"]["value"], lines=tuple(made["sealed"]["lines"]))
    facts = {"target": folder, "readers": readers, "made_of": made_of, "sealed": sealed}
    return Built(**{**made, **lists, **facts})


class _Check:
    """Checks of the package before and after; rows that were missing before are not the addition's fault."""

    def __init__(self, root: Path, options: BuildOptions, progress: Progress) -> None:
        self._root = root
        self._options = options
        self._progress = progress
        self.known: set[str] = set()

    def check_before(self) -> None:
        """Raise ``TargetError`` when the package has errors; rows missing from its tables are accepted.

        Nor may it lack the manifests that are to be written anew, or have them in a form of its own.
        """
        found = self._outcome(whole=False)
        manifests_wrong = [found.warned[code][0] for code in _OF_MANIFESTS if code in found.warned]
        self._raise(self._errors(found) + manifests_wrong, "has errors before anything is added")

    def check_after(self) -> None:
        """Raise ``TargetError`` when the package as it is now has errors."""
        found = self._outcome(whole=self._options.verify)
        self._raise(self._errors(found), "would have errors; nothing was added")

    def _outcome(self, *, whole: bool) -> CheckOutcome:
        return check_outcome(
            self._root,
            self._progress,
            whole=whole,
            budgets=self._options.budgets,
            known=self.known,
            jobs=self._options.jobs,
        )

    def _errors(self, found: CheckOutcome) -> list[Finding]:
        self.known |= {each.place for each in found.errors if each.code == OF_SOURCE}
        return [each for each in found.errors if each.code != OF_SOURCE]

    def _raise(self, wrong: list[Finding], what: str) -> None:
        if wrong:
            lines = [f"{each.path}: {each.code} {each.message}" for each in wrong[:_FINDINGS]]
            raise TargetError(
                f"{self._root} {what}: {lines[0]} ({counted(len(wrong), 'finding')})",
                hint=f"metspack explain {wrong[0].code} says what it means, metspack check {self._root} "
                "lists all findings.",
                details=lines,
            )


class _AddWork(build.BuildWork):
    """One addition of an archive to an existing package."""

    def __init__(
        self,
        archive: Archive,
        sharing: Sharing,
        options: BuildOptions,
        progress: Progress,
        found: MetspackPackage,
    ) -> None:
        super().__init__(archive, sharing, options, progress)
        self.found = found
        self.own_children = max(0, self._parent_limit - found.said.children)
        self.prefix = f"{ids.ncname(self.name)}."
        self.replaced = (*self.dialect.replaced(found.folder), *sorted(manifests.NAMES.values()))
        """The files of the package that are made anew, in the order in which they take their places."""
        for path in found.archives:
            stem = Path(path).stem
            if ids.ncname(stem).casefold() == ids.ncname(self.name).casefold():
                original = options.name or archive.stem
                becomes = "" if original == self.name else f", and {original!r} would become {self.name}"
                raise ConfigError(
                    f"the package has an archive named {stem} already: {path}{becomes}",
                    hint="Give the new one another name: --name NAME.",
                )

    def needed(self, course: Course) -> tuple[int, int]:
        """Return files and bytes of the addition; the package's own files count twice, old and new."""
        files, size = super().needed(course)
        own = [self.found.root / path for path in self.replaced]
        size += sum(2 * each.stat().st_size for each in own if each.is_file())
        return files + 4 * len(own), size  # each of the two may have a folder of its own

    def check_places(self, course: Course) -> None:
        """Raise ``TargetError`` where a segment is to be that exists already."""
        segments = (self.spot(course, number) for number in course.ordered())
        for spot in chain(segments, self.tree.further(course.segments)):
            if os.path.lexists(self.found.root / spot.ip):
                raise TargetExistsError(
                    f"{self.found.root} holds {spot.ip} already, which would be a segment of {self.name}",
                    hint="Give the new archive another name: --name NAME.",
                )

    def describe(
        self,
        staging: Partial,
        siard: Hashers | None,
        placed: PlacedSegments,
    ) -> tuple[str, ...]:
        """Write the parent's documents and manifests anew, with the addition in them; returns warnings."""
        content, described = self.content(staging, siard, placed)
        if siard is None or content.siard is None:
            raise AssertionError("an archive was asked for")
        root, package = self.found.root, staging.package
        addition = self.dialect.write_addition(self.found, package, content)
        files = described | addition.files | {content.siard.path: siard}
        segmented = [(f"{spot.ip}/", spot.number) for spot in placed.spots()]
        top = self.tree.top
        self.sealed = manifests.write_grown(package, staging.work, segmented, files, top, root=root)
        return addition.warnings
