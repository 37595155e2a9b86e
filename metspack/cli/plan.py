"""``metspack plan``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from metspack.cli import console, options
from metspack.sizes import counted


def plan(  # noqa: PLR0917 -- Typer makes an option of every argument
    source: options.Source,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the plan there; build --plan takes it.",
            show_default=False,
        ),
    ] = None,
    max_files: options.MaxFiles = None,
    max_bytes: options.MaxBytes = None,
    preset: options.Preset = None,
    name: options.Name = None,
    budget: options.Budget = None,
    json_output: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show how an archive's LOBs divide into segments, and write nothing.

    LOBs keep their order: a segment closes when the next one would exceed the limit on files or on
    bytes, whichever comes first.

    `metspack plan Northwind.siard --max-files 4 --max-bytes 45000`
    """
    from metspack import fsio, identifiers, planfile  # noqa: PLC0415 -- commands load what they need
    from metspack.layouts import lobseg  # noqa: PLC0415
    from metspack.model import Segment  # noqa: PLC0415
    from metspack.planning import planned  # noqa: PLC0415
    from metspack.siard.archive import Archive  # noqa: PLC0415

    limits = options.limits(max_files, max_bytes, preset)
    given = None if name is None else identifiers.given_name(name)
    with Archive(source, options.budgets(budget)) as archive, console.progress(quiet=quiet) as progress:
        progress.stage("Planning", None)
        called = given or identifiers.package_name(source.stem)
        segments = [each for each in planned(archive.lobs(), limits) if isinstance(each, Segment)]
        head = planfile.header(
            called, source_size=archive.container.size, metadata=archive.metadata_document, limits=limits
        )
        version = archive.metadata.version
    if output is not None:
        with fsio.NewFile(output) as file:
            for line in planfile.lines(head, segments):
                file.write(line.encode())
    files, size = sum(each.files for each in segments), sum(each.bytes for each in segments)

    def rows() -> Iterator[tuple[str, int, int, str]]:
        for each in segments:
            yield lobseg.segment_name(called, each.index), each.files, each.bytes, each.closed_by.value

    if json_output:
        document = {
            "name": called,
            "siard_version": version,
            "limits": {"max_files": limits.files, "max_bytes": limits.bytes},
            "files": files,
            "bytes": size,
            "segments": [
                {"name": lobseg.segment_name(called, each.index), **planfile.described(each)}
                for each in segments
            ],
        }
        console.document(document)
        return
    if quiet:
        return
    console.out(f"{source.name}: SIARD {version}, at most {_words(limits.files, limits.bytes)} in a segment")
    if segments:
        console.table(("segment", "files", "bytes", "closed by"), rows(), frozenset({1, 2}))
    written = f"The plan is in {output}." if output else "Nothing was written."
    console.out(
        f"{counted(len(segments), 'segment')}, {counted(files, 'LOB')}, {counted(size, 'byte')}. {written}"
    )


def _words(files: int | None, size: int | None) -> str:
    return " and ".join(
        (
            "any number of files" if files is None else counted(files, "file"),
            "any number of bytes" if size is None else counted(size, "byte"),
        )
    )
