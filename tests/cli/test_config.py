"""Options from ``metspack.toml`` and from variables: each option, the order, and what is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperArgument, TyperOption

from metspack.cli.app import Commands as All
from metspack.cli.app import command as root
from tests.cli.conftest import Commands
from tests.laws import spread
from tests.tables import read_table, tabled

CONFIGURED = [name for name in All() if name != "help"]
FILE = "metspack.toml"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, without settings."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(text: str) -> None:
    Path(FILE).write_text(text, encoding="utf-8")


def parsed(name: str, *arguments: str, but: str = "") -> dict[str, Any]:
    """Return what a call of a command has for each parameter, without running it.

    What the command requires is given too, ``but`` one option.
    """
    words = [*arguments]
    for each in All()[name].params:
        if each.required and each.opts[-1] != f"--{but}":
            words += ["x"] if isinstance(each, TyperArgument) else [each.opts[-1], "x"]
    above = typer.Context(root, info_name="metspack", **root.context_settings)
    found: dict[str, Any] = All()[name].make_context(name, words, parent=above).params
    return {key: value for key, value in found.items() if key != "config"}


def sample(option: TyperOption) -> str | list[str] | bool | int:
    """Return a value of an option as TOML has it."""
    if option.is_flag:
        return True
    if option.multiple:
        return ["a b", "c:d,e", "f"]
    return 3 if option.type_descriptor.annotation is int else "a b"


def as_arguments(key: str, value: str | list[str] | bool | int) -> list[str]:
    if value is True:
        return [f"--{key}"]
    return [f"--{key}={each}" for each in (value if isinstance(value, list) else [value])]


def as_variable(value: str | list[str] | bool | int) -> str:
    return "\n".join(value) if isinstance(value, list) else str(value)


@pytest.mark.parametrize("name", spread(CONFIGURED, 3))
def test_all_ways_set_every_option(here: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    default = parsed(name)
    shown = {each for each in All()[name].params if isinstance(each, TyperOption) and not each.hidden}
    assert {*All()[name].settable.values()} == {each for each in shown if each.name != "config"}
    for key, option in All()[name].settable.items():
        value = sample(option)
        given = parsed(name, *as_arguments(key, value), but=key)
        assert given != default, key
        variable = f"METSPACK_{name}_{key}".upper().replace("-", "_")
        with monkeypatch.context() as patched:
            patched.setenv(variable, as_variable(value))
            assert parsed(name, but=key) == given, key
        write(f"[{name}]\n{key} = {json.dumps(value)}\n")
        assert parsed(name, but=key) == given, key
        (here / FILE).unlink()


@pytest.mark.parametrize("name", spread(CONFIGURED, 3))
def test_the_whole_help_lists_every_variable_and_the_short_one_none(metspack: Commands, name: str) -> None:
    whole = metspack.fine(name, "--help-all").split()
    assert {each.envvar for each in All()[name].settable.values()} <= {each.rstrip("]") for each in whole}
    assert "METSPACK_" not in metspack.fine(name, "--help")
    assert "METSPACK_" not in metspack(name, "--nosuch").err


def test_order_of_the_settings(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for line, variable, file in product((True, False), repeat=3):
        write("[build]\nmax-files = 3\n" if file else "")
        with monkeypatch.context() as patched:
            if variable:
                patched.setenv("METSPACK_BUILD_MAX_FILES", "2")
            found = parsed("build", *(("--max-files", "1") if line else ()))["max_files"]
        assert found == ("1" if line else "2" if variable else "3" if file else None)
    assert (here / FILE).exists()


@pytest.mark.parametrize(
    ("variable", "text", "parameter", "expected"),
    [
        ("LOB_ROOT", "a b\nc:d\n", "lob_root", [Path("a b"), Path("c:d")]),
        ("AGENT", "A B\u2028C", "agent", ["A B\u2028C"]),
        ("VERIFY", "false", "verify", False),
        ("HREF", "", "href", "relative"),
    ],
)
def test_a_variable(  # noqa: PLR0917 -- two fixtures and a case
    here: Path, monkeypatch: pytest.MonkeyPatch, variable: str, text: str, parameter: str, expected: object
) -> None:
    assert here
    monkeypatch.setenv(f"METSPACK_BUILD_{variable}", text)
    found = parsed("build")[parameter]
    assert (list(found) if isinstance(expected, list) else found) == expected


def test_other_variables_are_ignored(metspack: Commands, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert here
    before = metspack.fine("explain", "L001")
    for name in ("VERSION", "JSON", "HELP", "EXPLAIN_HELP", "EXPLAIN_CODE", "MAX_FILES"):
        monkeypatch.setenv(f"METSPACK_{name}", "0.1.0")
    assert metspack.fine("explain", "L001") == before


# Which file


def test_config_names_another_file(metspack: Commands, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("[plan]\nmax-files = 3\n")
    (here / "other.toml").write_text("\ufeff[plan]\nmax-files = 4\n", encoding="utf-8")
    assert parsed("plan", "--config", "other.toml")["max_files"] == "4"
    monkeypatch.setenv("METSPACK_CONFIG", "other.toml")
    assert parsed("plan")["max_files"] == "4"
    outcome = metspack("plan", "x.siard", "--config", "none.toml")
    assert (outcome.code, outcome.err.splitlines()[0]) == (
        2,
        "error: none.toml: cannot be read: No such file or directory",
    )


def test_no_folder_above_is_searched(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("[plan]\nmax-files = 3\n")
    (here / "below").mkdir()
    monkeypatch.chdir(here / "below")
    assert parsed("plan")["max_files"] is None


@pytest.mark.parametrize("mode", [0o1777, 0o703])
def test_a_file_in_a_world_writable_folder_is_skipped(metspack: Commands, here: Path, mode: int) -> None:
    write("no toml at all\n")
    here.chmod(mode)
    outcome = metspack("explain", "L001")
    assert outcome.code == 0
    assert outcome.err == (
        "warning: metspack.toml is not read: everybody may write to this folder; "
        "--config metspack.toml reads it anyway\n"
    )
    assert metspack("explain", "L001", "--config", FILE).code == 2
    here.chmod(0o755)
    assert metspack("explain", "L001").code == 2


def test_help_reads_no_file(metspack: Commands, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = "check"
    write("no toml at all\n")
    assert "Usage" in metspack.fine(command, "--help")
    assert metspack(command, "x").code == 2
    for name, value in (("_METSPACK_COMPLETE", "complete_bash"), ("COMP_CWORD", "2")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COMP_WORDS", f"metspack {command} --js")
    assert "--json" in metspack.fine()
    assert here


# What is refused

REFUSED = read_table(__file__, "refused") | {
    "[build]\njobs = 0x" + "f" * 9999: (
        "'jobs' in [build]: expected text or a whole number, found a number",
        "",
    )
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_wrong_in_a_file(metspack: Commands, here: Path, text: str) -> None:
    assert here
    write(text)
    outcome = metspack("plan", "x.siard")
    assert (outcome.code, outcome.out) == (2, "")
    message, hint = REFUSED[text]
    error, *_, last = outcome.err.splitlines()
    assert error.startswith(f"error: {FILE}: {message}")
    assert last.startswith("hint: ")
    assert hint in last


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.mkdir(), "cannot be read: Is a directory"),
        (os.mkfifo, "cannot be read: metspack.toml is not a regular file"),
        (lambda path: path.symlink_to("nowhere"), "cannot be read: No such file or directory"),
        (lambda path: path.write_bytes(b"a = '\xff'"), "not TOML in UTF-8: "),
        (lambda path: path.write_bytes(b"#" * ((1 << 20) + 1)), "larger than 1,048,576 bytes"),
    ],
    ids=["folder", "pipe", "link", "encoding", "size"],
)
def test_unreadable_file(metspack: Commands, here: Path, make: Callable[[Path], object], words: str) -> None:
    make(here / FILE)
    outcome = metspack("plan", "x.siard")
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {FILE}: {words}")


@tabled
def test_an_error_about_a_value_names_what_set_it(  # noqa: PLR0917 -- three fixtures and a case
    metspack: Commands, here: Path, northwind: Path, monkeypatch: pytest.MonkeyPatch, command: str,
    key: str, value: str, words: str,
) -> None:  # fmt: skip
    def origin() -> str:
        outcome = metspack(command, northwind)
        assert outcome.code == 2
        assert outcome.err.startswith(f"error: {words}")
        return outcome.err.splitlines()[1]

    write(f"[{command}]\n{key} = {value if value == 'true' else json.dumps(value)}\n")
    assert origin() == f"  --{key} is set by [{command}] in {FILE}"
    (here / FILE).unlink()
    variable = f"METSPACK_{command}_{key}".upper().replace("-", "_")
    monkeypatch.setenv(variable, value)
    assert origin() == f"  --{key} is set by {variable}"
