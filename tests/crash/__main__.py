"""``python -m tests.crash``: disturb calls of every command, and print what became of it."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.crash import control
from tests.crash.worker import options

CHECKOUT = Path(__file__).resolve().parents[2]
_COLUMNS = ("failed calls", "signals", "kills", "states", "violations")
PAGE = CHECKOUT / "docs" / "reliability.md"
_TABLE = re.compile(r"\| command \| calls \|.*\n(?:\|.*\n)*")
_PROGRAM = "from tests.crash.worker import main; main()"
_MEMORY = Path("/dev/shm")  # noqa: S108 -- the harness's own folder is made there: nothing waits for a disk


def results(arguments: Sequence[str], jobs: int) -> Iterator[dict[str, Any]]:
    """Yield what the workers tell; raises ``control.NoCompilerError``."""
    memory = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="crash-", dir=memory))
    try:
        shim = control.build(folder)
        workers = []
        for share in range(jobs):
            (folder / str(share)).mkdir()
            environment = os.environ | {
                "LD_PRELOAD": str(shim),
                "CRASH_CONTROL": str(folder / f"control{share}"),
                "PYTHONPATH": str(CHECKOUT),
            }
            (folder / f"control{share}").write_bytes(bytes(4096))
            words = [str(folder / str(share)), str(share), str(jobs), *arguments]
            with (folder / f"trials{share}").open("wb") as output:
                workers.append(
                    subprocess.Popen([sys.executable, "-c", _PROGRAM, *words], env=environment, stdout=output)
                )
        codes = [each.wait() for each in workers]
        for share in range(jobs):
            for line in (folder / f"trials{share}").read_text(encoding="utf-8").splitlines():
                yield json.loads(line)
        if any(codes):
            raise SystemExit(f"a worker of the harness failed: {codes}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _table(trials: Sequence[dict[str, Any]]) -> str:
    """Return the table of trials, by command."""
    calls: dict[str, int] = {}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for each in trials:
        name = each["command"]
        calls.setdefault(name, each.get("calls", 0))
        if "fault" in each:
            counts[name][_column(each["fault"])] += 1
            counts[name]["violations"] += bool(each["violations"])
    counts["all"] = sum(counts.values(), Counter())
    calls["all"] = sum(calls.values())
    rows = [
        f"| {name} | {calls[name]:,} | " + " | ".join(f"{counts[name][each]:,}" for each in _COLUMNS) + " |"
        for name in calls
    ]
    head = f"| command | calls | {' | '.join(_COLUMNS)} |"
    return "\n".join([head, "|---" + "|---:" * (len(_COLUMNS) + 1) + "|", *rows]) + "\n"


def _column(fault: str) -> str:
    if fault.startswith("power"):
        return "states"
    if fault.startswith("kill"):
        return "kills"
    return "signals" if fault.startswith("SIG") else "failed calls"


def main() -> None:
    """Run the workers, print the table and what broke a law; exit 1 when anything did."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", parents=[options()])
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--json", type=Path, help="write all that was tried to this file, as lines of JSON")
    parser.add_argument("--write", action="store_true", help=f"write the table to {PAGE.name}")
    chosen = parser.parse_args()
    own = {"jobs", "json", "write"}
    passed = [
        f"--{name}={each}"
        for name, value in vars(chosen).items()
        if name not in own and value is not None
        for each in (value if isinstance(value, list) else [value])
    ]
    trials = list(results(passed, chosen.jobs))
    if chosen.json:
        chosen.json.write_text("".join(f"{json.dumps(each)}\n" for each in trials), encoding="utf-8")
    broken = [each for each in trials if each.get("violations")]
    for each in broken:
        where = f"--command {each['command']!r} --fault {each['fault']!r} --at {each['at']}"
        laws = "".join(f"    {law}\n" for law in each["violations"])
        sys.stdout.write(f"{where} ({each['operation']} {each['path']}):\n{laws}")
    table = _table(trials)
    sys.stdout.write(table)
    if chosen.write:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(_TABLE.sub(lambda _: table, text), encoding="utf-8")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
