"""``metspack build``: a package from an archive, or METS files for existing segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from metspack.cli import console
from metspack.cli.options import common
from metspack.cli.options import package as options
from metspack.cli.options.common import LocationGroup
from metspack.cli.options.csip import DialectGroup
from metspack.cli.options.groups import RareHeading, option
from metspack.cli.options.package import LIMITS, DivisionGroup
from metspack.errors import ConfigError
from metspack.sizes import counted
from metspack.system import quoted

if TYPE_CHECKING:
    from metspack.building.build import Built
    from metspack.building.inplace import Described
    from metspack.digests import Sealed

_DIVIDED = RareHeading("Folder of existing segments")

SEAL_FILE = option(
    "--seal FILE",
    "Also write the seal of the package to a new file outside it: the value that is printed, and the "
    "lines of sha256sum that it is computed from (for metspack check --seal).",
    to="seal_file",
)


def build(
    source: Path = common.SOURCE,
    *,
    output: Path | None = option(
        "-o --output OUT",
        "Folder for the package; must not exist yet. Required unless --in-place is given.",
    ),
    division: DivisionGroup,
    plan: Path | None = option(
        "--plan FILE",
        "Build exactly this plan (from metspack plan -o); refused if the source has changed since.",
        LIMITS,
    ),
    locations: LocationGroup,
    building: options.BuildGroup,
    jobs: int | None = options.JOBS,
    cluster: str | None = common.CLUSTER,
    if_exists: str = common.IF_EXISTS,
    stopped: common.StagingGroup,
    seal_file: Path | None = SEAL_FILE,
    description: options.DescriptionGroup,
    dialect: DialectGroup,
    keep_segments: bool = option(
        "--keep-segments",
        "SOURCE is a folder with a .siard whose LOBs are already in segment folders, made by "
        "DBPTK or metspack: leave them as they are. Requires --in-place.",
        _DIVIDED,
    ),
    in_place: bool = option(
        "--in-place",
        "Write METS files and manifests into SOURCE itself, and nothing else. Requires --keep-segments.",
        _DIVIDED,
    ),
    json_output: bool = common.JSON,
    quiet: bool = common.QUIET,
) -> None:
    """Make a parent package and numbered child packages from an archive.

    OUT holds the archive without its LOBs, a folder with METS for every segment, the parent's METS, and
    manifests for md5sum -c and sha256sum -c. Every LOB is compared with the digest and length in its cell
    while it is copied. The source is only read. OUT appears complete or not at all; until then everything
    is in OUT.partial, where the same command resumes (metspack status OUT.partial).

    `metspack build Northwind.siard -o out --max-files 4 --max-bytes 45000`
    """
    from metspack.building import inplace  # noqa: PLC0415 -- commands load what they need
    from metspack.building.build import build as built_by  # noqa: PLC0415
    from metspack.building.draft import objid_of  # noqa: PLC0415

    if _is_in_place(keep_segments=keep_segments, in_place=in_place):
        given = [each for group in (division, building, dialect, stopped) for each in group.given()]
        others = {"-o": output, "--plan": plan, "--cluster": cluster}
        given += [name for name, value in others.items() if value]
        given += ["--if-exists"] if if_exists != "fail" else []
        _refuse("--in-place", given, "It leaves segments and archive as they are")
        settings = options.package_options(description, locations)
        check_seal_file(seal_file, source)
        with console.progress("in place", quiet=quiet) as progress:
            described = inplace.describe_in_place(source, settings, progress)
        write_seal(seal_file, described)
        print_result(described, source, json_output=json_output, quiet=quiet)
        return
    if output is None:
        raise ConfigError("build: missing option -o/--output", hint="Name a folder that does not exist yet.")
    if plan is not None:
        _refuse("--plan", division.given(), "It holds its own limits and layout; to change them, plan again")
    dialect = dialect.read_by(building.reader, building.pack)
    made = options.build_options(
        division, locations, building, description, dialect, plan=plan, jobs=jobs, cluster=cluster
    )
    common.warn_of_limits(made.limits)
    if common.is_to_be_checked(output, if_exists):
        from metspack.cli.commands.check import check_existing  # noqa: PLC0415 -- another command's

        check_existing(output, objid_of(source, made), made.budgets, json_output=json_output, quiet=quiet)
        return
    check_seal_file(seal_file, output, source)
    with console.progress("build", quiet=quiet) as progress:
        built = built_by(source, output, replace(made, terms=stopped.terms()), progress)
    write_seal(seal_file, built)
    print_result(built, output, json_output=json_output, quiet=quiet)


def check_seal_file(file: Path | None, *outside: Path) -> None:
    """Raise an error, before any work, if the seal cannot be written into ``file`` later.

    ``outside`` are the folders in which it must not be.
    """
    if file is None:
        return
    for folder in outside:
        if file.resolve().is_relative_to(folder.resolve()):
            raise ConfigError(
                f"--seal {file} lies inside {folder}",
                hint="Keep the seal elsewhere: a person who can change the package must not reach its seal.",
            )
    from metspack.files.staging import check_vacant  # noqa: PLC0415 -- only where a seal is written

    check_vacant(file)


def write_seal(file: Path | None, made: Sealed) -> None:
    """Write the seal of a package into a new file, if one is named; raises ``TargetError``."""
    from metspack.files import writing  # noqa: PLC0415 -- only where a seal is written

    if file is not None and made.sealed is not None:
        with writing.NewFile(file) as target:
            target.write(made.sealed.document().encode("utf-8", "surrogateescape"))
        writing.sync_directory(file.absolute().parent)


def _is_in_place(*, keep_segments: bool, in_place: bool) -> bool:
    if keep_segments == in_place:
        return in_place
    given, other = ("--keep-segments", "--in-place") if keep_segments else ("--in-place", "--keep-segments")
    raise ConfigError(
        f"{given} requires {other}",
        hint="Together they write METS files and manifests into a folder whose LOBs lie in segments already.",
    )


def _refuse(option: str, given: Sequence[str], why: str) -> None:
    """Raise ``ConfigError`` when one of the other options was given."""
    if given:
        raise ConfigError(
            f"{option} cannot be combined with {', '.join(given)}",
            hint=f"{why}: leave {', '.join(given)} out.",
        )


def print_result(made: Built | Described, target: Path, *, json_output: bool, quiet: bool) -> None:
    """Print the result of a build: warnings, then lines or JSON."""
    from metspack.building.inplace import Described  # noqa: PLC0415 -- commands load what they need
    from metspack.layouts.readers import unopened  # noqa: PLC0415
    from metspack.model import noticed  # noqa: PLC0415

    console.warning(*made.warnings)
    if isinstance(made, Described):
        split, readers = 0, None
        inside = f"{counted(made.inside, 'LOB')} inside the archive" if made.inside else ""
        done = "METS files and manifests added, nothing else changed"
    else:
        split, readers = made.split, made.readers
        inside = f"{counted(made.kept, 'LOB')} kept inside" if made.kept else ""
        done = f"Package written to {target}"
    document = made.document() | {"target": str(target)}
    console.log_event("result", **document, children=made.segments)
    if json_output:
        children = (each.document() for each in made.children)
        console.document(document | {"children": children, **noticed(made.warnings)})
    elif not quiet:
        words = (
            f"{target}: parent IP {made.objid} with {counted(made.segments, 'child IP')}",
            counted(made.files, "LOB") + (f" ({split:,} in parts)" if split else ""),
            counted(made.bytes, "byte"),
            inside,
        )
        console.out("; ".join(filter(None, (", ".join(filter(None, words)), unopened(made.unopened)))))
        if readers is not None:
            console.out(readers.sentence())
        if made.handed_over is not None:
            console.out(f"{made.handed_over.sentence()}.")
        if made.made_of is not None and (origin := made.made_of.words()):
            console.out(origin)
        console.out(f"seal: {made.seal}")
        check = f"metspack check {quoted(str(target))}"
        console.out(f"{done}; {common.proof(made.checked)}: {check}")
