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

from bench.results import ratios, table
from bench.rows import SMALL
from bench.store import CHECKOUT

FIGURES = CHECKOUT / "bench" / "figures.json"
PAGE = CHECKOUT / "docs" / "performance.md"
README = CHECKOUT / "README.md"
_RATIO = re.compile(r"takes (?:[0-9.]+|a number of)( times as long as `cp -r`)")

_BEFORE = """# Performance

How long will your archive take? Compare with `cp -r`, `md5sum` and `sha256sum` on your own machine: speed is shown here as a
ratio to something that was measured in the same minutes on the same machine, for absolute times say more about the machine
than about the program. `just bench` measures contender and reference by turns; a ratio here is the median of the ratios
of the runs, with the least and the most. `just performance FILE` writes this page from the figures of `just bench --json
FILE`.
"""
_WORDS = """
- **The floor** (`bench/floor.py`) is a program of two processes that trusts its input and does only what must be done:
  divide, read each LOB once, hash it by MD5 and SHA-256, write it, and describe it in METS and both manifests; its check
  compares METS (validated by the same schema that metspack uses), both manifests and every byte.
- **By hand** is `cp -r` or Python's `zipfile.extractall`, then `md5sum` and `sha256sum`, each by two processes: copies
  and sums, but no METS, no limits on folders, and nothing proven.
- **Now / then** is the ratio divided by that of the baseline, which `bench/figures.json` keeps: of another hour. `just bench
  --then DIR` runs another checkout by turns with this one.
- **Wall**, **processor** time and **memory** are those of contender / reference, processor time and memory of all their
  processes together: the largest sum of their resident memory, in which what they share counts each time.
- **System calls per LOB** are counted with {few:,} and {many:,} LOBs, and the difference is divided by {more:,}, so that the
  start of the program is no part of them.
- **Calls that sync** are fsync, syncfs and the like in a run on disk, with the seconds that all processes together waited in
  them, and how long that run took; it is a run of its own, in which strace looks at these calls alone.
- **Time per LOB, start-up taken off**, is what a run takes longer than one of ten LOBs. Before a row as much memory is written to
  and given back as its files take: a virtual machine gets each page from its host when it is first written to, which takes
  about half as long again as all the work of the kernel, and the largest run, which comes first to most of the memory, would
  pay for it. `pace-floor-1m` is how the floor's time grows.
"""
_NOT_COMPARABLE = """
## What is not comparable

- The floor promises nothing: no refusal of links or of paths that lead out of the source, no comparison with lengths in
  cells, no word about faults, no sync to disk, no check before it publishes. A build by metspack does all that, so 1.0 is
  not to be reached.
- `cp -r` and the sums read every byte three times and leave no package. bagit.py writes one manifest for all and no METS;
  its copy is made with `cp -r` first, because it changes a folder in place.
- metsrw builds objects of all it reads and judges nothing; the check beside it starts a program, reads the METS, validates
  it, and looks at every file.
- Bare iterparse and bare expat keep nothing of what they read.
- `inspect --verify` reads what the floor's check reads, but compares it with other things.
- In memory (tmpfs) there is no disk to wait for: these are processor and system calls. On disk, files are dropped from the
  cache before every run and synced within it; what the disk does meanwhile is not in our hands, and its ratios vary.
- Ratios to `cp` and `md5sum` differ from machine to machine more than those to the floor, as Python, OpenSSL and the kernel
  do not become faster together.
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
            parts.append(f"\n## {title}\n\n{table(rows, ratios(figures['baseline'], place))}")
    memory = f"{machine['memory'] / (1 << 30):.0f} GiB" if machine["memory"] else "memory not known"
    lobs = int(SMALL.lobs * figures["scale"])
    load = (
        ""
        if (now := figures.get("load")) is None
        else f" The load of the machine before it began was {now:.1f}."
    )
    processors = f"{machine['processors']} processors ({machine['processor']})"
    software = f"{machine['system']}, Python {machine['python']}, {machine['openssl']}"
    parts.append(
        "\n## How it was measured\n\n"
        f"{figures['date']}, metspack {machine['metspack']}: {processors}, {memory}, {software}. {lobs:,} LOBs of 10 KB, half "
        "of which can be compressed, and two processes, where a row does not say otherwise; timed runs of each: "
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
