"""Check of the volumes that are here: each by itself, and what of the package has been verified in all."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Self

from metspack import processes
from metspack.checking.codes import Code
from metspack.checking.options import Level, Looking
from metspack.checking.run import Checking
from metspack.digests import Seal
from metspack.errors import ConfigError, MetspackError, SourceError
from metspack.model import Budgets, Finding, Severity
from metspack.progress import Progress, Silent
from metspack.reporting.model import record
from metspack.sizes import counted
from metspack.uris import shown
from metspack.values import dataclass
from metspack.volumes.contents import SEALED, PackageContents, SegmentPlaces, read_contents, read_repeated
from metspack.volumes.ledger import VolumeLedger
from metspack.volumes.volumelist import ListDamaged, VolumeList, find_list, read_list

_PARENT = ""  # stands for the parent's own files among the paths of segments
_ABSENT = {Code.CHILD_MISSING.id, Code.FILE_MISSING.id, Code.MANIFEST_FILE_MISSING.id}
_OF_LINKS_AND_FILES = "LF"
_SOME_NAME = "volume_1_of_{0}.jsonl to volume_{0}_of_{0}.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumesSummary:
    """What a check of volumes came to: which are here, which segments were verified, now or before.

    ``before`` of the ``verified`` were so in earlier checks alone, the first at ``oldest``. ``faulty`` are on
    volumes that are here and not verified. ``absent`` are the others, by volume. The check is complete when
    every segment and the parent's own files were verified.
    """

    name: str
    objid: str
    seal: str
    volumes: int
    here: tuple[int, ...]
    segments: int
    verified: int
    before: int
    faulty: tuple[str, ...]
    absent: tuple[tuple[int, tuple[str, ...]], ...]
    is_parent_verified: bool
    oldest: str
    errors: int
    warnings: int
    infos: int

    @property
    def is_complete(self) -> bool:
        """Whether all of the package was verified, now or before."""
        return bool(self.volumes) and self.verified == self.segments and self.is_parent_verified

    def to_json(self) -> dict[str, Any]:
        """Return it as data for JSON."""
        return {
            "name": self.name,
            "objid": self.objid,
            "seal": self.seal,
            "complete": self.is_complete,
            "volumes": self.volumes,
            "here": list(self.here),
            "segments": self.segments,
            "verified": self.verified,
            "verified_before": self.before,
            "oldest": self.oldest or None,
            "parent_verified": self.is_parent_verified,
            "with_errors": list(self.faulty),
            "not_here": [{"volume": number, "segments": list(segments)} for number, segments in self.absent],
            "errors": self.errors,
            "warnings": self.warnings,
            "infos": self.infos,
        }

    def words(self) -> Iterator[str]:
        """Yield sentences: what is not here by volume, and at last what it all came to."""
        for number, segments in self.absent:
            if not segments:
                yield f"volume {number} is not here: it has the parent's own files"
                continue
            ends = dict.fromkeys((segments[0], segments[-1]))
            own = ", and the parent's own files" if number == 1 and not self.is_parent_verified else ""
            named = " to ".join(map(shown, ends))
            yield f"volume {number} is not here: {counted(len(segments), 'segment')}, {named}{own}"
        if not self.volumes:
            yield "no list of volumes can be read: nothing was verified"
            return
        said = [f"{self.verified:,} of {counted(self.segments, 'segment')} verified"]
        if self.before:
            said[0] += f", {self.before:,} of them before, the first at {self.oldest}"
        if self.faulty:
            said.append(f"{len(self.faulty):,} with errors")
        if self.absent:
            said.append("the rest not here")
        elif not self.is_parent_verified:
            said.append("not the parent's own files")
        if self.is_complete:
            said.append("complete")
        yield f"{len(self.here):,} of {self.volumes:,} media here: {', '.join(said)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _GivenVolume:
    """A medium that was given: its folder, the number that its list's name has, and the list."""

    folder: Path
    number: int
    listed: VolumeList
    path: Path

    @property
    def package(self) -> Path:
        return self.folder / self.listed.name

    @property
    def has_package(self) -> bool:
        """Whether the folder of the package is there, and no link to another."""
        return self.package.is_dir() and not self.package.is_symlink()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedVolumes:
    """Result of a check of volumes: its findings, and what it came to."""

    findings: tuple[Finding, ...]
    summary: VolumesSummary

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with what is here; ``summary.is_complete`` says whether that was all."""
        return not self.summary.errors

    def to_json(self) -> dict[str, Any]:
        """Return the result as data for JSON."""
        return {**self.summary.to_json(), "findings": [record(each) for each in self.findings]}


class VolumesCheck(Iterator[Finding]):
    """A check of volumes under way: an iterator of findings; ``summary`` is of what was done so far.

    Every byte of what is on them is read, and compared with METS and manifests. Paths of findings begin with
    the folder of the volume. ``seal`` is that of the package; ``ledger`` remembers what was verified. Raises
    ``SourceError``, ``ConfigError`` and ``TargetError``.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        seal: Seal | None = None,
        ledger: Path | None = None,
        jobs: int | None = 1,
        budgets: Budgets | None = None,
        progress: Progress | None = None,
    ) -> None:
        if not folders:
            raise ConfigError("there is no volume to check", hint="Name one at least.")
        self._folders = tuple(folders)
        self._seal = seal
        self._ledger = None if ledger is None else VolumeLedger(ledger)
        self._jobs = jobs
        self._budgets = budgets or Budgets()
        self._progress = progress or Silent()
        self._listed: VolumeList | None = None
        self._is_sealed = True
        self._severities: Counter[Severity] = Counter()
        self._here: set[int] = set()
        self._verified: set[str] = set()
        self._faulty: set[str] = set()
        self._findings = self._found()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Finding:
        finding = next(self._findings)
        self._severities[finding.severity] += 1
        return finding

    @property
    def summary(self) -> VolumesSummary:
        """What was done so far; complete when the iterator is exhausted."""
        listed = self._listed
        times = {} if self._ledger is None else self._ledger.times
        known = self._verified | (times.keys() - self._faulty)
        volumes = () if listed is None else listed.volumes
        segments = [each.path for held in volumes for each in held]
        before = [each for each in segments if each in known and each not in self._verified]
        absent = []
        for number, held in enumerate(volumes, 1):
            rest = tuple(each.path for each in held if each.path not in known | self._faulty)
            is_lacking = number == 1 and not {_PARENT} & (known | self._faulty)
            if rest or (is_lacking and number not in self._here):
                absent.append((number, rest))
        return VolumesSummary(
            name="" if listed is None else listed.name,
            objid="" if listed is None else listed.objid,
            seal="" if listed is None else listed.seal.value,
            volumes=len(volumes),
            here=tuple(sorted(self._here)),
            segments=len(segments),
            verified=sum(each in known for each in segments),
            before=len(before),
            faulty=tuple(each for each in segments if each in self._faulty),
            absent=tuple(absent),
            is_parent_verified=_PARENT in known,
            oldest=min((times[each] for each in before), default=""),
            errors=self._severities[Severity.ERROR],
            warnings=self._severities[Severity.WARNING],
            infos=self._severities[Severity.INFO],
        )

    def _found(self) -> Iterator[Finding]:
        media = list[_GivenVolume]()
        for folder in self._folders:
            number, path = find_list(folder)
            try:
                media.append(_GivenVolume(folder=folder, number=number, listed=read_list(path), path=path))
            except ListDamaged as error:
                yield Code.VOLUME_LIST_DAMAGED.at(str(path), reason=error.message)
        if not media:
            return
        first = media[0]
        self._listed = first.listed
        yield from self._against_seal(first)
        with closing(self._ledger or _NoLedger()) as ledger:
            ledger.begin(first.listed, self._folders)
            for each in media:
                is_named = each.path.name == first.listed.file_name(each.number)
                if each.listed == first.listed and is_named and each.number <= len(first.listed.volumes):
                    yield from self._of_medium(each)
                else:
                    yield _of_others(each, first)

    def _against_seal(self, first: _GivenVolume) -> Iterator[Finding]:
        found, expected = first.listed.seal, self._seal
        if expected is not None and found.value != expected.value:
            self._is_sealed = False
            yield _of_seal(str(first.path), found, expected)

    def _of_medium(self, medium: _GivenVolume) -> Iterator[Finding]:
        """Yield the findings on one volume, and note what of it was verified."""
        view = _VolumeView(medium)
        faulty = set[str]() if self._is_sealed else set(view.here)
        for finding in self._on(medium, view):
            if finding.severity is Severity.ERROR:
                faulty |= view.touched(finding)
            yield finding
        self._here.add(medium.number)
        good = view.here - faulty
        self._verified = (self._verified | good) - faulty
        self._faulty = (self._faulty | (view.here & faulty)) - good
        if self._ledger is not None:
            self._ledger.note(medium.number, sorted(good), sorted(view.here & faulty))

    def _on(self, medium: _GivenVolume, view: _VolumeView) -> Iterator[Finding]:
        name = medium.listed.name
        for each in sorted(os.scandir(medium.folder), key=lambda each: each.name):
            if each.name not in {name, medium.path.name}:
                size = each.stat(follow_symlinks=False).st_size
                yield Code.UNLISTED.at(str(medium.folder / each.name), found=f"{size:,}")
        yield from self._of_list(medium)
        for path, number in view.misplaced.items():
            at = str(medium.package / path)
            yield Code.SEGMENT_MISPLACED.at(at, expected=path, volume=number, found=medium.number)
        if not medium.has_package:
            yield Code.METS_MISSING.at(str(medium.package), expected=view.top, nearest="")
            return
        _, size = medium.listed.amounts()[medium.number - 1]
        self._progress.stage(f"Checking volume {medium.number} of {len(medium.listed.volumes)}", size)
        most = self._budgets.findings + medium.listed.count + medium.listed.parent.files
        looking = Looking(
            level=Level.FIXITY,
            # What is elsewhere must not crowd out what is told of this volume.
            budgets=replace(self._budgets, findings=most),
            jobs=self._jobs,
        )
        with processes.keeping():
            for finding in Checking(medium.package, looking, self._progress.advance, keeps_links=False):
                own = view.within(finding)
                if not view.is_elsewhere(own):
                    yield _with_folder(own, str(medium.package))

    def _of_list(self, medium: _GivenVolume) -> Iterator[Finding]:
        """Yield that METS and manifests are not the list's, or that it does not have their segments."""
        if not medium.has_package:
            return
        listed, root, missing = medium.listed, medium.package, list[str]()
        here = list[tuple[str, str]]()
        for each in islice(listed.everywhere, SEALED):
            try:
                here.append((each.path, read_repeated(root, each.path).sha256))
            except SourceError:
                missing.append(each.path)
        sealed = Seal.of(here)
        if sealed.value != listed.seal.value:
            yield _of_seal(str(root / listed.everywhere[SEALED - 1].path), sealed, listed.seal, missing)
            return
        try:
            found = read_contents(root, self._budgets, Silent(), weighed=False, known=listed.everywhere)
        except (MetspackError, OSError):
            return  # the check tells what is wrong with them
        reason = ""
        if _held(found) != _listed(listed) or found.everywhere != listed.everywhere:
            reason = "does not have the files and segments that METS and manifests name"
        for each in islice(listed.everywhere, SEALED, None):
            with suppress(SourceError):
                if read_repeated(root, each.path) != each:
                    reason = reason or f"names another {each.path} than the one that lies here"
        if reason:
            yield Code.VOLUME_LIST_DAMAGED.at(str(medium.path), reason=reason)


class _NoLedger:
    """No ledger at all."""

    def begin(self, *_: object) -> None:
        """Begin nothing."""

    def close(self) -> None:
        """Close nothing."""


def _of_seal(path: str, found: Seal, expected: Seal, missing: Sequence[str] = ()) -> Finding:
    others = [each for each in found.differing(expected) if each not in missing]
    words = [f"{each} cannot be read" for each in missing] + [f"{each} is another file" for each in others]
    reason = "; ".join(words) or "the list names this one"
    return Code.SEAL_DIFFERS.at(path, found=found.value, expected=expected.value, reason=reason)


def _held(contents: PackageContents) -> list[tuple[str, int]]:
    return [(each.path, each.files) for each in (contents.parent, *contents.segments)]


def _listed(listed: VolumeList) -> list[tuple[str, int]]:
    segments = (each for held in listed.volumes for each in held)
    return [(each.path, each.files) for each in (listed.parent, *segments)]


def _of_others(medium: _GivenVolume, first: _GivenVolume) -> Finding:
    found, expected = medium.listed, first.listed
    facts = next(
        (
            {"what": what, "found": repr(one), "expected": repr(other)}
            for what, one, other in (
                ("OBJID", found.objid, expected.objid),
                ("seal", found.seal.value, expected.seal.value),
                ("volume size", found.volume_size, expected.volume_size),
                ("number of volumes", len(found.volumes), len(expected.volumes)),
                ("SHA-256", found.digest(), expected.digest()),
            )
            if one != other
        ),
        {"what": "name", "found": medium.path.name, "expected": _SOME_NAME.format(len(expected.volumes))},
    )
    return Code.VOLUME_OF_OTHERS.at(str(medium.path), **facts, source=str(first.path))


def _with_folder(finding: Finding, folder: str) -> Finding:
    others = tuple(replace(each, path=f"{folder}/{each.path}") for each in finding.others)
    return replace(finding, path=f"{folder}/{finding.path}", others=others)


class _VolumeView:
    """What belongs on a volume, what lies there, and what the check of it says of other volumes."""

    def __init__(self, medium: _GivenVolume) -> None:
        listed = medium.listed
        self._number = medium.number
        self._folder = f"{medium.package}/"
        self._volumes = {each.path: number for number, held in enumerate(listed.volumes, 1) for each in held}
        self._places = SegmentPlaces(self._volumes)
        self._everywhere = {each.path for each in listed.everywhere}
        self.top = next((each.path for each in islice(listed.everywhere, SEALED - 1, None)), "")
        self.misplaced = {
            path: number
            for path, number in self._volumes.items()
            if number != medium.number and medium.has_package and os.path.lexists(medium.package / path)
        }
        own = {path for path, number in self._volumes.items() if number == medium.number}
        self.here = own | self.misplaced.keys() | ({_PARENT} if medium.number == 1 else set())

    def within(self, finding: Finding) -> Finding:
        """Return a finding with its paths from the package's folder on, also of one package of several."""
        others = tuple(replace(each, path=each.path.removeprefix(self._folder)) for each in finding.others)
        return replace(finding, path=finding.path.removeprefix(self._folder), others=others)

    def is_elsewhere(self, finding: Finding) -> bool:
        """Return whether a finding only says that something is not here which lies on another volume.

        What is wrong with the parent, apart from its bytes and links, is told where its own files are.
        """
        if finding.code in _ABSENT:
            path = dict(finding.facts).get("expected", finding.path)
            if path in self._everywhere:
                return False
            return (self._places.find(path) or _PARENT) not in self.here
        is_of_parent = self._places.find(finding.path) is None
        return is_of_parent and _PARENT not in self.here and finding.code[0] not in _OF_LINKS_AND_FILES

    def touched(self, finding: Finding) -> set[str]:
        """Return the segments that an error is about; all that are here where that cannot be told."""
        if not finding.path.startswith(self._folder):
            return set() if finding.code == Code.UNLISTED.id else set(self.here)
        finding, facts = self.within(finding), dict(finding.facts)
        paths = {finding.path, *(each.path for each in finding.others)}
        if finding.count > len(finding.others) + 1:
            return set(self.here)
        if folder := facts.get("folder"):
            paths.add(folder)
        if paths <= self._everywhere:
            facts.pop("nearest", "")  # a guess
            named = {self._places.find(value) for value in facts.values()} - {None}
            return {each for each in named if each} or set(self.here)
        found = set[str]()
        for path in paths - self._everywhere:
            segment = self._places.find(path)
            found |= {_PARENT, *self._places.below(path)} if segment is None else {segment}
        return found
