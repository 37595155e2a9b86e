"""Hostile cases that other tools were tried with, with metspack: "Compared" in docs/reliability.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

import pytest

from tests import siards
from tests.cli.conftest import Commands
from tests.conftest import CHECKOUT
from tests.laws import spread
from tests.packages import forge
from tests.packages.cases import cases
from tests.tables import read_table
from tests.trees import tree

PAGE = (CHECKOUT / "docs" / "reliability.md").read_text(encoding="utf-8")

GUARDED = """
import os, sys
def guard(event, arguments):
    if event.startswith("socket."):
        os.write(2, b"a socket\\n")
        os._exit(99)
    if event == "open" and str(arguments[0]).endswith("/secret"):
        os.write(2, b"the target was opened\\n")
        os._exit(98)
sys.addaudithook(guard)
from metspack import cli
sys.argv[0] = "metspack"
cli.main()
"""
"""metspack in a process that ends where a socket is opened, or the target of an entity."""


def guarded(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", GUARDED, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def checked(metspack: Commands, package: Path, *options: str) -> tuple[int, set[tuple[str, str]]]:
    """Return the exit code of a check, and the codes of its errors with their paths."""
    outcome = metspack("check", package, "--json", *options)
    assert "Traceback" not in outcome.err
    findings = json.loads(outcome.out).get("findings", [])
    return outcome.code, {(each["code"], each["path"]) for each in findings if each["severity"] == "error"}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return forge.forge(tmp_path / "package")


@pytest.mark.slow
def test_it_works_offline(package: Path) -> None:
    done = guarded("check", package, "-j", "1")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_external_entities_are_refused_and_their_target_is_not_opened(package: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    mets = package / "mets.xml"
    doctype = f'<!DOCTYPE mets [<!ENTITY x SYSTEM "file://{secret}">]>'
    mets.write_text(re.sub(r"(<mets:mets\b)", doctype + r"\1", mets.read_text(), count=1))
    done = guarded("check", package, "-j", "1")
    assert (done.returncode, "X002" in done.stdout) == (1, True), done
    assert "the secret" not in done.stdout + done.stderr


def _nested(text: str) -> str:
    return text.replace(
        "</mets:structMap>", "<mets:div>" * 300 + "</mets:div>" * 300 + "</mets:structMap>", 1
    )


LAUGHS = (
    '<!DOCTYPE m [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>'
)
BAD: dict[str, Callable[[str], str]] = {
    "laughs": lambda text: text.replace("<mets:mets", f"{LAUGHS}<mets:mets", 1),
    "truncated": lambda text: text[: len(text) // 2],
    "empty": lambda _: "",
    "an attribute of 11 MB": lambda text: re.sub(r'OBJID="', f'OBJID="{"a" * 11_000_000}', text, count=1),
    "300 divs deep": _nested,
    "an unknown algorithm": lambda text: text.replace('CHECKSUMTYPE="MD5"', 'CHECKSUMTYPE="CRC64"', 1),
    "no SIZE": lambda text: re.sub(r' SIZE="[0-9]+"', "", text, count=1),
    "a SIZE of letters": lambda text: re.sub(r' SIZE="[0-9]+"', ' SIZE="abc"', text, count=1),
    "no LABEL": lambda text: re.sub(r' LABEL="[^"]*"', "", text),
    "no FLocat": lambda text: re.sub(r"<mets:FLocat[^>]*>", "", text, count=1),
}


@pytest.mark.parametrize("name", spread(BAD, 3))
def test_a_bad_mets_is_a_finding_and_no_traceback(metspack: Commands, package: Path, name: str) -> None:
    for mets in (package / "mets.xml", package / forge.CHILD):
        before = mets.read_text()
        mets.write_text(BAD[name](before))
        outcome = metspack("check", package)
        assert outcome.code in {0, 1}, outcome
        assert "Traceback" not in outcome.err
        assert (
            outcome.code == 1 or name == "no LABEL" or mets.read_text() == before or "warning" in outcome.out
        )
        mets.write_text(before)


def _tar(path: Path, name: str, *, link: str = "") -> None:
    with tarfile.open(path, "w") as file:
        if link:
            entry = tarfile.TarInfo(name.partition("/")[0])
            entry.type, entry.linkname = tarfile.SYMTYPE, link
            file.addfile(entry)
        entry = tarfile.TarInfo(name)
        entry.size = 4
        file.addfile(entry, BytesIO(b"evil"))


def _zip(path: Path, name: str) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(name, b"evil")


@pytest.mark.parametrize("case", ["tar ..", "tar absolute", "tar link", "zip ..", "zip absolute"])
def test_no_entry_is_written_outside(metspack: Commands, tmp_path: Path, case: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    form, how = case.split()
    package = tmp_path / "inner" / f"package.{form}"
    package.parent.mkdir()
    name = {"..": "../outside/evil", "absolute": f"{outside}/evil", "link": "to/evil"}[how]
    if form == "zip":
        _zip(package, name)
    else:
        _tar(package, name, link=str(outside) if how == "link" else "")
    before = tree(tmp_path)
    outcome = metspack("check", package)
    assert outcome.code in {1, 2, 3}
    assert "Traceback" not in outcome.err
    assert tree(tmp_path) == before


def test_a_bomb_is_refused_by_a_budget_and_leaves_nothing(
    metspack: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spare = tmp_path / "tmp"
    spare.mkdir()
    for name in ("TMPDIR", "SQLITE_TMPDIR"):
        monkeypatch.setenv(name, str(spare))
    bomb = tmp_path / "Bomb.siard"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header/metadata.xml", b"<a>" + b" " * (64 << 20) + b"</a>")
    began = time.monotonic()
    outcome = metspack("build", bomb, "-o", tmp_path / "out")
    assert outcome.code == 3
    assert "budget" in outcome.err
    assert time.monotonic() - began < 10
    assert sorted(os.listdir(tmp_path)) == ["Bomb.siard", "tmp"]
    assert os.listdir(spare) == []


NAMES = (*(each.encode() for each in read_table(__file__, "names")), b"\xff\xfe")

PLAIN = (b"Case", b"case", b"a+b", "\u00e9".encode())
"""Names that are usual here and must be accepted."""


@pytest.mark.parametrize("name", spread(NAMES, 4))
def test_special_names_are_packaged_or_refused_before_anything_is_written(
    metspack: Commands, tmp_path: Path, name: bytes
) -> None:
    lobs = tmp_path / "lobs"
    lobs.mkdir()
    Path(os.fsdecode(os.path.join(os.fsencode(lobs), name))).write_bytes(b"content")
    source = siards.outside(tmp_path / "A.siard", quote(name))
    before = tree(lobs)
    outcome = metspack("build", source, "-o", tmp_path / "out")
    assert "Traceback" not in outcome.err
    assert tree(lobs) == before
    if outcome.code:
        assert name not in PLAIN
        assert outcome.code in {2, 3}
        assert sorted(os.listdir(tmp_path)) == ["A.siard", "lobs"]
        return
    assert checked(metspack, tmp_path / "out")[0] == 0
    placed = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert placed.count(b"content") == 1


def test_the_table_names_tests_and_packages_that_there_are() -> None:
    section = PAGE.partition("## Compared")[2].partition("\n## ")[0]
    assert {*re.findall(r"`(bad/[^`]+)`", section)} <= {case.id for case in cases()}
    named = re.findall(r"`(tests/\S+\.py)::(\w+)`", section)
    assert len(named) == 11
    for file, name in named:
        assert f"\ndef {name}(" in (CHECKOUT / file).read_text(encoding="utf-8"), name
