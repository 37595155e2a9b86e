"""Options from files, profiles and the environment: which place counts, and what is wrong in them."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from metspack.cli.app import app
from metspack.cli.commands.config import _context
from metspack.cli.config.files import ConfigFile, project_file
from metspack.cli.config.layers import commands, known
from metspack.errors import ConfigError
from tests.cli.conftest import Commands
from tests.laws import law
from tests.trees import tree

ROOT = typer.main.get_command(app)
PLACES = (
    "command line",
    "environment, build",
    "environment",
    "profile, project, build",
    "profile, project",
    "profile, user",
    "project, build",
    "project",
    "user, build",
    "user",
)
"""Every place that can set an option, the strongest first."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with nothing set."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return folder


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "metspack.toml"
    path.write_text(text, encoding="utf-8")
    return path


def user(here: Path, text: str) -> Path:
    return write(here.parent / "home" / "metspack", text)


def effective(command: str, *arguments: str) -> dict[str, tuple[Any, str]]:
    """Return every option of a command, its value and where that comes from."""
    own = typer.Context(ROOT, info_name="metspack")
    ctx, origins = _context(own, commands(ROOT)[command], list(arguments))
    options = commands(ROOT)[command].settable
    return {key: (ctx.params[each.name], origins.told(ctx, each)) for key, each in options.items()}


def value(command: str, key: str, *arguments: str) -> Any:
    return effective(command, *arguments)[key][0]


# Which place counts


@given(st.sets(st.sampled_from(PLACES)))
@law(30)
def test_the_first_place_that_says_something_counts(
    tmp_path_factory: pytest.TempPathFactory, places: set[str]
) -> None:
    said = {place: f"{number}0" for number, place in enumerate(PLACES, start=1)}

    def line(place: str) -> str:
        return f'max-files = "{said[place]}"\n' if place in places else ""

    top = tmp_path_factory.mktemp("law")
    here = top / "here"
    write(
        here,
        f"{line('project')}[build]\n{line('project, build')}[profile.p]\n"
        f"{line('profile, project')}[profile.p.build]\n{line('profile, project, build')}",
    )
    user(
        here,
        f"{line('user')}[build]\n{line('user, build')}[profile.p]\n{line('profile, user')}",
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(here)
        patched.setenv("XDG_CONFIG_HOME", str(top / "home"))
        for place, name in (("environment, build", "BUILD_MAX_FILES"), ("environment", "MAX_FILES")):
            if place in places:
                patched.setenv(f"METSPACK_{name}", said[place])
        by_hand = ["--max-files", said["command line"]] if "command line" in places else []
        found, origin = effective("build", "--use", "p", *by_hand)["max-files"]
    strongest = next((each for each in PLACES if each in places), None)
    assert found == (None if strongest is None else said[strongest])
    words = {None: "default", "command line": "command line", "environment": "METSPACK_MAX_FILES"}
    words["environment, build"] = "METSPACK_BUILD_MAX_FILES"
    if strongest in words:
        assert origin == words[strongest]
    else:
        path, _, number = origin.rpartition(":")
        assert (here / path).read_text(encoding="utf-8").splitlines()[int(number) - 1] == (
            f'max-files = "{said[str(strongest)]}"'
        )


def test_a_setting_is_what_the_same_words_on_the_command_line_are(
    metspack: Commands, here: Path, northwind: Path
) -> None:
    write(here, 'max-files = 4\nmax-bytes = "45kB"\nagent = ["A B", "C"]\n[build]\nquiet = true\n')
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # put back by the fixture that took it away
    assert metspack.fine("build", northwind, "-o", "set") == ""
    (here / "metspack.toml").unlink()
    words = ("--max-files", "4", "--max-bytes", "45kB", "--agent", "A B", "--agent", "C", "-q")
    assert metspack.fine("build", northwind, "-o", "said", *words) == ""
    assert tree(here / "set") == tree(here / "said")
    assert "A B" in (here / "set" / "mets.xml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "text", "key", "expected"),
    [
        ("AGENT", "National Archives\nAn other", "agent", ["National Archives", "An other"]),
        ("LOB_ROOT", os.pathsep.join(("a b", "c")), "lob-root", [Path("a b"), Path("c")]),
        ("VERIFY", "1", "verify", True),
        ("VERIFY", "false", "verify", False),
        ("JOBS", "3", "jobs", 3),
        ("HREF", "", "href", "relative"),
    ],
)
def test_the_environment(  # noqa: PLR0917 -- two fixtures and a case
    here: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, key: str, expected: object
) -> None:
    del here
    monkeypatch.setenv(f"METSPACK_{name}", text)
    found = value("build", key)
    assert (list(found) if isinstance(expected, list) else found) == expected


def test_a_variable_takes_a_switch_of_a_file_back(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, "json = true\n")
    assert value("plan", "json") is True
    monkeypatch.setenv("METSPACK_JSON", "0")
    assert value("plan", "json") is False


@pytest.mark.parametrize("command", commands(ROOT))
def test_a_variable_turns_every_switch_of_a_file_off(
    here: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    switches = {key for key, option in commands(ROOT)[command].settable.items() if option.is_flag}
    write(here, f"[{command}]\n" + "".join(f"{key} = true\n" for key in sorted(switches - {"json", "jsonl"})))
    for key in switches:
        monkeypatch.setenv(f"METSPACK_{command}_{key}".upper().replace("-", "_"), "0")
    found = effective(command)
    assert [key for key in switches if found[key][0]] == []


def test_paths_begin_in_the_folder_of_their_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, 'lob-root = ["scans", "/mnt"]\n[check]\nschema-dir = "xsd"\n')
    (here / "below").mkdir()
    monkeypatch.chdir(here / "below")
    assert list(value("build", "lob-root")) == [here / "scans", Path("/mnt")]
    assert value("check", "schema-dir") == here / "xsd"


def test_a_line_for_all_holds_where_its_value_is_known(here: Path) -> None:
    write(here, 'format = "csv"\n[profile.sip]\nprofile = "auto"\n')
    assert value("list", "format") == "csv"
    assert value("shards", "format") is None
    assert value("check", "profile", "--use", "sip") == "auto"
    assert value("build", "profile", "--dialect", "csip", "--use", "sip") is None


@pytest.mark.parametrize("command", ["build", "check", "plan"])
def test_help_and_the_shell_read_no_file(metspack: Commands, here: Path, command: str) -> None:
    write(here, "no toml at all\n")
    assert "Usage" in metspack.fine(command, "--help")
    assert metspack(command, "x").code == 2


# What does not go together


@pytest.mark.parametrize(
    ("file", "command", "arguments", "expected"),
    [
        ("max-files = 4\nmax-bytes = 5", "build", "--preset dbptk", {"max-files": None, "max-bytes": None}),
        ("max-files = 4", "build", "--plan p --max-bytes 5", {"max-files": None, "max-bytes": "5"}),
        ("max-files = 4\nmax-bytes = 5", "build", "-elpf 7", {"max-files": None, "max-bytes": "5"}),
        ("max-bytes = 5", "convert", "--export-external-lobs-folder-size 7", {"max-bytes": None}),
        ("dialect = 'csip'\nsubmitter = 'A'", "build", "--in-place", {"dialect": None, "submitter": None}),
        ("submitter = 'A'", "build", "", {"submitter": None}),
        ("submitter = 'A'", "build", "--dialect csip", {"submitter": "A"}),
        ("submitter = 'A'\ndialect = 'csip'", "build", "--dialect recommendation", {"submitter": None}),
        ("submitter = 'A'", "build", "--submitter B", {"submitter": "B"}),
        ("jsonl = true", "check", "--json", {"json": True, "jsonl": False}),
        ("json = true", "check", "--jsonl", {"json": False, "jsonl": True}),
        ("json = true", "list", "--format csv", {"json": False, "format": "csv"}),
        ("json = true", "inspect", "--lobs", {"json": False}),
        ("accept = ['dbptk-part-digest']", "restore", "--siard", {"accept": ()}),
        ("seed = 4", "check", "", {"seed": None}),
        ("seed = 4", "check", "--sample 1%", {"seed": 4}),
        ("preset = 'dbptk'\nmax-files = 4", "build", "", {"preset": "dbptk", "max-files": "4"}),
    ],
)
def test_a_setting_steps_back(
    here: Path, file: str, command: str, arguments: str, expected: dict[str, object]
) -> None:
    write(here, file)
    found = effective(command, *arguments.split())
    assert {
        key: found[key][0] or (found[key][0] if found[key][0] != [] else ()) for key in expected
    } == expected
    for key, left in expected.items():
        if not left:
            assert ", put aside by " in found[key][1]


def test_a_project_preset_goes_before_limits_of_the_user(here: Path) -> None:
    user(here, "max-files = 4\n")
    write(here, 'preset = "dbptk"\n')
    assert value("build", "max-files") is None


# What is wrong

ERRORS = {
    "max-files = ": ("metspack.toml: not TOML: ", "metspack config example"),
    "\n\nmax-flies = 4": (":3: there is no option 'max-flies'", "Did you mean max-files?"),
    "max_files = 4": (":1: there is no option 'max_files'", "Did you mean max-files?"),
    "output = 'out'": (":1: there is no option 'output'", "metspack config example"),
    "[biuld]\nmax-files = 4": (":1: there is no table 'biuld'", "Did you mean build?"),
    "[build]\n\nroot = 'x'": (":3: there is no option 'root' of metspack build", ""),
    "[build]\nverify = 1": (":2: 'verify' takes true or false, not a whole number", "Write verify = true."),
    "jobs = 'many'": (":1: 'jobs' takes a whole number, not text", "Write jobs = 1."),
    "agent = 4": (":1: 'agent' takes a list of texts, not a whole number", 'Write agent = ["NAME"].'),
    "agent = ['a',\n 4]": (":1: 'agent' takes a list of texts, not a list", 'Write agent = ["NAME"].'),
    "max-files = 1.5": (":1: 'max-files' takes text, not a number", 'Write max-files = "N".'),
    "max-files = true": (":1: 'max-files' takes text, not true or false", ""),
    "max-files = 2026-01-01": (":1: 'max-files' takes text, not a date or time", ""),
    'log = "a\\u0000b"': (":1: 'log' takes text, not text with a NUL", 'Write log = "FILE".'),
    'agent = ["a\\u0000b"]': (
        ":1: 'agent' takes a list of texts, not text with a NUL",
        'Write agent = ["NAME"].',
    ),
    "log = 4": (":1: 'log' takes text, not a whole number", 'Write log = "FILE".'),
    "[agent]\nx = 1": (":1: 'agent' takes a list of texts, not a table", ""),
    "layout = 'siard2'": (":1: 'layout' is 'siard2', which is not known", "Did you mean siard22?"),
    "accept = ['all']": (
        ":1: 'accept' is 'all', which is not known",
        "Choose one of dbptk-part-digest, missing-table.",
    ),
    "profile = 'sip'": (":1: 'profile' must hold named profiles", "belongs in [build]"),
    "[profile]\na = 4": (":1: 'profile' must hold named profiles", "Write [profile.NAME]"),
    "max-files = 4\n[profile.a]\nagent = [\n'a',\n'b = 3'\n]\nmax = 4": (":7: there is no option 'max'", ""),
    "[profile.a]\nmax = 4": (":2: there is no option 'max'", ""),
    "[profile.a.build.x]\ny = 1": (":1: there is no table 'x' of metspack build", ""),
}


@pytest.mark.parametrize("text", ERRORS)
@pytest.mark.parametrize("words", [("config", "check"), ("plan", "x.siard"), ("config", "show")])
def test_what_is_wrong_in_a_file(metspack: Commands, here: Path, text: str, words: tuple[str, ...]) -> None:
    write(here, text)
    outcome = metspack(*words)
    assert (outcome.code, outcome.out) == (2, "")
    message, hint = ERRORS[text]
    said = outcome.err.splitlines()
    assert said[0].startswith("error: metspack.toml")
    assert message in said[0]
    assert said[-1].startswith("hint: ")
    assert hint in said[-1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.mkdir(), "cannot be read: Is a directory"),
        (os.mkfifo, "cannot be read: metspack.toml is not a regular file"),
        (lambda path: path.symlink_to("nowhere"), "cannot be read: No such file or directory"),
        (lambda path: path.write_bytes(b"a = '\xff'"), "byte 5 is not UTF-8"),
        (lambda path: path.write_bytes(b"#" * ((1 << 20) + 1)), "larger than 1,048,576 bytes"),
    ],
    ids=["folder", "pipe", "link", "encoding", "size"],
)
def test_a_file_that_cannot_be_read(
    metspack: Commands, here: Path, make: Callable[[Path], object], words: str
) -> None:
    make(here / "metspack.toml")
    outcome = metspack("plan", "x.siard")
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: metspack.toml: {words}")


def test_a_byte_order_mark_is_taken(here: Path) -> None:
    write(here, "\ufeffmax-files = 4\n")
    assert value("plan", "max-files") == "4"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--config", "none.toml"), "none.toml: cannot be read: No such file"),
        (("--use", "none"), "there is no profile 'none'\nhint: No configuration file has profiles."),
    ],
)
def test_what_is_asked_for_must_be_there(
    metspack: Commands, here: Path, arguments: tuple[str, ...], words: str
) -> None:
    del here
    outcome = metspack("plan", "x.siard", *arguments)
    assert (outcome.code, outcome.err[: len(words) + 7]) == (2, f"error: {words}")


def test_an_error_about_a_setting_names_its_place(
    metspack: Commands, here: Path, northwind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(here, '[build]\njobs = 0\n[profile.odd]\nmin-size = "0"\n')
    outcome = metspack("build", northwind, "-o", "out")
    assert outcome.code == 2
    assert outcome.err.startswith("error: Invalid value for '-j' / '--jobs'")
    assert "\n  --jobs is set by metspack.toml:2\n" in outcome.err
    outcome = metspack("config", "check")
    assert outcome.code == 2
    assert outcome.err.startswith("error: metspack.toml:2: 'jobs': ")
    outcome = metspack("plan", northwind, "--use", "odd")
    assert "\n  --min-size is set by metspack.toml:4\n" in outcome.err
    monkeypatch.setenv("METSPACK_LEVEL", "depth")
    outcome = metspack("check", "out")
    assert (outcome.code, outcome.err.splitlines()[:2]) == (
        2,
        ["error: --level 'depth' is not known", "  --level is set by METSPACK_LEVEL"],
    )
    assert "is set by" not in metspack("check", "out", "--level", "deep").err


# Where files are looked for


def test_the_nearest_file_above_counts(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, "max-files = 1\n")
    folder = here / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert project_file() == here / "metspack.toml"
    write(here / "a", "max-files = 2\n")
    assert project_file() == here / "a" / "metspack.toml"
    write(folder, "max-files = 3\n")
    assert project_file() == Path("metspack.toml")
    assert value("plan", "max-files") == "3"
    assert value("plan", "max-files", "--config", str(here / "metspack.toml")) == "1"


@pytest.mark.parametrize("boundary", ["git", "home", "everybody's", "file system"])
def test_the_search_ends(here: Path, monkeypatch: pytest.MonkeyPatch, boundary: str) -> None:
    above = write(here, "max-files = 1\n")
    folder = here / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert project_file() == above
    if boundary == "git":
        (here / "a" / ".git").mkdir()
    elif boundary == "home":
        monkeypatch.setenv("HOME", str(here / "a"))
    elif boundary == "everybody's":
        here.chmod(0o777)
    else:
        true = Path.stat

        def stat(path: Path, **options: bool) -> os.stat_result:
            found = true(path, **options)
            fields = [*found]
            fields[2] += path == here
            return os.stat_result(fields)

        monkeypatch.setattr(Path, "stat", stat)
    assert project_file() is None


def test_a_file_counts_once(here: Path) -> None:
    path = user(here, "[profile.a]\nmax-files = 4\n")
    assert value("plan", "max-files", "--config", str(path), "--use", "a") == "4"


# The commands


def test_show(metspack: Commands, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, "[build]\nmax-files = 4\nagent = ['A', 'B']\nlob-root = 'x'\n")
    monkeypatch.setenv("METSPACK_MAX_FILE", "1")
    outcome = metspack("config", "show", "--origin")
    assert outcome.code == 0
    assert outcome.err == (
        "warning: the environment variable METSPACK_MAX_FILE sets no option. "
        "Did you mean METSPACK_MAX_FILES?\n"
    )
    rows = [" ".join(line.split()) for line in outcome.out.splitlines()]
    assert rows[0] == "option value origin"
    assert "max-files (build) 4 metspack.toml:2" in rows
    assert "max-files (plan, convert) 100000 default" in rows
    assert "max-files (check) none default" in rows
    assert "agent (build) A, B metspack.toml:3" in rows
    assert "max-per-code 10 default" in rows
    monkeypatch.delenv("METSPACK_MAX_FILE")
    found = json.loads(metspack.fine("config", "show", "build", "--json", "--origin", "--", "--verify"))
    by_name = {each["option"]: each for each in found["options"]}
    assert by_name["lob-root"]["value"] == ["x"]
    assert by_name["verify"] == {
        "option": "verify",
        "commands": ["build"],
        "value": True,
        "origin": "command line",
    }
    assert "origin" not in metspack.fine("config", "show", "--json")
    assert metspack("config", "show", "biuld").code == 2
    assert "No such option: --none" in metspack("config", "show", "build", "--", "--none").err


def test_show_has_what_holds_where_nothing_is_set(metspack: Commands, here: Path) -> None:
    del here
    rows = [line.split() for line in metspack.fine("config", "show", "build").splitlines()]
    assert all(len(row) > 1 for row in rows)
    words = {row[0]: " ".join(row[1:]) for row in rows}
    assert (words["max-files"], words["max-bytes"], words["split"]) == ("100000", "4000000000", "fill")
    assert (words["dialect"], words["for"], words["jobs"]) == ("recommendation", "none", "automatic")
    given = metspack.fine("config", "show", "build", "--", "--preset", "dbptk", "--dialect", "csip")
    words = {row[0]: " ".join(row[1:]) for row in map(str.split, given.splitlines())}
    assert (words["max-files"], words["max-bytes"], words["checksum"]) == ("1000", "none", "SHA-256")
    found = {
        each["option"]: each
        for each in json.loads(metspack.fine("config", "show", "build", "--json"))["options"]
    }
    assert (found["max-files"]["value"], found["max-files"]["effective"]) == (None, "100000")
    assert "effective" not in found["href"]


def test_show_says_what_config_and_use_do(metspack: Commands, here: Path) -> None:
    (here / "other.toml").write_text("[profile.a]\nmax-files = 4\n")
    said = metspack.fine("config", "show", "plan", "--config", "other.toml", "--use", "a", "--origin")
    assert re.search(r"^max-files +4 +other.toml:2$", said, re.MULTILINE)


def test_path(metspack: Commands, here: Path) -> None:
    home = here.parent / "home" / "metspack" / "metspack.toml"
    assert metspack.fine("config", "path").splitlines() == [
        "project metspack.toml (not there)",
        f"user    {home} (not there)",
    ]
    write(here, "")
    user(here, "")
    assert metspack.fine("config", "path").splitlines() == ["project metspack.toml", f"user    {home}"]
    assert metspack.fine("config", "path", "--config", "x").startswith("project x (not there)\n")


def test_check_says_what_there_is(metspack: Commands, here: Path) -> None:
    assert metspack.fine("config", "check").startswith("There is no configuration file")
    path = user(here, "[profile.q]\n")
    write(here, "max-files = 1\n[plan]\njson = true\n[profile.p]\nmax-bytes = '1kB'\n")
    assert metspack.fine("config", "check").splitlines() == [
        "metspack.toml: 3 settings, profiles p",
        f"{path}: 0 settings, profiles q",
    ]


def test_the_example_has_every_option_and_is_right(metspack: Commands, here: Path) -> None:
    text = metspack.fine("config", "example")
    path = write(here, text)
    assert tomllib.loads(text) == {}
    assert metspack.fine("config", "check") == "metspack.toml: 0 settings\n"
    path.write_text("\n".join(line.removeprefix("#") for line in text.splitlines() if line[:2] != "# "))
    said = metspack.fine("config", "check")
    assert said.endswith(", profiles national-archives, national-archives-sip\n")
    file = ConfigFile.of(path, known(ROOT))
    for name, command in commands(ROOT).items():
        named = file.plain[""].keys() | file.plain.get(name, {}).keys()
        assert not command.settable.keys() - named
        for key, option in command.settable.items():
            help_ = " ".join((option.help or "").split())
            assert help_ in " ".join(text.replace("#", "").split()), key


def test_a_file_says_where_it_is_wrong_only_when_asked(here: Path) -> None:
    path = write(here, "x = 1")
    file = ConfigFile.of(path, known(ROOT))
    with pytest.raises(ConfigError, match="there is no option 'x'"):
        _ = file.plain
