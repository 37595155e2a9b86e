"""``metspack check`` with reports, levels, samples and schemas: output, files, exit codes."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from metspack import clock
from metspack.cli import console
from metspack.model import Finding
from metspack.reporting.formats import SUFFIXES
from metspack.reporting.store import FindingStore
from tests.cli.conftest import Commands
from tests.conftest import CHECKOUT
from tests.packages import forge


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return forge.forge(tmp_path / "good")


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    package = forge.forge(tmp_path / "bad")
    forge.edit(package / "mets.xml", '_1_mets" xlink', '_9_mets" xlink')
    for number in range(12):
        (package / f"unlisted{number:02}").write_bytes(b"")
    return package


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir() if each.is_file()}


@pytest.mark.parametrize("option", ["--max-per-code", "--limit"])
def test_all_findings_or_fewer(metspack: Commands, bad: Path, option: str) -> None:
    assert metspack("check", bad, option, "0").out.count(": no METS of this package lists") == 12
    assert metspack("check", bad, option, "1").out.count(": no METS of this package lists") == 1


def test_a_good_package_and_quiet(metspack: Commands, good: Path, bad: Path) -> None:
    assert metspack.fine("check", good).endswith("level full: 0 errors, 0 warnings\n")
    assert metspack.fine("check", good, "-q") == ""
    outcome = metspack("check", bad, "-q")
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.splitlines() == metspack("check", bad).out.splitlines()[:-1], "all but the verdict"
    assert (
        metspack("check", bad, "-q", "--summary").out
        == metspack("check", bad, "--summary").out.split(str(bad))[0]
    )


def test_colour_on_request_only(metspack: Commands, bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = metspack("check", bad).out
    assert "\x1b" not in plain
    monkeypatch.delenv("NO_COLOR")
    assert metspack("check", bad).out == plain, "this is no terminal"
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = metspack("check", bad).out
    assert "\x1b[1;31merror F010\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_lines_fit_a_terminal(metspack: Commands, bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = metspack("check", bad).out
    assert max(map(len, plain.splitlines())) > 60
    monkeypatch.setattr(console, "width", lambda: 60)
    wrapped = metspack("check", bad).out
    assert wrapped.split() == plain.split()
    assert all(len(line) <= 60 or len(line.split()) == 1 for line in wrapped.splitlines())


def test_only_a_terminal_has_a_width(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "72")
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert console.width() == 72
    for other in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stdout", other)
        assert console.width() is None


def test_names_cannot_colour(metspack: Commands, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (good / "\x1b[31mred\x07").write_bytes(b"")
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    printed = metspack("check", good).out
    assert "\\x1b[31mred\\x07" in printed
    assert set(re.findall(r"\x1b\[[0-9;]*m|\x1b|\x07", printed)) <= {
        "\x1b[1;31m",
        "\x1b[2m",
        "\x1b[0m",
        "\x1b[1;33m",
    }


def test_what_is_worth_an_exit_code_is_chosen(metspack: Commands, good: Path, bad: Path) -> None:
    (good / "manifest-md5.txt").unlink()
    for fail_on, of_a_warning, of_errors in (("error", 0, 1), ("info", 1, 1), ("never", 0, 0)):
        outcome = metspack("check", good, "--fail-on", fail_on)
        assert "0 errors, 1 warning" in outcome.out, "the package is not what the test needs"
        assert outcome.code == of_a_warning
        assert metspack("check", bad, "--fail-on", fail_on).code == of_errors


def test_json_on_stdout_is_that_of_the_files(metspack: Commands, bad: Path, tmp_path: Path) -> None:
    files = {form: tmp_path / f"r.{form}" for form in ("json", "jsonl")}
    for form, path in files.items():
        outcome = metspack("check", bad, f"--{form}", "--report", path)
        assert (outcome.code, outcome.err) == (1, "")
        assert outcome.out == path.read_text(encoding="ascii")
    whole = json.loads(files["json"].read_bytes())
    lines = [json.loads(line) for line in files["jsonl"].read_bytes().splitlines()]
    assert len(lines) == len(whole["findings"]) + 2
    assert sum(each["code"] == "F010" for each in whole["findings"]) == 12


def test_reports_of_one_check_differ_only_in_a_requested_time(
    metspack: Commands, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.json"

    def made(*options: str) -> dict[str, Any]:
        metspack.fine("check", good, "-q", "--report", path, *options)
        found: dict[str, Any] = json.loads(path.read_bytes())
        return found

    assert "created" not in made()
    assert made("--created", "2026-05-01T14:00:00+02:00")["created"] == "2026-05-01T12:00:00Z"
    assert re.fullmatch(r"[0-9]{4}-.*Z", made("--created", "now")["created"])
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1456185600")
    assert made()["created"] == "2016-02-23T00:00:00Z"


def filed(metspack: Commands, package: Path, *options: str) -> dict[str, bytes]:
    """Return what each form of report says of a package."""
    folder = package.parent / "reports"
    folder.mkdir(exist_ok=True)
    paths = [folder / f"report{suffix}" for suffix in SUFFIXES]
    words = [word for path in paths for word in ("--report", path)]
    metspack.fine("check", package, "-q", *words, *options)
    return {path.suffix: path.read_bytes() for path in paths}


FILED = (".html", ".txt")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "host", lambda: "reading-room-4")
    monkeypatch.setenv("LOGNAME", "a.archivist")


@pytest.mark.usefixtures("machine")
def test_provenance_is_filed(metspack: Commands, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(good.parent)
    found = filed(metspack, good.relative_to(good.parent))
    today = str(datetime.now(UTC).year)
    for suffix, printed in found.items():
        for word in ("reading-room-4", "a.archivist", str(good)):
            assert (word in printed.decode()) is (suffix in FILED), (suffix, word)
        assert (f"{today}-" in printed.decode()) is (suffix in FILED), suffix
    assert re.search(r"<time datetime=.+>[0-9-]{10} [0-9:]{8} UTC</time>", found[".html"].decode())
    assert b"Checked by metspack " in found[".html"]
    first, _verdict, _readers, second, third = found[".txt"].decode().splitlines()[:5]
    assert first == "metspack check of good, level full"
    assert re.fullmatch(
        r"Checked [0-9-]{10} [0-9:]{8} UTC on reading-room-4 by a.archivist with metspack [0-9.]+", second
    )
    assert third == f"Path: {good}"


@pytest.mark.parametrize("option", ["--no-provenance", "--reproducible"])
@pytest.mark.usefixtures("machine")
def test_every_report_of_one_check_is_the_same_without_provenance(
    metspack: Commands, good: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    first = filed(metspack, good, option)
    monkeypatch.setattr(clock, "now", lambda _environment: "1999-12-31T23:59:59Z")
    monkeypatch.setenv("LOGNAME", "b.archivist")
    assert filed(metspack, good, option) == first
    assert not any(word in printed for printed in first.values() for word in (b"reading-room", b"archivist"))
    given = filed(metspack, good, option, "--operator", "C. Archivist", "--created", "2026-05-01T12:00:00Z")
    assert b"Checked 2026-05-01 12:00:00 UTC by C. Archivist with" in given[".txt"]


@pytest.mark.usefixtures("machine")
def test_provenance_can_be_withheld(metspack: Commands, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1456185600")
    words = {
        "time": "2016-02-23",
        "host": "reading-room-4",
        "operator": "a.archivist",
        "path": f"Path: {good}",
    }
    monkeypatch.chdir(good.parent)
    for what in words:
        printed = filed(metspack, Path("good"), "--withhold", what)[".txt"].decode()
        assert {name for name, word in words.items() if word not in printed} == {what}
    given = filed(metspack, good, "--host", "a&b", "--operator", "<Me>", "--withhold", "time")
    assert b"<dd>&lt;Me&gt;</dd>" in given[".html"]
    assert b"Checked on a&b by <Me> with" in given[".txt"]
    assert b"2016" not in given[".json"] + given[".html"].partition(b"<body>")[2].partition(b"Archive")[0]
    both = filed(metspack, good, "--operator", "Me", "--withhold", "operator")[".txt"]
    assert b"2016-02-23 00:00:00 UTC on reading-room-4 with" in both


def test_a_user_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def getuser() -> str:
        raise OSError

    monkeypatch.setattr("getpass.getuser", getuser)
    assert clock.operator() == f"user {os.getuid()}"
    assert clock.host() == os.uname().nodename


def test_an_interrupted_check_leaves_a_report_that_says_so(
    metspack: Commands, bad: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = FindingStore.add
    seen = []

    def add(self: FindingStore, finding: Finding) -> None:
        real(self, finding)
        seen.append(finding)
        if len(seen) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(FindingStore, "add", add)
    paths = [tmp_path / f"report{suffix}" for suffix in SUFFIXES]
    outcome = metspack("check", bad, *(word for path in paths for word in ("--report", path)))
    assert outcome.code == 130
    assert "The check was interrupted" in outcome.out
    assert "interrupted" in outcome.err
    printed = json.loads((tmp_path / "report.json").read_bytes())
    assert printed["is_complete"] is False
    assert len(printed["findings"]) == len(seen) == 2
    for suffix in (".html", ".xml", ".txt"):
        assert "The check was interrupted" in (tmp_path / f"report{suffix}").read_text(encoding="utf-8")
    assert names(tmp_path) == {path.name for path in paths}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return forge.forge(tmp_path / "package")


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    """The project's own schemas in a folder, under other names."""
    folder = tmp_path / "schemas"
    folder.mkdir()
    for path in (CHECKOUT / "schemas").glob("*.xsd"):
        shutil.copyfile(path, folder / f"our-{path.name}")
    return folder


def test_every_form_of_report_states_the_sample(metspack: Commands, package: Path, tmp_path: Path) -> None:
    printed = "2 of 5 files hashed (sample of 30%, seed 4)"
    reports = [tmp_path / f"report{suffix}" for suffix in (".json", ".jsonl", ".txt", ".xml")]
    options = [each for path in reports for each in ("--report", path)]
    out = metspack.fine("check", package, "--sample", "30%", "--seed", "4", *options)
    assert f"; {printed}; level full: 0 errors" in out
    whole, lines, text, junit = (path.read_text(encoding="utf-8") for path in reports)
    sample = {"asked": "30%", "seed": 4, "files": 5, "hashed": 2}
    assert json.loads(whole)["sample"] == sample
    assert json.loads(lines.splitlines()[-1])["sample"] == sample
    assert printed in text
    assert printed in str(etree.fromstring(junit.encode()).get("name"))


def test_schemas_of_ones_own_are_found_by_namespace(metspack: Commands, package: Path, schemas: Path) -> None:
    metspack.fine("check", package, "--schema-dir", schemas)
    path = schemas / "our-mets.xsd"
    text = path.read_text(encoding="utf-8").replace('<xs:element name="fptr"', '<xs:element name="pointer"')
    path.write_text(text, encoding="utf-8")
    outcome = metspack("check", package, "--schema-dir", schemas, "--level", "links")
    assert outcome.code == 1
    assert "error M020 Not valid METS" in outcome.out
    assert "fptr" in outcome.out
