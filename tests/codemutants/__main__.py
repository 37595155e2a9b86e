"""Mutates the code and runs the tests on each mutant: ``python -m tests.codemutants [planner links ...]``.

mutmut makes the mutants, ``trial`` tries each in a fork of a process that has the tests loaded already.
Survivors that ``survivors.toml`` does not list are printed as it would list them, and the exit code is 1.
What was killed is not tried again while ``--work`` is kept, unless its function changes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

from tests.codemutants.groups import GROUPS, Group
from tests.codemutants.listed import KINDS, Mutant, kind_of
from tests.pages import put_section
from tests.shared_data import FOLDER

CHECKOUT = Path(__file__).resolve().parents[2]
FIGURES = Path(__file__).with_name("figures.json")
PAGE = CHECKOUT / "docs" / "reliability.md"
_SEED = 20
_MEMORY = 3 << 30  # a loop that no longer ends is a mutant too
_NEEDED = ("bench", "docs", "metspack", "samples", "schemas", "templates", "tests")
_KILLED = {1, 3}
_TIMED_OUT = {-14, -24, 24, 36, 152, 255}
_SEPARATOR = "ǁ"  # mutmut's, between class and method


def prepare(group: Group, folder: Path) -> None:
    """Make the folder in which mutmut works on a group: the checkout, by links, and its configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in _NEEDED:
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(CHECKOUT / name)
    settings = {
        "source_paths": ["metspack"],
        "only_mutate": list(group.files),
        "also_copy": [name for name in _NEEDED if name not in {"metspack", "tests"}],
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    text = (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")
    (folder / "pyproject.toml").write_text("\n".join([text, "[tool.mutmut]", *lines, ""]), encoding="utf-8")


def made(group: Group) -> Mapping[str, list[str]]:
    """Return the names of the mutants of each module; to be called in the folder of the group."""
    import_module("mutmut.configuration").reset_config()
    mutate = import_module("mutmut.mutation.file_mutation").mutate_file_contents
    return {
        module: [
            f"{file.removesuffix('.py').replace('/', '.')}.{name}"
            for name in mutate(file, Path(file).read_text(encoding="utf-8")).mutant_names
        ]
        for module, file in zip(group.modules, group.files, strict=True)
    }


def drawn(names: Sequence[str], every: int, tried: Sequence[str] = ()) -> list[str]:
    """Return one of so many names, always the same ones: of fewer, those are among them.

    What was ``tried`` before comes first, in that order: a sample stays one when the code around it changes.
    """
    chance = random.Random(_SEED)  # noqa: S311 -- seeded, so that the same are tried again
    places = {name: place for place, name in enumerate(tried)}
    order = sorted(chance.sample(names, len(names)), key=lambda name: places.get(name, len(places)))
    return sorted(order[: -(-len(names) // every)], key=names.index)


def results(file: str) -> dict[str, int | None]:
    """Return mutmut's exit code for each mutant of a file, in the folder of the group."""
    meta = Path("mutants") / f"{file}.meta"
    if not meta.exists():
        return {}
    read: dict[str, int | None] = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
    return read


def changed(name: str, file: str) -> Mutant:
    """Return what a mutant is, from mutmut's difference."""
    difference: str = import_module("mutmut.mutation.diff_apply").get_diff_for_mutant(name, path=file)
    lines = [each for each in difference.splitlines() if not each.startswith(("---", "+++", "@@"))]
    was, now = (" ".join(each[1:].strip() for each in lines if each[0] == sign) for sign in "-+")
    module, _, mangled = name.rpartition("__mutmut_")[0].rpartition(".")
    inner = mangled.removeprefix("x").strip(_SEPARATOR).replace(_SEPARATOR, ".")
    function = f"{module.removeprefix('metspack.')}.{inner if _SEPARATOR in mangled else inner[1:]}"
    return Mutant(function=function, was=was, now=now)


def run(group: Group, folder: Path, every: int, children: int, *, unlisted: bool = False) -> None:
    """Try the mutants of a group except those already killed.

    With ``unlisted`` also but those that survived the last time and are listed.
    """
    prepare(group, folder)
    with chdir(folder):
        names_of = made(group)
        make_copy()
        codes_of = {
            file: {name: code for name, code in results(file).items() if code is not None}
            for file in group.files
        }
        settled = {
            name
            for file, codes in codes_of.items()
            for name, code in codes.items()
            if code in _KILLED or (unlisted and kind_of(changed(name, file)))
        }
        tried = sorted((name for codes in codes_of.values() for name in codes), key=settled.__contains__)
        chosen = [name for of in names_of.values() for name in drawn(of, every, tried)]
        if left := [each for each in chosen if each not in settled]:
            random.Random(_SEED).shuffle(left)  # noqa: S311 -- who ends it has tried some of each module
            names = Path("names").absolute()
            names.write_text("\n".join(left), encoding="utf-8")
            command = [
                *(sys.executable, "-m", "pytest", "-n", "0", "--rootdir=.", "--tb=native", "--assert=plain"),
                "--timeout=0",  # each mutant has an alarm of its own
                *(
                    "-p",
                    "no:cacheprovider",
                    "-p",
                    "tests.codemutants.steady",
                    "-p",
                    "tests.codemutants.trial",
                ),
                *(*group.tests, "--mutants", str(names), "--children", str(children)),
            ]
            environment = {FOLDER: str(CHECKOUT.parent / "shared"), **os.environ}
            with Path("log").open("wb") as log:
                subprocess.run(command, cwd="mutants", stdout=log, stderr=log, env=environment, check=True)


def make_copy() -> None:
    """Copy the checkout into ``mutants``, with the mutants in the modules of the group."""
    mutmut = import_module("mutmut.__main__")
    Path("mutants").mkdir(exist_ok=True)
    with redirect_stdout(StringIO()):
        mutmut.copy_src_dir()
        mutmut.copy_also_copy_files()
        mutmut.create_mutants(1)


def figures_of(group: Group, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the figures of each module of a group, with its survivors: of all that were ever tried."""
    with chdir(folder):
        for module, names in made(group).items():
            file = f"metspack/{module}.py"
            codes = {name: code for name, code in results(file).items() if code is not None}
            yield module, counted(file, len(names), codes)


def counted(file: str, mutants: int, codes: Mapping[str, int | None]) -> dict[str, Any]:
    """Return the figures of a module."""
    alive = [
        changed(name, file) for name, code in codes.items() if code not in _KILLED | _TIMED_OUT | {-11, -9}
    ]
    counts = Counter(map(kind_of, alive))
    return {
        "mutants": mutants,
        "tried": len(codes),
        "killed": len(codes) - len(alive),
        "of these by time": sum(code in _TIMED_OUT for code in codes.values()),
        "survived": len(alive),
        **{kind: counts[kind] for kind in KINDS},
        "not listed": [each for each in alive if kind_of(each) is None],
    }


def table(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the figures as a table in Markdown, the modules in the order of ``groups``."""
    columns = ("mutants", "tried", "killed", "survived", *KINDS)
    lines = [f"| module | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    rows = [(name, figures[name]) for group in GROUPS for name in group.modules if name in figures]
    sums = {column: sum(row[column] for _name, row in rows) for column in columns}
    for name, row in [*((f"`{name}`", row) for name, row in rows), ("all", sums)]:
        lines.append(f"| {name} | {' | '.join(f'{row[column]:,}' for column in columns)} |")
    return "\n".join(lines) + "\n"


def as_listed(mutant: Mutant) -> str:
    """Return a mutant as a line of the list."""
    quoted = {key: json.dumps(value, ensure_ascii=False) for key, value in vars(mutant).items()}
    return f"  {{ in = {quoted['function']}, was = {quoted['was']}, now = {quoted['now']} }},"


def main() -> int:
    """Try the requested groups, print unlisted survivors and the table; 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m tests.codemutants", description=__doc__)
    parser.add_argument("groups", nargs="*", help=f"of {', '.join(each.name for each in GROUPS)}; else all")
    parser.add_argument("--every", type=int, default=1, help="one of so many mutants of each module")
    parser.add_argument("--children", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--work", type=Path, default=CHECKOUT / ".codemutants")
    parser.add_argument("--unlisted", action="store_true", help="try no survivors again that are listed")
    parser.add_argument("--known", action="store_true", help="try nothing, show what is known in --work")
    parser.add_argument("--write", action="store_true", help="keep the figures, and put them on their page")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    unlisted: list[Mutant] = []
    figures: dict[str, dict[str, Any]] = {}
    for group in (each for each in GROUPS if each.name in (options.groups or [each.name])):
        folder = options.work.absolute() / group.name
        if not options.known:
            run(group, folder, options.every, options.children, unlisted=options.unlisted)
        for module, row in figures_of(group, folder):
            unlisted += row.pop("not listed")
            figures[module] = row
    print("\n".join([*map(as_listed, unlisted), "", table(figures)]))
    if options.write:
        figures = (json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}) | figures
        FIGURES.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        put_section(PAGE, "mutation of the code", table(figures))
    return int(bool(unlisted))


if __name__ == "__main__":
    sys.exit(main())
