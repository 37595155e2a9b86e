"""A warm process in which commands are disturbed: started by ``__main__`` with the shim preloaded.

It prints a line of JSON for each command that it begins (``calls``), and for each run that it tried.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import random
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from tests.crash.commands import COMMANDS, Command
from tests.crash.control import FAULTS, UNDISTURBED
from tests.crash.power import Recording, losses, records
from tests.crash.runner import Bench, Forked, Trial, be_reaper, lost, tried

_OFTENER = 2
"""Kills are tried so many times as often as each other fault: there are few kinds of them."""


def options() -> argparse.ArgumentParser:
    """Return what can be chosen."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(
        "--every",
        type=int,
        default=1,
        help="disturb every n-th call in each way only, and kill at twice as many",
    )
    parser.add_argument("--offset", type=int, default=0, help="the first of them")
    parser.add_argument(
        "--states", type=int, default=60, help="states after a loss of power, for each command"
    )
    parser.add_argument("--seed", default="0", help="draws these states")
    parser.add_argument("--command", action="append", help="this command only")
    parser.add_argument("--fault", action="append", help="disturb in this way only")
    parser.add_argument("--at", type=int, help="disturb this call only")
    parser.add_argument(
        "--operation", action="append", help="disturb calls of this kind only: read, seek ..."
    )
    return parser


def work(chosen: argparse.Namespace, folder: Path, share: int, shares: int) -> None:
    """Try this process's share of all runs."""
    be_reaper()
    for number, command in enumerate(COMMANDS):
        if chosen.command and command.name not in chosen.command:
            continue
        with _changed(command):
            _work(chosen, command, folder / str(number), share, shares)


@contextmanager
def _changed(command: Command) -> Iterator[None]:
    """Set the constant of a command."""
    if not command.constant:
        yield
        return
    # Not by unittest.mock: what that imports would lie in each fork, and be taken apart at its end.
    module, _, name = command.constant.rpartition(".")
    owner = importlib.import_module(module)
    before = getattr(owner, name)
    setattr(owner, name, command.value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _work(chosen: argparse.Namespace, command: Command, folder: Path, share: int, shares: int) -> None:
    bench = Bench(folder, command)
    calls = _calls(bench)
    _tell(command=command.name, calls=len(calls))
    points = [
        (at, fault)
        for at, operation in enumerate(calls, start=1)
        for fault in FAULTS
        if fault.fits(operation)
        and chosen.at in {None, at}
        and (not chosen.operation or operation in chosen.operation)
        and (not chosen.fault or fault.name in chosen.fault)
        and _is_drawn(
            f"{command.name} {at} {fault.name}", chosen, command.every / (_OFTENER if fault.is_kill else 1)
        )
    ]
    for at, fault in points[share::shares]:
        _tell_of(tried(bench, fault, at))
    if chosen.fault or command.only_reads or command.is_stored:
        return
    recording, log = Recording(bench.place.root), folder / "log"
    bench.reset()
    recording = Recording(bench.place.root)
    bench.run_command(log=log)
    recording.read(log)
    chance = random.Random(f"{chosen.seed} {command.name} {share}")  # noqa: S311 -- a sample
    states = chosen.states // shares
    for name, until, drop in islice(losses(len(recording.steps), chance), states):
        _tell_of(lost(bench, recording, name, until, drop))


def _is_drawn(point: str, chosen: argparse.Namespace, rarer: float) -> bool:
    every = max(1, round(chosen.every * rarer))
    return bool(zlib.crc32(point.encode()) % every == chosen.offset % every)


def _calls(bench: Bench) -> list[str]:
    """Return the operations of an undisturbed run in order, and import its modules here."""
    log, modules = bench.folder / "calls", bench.folder / "modules"
    bench.reset()
    bench.run_command(modules=modules)
    for name in modules.read_text(encoding="utf-8").split():
        with suppress(ImportError):
            importlib.import_module(name)
    bench.warm_up()
    gc.unfreeze()  # the command line has frozen what it found
    gc.collect()
    gc.freeze()
    bench.reset()
    ended = bench.run_command(UNDISTURBED, log=log)
    assert ended.code == 0, ended
    return [words[0] for what, words, _ in records(log) if what == "call"]


def _tell(**facts: object) -> None:
    print(json.dumps(facts), flush=True)  # noqa: T201 -- what this program is for


def _tell_of(trial: Trial) -> None:
    _tell(**asdict(trial))


def _run_command_line() -> None:
    import metspack.cli  # noqa: PLC0415 -- a fork has it from its parent

    try:
        metspack.cli.main()
    finally:
        if name := os.environ.get("CRASH_MODULES"):
            Path(name).write_text("\n".join(sorted(sys.modules)), encoding="utf-8")


def main() -> None:
    """Be a worker: folder, share and number of shares stand before the options."""
    folder, share, shares, *rest = sys.argv[1:]
    try:
        work(options().parse_args(rest), Path(folder), int(share), int(shares))
    except Forked:
        pass
    else:
        return
    _run_command_line()
