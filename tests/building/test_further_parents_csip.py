"""Further parents of the dialect csip: IPs of their own, which name the children that the parent does not."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import metspack
from metspack import checking
from metspack.files import writing
from metspack.mets.dialects.csip.dialect import Csip
from metspack.mets.dialects.csip.package import CsipOptions
from metspack.mets.dialects.csip.terms import Agents
from metspack.mets.dialects.interface import SegmentSpot
from metspack.model import Severity
from tests import siards
from tests.kept import copied
from tests.official import mets_faults, premis_faults
from tests.trees import tree as contents

LOBS = tuple(b"%d" % number * (number * 5 + 1) for number in range(6))
OPTIONS = metspack.BuildOptions(
    dialect="csip",
    created="2026-01-02T03:04:05Z",
    limits=metspack.Limits(files=1),
    parent_limit=2,
    objid="TREE",
)
PARTS = replace(OPTIONS, limits=metspack.Limits(bytes=9), split=metspack.Split.ALONE)


def csip(**given: object) -> CsipOptions:
    agents = Agents(submitter="National Archives")
    return CsipOptions(**given, agents=agents)  # type: ignore[arg-type]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return siards.siard(tmp_path / "Small.siard", *LOBS)


def built(tmp_path: Path, source: Path, options: metspack.BuildOptions, name: str = "out") -> Path:
    return copied(repr(options), tmp_path / name, lambda out: metspack.build(source, out, options))


def wrong(package: Path) -> list[str]:
    """Return errors and warnings, also those of the E-ARK standards, but for LOBs in parts."""
    found = checking.check(package)
    return [each.code for each in found if each.severity is not Severity.INFO and each.code != "S010"]


def named(package: Path, ip: str) -> list[str]:
    """Return the folders beside an IP's own whose METS it links to, by location, in its order."""
    return re.findall(
        r'<mets:mptr [^>]*LOCTYPE="URL" [^>]*xlink:href="\.\./([^"/]+)/METS.xml"',
        (package / ip / "METS.xml").read_text("utf-8"),
    )


FORMS = {
    "aip": OPTIONS,
    "csip-large": replace(OPTIONS, objid="urn:nan:TREE", dialect_options=csip(link_style="csip-large")),
    "recommendation": replace(
        OPTIONS, dialect_options=csip(link_style="recommendation", roda_ancestors=True)
    ),
    "by OBJID": replace(OPTIONS, objid=None, dialect_options=csip(child_links="objid", profile="cits-siard")),
    "SIP": replace(OPTIONS, parent_limit=1, dialect_options=csip(profile="sip")),
    "in zip": replace(OPTIONS, pack="zip", parent_limit=3),
    "parts": PARTS,
    "parts in tar": replace(PARTS, pack="tar", dialect_options=csip(child_links="objid")),
    "representation segments": replace(OPTIONS, dialect_options=csip(representation="segments")),
    "jobs": replace(OPTIONS, jobs=2),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_lobs_and_findings_are_those_of_a_package_without_further_parents(
    tmp_path: Path, source: Path, form: str
) -> None:
    """So is what is merged from it, to the byte."""
    out = built(tmp_path, source, FORMS[form])
    flat = built(tmp_path, source, replace(FORMS[form], parent_limit=None), "flat")
    assert len(list(out.iterdir())) > len(list(flat.iterdir()))
    assert wrong(out) == []
    for each in (out, flat):
        metspack.restore(each, tmp_path / f"{each.name}.lobs")
        metspack.merge(
            [each], tmp_path / f"{each.name}.merged", metspack.PackageOptions(created=OPTIONS.created)
        )
    assert contents(tmp_path / "out.lobs") == contents(tmp_path / "flat.lobs")
    assert contents(tmp_path / "out.merged") == contents(tmp_path / "flat.merged")
    assert wrong(tmp_path / "out.merged") == []


@pytest.mark.parametrize("form", ["aip", "csip-large", "recommendation", "by OBJID", "SIP", "parts"])
def test_every_document_is_valid(tmp_path: Path, source: Path, form: str) -> None:
    out = built(tmp_path, source, FORMS[form])
    for path in sorted(out.rglob("METS.xml")):
        assert list(mets_faults(path)) == [], path
    for path in sorted(out.rglob("premis.xml")):
        assert list(premis_faults(path)) == [], path


def test_the_parent_names_the_first_children_and_then_the_further_parents(
    tmp_path: Path, source: Path
) -> None:
    out = built(tmp_path, source, OPTIONS)
    children = [f"TREE_s0_t0_c2_seg_{number}" for number in range(6)]
    assert named(out, "TREE") == [*children[:2], "TREE_segments_1", "TREE_segments_2"]
    assert named(out, "TREE_segments_1") == ["TREE", *children[2:4]]
    assert named(out, "TREE_segments_2") == ["TREE", *children[4:]]
    assert [named(out, each) for each in children] == [
        *(["TREE"], ["TREE"], ["TREE_segments_1"], ["TREE_segments_1"]),
        *(["TREE_segments_2"], ["TREE_segments_2"]),
    ]
    listed = out / "TREE_segments_1/representations/segments/data/segments.txt"
    assert listed.read_text("utf-8").splitlines() == children[2:4]
    premis = (out / "TREE_segments_1/metadata/preservation/premis.xml").read_text("utf-8")
    assert [each for each in ("TREE", *children) if f">{each}<" in premis] == ["TREE", *children[2:4]]
    about = (out / "TREE_segments_1/documentation/about-this-package.txt").read_text("utf-8")
    assert "representations/segments/data/segments.txt" in about
    assert "further parents" in (out / "TREE/documentation/about-this-package.txt").read_text("utf-8")


def test_a_limit_that_is_not_reached_changes_nothing(tmp_path: Path, source: Path) -> None:
    made = [
        contents(built(tmp_path, source, replace(OPTIONS, parent_limit=limit), f"{limit}"))
        for limit in (None, 6, 7)
    ]
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("form", ["aip", "in zip"])
def test_a_build_that_was_stopped_at_a_further_parent_gives_the_same_bytes(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    options = replace(FORMS[form], parent_limit=2)
    out = built(tmp_path, source, options)
    real = Csip.write_further_parent

    def failing(self: Csip, package: Path, spot: SegmentSpot, *rest: object) -> object:
        made = real(self, package, spot, *rest)  # type: ignore[arg-type]
        if spot.number == 2:
            raise KeyboardInterrupt
        return made

    monkeypatch.setattr(Csip, "write_further_parent", failing)
    with pytest.raises(KeyboardInterrupt):
        metspack.build(source, tmp_path / "again", options)
    monkeypatch.undo()
    metspack.build(source, tmp_path / "again", options)
    assert contents(tmp_path / "again") == contents(out)


def test_an_ip_of_a_further_parent_that_is_not_given_is_told(tmp_path: Path, source: Path) -> None:
    out = built(tmp_path, source, OPTIONS)
    for lost, by in (("TREE_s0_t0_c2_seg_4", "TREE_segments_2"), ("TREE_segments_1", "TREE")):
        writing.move(out / lost, tmp_path / lost)
        with pytest.raises(metspack.SourceError, match=f"{by}/METS.xml names the child {lost}, which is not"):
            metspack.merge([out], tmp_path / "merged")
        writing.move(tmp_path / lost, out / lost)
    (out / "TREE_segments_1/METS.xml").write_bytes(
        (out / "TREE_segments_1/METS.xml").read_bytes().replace(b"further parent 1", b"further parent 7")
    )
    with pytest.raises(metspack.SourceError, match=r"TREE/METS\.xml says"):
        metspack.merge([out], tmp_path / "merged")
