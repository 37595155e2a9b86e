"""Runs metspack and samples by processor time where it is: ``python -m bench.sampling FILE ARGUMENTS...``

FILE becomes JSON: the seconds of processor time, and the samples by stage, package and function. The stage
is the outermost module on the stack that is not one of those that only call others in turn; package and
function are those of the innermost code of metspack. What Python does while it imports is a stage of its
own.
"""

from __future__ import annotations

import json
import runpy
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import FrameType

_INTERVAL = 0.001  # the system's clock ticks may be longer; then so are the intervals
_CALLING = ("__main__", "cli", "api", "processes", "building.build", "checking.run")
_WAITING = ("threading.py", "queue.py", "selectors.py", "_base.py", "connection.py")


def place(frame: FrameType | None) -> tuple[str, str, str]:
    """Return stage, package and function of a stack."""
    inner = stage = ""
    package = function = "Python"
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("importlib."):
            return "imports", "imports", "imports"
        if name.startswith("metspack."):
            module = name.removeprefix("metspack.")
            if not inner:
                inner = module
                package = module.partition(".")[0] if "." in module else "(foundation)"
                function = f"{module} {frame.f_code.co_qualname}"
            if not module.startswith(_CALLING):
                stage = module
        frame = frame.f_back
    return stage or inner or "Python", package, function


class Sampler:
    """Counts places, from ``start`` to ``stop``."""

    def __init__(self) -> None:
        self.samples: Counter[tuple[str, str, str]] = Counter()

    def start(self) -> None:
        """Sample from now on."""
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, _INTERVAL, _INTERVAL)

    def stop(self) -> None:
        """Sample no longer."""
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _sample(self, _number: int, frame: FrameType | None) -> None:
        self.samples[place(self._working(frame))] += 1

    def _working(self, frame: FrameType | None) -> FrameType | None:
        """Return the frame of a thread that works, where the main one waits."""
        if frame is None or not frame.f_code.co_filename.endswith(_WAITING):
            return frame
        main = threading.main_thread().ident
        for number, other in sys._current_frames().items():  # noqa: SLF001 -- the only way to them
            if number != main and not other.f_code.co_filename.endswith(_WAITING):
                return other
        return frame


def main() -> None:
    """Run metspack with the arguments after the first."""
    target = Path(sys.argv[1])
    sys.argv = ["metspack", *sys.argv[2:]]
    sampler = Sampler()
    sampler.start()
    code: object = 0
    with suppress(KeyboardInterrupt):
        try:
            runpy.run_module("metspack", run_name="__main__")
        except SystemExit as ended:
            code = ended.code
    sampler.stop()
    samples = [[*key, number] for key, number in sampler.samples.items()]
    told = json.dumps({"processor": time.process_time(), "samples": samples})
    target.write_text(told, encoding="utf-8")
    sys.exit(code)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
