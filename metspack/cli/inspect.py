"""``metspack inspect``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from metspack.cli import console, options
from metspack.sizes import counted, shown

if TYPE_CHECKING:
    from metspack.inspecting import Inspection


def inspect(
    source: options.Source,
    budget: options.Budget = None,
    json_output: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show what an archive holds: version, tables, and its LOBs column by column.

    A LOB is **inside** the archive, **outside** in a file beside it, or
    **inline** in the cell itself.

    `metspack inspect Northwind.siard`
    """
    from metspack.inspecting import inspected  # noqa: PLC0415 -- commands load what they need
    from metspack.siard.archive import Archive  # noqa: PLC0415

    with Archive(source, options.budgets(budget)) as archive, console.progress(quiet=quiet) as progress:
        found = inspected(archive, progress)
        size = archive.container.size
    if json_output:
        largest = found.largest
        document: dict[str, Any] = {
            "source": {"name": source.name, "size": size},
            "siard_version": found.version,
            "product": found.product,
            "dbname": found.dbname,
            "tables": found.tables,
            "rows": found.rows,
            "lobs": {
                "inside": found.inside,
                "outside": found.outside,
                "missing": found.missing,
                "inline": found.inline,
                "bytes": found.bytes,
            },
            "largest": {"lob": largest.largest_lob, "bytes": largest.largest} if largest else None,
            "columns": [asdict(each) for each in found.columns],
        }
        console.document(document)
        return
    if not quiet:
        _show(source.name, size, found)
    for each in found.columns:
        if each.missing:
            console.warning(
                f"{each.table}.{each.name}: the archive has no entry for {counted(each.missing, 'LOB')}, "
                f"the first is {each.first_missing}"
            )


def _show(name: str, size: int, found: Inspection) -> None:
    largest = found.largest
    console.out(f"{name}: SIARD {found.version}, {shown(size)}")
    console.out(f"database  {found.dbname}" + (f" ({found.product})" if found.product else ""))
    console.out(f"tables    {counted(found.tables, 'table')} with {counted(found.rows, 'row')}")
    console.out(
        f"LOBs      {found.inside:,} inside, {found.outside:,} outside, {found.inline:,} inline"
        + (f", {found.missing:,} missing" if found.missing else "")
    )
    console.out(f"bytes     {shown(found.bytes)} in the LOBs inside")
    if largest is not None:
        console.out(f"largest   {largest.largest_lob}, {shown(largest.largest)}")
    if not found.columns:
        return

    def rows() -> Iterator[tuple[object, ...]]:
        for each in found.columns:
            yield (
                each.id,
                f"{each.table}.{each.name}",
                each.type,
                each.inside,
                each.outside,
                each.missing,
                each.digests,
                each.bytes,
                each.largest,
            )

    console.out()
    console.table(
        ("column", "name", "type", "inside", "outside", "missing", "digests", "bytes", "largest"),
        rows(),
        frozenset(range(3, 9)),
    )
