"""``metspack list``: the LOBs of a package, each with its cell and its files."""

from __future__ import annotations

import csv
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from metspack.cli import console
from metspack.cli.options import choices, common
from metspack.cli.options.groups import option
from metspack.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metspack.packages.listing import LobEntry

_FORMS = choices.of("csv", "jsonl")
_COLUMNS = (
    *("id", "archive", "database", "schema", "table", "column", "row", "key_columns", "primary_key"),
    *("file_name", "path", "segment", "parts", "size", "media_type"),
    *("md5", "sha1", "sha256", "sha512", "other_digests", "fault"),
)
_OF_THEIR_OWN = ("MD5", "SHA-1", "SHA-256", "SHA-512")


def list(  # noqa: A001, PLR0917 -- a command's name, and its options
    package: Path = common.OUT,
    table: str = common.TABLE,
    column: str = common.COLUMN,
    key: common.Texts = common.KEY,
    form: str | None = option(
        "--format FORM",
        "Format of the list: csv (for spreadsheets), or jsonl (one JSON object per line).",
        choice=_FORMS,
    ),
    json_output: bool = option("--json", "The same as --format jsonl."),
    root: common.Paths = common.ROOT,
    budget: common.Texts = common.BUDGET,
) -> None:
    """List the LOBs of a package: table, column, row and key of each, and its files, size and digests.

    For giving access to the LOBs: where is the picture of row 14? Rows are taken from the archive in the
    package, files from METS. No LOB is opened: **metspack check** verifies that they are as listed. A LOB
    in parts is one line.

    Exits with 1 when a cell leads to no LOB, or METS lists an orphan LOB, which no cell names.

    `metspack list out --table Categories > pictures.csv`
    """
    from metspack.packages.listing import LobListing  # noqa: PLC0415 -- commands load what they need
    from metspack.packages.package import Package  # noqa: PLC0415

    form = common.json_form(_FORMS, form, json_output=json_output, name="jsonl")
    budgets = common.budgets(budget)
    with Package(package, budgets, root or ()) as opened:
        for fault in opened.faults:
            console.error(fault.message, fault.hint)
        found = LobListing(opened, table=table, column=column, key=key or (), budgets=budgets)
        # The first LOB comes before the header: an error then leaves no half table.
        rows = chain([*islice(found, 1)], found)
        if form == "jsonl":
            for each in rows:
                console.record(each.to_json())
        else:
            writer = csv.writer(_Result(), lineterminator="\n")
            writer.writerow(_COLUMNS)
            writer.writerows(map(_csv_row, rows))
        if found.files:
            reason = "listed in METS, named by no cell and without a LOB's ID: not listed here"
            console.warning(f"{counted(found.files, 'file')} {reason}")
        is_bad = bool(found.faulty or opened.faults)
    if is_bad:
        raise typer.Exit(1)


def _joined(texts: Iterable[str]) -> str:
    """Return one text as it is; several joined by ``|``, which is ``%7C`` in each."""
    several = [*texts]
    return "|".join(each.replace("|", "%7C") for each in several) if len(several) > 1 else "".join(several)


class _Result:
    """The result as a file for ``csv``."""

    def write(self, text: str) -> None:
        console.pour(text.encode(errors="backslashreplace"))


def _csv_row(each: LobEntry) -> tuple[Any, ...]:
    digests = each.digests
    others = (f"{name}:{value}" for name, value in digests.items() if name not in _OF_THEIR_OWN)
    return (
        *(getattr(each, name) for name in _COLUMNS[:7]),
        *(_joined(each.primary_key), _joined(value or "" for value in each.primary_key.values())),
        each.file_name,
        _joined("/".join(filter(None, (file.path, file.entry))) for file in each.files),
        _joined(file.segment for file in each.files),
        *(len(each.files), each.size, each.media_type),
        *map(digests.get, _OF_THEIR_OWN),
        *(" ".join(others), each.fault),
    )
