"""Repair of a package from copies: missing and damaged files are replaced by bytes that are proven.

A file is replaced only by bytes that have all digests which METS and manifests state of it
(``restoring.evidence``). All of these are made beside the package and take their places in one transaction.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from metspack import checking, processes
from metspack.checking.options import Level
from metspack.containers.ipreader import Content
from metspack.digests import Hashers, Seal
from metspack.errors import (
    ConfigError,
    MetspackError,
    SourceNotFoundError,
    TargetError,
    TargetUnfinishedError,
)
from metspack.files import journal, tempdb, writing
from metspack.files.staging import NOT_FOUND, check_space
from metspack.files.transaction import Believed, Transaction, recover
from metspack.mets import METS_NAMES, is_mets_name
from metspack.model import Budgets, Severity
from metspack.progress import Progress, Silent
from metspack.restoring.copies import ArchiveCopy, Copies, TreeCopy, place_of
from metspack.restoring.evidence import NAMES, FileEvidence
from metspack.values import dataclass

MISSING, DAMAGED = "missing", "damaged"

_NOWHERE = "no copy has it"
_OTHER_BYTES = "the copies have other bytes there than METS and manifests state"
_UNSTATED = "METS and manifests do not agree on its digest, or state none"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairedFile:
    """A file that was, or would be, replaced: ``was`` missing or damaged, and the copy it is from."""

    path: str
    was: str
    size: int
    copy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemainingFile:
    """A file that is missing or damaged still, and why no copy could help."""

    path: str
    was: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """Result of a repair: how many files were read, what was replaced, what remains.

    ``unread`` are copies that cannot be read at all, each with the reason. ``errors`` are those of a check of
    METS, links and manifests afterwards, None of a dry run.
    """

    package: Path
    is_dry_run: bool
    files: int
    bytes: int
    repaired: tuple[RepairedFile, ...]
    remaining: tuple[RemainingFile, ...]
    unread: tuple[tuple[str, str], ...] = ()
    errors: int | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is missing or damaged; after a dry run that is so where nothing was before."""
        return not (self.remaining or self.errors or (self.is_dry_run and self.repaired))

    def to_json(self) -> dict[str, Any]:
        """Return the result as data for JSON."""
        return {
            "package": str(self.package),
            "dry_run": self.is_dry_run,
            "ok": self.ok,
            "files": self.files,
            "bytes": self.bytes,
            "repaired": [
                {"path": each.path, "was": each.was, "size": each.size, "from": each.copy}
                for each in self.repaired
            ],
            "remaining": [
                {"path": each.path, "was": each.was, "reason": each.reason} for each in self.remaining
            ],
            "unread": [{"path": path, "reason": reason} for path, reason in self.unread],
            "errors": self.errors,
        }


def repair_package(
    package: Path,
    copies: Sequence[Path],
    *,
    dry_run: bool = False,
    seal: Seal | None = None,
    budgets: Budgets | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> Repaired:
    """Replace missing and damaged files of a package by those of copies, as far as these are proven.

    ``package`` is a folder, or a METS in it. ``seal`` says which manifests and METS are right. What a repair
    that was interrupted has put in its place stays, the rest is taken from the copies again. Raises
    ``SourceError``, ``ConfigError`` and ``TargetError``; then the package is as it was.
    """
    root = _root(package)
    if not copies:
        raise ConfigError("there is no copy to repair from", hint="Name one at least: --from COPY.")
    budgets, progress = budgets or Budgets(), progress or Silent()
    if not dry_run:
        # Each file that is in its place is right, and what is not is taken from the copies again: what lies
        # beside the package, where others may have put it, is not needed.
        recover(root, journal.REPAIR, judge=lambda _: Believed(finish=False, take_back=False))
    elif (stopped := journal.interrupted(root)) is not None:
        raise TargetUnfinishedError(
            f"{package} is being changed, or was when {stopped[0].named} was interrupted",
            hint="Run that command again first, with the same options and without --dry-run.",
        )
    known = [os.fsencode(each) for each in (*NAMES, *METS_NAMES)]
    with (
        tempdb.unexplained(root),
        processes.keeping(),
        Copies(copies, root, budgets, known) as given,
        FileEvidence(root, given.all, seal=seal, budgets=budgets, jobs=jobs, progress=progress) as evidence,
    ):
        evidence.gather()
        found = _Replacing(root, given, evidence, progress).run(dry_run=dry_run)
    found = replace(found, package=package, unread=tuple(given.unread))
    if dry_run:
        return found
    check = checking.check(root, Level.STRUCTURE, budgets=budgets, jobs=jobs)
    return replace(found, errors=sum(each.severity is Severity.ERROR for each in check))


def _root(package: Path) -> Path:
    """Return the folder of a package that is to be repaired."""
    root = (package.parent if package.is_file() and is_mets_name(package.name) else package).resolve()
    if not root.exists():
        raise SourceNotFoundError(f"{package} was not found", hint=NOT_FOUND)
    if not root.is_dir():
        raise ConfigError(
            f"{package} is not a folder, and files can be replaced in folders only",
            hint="Unpack it, repair the folder and pack it again; or take a copy of the file that is right.",
        )
    return root


class _Unfit(Exception):  # noqa: N818 -- not an error: another copy is tried
    """The bytes of a copy are not those that are stated."""


class _Replacing:
    """The files of one package that are replaced, and those that cannot be."""

    def __init__(self, root: Path, copies: Copies, evidence: FileEvidence, progress: Progress) -> None:
        self._root = root
        self._copies = copies.all
        self._evidence = evidence
        self._progress = progress
        self._reasons: dict[bytes, str] = {}
        self._mended: dict[bytes, None] = {}
        self._staging: Transaction | None = None

    def run(self, *, dry_run: bool) -> Repaired:
        """Find what is wrong, and replace it unless it is a dry run."""
        wanted = {path: self._state(path) for path in self._evidence.wrong()}
        repaired: list[RepairedFile] = []
        with ExitStack() as stack:
            size = sum(self._evidence.size(path) or 0 for path in wanted)
            if wanted and not dry_run:
                self._staging = stack.enter_context(Transaction(self._root, journal.REPAIR))
                check_space(self._staging, files=4 * len(wanted), bytes_=size)
            self._progress.stage("Repairing", size)
            for path, copy, taken in self._taken(wanted):
                was = wanted.pop(path)
                repaired.append(RepairedFile(path=_text(path), was=was, size=taken, copy=copy))
                self._mended[path] = None
            if self._staging is not None and repaired:
                self._publish(self._staging)
        return Repaired(
            package=self._root,
            is_dry_run=dry_run,
            files=self._evidence.files,
            bytes=self._evidence.octets,
            repaired=tuple(sorted(repaired, key=lambda each: each.path)),
            remaining=tuple(self._remaining(wanted)),
        )

    def _state(self, path: bytes) -> str:
        return DAMAGED if os.path.lexists(self._root / os.fsdecode(path)) else MISSING

    def _remaining(self, wanted: Mapping[bytes, str]) -> Iterator[RemainingFile]:
        reasons = {**dict.fromkeys(wanted, _NOWHERE), **self._evidence.doubts}
        reasons |= {path: why for path, why in self._reasons.items() if path in wanted}
        for path, why in sorted(reasons.items()):
            if path not in self._mended:
                was = wanted.get(path) or self._state(path)
                yield RemainingFile(path=_text(path), was=was, reason=why)

    def _taken(self, wanted: Mapping[bytes, str]) -> Iterator[tuple[bytes, str, int]]:
        """Take files from copies, one by one; yield path, the copy and the number of bytes."""
        left: dict[str, list[bytes]] = {}
        for path in sorted(wanted):
            if why := self._hindrance(path):
                self._reasons[path] = why
                continue
            lob, _ = self._evidence.lob(path)
            if (found := self._taken_from_trees(path, lob)) is not None:
                yield path, *found
            elif (place := place_of(lob)) is not None:
                left.setdefault(place, []).append(path)
        for copy in self._copies:
            if isinstance(copy, ArchiveCopy) and left:
                yield from self._taken_from_archive(copy, left)

    def _taken_from_trees(self, path: bytes, lob: str) -> tuple[str, int] | None:
        """Take one file from the first copy that has its bytes; return that copy and their number."""
        _, start = self._evidence.lob(path)
        for copy in self._copies:
            with closing(_offered(copy, path, lob, start)) as offered:
                for content, at in offered:
                    if (size := self._take(path, content, at)) is not None:
                        return copy.shown, size
            if isinstance(copy, TreeCopy) and (why := copy.faults.get(path)):
                self._reasons[path] = f"{copy.shown} has it, and it cannot be read: {why}"
        return None

    def _taken_from_archive(
        self, copy: ArchiveCopy, left: dict[str, list[bytes]]
    ) -> Iterator[tuple[bytes, str, int]]:
        """Take LOBs, or parts of them, from an archive, as ``_taken`` does."""
        for place, content in copy.lobs(left):
            for path in list(left.get(place, ())):
                _, start = self._evidence.lob(path)
                if (size := self._take(path, content, start)) is not None:
                    left[place].remove(path)
                    yield path, copy.shown, size

    def _hindrance(self, path: bytes) -> str:
        """Return why a file cannot be replaced whatever copies have, "" if it can."""
        if not self._evidence.stated(path):
            return self._evidence.doubts.get(path, _UNSTATED)
        names = os.fsdecode(path).split("/")
        for length in range(1, len(names) + 1):
            try:
                mode = os.lstat(self._root.joinpath(*names[:length])).st_mode
            except OSError:
                return ""
            is_last = length == len(names)
            if is_last and stat.S_ISDIR(mode):
                return "a folder is in its place: move it away"
            if not is_last and not stat.S_ISDIR(mode):
                return f"{'/'.join(names[:length])} is in the way, where a folder should be: move it away"
        return ""

    def _take(self, path: bytes, content: Content, start: int) -> int | None:
        """Copy a file beside the package if its bytes are right; return their number, None if they are not.

        They begin at ``start``, and are as many as are stated, where they are a part of a larger file. Raises
        ``TargetError``.
        """
        stated, size = self._evidence.stated(path), self._evidence.size(path)
        is_part = size is not None and content.size != size
        stop = start + (size or 0) if is_part else content.size
        if stop > content.size:
            self._reasons[path] = _OTHER_BYTES
            return None
        hashers = Hashers(stated)
        try:
            with ExitStack() as stack:
                file = None
                if self._staging is not None:
                    target = self._staging.package / os.fsdecode(path)
                    writing.make_directories(target.parent)
                    file = stack.enter_context(writing.NewFile(target))
                for block in _stretch(content, start if is_part else 0, stop):
                    hashers.update(block)
                    self._progress.advance(len(block))
                    if file is not None:
                        file.write(block)
                _check_bytes(hashers, stated, size)
        except _Unfit as unfit:
            self._reasons[path] = str(unfit) or _OTHER_BYTES
            return None
        return hashers.size

    def _publish(self, staging: Transaction) -> None:
        """Put the files in their places, manifests last.

        Raises ``TargetError``, after which all is as it was.
        """
        paths = sorted(map(os.fsdecode, self._mended), key=lambda each: (each in NAMES, each))
        replaces = [each for each in paths if os.path.lexists(self._root / each)]
        staging.publish(moves=staging.new(replaces), replaces=replaces, check=self._check_mended)

    def _check_mended(self) -> None:
        """Raise ``TargetError`` unless all that was replaced is right where it lies now."""
        for path in self._mended:
            self._evidence.forget(path)
            if not self._evidence.is_right(0, path):
                raise TargetError(
                    f"{self._root / os.fsdecode(path)} was replaced, and is read back as something else",
                    hint="The disk may be failing: copy the package to another one, and repair it there.",
                )


def _offered(
    copy: TreeCopy | ArchiveCopy, path: bytes, lob: str, start: int
) -> Generator[tuple[Content, int], None, None]:
    """Yield what a copy has of a file: at its path, then the whole LOB, in which it begins at ``start``."""
    with closing(copy.content(path)) as own:
        for content in own:
            yield content, 0
    if lob:
        with closing(copy.wholes(path, lob)) as wholes:
            for content in wholes:
                yield content, start


def _check_bytes(hashers: Hashers, stated: Mapping[str, str], size: int | None) -> None:
    """Raise ``_Unfit`` for bytes of other digests or another size than are stated."""
    is_right = all(hashers.digest(name).value == value for name, value in stated.items())
    if not is_right or (size is not None and hashers.size != size):
        raise _Unfit


def _stretch(content: Content, start: int, stop: int) -> Iterator[bytes]:
    """Yield a stretch of a file's bytes; raises ``_Unfit`` where they cannot be read."""
    at = 0
    try:
        for block in content.chunks():
            yield block[max(0, start - at) : max(0, stop - at)]
            at += len(block)
            if at >= stop:
                return
    except OSError as error:
        raise _Unfit(f"a copy has it, and it cannot be read: {error.strerror or error}") from None
    except MetspackError:
        raise _Unfit from None


def _text(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
