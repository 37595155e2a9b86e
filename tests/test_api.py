"""What a Python program calls does what the commands do."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

import metspack
from metspack import ConfigError, FolderStyle, Grants, Level, Limits, Severity, Split
from tests import siards
from tests.trees import tree

SMALL = Limits(files=4, bytes=45_000)
CREATED = datetime(2016, 2, 23, tzinfo=UTC)


def test_every_name_of_the_public_api_is_there_and_no_other() -> None:
    assert all(getattr(metspack, name) is not None for name in metspack.__all__)
    assert sorted(metspack.__all__) == metspack.__all__
    with pytest.raises(AttributeError, match="no attribute 'bild'"):
        metspack.bild  # noqa: B018


def test_a_plan_is_its_segments(northwind: Path) -> None:
    segments = list(metspack.plan(northwind, SMALL))
    assert [(each.files, each.bytes) for each in segments] == [(4, 44_021), (3, 35_749), (1, 12_069)]
    by_column = list(metspack.plan(northwind, SMALL, layout="siard22", split=Split.NEVER))
    assert [each.container for each in by_column] == ["s0_t2_c4"] * 3
    assert list(metspack.plan(northwind, min_size=1_000_000)) == []


def test_build_takes_what_the_command_takes(northwind: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    built = metspack.build(
        northwind,
        out,
        limits=Limits(bytes=12_000),
        layout="siard22",
        split=Split.ALONE,
        lob_folder_style=FolderStyle.SFA,
        name="N",
        objid="ID.N",
        grants=Grants(lob_roots=(tmp_path,)),
        created=CREATED,
        agents=["Archive"],
        verify=True,
    )
    assert (built.name, built.objid, built.layout, built.files, built.kept) == ("N", "ID.N", "siard22", 8, 0)
    assert built.split == sum(1 for name in tree(out) if name.endswith("_part001")) > 0
    found = metspack.check(out, Level.FULL)
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
        metspack.build(northwind, tmp_path / "out", plan=plan)


@pytest.mark.parametrize("wrong", [{"layout": "dbptk"}, {"accept": ["anything"]}])
def test_values_that_there_are_not_are_refused(
    northwind: Path, tmp_path: Path, wrong: dict[str, object]
) -> None:
    with pytest.raises(ConfigError):
        metspack.build(northwind, tmp_path / "out", **wrong)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_folder_in_segments_is_described(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    source = siards.siard(tmp_path / "Small.siard", b"one", b"two")
    metspack.build(source, folder, limits=Limits(files=1), created=CREATED)
    for path in (*folder.rglob("mets.xml"), *folder.glob("manifest-*.txt")):
        path.unlink()
    made = metspack.describe(folder, objid="ID.S", created=CREATED)
    assert (made.objid, made.segments, made.files, made.bytes) == ("ID.S", 2, 2, 6)
    assert not [each for each in metspack.check(folder) if each.severity is Severity.ERROR]
