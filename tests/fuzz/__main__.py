"""Feeds the targets what atheris makes up: ``python -m tests.fuzz [--seconds 60] [--targets mets,zip]``.

Each target is a process of its own, begun with its corpus. At the end stand its executions and findings as
a table; what a target failed on is left in ``--found``, to be mended and put into the corpus.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from bench.hostile import put_section

_CORPUS = Path(__file__).parent / "corpus"
_MEMORY_MB = 512
_SECONDS_AN_INPUT = 5
_LONGEST = 1 << 14
_DONE = re.compile(r"^(?:Done (\d+) runs|#(\d+)\s)", re.MULTILINE)


def fuzz(name: str, arguments: list[str]) -> None:
    """Feed one target until libFuzzer ends; never returns."""
    atheris = import_module("atheris")  # of a group that tests do without

    with atheris.instrument_imports(include=["metspack"]):
        from tests.fuzz.targets import run  # noqa: PLC0415 -- what is imported here tells its coverage

    def once(data: bytes) -> None:
        run(name, data)

    atheris.Setup([sys.argv[0], *arguments], once)
    atheris.Fuzz()


def driven(name: str, seconds: int, found: Path) -> tuple[int, list[Path]]:
    """Fuzz a target in a process of its own; returns the executions, and files on which it failed."""
    found.mkdir(parents=True, exist_ok=True)
    before = set(found.iterdir())
    with tempfile.TemporaryDirectory() as grown:
        command = [
            *(sys.executable, "-m", "tests.fuzz", "--one", name, grown, str(_CORPUS / name)),
            f"-max_total_time={seconds}",
            f"-rss_limit_mb={_MEMORY_MB}",
            f"-timeout={_SECONDS_AN_INPUT}",
            f"-max_len={_LONGEST}",
            f"-artifact_prefix={found}/{name}-",
            "-print_final_stats=1",
        ]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        print("\n".join(done.stderr.splitlines()[-40:]), file=sys.stderr)
    return executions(done.stderr), sorted(set(found.iterdir()) - before)


def executions(told: str) -> int:
    """Return the number of executions from what libFuzzer prints while it runs and at its end."""
    return max((int(each) for match in _DONE.finditer(told) for each in match.groups() if each), default=0)


def main() -> int:
    """Fuzz the targets one after the other and print the table; 1 when one failed."""
    if sys.argv[1:2] == ["--one"]:
        fuzz(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="of each target")
    parser.add_argument("--targets", default=",".join(sorted(each.name for each in _CORPUS.iterdir())))
    parser.add_argument("--found", type=Path, default=Path(".fuzz"))
    parser.add_argument("--page", type=Path, help="put the table into this page, such as docs/reliability.md")
    options = parser.parse_args()
    lines = ["| target | seconds | executions | findings |", "|---|---:|---:|---:|"]
    failed = False
    print("\n".join(lines), flush=True)
    for name in options.targets.split(","):
        executions, found = driven(name, options.seconds, options.found.absolute())
        failed |= bool(found)
        lines.append(f"| {name} | {options.seconds} | {executions:,} | {len(found)} |")
        print(lines[-1], flush=True)
    if options.page:
        put_section(options.page, "fuzzing", "\n".join(lines) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
