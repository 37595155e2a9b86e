"""One round of killing: a build by four workers, of which two are killed with -9 at random moments."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

from tests.cluster.hosts import Hosts, ended, metspack
from tests.trees import tree

LIMIT = ("--max-files", "2")
_SLOW = 0.25
_KILLED = 2


def make_round(folder: Path, source: Path, expected: dict[str, bytes], seed: int) -> str:
    """Do one round; return what happened in a line. Raises ``AssertionError``."""
    chance = random.Random(seed)  # noqa: S311 -- moments, not secrets
    out = folder / "out"
    with Hosts(folder / "hosts", 4, slow=_SLOW) as hosts:
        command = metspack("build", source, "-o", out, *LIMIT, "--cluster", hosts.address)
        while not hosts.attempts():
            time.sleep(0.02)
            assert command.poll() is None, ended(command)
        moments = sorted(chance.uniform(0, 1.2) for _ in range(_KILLED))
        begun = time.monotonic()
        for moment, worker in zip(moments, chance.sample(hosts.workers, _KILLED), strict=True):
            time.sleep(max(0.0, begun + moment - time.monotonic()))
            worker.send_signal(signal.SIGKILL)
        code, _, errors = ended(command)
        attempts = hosts.attempts()
    assert code == 0, errors
    assert tree(out) == expected
    assert sorted(each.name for each in folder.iterdir()) == ["hosts", "out"]
    again = len(attempts) - len(set(attempts))
    # What a killed worker had at hand: the task that it was at, and one whose result was not fetched yet.
    assert again <= 2 * _KILLED, f"{again} of {len(set(attempts))} tasks were done twice"
    said = ", ".join(f"{moment:.2f} s" for moment in moments)
    return f"seed {seed}: killed after {said}; {len(set(attempts))} segments, {again} done again; same bytes"
