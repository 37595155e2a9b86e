"""The console transcripts of README.md and docs/: every command is run, and must print what stands there."""

from __future__ import annotations

import difflib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from metspack import cli
from tests.conftest import CHECKOUT
from tests.stores.conftest import ENVIRONMENT, loopback, s3
from tests.tables import tabled

__all__ = ["loopback", "s3"]  # fixtures

DOCUMENTS = sorted(
    path
    for path in (CHECKOUT / "README.md", *(CHECKOUT / "docs").rglob("*.md"))
    if "```console" in path.read_text(encoding="utf-8")
)
_LONG = {
    f"{each}.md"
    for each in ("build", "configuration", "csip", "deliveries", "ingest", "restoring", "scale", "stores")
}
_FENCE = re.compile(r"^( *)```console\s*\n(.*?)^\1```\s*$", re.MULTILINE | re.DOTALL)
_KEPT = ("LANG", "TMPDIR", "PYTHONPYCACHEPREFIX", *ENVIRONMENT)
_EXIT = re.compile(r"\(exit ([0-9]+)\)")
_FOR_A_SHELL = re.compile(r"[|;&<>$`*?(){}#!~\n=]")
ANYTHING = "..."
"""Alone on a line of the expected output, it stands for any number of lines."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """A command of a transcript with its output, stdout and stderr together, and exit code."""

    line: int
    command: str
    output: tuple[str, ...]
    code: int


def steps(document: str) -> Iterator[Step]:
    """Yield the commands of a document's console blocks in order."""
    for block in _FENCE.finditer(document):
        line = document.count("\n", 0, block.start(2)) + 1
        rows = [row.removeprefix(block[1]) for row in block[2].splitlines()]
        starts = [number for number, row in enumerate(rows) if row.startswith("$ ")]
        assert starts[:1] == [0], f"line {line}: a console block begins with a command ($ ...)"
        for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True):
            command, output = [rows[start][2:]], rows[start + 1 : stop]
            while command[-1].endswith("\\"):
                command.append(output.pop(0).removeprefix("> "))
            code = 0
            if output and (stated := _EXIT.fullmatch(output[-1])):
                code = int(stated[1])
                output.pop()
            yield Step(line=line + start, command="\n".join(command), output=tuple(output), code=code)


def matches(expected: tuple[str, ...], found: list[str]) -> bool:
    """Tell whether lines are as expected, ``...`` standing for any number of them."""
    pattern = "".join(r"(?:.*\n)*" if row == ANYTHING else f"{re.escape(row)}\n" for row in expected)
    return re.fullmatch(pattern, "".join(f"{row}\n" for row in found)) is not None


Result = tuple[int, str]
"""An exit code and the output."""


def by_shell(command: str, folder: Path, environment: dict[str, str]) -> Result:
    """Run a command as a person does."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout


def at_once(command: str, folder: Path, environment: dict[str, str]) -> Result:
    """Run a command in this process unless it needs a shell, which takes longer."""
    if _FOR_A_SHELL.search(command) or not command.startswith("metspack "):
        return by_shell(command, folder, environment)
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ.keys() - environment.keys():
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        for name in ("stdout", "stderr"):
            patch.setattr(sys, name, printed)
        patch.setattr(sys, "argv", shlex.split(command))
        code = cli._run()
    return code, printed.buffer.getvalue().decode()


def run(
    document: str, folder: Path, commands: Path, ran: Callable[[str, Path, dict[str, str]], Result] = by_shell
) -> Iterator[str]:
    """Run a document's commands in a folder in turn; yield the differences."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment = kept | {
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "COLUMNS": "100",
    }
    for step in steps(document):
        if step.command.startswith("export "):
            environment |= dict([step.command.removeprefix("export ").split("=", 1)])
            continue
        code, printed = ran(step.command, folder, environment)
        found = [row.rstrip() for row in printed.splitlines()]
        if not matches(step.output, found):
            differences = "\n".join(
                difflib.unified_diff(step.output, found, "expected", "found", lineterm="")
            )
            yield f"line {step.line}: $ {step.command}\n{differences}"
        if code != step.code:
            yield f"line {step.line}: $ {step.command}\nexit code {code}, expected {step.code}"


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    """A folder with ``metspack`` as this checkout has it, to be put on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "metspack"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m metspack "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return folder


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize(
    "document",
    [
        pytest.param(
            path,
            id=str(path.relative_to(CHECKOUT)),
            marks=[pytest.mark.slow] if path.name in _LONG else [],
        )
        for path in DOCUMENTS
    ],
)
def test_the_transcripts_are_true(
    document: Path, tmp_path: Path, commands: Path, request: pytest.FixtureRequest, signals: None
) -> None:
    del signals
    if document.name == "stores.md":
        request.getfixturevalue("s3")  # its environment is that of the commands
    # A cluster is reached over sockets, which tests do not open.
    ran = by_shell if document.name == "scale.md" else at_once
    folder = tmp_path / "here"
    (folder / "samples" / "northwind").mkdir(parents=True)
    for source in (CHECKOUT / "samples" / "northwind").glob("*.siard"):
        shutil.copy(source, folder / "samples" / "northwind")
    faults = list(run(document.read_text(encoding="utf-8"), folder, commands, ran))
    assert not faults, f"{document} is not true:\n\n" + "\n\n".join(faults)


@tabled
def test_an_untrue_document_is_found_out(tmp_path: Path, commands: Path, output: str, fault: str) -> None:
    document = f"```console\n$ printf 'one\\ntwo\\n'\n{output}\n```\n".replace("\n\n", "\n")
    (stated,) = run(document, tmp_path, commands)
    assert stated.startswith("line 2: $ printf")
    assert fault in stated.splitlines()


def test_a_block_without_a_command_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="begins with a command"):
        list(steps("```console\nmetspack plan\n```\n"))
