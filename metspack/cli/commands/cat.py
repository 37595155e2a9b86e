"""``metspack cat``: the bytes of a LOB."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metspack.cli import console
from metspack.cli.options import choices, common
from metspack.cli.options.groups import argument, option
from metspack.errors import ConfigError, SourceError
from metspack.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from metspack.limits import Budgets
    from metspack.sizes import ByteRange

_USE = (
    "Write metspack cat OUT LOB, metspack cat OUT --table T --column C --key K, or metspack cat --shard FILE "
    "--root DIR."
)


def cat(  # noqa: PLR0917 -- a command's options
    package: Path | None = argument("OUT", "Folder or METS file of a package.", default=None),
    lob: str | None = argument("LOB", "ID of a LOB, as in METS: s0.t2.c4.r14.", default=None),
    table: str = common.TABLE,
    column: str = common.COLUMN,
    key: list[str] | None = common.KEY,
    ranges: list[str] | None = option(
        "--range RANGE",
        "Only these bytes: 2100-3599 (first and last, counted from 0), 2100- (to the end), -500 "
        "(the last 500). Repeatable; ranges are written one after the other.",
    ),
    no_verify: bool = option(
        "--no-verify",
        "Do not compare digests; with --range, read only the range.",
    ),
    shard: Path | None = option(
        "--shard FILE",
        "Write the bytes of the shard that this file describes: from metspack shards, or "
        "shard_metadata of the DOMS.",
        "Shard files",
    ),
    root: list[Path] | None = option(
        "--root DIR",
        "Folder, disk, zip or tar file in which to look for children that are not in their places "
        "(repeatable); with --shard, the folder that holds its files: no file outside it is opened.",
    ),
    unit: str | None = option(
        "--unit UNIT",
        "Unit of offsets and lengths in a shard file that does not give one: bytes.",
        "Shard files",
        choice=choices.of("bytes"),
    ),
    shard_lob: str | None = option(
        "--lob ID",
        "LOB (or pid) to write, of a shard file with several.",
        "Shard files",
    ),
    budget: list[str] | None = common.BUDGET,
) -> None:
    """Write the bytes of a LOB, joined from its parts, to stdout.

    They are compared with the digests in METS and in the archive. **With --range**, each part that is
    touched is verified as a whole before any of it is written. A whole LOB is verified while it is written:
    only exit code 0 means that it was intact. LOBs that stayed in the .siard are read there.

    `metspack cat out s0.t2.c4.r14 --range 2100-3599 > piece`

    `metspack cat out --table Categories --column Picture --key 7 > picture.png`
    """
    from metspack.sizes import parsed_range  # noqa: PLC0415 -- commands load what they need

    wanted = [parsed_range(each) for each in ranges or ()]
    if shard is not None:
        if package is not None:
            raise ConfigError("OUT and --shard cannot be combined", hint=_USE)
        if not root or len(root) > 1:
            raise ConfigError("--shard requires --root, the folder that holds its files", hint=_USE)
        _pour(_of_shard(shard, root[0], unit, shard_lob, wanted))
        return
    for name, value in (("--unit", unit), ("--lob", shard_lob)):
        if value is not None:
            raise ConfigError(f"{name} requires --shard", hint=_USE)
    if package is None or (lob is not None) == bool(table or column or key):
        raise ConfigError(
            "cat requires a package and the ID of a LOB, or its table, column and key", hint=_USE
        )
    place = table, column, tuple(key or ())
    budgets = common.budgets(budget)
    _pour(_of_package(package, lob, place, wanted, budgets, root or (), verify=not no_verify))


def _of_package(  # noqa: PLR0917 -- the command's options
    path: Path,
    lob: str | None,
    place: tuple[str, str, tuple[str, ...]],
    ranges: list[ByteRange],
    budgets: Budgets,
    roots: Sequence[Path],
    *,
    verify: bool,
) -> Iterator[bytes]:
    from metspack.packages.listing import the_lob  # noqa: PLC0415
    from metspack.packages.package import Package  # noqa: PLC0415
    from metspack.restoring.joining import extract  # noqa: PLC0415

    with Package(path, budgets, roots) as package:
        found = the_lob(package, *place, budgets) if lob is None else lob
        yield from extract(package, found, ranges, verify=verify, warned=console.warning)


def _of_shard(
    path: Path, root: Path, unit: str | None, lob: str | None, ranges: list[ByteRange]
) -> Iterator[bytes]:
    from metspack.restoring.shards.reading import read_bytes, read_shard  # noqa: PLC0415

    shard = read_shard(path, root=root, unit=unit, lob=lob)
    cuts = [shard.cut(each.within(shard.size)) for each in ranges]
    for each in cuts or (shard,):
        yield from read_bytes(each)


def _pour(blocks: Iterable[bytes]) -> None:
    came = 0
    try:
        for block in blocks:
            console.pour(block)
            came += len(block)
    except SourceError as error:
        if not came:
            raise
        so_far = f"the output ends after {counted(came, 'byte')}; what was written is incomplete or wrong"
        raise SourceError(error.message, hint=error.hint, details=(*error.details, so_far)) from None
