# ruff: noqa: E501 -- the page is written as it is read
"""Writes docs/performance.md and the README's ratio from figures: ``python -m bench.page [FILE...]``.

The files, as ``python -m bench --json`` writes them, are kept as bench/figures.json, beside the baseline that later ones are
compared with (``--baseline``: these are the baseline). Where several have the same row, as after some were measured again
with more repetitions, the last one counts.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from bench.results import table
from bench.rows import SMALL
from bench.store import CHECKOUT

FIGURES = CHECKOUT / "bench" / "figures.json"
PAGE = CHECKOUT / "docs" / "performance.md"
README = CHECKOUT / "README.md"
_RATIO = re.compile(r"takes (?:[0-9.]+|a number of)( times as long as `cp -r`)")

_BEFORE = """# Performance

How long will your archive take? Time `cp -r`, `md5sum` and `sha256sum` on your machine, and multiply: this page gives ratios to
programs that ran in the same minutes on the same machine. `just bench` measures contender and reference by turns; a
ratio is the median of all pairs (least-most). `just performance FILE` generates this page from `just bench --json FILE`.
"""
_WORDS = """
- **The floor** (`bench/floor.py`): two processes that trust their input and do only what must be done: divide, read, hash (MD5 and
  SHA-256), write and describe each LOB; or compare METS, manifests and bytes.
- **By hand**: `cp -r` or `zipfile.extractall`, then `md5sum` and `sha256sum`, each in two processes. **The loop**: two processes read
  each file once, hash it both ways and write it.
- **Wall**, **processor** and **memory** are contender/reference; processor time and memory are sums over all processes.
- **System calls per LOB**: the difference between {many:,} and {few:,} LOBs, divided by {more:,}.
- **Time per LOB, start-up taken off**: the time beyond a run of ten LOBs. Memory is written to once before, since a virtual
  machine gets each page from its host at the first write.
"""
_NOT_COMPARABLE = """
## What is not comparable

- The floor promises nothing: no refusals, no comparison with cells, no sync, no closing check. A ratio of 1.0 is out of reach.
- `cp -r` and the sums read every byte three times and leave no package. bagit.py writes manifests and no METS.
- metsrw builds objects and judges nothing. Bare iterparse and expat discard what they read.
- In memory (tmpfs) no disk is waited for. On disk, caches are dropped before each run and files synced within it.
- Ratios to `cp` and `md5sum` differ between machines more than ratios to the floor.
"""


def page(figures: dict[str, Any]) -> str:
    """Return the page."""
    machine = figures["machine"]
    parts = [_BEFORE]
    if figures["scale"] < 1:
        parts.append(
            f"\n**These figures are of {figures['scale']:g} of the full size**, so start-up weighs more in them than it "
            "should; in most rows it outweighs the work.\n"
        )
    places = {"tmpfs": "In memory (tmpfs), cache warm", "disk": "On disk, cache cold, synced"}
    for place, title in places.items():
        rows = [row for row in figures["rows"] if row["place"] == place]
        if rows:
            parts.append(f"\n## {title}\n\n{table(rows, {})}")
    memory = f"{machine['memory'] / (1 << 30):.0f} GiB" if machine["memory"] else "memory not known"
    lobs = int(SMALL.lobs * figures["scale"])
    load = "" if (now := figures.get("load")) is None else f" Load of the machine before: {now:.1f}."
    processors = f"{machine['processors']} processors ({machine['processor']})"
    software = f"{machine['system']}, Python {machine['python']}, {machine['openssl']}"
    parts.append(
        "\n## How it was measured\n\n"
        f"{figures['date']}, metspack {machine['metspack']}: {processors}, {memory}, {software}. {lobs:,} LOBs of 10 KB, half "
        "of them compressible, and two processes, unless a row says otherwise; timed runs of each: "
        f"{_repetitions(figures)}. System calls: {figures['calls']}. `bench/figures.json` has every run.{load}\n"
    )
    few, many = figures["counted"]
    parts += (_WORDS.format(few=few, many=many, more=many - few), _NOT_COMPARABLE)
    return "".join(parts)


def _repetitions(figures: dict[str, Any]) -> str:
    numbers = sorted({len(row["contender"]["runs"]) for row in figures["rows"] if "contender" in row})
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(max(1, figures["repetitions"]))


def joined(figures: list[dict[str, Any]]) -> dict[str, Any]:
    """Return figures of one machine, scale and version as one; of each row those that come last.

    Raises ``ValueError`` for figures of different ones.
    """
    first, *further = figures
    rows = {(row["place"], row["row"]): row for row in first["rows"]}
    for each in further:
        if differing := [key for key in ("machine", "scale", "counted") if each[key] != first[key]]:
            raise ValueError(f"figures of another {' and '.join(differing)} cannot stand in one table")
        rows |= {(row["place"], row["row"]): row for row in each["rows"]}
    return first | {"rows": list(rows.values())}


def readme(text: str, figures: dict[str, Any]) -> str:
    """Return the README with the ratio to doing it by hand."""
    ratios = [row["ratio"] for row in figures["rows"] if row["row"] == "by-hand" and "ratio" in row]
    return _RATIO.sub(rf"takes {ratios[0]:.1f}\1", text) if ratios else text


def baseline() -> dict[str, Any]:
    """Return the figures that later ones are compared with."""
    kept: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8"))["baseline"]
    return kept


def main() -> None:
    """Write the page, the README and the figures kept."""
    files = [Path(each) for each in sys.argv[1:] if each != "--baseline"] or [FIGURES]
    figures = joined([json.loads(file.read_text(encoding="utf-8")) for file in files])
    figures.pop("baseline", None)
    figures["baseline"] = {**figures} if "--baseline" in sys.argv else baseline()
    PAGE.write_text(page(figures), encoding="utf-8")
    README.write_text(readme(README.read_text(encoding="utf-8"), figures), encoding="utf-8")
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
