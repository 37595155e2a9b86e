"""What a Python program calls to have LOBs back: the commands as functions, without anything that prints."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from io import BufferedReader
from pathlib import Path

from metspack.copying import accepted
from metspack.model import Budgets
from metspack.progress import Progress
from metspack.restoring import joining
from metspack.restoring.files import restored_files
from metspack.restoring.held import Disagreement
from metspack.restoring.package import Package
from metspack.restoring.ranges import parsed
from metspack.restoring.roundtrip import proven
from metspack.restoring.shards import Shard
from metspack.restoring.shards import shards as related_shards
from metspack.restoring.siard import Into, restored_siard
from metspack.restoring.staged import Restored, RestoreOptions


def restore(
    path: Path,
    target: Path,
    *,
    only: Sequence[str] = (),
    archive: str | None = None,
    accept: Collection[str] = (),
    budgets: Budgets | None = None,
    progress: Progress | None = None,
) -> Restored:
    """Write the LOBs of the package at ``path`` as whole files into a new folder, each proven on the way.

    ``only`` are ids of LOBs, columns or tables (``s0.t2.c4``), all when empty; ``archive`` names the one that
    is meant when there are several. Raises ``SourceError``, ``TargetError`` and ``ConfigError``; then nothing
    is left at ``target``.
    """
    options = RestoreOptions(
        only=tuple(only), archive=archive, accepted=accepted(accept), budgets=budgets or Budgets()
    )
    return restored_files(path, target, options, progress)


def restore_siard(
    path: Path,
    target: Path,
    into: Into = Into.INSIDE,
    *,
    archive: str | None = None,
    budgets: Budgets | None = None,
    progress: Progress | None = None,
) -> Restored:
    """Write the archive of the package at ``path`` with its LOBs, each proven on the way.

    ``target`` is the .siard file, or a new folder for it, with ``Into.FOLDER`` for it and its LOBs;
    ``archive`` names the one that is meant when there are several. Raises ``SourceError`` and
    ``TargetError``; then nothing is left at ``target``.
    """
    options = RestoreOptions(archive=archive, budgets=budgets or Budgets())
    return restored_siard(path, target, into, options, progress)


def cat(
    path: Path, lob: str, ranges: Sequence[str] = (), *, verify: bool = True, budgets: Budgets | None = None
) -> Iterator[bytes]:
    """Yield the bytes of a LOB of the package at ``path`` in blocks, or those of ``ranges`` of it.

    ``lob`` is its id, ``s0.t2.c4.r14``; ranges are written ``2100-3599``, ``2100-`` or ``-500``. With
    ``verify`` nothing unproven is yielded of ranges; of a whole LOB only an iterator that ended has given
    the right bytes. Raises ``SourceError`` and ``ConfigError``; warns as ``open_lob`` does.
    """
    asked = [parsed(each) for each in ranges]
    with Package(path, budgets) as package:
        yield from joining.extracted(package, lob, asked, verify=verify)


def shards(
    path: Path, lob: str | None = None, *, base: str = "", budgets: Budgets | None = None
) -> Iterator[Shard]:
    """Yield for each LOB of the package at ``path``, or for one, the stretches of files that are its bytes.

    ``base`` is put before the URLs, which are relative to the package. Raises ``SourceError`` for a LOB whose
    parts, files or relations are not as METS says, before its shard.
    """
    with Package(path, budgets) as package:
        yield from related_shards(package, lob, base=base)


def open_lob(path: Path, lob: str, *, verify: bool = True, budgets: Budgets | None = None) -> BufferedReader:
    """Return a LOB of the package at ``path`` as a binary file: read-only, seekable, over all its parts.

    ``lob`` is its id, ``s0.t2.c4.r14``. With ``verify`` each part that is touched is proven by its digest
    before a byte of it is handed out, a LOB that stayed in the archive whole. Opening and reading raise
    ``SourceError``. What is given back though the parent's map does not name it, or without a digest that
    proves it, is told as a Python warning.
    """
    with Package(path, budgets) as package:
        return joining.open_lob(package, lob, verify=verify)


def roundtrip(
    path: Path, *, budgets: Budgets | None = None, progress: Progress | None = None
) -> Iterator[Disagreement]:
    """Yield what keeps the LOBs of the package at ``path`` from being given back as they were.

    Every LOB is joined and hashed; nothing is written. Raises ``SourceError`` when the parent METS cannot
    be read.
    """
    with Package(path, budgets) as package:
        yield from proven(package, progress, budgets)
