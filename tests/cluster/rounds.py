"""One round of killing: a command by four workers, of which two are killed with -9 at random moments."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

from tests.cluster.hosts import Hosts, ended, metspack
from tests.trees import tree

LIMIT = ("--max-files", "2")
_SLOW = 0.25
_KILLED = 2


def make_round(folder: Path, source: Path, expected: dict[str, bytes], seed: int) -> str:
    """Build so; return what happened in a line. Raises ``AssertionError``."""
    out = folder / "out"
    with Hosts(folder / "hosts", 4, slow=_SLOW) as hosts:
        said = _kill_two(
            hosts, metspack("build", source, "-o", out, *LIMIT, "--cluster", hosts.address), seed
        )
    assert tree(out) == expected
    assert sorted(each.name for each in folder.iterdir()) == ["hosts", "out"]
    return f"seed {seed}: build {said}; same bytes"


def make_reading_round(folder: Path, package: Path, expected: dict[str, bytes], seed: int) -> str:
    """Restore and check a package so; return what happened in a line. Raises ``AssertionError``."""
    out = folder / "out"
    told = []
    for name, words in (("restore", ("restore", package, "-o", out)), ("check", ("check", package))):
        with Hosts(folder / name, 4, slow=_SLOW) as hosts:
            said = _kill_two(hosts, metspack(*words, "--cluster", hosts.address), seed)
        told.append(f"{name} {said}")
    assert tree(out) == expected
    assert sorted(each.name for each in folder.iterdir()) == ["check", "out", "restore"]
    return f"seed {seed}: {'; '.join(told)}; same bytes, nothing found"


def _kill_two(hosts: Hosts, command: subprocess.Popen[str], seed: int) -> str:
    """Kill two workers while a command is at work, which has to succeed; return what happened in words."""
    chance = random.Random(seed)  # noqa: S311 -- moments, not secrets
    while not hosts.attempts():
        time.sleep(0.02)
        assert command.poll() is None, ended(command)
    moments = sorted(chance.uniform(0, 1.2) for _ in range(_KILLED))
    begun = time.monotonic()
    for moment, worker in zip(moments, chance.sample(hosts.workers, _KILLED), strict=True):
        time.sleep(max(0.0, begun + moment - time.monotonic()))
        worker.send_signal(signal.SIGKILL)
    code, _, errors = ended(command)
    assert code == 0, errors
    attempts = Counter(hosts.tasks())
    again = attempts.total() - len(attempts)
    # What a killed worker had at hand: the task that it was at, and one whose result was not fetched yet.
    assert again <= 2 * _KILLED, f"{again} of {len(attempts)} tasks were done twice"
    said = ", ".join(f"{moment:.2f} s" for moment in moments)
    return f"killed after {said}, {again} of {len(attempts)} tasks done again"
