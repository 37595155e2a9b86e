"""Packages of several archives are checked, listed and restored; some options name one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import metspack
from metspack import api, checking
from metspack.building import build, convert
from metspack.errors import MetspackError, SourceError
from metspack.model import Severity
from metspack.restoring.files import RestoreOptions
from metspack.restoring.siard import Into
from tests import siards
from tests.official import mets_faults, premis_faults
from tests.packages.several import FIRST, FORMS, SECOND, several
from tests.trees import tree

OPTIONS = build.BuildOptions(created="2024-05-06T07:08:09Z")


@pytest.fixture(params=FORMS)
def out(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return several(tmp_path / "out", request.param)


def test_they_are_right(out: Path) -> None:
    found = [each.code for each in checking.check(out) if each.severity is not Severity.INFO]
    assert found == []
    for path in sorted((*out.rglob("mets.xml"), *out.rglob("METS.xml"))):
        assert list(mets_faults(path)) == [], path
    for path in sorted(out.rglob("premis.xml")):
        assert list(premis_faults(path)) == [], path


@pytest.mark.slow
def test_lobs_are_given_back_from_both(out: Path, tmp_path: Path) -> None:
    for number, data in enumerate(FIRST, 1):
        for lob in (f"First.s0.t0.c2.r{number}", *([f"s0.t0.c2.r{number}"] if number > len(SECOND) else [])):
            assert b"".join(api.cat(out, lob)) == data
    for number, data in enumerate(SECOND, 1):
        with api.open_lob(out, f"Orders.s0.t0.c2.r{number}") as file:
            assert file.read() == data
        assert b"".join(api.cat(out, f"Orders.s0.t0.c2.r{number}", ["-1"])) == data[-1:]
    for name, contents in (("First", FIRST), ("Orders", SECOND)):
        again = tmp_path / name
        api.restore(out, again, RestoreOptions(archive=name))
        tail = "content/schema0/table0/lob2/record{}.bin"
        assert [(again / tail.format(n)).read_bytes() for n in range(len(contents))] == list(contents)
        one = tmp_path / f"{name}.only"
        api.restore(out, one, RestoreOptions(archive=name, only=("s0.t0.c2.r2",)))
        assert [path.read_bytes() for path in one.rglob("record*")] == [contents[1]]
        api.restore(out, tmp_path / f"{name}.named", RestoreOptions(only=(f"{name}.s0.t0.c2.r2",)))
        assert tree(tmp_path / f"{name}.named") == tree(one)
        for into in Into:
            api.restore_siard(out, tmp_path / f"{name}-{into.value}", into, archive=name)
        for into_ in (None, *Into):
            assert api.restore_dry_run(out, RestoreOptions(archive=name), into_).ok
    assert [each.lob for each in api.shards(out)] == [
        *(f"s0.t0.c2.r{n}" for n in range(1, len(FIRST) + 1)),
        *(f"Orders.s0.t0.c2.r{n}" for n in range(1, len(SECOND) + 1)),
    ]
    (shard,) = api.shards(out, "Orders.s0.t0.c2.r2")
    assert len(shard.files) > 1


def test_an_archive_given_back_makes_the_package_that_it_makes_by_itself(out: Path, tmp_path: Path) -> None:
    given = tmp_path / "again.siard"
    api.restore_siard(out, given, archive="Orders")
    source = siards.siard(tmp_path / "Orders.siard", *SECOND)
    for name, from_ in (("x", source), ("y", given)):
        build.build(from_, tmp_path / name, replace(OPTIONS, name="Orders"))
    assert tree(tmp_path / "x") == tree(tmp_path / "y")


def test_a_bare_id_that_both_have_is_refused(out: Path) -> None:
    calls: tuple[Callable[[], object], ...] = (
        lambda: list(api.cat(out, "s0.t0.c2.r2")),
        lambda: api.open_lob(out, "s0.t0.c2.r2"),
        lambda: list(api.shards(out, "s0.t0.c2.r2")),
    )
    for each in calls:
        with pytest.raises(SourceError, match=r"several archives of the package have a LOB s0\.t0") as caught:
            each()
        assert "First.s0.t0.c2.r2 or Orders.s0.t0.c2.r2" in caught.value.hint
    for lob in ("Other.s0.t0.c2.r2", "Orders.s0.t0.c2.r99", "s0.t0.c2.r99"):
        with pytest.raises(SourceError):
            list(api.cat(out, lob))


def test_what_needs_one_archive_says_how_to_choose(out: Path, tmp_path: Path) -> None:
    target = tmp_path / "x"
    calls: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: api.restore(out, target), "--archive NAME"),
        (lambda: api.restore_siard(out, target), "--archive NAME"),
        (
            lambda: convert.convert_package(out, target, OPTIONS),
            "metspack restore OUT --siard --archive NAME",
        ),
    )
    for each, hint in calls:
        with pytest.raises(SourceError, match=r"holds 2 archives: .*First\.siard, .*Orders\.siard") as caught:
            each()
        assert hint in caught.value.hint
        assert not target.exists()
    with pytest.raises(SourceError, match="holds no archive 'Other'") as caught:
        api.restore(out, target, RestoreOptions(archive="Other"))
    assert "First, Orders" in caught.value.hint


def test_merge_refuses_two_representations(tmp_path: Path) -> None:
    out = several(tmp_path / "out", "csip")
    with pytest.raises(MetspackError, match=r"has 2 representations \(rep1, rep2\)") as caught:
        metspack.merge([out], tmp_path / "whole")
    assert "metspack restore OUT --siard --archive NAME" in caught.value.hint
