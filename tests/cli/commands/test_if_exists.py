"""``--if-exists check``: a job that is run again ends with the verdict on what is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metspack.files.journal import RunFacts
from metspack.files.staging import Staging
from tests.cli.conftest import Commands
from tests.cli.test_json import schema
from tests.trees import tree

CHECKED = ("--if-exists", "check")


@pytest.fixture
def here(metspack: Commands, northwind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1456185600")
    metspack("build", northwind, "-o", "out", "--max-files", "4", *CHECKED)
    return tmp_path


def test_the_next_checks(metspack: Commands, northwind: Path, here: Path) -> None:
    before = tree(here / "out")
    words = ("build", northwind, "-o", "out", "--max-files", "4", *CHECKED)
    outcome = metspack(*words)
    assert outcome.code == 0
    assert outcome.err == "info: out exists already: it is checked, and nothing is built\n"
    assert outcome.out == metspack("check", "out").out
    document = json.loads(metspack(*words, "--json").out)
    schema("build").validate(document)
    assert (document["existed"], document["is_same"], document["check"]["verdict"]) == (True, True, "ok")
    assert document["check"] == json.loads(metspack("check", "out", "--json").out)
    assert metspack.fine(*words, "-q") == ""
    assert tree(here / "out") == before
    next((here / "out").glob("*/content/*/*/*/*")).write_bytes(b"other")
    outcome = metspack(*words, "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["check"]["verdict"] == "error"


@pytest.mark.usefixtures("here")
def test_another_package_is_an_error(metspack: Commands, northwind_full: Path) -> None:
    outcome = metspack("build", northwind_full, "-o", "out", *CHECKED, "--json")
    assert outcome.code == 1
    assert "error: out is another package: its OBJID is urn:uuid:" in outcome.err
    document = json.loads(outcome.out)
    schema("build").validate(document)
    assert (document["is_same"], document["check"]["verdict"]) == (False, "ok")
    assert metspack("build", northwind_full, "-o", "out").code == 5
    assert metspack("build", "none.siard", "-o", "out", *CHECKED).code == 3


@pytest.mark.slow
def test_dialects_and_packed_packages_exist(metspack: Commands, northwind: Path, here: Path) -> None:
    for number, options in enumerate((("--dialect", "csip"), ("--dialect", "csip", "--pack", "zip"))):
        words: list[str | Path] = ["build", northwind, "-o", here / f"{number}", *options, *CHECKED, "--json"]
        assert json.loads(metspack(*words).out)["existed"] is False
        document = json.loads(metspack(*words).out)
        assert (document["existed"], document["is_same"]) == (True, True)


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_convert_and_merge(metspack: Commands, northwind: Path) -> None:
    words: tuple[str, ...] = ("convert", "out", "-o", "new", "--max-files", "2", *CHECKED, "--json")
    assert json.loads(metspack(*words).out)["existed"] is False
    document = json.loads(metspack(*words).out)
    schema("convert").validate(document)
    assert (document["existed"], document["is_same"]) == (True, True)
    metspack("build", northwind, "-o", "csip", "--dialect", "csip")
    words = ("merge", "csip", "-o", "merged", *CHECKED, "--json")
    assert json.loads(metspack(*words).out)["existed"] is False
    document = json.loads(metspack(*words).out)
    schema("merge").validate(document)
    assert (document["existed"], document["is_same"]) == (True, None)


def test_what_was_left_unfinished_stays_an_error(metspack: Commands, northwind: Path, here: Path) -> None:
    Staging(here / "new", RunFacts(command="build", facts={"limits": "others"})).journal.close()
    outcome = metspack("build", northwind, "-o", "new", *CHECKED, "--json")
    assert outcome.code == 6
    assert json.loads(outcome.out)["error"]["id"] == "target-unfinished"
