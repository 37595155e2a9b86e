"""Run a check: its steps over one package or several, level by level."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from metspack import cluster, processes
from metspack.checking import inventory, options, packages
from metspack.checking.archives import archive
from metspack.checking.catalogue import Catalogue, shown
from metspack.checking.codes import Code
from metspack.checking.eark.folders import Claims, PackageRoot
from metspack.checking.eark.profiles import Profile
from metspack.checking.files import bags, fixity, listed, manifests, metadatafiles, splitlobs
from metspack.checking.files.fixity import Fixity
from metspack.checking.grouping import CommonCauses, FurtherFindings, cause
from metspack.checking.ledger import Remembering
from metspack.checking.links.graph import Graph, graph
from metspack.checking.links.links import LinkCheck
from metspack.checking.links.objids import ObjidIndex
from metspack.checking.looks import hold_segments
from metspack.checking.mets.schema import Grammar
from metspack.checking.options import DeliveredName, FileSample, LedgerFigures, Level, Looking, Sampled
from metspack.checking.packages import NO_PACKAGE
from metspack.checking.segments import Agreement
from metspack.checking.tree import CheckedTree
from metspack.containers.ipreader import OpenPacks
from metspack.errors import Interrupted, TargetError
from metspack.files import journal
from metspack.files.byteranges import Below
from metspack.files.mirrors import check_no_store
from metspack.layouts.names import ArchiveRoutes
from metspack.mets import PLAIN_METS
from metspack.mets.links import bare
from metspack.mets.reader import Identity
from metspack.model import Budgets, Finding, Severity
from metspack.packages import delivery
from metspack.packages.delivery import DeliveredPackage
from metspack.processes import HERE
from metspack.progress import Credit

if TYPE_CHECKING:
    from metspack.checking.eark.package import Judgement

_OWN = "metspack"
_LINKING = "LXM"
_LINKED = {Code.CHILD_DIGEST_STALE.id, Code.CHILD_SIZE_STALE.id, Code.PACKED_DAMAGED.id}


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageResult:
    """The result of one package: its path as given, OBJID and kind, and its findings' numbers.

    ``is_complete`` is False when its check was interrupted, or not begun. ``makers`` are those who made the
    package and ``made`` is the date, both from its METS.
    """

    path: str
    objid: str
    kind: str
    errors: int
    warnings: int
    infos: int
    is_complete: bool = True
    makers: tuple[str, ...] = ()
    made: str = ""

    @property
    def is_package(self) -> bool:
        """Return whether it is a package, as opposed to an empty folder or a package's source."""
        return self.kind != NO_PACKAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSummary:
    """The counts of a check: METS documents, files they list, links, bytes hashed, findings.

    ``sampled`` counts the files hashed of a sample, None for all; ``routes`` lead to LOBs outside;
    ``results`` are those of each package, in the order of paths; a finding about several counts for each.
    ``beside`` are the errors about none of them, such as an expected package that did not come; ``apart`` are
    the paths of findings about none. ``ledger`` has the figures of a check that keeps one.
    """

    packages: int
    files: int
    links: int
    bytes: int
    errors: int
    warnings: int
    infos: int
    sampled: Sampled | None = None
    routes: tuple[ArchiveRoutes, ...] = ()
    results: tuple[PackageResult, ...] = ()
    beside: int = 0
    apart: frozenset[str] = frozenset()
    ledger: LedgerFigures | None = None

    @property
    def unopened(self) -> tuple[str, ...]:
        """Return the archives of SIARD 1.0 with LOBs outside, which that version does not have."""
        return tuple(each.path for each in self.routes if each.version == "1.0")

    @property
    def findings(self) -> int:
        """Return the number of all findings."""
        return self.errors + self.warnings + self.infos


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A package whose check has ended: its catalogue (open for as long), and its file tree.

    ``is_complete`` is False when the check was interrupted. ``is_one`` is False when there are other
    packages: then the paths of its findings begin with its path.
    """

    package: DeliveredPackage
    catalogue: Catalogue
    places: CheckedTree
    is_complete: bool
    is_one: bool = True

    @property
    def prefix(self) -> str:
        """Return the beginning of the paths of its findings, without the last ``/``."""
        return "" if self.is_one else self.package.shown

    @property
    def links(self) -> Graph:
        """Return its links, with paths in the package; built from the catalogue at every call."""
        return graph(self.catalogue, self.package.shown)

    @property
    def links_as_given(self) -> Graph:
        """Return its links with the paths that its findings have."""
        return self.links if self.is_one else self.links.renamed(self.as_given)

    def as_given(self, path: str) -> str:
        """Return a path of the package in the form of the findings."""
        if self.is_one or not path:
            return path
        given, path = self.places.as_given(path) or (self.prefix, path)
        return f"{given}/{path}"


class Observer(Protocol):
    """A reader of the catalogues of a check, for figures beyond its findings."""

    def __call__(self, checked: Checked, /) -> None:
        """Read the catalogue of a package; called once for each package, when its check has ended."""


class Checking(Iterator[Finding]):
    """A check under way: an iterator of findings, whose ``summary`` counts the work so far.

    ``graphs`` are the links of each package that was checked, in that order; none unless ``keeps_links``, as
    they grow with the METS documents. Each package is shown to the ``observer``. Raises ``SourceError`` when
    there is nothing at a path to check, ``TargetError`` when the temporary directory has no room; a fault of
    a package is only ever a finding. With several packages, each finding's path begins with the package's.
    The files read are noted in the ``ledger``, if any; ``credit`` is called with the work of each worker of a
    cluster.
    """

    def __init__(
        self,
        path: Path | Sequence[Path],
        looking: Looking,
        progress: Callable[[int], None] | None = None,
        roots: Sequence[Path] = (),
        observer: Observer | None = None,
        *,
        ledger: Remembering | None = None,
        credit: Credit = lambda _workers: None,
        keeps_links: bool = True,
    ) -> None:
        self._ledger = ledger
        self._credit = credit
        self._keeps_links = keeps_links
        self._executor = HERE
        self._paths = (path,) if isinstance(path, Path) else tuple(path)
        self._looking = looking
        self._granted = tuple(roots)
        self._is_one = True
        self._found: dict[str, Identity] = {}
        self._told_of: Counter[tuple[str, Severity]] = Counter()
        self._ended, self._apart = set[str](), set[str]()
        self._owner = ""
        self._owners: tuple[str, ...] = ()
        self.graphs: list[Graph] = []
        self._observer = observer
        self._open: tuple[DeliveredPackage, Catalogue, CheckedTree] | None = None
        self._sampled = None if looking.sample is None else Sampled()
        self._progress = progress
        self._bytes, self._counts = 0, (0, 0, 0)
        self._routes: list[ArchiveRoutes] = []
        self._folders: Mapping[Path, set[bytes]] = {}
        self._packs = set[Below]()  # zip and tar files that were looked at
        self._severities: Counter[Severity] = Counter()
        self._scope = ""
        self._findings = self._together()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Finding:
        try:
            finding = next(self._findings)
        except sqlite3.Error as error:
            raise TargetError(
                f"the check's temporary database failed: {error}",
                hint="It lies in the temporary directory; SQLITE_TMPDIR names another with more room.",
            ) from None
        self._severities[finding.severity] += 1
        for each in self._owners:
            self._told_of[each, finding.severity] += 1
            self._apart.update(() if each else (finding.path,))
        return finding

    @property
    def summary(self) -> CheckSummary:
        """Return the counts so far; complete when the iterator is exhausted."""
        packages, files, links = self._counts
        return CheckSummary(
            packages=packages,
            files=files,
            links=links,
            bytes=self._bytes,
            errors=self._severities[Severity.ERROR],
            warnings=self._severities[Severity.WARNING],
            infos=self._severities[Severity.INFO],
            sampled=self._sampled,
            routes=tuple(sorted(self._routes, key=lambda each: each.path)),
            results=tuple(self._result(path, found) for path, found in sorted(self._found.items())),
            beside=self._told_of["", Severity.ERROR],
            apart=frozenset(self._apart),
            ledger=None if self._ledger is None else self._ledger.figures,
        )

    def _result(self, path: str, found: Identity) -> PackageResult:
        return PackageResult(
            path=path,
            objid=found.objid,
            kind=found.kind,
            errors=self._told_of[path, Severity.ERROR],
            warnings=self._told_of[path, Severity.WARNING],
            infos=self._told_of[path, Severity.INFO],
            is_complete=path in self._ended,
            makers=found.makers,
            made=found.made,
        )

    def _count_bytes(self, count: int) -> None:
        self._bytes += count
        if self._progress is not None:
            self._progress(count)

    def _count_files(self, more: Sampled) -> None:
        if self._sampled is not None:
            self._sampled += more

    def _together(self) -> Iterator[Finding]:
        """Yield all findings, at last those with a shared cause, one per cause, and counted ones."""
        most = self._looking.budgets.findings
        further, causes = FurtherFindings(most), CommonCauses(most)
        try:
            for finding in self._checked():
                owner, self._owner = self._owner, ""
                rank = finding.path.removeprefix(f"{owner}/"), self._found.get(owner, Identity()).objid, owner
                self._owners = (owner,)
                is_taken = causes.take(cause(finding, self._scope), finding, owner=owner, rank=rank)
                if not (is_taken or further.take(finding, self._owners)):
                    yield finding
        except Interrupted:
            yield from self._released(causes, further)
            raise
        yield from self._released(causes, further)

    def _released(self, causes: CommonCauses, further: FurtherFindings) -> Iterator[Finding]:
        for finding, self._owners in causes.release():
            if not further.take(finding, self._owners):
                yield finding
        for finding, self._owners in further.release():
            yield finding

    def _checked(self) -> Iterator[Finding]:
        budgets = self._looking.budgets
        check_no_store(self._looking.cluster, (*self._paths, *self._granted))
        with (
            cluster.opened(self._looking.cluster, self._credit) as helpers,
            closing(OpenPacks(budgets)) as packs,
            ExitStack() as stack,
        ):
            granted = [delivery.root(path) for path in self._granted]
            self._open_packs = packs
            found = packages.found(self._paths, granted, packs, budgets)
            whole = [each for each in found if each.is_package]
            self._is_one, several = len(found) == 1, len(whole) > 1
            self._folders = _folders(found)
            self._executor = fixity.executor(helpers, whole, granted)
            options.check_alone(self._looking, sum(not (each.source or each.other) for each in found))
            for each in found:
                self._found[each.shown] = packages.identity(each, packs, budgets)
            left = [(each, packages.finding(each)) for each in found if not each.is_package]
            yield from self._unopened((each, (finding,)) for each, finding in left if not each.other)
            index = stack.enter_context(closing(ObjidIndex(whole, granted, packs, budgets)))
            around = bags.Surroundings(whole, self._paths, packs, self._looking)
            self._around = stack.enter_context(closing(around))
            if several or granted or self._looking.expected is not None:
                yield from index.search()
                yield from self._expected(found, index)
            first: dict[str, str] = {}
            in_order = _ordered(whole, index) if several else whole
            for each in packages.put_together(in_order, index, packs, budgets) if several else whole:
                if several:
                    if index.is_claimed(f"{each.tree(packs).shown}/{each.mets or PLAIN_METS}"):
                        continue  # it was checked where its parent was
                    for finding in _of_copy(next(iter(each.members), each), index, first):
                        self._owner = each.shown
                        yield finding
                yield from self._of_one(each, index)
            yield from self._unopened(
                (each, [*around.unnamed(finding)]) for each, finding in left if each.other
            )

    def _unopened(self, told: Iterable[tuple[DeliveredPackage, Sequence[Finding]]]) -> Iterator[Finding]:
        """Yield the findings on entries that cannot be checked.

        An entry without a finding is named by a list, and gets no result.
        """
        for each, findings in told:
            self._ended.add(each.shown)
            if not findings:
                self._found.pop(each.shown, None)
            for finding in findings:
                self._owner = each.shown
                yield finding

    def _expected(self, found: Sequence[DeliveredPackage], index: ObjidIndex) -> Iterator[Finding]:
        """Yield the findings on differences from the announced packages, if any were announced."""
        if self._looking.expected is None:
            return
        given = [
            DeliveredName(path=self._path(each), objid=self._found[each.shown].objid, folder=each.folder)
            for each in found
            if not (each.source or each.other)
        ]
        owners = {self._path(each): each.shown for each in found}
        for package, finding in self._looking.expected.compared(given, {*index.own_names()}):
            self._owner = "" if package is None else owners[package.path]
            yield finding

    def _path(self, each: DeliveredPackage) -> str:
        """Return the path that a finding of a package as a whole has."""
        if self._is_one:
            return each.mets or PLAIN_METS
        return each.shown if each.mets is None else f"{each.shown}/{each.mets}"

    def _as_given(self, finding: Finding, each: DeliveredPackage, places: CheckedTree) -> Finding:
        """Return a finding with the package's path before its own, where there are several packages."""
        self._owner = self._scope = each.shown
        if finding.path in self._around.apart:
            path = owner = os.path.normpath(f"{each.shown}/{finding.path}")
            none = Identity(kind=NO_PACKAGE)
            while owner and self._found.get(owner, none).kind == NO_PACKAGE:
                owner = owner.rpartition("/")[0]
            self._owner = owner
            return replace(finding, path=path)
        if self._is_one:
            return finding
        given, path = places.as_given(finding.path) or (each.shown, finding.path)
        self._owner = given
        return replace(finding, path=f"{given}/{path}")

    def stop(self) -> None:
        """End an interrupted check: count and show the data of the package under way."""
        self._end_package(is_complete=False)

    def _of_one(self, each: DeliveredPackage, index: ObjidIndex) -> Iterator[Finding]:
        if self._ledger is not None:
            self._ledger.begin(self._found[each.shown].objid, each.tree(self._open_packs).shown)
        with processes.keeping(), self._under_way(each, index) as (catalogue, places):
            steps = self._steps(catalogue, places, each, index)
            yield from self._told(catalogue, places, each, steps)

    @contextmanager
    def _under_way(
        self, each: DeliveredPackage, index: ObjidIndex
    ) -> Iterator[tuple[Catalogue, CheckedTree]]:
        """Give a catalogue for a package, which ends with the block."""
        looking = self._looking
        with (
            Catalogue() as catalogue,
            closing(Agreement(each.path.absolute(), looking, catalogue, self._executor)) as agreement,
        ):
            if _is_in_a_folder(each):
                hold_segments(agreement, each.path, looking, self._count_bytes)
            agreed = agreement if agreement.held else None
            index.agreed = agreed if self._is_one else None
            places = CheckedTree(each.tree(self._open_packs), agreed, looking.budgets)
            agreement.begin_reading(self._count_bytes)
            self._open = each, catalogue, places
            try:
                yield catalogue, places
            except GeneratorExit:
                raise
            except BaseException:
                self.stop()  # the catalogue is closed before a caller gets the exception
                raise
            self._end_package(is_complete=True)

    def _told(
        self, catalogue: Catalogue, places: CheckedTree, each: DeliveredPackage, findings: Iterable[Finding]
    ) -> Iterator[Finding]:
        """Yield findings with the requirements that they break as well; note the faults of links."""
        standards = _StandardsCheck(catalogue, places, PackageRoot(name=""), self._looking)
        noted = ("", "")
        for finding in findings:
            fault = finding.path, finding.code
            if fault != noted and (finding.code[0] in _LINKING or finding.code in _LINKED):
                catalogue.put("INSERT OR IGNORE INTO fault VALUES (?, ?)", *fault)
                noted = fault
            yield self._as_given(standards.named(finding), each, places)

    def _end_package(self, *, is_complete: bool) -> None:
        """Count the contents of the package under way, and show it to the observer; once."""
        if self._open is None:
            return
        (each, catalogue, places), self._open = self._open, None
        packages, files, links = self._counts
        self._counts = (
            packages + catalogue.number("SELECT count(*) FROM mets WHERE ok"),
            files + catalogue.number("SELECT count(*) FROM entry") + places.agreed_files,
            links + catalogue.number("SELECT count(*) FROM mptr"),
        )
        if is_complete:
            self._ended |= {each.shown, *places.given.values()}
        self._routes += archive.routes(catalogue, "" if self._is_one else f"{each.shown}/")
        checked = Checked(
            package=each,
            catalogue=catalogue,
            places=places,
            is_complete=is_complete,
            is_one=self._is_one,
        )
        if self._keeps_links:
            self.graphs.append(checked.links_as_given)
        if self._observer is not None:
            if places.agreement is not None:
                places.agreement.put_figures()
            self._observer(checked)

    def _steps(
        self,
        catalogue: Catalogue,
        places: CheckedTree,
        each: DeliveredPackage,
        index: ObjidIndex,
    ) -> Iterator[Finding]:
        """Yield all findings on a package."""
        looking, level = self._looking, self._looking.level
        whole = level > Level.LINKS
        if not each.is_packed and (stopped := journal.interrupted(each.path)) is not None:
            yield Code.IN_BETWEEN.at(each.mets or PLAIN_METS, found=stopped)
        yield from _against_seal(places, each, looking)
        yield from inventory.findings(catalogue, places, whole=whole)
        if (top := each.top) is not None:
            pack, folder = os.fsencode(top.path.name), os.fsencode(top.folder)
            places.mount(folder, packages.top_tree(each, top, self._open_packs))
            catalogue.put("INSERT INTO pack VALUES (?, ?)", pack, folder + b"/")
            yield from inventory.findings(catalogue, places, folder, whole=whole)
        for member in each.members:
            tree, root = member.tree(self._open_packs), index.number(member)
            places.join(member.folder, tree, member.shown, root, member.within)
            yield from inventory.findings(catalogue, places, os.fsencode(member.folder), whole=whole)
        if whole and not (yield from self._around.findings(catalogue, each)):
            yield from manifests.read(catalogue, places)
        links = LinkCheck(catalogue, places, index, index.number(each), looking)
        if each.mets is None:
            catalogue.new_mets(os.fsencode(PLAIN_METS), None, done=True)
            deeper = catalogue.row("SELECT path FROM document ORDER BY length(path), path")
            nearest = "" if deeper is None else shown(deeper[0])
            catalogue.put("INSERT INTO lost_mets VALUES (?)", os.fsencode(PLAIN_METS))
            yield Code.METS_MISSING.at(PLAIN_METS, expected=PLAIN_METS, nearest=nearest)
        else:
            yield from links.findings(os.fsencode(each.mets))
        yield from inventory.noticed(catalogue)
        yield from links.orphans()
        if places.agreement is not None:
            places.agreement.put_unread_back()
        covers = self._around.covers if whole else None
        yield from inventory.beside(catalogue, places, self._folders, self._packs, covers)
        standards = _StandardsCheck(catalogue, places, at := PackageRoot.of(each), looking)
        # A file that no METS lists has no place in E-ARK's packages, and a folder without METS is hardly one.
        # Only metspack writes manifests beside the IPs of a set.
        is_own = bool(each.ips) and self._found[each.shown].software == _OWN
        if whole and each.mets is not None and (is_own or not standards.claims.of_root(at.top)):
            yield from manifests.missing(catalogue)
        fixity = Fixity(
            catalogue, places, self._count_bytes, self._count_files, self._ledger, executor=self._executor
        )
        if whole and places.agreement is not None:
            _put_named_back(catalogue, places.agreement)
        listed.compare(catalogue, whole=whole)
        if not whole:
            yield from fixity.of_documents(manifests=False)
            yield from listed.sizes(catalogue)
            return
        yield from self._files(catalogue, places, each.path, fixity)
        yield from standards.findings()
        yield from listed.sizes(catalogue)

    def _files(
        self,
        catalogue: Catalogue,
        places: CheckedTree,
        root: Path,
        fixity: Fixity,
    ) -> Iterator[Finding]:
        """Yield the findings on files, once all METS and manifests are in the catalogue."""
        looking, level = self._looking, self._looking.level
        yield from inventory.alike(catalogue)
        yield from listed.documents(catalogue, looking.budgets.findings)
        if level.hashes:
            listed.find(catalogue, places, listed.unlisted(catalogue), self._count_bytes)
        yield from listed.files(catalogue, places, looking.budgets.findings)
        yield from listed.segments(catalogue)
        yield from splitlobs.of_mets(catalogue)
        yield from manifests.read_lob_manifests(catalogue, places)
        if places.agreement is not None:
            places.agreement.put_named_back("listed")
        yield from manifests.findings(catalogue)
        sampled = looking.sample is not None
        if looking.sample is not None:
            self._count_files(options.choose(catalogue, looking.sample))
        if level.opens_archives:
            full = level is Level.FULL
            yield from archive.findings(
                catalogue, places, root, self._count_bytes, looking.budgets, whole=full, sampled=sampled
            )
            yield from manifests.incomplete_lob_manifests(catalogue)
            yield from listed.lobs_twice(catalogue)
            yield from listed.archives_twice(catalogue)
        yield from listed.missing(catalogue, looking.budgets.findings)
        yield from metadatafiles.findings(catalogue, places)
        if sampled or not level.hashes:
            yield from manifests.against_mets(catalogue)
        yield from self._fixity(catalogue, places, fixity)

    def _fixity(self, catalogue: Catalogue, places: CheckedTree, fixity: Fixity) -> Iterator[Finding]:
        looking, sampled = self._looking, self._looking.sample is not None
        if looking.level.hashes:
            fixity.ledger.leave_out()
            if places.agreement is not None:
                yield from fixity.of_agreed(places.agreement)
            yield from splitlobs.findings(catalogue, fixity, sampled=sampled, jobs=looking.jobs)
            yield from fixity.of_files(sampled=sampled, jobs=looking.jobs)
            fixity.ledger.end()
        else:
            yield from fixity.of_documents(manifests=True)


def _folders(found: Sequence[DeliveredPackage]) -> Mapping[Path, set[bytes]]:
    """Return the folders of packages by their roots, with other archives below these roots."""
    folders: dict[Path, set[bytes]] = {}
    for each in found:
        if each.is_package:
            folders.setdefault(each.path, set()).add(os.fsencode(each.within))
    for path in (Path(each.shown) for each in found if not each.is_package):
        for pack in folders.keys() & set(path.parents):
            folders[pack].add(os.fsencode(path.relative_to(pack)))
    return folders


def _ordered(packages: Sequence[DeliveredPackage], index: ObjidIndex) -> list[DeliveredPackage]:
    """Return the packages with each parent before its children, otherwise by OBJID."""
    known = [(each, index.of(each)) for each in packages]
    known.sort(key=lambda each: (bare(each[1].objid) if each[1] else "", each[0].path.name, each[0].shown))
    numbers: dict[str, list[int]] = {}
    for number, (_, found) in enumerate(known):
        if found is not None and found.objid:
            numbers.setdefault(bare(found.objid), []).append(number)
    parents: list[set[int]] = [set() for _ in known]
    for number, (_, found) in enumerate(known):
        if found is not None:
            parents[number].update(each for up in found.ups for each in numbers.get(up, ()))
            for down in found.downs:
                for child in numbers.get(down, ()):
                    parents[child].add(number)
    after: dict[int, None] = {}
    for number in range(len(known)):
        _put_after(number, parents, after)
    return [known[number][0] for number in after]


def _put_after(number: int, parents: Sequence[set[int]], after: dict[int, None]) -> None:
    """Put a package behind its parents, and theirs; one above itself stays where it is met."""
    ahead, under_way = [number], set[int]()
    while ahead:
        here = ahead[-1]
        more = [] if here in under_way else sorted(parents[here] - after.keys() - under_way, reverse=True)
        under_way.add(here)
        ahead += more
        if not more:
            after.setdefault(ahead.pop())


def _of_copy(each: DeliveredPackage, index: ObjidIndex, first: dict[str, str]) -> Iterator[Finding]:
    """Yield that a package has the OBJID of one before; ``first`` maps OBJIDs to these."""
    found = index.of(each)
    if found is not None and found.objid:
        other = first.setdefault(bare(found.objid), each.shown)
        if other != each.shown:
            path = f"{each.shown}/{each.mets}"
            yield Code.PACKAGES_ALIKE.at(path, found=found.objid, other=other)


def _against_seal(places: CheckedTree, each: DeliveredPackage, looking: Looking) -> Iterator[Finding]:
    """Yield that the package differs from the seal that it must have, if there is one."""
    if looking.seal is not None:
        path = os.fsencode(each.mets or PLAIN_METS) if each.top is None else os.fsencode(each.top.path.name)
        yield from manifests.against_seal(places, path, looking.seal)


def _put_named_back(catalogue: Catalogue, agreement: Agreement) -> None:
    """Put back the agreed segments that METS or manifests outside them have files in."""
    if catalogue.row("SELECT 1 FROM mptr WHERE part IS NOT NULL") is not None:
        agreement.put_all_back()  # parts are found by their IDs
    agreement.put_named_back("entry")
    agreement.put_named_back("listed")


def _is_in_a_folder(each: DeliveredPackage) -> bool:
    """Return whether a package is a folder, all of it, that has a METS."""
    return each.mets is not None and not (each.is_packed or each.members or each.top)


class _StandardsCheck:
    """The check against standards, which loads their large tables when they are needed."""

    def __init__(
        self, catalogue: Catalogue, places: CheckedTree, root: PackageRoot, looking: Looking
    ) -> None:
        self._given = catalogue, places, root, looking
        self.claims = Claims(catalogue, places, looking)

    @cached_property
    def _judgement(self) -> Judgement:
        from metspack.checking.eark.package import Judgement  # noqa: PLC0415 -- as it says

        return Judgement(*self._given, self.claims)

    def findings(self) -> Iterator[Finding]:
        claimed = self.claims.packages()
        for first in claimed:
            yield from self._judgement.findings(chain((first,), claimed))

    def named(self, finding: Finding) -> Finding:
        """Return a finding of another step with the requirement that it breaks as well, if any."""
        is_done = finding.requirement or self._given[-1].profile is Profile.RECOMMENDATION
        return finding if is_done else self._judgement.named(finding)


def check(
    path: Path | Sequence[Path],
    level: Level = Level.FULL,
    *,
    roots: Sequence[Path] = (),
    progress: Callable[[int], None] | None = None,
    budgets: Budgets | None = None,
    sample: FileSample | None = None,
    grammar: Grammar | None = None,
    strict: bool = False,
    jobs: int | None = 1,
    profile: Profile = Profile.AUTO,
    observer: Observer | None = None,
    keeps_links: bool = True,
) -> Checking:
    """Return the findings about one package or several, yielded as they are found.

    ``path`` is a package's folder, its METS file, or a zip or tar file of it. Children that are missing at
    the place in their parent are looked for by OBJID in ``roots`` and in the packages, in folders and in zip
    and tar files. ``progress`` gets the number of bytes just hashed; ``sample``, ``grammar``, ``strict``,
    ``jobs`` and ``profile`` are as in ``Looking``. Nothing is written but a temporary database. Each package
    that was checked is shown to the ``observer``; the result has its links if it ``keeps_links``. Raises
    ``ConfigError`` as ``Looking`` does.
    """
    looking = Looking(
        level=level,
        budgets=budgets or Budgets(),
        sample=sample,
        grammar=grammar,
        strict=strict,
        jobs=jobs,
        profile=profile,
    )
    return Checking(path, looking, progress, roots, observer, keeps_links=keeps_links)
