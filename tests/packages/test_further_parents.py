"""Parents that are children of another parent: their LOBs are read as those of any package."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import metspack
from metspack import checking
from metspack.files import writing
from metspack.model import Severity
from tests import siards
from tests.packages.cases import HERE
from tests.trees import tree as contents

LOBS = [b"%d" % number * (number + 1) for number in range(5)]
CREATED = "2026-01-02T03:04:05Z"


def package(form: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(HERE / "forms" / form, tmp_path / "package"))


@pytest.mark.parametrize("form", ["tree", "csip_tree"])
def test_lobs_below_further_parents_are_found(form: str, tmp_path: Path) -> None:
    out = package(form, tmp_path)
    assert [each for each in checking.check(out) if each.severity is Severity.ERROR] == []
    metspack.restore(out, tmp_path / "lobs")
    assert [each.read_bytes() for each in sorted((tmp_path / "lobs").rglob("*.bin"))] == LOBS
    with metspack.Package(out) as opened:
        found = [opened.open_lob(each.id) for each in opened.lobs()]
        assert [each.read() for each in found] == LOBS


@pytest.mark.slow
def test_ips_below_further_parents_are_merged_as_if_one_parent_named_them(tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "Tree.siard", *LOBS)
    limits = metspack.Limits(files=1)
    options = metspack.BuildOptions(limits=limits, created=CREATED, objid="TREE", dialect="csip")
    metspack.build(source, tmp_path / "flat", options)
    for name, given in (("one", package("csip_tree", tmp_path)), ("other", tmp_path / "flat")):
        metspack.merge([given], tmp_path / name, metspack.PackageOptions(created=CREATED))
    assert contents(tmp_path / "one") == contents(tmp_path / "other")


def test_an_ip_of_a_further_parent_that_is_not_given_is_reported(tmp_path: Path) -> None:
    out = package("csip_tree", tmp_path)
    for lost, by in (("TREE_s0_t0_c2_seg_4", "TREE_segments_2"), ("TREE_segments_1", "TREE")):
        writing.move(out / lost, tmp_path / lost)
        with pytest.raises(metspack.SourceError, match=f"{by}/METS.xml names the child {lost}, which is not"):
            metspack.merge([out], tmp_path / "merged")
        writing.move(tmp_path / lost, out / lost)
    (out / "TREE_segments_1/METS.xml").write_bytes(
        (out / "TREE_segments_1/METS.xml").read_bytes().replace(b"further parent 1", b"further parent 7")
    )
    with pytest.raises(
        metspack.SourceError, match=r"this METS has .*; expected .* \(/.*/TREE/METS\.xml line"
    ):
        metspack.merge([out], tmp_path / "merged")
