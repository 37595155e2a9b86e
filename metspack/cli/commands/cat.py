"""``metspack cat``: the bytes of a LOB."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from metspack.cli import console
from metspack.cli.options import choices, common
from metspack.cli.options.groups import argument, option
from metspack.errors import ConfigError, SourceError
from metspack.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from metspack.model import Budgets
    from metspack.restoring.ranges import ByteRange

_USE = "Write metspack cat OUT LOB, or metspack cat --shard FILE --root DIR."


def cat(  # noqa: PLR0917 -- a command's options
    package: Annotated[
        Path | None,
        argument("OUT", "A package's folder, or its METS file."),
    ] = None,
    lob: Annotated[
        str | None,
        argument("LOB", "A LOB's id, as in METS: s0.t2.c4.r14."),
    ] = None,
    ranges: Annotated[
        list[str] | None,
        option(
            "--range RANGE",
            "Only these bytes: 2100-3599 (first and last, counted from 0), 2100- (to the end), -500 "
            "(the last 500). Repeatable: one after the other.",
        ),
    ] = None,
    no_verify: Annotated[
        bool,
        option(
            "--no-verify",
            "Compare nothing with digests; of a range, read that range alone.",
        ),
    ] = False,
    shard: Annotated[
        Path | None,
        option(
            "--shard FILE",
            "Give the bytes of the shard that a file describes, as metspack shards writes it or as "
            "shard_metadata of the DOMS.",
            "Shard files",
        ),
    ] = None,
    root: Annotated[
        Path | None,
        option(
            "--root DIR",
            "The folder that a shard's files lie below; none outside it is opened, nothing is fetched.",
            "Shard files",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        option(
            "--unit UNIT",
            "What offsets and lengths count in a shard file that does not say it: bytes.",
            "Shard files",
            choice=choices.of("bytes"),
        ),
    ] = None,
    shard_lob: Annotated[
        str | None,
        option(
            "--lob ID",
            "Which LOB (or pid), of a shard file with several.",
            "Shard files",
        ),
    ] = None,
    budget: common.Budget = None,
) -> None:
    """Write a LOB to stdout, joined from its parts on the way: nothing else, byte for byte.

    Bytes are compared with the digests in METS and in the archive. **With --range**, each part that is
    touched is proven whole before a byte of it is given. A whole LOB is proven while it is given: only
    when the command ends with 0 was it the right one. LOBs that stayed in the .siard are given as well.

    `metspack cat out s0.t2.c4.r14 --range 2100-3599 > piece`
    """
    from metspack.restoring.ranges import parsed  # noqa: PLC0415 -- commands load what they need

    asked = [parsed(each) for each in ranges or ()]
    if shard is not None:
        if package is not None:
            raise ConfigError("OUT and --shard are two places to read from", hint=_USE)
        if root is None:
            raise ConfigError("--shard needs --root, the folder that its files lie below", hint=_USE)
        _pour(_of_shard(shard, root, unit, shard_lob, asked))
        return
    for name, value in (("--root", root), ("--unit", unit), ("--lob", shard_lob)):
        if value is not None:
            raise ConfigError(f"{name} is for shard files", hint=_USE)
    if package is None or lob is None:
        raise ConfigError("nothing says which LOB of which package is meant", hint=_USE)
    _pour(_of_package(package, lob, asked, common.budgets(budget), verify=not no_verify))


def _of_package(
    path: Path, lob: str, ranges: list[ByteRange], budgets: Budgets, *, verify: bool
) -> Iterator[bytes]:
    from metspack.packages.package import Package  # noqa: PLC0415
    from metspack.restoring.joining import extracted  # noqa: PLC0415

    with Package(path, budgets) as package:
        yield from extracted(package, lob, ranges, verify=verify, warned=console.warning)


def _of_shard(
    path: Path, root: Path, unit: str | None, lob: str | None, ranges: list[ByteRange]
) -> Iterator[bytes]:
    from metspack.restoring.shards.reading import concatenated, read_shard  # noqa: PLC0415

    shard = read_shard(path, root=root, unit=unit, lob=lob)
    cuts = [shard.cut(each.within(shard.size)) for each in ranges]
    for each in cuts or (shard,):
        yield from concatenated(each)


def _pour(blocks: Iterable[bytes]) -> None:
    came = 0
    try:
        for block in blocks:
            console.pour(block)
            came += len(block)
    except SourceError as error:
        if not came:
            raise
        so_far = f"the output ends after {counted(came, 'byte')}; what was written is not what was asked for"
        raise SourceError(error.message, hint=error.hint, details=(*error.details, so_far)) from None
