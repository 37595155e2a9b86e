"""Open a source by its path, an archive or a folder of LOBs, and return its facts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum, unique
from pathlib import Path
from typing import Any

from metspack.digests import ReplacedDigest
from metspack.errors import SourceError
from metspack.files import journal
from metspack.files.reading import Closable, Stamp
from metspack.limits import Budgets
from metspack.model import Digest, LobRun, Notice
from metspack.progress import Progress
from metspack.siard import forms
from metspack.sizes import counted
from metspack.sources import lobfolder, rewriting
from metspack.sources.archive import Archive, FoundLobs, Grants
from metspack.sources.lobstream import ByteSources
from metspack.system import os


class LooseLobs(Closable):
    """A source without an archive: a folder of LOBs (``content/schema0/table2/lob4/record0.bin``).

    ``size`` and ``metadata_document`` are empty in place of an archive's.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stem = path.resolve().name
        self.size = 0
        self.metadata_document = b""

    def lob_runs(self, seen: Callable[[int], None] | None = None) -> Iterator[LobRun]:
        """Yield the LOBs by schema, table, row and cell.

        ``seen`` is called with numbers of files while the folder is looked through. Raises ``SourceError``.
        """
        return lobfolder.lob_runs(self.path, seen)

    def found(self, seen: Callable[[int], None] | None = None) -> Iterator[FoundLobs]:
        """Yield the LOBs as ``lob_runs`` does, each of them found."""
        return (FoundLobs([run]) for run in self.lob_runs(seen))

    def byte_sources(self) -> ByteSources:
        """Return the zip files and roots that the LOBs are read from."""
        return ByteSources(archives=(), roots=(self.path,))

    def check_unchanged(self) -> None:
        """Leave the check to the reading, which compares each file with its stamp."""

    def close(self) -> None:
        """Do without closing, as each file was closed after it was read."""


def is_lob_folder(path: Path) -> bool:
    """Return whether a folder looks like one of LOBs without an archive."""
    return any(path.glob("content/schema*/table*")) or any(path.glob("schema*/table*"))


Source = Archive | LooseLobs


def identity(source: Source) -> str:
    """Return words that change with the source: path, size, time, inode, state.

    Of an unpacked archive and a folder of LOBs they cover the folder, and the files and folders that locate
    LOBs; each LOB that is a file is compared with its stamp when it is read.
    """
    path = source.path.resolve()
    while not os.path.lexists(path):  # an archive that is packed in another file
        path = path.parent
    digest = hashlib.sha256(source.metadata_document)
    for each in _rests_on(source, path):
        with suppress(OSError):
            stamp = Stamp.of_status(os.stat(each))
            digest.update(repr((str(each), tuple(stamp))).encode(errors="surrogateescape"))
    found = os.stat(path)
    when = datetime.fromtimestamp(found.st_mtime, UTC).isoformat(timespec="microseconds")
    return (
        f"{path}, {source.size or found.st_size:,} bytes, changed {when}, inode {found.st_ino}, "
        f"state {digest.hexdigest()[:16]}"
    )


def _rests_on(source: Source, path: Path) -> Iterator[Path]:
    """Yield the files and folders, besides LOBs, that a plan depends on."""
    yield path
    if isinstance(source, Archive):
        if source.container is not None:
            yield from (Path(str(each)) for each in source.container.medium.paths)
            yield from sorted(path.parent.glob("mapping.txt"))
        else:
            yield from (path / source.prefix / table.path for table in source.tables)
    elif path.is_dir():
        yield from sorted(path.glob("content")) or sorted(path.glob("schema*"))


def opened(
    path: Path,
    budgets: Budgets | None = None,
    grants: Grants = Grants(),  # noqa: B008 -- frozen
) -> Source:
    """Return a source: an archive in any form, or a folder of LOBs; raises ``SourceError``."""
    try:
        if path.is_dir() and not forms.is_unpacked(path) and is_lob_folder(path):
            return LooseLobs(path)
        return Archive(path, budgets, grants)
    except OSError as error:
        raise SourceError(
            f"{error.filename or path} cannot be read: {error.strerror or error}",
            hint="Make sure that it is there, and that you may read it.",
        ) from error


@unique
class SealVerdict(Enum):
    """The result of comparing an archive's messageDigest with its content.

    ``INCOMPARABLE``: the digest is of the zip file that the archive was before it was unpacked or wrapped.
    """

    RIGHT = "right"
    WRONG = "wrong"
    UNREADABLE = "unreadable"
    NOT_COMPARED = "not compared"
    INCOMPARABLE = "not comparable"
    ABSENT = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """The source of a package: its name, its size in bytes, its SHA-256, and its messageDigests.

    ``size`` and ``verdict`` are None for LOBs without an archive. ``sha256`` is that of the file, or of its
    parts joined; None for an unpacked archive, and for one that was not read whole. ``digests`` are pairs of
    the stated digest and the computed one, or None before the comparison; ``unread`` are invalid ones.
    """

    name: str
    size: int | None = None
    sha256: str | None = None
    verdict: SealVerdict | None = None
    digests: tuple[tuple[Digest, Digest | None], ...] = ()
    unread: tuple[str, ...] = ()

    def document(self) -> dict[str, object]:
        """Return the facts as data for JSON."""
        digests = [
            {"algorithm": stated.algorithm, "stated": stated.value, "found": found and found.value}
            for stated, found in self.digests
        ]
        seal = self.verdict and {
            "verdict": self.verdict.value,
            "digests": digests,
            "unreadable": list(self.unread),
        }
        return {"name": self.name, "size": self.size, "sha256": self.sha256, "message_digest": seal}

    @classmethod
    def restored(cls, document: Mapping[str, Any]) -> SourceFacts:
        """Return the facts from the result of ``document``."""
        values = {name: document[name] for name in ("name", "size", "sha256")}
        if seal := document["message_digest"]:
            values["verdict"] = SealVerdict(seal["verdict"])
            values["digests"] = tuple(
                (_digest(each, "stated"), None if each["found"] is None else _digest(each, "found"))
                for each in seal["digests"]
            )
            values["unread"] = tuple(map(str, seal["unreadable"]))
        return journal.read_as(cls, values)

    def seal_words(self) -> str:
        """Return the verdict on the messageDigest in words."""
        verdict = self.verdict
        if verdict is None or verdict is SealVerdict.ABSENT:
            return "no messageDigest"
        algorithms = ", ".join(stated.algorithm for stated, _ in self.digests)
        return f"messageDigest{f' ({algorithms})' if algorithms else ''} {verdict.value}"

    def words(self) -> str:
        """Return a sentence for people, or "" for LOBs without an archive."""
        if self.size is None:
            return ""
        whole = f", SHA-256 {self.sha256}" if self.sha256 else ""
        return f"Made from {self.name}: {counted(self.size, 'byte')}{whole}; {self.seal_words()}."

    def warnings(self, *, rewritten: bool | None = None) -> Iterator[Notice]:
        """Yield warnings about messageDigests that are wrong or could not be compared.

        ``rewritten`` True: the package gets an archive with new digests; False: it gets the unchanged
        archive; None: there is no package.
        """
        fate = {None: "", True: _RIGHT, False: _LEFT}[rewritten]
        if self.verdict is SealVerdict.INCOMPARABLE:
            yield Notice(
                "digest-incomparable",
                "the archive's messageDigest could not be compared with its content: it is of the zip file "
                f"that the archive was before it was unpacked or wrapped{_NEW if rewritten else ''}",
            )
        for stated, found in self.digests:
            if found is not None and found != stated:
                yield Notice(
                    "digest-differs",
                    f"the archive's {stated.algorithm} messageDigest is {stated.value}, but its content has "
                    f"{found.value}: the archive was changed after it was sealed{fate}",
                )

    def check(self, path: Path) -> None:
        """Raise ``SourceError`` unless the messageDigest is right (``--require-message-digest``)."""
        if self.verdict is SealVerdict.RIGHT:
            return
        warning = next(self.warnings(), "") or _REFUSED[self.verdict]
        raise SourceError(
            f"{path}: a messageDigest that is right is required, and {warning}",
            hint="Get another copy of the archive, or leave --require-message-digest out: then this is a "
            "warning, and the package keeps the old value.",
        )

    def replaced(self, written: Sequence[Digest]) -> Iterator[ReplacedDigest]:
        """Yield the messageDigests that the comparison did not confirm and the new archive lacks.

        ``written`` are the digests of the package's archive.
        """
        for stated, found in self.digests:
            one = ReplacedDigest(stated=stated, found=found, written=None).renewed(written)
            if stated not in {found, one.written}:
                yield one


_READ_FOR_DIGEST = 100_000_000  # the most bytes read only for a SHA-256, in a quarter of a second
_NEW = " (the package will carry a new one and keep the old one in METS)"
_RIGHT = " (the package will carry the recomputed digest and keep the old one in METS)"
_LEFT = ", and is left as it is (a full check says so)"
_REFUSED = {
    SealVerdict.ABSENT: "the archive has none",
    SealVerdict.UNREADABLE: "that of the archive could not be understood",
    SealVerdict.NOT_COMPARED: "that of the archive was not compared",
    None: "there is no SIARD archive",
}


def source_facts(source: Source, progress: Progress, *, compares: bool = True) -> SourceFacts:
    """Return the facts of a source; ``compares`` also compares its messageDigests.

    The comparison reads a zip file from start to end, which gives its SHA-256 as well. A zip file without a
    messageDigest is read for its SHA-256 only if it is small.
    """
    if not isinstance(source, Archive):
        return SourceFacts(name=source.path.resolve().name)
    archive = source
    metadata, container = archive.metadata, archive.container
    facts = SourceFacts(
        name=archive.name,
        size=archive.size,
        digests=tuple((each, None) for each in metadata.digests),
        unread=metadata.unread_digests,
        verdict=_verdict_unseen(archive),
    )
    if not compares or container is None:
        return facts
    can_compare = bool(metadata.digests) and rewriting.comparable(archive)
    if not can_compare and container.size > _READ_FOR_DIGEST:
        return facts
    if can_compare:
        progress.stage("Comparing the archive's messageDigest", container.size)
    found, whole = rewriting.compared_digests(archive, progress.advance if can_compare else lambda _: None)
    if not found:
        return replace(facts, sha256=whole)
    is_right = all(one == other for one, other in found)
    verdict = SealVerdict.RIGHT if is_right else SealVerdict.WRONG
    return replace(facts, sha256=whole, digests=found, verdict=verdict)


def _verdict_unseen(archive: Archive) -> SealVerdict:
    """Return the verdict on the messageDigest without a comparison."""
    if archive.metadata.digests:
        return SealVerdict.NOT_COMPARED if rewriting.comparable(archive) else SealVerdict.INCOMPARABLE
    return SealVerdict.UNREADABLE if archive.metadata.unread_digests else SealVerdict.ABSENT


def _digest(document: Mapping[str, Any], which: str) -> Digest:
    return journal.read_as(Digest, {"algorithm": document["algorithm"], "value": document[which]})
