"""A build killed at random moments and gone on with: bytes as undisturbed, copied hardly more than once.

``python -m bench.resuming ARCHIVE FOLDER [KILLS]`` needs an archive of many LOBs (``bench.data``); it ends
with 1 where what is promised is not kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

_LIMITS = ("--max-files", "1000", "-q")


_START = 0.9  # seconds before a run does anything new
_MOST = 1.2  # times the bytes that are copied in all


def digest(folder: Path) -> str:
    """Return one digest of all names and bytes below a folder."""
    told = hashlib.sha256()
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        told.update(str(path.relative_to(folder)).encode() + b"\0")
        told.update(hashlib.sha256(path.read_bytes()).digest())
    return told.hexdigest()


def main(archive: Path, folder: Path, kills: int) -> int:
    """Kill and resume; print what came of it, and return the exit code."""
    command = [sys.executable, "-m", "metspack", "build", str(archive.resolve()), *_LIMITS]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1777636800"}
    gold, out = folder / "gold", folder / "out"
    began = time.monotonic()
    subprocess.run([*command, "-o", str(gold)], env=environment, check=True)
    seconds = time.monotonic() - began
    dice = random.Random(20)  # noqa: S311 -- moments, no secrets
    whole = sum(each.stat().st_size for each in gold.rglob("record*"))
    placed = planned = stopped = lost = 0
    for _ in range(kills):
        run = subprocess.Popen([*command, "-o", str(out)], env=environment)
        time.sleep(dice.uniform(0.5, 1.5) * (seconds / kills + _START))
        run.kill()
        run.wait()
        stopped += 1
        if not out.with_name("out.partial").exists():
            break
        lines = (out.with_name("out.partial") / "journal.jsonl").read_text().splitlines()
        events = [json.loads(each) for each in lines if each.endswith("}")]
        planned = sum(each["event"] == "planned" for each in events)
        recorded = {each["number"]: each["bytes"] for each in events if each["event"] == "segment"}
        before, placed = placed, sum(recorded.values())
        found = (each.stat().st_size for each in (out.with_name("out.partial") / "package").rglob("record*"))
        again = max(0, sum(found) - placed)  # of segments that were not finished: they are copied once more
        lost += again
        print(
            f"kill {stopped}: {planned} plan, {placed:,} of {whole:,} bytes, {placed - before:,} new, "
            f"{again:,} to be copied again"
        )
    if not out.exists():
        subprocess.run([*command, "-o", str(out)], env=environment, check=True)
    is_same = digest(out) == digest(gold)
    factor = 1 + lost / whole
    print(
        f"{stopped} kills, {planned} plan, {factor:.2f} times the bytes copied; "
        f"package {'the same' if is_same else 'DIFFERENT'}"
    )
    return 0 if is_same and planned <= 1 and factor <= _MOST else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), int((*sys.argv, "10")[3])))
