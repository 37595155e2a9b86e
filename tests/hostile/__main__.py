"""Hostile input, and its cost for metspack: ``python -m tests.hostile``, or ``just hostile``.

Each input is made at two sizes, and each command that meets it runs in a process of its own. It is to end
below 10 seconds, or to be refused within 1 second, with at most 256 MB; four times the size may take about
four times as long. The seconds are those of the processor, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measuring import Watch, environment
from tests.hostile.inputs import INPUTS, Hostile
from tests.pages import put_section

SECONDS = 10.0
REFUSED = 1.0
MEMORY = 256_000_000
SHOWN_SECONDS = 5.0
SHOWN_MEMORY = 100_000_000
_LIMIT = 20  # seconds of the processor after which a run is ended
_WAIT = 1200.0  # seconds after which one is ended that does nothing
_QUARTER = 4
_STEEP = 6.0  # four times as much is to take about four times as long
_SHORT = 0.5  # seconds below which a ratio is of nothing but the start
_REFUSALS = (3, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """The outcome of one run: ``code`` is None when it was ended; ``news`` is the first line of its news."""

    seconds: float
    processor: float
    memory: int
    code: int | None
    news: str


def tried(command: Sequence[str]) -> Met:
    """Run a command of metspack in a process of its own and watch it and all that it begins."""
    program = [sys.executable, "-m", "metspack", *command]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        with subprocess.Popen(
            program, stdout=out, stderr=err, env=environment(), start_new_session=True
        ) as process:
            watch = Watch(process.pid)
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (_LIMIT, _LIMIT))
            timer = threading.Timer(_WAIT, os.killpg, (process.pid, signal.SIGKILL))
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            seconds = time.perf_counter() - began
            process.returncode = os.waitstatus_to_exitcode(status)
            memory, _largest = watch.end()
        return Met(
            seconds=seconds,
            processor=usage.ru_utime + usage.ru_stime,
            memory=memory,
            code=process.returncode if process.returncode >= 0 else None,
            news=_news(_read(out), _read(err)),
        )


def _read(file: Any) -> list[str]:
    file.seek(0)
    return [line for line in file.read(1 << 16).decode(errors="replace").splitlines() if line.strip()]


def _news(out: list[str], err: list[str]) -> str:
    """Return the error, or the last line of the result."""
    first = next((line for line in err if line.startswith("error:")), "")
    return (first or (out or err or [""])[-1])[:160]


def met(input_: Hostile, line: str, size: int, folder: Path) -> Met:
    """Make an input of a size, run a command on it, and remove it with all that was made of it."""
    path = input_.make(folder / "in", size)
    try:
        return tried([part.format(path, out=folder / "out") for part in shlex.split(line)])
    finally:
        for made in folder.iterdir():
            shutil.rmtree(made) if made.is_dir() else made.unlink()


def row(input_: Hostile, line: str, scale: float, folder: Path, *, has_ratio: bool = True) -> dict[str, Any]:
    """Return a row as JSON has it: the run at full size, and the ratio to one of a quarter if wanted."""
    size = max(_QUARTER, round(input_.size * scale))
    whole = met(input_, line, size, folder)
    is_long = has_ratio and whole.code is not None and whole.processor >= _SHORT
    part = met(input_, line, size // _QUARTER, folder) if is_long else None
    is_refused = whole.code in _REFUSALS or (" X003 " in whole.news)
    ratio = None if part is None else whole.processor / part.processor
    wrong = [
        *(["not ended"] if whole.code is None else []),
        *(["a fault"] if whole.code not in {0, 1, 2, 3, 4, 5, None} else []),
        *(["time"] if whole.processor > SECONDS else []),
        *(["memory"] if whole.memory > MEMORY else []),
        *(["growth"] if ratio is not None and ratio > _STEEP else []),
    ]
    return {
        "input": input_.name,
        "title": input_.title,
        "size": size,
        "command": _called(line),
        "seconds": round(whole.seconds, 2),
        "processor": round(whole.processor, 2),
        "memory": whole.memory,
        "exit": whole.code,
        "refused": is_refused,
        "ratio": None if ratio is None else round(ratio, 1),
        "microseconds": round(1e6 * whole.processor / size, 2),
        "said": whole.news,
        "wrong": wrong,
    }


def chosen(names: str | None) -> Iterator[Hostile]:
    """Yield the inputs of these names, divided by commas; all without. Raises ``SystemExit``."""
    wanted = None if names is None else names.split(",")
    if unknown := set(wanted or ()) - {each.name for each in INPUTS}:
        raise SystemExit(f"no such input: {', '.join(sorted(unknown))}")
    yield from (each for each in INPUTS if wanted is None or each.name in wanted)


def _called(line: str) -> str:
    """Return the command, and the form of its report."""
    return f"{line.partition(' ')[0]} {line.rpartition('.')[2] if '.' in line else ''}".strip()


HEAD = """| input | size | command | seconds | processor | MB | x 4 | exit | |
|---|---:|---|---:|---:|---:|---:|---:|---|"""


def table_line(row: dict[str, Any]) -> str:
    """Return a row of the Markdown table."""
    ratio = "" if row["ratio"] is None else f"{row['ratio']:.1f}"
    code = "ended by us" if row["exit"] is None else row["exit"]
    wrong = f"**{', '.join(row['wrong'])}**" if row["wrong"] else ""
    return (
        f"| {row['title']} | {row['size']:,} | {row['command']} | {row['seconds']:.1f} "
        f"| {row['processor']:.1f} | "
        f"{row['memory'] / 1e6:.0f} | {ratio} | {code} | {wrong} |"
    )


def page_text(rows: Sequence[dict[str, Any]]) -> str:
    """Return the number of runs, and the table of those that took much or broke a bound."""
    wrong = sum(bool(each["wrong"]) for each in rows)
    shown = [each for each in rows if each["wrong"] or _is_costly(each)]
    first = f"{len(rows)} runs, {wrong} of them beyond a bound. Those of {SHOWN_SECONDS:.0f} seconds or "
    lines = [
        f"{first}{SHOWN_MEMORY / 1e6:.0f} MB, or beyond a bound:",
        "",
        HEAD,
        *map(table_line, shown),
    ]
    return "\n".join(lines) + "\n"


def _is_costly(run: dict[str, Any]) -> bool:
    return bool(run["processor"] >= SHOWN_SECONDS or run["memory"] >= SHOWN_MEMORY)


def main() -> int:
    """Measure, print the table, write JSON; 1 when a bound does not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--inputs", help="only these, divided by commas")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"))  # noqa: S108 -- a fresh folder in it
    parser.add_argument("--page", type=Path, help="put the table into this page, such as docs/reliability.md")
    parser.add_argument("--of", type=Path, help="take the figures from this JSON and measure nothing")
    parser.add_argument("--no-ratio", action="store_true", help="run nothing at a quarter of its size")
    parser.add_argument("--said", action="store_true", help="print what was said, too")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{each.name:18} {each.size:>17,} {each.title}" for each in INPUTS))
        return 0
    if options.of:
        put_section(options.page, "hostile input", page_text(json.loads(options.of.read_text())["rows"]))
        return 0
    rows = []
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory(prefix="metspack-hostile-", dir=options.folder) as folder:
        for each in chosen(options.inputs):
            for line in each.commands:
                rows.append(row(each, line, options.scale, Path(folder), has_ratio=not options.no_ratio))
                print(table_line(rows[-1]), flush=True)
                if options.said:
                    print(f"    {rows[-1]['said']}", flush=True)
    if options.json:
        options.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
    if options.page:
        put_section(options.page, "hostile input", page_text(rows))
    return int(any(each["wrong"] for each in rows))


if __name__ == "__main__":
    sys.exit(main())
