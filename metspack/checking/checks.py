"""Check packages, each with its own catalogue; count and group their findings."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from metspack import cluster, processes
from metspack.checking import options, packages
from metspack.checking.catalogue import Catalogue
from metspack.checking.files import bags, fixity
from metspack.checking.grouping import CommonCauses, FurtherFindings, cause
from metspack.checking.ledger import Remembering
from metspack.checking.links.graph import Graph
from metspack.checking.links.objids import ObjidIndex
from metspack.checking.looks import hold_segments
from metspack.checking.options import Level, Looking, Sampled
from metspack.checking.results import Checked, CheckSummary, Observer, PackageResult
from metspack.checking.run import PackageCheck, Shared
from metspack.checking.segments import Agreement
from metspack.checking.tree import CheckedTree
from metspack.containers.ipreader import OpenPacks
from metspack.errors import Interrupted, TargetError
from metspack.files.mirrors import check_no_store
from metspack.layouts.names import ArchiveRoutes
from metspack.limits import Budgets
from metspack.mets import PLAIN_METS
from metspack.mets.reader import Identity
from metspack.model import Finding, Severity
from metspack.packages import delivery, related, rooted
from metspack.packages.delivery import DeliveredPackage
from metspack.packages.rooted import NO_PACKAGE
from metspack.processes import HERE
from metspack.progress import Credit
from metspack.system import os


class Checking(Iterator[Finding]):
    """A check under way: an iterator of findings, whose ``summary`` counts the work so far.

    ``graphs`` are the links of each checked package, in that order, if it ``keeps_links``: they grow with the
    METS documents. The ``observer`` is called with each package. Raises ``SourceError`` when
    a path has no package, ``TargetError`` when the temporary directory has no room; a fault of
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
        self._reported: Counter[tuple[str, Severity]] = Counter()
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
            self._reported[each, finding.severity] += 1
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
            beside=self._reported["", Severity.ERROR],
            apart=frozenset(self._apart),
            ledger=None if self._ledger is None else self._ledger.figures,
        )

    def _result(self, path: str, found: Identity) -> PackageResult:
        return PackageResult(
            path=path,
            objid=found.objid,
            kind=found.kind,
            errors=self._reported[path, Severity.ERROR],
            warnings=self._reported[path, Severity.WARNING],
            infos=self._reported[path, Severity.INFO],
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
        """Yield all findings; last one for each shared cause, and the counted ones."""
        most = self._looking.budgets.findings
        further, causes = FurtherFindings(most), CommonCauses(most)
        interrupted: Interrupted | None = None
        try:
            for finding in self._checked():
                owner, self._owner = self._owner, ""
                rank = finding.path.removeprefix(f"{owner}/"), self._found.get(owner, Identity()).objid, owner
                self._owners = (owner,)
                is_taken = causes.take(cause(finding, self._scope), finding, owner=owner, rank=rank)
                if not (is_taken or further.take(finding, self._owners)):
                    yield finding
        except Interrupted as error:
            interrupted = error
        for finding, self._owners in causes.release():
            if not further.take(finding, self._owners):
                yield finding
        for finding, self._owners in further.release():
            yield finding
        if interrupted is not None:
            raise interrupted

    def _checked(self) -> Iterator[Finding]:
        budgets = self._looking.budgets
        check_no_store(self._looking.cluster, (*self._paths, *self._granted))
        with (
            cluster.connect(self._looking.cluster, self._credit) as helpers,
            closing(OpenPacks(budgets)) as packs,
            ExitStack() as stack,
        ):
            granted = [delivery.root(path) for path in self._granted]
            self._open_packs = packs
            found = packages.found(self._paths, granted, packs, budgets)
            whole = [each for each in found if each.is_package]
            self._is_one, several = len(found) == 1, len(whole) > 1
            self._executor = fixity.executor(helpers, whole, granted)
            options.check_single_package(
                self._looking, sum(not (each.source or each.other) for each in found)
            )
            for each in found:
                self._found[each.shown] = rooted.identity(each, packs, budgets)
            left = [(each, packages.finding(each)) for each in found if not each.is_package]
            yield from self._unopened((each, (finding,)) for each, finding in left if not each.other)
            index = stack.enter_context(closing(ObjidIndex(whole, granted, packs, budgets)))
            around = bags.Surroundings(whole, self._paths, packs, self._looking)
            self._around = stack.enter_context(closing(around))
            self._shared = Shared(
                looking=self._looking,
                packs=packs,
                around=around,
                folders=packages.folders(found),
                ledger=self._ledger,
                executor=self._executor,
                progress=self._count_bytes,
                counted=self._count_files,
            )
            if several or granted or self._looking.expected is not None:
                yield from index.findings()
                yield from self._expected(found, index)
            first: dict[str, str] = {}
            in_order = related.ordered(whole, index) if several else whole
            for each in related.put_together(in_order, index, packs, budgets) if several else whole:
                if several:
                    if index.is_claimed(f"{each.tree(packs).shown}/{each.mets or PLAIN_METS}"):
                        continue  # it was checked where its parent was
                    for finding in packages.of_copy(next(iter(each.members), each), index, first):
                        self._owner = each.shown
                        yield finding
                yield from self._of_one(each, index)
            yield from self._unopened(
                (each, [*around.unnamed(finding)]) for each, finding in left if each.other
            )

    def _unopened(self, found: Iterable[tuple[DeliveredPackage, Sequence[Finding]]]) -> Iterator[Finding]:
        """Yield the findings on entries that cannot be checked.

        An entry without a finding is named by a list, and gets no result.
        """
        for each, findings in found:
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
            (self._path(each), self._found[each.shown].objid, each.folder)
            for each in found
            if not (each.source or each.other)
        ]
        owners = {self._path(each): each.shown for each in found}
        for path, finding in packages.against_expected(
            self._looking.expected, given, {*index.checked_names()}
        ):
            self._owner = owners.get(path, "")
            yield finding

    def _path(self, each: DeliveredPackage) -> str:
        """Return the path that a finding of a package as a whole has."""
        if self._is_one:
            return each.mets or PLAIN_METS
        return each.shown if each.mets is None else f"{each.shown}/{each.mets}"

    def _as_given(self, finding: Finding, each: DeliveredPackage, places: CheckedTree) -> Finding:
        """Return a finding, of several packages with the package's path before its path."""
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
        with processes.keep(), self._under_way(each) as (catalogue, places):
            number, agreement = index.number(each), places.agreement
            index.read_before = lambda root, pack: agreement.mets_in(pack) if root == number else None
            software = self._found[each.shown].software
            run = PackageCheck(each, software, catalogue, places, index, self._shared)
            for finding in run.findings():
                yield self._as_given(finding, each, places)
            index.read_before = lambda _root, _pack: None

    @contextmanager
    def _under_way(self, each: DeliveredPackage) -> Iterator[tuple[Catalogue, CheckedTree]]:
        """Give a catalogue for a package, which ends with the block."""
        looking = self._looking
        with (
            Catalogue() as catalogue,
            closing(Agreement(each.path.absolute(), looking, catalogue, self._executor)) as agreement,
        ):
            # Only a package that is a single folder with a METS has held segments.
            if each.mets is not None and not (each.is_packed or each.members or each.top):
                hold_segments(agreement, each.path, looking)
            places = CheckedTree(each.tree(self._open_packs), agreement, looking.budgets.holes)
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

    def _end_package(self, *, is_complete: bool) -> None:
        """Count the contents of the package under way, and show it to the observer; once."""
        if self._open is None:
            return
        (each, catalogue, places), self._open = self._open, None
        packages, files, links = self._counts
        self._counts = (
            packages + catalogue.number("SELECT count(*) FROM mets WHERE ok"),
            files + catalogue.number("SELECT count(*) FROM entry") + places.agreement.held,
            links + catalogue.number("SELECT count(*) FROM mptr"),
        )
        if is_complete:
            self._ended |= {each.shown, *places.given.values()}
        above = "" if self._is_one else f"{each.shown}/"
        self._routes += (replace(found, path=f"{above}{found.path}") for found in catalogue.routes)
        checked = Checked(
            package=each, catalogue=catalogue, places=places, is_complete=is_complete, is_one=self._is_one
        )
        if self._keeps_links:
            self.graphs.append(checked.links_as_given)
        if self._observer is not None:
            places.agreement.put_figures()
            self._observer(checked)


def check(
    path: Path | Sequence[Path],
    level: Level = Level.FULL,
    *,
    roots: Sequence[Path] = (),
    progress: Callable[[int], None] | None = None,
    budgets: Budgets | None = None,
    jobs: int | None = 1,
    observer: Observer | None = None,
    keeps_links: bool = True,
    **options: Any,
) -> Checking:
    """Return the findings about one package or several, yielded as they are found.

    ``path`` is a package's folder, its METS file, or a zip or tar file of it. Children that are missing at
    the place in their parent are searched by OBJID in ``roots`` and in the packages, in folders and in zip
    and tar files. ``progress`` gets the number of bytes just hashed; ``jobs`` and further options are as in
    ``Looking``. Nothing is written but a temporary database. Each package
    that was checked is shown to the ``observer``; the result has its links if it ``keeps_links``. Raises
    ``ConfigError`` as ``Looking`` does.
    """
    looking = Looking(level=level, budgets=budgets or Budgets(), jobs=jobs, **options)
    return Checking(path, looking, progress, roots, observer, keeps_links=keeps_links)
