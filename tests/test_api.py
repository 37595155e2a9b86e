"""Functions for Python programs do the same as the commands."""

from __future__ import annotations

import json
import pydoc
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from inspect import isfunction
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import metspack
from metspack import (
    BuildOptions,
    CheckOptions,
    ConfigError,
    Grants,
    Limits,
    RestoreOptions,
    Severity,
    Split,
    clock,
)
from tests.cli.conftest import Commands
from tests.kept import copied
from tests.trees import tree


@pytest.fixture
def metspack_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    """Runs a command in this process: ``metspack_command("plan", path)``."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1456185600")
    return Commands(monkeypatch, capsys)


CREATED = "2016-02-23T00:00:00Z"
SMALL = BuildOptions(limits=Limits(files=4, bytes=45_000), created=CREATED)
PARTS = BuildOptions(limits=Limits(bytes=5_000), created=CREATED)


def test_every_name_of_the_public_api_is_there_and_no_other() -> None:
    assert all(getattr(metspack, name) is not None for name in metspack.__all__)
    assert sorted(metspack.__all__) == metspack.__all__
    with pytest.raises(AttributeError, match="no attribute 'bild'"):
        metspack.bild  # noqa: B018


def test_a_plan_is_its_segments(northwind: Path) -> None:
    segments = list(metspack.plan(northwind, SMALL))
    assert [(each.files, each.bytes) for each in segments] == [(4, 44_021), (3, 35_749), (1, 12_069)]
    by_column = list(metspack.plan(northwind, replace(SMALL, layout="siard22", split=Split.NEVER)))
    assert [each.container for each in by_column] == ["s0_t2_c4"] * 3
    assert list(metspack.plan(northwind, BuildOptions(min_size=1_000_000))) == []


def test_plan_and_convert_know_the_dialects(northwind: Path, tmp_path: Path) -> None:
    agents = metspack.Agents(submitter="National Archives")
    small = replace(SMALL, dialect_options=metspack.CsipOptions(package_type="AIP", agents=agents))
    csip = replace(small, dialect="csip")
    assert [each.container for each in metspack.plan(northwind, csip)] == ["s0_t2_c4"] * 3
    by_layout = metspack.plan(northwind, replace(csip, layout="lobseg"))
    assert [each.container for each in by_layout] == [""] * 3
    for dialect in ("recommendation", "csip"):
        metspack.build(northwind, tmp_path / dialect, replace(small, dialect=dialect))
    converted = metspack.convert(
        tmp_path / "recommendation", tmp_path / "new", replace(small, dialect="csip")
    )
    assert converted.layout == "siard22"
    assert tree(tmp_path / "new") == tree(tmp_path / "csip")
    assert b"National Archives" in b"".join(tree(tmp_path / "csip").values())


def test_what_was_packaged_is_given_back(northwind: Path, tmp_path: Path) -> None:
    """Paths are given as texts here."""
    out, lob = f"{tmp_path}/out", "s0.t2.c4.r2"
    assert metspack.build(str(northwind), out, PARTS).target == tmp_path / "out"
    with zipfile.ZipFile(northwind) as archive:
        picture = archive.read("content/schema0/table2/lob4/record1.bin")
    assert b"".join(metspack.cat(out, lob)) == picture
    with metspack.open_lob(out, lob) as file:
        assert file.read() == picture
    assert b"".join(metspack.cat(out, lob, ["4990-5009", "-1"])) == picture[4990:5010] + picture[-1:]
    with pytest.raises(ConfigError, match="lies outside the LOB"):
        list(metspack.cat(out, lob, ["0-99999"]))
    (shard,) = metspack.shards(out, lob)
    assert sum(file.length for file in shard.files) == len(picture)
    assert len(list(metspack.shards(out, base="file:///x/"))) == 8
    entries = list(metspack.list_lobs(out, table="Categories"))
    assert [each.primary_key["CategoryID"] for each in entries] == [str(row) for row in range(1, 9)]
    assert entries[1].size == len(picture)
    assert len(entries[1].files) == len(shard.files)
    assert list(metspack.restore_dry_run(out)) == []

    restored = metspack.restore(out, f"{tmp_path}/lobs", RestoreOptions(only=(lob,)))
    assert (restored.lobs, restored.split, restored.bytes) == (1, 1, len(picture))
    assert (tmp_path / "lobs/content/schema0/table2/lob4/record1.bin").read_bytes() == picture
    assert metspack.restore_siard(out, f"{tmp_path}/Northwind.siard").lobs == 8


@pytest.mark.slow
def test_a_path_may_be_a_text_everywhere(northwind: Path, tmp_path: Path) -> None:
    there, source = str(tmp_path), str(northwind)
    out = f"{there}/out"
    assert list(metspack.plan(source, SMALL))
    metspack.build(source, out, PARTS)
    roots = CheckOptions(roots=(there,), expect=None)
    assert not [each for each in metspack.check(out, roots) if each.severity is Severity.ERROR]
    assert list(metspack.check([out])) == list(metspack.check(Path(out)))
    csip = metspack.CsipOptions(package_type="AIP")
    metspack.build(source, f"{there}/csip", replace(SMALL, dialect="csip", dialect_options=csip))
    assert metspack.merge(f"{there}/csip", f"{there}/merged").target == tmp_path / "merged"
    plan = tmp_path / "plan"
    plan.write_text("no plan", encoding="utf-8")
    with pytest.raises(metspack.PlanError, match="not a line of a plan"):
        metspack.build(source, f"{there}/planned", BuildOptions(plan=str(plan)))
    with pytest.raises(ConfigError, match="is not a folder"):
        metspack.build(source, f"{there}/x", BuildOptions(grants=Grants(drives={"S": f"{there}/no"})))


@pytest.mark.parametrize("path", ["out\0", b"out"])
def test_what_no_path_can_be_is_a_wrong_call(northwind: Path, tmp_path: Path, path: str) -> None:
    calls = (
        lambda: metspack.check(path),
        lambda: metspack.check([tmp_path, path]),
        lambda: metspack.check(tmp_path, CheckOptions(roots=(path,))),
        lambda: metspack.check(tmp_path, CheckOptions(expect=path)),
        lambda: metspack.build(path, tmp_path / "out"),
        lambda: metspack.build(northwind, path),
        lambda: metspack.build(northwind, tmp_path / "out", BuildOptions(grants=Grants(mapping=path))),
        lambda: metspack.describe(path),
        lambda: metspack.merge([path], tmp_path / "out"),
        lambda: metspack.open_lob(path, "s0.t2.c4.r2"),
        lambda: next(metspack.list_lobs(path)),
        lambda: metspack.plan(path),
    )
    for call in calls:
        with pytest.raises(ConfigError, match="path") as refused:
            call()
        assert refused.value.id == "usage"
        assert refused.value.hint
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("lob", ["s0.t2.c4.r99", "s0\0"])
def test_a_lob_that_is_not_there_has_an_error_of_its_own(northwind: Path, tmp_path: Path, lob: str) -> None:
    copied("small package", tmp_path / "out", lambda out: metspack.build(northwind, out, SMALL))
    calls = (
        lambda: metspack.open_lob(tmp_path / "out", lob),
        lambda: next(metspack.cat(tmp_path / "out", lob)),
        lambda: next(metspack.shards(tmp_path / "out", lob)),
        lambda: metspack.restore(tmp_path / "out", tmp_path / "lobs", RestoreOptions(only=(lob,))),
    )
    for call in calls:
        with pytest.raises(metspack.SourceError, match="has no LOB") as refused:
            call()
        assert refused.value.id == "lob-not-found"
        assert refused.value.hint


def test_what_there_is_is_listed_with_its_contract() -> None:
    assert dir(metspack) == metspack.__all__
    page = pydoc.plain(pydoc.render_doc(metspack))
    first = page.split("PACKAGE CONTENTS", maxsplit=1)[0]
    functions = [name for name in metspack.__all__ if isfunction(getattr(metspack, name))]
    assert {"build", "check", "explain", "inspect", "links", "plan", "report"} < set(functions)
    assert all(f"``{name}``" in first for name in functions)
    assert all(f"    {name}(" in page for name in functions)
    for name in metspack.__all__:
        assert name in {"StrPath", "__version__"} or getattr(metspack, name).__doc__


def _named(hint: object) -> Iterator[type]:
    yield from (each for part in get_args(hint) for each in _named(part))
    if isinstance(hint, type) and hint.__module__.startswith("metspack"):
        yield hint


def test_all_that_stands_in_a_public_signature_is_public() -> None:
    public = [getattr(metspack, name) for name in metspack.__all__]
    walked = (metspack.Package, metspack.Segment, metspack.CheckReport, metspack.Finding)
    methods = [
        each.fget if isinstance(each, property) else getattr(each, "func", each)
        for kind in walked
        for name, each in vars(kind).items()
        if not name.startswith("_")
    ]
    named = {
        each
        for function in (*filter(isfunction, public), *filter(isfunction, methods))
        for hint in get_type_hints(function).values()
        for each in _named(hint)
    }
    assert named - set(public) == set()


def test_a_finding_says_what_explain_prints(northwind: Path, tmp_path: Path) -> None:
    out = copied("small package", tmp_path / "out", lambda out: metspack.build(northwind, out, SMALL))
    (out / "Northwind_lobseg_1" / "mets.xml").unlink()
    found = metspack.check(out)
    assert not found.ok
    for each in found.findings():
        explained = metspack.explain(each.code)
        assert (each.title, each.clause, each.remedy) == (explained.title, explained.clause, explained.remedy)
        assert all(explained.to_json()[name] for name in ("code", "title", "severity", "meaning", "clause"))
    requirement = metspack.Finding(
        code="M030", severity=Severity.ERROR, path="METS.xml", message="", requirement="CSIP60"
    )
    assert requirement.title == metspack.explain("CSIP60").title


def test_a_report_has_results_before_and_after(northwind: Path, tmp_path: Path) -> None:
    out = copied("small package", tmp_path / "out", lambda out: metspack.build(northwind, out, SMALL))
    assert metspack.check(out).ok
    lob = next(out.rglob("record3.bin"))
    lob.write_bytes(lob.read_bytes()[:-1] + b"#")
    (out / "unlisted").write_bytes(b"")
    everything = list(metspack.check(out))
    pending = metspack.check(out)
    first = next(pending)
    assert not pending.ok
    assert [first, *pending] == everything
    assert list(pending.findings()) == sorted(everything, key=lambda each: (each.path, each.line, each.code))
    assert pending.summary.errors == sum(each.severity is Severity.ERROR for each in everything)
    walked = list(metspack.Package(out).check())
    assert walked == everything


@pytest.mark.parametrize(("ending", "is_begun"), [("json", False), ("xml", True)])
def test_a_report_is_the_one_of_the_command(
    northwind: Path, tmp_path: Path, metspack_command: Commands, ending: str, is_begun: bool
) -> None:
    out = copied("small package", tmp_path / "out", lambda out: metspack.build(northwind, out, SMALL))
    next(out.rglob("record3.bin")).unlink()
    here, there = tmp_path / f"here.{ending}", tmp_path / f"there.{ending}"
    found = metspack.check(out)
    if is_begun:
        assert not found.ok
    metspack.report(found, here)
    assert metspack_command("check", out, "--report", there, "-q").code == 1
    assert here.read_text() == there.read_text()
    metspack.report(found, [str(here)])


def test_a_later_page_has_figures(northwind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ending = "html"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1456185600")
    monkeypatch.setattr(clock, "host", lambda: "reading-room-4")
    out = copied("small package", tmp_path / "out", lambda out: metspack.build(northwind, out, SMALL))
    next(out.rglob("record3.bin")).unlink()
    early, late = tmp_path / f"early.{ending}", tmp_path / f"late.{ending}"
    metspack.report(metspack.check(out), early)
    found = metspack.check(out)
    assert not found.ok
    metspack.report(found, late)
    assert "F001" in early.read_text() == late.read_text()
    assert "44,021" in early.read_text()
    assert all(each in early.read_text() for each in ("2016-02-23 00:00:00 UTC", "reading-room-4", str(out)))
    without = tmp_path / f"without.{ending}"
    metspack.report(found, without, with_provenance=False)
    assert "reading-room-4" not in without.read_text()


def test_results_equal_the_commands_json(northwind: Path, tmp_path: Path, metspack_command: Commands) -> None:
    out = copied("small package", tmp_path / "out", lambda out: metspack.build(northwind, out, SMALL))
    source, files, size = str(northwind), "--max-files", "--max-bytes"
    results: list[tuple[Any, tuple[str, ...]]] = [
        (metspack.plan(northwind, SMALL), ("plan", source, files, "4", size, "45000")),
        (metspack.inspect(northwind), ("inspect", source)),
        (metspack.inspect(northwind, verify=True), ("inspect", source, "--verify")),
        (metspack.links(out), ("links", str(out))),
        (metspack.check(out), ("check", str(out))),
    ]
    for result, arguments in results:
        printed = json.loads(metspack_command(*arguments, "--json").out)
        assert result.to_json()
        for name, value in result.to_json().items():
            assert name == "counts" or printed[name] == json.loads(json.dumps(value)), (arguments, name)
    assert [each.ok for each, _ in results if not isinstance(each, metspack.Draft)] == [True] * 4


def test_packages_equal_commands_json(northwind: Path, tmp_path: Path, metspack_command: Commands) -> None:
    limits = ("--max-files", "4", "--max-bytes", "45000")
    api, command = tmp_path / "api", tmp_path / "command"
    api.mkdir()
    command.mkdir()
    csip = replace(SMALL, dialect="csip")
    made: dict[str, tuple[Any, tuple[str, ...]]] = {
        "out": (metspack.build(northwind, api / "out", SMALL), ("build", str(northwind), *limits)),
        "csip": (
            metspack.build(northwind, api / "csip", csip),
            ("build", str(northwind), "--dialect", "csip", *limits),
        ),
        "new": (
            metspack.convert(api / "out", api / "new", PARTS),
            ("convert", "{}/out", "--max-bytes", "5000"),
        ),
        "whole": (
            metspack.merge(api / "csip", api / "whole", metspack.PackageOptions(created=CREATED)),
            ("merge", "{}/csip"),
        ),
        "lobs": (metspack.restore(api / "out", api / "lobs"), ("restore", "{}/out")),
        "N.siard": (metspack.restore_siard(api / "out", api / "N.siard"), ("restore", "{}/out", "--siard")),
    }
    for name, (result, arguments) in made.items():
        words = [each.format(command) for each in arguments]
        printed = json.loads(metspack_command(*words, "-o", str(command / name), "--json").out)
        assert result.to_json() | {"target": None} == printed | {"target": None}, name
        assert result.to_json()["target"] == str(api / name)
    dry = metspack.restore_dry_run(api / "out").to_json()
    assert dry == json.loads(metspack_command("restore", str(api / "out"), "--dry-run", "--json").out)
    listed = [each.to_json() for each in metspack.list_lobs(api / "out", table="Categories")]
    lines = metspack_command("list", str(api / "out"), "--table", "Categories", "--json").out.splitlines()
    assert [{**json.loads(line), **each} for line, each in zip(lines, listed, strict=True)] == [
        json.loads(line) for line in lines
    ]


FORMS = {
    "parts": PARTS,
    "csip in zip": replace(SMALL, dialect="csip", pack="zip"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_package_is_walked(northwind: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    built = metspack.build(northwind, out, FORMS[form])
    with metspack.Package(str(out)) as package:
        assert (package.objid, package.name, package.path) == (built.objid, "Northwind", out)
        (archive,) = package.archives
        assert (archive.siard_version, archive.database) == ("2.2", "Northwind")
        assert "dbo.Categories" in archive.tables
        assert [each.number for each in package.segments] == list(range(built.segments))
        assert sum(each.bytes for each in package.segments) == built.bytes
        lobs = list(package.lobs())
        assert lobs == list(metspack.list_lobs(out))
        parts = [[file for lob in each.lobs() for file in lob.files] for each in package.segments]
        for segment, held in zip(package.segments, parts, strict=True):
            own = [file for file in held if file.path.startswith(f"{segment.path}/")]
            assert (len(own), sum(file.size or 0 for file in own)) == (segment.files, segment.bytes)
        assert {lob.id for each in package.segments for lob in each.lobs()} == {lob.id for lob in lobs}
        with package.open_lob(lobs[0].id) as file:
            assert len(file.read()) == lobs[0].size
        assert package.check().ok
        assert package.faults == ()
    with pytest.raises(metspack.SourceNotFoundError):
        metspack.Package(tmp_path / "no")
