"""Write and read plan files: JSON lines, a header and then a line per segment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metspack.errors import ConfigError, PlanError
from metspack.files import reading
from metspack.layouts import LAYOUTS
from metspack.limits import Limits
from metspack.model import PlannedSegment
from metspack.planning.division import Division, Split

_FORMAT = 1
_LONGEST = 1 << 20  # bytes of a line: a segment takes some hundred


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanHeader:
    """Header of a plan: size in bytes and metadata digest of its source, and its options.

    A source without an archive has neither size nor metadata; only its LOBs identify it. ``min_size``
    (bytes) left columns inside whose LOBs are all smaller; with None all columns move.
    """

    name: str
    source_size: int
    metadata_sha256: str
    division: Division
    min_size: int | None = None


def lines(head: PlanHeader, segments: Iterable[PlannedSegment]) -> Iterator[str]:
    """Yield the plan's lines, each with its line feed."""
    yield _line(
        {
            "metspack_plan": _FORMAT,
            "name": head.name,
            "source": {"size": head.source_size, "metadata_sha256": head.metadata_sha256},
            "options": {
                "layout": head.division.layout.name,
                "split": head.division.split.value,
                "max_files": head.division.limits.files,
                "max_bytes": head.division.limits.bytes,
                "min_size": head.min_size,
            },
        }
    )
    for segment in segments:
        yield _line(described(segment))


def described(segment: PlannedSegment) -> dict[str, object]:
    """Return a segment in the form of plan files and of ``plan --json``."""
    return {
        **({"container": segment.container} if segment.container else {}),
        "segment": segment.index,
        "first": segment.first,
        "last": segment.last,
        "files": segment.files,
        "bytes": segment.bytes,
        "closed_by": segment.closed_by.value,
    }


def _line(value: dict[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _header(value: dict[str, Any]) -> PlanHeader:
    """Return the header that a plan begins with; raises KeyError, TypeError and ValueError."""
    options, source = value["options"], value["source"]
    limits = [options["max_files"], options["max_bytes"], options["min_size"]]
    if not all(limit is None or type(limit) is int for limit in limits):
        raise TypeError("a limit is a whole number or null")
    return PlanHeader(
        name=str(value["name"]),
        source_size=int(str(source["size"])),
        metadata_sha256=str(source["metadata_sha256"]),
        division=Division(
            limits=Limits(files=limits[0], bytes=limits[1]),
            layout=LAYOUTS[options["layout"]],
            split=Split(options["split"]),
        ),
        min_size=limits[2],
    )


class PlanFile:
    """A plan read back: its header, and its segments one at a time.

    Raises ``PlanError`` naming file and line where the plan is invalid.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = self._numbered()
        number, first = next(self._lines, (1, {}))
        if first.get("metspack_plan") != _FORMAT:
            raise PlanError(
                f"{path} line {number} is not the header of a plan (metspack_plan {_FORMAT})",
                hint="Make one with: metspack plan SOURCE -o plan.jsonl",
            )
        try:
            self.header = _header(first)
        except (KeyError, TypeError, ValueError, ConfigError) as error:
            raise self._damaged(number) from error

    def _numbered(self) -> Iterator[tuple[int, dict[str, object]]]:
        try:
            with reading.buffered(self._path) as file:
                for number, line in enumerate(iter(lambda: file.readline(_LONGEST), b""), start=1):
                    try:
                        value = json.loads(line.decode())
                    except (ValueError, RecursionError):
                        raise self._damaged(number) from None
                    if not isinstance(value, dict):
                        raise self._damaged(number)
                    yield number, value
        except OSError as error:
            raise PlanError(
                f"the plan {self._path} cannot be read: {error.strerror}", hint="Check its path."
            ) from None

    def _damaged(self, number: int) -> PlanError:
        return PlanError(
            f"{self._path} line {number} is not a line of a plan",
            hint="Make the plan again with: metspack plan",
        )

    def segments(self) -> Iterator[Mapping[str, object]]:
        """Yield the planned segments in order, in the form of ``described``."""
        for _, value in self._lines:
            yield value

    def make_comparison(self, size: int, metadata_document: bytes) -> Callable[[PlannedSegment | None], None]:
        """Return a function that compares each segment, and None at the end, with the plan.

        The function raises ``PlanError`` for a difference, and this method for a plan of another source or
        of another state of it.
        """
        digest = hashlib.sha256(metadata_document).hexdigest()
        for what, planned, found in (
            ("size", f"{self.header.source_size:,} bytes", f"{size:,} bytes"),
            ("metadata.xml", self.header.metadata_sha256, digest),
        ):
            if planned != found:
                raise PlanError(
                    f"{self._path} no longer fits its source: planned for {what} {planned}, found {found}",
                    hint="The source is another file or was changed; plan again.",
                )

        expected = self.segments()

        def agreed(segment: PlannedSegment | None) -> None:
            plan, found = next(expected, None), None if segment is None else described(segment)
            if plan != found:
                raise PlanError(
                    f"{self._path} no longer fits its source: it plans {_words(plan)}, found {_words(found)}",
                    hint="The source or the plan was changed; plan again.",
                )

        return agreed


def _words(segment: Mapping[str, object] | None) -> str:
    return "no further segment" if segment is None else json.dumps(segment, ensure_ascii=False)
