"""``metspack convert``: a package divided anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from metspack.cli import console
from metspack.cli.commands.build import SEAL_FILE, check_seal_file, print_result, write_seal
from metspack.cli.options import common
from metspack.cli.options import package as options
from metspack.cli.options.common import LocationGroup
from metspack.cli.options.csip import DialectGroup
from metspack.cli.options.groups import argument, option
from metspack.cli.options.package import DivisionGroup


def convert(
    *,
    package: Path = argument(
        "OUT",
        "A package; or a folder with a .siard and its LOB folders, without METS.",
    ),
    output: Path = option("-o --output NEW", "Folder of the new package; must not exist yet.", default=...),
    division: DivisionGroup,
    building: options.BuildGroup,
    root: list[Path] | None = common.ROOT,
    jobs: int | None = options.JOBS,
    if_exists: str = common.IF_EXISTS,
    stopped: common.StagingGroup,
    seal_file: Path | None = SEAL_FILE,
    locations: LocationGroup,
    description: options.DescriptionGroup,
    dialect: DialectGroup,
    json_output: bool = common.JSON,
    quiet: bool = common.QUIET,
) -> None:
    """Re-segment a package with other limits or another layout, without restoring its LOBs.

    NEW is what metspack build would make of the original archive, with the name and the OBJID of OUT, and
    between E-ARK packages its profile, types and agents; with the options and the time
    (SOURCE_DATE_EPOCH) of OUT it has the same bytes. Every LOB is compared with its digests in the METS of
    OUT, and with its cell, while it is copied. LOBs inside the archive move out, except those that
    --min-size leaves there. OUT is only read. NEW appears complete or not at all.

    `metspack convert out -o new --layout siard22 --max-bytes 1TB`
    """
    from metspack.building import convert as building_convert  # noqa: PLC0415 -- commands load what they need

    dialect = dialect.read_by(building.reader, building.pack)
    settings = options.build_options(division, building, locations, description, dialect, jobs=jobs)
    common.warn_of_limits(settings.limits)
    if common.is_to_be_checked(output, if_exists):
        from metspack.cli.commands.check import check_existing  # noqa: PLC0415 -- another command's

        objid = building_convert.objid_of(package, settings)
        check_existing(output, objid, settings.budgets, json_output=json_output, quiet=quiet)
        return
    check_seal_file(seal_file, output, package)
    with console.progress("convert", quiet=quiet) as progress:
        built = building_convert.convert_package(
            package, output, replace(settings, terms=stopped.terms()), progress, roots=root or ()
        )
    write_seal(seal_file, built)
    print_result(built, output, json_output=json_output, quiet=quiet)
