"""``--json``, ``-o``, ``-q`` and ``-V`` of every command, and the schemas of JSON."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from jsonschema import Draft202012Validator

from metspack import resources
from metspack.cli.app import command as app
from metspack.resources import __version__
from tests.cli.conftest import HEAD, Commands
from tests.conftest import CHECKOUT
from tests.packages import forge
from tests.packages.forge import CHILD
from tests.tables import tabled

_WITHOUT = {"cat", "help"}
"""Commands whose result is bytes, or a text to be read or kept as it is."""


def commands(group: Any, before: str = "") -> dict[str, Any]:
    """Return all commands by their full names."""
    found: dict[str, Any] = {}
    for name in group.list_commands(typer.Context(group)):
        each = group.commands[name]
        full = f"{before}{name}"
        found |= commands(each, f"{full} ") if hasattr(each, "commands") else {full: each}
    return found


def options(command: Any) -> dict[str, list[str]]:
    return {each.name: list(each.opts) for each in command.params if hasattr(each, "multiple")}


def test_every_command_with_a_result_has_json() -> None:
    all_of_them = commands(app)
    with_json = {
        name for name, each in all_of_them.items() if "--json" in options(each).get("json_output", [])
    }
    assert with_json == set(all_of_them) - _WITHOUT


def test_names_are_the_same_everywhere() -> None:
    for name, each in commands(app).items():
        opts = [opt for those in options(each).values() for opt in those]
        assert ("-o" in opts) == ("--output" in opts), name
        assert ("-q" in opts) == ("--quiet" in opts), name
        assert len(opts) == len(set(opts)), name


@pytest.mark.parametrize("name", ["-V", "--version"])
def test_the_version(metspack: Commands, name: str) -> None:
    assert metspack.fine(name) == f"metspack {__version__}\n"
    assert json.loads(metspack.fine(name, "--json")) == HEAD


def test_json_stands_after_the_command(metspack: Commands) -> None:
    outcome = metspack("--json", "check")
    assert outcome.code == 2
    assert json.loads(outcome.out)["error"]["id"] == "usage"


def test_quiet_links_print_what_is_wrong(metspack: Commands, tmp_path: Path) -> None:
    package = forge.forge(tmp_path / "package")
    assert metspack.fine("links", package, "-q") == ""
    (package / CHILD).unlink()
    outcome = metspack("links", package, "-q")
    assert outcome.code == 1
    assert outcome.out.splitlines() == [metspack("links", package).out.splitlines()[-1]]


def test_a_report_has_a_short_name(metspack: Commands, tmp_path: Path) -> None:
    package = forge.forge(tmp_path / "package")
    metspack.fine("check", package, "-o", tmp_path / "a.json", "--report", tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


_OTHERS = {"error", "inspect-lobs", "version"}
_SMALL = ("--max-files", "4", "--max-bytes", "45000")


@cache
def schema(name: str) -> Draft202012Validator:
    found = json.loads((resources.root() / "schemas" / f"{name}.schema.json").read_bytes())
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found)


def names() -> Iterator[str]:
    for path in sorted((resources.root() / "schemas").glob("*.schema.json")):
        yield path.name.removesuffix(".schema.json")


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects in a schema that say what an object holds."""
    if isinstance(value, dict):
        if "properties" in value:
            yield value
        for each in value.values():
            yield from objects(each)
    elif isinstance(value, list):
        for each in value:
            yield from objects(each)


def test_every_command_has_a_schema() -> None:
    of_commands = {each.replace(" ", "-") for each in commands(app)} - {
        each.replace(" ", "-") for each in _WITHOUT
    }
    assert set(names()) - {"check-report", "check-report-lines"} == of_commands - {"check"} | _OTHERS


def test_schemas_are_closed_and_named() -> None:
    for name in names():
        found = schema(name).schema
        assert isinstance(found, dict)
        assert found["$id"] == f"urn:metspack:schema:{name}:1"
        for each in objects(found):
            assert each.get("additionalProperties") is False, (name, each)


def test_what_several_schemas_define_is_the_same() -> None:
    met: dict[str, Any] = {}
    for name in set(names()) - {"check-report", "check-report-lines"}:
        for key, each in schema(name).schema.get("$defs", {}).items():  # type: ignore[union-attr]
            assert met.setdefault(key, each) == each, (name, key)
    whole = schema("check-report").schema
    assert isinstance(whole, dict)
    for key, each in whole["$defs"].items():
        assert met[f"report_{key}"] == json.loads(json.dumps(each).replace("#/$defs/", "#/$defs/report_"))


def test_the_page_names_all() -> None:
    page = (CHECKOUT / "docs" / "reports.md").read_text(encoding="utf-8")
    for name in names():
        assert f"`{name}.schema.json`" in page


@pytest.fixture
def built(metspack: Commands, northwind: Path, tmp_path: Path) -> Path:
    metspack("build", northwind, "-o", tmp_path / "out", *_SMALL, "-j", "1")
    return tmp_path / "out"


def valid(metspack: Commands, name: str, *arguments: str | Path, code: int = 0) -> Any:
    outcome = metspack(*arguments, "--json")
    assert outcome.code == code, outcome
    found = json.loads(outcome.out)
    schema(name).validate(found)
    return found


def test_commands_that_make_packages(
    metspack: Commands, northwind: Path, northwind_full: Path, built: Path, tmp_path: Path
) -> None:
    valid(metspack, "plan", "plan", northwind, *_SMALL)
    valid(metspack, "plan", "plan", northwind_full, "--layout", "siard22")
    for number, words in enumerate((("--max-files", "3"), ("--dialect", "csip"), ("--pack", "zip"))):
        found = valid(metspack, "build", "build", northwind, "-o", tmp_path / f"{number}", *words)
        assert found["existed"] is False
    outside = tmp_path / "0" / "Northwind.siard"
    valid(metspack, "build", "build", outside, "-o", tmp_path / "l", "--link-mode", "hardlink")
    valid(metspack, "convert", "convert", built, "-o", tmp_path / "new")
    valid(metspack, "merge", "merge", tmp_path / "1", "-o", tmp_path / "merged")
    folder = tmp_path / "folder"
    shutil.copytree(tmp_path / "0", folder)
    for path in (*folder.rglob("mets.xml"), *folder.glob("manifest-*.txt")):
        path.unlink()
    valid(metspack, "build", "build", folder, "--keep-segments", "--in-place")


def test_commands_that_read_packages(metspack: Commands, built: Path, tmp_path: Path) -> None:
    valid(metspack, "restore", "restore", built, "-o", tmp_path / "lobs")
    valid(metspack, "restore", "restore", built, "-o", tmp_path / "x.siard", "--siard")
    for words in ((), ("--siard",), ("--siard", "--into", "folder")):
        assert valid(metspack, "restore", "restore", built, "--dry-run", *words)["dry_run"] is True
    valid(metspack, "links", "links", built)
    copy = shutil.copytree(built, tmp_path / "copy")
    lob = next(copy.glob("Northwind_lobseg_0/content/*/*/*/*"))
    lob.unlink()
    (copy / "Northwind_lobseg_1/mets.xml").write_text("<mets/>")
    (copy / "Northwind_lobseg_2/mets.xml").unlink()
    valid(metspack, "links", "links", copy, code=1)
    for name in ("list", "shards"):
        for package in (built, copy):
            for line in metspack(name, package, "--json").out.splitlines():
                schema(name).validate(json.loads(line))
    broken = shutil.copytree(built, tmp_path / "broken")
    next(broken.glob("Northwind_lobseg_0/content/*/*/*/*")).write_bytes(b"other")
    assert valid(metspack, "restore", "restore", broken, "--dry-run", code=3)["errors"]


def test_other_commands(metspack: Commands, northwind_full: Path, built: Path, tmp_path: Path) -> None:
    for code in ("L001", "CSIP60", "readers"):
        valid(metspack, "explain", "explain", code)
    valid(metspack, "sample", "sample", "northwind", tmp_path)
    valid(metspack, "version", "--version")
    for words in ((), ("--verify",)):
        valid(metspack, "inspect", "inspect", northwind_full, *words)
        for line in metspack("inspect", northwind_full, "--lobs", *words).out.splitlines():
            schema("inspect-lobs").validate(json.loads(line))
    lost = tmp_path / "lost"
    shutil.copytree(built, lost)
    next(lost.glob("*/content/*/*/*/record1.bin")).unlink()
    valid(metspack, "inspect", "inspect", lost / "Northwind.siard", code=1)
    for line in metspack("inspect", lost / "Northwind.siard", "--lobs").out.splitlines():
        schema("inspect-lobs").validate(json.loads(line))


@tabled
def test_errors(
    metspack: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = metspack(*words, "--json")
    assert outcome.code in {2, 3, 4, 5}
    schema("error").validate(json.loads(outcome.out))
