"""Hostile cases that other tools were tried with, each with metspack: "Compared" in docs/reliability.md."""

from __future__ import annotations

import json
import os
import re
import shutil
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

from metspack.mets import reader
from metspack.model import Budgets
from tests import siards
from tests.cli.conftest import Commands
from tests.conftest import CHECKOUT
from tests.packages import forge
from tests.packages.cases import Case, cases
from tests.trees import tree

PAGE = (CHECKOUT / "docs" / "reliability.md").read_text(encoding="utf-8")

GUARDED = """
import os, signal, sys
count, limit = 0, int(sys.argv.pop(1))
def guard(event, arguments):
    global count
    if event.startswith("socket."):
        os.write(2, b"a socket\\n")
        os._exit(99)
    if event == "open" and str(arguments[0]).endswith("/secret"):
        os.write(2, b"the target was opened\\n")
        os._exit(98)
    if event in {"os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.truncate"} or (
        event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    ):
        count += 1
        if count == limit:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(guard)
from metspack import cli
sys.argv[0] = "metspack"
cli.main()
"""
"""metspack in a process that ends where a socket is opened, and is killed at the n-th change on disk."""


def guarded(*arguments: str | Path, killed_at: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", GUARDED, str(killed_at), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def checked(metspack: Commands, package: Path, *options: str) -> tuple[int, set[tuple[str, str]]]:
    """Return the exit code of a check, and the codes of its errors with the paths that they are about."""
    outcome = metspack("check", package, "--json", *options)
    assert "Traceback" not in outcome.err
    findings = json.loads(outcome.out).get("findings", [])
    return outcome.code, {(each["code"], each["path"]) for each in findings if each["severity"] == "error"}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return forge.forge(tmp_path / "package")


def test_flipped_missing_swapped_and_further_files_are_named(metspack: Commands, package: Path) -> None:
    first, second = package / forge.FIRST, package / forge.SECOND
    good, other = first.read_bytes(), second.read_bytes()
    assert checked(metspack, package) == (0, set())
    first.write_bytes(bytes([good[0] ^ 1]) + good[1:])
    assert checked(metspack, package)[0] == 1
    assert ("F003", forge.FIRST) in checked(metspack, package)[1]
    first.unlink()
    assert any(forge.FIRST in path or code == "F001" for code, path in checked(metspack, package)[1])
    first.write_bytes(other)
    second.write_bytes(good)
    assert {"F004", "F014"} & {code for code, _ in checked(metspack, package)[1]}
    first.write_bytes(good)
    second.write_bytes(other)
    (package / "Northwind_lobseg_0/further").write_bytes(b"x")
    assert "Northwind_lobseg_0/further" in metspack("check", package).out


def test_exit_codes_tell_findings_usage_and_input_apart(
    metspack: Commands, package: Path, tmp_path: Path
) -> None:
    assert metspack("check", package).code == 0
    assert metspack("check", package, "--level", "none").code == 2
    assert metspack("check", tmp_path / "none").code == 3
    (package / forge.FIRST).unlink()
    assert metspack("check", package).code == 1


def test_it_works_offline(package: Path) -> None:
    done = guarded("check", package, "-j", "1")
    assert (done.returncode, done.stderr) == (0, "")


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


@pytest.mark.parametrize("name", BAD)
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


@pytest.mark.parametrize(
    "href", ["../../../etc/passwd", "file:///etc/passwd", "%2e%2e/%2e%2e/%2e%2e/etc/passwd"]
)
def test_a_href_out_of_the_package_is_an_error(metspack: Commands, package: Path, href: str) -> None:
    child = package / forge.CHILD
    child.write_text(
        re.sub(r'xlink:href="content/[^"]*"', f'xlink:href="{href}"', child.read_text(), count=1)
    )
    code, errors = checked(metspack, package)
    assert code == 1
    assert any(each.startswith("P") for each, _ in errors), errors


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


NAMES: tuple[bytes, ...] = (
    b"a\nb",
    b"a%0Ab",
    b"trailing ",
    b" leading",
    b"dot.",
    "a\u2028b".encode(),
    "a\u0085b".encode(),
    b"a\x0bb",
    b"\xff\xfe",
    "e\u0301".encode(),
    "\u00e9".encode(),
    b"Case",
    b"case",
    b"n" * 250,
    b"a+b",
    b"a&b<c>",
    b"a#b?c",
    b"back\\slash",
    b"CON",
    "\u202egnp".encode(),
)

PLAIN = (b"Case", b"case", b"a+b", "\u00e9".encode())
"""Those that are nothing special here: they are not to be refused."""


@pytest.mark.parametrize("name", NAMES)
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


def test_a_pipe_among_the_files_is_refused_without_waiting(
    metspack: Commands, package: Path, tmp_path: Path
) -> None:
    lobs = tmp_path / "lobs"
    lobs.mkdir()
    os.mkfifo(lobs / "pipe")
    source = siards.outside(tmp_path / "A.siard", "pipe")
    os.mkfifo(package / "Northwind_lobseg_0/pipe")
    began = time.monotonic()
    outcome = metspack("build", source, "-o", tmp_path / "out")
    assert (outcome.code, "pipe" in outcome.err) == (3, True)
    assert not (tmp_path / "out").exists()
    assert metspack("check", package).code == 1
    assert time.monotonic() - began < 30


@pytest.mark.slow
def test_a_killed_build_leaves_nothing_at_its_target_and_goes_on(tmp_path: Path) -> None:
    """A handful of moments; tests/crash tries every call."""
    source = siards.siard(tmp_path / "Small.siard", *(b"content %d" % each for each in range(8)))
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1456185600")
    command = ("build", source, "-o", tmp_path / "out", "--max-files", "3", "-j", "1", "-q")
    assert guarded(*command).returncode == 0
    whole = tree(tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    kills = 0
    for moment in (1, 4, 9, 15, 22, 30):
        done = guarded(*command, killed_at=moment)
        if done.returncode:
            assert done.returncode == -9, done
            kills += 1
            assert not (tmp_path / "out").exists() or tree(tmp_path / "out") == whole
            if not (tmp_path / "out").exists():
                assert guarded(*command).returncode == 0
        assert tree(tmp_path / "out") == whole
        shutil.rmtree(tmp_path / "out")
    assert kills >= 3


LINKS = (
    "bad/L002__child_missing",
    "bad/L008-F010-M006-Z007__grandparents_in_a_circle",
    "bad/L009__parent_names_itself",
    "bad/L023-L003__objid_twice",
)


@pytest.mark.parametrize("case", [each for each in cases() if each.id in LINKS], ids=lambda case: case.id)
def test_broken_links_circles_and_ids_given_twice_are_found(
    metspack: Commands, case: Case, tmp_path: Path
) -> None:
    code, errors = checked(metspack, case.made(tmp_path / "made"))
    assert code == 1
    assert case.code in {each for each, _ in errors}


def test_a_mets_of_4_000_files_is_read_at_once() -> None:
    """In well under a second, and a million in linear time: bench/hostile.py has the figure."""
    lobs = forge.lobs(4_000, 1)
    mets = forge.child(0, lobs, "Northwind")
    best, facts = 10.0, 0
    for _ in range(3):
        began = time.perf_counter()
        facts = sum(1 for _ in reader.read([mets], Budgets()))
        best = min(best, time.perf_counter() - began)
    assert facts >= 1
    assert best < 1.0


def test_the_table_has_a_row_for_each() -> None:
    section = PAGE.partition("## Compared")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(test_\w+)`", section))
    here = {
        name for name in globals() if name.startswith("test_") and name != "test_the_table_has_a_row_for_each"
    }
    assert named == here
    assert {case.id for case in cases()} >= {*LINKS}
