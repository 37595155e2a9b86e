"""Feeds the targets what atheris makes up: ``python -m tests.fuzz [--seconds 60] [--targets mets,zip]``.

Each target is a process of its own, begun with its corpus. At the end stand its executions and findings as
a table; what a target failed on is left in ``--found``, to be mended and put into the corpus. ``--page`` puts
the table into a page, with ``--add`` the sum with what stands there.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from tests.pages import put_section

_CORPUS = Path(__file__).parent / "corpus"
_MEMORY_MB = 512
_SECONDS_AN_INPUT = 5
_LONGEST = 1 << 14
_SECTION = "fuzzing"
_HEAD = ("| target | seconds | executions | findings |", "|---|---:|---:|---:|")
_ROW = re.compile(r"^\| (\S+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", re.MULTILINE)
_TOOK = re.compile(r"^Executed .* in (\d+) ms$", re.MULTILINE)
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


class Figures(NamedTuple):
    """The input of a target."""

    seconds: int
    executions: int
    findings: int


def driven(name: str, seconds: int, found: Path) -> tuple[Figures, list[Path]]:
    """Fuzz a target in its process up to the first failing input; returns those files.

    An input that took too long, but does not when it is tried again, waited for the machine: it is no
    finding, and another process goes on. Of one that was ended so the seconds at work count.
    """
    found.mkdir(parents=True, exist_ok=True)
    used, executed = 0.0, 0
    with tempfile.TemporaryDirectory() as grown:
        while (left := round(seconds - used)) > 0:
            before, busy = set(found.iterdir()), _seconds_at_work()
            command = [
                *(sys.executable, "-m", "tests.fuzz", "--one", name, grown, str(_CORPUS / name)),
                f"-max_total_time={left}",
                f"-rss_limit_mb={_MEMORY_MB}",
                f"-timeout={_SECONDS_AN_INPUT}",
                f"-max_len={_LONGEST}",
                f"-artifact_prefix={found}/{name}-",
                "-print_final_stats=1",
            ]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
            executed += executions(done.stderr)
            used += _seconds_at_work() - busy if done.returncode else left
            if new := sorted(set(found.iterdir()) - before):
                if not all(is_slow_by_chance(name, each) for each in new):
                    print("\n".join(done.stderr.splitlines()[-40:]), file=sys.stderr)
                    return Figures(round(used), executed, len(new)), new
                for each in new:
                    each.unlink()
            elif done.returncode:
                raise SystemExit("\n".join(done.stderr.splitlines()[-40:]))
    return Figures(round(used), executed, 0), []


def _seconds_at_work() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def is_slow_by_chance(name: str, input_: Path) -> bool:
    """Return whether an input timed out, but is done soon in one of three more runs."""
    if not input_.name.startswith(f"{name}-timeout-"):
        return False
    for _ in range(3):
        command = [sys.executable, "-m", "tests.fuzz", "--one", name, str(input_)]
        printed = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False
        ).stderr
        if (took := _TOOK.search(printed)) and int(took[1]) < 1000 * _SECONDS_AN_INPUT:
            return True
    return False


def executions(printed: str) -> int:
    """Return the number of executions from the output of libFuzzer."""
    return max((int(each) for match in _DONE.finditer(printed) for each in match.groups() if each), default=0)


def standing(page: Path) -> dict[str, Figures]:
    """Return the figures of the table in a page."""
    table = page.read_text(encoding="utf-8").partition(f"<!-- {_SECTION} -->")[2]
    rows = _ROW.findall(table.partition(f"<!-- end of {_SECTION} -->")[0])
    return {name: Figures(*(int(each.replace(",", "")) for each in row)) for name, *row in rows}


def table(figures: Mapping[str, Figures]) -> str:
    """Return figures as a table in Markdown, with their sum."""
    rows = {**figures, "all": Figures(*map(sum, zip(*figures.values(), strict=True)))}
    return "\n".join([*_HEAD, *(table_line(name, row) for name, row in rows.items())]) + "\n"


def table_line(name: str, row: Figures) -> str:
    """Return the figures of a target as a line of the table."""
    return f"| {name} | {row.seconds:,} | {row.executions:,} | {row.findings} |"


def main() -> int:
    """Fuzz the targets one after the other and print the table; 1 when one failed."""
    if sys.argv[1:2] == ["--one"]:
        fuzz(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="of each target")
    parser.add_argument("--targets", default=",".join(sorted(each.name for each in _CORPUS.iterdir())))
    parser.add_argument("--found", type=Path, default=Path(".fuzz"))
    parser.add_argument("--page", type=Path, help="put the table into this page, such as docs/reliability.md")
    parser.add_argument("--add", action="store_true", help="to the figures of earlier runs in that page")
    options = parser.parse_args()
    if options.add and not options.page:
        parser.error("--add needs --page")
    print("\n".join(_HEAD), flush=True)
    rows: dict[str, Figures] = {}
    for name in options.targets.split(","):
        rows[name], _found = driven(name, options.seconds, options.found.absolute())
        print(table_line(name, rows[name]), flush=True)
    if options.page:
        earlier = standing(options.page) if options.add else {}
        names = sorted({*rows, *earlier} - {"all"})
        of_both = {name: [of[name] for of in (rows, earlier) if name in of] for name in names}
        summed = {name: Figures(*map(sum, zip(*both, strict=True))) for name, both in of_both.items()}
        put_section(options.page, _SECTION, table(summed))
    return int(any(row.findings for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
