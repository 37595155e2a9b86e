"""What a Python program calls does what the commands do."""

from __future__ import annotations

import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

import metspack
from metspack import (
    BuildOptions,
    CheckOptions,
    ConfigError,
    FolderStyle,
    Grants,
    Level,
    Limits,
    PackageOptions,
    RestoreOptions,
    Severity,
    Split,
)
from tests import siards
from tests.restoring.damages import without_map
from tests.trees import tree

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
    for dialect, other in (("recommendation", "csip"), ("csip", "recommendation")):
        converted = metspack.convert(tmp_path / other, tmp_path / "new", replace(small, dialect=dialect))
        assert converted.layout == ("siard22" if dialect == "csip" else "lobseg")
        assert tree(tmp_path / "new") == tree(tmp_path / dialect)
        shutil.rmtree(tmp_path / "new")
    assert b"National Archives" in b"".join(tree(tmp_path / "csip").values())


def test_add_takes_what_the_command_takes(northwind: Path, northwind_full: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    metspack.build(northwind, out, SMALL)
    full = BuildOptions(
        limits=Limits(files=30),
        layout="siard22",
        split=Split.NEVER,
        min_size=1_000,
        name="Full",
        grants=Grants(lob_roots=(tmp_path,)),
        add_digests=True,
        created=CREATED,
        verify=True,
    )
    added = metspack.add(out, northwind_full, full)
    assert (added.target, added.name, added.layout, added.kept > 0) == (out, "Full", "siard22", True)
    assert [each for each in metspack.check(out) if each.severity is Severity.ERROR] == []
    with pytest.raises(ConfigError, match="has an archive named Full already"):
        metspack.add(out, northwind_full, BuildOptions(name="Full"))


def test_build_takes_what_the_command_takes(northwind: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = BuildOptions(
        limits=Limits(bytes=12_000),
        layout="siard22",
        split=Split.ALONE,
        lob_folder_style=FolderStyle.SFA,
        name="N",
        objid="ID.N",
        grants=Grants(lob_roots=(tmp_path,)),
        created=CREATED,
        agents=("Archive",),
        verify=True,
    )
    built = metspack.build(northwind, out, options)
    assert (built.name, built.objid, built.layout, built.files, built.kept) == ("N", "ID.N", "siard22", 8, 0)
    assert built.split == sum(1 for name in tree(out) if name.endswith("_part001")) > 0
    found = metspack.check(out, CheckOptions(level=Level.FULL))
    assert not [each for each in found if each.severity is Severity.ERROR]


def test_a_plan_file_is_followed(northwind: Path, tmp_path: Path) -> None:
    head = {
        "metspack_plan": 1,
        "name": "N",
        "source": {"size": 1, "metadata_sha256": ""},
        "options": {"layout": "lobseg", "split": "fill", "max_files": 4, "max_bytes": None, "min_size": None},
    }
    plan = tmp_path / "plan"
    plan.write_text(f"{json.dumps(head)}\n", encoding="utf-8")
    with pytest.raises(metspack.PlanError, match="no longer fits its source: planned for size 1 byte"):
        metspack.build(northwind, tmp_path / "out", BuildOptions(plan=plan))


@pytest.mark.parametrize(
    "wrong",
    [
        BuildOptions(layout="dbptk"),
        BuildOptions(accepted=frozenset({"anything"})),
        BuildOptions(dialect="dbptk"),
        BuildOptions(pack="rar"),
        BuildOptions(created="2016-02-23"),
    ],
)
def test_values_that_there_are_not_are_refused(northwind: Path, tmp_path: Path, wrong: BuildOptions) -> None:
    with pytest.raises(ConfigError):
        metspack.build(northwind, tmp_path / "out", wrong)
    assert not list(tmp_path.iterdir())


def test_what_was_packaged_is_given_back(northwind: Path, tmp_path: Path) -> None:
    out, lob = tmp_path / "out", "s0.t2.c4.r2"
    metspack.build(northwind, out, PARTS)
    with zipfile.ZipFile(northwind) as archive:
        picture = archive.read("content/schema0/table2/lob4/record1.bin")
    assert b"".join(metspack.cat(out, lob)) == picture
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
    assert list(metspack.roundtrip(out)) == []

    restored = metspack.restore(out, tmp_path / "lobs", RestoreOptions(only=(lob,)))
    assert (restored.lobs, restored.split, restored.bytes) == (1, 1, len(picture))
    assert (tmp_path / "lobs/content/schema0/table2/lob4/record1.bin").read_bytes() == picture
    assert metspack.restore_siard(out, tmp_path / "Northwind.siard").lobs == 8
    assert metspack.restore_siard(out, tmp_path / "folder", metspack.Into.FOLDER).lobs == 8

    alone = BuildOptions(layout="siard22", split=Split.ALONE, limits=Limits(files=2), created=CREATED)
    other = metspack.convert(out, tmp_path / "other", alone)
    assert (other.layout, other.files) == ("siard22", 8)
    metspack.convert(tmp_path / "other", tmp_path / "back", PARTS)
    assert tree(tmp_path / "back") == tree(out)


def test_a_shard_is_given_of_what_agrees_alone(northwind: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    metspack.build(northwind, out, PARTS)
    part = out / next(metspack.shards(out)).files[1].url
    part.write_bytes(part.read_bytes() + b"#")
    with pytest.raises(
        metspack.SourceError, match=r"record0\.bin\.1.*: expected a file of 5,000 bytes; found 5,001 b"
    ):
        list(metspack.shards(out))
    without_map(out)
    with pytest.raises(metspack.SourceError, match="lists it as a part: expected an mptr"):
        list(metspack.shards(out, "s0.t2.c4.r2"))


def test_a_folder_in_segments_is_described(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    source = siards.siard(tmp_path / "Small.siard", b"one", b"two")
    metspack.build(source, folder, BuildOptions(limits=Limits(files=1)))
    for path in (*folder.rglob("mets.xml"), *folder.glob("manifest-*.txt")):
        path.unlink()
    made = metspack.describe(folder, PackageOptions(objid="ID.S", created=CREATED))
    assert (made.objid, made.segments, made.files, made.bytes) == ("ID.S", 2, 2, 6)
    assert not [each for each in metspack.check(folder) if each.severity is Severity.ERROR]


def test_a_path_may_be_a_text_everywhere(northwind: Path, northwind_full: Path, tmp_path: Path) -> None:
    there, source, full = str(tmp_path), str(northwind), str(northwind_full)
    out, lob = f"{there}/out", "s0.t2.c4.r2"
    assert list(metspack.plan(source, SMALL))
    assert metspack.build(source, out, PARTS).target == tmp_path / "out"
    roots = CheckOptions(roots=(there,), expect=None)
    assert not [each for each in metspack.check(out, roots) if each.severity is Severity.ERROR]
    assert list(metspack.check([out])) == list(metspack.check(Path(out)))
    with metspack.open_lob(out, lob) as file:
        picture = file.read()
    assert b"".join(metspack.cat(out, lob)) == picture
    assert len(list(metspack.list_lobs(out))) == len(list(metspack.shards(out))) == 8
    assert list(metspack.roundtrip(out)) == []
    assert metspack.restore(out, f"{there}/lobs").lobs == 8
    assert metspack.restore_siard(out, f"{there}/back.siard").lobs == 8
    metspack.convert(out, f"{there}/converted", SMALL)
    metspack.add(f"{there}/converted", full, BuildOptions(name="Full", grants=Grants(lob_roots=(there,))))
    csip = metspack.CsipOptions(package_type="AIP")
    metspack.build(source, f"{there}/csip", replace(SMALL, dialect="csip", dialect_options=csip))
    assert metspack.merge(f"{there}/csip", f"{there}/merged").target == tmp_path / "merged"
    metspack.merge([f"{there}/csip"], f"{there}/merged2")
    plan = tmp_path / "plan"
    plan.write_text("no plan", encoding="utf-8")
    with pytest.raises(metspack.PlanError, match="not a line of a plan"):
        metspack.build(source, f"{there}/planned", BuildOptions(plan=str(plan)))
    with pytest.raises(ConfigError, match="is not a folder"):
        metspack.build(source, f"{there}/x", BuildOptions(grants=Grants(drives={"S": f"{there}/no"})))


@pytest.mark.parametrize("path", ["out\0", "", "\ud800", b"out"])
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
        lambda: next(metspack.plan(path)),
    )
    for call in calls:
        with pytest.raises(ConfigError, match="path") as refused:
            call()
        assert refused.value.id == "usage"
        assert refused.value.hint
    assert not list(tmp_path.iterdir())


def test_nothing_to_check_is_not_all_well() -> None:
    with pytest.raises(ConfigError, match="no package to check"):
        metspack.check([])


@pytest.mark.parametrize("lob", ["s0.t2.c4.r99", "s0.t2.c4.r1\udce6", "s0\0", "", "\ud800"])
def test_a_lob_that_is_not_there_has_an_error_of_its_own(northwind: Path, tmp_path: Path, lob: str) -> None:
    metspack.build(northwind, tmp_path / "out", SMALL)
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
