"""``metspack merge``: a CSIP parent and its children put together in one package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metspack.cli import console
from metspack.cli.commands.build import SEAL_FILE, check_seal_file, write_seal
from metspack.cli.options import choices, common
from metspack.cli.options import package as options
from metspack.cli.options.csip import TermGroup
from metspack.cli.options.groups import argument, option
from metspack.files.reading import as_paths
from metspack.mets import dialects
from metspack.sizes import counted
from metspack.system import quoted

if TYPE_CHECKING:
    from metspack.merging.merge import Merged


def merge(
    *,
    containers: list[Path] = argument(
        "OUT...",
        "Packages of the dialect csip, the parent and all children: their folders, zip or tar "
        "files, or the folder that holds them.",
    ),
    output: Path = option(
        "-o --output DIR", "Folder of the merged package; must not exist yet.", default=...
    ),
    root: list[Path] | None = common.ROOT,
    terms: TermGroup,
    objid: str | None = option("--id OBJID", "OBJID of the merged package; default: that of the parent."),
    checksum: str = option(
        "--checksum TYPE",
        f"Algorithm of the checksums in METS: {choices.checksums}.",
        choice=choices.checksums,
        default=dialects.facts(dialects.for_merging()).checksum,
    ),
    agent: list[str] | None = options.AGENT,
    verify: bool = common.VERIFY,
    jobs: int | None = options.JOBS,
    if_exists: str = common.IF_EXISTS,
    stopped: common.StagingGroup,
    seal_file: Path | None = SEAL_FILE,
    budget: list[str] | None = common.BUDGET,
    json_output: bool = common.JSON,
    quiet: bool = common.QUIET,
) -> None:
    """Merge a parent and its children into one package, with new METS, PREMIS and schemas.

    The data files of all packages are copied unchanged to representations/rep1/data: each is compared with
    the digest in its METS while it is copied, and no file is overwritten. The parent's profile, types,
    agents, descriptive metadata and documentation are kept unless options name others. OUT is only read. DIR
    appears complete or not at all; the same command resumes an interrupted merge.

    `metspack merge out -o whole`
    """
    from metspack.merging import merge as merging  # noqa: PLC0415 -- commands load what they need

    dialect = dialects.for_merging()
    settings = options.package_options(
        objid=objid,
        checksum=choices.checksums.read("--checksum", checksum),
        agents=tuple(agent or ()),
        dialect=dialect,
        dialect_options=terms.of(dialect),
        verify=verify,
        budgets=common.budgets(budget),
    )
    if common.is_to_be_checked(output, if_exists):
        from metspack.cli.commands.check import check_existing  # noqa: PLC0415 -- another command's

        check_existing(output, objid or "", settings.budgets, json_output=json_output, quiet=quiet)
        return
    roots = as_paths(root or ())
    check_seal_file(seal_file, output, *containers, *roots)
    with console.progress("merge", quiet=quiet) as progress:
        made = merging.merge_ips(
            containers, output, settings, progress, jobs=jobs, roots=roots, terms=stopped.terms()
        )
    write_seal(seal_file, made)
    _print_result(made, output, json_output=json_output, quiet=quiet)


def _print_result(made: Merged, output: Path, *, json_output: bool, quiet: bool) -> None:
    console.warning(*made.warnings)
    if json_output:
        console.document(made.to_json() | {"target": str(output)})
    elif not quiet:
        words = (
            f"{output}: {made.objid}, merged from {counted(made.containers, 'package')}",
            counted(made.files, "data file"),
            counted(made.bytes, "byte"),
        )
        console.out(", ".join(words))
        console.out(f"seal: {made.seal}")
        check = f"metspack check {quoted(str(output))}"
        console.out(f"Package written to {output}; {common.proof(made.checked)}: {check}")
