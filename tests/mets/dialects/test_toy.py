"""A third dialect, registered by one line and known to nobody else, does all that dialects do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import metspack
from metspack.building.build import BuildOptions
from metspack.errors import ConfigError
from metspack.mets import dialects
from metspack.model import Limits
from tests.adding.packages import FIRST, SECOND, codes, siard
from tests.mets.dialects.toy.dialect import ToyOptions

SMALL = BuildOptions(limits=Limits(files=3, bytes=1_000), created="2024-05-06T07:08:09Z")
TOY = replace(SMALL, dialect="toy", dialect_options=ToyOptions(motto="fancy"))


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the toy."""
    monkeypatch.setitem(dialects.DIALECTS, "toy", "tests.mets.dialects.toy")


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return siard(tmp_path, "First", *FIRST)


@pytest.fixture
def second(tmp_path: Path) -> Path:
    return siard(tmp_path, "Orders", *SECOND)


@pytest.fixture
def out(first: Path, tmp_path: Path) -> Path:
    metspack.build(first, tmp_path / "out", TOY)
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
    assert [each.container for each in metspack.plan(first, TOY)] == ["s0_t0_c2"] * 2
    metspack.convert(out, tmp_path / "other", replace(SMALL, dialect="csip"))
    metspack.convert(tmp_path / "other", tmp_path / "again", TOY)
    for name in ("METS.xml", "manifest-sha256.txt"):
        assert (tmp_path / "again" / name).read_bytes() == (out / name).read_bytes()


def test_what_is_added_to_it_is_as_it_is(out: Path, second: Path) -> None:
    added = metspack.add(out, second, SMALL)
    assert added.warnings[-1] == "a toy has grown"
    text = (out / "METS.xml").read_text(encoding="utf-8")
    assert text.count('CHECKSUMTYPE="SHA-512"') == text.count("CHECKSUMTYPE") == 6
    assert 'LABEL="fancy"' in (out / "Orders_lobs/s0_t0_c2/seg_0/METS.xml").read_text(encoding="utf-8")
    assert codes(out) == []
    assert tuple(lobs(out, "First.", len(FIRST))) == FIRST
    assert tuple(lobs(out, "Orders.", len(SECOND))) == SECOND


def test_it_is_given_back(out: Path, tmp_path: Path) -> None:
    assert tuple(lobs(out, "", len(FIRST))) == FIRST
    assert not list(metspack.roundtrip(out))
    restored = metspack.restore(out, tmp_path / "lobs")
    assert restored.lobs == len(FIRST)
    metspack.restore_siard(out, tmp_path / "back.siard")
    metspack.build(tmp_path / "back.siard", tmp_path / "new", replace(SMALL, name="First"))
    assert codes(tmp_path / "new") == []


def test_what_it_lacks_is_refused_in_its_own_words(out: Path, first: Path, second: Path) -> None:
    target = out.parent / "new"
    with pytest.raises(ConfigError, match=r"toy has no mapping\.txt and no manifest\.txt") as caught:
        metspack.build(first, target, replace(TOY, layout="siard22", lob_manifest=True))
    assert caught.value.hint.startswith("It is a toy: ")
    with pytest.raises(ConfigError, match="the dialect toy has no representations"):
        metspack.add(out, second, representation="rep2")
    built = metspack.build(first, target, replace(TOY, layout="lobseg"))
    assert "toys lie otherwise" in built.warnings
