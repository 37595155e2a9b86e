"""Parents that name their children by OBJID alone: what they say, and what is done with such packages."""

from __future__ import annotations

import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from metspack import api, checking
from metspack.building.build import BuildOptions
from metspack.checking.options import Level, Looking
from metspack.errors import ConfigError, SourceError
from metspack.mets.dialects.csip.package import CsipOptions
from tests.mets.dialects.csip.test_csip import CONTENTS, OPTIONS, M, X, built, csip, faults, findings, root
from tests.trees import tree

STYLES = ("aip", "csip-large", "recommendation")
PACKS = (None, "zip", "tar")
PARENT = "N"


def by_objid(style: str = "aip", pack: str | None = None, **options: object) -> BuildOptions:
    made = csip(link_style=style, child_links="objid", **options)
    return replace(made, objid="urn:example:N" if style == "csip-large" else "N", pack=pack)


def children(package: Path) -> list[Path]:
    return sorted(each for each in package.iterdir() if each.is_dir() and each.name != PARENT)


def states(package: Path) -> set[str]:
    found: set[str] = set()

    def keep(checked: checking.Checked) -> None:
        found.update(each.state.value for each in checked.links.edges)

    list(checking.Checking(package, Looking(level=Level.LINKS), observer=keep))
    return found


def codes(package: Path) -> set[str]:
    return {each.code for each in checking.check(package)} - {"S010"}


@pytest.mark.slow
@pytest.mark.parametrize(("style", "pack"), list(zip(STYLES, PACKS, strict=True)))
def test_a_package_checks_without_a_finding_in_every_style_and_form(
    tmp_path: Path, style: str, pack: str | None
) -> None:
    package = built(tmp_path, by_objid(style, pack, roda_ancestors=True))
    assert findings(package) == []
    assert states(package) == {"ok"}


@pytest.mark.parametrize("style", STYLES)
def test_the_parent_refers_to_nothing_outside_its_folder_and_is_valid(tmp_path: Path, style: str) -> None:
    package = built(tmp_path, by_objid(style))
    parent = root(package / str(by_objid(style).objid).replace(":", "+") / "METS.xml")
    hrefs = [each.get(f"{X}href") for each in parent.iter(f"{M}FLocat", f"{M}mdRef", f"{M}mptr")]
    assert not any("../" in each for each in hrefs)
    named = parent.xpath("//m:structMap[@LABEL!='CSIP']//m:mptr", namespaces={"m": M[1:-1]})
    assert {each.get("OTHERLOCTYPE") or each.get("LOCTYPE") for each in named} <= {"IDENTIFIER", "URN"}
    assert list(faults(package)) == []


@pytest.mark.slow
@given(
    style=st.sampled_from(STYLES), layout=st.sampled_from(["lobseg", "siard22"]), pack=st.sampled_from(PACKS)
)
@settings(max_examples=2, deadline=None)
def test_either_form_gives_back_the_same_lobs(
    tmp_path_factory: pytest.TempPathFactory, style: str, layout: str, pack: str | None
) -> None:
    folder = tmp_path_factory.mktemp("law")
    here = replace(by_objid(style, pack), layout=layout)
    there = replace(here, dialect_options=CsipOptions(link_style=style))
    found = []
    for name, options in (("objid", here), ("location", there)):
        package = built(folder, options, name)
        api.restore(package, folder / f"{name}.files")
        api.restore_siard(package, folder / f"{name}.siard")
        with api.open_lob(package, "s0.t0.c2.r3") as lob:
            assert lob.read() == CONTENTS[2]
        assert list(api.restore_dry_run(package)) == []
        found.append((tree(folder / f"{name}.files"), (folder / f"{name}.siard").read_bytes()))
    assert found[0] == found[1]


@pytest.mark.slow
def test_the_manifests_have_the_digest_of_each_childs_mets(tmp_path: Path) -> None:
    package = built(tmp_path, by_objid())
    for child in children(package):
        mets = child / "METS.xml"
        before = mets.read_bytes()
        mets.write_bytes(before.replace(b'STATUS="NEW"', b'STATUS="NEV"'))
        assert codes(package) == {"F026"}
        mets.write_bytes(before)
    assert codes(package) == set()


def test_a_packed_child_that_has_changed_is_not_what_the_manifests_have(tmp_path: Path) -> None:
    package = built(tmp_path, by_objid(pack="zip"))
    child = max(package.glob("*_0*.zip"))
    with zipfile.ZipFile(child) as old:
        entries = {each: old.read(each) for each in old.namelist()}
    with zipfile.ZipFile(child, "w") as new:
        for name, data in entries.items():
            changed = data.replace(b'STATUS="NEW"', b'STATUS="NEV"') if name.endswith("METS.xml") else data
            new.writestr(name, changed)
    assert "F026" in codes(package)


def test_a_missing_child_is_reported_and_what_remains_is_not_given_back_as_if_it_were_all(
    tmp_path: Path,
) -> None:
    package = built(tmp_path, by_objid())
    shutil.rmtree(children(package)[1])
    assert "L010" in codes(package)
    with pytest.raises(SourceError, match="but no package beside it has this OBJID"):
        api.restore_siard(package, tmp_path / "again.siard")


@pytest.mark.parametrize("name", ["0", "~"])
def test_of_two_copies_the_one_called_by_the_objid_is_checked_and_restored(tmp_path: Path, name: str) -> None:
    package = built(tmp_path, by_objid())
    first = children(package)[0]
    shutil.copytree(first, package / name)
    found = {each.code: each for each in checking.check(package)}
    assert {"L006", "L012", "L023"} <= found.keys()
    assert f"{first.name}/METS.xml' was checked" in found["L012"].message
    for each in (package / name).rglob("*.bin"):
        each.write_bytes(b"another")
    assert list(api.restore_dry_run(package)) == []


def test_a_child_may_lie_in_another_place_altogether(tmp_path: Path) -> None:
    package = built(tmp_path, by_objid())
    (tmp_path / "disk").mkdir()
    child = children(package)[0]
    child.rename(tmp_path / "disk" / child.name)
    found = {each.code for each in checking.check(package, roots=[tmp_path / "disk"])}
    assert "L011" in found
    assert "L010" not in found


@pytest.mark.slow
def test_convert_makes_the_one_form_of_the_other(tmp_path: Path) -> None:
    package = built(tmp_path, by_objid())
    location = replace(by_objid(), dialect_options=CsipOptions())
    api.convert(package, tmp_path / "location", location)
    assert tree(tmp_path / "location") == tree(built(tmp_path, location, "built"))
    api.convert(tmp_path / "location", tmp_path / "objid", by_objid())
    assert tree(tmp_path / "objid") == tree(package)


@pytest.mark.slow
def test_merge_says_once_that_nothing_proves_the_childrens_mets(tmp_path: Path) -> None:
    package = built(tmp_path, by_objid(pack="zip"))
    merged = api.merge([package], tmp_path / "merged", replace(OPTIONS, dialect_options=CsipOptions()))
    assert findings(tmp_path / "merged") == []
    (words,) = merged.warnings
    assert words.endswith("first: no digest in the METS of the parent proves them")


def test_a_packed_parent_has_a_default_objid_that_its_root_folder_is_called_by(tmp_path: Path) -> None:
    package = built(tmp_path, replace(by_objid(pack="zip"), objid=None))
    for each in package.glob("*.zip"):
        with zipfile.ZipFile(each) as file:
            mets = etree.fromstring(file.read(f"{each.stem}/METS.xml"))
        assert mets.get("OBJID") == each.stem
        assert each.stem.startswith("uuid-")
    plain = built(tmp_path, replace(by_objid(), objid=None), "plain")
    (parent,) = [each for each in plain.iterdir() if (each / "representations/rep1/data/N.siard").exists()]
    assert min(package.glob("*.zip")).stem == parent.name.replace("urn+uuid+", "uuid-")
    assert findings(package) == []


def test_where_packages_are_named_by_urn_a_packed_one_has_a_urn(tmp_path: Path) -> None:
    package = built(tmp_path, replace(by_objid("csip-large", "zip"), objid=None))
    assert all(each.stem.startswith("urn+uuid+") for each in package.glob("*.zip"))


def test_a_form_of_links_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no form of links to children 'both'"):
        built(tmp_path, csip(child_links="both"))
