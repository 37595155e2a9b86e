"""Completions that a shell gets when a person presses the tabulator key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import Commands, Outcome, Program
from tests.tables import read_table

CASES: Mapping[str, list[str]] = read_table(__file__, "proposed")


def surroundings(shell: str, words: str) -> dict[str, str]:
    """Return what a shell puts into the environment to ask what may follow."""
    line = f"metspack {words}"
    environment = {"_METSPACK_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": line}
    if shell == "bash":
        environment |= {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    if shell == "fish":
        environment["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
    return environment


def answers(outcome: Outcome, shell: str) -> set[str]:
    assert (outcome.code, outcome.err) == (0, "")
    if shell == "zsh":
        return {each.split('"')[1] for each in outcome.out.splitlines() if '"' in each}
    return {each.split("\t")[0] for each in outcome.out.splitlines()} - {""}


def completed(metspack: Commands, monkeypatch: pytest.MonkeyPatch, words: str) -> set[str]:
    for name, value in surroundings("bash", words).items():
        monkeypatch.setenv(name, value)
    return answers(metspack(), "bash")


@pytest.mark.parametrize("words", CASES)
def test_commands_options_and_values_are_completed(
    metspack: Commands, monkeypatch: pytest.MonkeyPatch, words: str, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    found = completed(metspack, monkeypatch, words)
    assert {*CASES[words]} <= found
    assert all(each.startswith(words.rpartition(" ")[2]) for each in found)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_is_answered(program: Program, shell: str, tmp_path: Path) -> None:
    words = "check --level f"
    assert answers(program(cwd=tmp_path, **surroundings(shell, words)), shell) == {*CASES[words]}


def test_a_shell_has_its_script(program: Program, tmp_path: Path) -> None:
    shell = "zsh"
    outcome = program(cwd=tmp_path, _METSPACK_COMPLETE=f"source_{shell}")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"_METSPACK_COMPLETE=complete_{shell}" in outcome.out
