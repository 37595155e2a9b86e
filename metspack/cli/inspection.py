"""Printed form of an inspection: tables, lists and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from metspack.cli import console
from metspack.inspecting.inspection import KINDS, Inspection, LobColumn
from metspack.inspecting.survey import Level, LevelKind
from metspack.inspecting.unreferenced import Unnamed
from metspack.inspecting.verification import Verification
from metspack.locations import Convention
from metspack.locations.errors import LobUnresolved
from metspack.reporting.inspection import name, sorted_by_value
from metspack.sizes import counted, shown
from metspack.sources.archive import Archive
from metspack.sources.opening import Source, SourceFacts

_BAR = 30
_HEADER = (
    *("column", "name", "type", "lobFolder", "cells", "inside", "outside", "errors"),
    *("located by", "digests", "bytes", "largest"),
)
_RIGHT = frozenset({5, 6, 7, 10, 11})


def show(source: Source, found: Inspection, facts: SourceFacts, columns: int | None) -> None:
    """Print an inspection; where the table is wider than ``columns`` it is printed line by line."""
    _head(source, found, facts)
    if found.columns:
        rows = [_row(each) for each in found.columns]
        console.out()
        if columns is None or _wide(rows) <= columns:
            console.table(_HEADER, rows, _RIGHT)
        else:
            _lines(rows)
        _legend(found.columns)
    _sizes(found)
    console.out()
    if isinstance(source, Archive):
        _unreferenced("content/ of the archive", found.unreferenced[0])
    _unreferenced("the LOB folders outside", found.unreferenced[1])


def print_errors(column: LobColumn) -> None:
    """Print the number of LOBs of a column that were not found, and the errors of the first."""
    if not column.lost:
        return
    if column.lost == 1:
        (_lob, only) = column.errors[0]
        console.error(only.message, only.hint)
        return
    counts = ((column.losses[kind], kind) for kind in KINDS)
    hint, _number = Counter(error.hint for _lob, error in column.errors).most_common(1)[0]
    more = column.lost - len(column.errors)
    console.error(
        f"column {column.label} ({column.found.id}): {counted(column.lost, 'LOB')} not found "
        f"({', '.join(f'{number:,} {word}' for number, word in counts if number)})",
        hint,
        [
            *(_lost(error, hint) for _lob, error in column.errors),
            *([f"and {more:,} more (--lobs lists all)"] if more else []),
        ],
    )


def _lost(error: LobUnresolved, hint: str) -> str:
    hint_of_this = f". {error.hint}" if error.hint not in {"", hint} else ""
    return f"{error.kind}: {error.message}{hint_of_this}"


def print_verification(verification: Verification, facts: SourceFacts) -> None:
    """Print the result of the verification of every LOB."""
    console.out()
    if facts.verdict is not None:
        console.out(f"archive   {facts.seal_words()}{f', SHA-256 {facts.sha256}' if facts.sha256 else ''}")
    console.out(f"verified  {counted(verification.lobs, 'LOB')}, {counted(verification.bytes, 'byte')} read")
    by = [f"{number:,} by {name}" for name, number in sorted(verification.algorithms.items())]
    if verification.part_digests:
        by.append(f"{verification.part_digests:,} with the digest of the last part only (accepted)")
    console.out(f"digests   {', '.join([*by, f'{verification.undigested:,} without'])}")
    units = [f"{number:,} in {unit}" for unit, number in sorted(verification.units.items())]
    console.out(f"lengths   {', '.join([*units, f'{verification.unmeasured:,} without'])}")
    what = ", ".join(f"{number:,} {fault.value}" for fault, number in verification.faults.items())
    console.out(f"failed    {counted(verification.failed, 'LOB')}{f' ({what})' if what else ''}")


# --- The head ---------------------------------------------------------------------------------------------


def _head(source: Source, found: Inspection, facts: SourceFacts) -> None:
    if isinstance(source, Archive):
        console.out(f"{name(source)}: SIARD {found.version}{_form(source)}, {shown(source.size)}")
        console.out(f"database  {found.dbname}" + (f" ({found.product})" if found.product else ""))
        console.out(f"tables    {counted(found.tables, 'table')} with {counted(found.rows or 0, 'row')}")
        if found.lob_folder is not None:
            console.out(f"lobFolder {_level(found.lob_folder)}")
        stated = ", ".join(f"{digest.algorithm} {digest.value}" for digest, _ in facts.digests)
        console.out(f"digest    {stated or facts.seal_words()}")
    else:
        console.out(f"{name(source)}: a folder of LOBs, without an archive")
        console.out(f"tables    {counted(found.tables, 'table')} with LOBs")
    console.out(f"LOBs      {', '.join(_counts(found))}")
    console.out(f"bytes     {shown(found.bytes)} in the LOBs")
    if units := [f"{number:,} in {unit}" for unit, number in sorted(found.lengths.items())]:
        more = " (or texts in ASCII; SiardApi reads lengths as characters)"
        console.out(f"lengths   of texts: {', '.join(units)}{more if 'bytes' in found.lengths else ''}")
    if found.largest is not None:
        console.out(f"largest   {found.largest.largest_lob}, {shown(found.largest.largest)}")


def _form(source: Archive) -> str:
    words = ""
    if source.container is None:
        words = ", unpacked"
    elif len(source.container.medium.paths) > 1:
        words = f", in {len(source.container.medium.paths):,} parts"
    return words + (f", below {source.prefix}" if source.prefix else "")


def _counts(found: Inspection) -> Iterator[str]:
    yield f"{found.inside:,} inside"
    yield f"{found.outside:,} outside"
    if found.inline is not None:
        yield f"{found.inline:,} inline"
    if found.datalinks:
        yield counted(found.datalinks, "link only (never followed)", "links only (never followed)")
    for kind in KINDS:
        if number := found.losses[kind]:
            yield f"{number:,} {kind}"


# --- The columns ------------------------------------------------------------------------------------------


def _row(column: LobColumn) -> tuple[object, ...]:
    algorithms = [*column.algorithms.items()]
    if len(algorithms) == 1 and not column.undigested:
        digests = algorithms[0][0]
    else:
        digests = ", ".join(
            [
                *(f"{algorithm} {number:,}" for algorithm, number in algorithms),
                *([f"none {column.undigested:,}"] if algorithms else ["none"]),
            ]
        )
    conventions = [(each.letter, number) for each, number in column.conventions.most_common()]
    levels = " > ".join(map(_level, column.found.levels))
    if column.found.folder is not None:
        levels = f"{levels}, folder {column.found.folder}"
    return (
        column.found.id,
        column.label,
        " ".join(column.found.type.split()) or "-",
        levels or "-",
        _several([(_kind(kind), number) for kind, number in sorted_by_value(column.cells)]) or "-",
        column.inside,
        column.outside,
        column.lost,
        _several(conventions) or "-",
        digests,
        column.bytes,
        column.largest,
    )


def _level(level: Level) -> str:
    return f"{_kind(level[0])} {level[1]}".rstrip()


def _kind(kind: LevelKind) -> str:
    return "none" if kind is LevelKind.NIL else kind.value


def _several(counts: Sequence[tuple[str, int]]) -> str:
    if len(counts) == 1:
        return counts[0][0]
    return ", ".join(f"{word} {number:,}" for word, number in counts)


def _wide(rows: list[tuple[object, ...]]) -> int:
    texts = [_HEADER, *(tuple(map(console.cell, row)) for row in rows)]
    return sum(max(len(row[n]) for row in texts) for n in range(len(_HEADER))) + 2 * (len(_HEADER) - 1)


def _lines(rows: list[tuple[object, ...]]) -> None:
    for number, row in enumerate(rows):
        if number:
            console.out()
        where, label, type_, folder, cells, inside, outside, lost, by, digests, size, largest = map(
            console.cell, row
        )
        console.out(f"{where}  {label}  {type_}".removesuffix("  -"))
        console.out(f"  lobFolder: {folder}; paths in cells: {cells}")
        console.out(f"  {inside} inside, {outside} outside, {lost} errors; located by: {by}")
        console.out(f"  {size} bytes, largest {largest}; digests: {digests}")


def _legend(columns: list[LobColumn]) -> None:
    used = {each for column in columns for each in column.conventions}
    if not used:
        return
    console.out()
    for number, each in enumerate(each for each in Convention if each in used):
        more = "" if each.is_statement else f" (metspack explain {each.code})"
        console.out(f"{'' if number else 'located by':10}  {each.letter}  {each.title}{more}")


# --- Sizes, and files that no cell names -----------------------------------------------------------------


def _sizes(found: Inspection) -> None:
    classes = list(found.sizes.classes())
    if not classes:
        return
    most = max(each.lobs for each in classes)
    console.out()
    console.table(
        ("size", "LOBs", "bytes", ""),
        ((each.label, each.lobs, each.bytes, "#" * -(-each.lobs * _BAR // most)) for each in classes),
        frozenset({1, 2}),
    )


def _unreferenced(where: str, unnamed: Unnamed) -> None:
    if not unnamed.files:
        console.out(f"no unreferenced files in {where}")
        return
    what = counted(unnamed.files, "unreferenced file")
    console.out(f"{what} in {where}, {shown(unnamed.bytes)}")
    for each in unnamed.names:
        console.out(f"  {each}")
    if unnamed.files > len(unnamed.names):
        console.out(f"  and {unnamed.files - len(unnamed.names):,} more")
