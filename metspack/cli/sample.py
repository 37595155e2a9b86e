"""``metspack sample``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from metspack.cli import choices, console, options


def sample(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            autocompletion=choices.of("northwind"),
            help="Which sample: northwind.",
            show_default=False,
        ),
    ],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write it.", show_default=False)],
    quiet: options.Quiet = False,
) -> None:
    """Write sample archives to try things on.

    **northwind** is the E-ARK recommendation's example: 13 tables, 8 pictures. Its second
    archive, Northwind-full, has photographs, text LOBs and nested ones too.

    `metspack sample northwind .`
    """
    from metspack import samples  # noqa: PLC0415 -- commands load what they need

    written = list(samples.written(name, folder))
    if quiet:
        return
    for path in written:
        console.out(str(path))
    console.out(f"Try: metspack plan {shlex.quote(str(written[0]))} --max-files 4 --max-bytes 45000")
