"""Run the check of one package: its steps, level by level, on what is read of it into the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from metspack.checking import grouping, inventory, options
from metspack.checking.archives import archive
from metspack.checking.catalogue import Catalogue, Mark
from metspack.checking.codes import Code
from metspack.checking.eark.folders import Claims
from metspack.checking.eark.profiles import Profile
from metspack.checking.files import bags, listed, manifests, metadatafiles, splitlobs
from metspack.checking.files.fixity import Fixity
from metspack.checking.ledger import Remembering
from metspack.checking.links.links import LinkCheck
from metspack.checking.links.objids import ObjidIndex
from metspack.checking.options import Level, Looking, Sampled
from metspack.checking.tree import CheckedTree
from metspack.containers.ipreader import OpenPacks
from metspack.files import journal
from metspack.files.byteranges import FileBelow
from metspack.files.paths import shown
from metspack.mets import CSIP_METS, PLAIN_METS
from metspack.model import Finding
from metspack.packages import rooted
from metspack.packages.delivery import DeliveredPackage
from metspack.processes import Executor
from metspack.system import os

if TYPE_CHECKING:
    from metspack.checking.eark.package import Judgement

_NAMED_METS = """
SELECT path FROM disk WHERE kind = 'f' AND instr(path, CAST('/' AS BLOB)) = 0
AND lower(CAST(path AS TEXT)) GLOB 'mets*.xml' ORDER BY path
"""
_FURTHER_METS = f"""
SELECT path FROM mark WHERE mark = '{Mark.DOCUMENT}' ORDER BY length(path), path
"""  # noqa: S608 -- a constant
_LINKED = {Code.CHILD_DIGEST_STALE.id, Code.CHILD_SIZE_STALE.id, Code.PACKED_DAMAGED.id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The values that the checks of all packages of a command share.

    ``folders`` are those of packages by their roots, and ``seen`` the zip and tar files that were listed;
    ``progress`` takes the bytes just hashed, ``counted`` the files of a sample.
    """

    looking: Looking
    packs: OpenPacks
    around: bags.Surroundings
    folders: Mapping[Path, set[bytes]]
    ledger: Remembering | None
    executor: Executor
    progress: Callable[[int], None]
    counted: Callable[[Sampled], None]
    seen: set[FileBelow] = field(default_factory=set)


class PackageCheck:
    """The check of one package, made by some ``software``; each step yields its findings."""

    def __init__(  # noqa: PLR0917
        self,
        package: DeliveredPackage,
        software: str,
        catalogue: Catalogue,
        places: CheckedTree,
        index: ObjidIndex,
        shared: Shared,
    ) -> None:
        self._package = package
        self._software = software
        self._catalogue = catalogue
        self._places = places
        self._index = index
        self._shared = shared
        self._looking = shared.looking

    def findings(self) -> Iterator[Finding]:
        """Yield all findings, with the requirements that they break; note faults of links."""
        is_eark = self._looking.profile is not Profile.RECOMMENDATION
        noted = ("", "")
        for finding in self._steps():
            fault = finding.path, finding.code
            if fault != noted and (finding.code[0] in "LXM" or finding.code in _LINKED):
                self._catalogue.put("INSERT OR IGNORE INTO fault VALUES (?, ?)", *fault)
                noted = fault
            yield self._judgement.named(finding) if is_eark else finding

    def _steps(self) -> Iterator[Finding]:
        looking, catalogue, places = self._looking, self._catalogue, self._places
        whole = looking.level > Level.LINKS
        yield from self._state()
        yield from self._listing(whole=whole)
        if whole and not (yield from self._shared.around.findings(catalogue, self._package)):
            yield from manifests.read(catalogue, places)
        yield from self._links()
        covers = self._shared.around.covers if whole else None
        together = grouping.FindingGroups()
        yield from inventory.beside(places, self._shared.folders, self._shared.seen, covers, together)
        # E-ARK's packages list all files in METS and need no manifests; beside IPs side by side only metspack
        # writes them.
        is_of_metspack = bool(self._package.ips) and self._software == "metspack"
        if whole and self._package.mets is not None and (is_of_metspack or not self._claims.of_root()):
            yield from manifests.missing(catalogue)
        listed.compare(catalogue, whole=whole)
        if whole:
            yield from self._files(together)
            yield from self._cells()
            yield from self._statements()
            yield from self._standards()
        else:
            yield from self._fixity.of_documents(manifests=False)
        yield from listed.sizes(catalogue)

    def _state(self) -> Iterator[Finding]:
        """Yield findings on an unfinished change of the package, and on another seal."""
        each = self._package
        if not each.is_packed and (stopped := journal.interrupted(each.path)) is not None:
            yield Code.IN_BETWEEN.at(each.mets or PLAIN_METS, found=stopped)
        if self._looking.seal is not None:
            path = each.mets or PLAIN_METS if each.top is None else each.top.path.name
            yield from manifests.against_seal(self._places, os.fsencode(path), self._looking.seal)

    def _listing(self, *, whole: bool) -> Iterator[Finding]:
        """List the files of the package, of the IP packed at its top, and of its members."""
        catalogue, places, each, packs = self._catalogue, self._places, self._package, self._shared.packs
        yield from inventory.findings(catalogue, places, whole=whole)
        if (top := each.top) is not None:
            pack, folder = os.fsencode(top.path.name), os.fsencode(top.folder)
            places.mount(folder, rooted.top_tree(each, top, packs))
            catalogue.mark(Mark.PACK, pack, folder + b"/")
            yield from inventory.findings(catalogue, places, folder, whole=whole)
        for member in each.members:
            places.join(
                member.folder, member.tree(packs), member.shown, self._index.number(member), member.within
            )
            yield from inventory.findings(catalogue, places, os.fsencode(member.folder), whole=whole)

    def _links(self) -> Iterator[Finding]:
        """Read the package's METS, all METS below, and METS that no METS names."""
        catalogue, places, each, index = self._catalogue, self._places, self._package, self._index
        links = LinkCheck(catalogue, places, index, index.number(each), self._claims)
        if each.mets is None:
            is_eark = self._looking.profile not in {Profile.AUTO, Profile.RECOMMENDATION}
            name = CSIP_METS if is_eark else PLAIN_METS
            catalogue.new_mets(os.fsencode(name), None, done=True)
            near = catalogue.row(_NAMED_METS) or catalogue.row(_FURTHER_METS)
            catalogue.mark(Mark.LOST_METS, os.fsencode(name))
            yield Code.METS_MISSING.at(name, expected=name, nearest=shown(near[0]) if near else "")
        else:
            yield from links.findings(os.fsencode(each.mets))
        yield from inventory.empty_folders(catalogue)
        yield from links.orphans()
        places.agreement.put_unread_back()
        if self._looking.level > Level.LINKS:
            if catalogue.has("SELECT 1 FROM mptr WHERE part IS NOT NULL"):
                places.agreement.put_all_back()  # parts are found by their IDs
            places.agreement.put_named_back("entry")
            places.agreement.put_named_back("listed")

    def _files(self, together: grouping.FindingGroups) -> Iterator[Finding]:
        """Compare the files on disk with METS and manifests in the catalogue."""
        catalogue, places, most = self._catalogue, self._places, self._looking.budgets.findings
        yield from inventory.name_collisions(catalogue)
        yield from listed.documents(catalogue, most)
        if self._looking.level.hashes:
            listed.find(catalogue, places, self._shared.progress)
        yield from listed.files(catalogue, places, most, together)
        yield from listed.segments(catalogue)
        yield from splitlobs.of_mets(catalogue)
        yield from manifests.read_lob_manifests(catalogue, places)
        places.agreement.put_named_back("listed")
        yield from manifests.findings(catalogue)
        if self._looking.sample is not None:
            self._shared.counted(options.choose(catalogue, self._looking.sample))

    def _cells(self) -> Iterator[Finding]:
        """Read the archives, and compare their cells with the files; then report the missing files."""
        catalogue, looking = self._catalogue, self._looking
        if looking.level.opens_archives:
            yield from archive.findings(
                catalogue,
                self._places,
                self._package.path,
                self._shared.progress,
                looking.budgets,
                whole=looking.level is Level.FULL,
                sampled=looking.sample is not None,
            )
            yield from manifests.incomplete_lob_manifests(catalogue)
            yield from listed.lobs_twice(catalogue)
        yield from listed.missing(catalogue, looking.budgets.findings)

    def _statements(self) -> Iterator[Finding]:
        """Compare the statements on each file with each other, and with its bytes if these are read."""
        catalogue, looking, fixity = self._catalogue, self._looking, self._fixity
        sampled = looking.sample is not None
        yield from metadatafiles.findings(catalogue, self._places)
        if sampled or not looking.level.hashes:
            yield from manifests.against_mets(catalogue)
        if not looking.level.hashes:
            yield from fixity.of_documents(manifests=True)
            return
        fixity.ledger.leave_out()
        yield from fixity.of_agreed(self._places.agreement)
        yield from splitlobs.findings(catalogue, fixity, sampled=sampled, jobs=looking.jobs)
        yield from fixity.of_files(sampled=sampled, jobs=looking.jobs)
        fixity.ledger.end()

    def _standards(self) -> Iterator[Finding]:
        """Judge the packages that claim standards, if any."""
        for first in (claimed := self._claims.packages()):
            yield from self._judgement.findings(chain((first,), claimed))

    @cached_property
    def _claims(self) -> Claims:
        return Claims(self._catalogue, self._places, self._looking, self._package)

    @cached_property
    def _judgement(self) -> Judgement:
        from metspack.checking.eark.package import Judgement  # noqa: PLC0415 -- its tables are large

        return Judgement(self._catalogue, self._places, self._claims)

    @cached_property
    def _fixity(self) -> Fixity:
        shared = self._shared
        return Fixity(
            self._catalogue,
            self._places,
            shared.progress,
            shared.counted,
            shared.ledger,
            executor=shared.executor,
        )
