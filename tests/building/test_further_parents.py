"""Further parents: who names whom, who finds the LOBs, and what stays the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import metspack
from metspack import checking
from metspack.errors import ConfigError
from metspack.files import writing
from metspack.mets.dialects.interface import SegmentSpot
from metspack.mets.dialects.recommendation.dialect import Recommendation
from tests.packages.tree import CREATED, tree
from tests.trees import tree as contents


def named(mets: Path) -> list[str]:
    """Return the folders of the METS that a METS names."""
    text = mets.read_text(encoding="utf-8")
    return [each.partition("/mets.xml")[0] for each in text.split('href="')[1:] if "/mets.xml" in each[:60]]


def test_the_parent_names_the_first_children_and_then_the_further_parents(tmp_path: Path) -> None:
    tree(tmp_path / "out")
    assert named(tmp_path / "out/mets.xml") == [
        *("Tree_lobseg_0", "Tree_lobseg_1", "Tree_parent_1", "Tree_parent_2")
    ]
    assert named(tmp_path / "out/Tree_parent_1/mets.xml") == ["../Tree_lobseg_2", "../Tree_lobseg_3"]
    assert named(tmp_path / "out/Tree_parent_2/mets.xml") == ["../Tree_lobseg_4"]
    for manifest in ("manifest-md5.txt", "manifest-sha256.txt"):
        assert "Tree_parent_2/mets.xml" in (tmp_path / "out" / manifest).read_text(encoding="utf-8")


def test_a_limit_that_is_not_reached_changes_nothing(tmp_path: Path) -> None:
    for limit in (5, 6):
        (tmp_path / f"{limit}").mkdir()
        tree(tmp_path / f"{limit}" / "out", limit)
    (tmp_path / "none").mkdir()
    source, out = tmp_path / "5" / "Tree", tmp_path / "none" / "out"
    options = metspack.BuildOptions(limits=metspack.Limits(files=1), created=CREATED, objid="PARENT")
    metspack.build(source, out, options)
    assert contents(tmp_path / "5/out") == contents(tmp_path / "6/out") == contents(out)


def test_a_build_that_was_stopped_at_a_further_parent_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(tmp_path / "out")
    real = Recommendation.write_further_parent

    def failing(self: Recommendation, package: Path, spot: SegmentSpot, *rest: object) -> object:
        if spot.number == 2:
            writing.make_directories(package / spot.ip)
            raise KeyboardInterrupt
        return real(self, package, spot, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Recommendation, "write_further_parent", failing)
    options = metspack.BuildOptions(
        limits=metspack.Limits(files=1), created=CREATED, objid="PARENT", parent_limit=2
    )
    with pytest.raises(KeyboardInterrupt):
        metspack.build(tmp_path / "Tree", tmp_path / "again", options)
    monkeypatch.undo()
    metspack.build(tmp_path / "Tree", tmp_path / "again", options)
    assert contents(tmp_path / "again") == contents(tmp_path / "out")


@pytest.mark.parametrize("split", [metspack.Split.FILL, metspack.Split.ALONE])
@pytest.mark.parametrize("jobs", [1, 2])
def test_every_lob_is_found_below_further_parents(
    tmp_path: Path, northwind: Path, split: metspack.Split, jobs: int
) -> None:
    options = metspack.BuildOptions(
        limits=metspack.Limits(bytes=9_000), split=split, parent_limit=2, jobs=jobs
    )
    metspack.build(northwind, tmp_path / "out", options)
    assert not [each for each in checking.check(tmp_path / "out") if each.code != "S010"]
    metspack.restore(tmp_path / "out", tmp_path / "lobs")
    metspack.build(northwind, tmp_path / "plain")
    metspack.restore(tmp_path / "plain", tmp_path / "expected")
    assert contents(tmp_path / "lobs") == contents(tmp_path / "expected")


def test_a_limit_that_names_nobody_is_refused(tmp_path: Path, northwind: Path) -> None:
    with pytest.raises(ConfigError, match="at least one child"):
        metspack.build(northwind, tmp_path / "out", metspack.BuildOptions(parent_limit=0))


def test_a_dialect_without_further_parents_refuses_the_option(
    tmp_path: Path, northwind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recommendation, "further", "")
    with pytest.raises(ConfigError, match="one parent names all children"):
        metspack.build(northwind, tmp_path / "out", metspack.BuildOptions(parent_limit=2))
    metspack.build(northwind, tmp_path / "out", metspack.BuildOptions(limits=metspack.Limits(files=1)))
