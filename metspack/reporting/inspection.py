"""JSON objects for the result of an inspection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from metspack.inspecting import survey
from metspack.inspecting.inspection import KINDS, Inspection, LobColumn, inspect, verify_lobs
from metspack.inspecting.survey import ColumnFound, Level
from metspack.inspecting.unreferenced import Unnamed
from metspack.inspecting.verification import Verdict, Verification
from metspack.locations.errors import LobUnresolved
from metspack.model import noticed
from metspack.progress import Progress, Silent
from metspack.resources import json_head
from metspack.sources import opening
from metspack.sources.archive import Archive, FoundCell
from metspack.sources.opening import Source, SourceFacts

KEPT = 10_000
"""The number of faults that a report keeps; ``metspack inspect --lobs`` lists all."""


def name(source: Source) -> str:
    """Return the name of a source: the .siard file's, or the folder's."""
    return source.name if isinstance(source, Archive) else source.path.resolve().name


def form(source: Source) -> str:
    """Return the form of a source: ``file``, ``parts``, ``folder`` or ``LOB folder``."""
    if not isinstance(source, Archive):
        return "LOB folder"
    if source.container is None:
        return "folder"
    return "file" if len(source.container.medium.paths) == 1 else "parts"


def document(
    source: Source,
    found: Inspection,
    facts: SourceFacts,
    verification: Verification | None = None,
    verdicts: Sequence[Verdict] = (),
) -> dict[str, Any]:
    """Return an inspection as the object for ``--json``, with the ``verdicts`` on faulty LOBs."""
    largest = found.largest
    return {
        "source": {
            "name": name(source),
            "size": source.size,
            "form": form(source),
            "sha256": facts.sha256,
            "message_digest": facts.document()["message_digest"],
        },
        "history": list(found.history),
        "siard_version": found.version,
        "product": found.product,
        "dbname": found.dbname,
        "lob_folder": None if found.lob_folder is None else _level(found.lob_folder),
        "tables": found.tables,
        "rows": found.rows,
        "lobs": {
            "inside": found.inside,
            "outside": found.outside,
            **_losses(found.losses),
            "inline": found.inline,
            "datalinks": found.datalinks,
            "bytes": found.bytes,
            "bytes_inside": sum(each.bytes_inside for each in found.columns),
        },
        "largest": {"lob": largest.largest_lob, "bytes": largest.largest} if largest else None,
        "sizes": [
            {"from": each.least, "below": each.below, "lobs": each.lobs, "bytes": each.bytes}
            for each in found.sizes.classes()
        ],
        "columns": [column(each) for each in found.columns],
        "unreferenced": dict(zip(("inside", "outside"), map(_unnamed, found.unreferenced), strict=True)),
        "named_twice": found.named_twice,
        **noticed(found.warnings),
        "errors": [
            {"lob": lob, "column": each.found.id, **_error(error)}
            for each in found.columns
            for lob, error in each.errors
        ],
        "verification": None if verification is None else _verification(verification, verdicts),
    }


def column(each: LobColumn) -> dict[str, Any]:
    """Return a column with LOBs as the object for JSON."""
    found = each.found
    return {
        "id": found.id,
        "table": f"{found.schema}.{found.table}",
        "name": found.name,
        "type": found.type,
        "media_type": found.media_type,
        "levels": {
            "column": [_level(level) for level in found.levels],
            "folder": found.folder,
            "cells": {kind.value: number for kind, number in sorted_by_value(each.cells)},
        },
        "conventions": [
            {
                "letter": convention.letter,
                "title": convention.title,
                "code": None if convention.is_statement else convention.code,
                "lobs": number,
            }
            for convention, number in each.conventions.most_common()
        ],
        "lobs": each.lobs,
        "inside": each.inside,
        "outside": each.outside,
        **_losses(each.losses),
        "bytes": each.bytes,
        "digests": each.algorithms.total(),
        "digests_by_algorithm": dict(sorted(each.algorithms.items())),
        "without_digest": each.undigested,
        "text_lengths": dict(sorted(each.lengths.items())),
        "largest": each.largest,
        "largest_lob": each.largest_lob,
        "first_missing": next((lob for lob, error in each.errors if error.kind == "missing"), ""),
    }


def lob(at: FoundCell, column: ColumnFound, paths: Sequence[str], verdict: Verdict | None) -> dict[str, Any]:
    """Return one LOB as an object for ``--lobs``, with the result of its verification."""
    cell, run, convention, error = at
    found = None if run is None else run.lob(0)
    record: dict[str, Any] = {
        "id": cell.place.id,
        "schema": column.schema,
        "table": column.table,
        "column": column.name,
        "row": cell.place.row,
        "file": cell.file,
        "where": "error" if found is None else "inside" if found.entries else "outside",
        "convention": None if convention is None else convention.letter,
        "entries": [] if found is None else list(found.entries),
        "paths": list(paths),
        "size": None if found is None else found.size,
        "length": cell.length,
        "digest": cell.digest and {"algorithm": cell.digest.algorithm, "value": cell.digest.value},
        "extents": 0 if found is None else len(found.extents),
        "error": None if error is None else _error(error),
    }
    if verdict is not None:
        record["verified"] = {
            "fault": None if verdict.fault is None else verdict.fault.value,
            "message": verdict.message or None,
            "digest": verdict.algorithm,
            "length_unit": verdict.unit,
        }
    return record


def sorted_by_value(counts: Counter[survey.LevelKind]) -> list[tuple[survey.LevelKind, int]]:
    """Return the kinds of cells with their counts, in the order of ``survey.LevelKind``."""
    return [(kind, counts[kind]) for kind in survey.LevelKind if counts[kind]]


def _losses(losses: Counter[str]) -> dict[str, int]:
    return {kind: losses[kind] for kind in KINDS}


def _error(error: LobUnresolved) -> dict[str, str]:
    return {"kind": error.kind, "message": error.message, "hint": error.hint}


def _level(level: Level) -> dict[str, str]:
    return {"level": level[0].value, "text": level[1]}


def _unnamed(unnamed: Unnamed) -> dict[str, Any]:
    return {"files": unnamed.files, "bytes": unnamed.bytes, "names": list(unnamed.names)}


def _verification(verification: Verification, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    return {
        "lobs": verification.lobs,
        "bytes": verification.bytes,
        "digests": dict(sorted(verification.algorithms.items())),
        "without_digest": verification.undigested,
        "part_digests_accepted": verification.part_digests,
        "length_units": dict(sorted(verification.units.items())),
        "without_length": verification.unmeasured,
        "failed": verification.failed,
        "faults": [each.document() for each in verdicts],
    }


@dataclass(frozen=True, kw_only=True)
class InspectionReport:
    """The contents of a source; ``faults`` are the first faults of its verification."""

    contents: Inspection
    verification: Verification | None
    faults: tuple[Verdict, ...]
    ok: bool
    document: dict[str, Any]

    facts: SourceFacts

    def to_json(self) -> dict[str, Any]:
        """Return the inspection as data for JSON, as ``metspack inspect --json`` prints it."""
        return json_head() | self.document


def inspect_source(
    source: Source,
    accepted: frozenset[str] | None,
    jobs: int | None,
    progress: Progress,
    report: Callable[[Verdict], object] = lambda _verdict: None,
) -> InspectionReport:
    """Return the contents of a source, whose LOBs are verified unless ``accepted`` is None.

    ``report`` is called with each fault as it is found.
    """
    verification: Verification | None = None
    faults: list[Verdict] = []
    facts = opening.source_facts(source, Silent(), compares=False)
    found = inspect(source, progress)
    if accepted is not None:
        verification = Verification()
        with closing(verify_lobs(source, found, accepted, jobs, progress)) as results:
            for counts, verdicts in results:
                verification.add(counts)
                for verdict in verdicts:
                    report(verdict)
                faults += verdicts[: KEPT - len(faults)]
        facts = opening.source_facts(source, progress)
        found.warnings += tuple(facts.warnings())
    is_lacking = isinstance(source, Archive) and bool(source.lacking)
    return InspectionReport(
        contents=found,
        verification=verification,
        faults=tuple(faults),
        ok=not is_lacking and not found.losses and not (verification and verification.failed),
        document=document(source, found, facts, verification, faults),
        facts=facts,
    )
