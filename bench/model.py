"""A model of what a build takes, by the figures that the bench kept: ``python -m bench.model``.

It writes the table of docs/scale.md. A build takes its start, and then the longer of two: the planner, which
is one process, or the work of all processes on LOBs and on bytes. Disks, networks and schedulers are not
in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "bench" / "figures.json"
PAGE = ROOT / "docs" / "scale.md"
BEGIN, END = "<!-- the model -->\n", "<!-- the end of the model -->\n"
_PROCESSES = (2, 8, 32, 128)
_WORK = (
    ("10^6 LOBs of 1 KB", 10**6, 1_000),
    ("10^6 LOBs of 10 KB", 10**6, 10_000),
    ("10^8 LOBs of 10 KB: 1 TB", 10**8, 10_000),
    ("10^5 LOBs of 10 MB: 1 TB", 10**5, 10_000_000),
    ("10^7 LOBs of 10 MB: 100 TB", 10**7, 10_000_000),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Seconds: of the start, of the planner for each LOB, and of a processor for each LOB and each byte."""

    start: float
    planned: float
    lob: float
    byte: float

    def seconds(self, lobs: int, size: int, processes: int) -> float:
        """Return what a build of LOBs of ``size`` bytes takes by so many processes."""
        work = lobs * (self.lob + size * self.byte) / processes
        return self.start + max(lobs * self.planned, work)

    def ceiling(self, size: int) -> float:
        """Return the number of processes beyond which more gain nothing, but wait for the planner."""
        return (self.lob + size * self.byte) / self.planned


def sides(figures: Mapping[str, Any], row: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the first runs of contender and reference of a row in memory."""
    (found,) = (each for each in figures["rows"] if each["row"] == row and each["place"] == "tmpfs")
    return found["contender"]["runs"][0], found["reference"]["runs"][0]


def fitted(figures: Mapping[str, Any]) -> Model:
    """Return the model by the runs of 10^4 and 10^6 LOBs of 1 KB, of four of 1 GiB, and of the planner."""
    many, few = sides(figures, "memory-1m")
    large, _ = sides(figures, "large")
    plan, _ = sides(figures, "plan")
    byte = large["processor"] / (4 << 30)
    lob = (many["processor"] - few["processor"]) / 990_000 - 1_000 * byte
    start = few["wall"] - 10_000 * (lob + 1_000 * byte) / 2
    return Model(start=start, planned=plan["wall"] / 1_000_000, lob=lob, byte=byte)


def told(seconds: float) -> str:
    """Return seconds as people read them."""
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def lines(model: Model) -> Iterator[str]:
    """Yield the lines of the table."""
    yield (
        f"The start takes {model.start:.2f} s, the planner {model.planned * 1e6:.1f} µs for each LOB, "
        f"a processor {model.lob * 1e6:.0f} µs for each LOB and {model.byte * 1e12:,.0f} s for each TB.\n\n"
    )
    columns = [f"{number} processes" for number in _PROCESSES]
    yield f"| build of | {' | '.join(columns)} | processes beyond which more gain nothing |\n"
    yield f"|---|{'---:|' * (len(columns) + 1)}\n"
    for title, lobs, size in _WORK:
        cells = [told(model.seconds(lobs, size, number)) for number in _PROCESSES]
        yield f"| {title} | {' | '.join(cells)} | {model.ceiling(size):,.0f} |\n"


def page(text: str, figures: Mapping[str, Any]) -> str:
    """Return the page with the table that these figures give."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{''.join(lines(fitted(figures)))}{END}{after}"


def main() -> None:
    """Write the table into the page."""
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    main()
