"""Figures of measured rows, as they stand in JSON and in the Markdown table."""

from __future__ import annotations

import os
import platform
import re
import ssl
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.measuring import Run, Syncs
from bench.rows import Figure, Row, Sample
from metspack.resources import __version__

_COLUMNS = (
    *("row", "measured", "beside", "ratio", "now / then", "wall, s", "processor, s", "memory, MB"),
    *("largest process, MB", "system calls per LOB", "calls that sync, s in them"),
)
_WORDS = 4
"""Columns of words; the others are of figures, and left out where no row has one."""
_UNMEASURED = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The runs of a contender or a reference, and its system calls per LOB where they were counted."""

    sample: Sample
    runs: Sequence[Run]
    calls: float | None = None
    syncs: Syncs | None = None

    def values(self, figure: Figure) -> list[float]:
        """Return the figure of each run."""
        if figure is Figure.LARGEST:
            return [float(run.largest) for run in self.runs]
        divisor = self.sample.lobs if figure is Figure.GROWTH else 1
        return [max(run.wall, 1e-9) / divisor for run in self.runs]

    def told(self) -> dict[str, Any]:
        """Return the side as JSON has it."""
        return {
            **asdict(self.sample),
            "runs": [asdict(run) for run in self.runs],
            "calls_per_lob": self.calls,
            "syncs": None if self.syncs is None else asdict(self.syncs),
        }


def told(row: Row, place: str, sides: Sequence[Side]) -> dict[str, Any]:
    """Return a measured row as JSON has it."""
    values = [side.values(row.figure) for side in sides]
    ratios = [ours / max(theirs, 1e-9) for ours, theirs in zip(*values, strict=True)]
    ratio = statistics.median(ratios)
    return {
        **_named(row, place),
        "ratio": ratio,
        "least": min(ratios),
        "most": max(ratios),
        "contender": sides[0].told(),
        "reference": sides[1].told(),
    }


def left_out(row: Row, place: str, reason: str) -> dict[str, Any]:
    """Return a row that was not measured as JSON has it."""
    return {**_named(row, place), "left_out": reason}


def _named(row: Row, place: str) -> dict[str, Any]:
    return {
        "row": row.name,
        "place": place,
        "title": row.title,
        "beside": row.beside,
        "figure": row.figure.value,
    }


def machine() -> dict[str, Any]:
    """Return the facts about this machine on which figures depend."""
    names = re.findall(r"^model name\s*: (.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s+(\d+) kB", _read("/proc/meminfo"), re.MULTILINE)
    return {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "processors": os.cpu_count(),
        "memory": 1024 * int(memory[1]) if memory else None,
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "openssl": ssl.OPENSSL_VERSION,
        "metspack": __version__,
    }


def _read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8") if Path(path).exists() else ""


def table(rows: Iterable[dict[str, Any]], then: Mapping[str, float]) -> str:
    """Return the rows of one place as a Markdown table, with the ratio now to the ratio ``then``."""
    lines = [_cells(row, then.get(row["row"])) for row in rows]
    kept = [
        number
        for number in range(len(_COLUMNS))
        if number < _WORDS or any(line[number] not in {_UNMEASURED, ""} for line in lines)
    ]
    rule = ["---" if number < _WORDS else "---:" for number in range(len(_COLUMNS))]
    return "".join(
        f"| {' | '.join(line[number] for number in kept)} |\n" for line in ([*_COLUMNS], rule, *lines)
    )


def ratios(figures: Mapping[str, Any], place: str) -> dict[str, float]:
    """Return the ratio of each row of a place that was measured."""
    return {row["row"]: row["ratio"] for row in figures["rows"] if row["place"] == place and "ratio" in row}


def _cells(row: dict[str, Any], then: float | None) -> list[str]:
    begun = [f"`{row['row']}`", row["title"], row["beside"]]
    if "left_out" in row:
        return [*begun, f"left out: {row['left_out']}", *[""] * 7]
    sides = row["contender"], row["reference"]
    runs = [side["runs"] for side in sides]
    ratio = f"{row['ratio']:.2f}"
    if row["least"] != row["most"]:
        ratio += f" ({row['least']:.2f}-{row['most']:.2f})"
    if row["figure"] != Figure.WALL:
        ratio += f", {row['figure']}"
    calls = [side["calls_per_lob"] for side in sides]
    return [
        *begun,
        ratio,
        _UNMEASURED if then is None else f"{row['ratio'] / then:.2f}",
        "/".join(f"{statistics.median(run['wall'] for run in each):.2f}" for each in runs),
        "/".join(f"{statistics.median(run['processor'] for run in each):.2f}" for each in runs),
        "/".join(f"{max(run['memory'] for run in each) / 1e6:.0f}" for each in runs),
        "/".join(f"{max(run['largest'] for run in each) / 1e6:.0f}" for each in runs),
        _both([_UNMEASURED if each is None else f"{each:.1f}" for each in calls]),
        _both([_sync_words(side.get("syncs")) for side in sides]),
    ]


def _both(figures: Sequence[str]) -> str:
    """Return the figures of both sides, or that neither was measured."""
    return _UNMEASURED if set(figures) == {_UNMEASURED} else "/".join(figures)


def _sync_words(syncs: dict[str, Any] | None) -> str:
    if syncs is None:
        return _UNMEASURED
    return f"{syncs['calls']:,}: {syncs['seconds']:.2f} of {syncs['wall']:.2f}"
