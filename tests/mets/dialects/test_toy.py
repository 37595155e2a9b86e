"""A third dialect, registered by one line, does all that dialects do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import metspack
from metspack.building.build import BuildOptions
from metspack.errors import ConfigError
from metspack.limits import Limits
from metspack.mets import dialects
from metspack.model import Severity
from tests import siards
from tests.mets.dialects.toy.dialect import ToyOptions

FIRST = (b"a" * 40, b"b" * 30, b"c" * 250, b"d", b"")
SMALL = BuildOptions(limits=Limits(files=3, bytes=1_000), created="2024-05-06T07:08:09Z")


def toy_options() -> BuildOptions:
    """Return options with the toy, once it is registered."""
    return replace(SMALL, dialect="toy", dialect_options=ToyOptions(motto="fancy"))


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the toy."""
    monkeypatch.setitem(dialects.DIALECTS, "toy", "tests.mets.dialects.toy")


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return siards.siard(tmp_path / "First.siard", *FIRST)


def codes(out: Path) -> list[str]:
    found = metspack.check(out)
    return sorted(each.code for each in found if each.severity is not Severity.INFO)


@pytest.fixture
def out(first: Path, tmp_path: Path) -> Path:
    metspack.build(first, tmp_path / "out", toy_options())
    return tmp_path / "out"


def lobs(out: Path, prefix: str, number: int) -> Iterator[bytes]:
    for row in range(1, number + 1):
        yield b"".join(metspack.cat(out, f"{prefix}s0.t0.c2.r{row}"))


def test_what_is_built_is_the_toys_own_and_checks(out: Path) -> None:
    text = (out / "METS.xml").read_text(encoding="utf-8")
    assert 'LABEL="fancy"' in text
    assert 'CHECKSUMTYPE="SHA-512"' in text
    assert not (out / "mets.xml").exists()
    assert len(list(out.glob("First_lobs/*/seg_*/METS.xml"))) == 2
    assert codes(out) == []


def test_a_plan_and_a_conversion_are_in_it(out: Path, first: Path, tmp_path: Path) -> None:
    assert [each.container for each in metspack.plan(first, toy_options())] == ["s0_t0_c2"] * 2
    metspack.convert(out, tmp_path / "other", replace(SMALL, dialect="csip"))
    metspack.convert(tmp_path / "other", tmp_path / "again", toy_options())
    for name in ("METS.xml", "manifest-sha256.txt"):
        assert (tmp_path / "again" / name).read_bytes() == (out / name).read_bytes()


def test_it_is_given_back(out: Path, tmp_path: Path) -> None:
    assert tuple(lobs(out, "", len(FIRST))) == FIRST
    assert not list(metspack.restore_dry_run(out))
    restored = metspack.restore(out, tmp_path / "lobs")
    assert restored.lobs == len(FIRST)
    metspack.restore_siard(out, tmp_path / "back.siard")
    metspack.build(tmp_path / "back.siard", tmp_path / "new", replace(SMALL, name="First"))
    assert codes(tmp_path / "new") == []


def test_what_it_lacks_is_refused_in_its_own_words(out: Path, first: Path) -> None:
    target = out.parent / "new"
    with pytest.raises(ConfigError, match=r"toy has no mapping\.txt and no manifest\.txt") as caught:
        metspack.build(first, target, replace(toy_options(), layout="siard22", lob_manifest=True))
    assert caught.value.hint.startswith("It is a toy: ")
    built = metspack.build(first, target, replace(toy_options(), layout="lobseg"))
    assert "toys lie otherwise" in built.warnings
