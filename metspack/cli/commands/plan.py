"""``metspack plan``: the segments that a build would make."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from metspack.cli import console
from metspack.cli.options import choices, common
from metspack.cli.options.common import PACKAGE, LocationGroup
from metspack.cli.options.csip import DialectGroup
from metspack.cli.options.groups import Group, option, values
from metspack.cli.options.package import DivisionGroup
from metspack.mets import dialects
from metspack.sizes import counted

if TYPE_CHECKING:
    from metspack.building.draft import Draft


@dataclass(frozen=True, kw_only=True)
class PlannedGroup(Group):
    """Options of the planned build on which its OBJIDs and its readers depend."""

    objid: str | None = option(
        "--id OBJID",
        "OBJID of the parent IP; in the dialect csip those of the children are made from it.",
        rare=True,
    )
    pack: str | None = option(
        "--pack FORM",
        "Form of the planned build's IPs: zip or tar; csip's default OBJID depends on it.",
        choice=choices.forms,
        rare=True,
    )
    reader: str | None = common.FOR_READER
    lob_folder_style: str | None = common.FOLDER_STYLE
    siard_version: str | None = common.SIARD_VERSION


def plan(
    source: Path = common.SOURCE,
    *,
    output: Path | None = option("-o --output FILE", "Write the plan to this file, for build --plan."),
    division: DivisionGroup,
    dialect: str | None = option(
        "--dialect NAME",
        "Dialect of the planned build; without --layout, csip uses siard22 for SIARD 2.2 archives.",
        PACKAGE,
        choice=choices.dialects,
    ),
    link_style: str | None = option(
        "--link-style STYLE",
        "Link style of the planned build in the dialect csip; the OBJIDs of the children depend on it.",
        PACKAGE,
        choice=choices.of_dialects("link_style"),
        rare=True,
    ),
    planned: PlannedGroup,
    locations: LocationGroup,
    name: str | None = common.NAME,
    budget: list[str] | None = common.BUDGET,
    json_output: bool = common.JSON,
    quiet: bool = common.QUIET,
) -> None:
    """Show the segments into which an archive's LOBs would be divided, without making a package.

    LOBs keep their order: a segment is closed when the next LOB would exceed the limit on files or on bytes,
    whichever comes first. Each part of a split LOB counts as a file.

    `metspack plan Northwind.siard --max-files 4 --max-bytes 45000`
    """
    from metspack.building import draft as building_draft  # noqa: PLC0415 -- commands load what they need
    from metspack.building.build import BuildOptions  # noqa: PLC0415
    from metspack.files import writing  # noqa: PLC0415
    from metspack.planning import planfile  # noqa: PLC0415

    described = DialectGroup(dialect=dialect).read_by(planned.reader, planned.pack)
    chosen = choices.dialects.read("--dialect", described.dialect or dialects.DEFAULT)
    settings = BuildOptions(
        **values(division, planned, locations),
        dialect=chosen,
        dialect_options=DialectGroup(link_style=link_style).of(chosen),
        name=name,
        budgets=common.budgets(budget),
    )
    common.warn_of_limits(settings.limits)
    with console.progress("plan", quiet=quiet) as progress:
        draft = building_draft.draft_plan(source, settings, progress)
    console.warning(*draft.warnings)
    if output is not None:
        with writing.open_whole(output) as file:
            for line in planfile.lines(draft.header, draft.segments):
                file.write(line.encode())
    if json_output:
        console.document(draft.to_json())
    elif not quiet:
        written = f"The plan is in {output}." if output else "Nothing was written."
        _show(source.resolve().name, draft, written)


def _show(name: str, draft: Draft, written: str) -> None:
    # IPs may be named by their OBJIDs, and not by the segments in them.
    with_objids = any(draft.spot(each).ip != draft.folder(each) for each in draft.segments)
    division = draft.header.division
    limits = division.limits
    what = "no SIARD archive" if draft.version is None else f"SIARD {draft.version}"
    console.out(f"{name}: {what}, at most {_words(limits.files, limits.bytes)} in a segment")
    if draft.segments:
        console.table(
            ("segment", "files", "bytes", "closed by", *(("child IP",) if with_objids else ())),
            (
                (
                    draft.folder(each),
                    each.files,
                    each.bytes,
                    each.closed_by.value,
                    *((draft.spot(each).objid,) if with_objids else ()),
                )
                for each in draft.segments
            ),
            frozenset({1, 2}),
        )
    parts = draft.files - draft.lobs + draft.split
    words = [
        counted(len(draft.segments), "segment"),
        counted(draft.lobs, "LOB") + (f" ({draft.split:,} in {parts:,} parts)" if draft.split else ""),
        counted(draft.bytes, "byte"),
        *([f"{counted(draft.kept, 'LOB')} kept inside"] if draft.kept else ()),
    ]
    console.out(f"{', '.join(words)}. {written}")
    if draft.readers is not None:
        console.out(draft.readers.sentence())
    console.out(f"{draft.handed_over.sentence()}.")


def _words(files: int | None, size: int | None) -> str:
    return " and ".join(
        (
            "any number of files" if files is None else counted(files, "file"),
            "any number of bytes" if size is None else counted(size, "byte"),
        )
    )
