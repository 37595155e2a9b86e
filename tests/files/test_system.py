"""Differences between systems: refusals where one cannot hold a name or lacks a function."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metspack import errors, system
from metspack.errors import ConfigError, TargetError
from metspack.files import mirrors, writing
from metspack.system import winnames
from tests.tables import tabled


def test_any_name_is_held_here() -> None:
    writing.check_names(["con", "a.", "A/b", "a/b", "x:y"])
    assert not system.unholdable("con")


@tabled
def test_unholdable_names_are_refused(monkeypatch: pytest.MonkeyPatch, paths: list[str], why: str) -> None:
    monkeypatch.setattr(writing, "LACKING", {"any name"})
    monkeypatch.setattr(writing, "unholdable", winnames.unholdable)
    with pytest.raises(TargetError, match=re.escape(f"Windows cannot hold {why}")) as caught:
        writing.check_names(paths)
    assert "--pack zip" in caught.value.hint
    writing.check_names(["a/b", "a/b", "a/c"])


def test_what_a_system_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    errors.check_available("--seal")  # any system has it
    monkeypatch.setattr(errors, "LACKING", {"an object store"})
    with pytest.raises(ConfigError, match="an object store cannot be used by metspack on Windows"):
        mirrors.path_of("s3://bucket/package")
    assert mirrors.path_of(Path("package")) is None


def test_words_are_quoted_as_on_a_command_line() -> None:
    assert system.command_line(["metspack", "check", "a b"]) == "metspack check 'a b'"
