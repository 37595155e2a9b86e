"""A further archive in a package: what is new, what stays, and what is refused."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from lxml import etree

import metspack
from metspack import api
from metspack.adding.add import add_archive
from metspack.building import build, convert, manifests
from metspack.digests import Seal
from metspack.errors import ConfigError, MetspackError, SourceError, TargetError
from metspack.layouts import LAYOUTS
from metspack.mets import ids, links
from metspack.mets.dialects.csip.terms import Agents
from metspack.model import Limits
from metspack.planning.division import Split
from metspack.restoring.files import RestoreOptions
from metspack.restoring.siard import Into
from tests import siards
from tests.adding.packages import (
    DIALECTS,
    FIRST,
    OPTIONS,
    SECOND,
    add,
    codes,
    csip,
    package,
    parent,
    siard,
    stats,
)
from tests.laws import law, spread
from tests.official import mets_faults, premis_faults
from tests.trees import names, tree

M = "{http://www.loc.gov/METS/}"
P = "{http://www.loc.gov/premis/v3}"
_TOLD = re.compile(r' (LASTMODDATE|DMDID|SIZE|CREATED|CHECKSUM|CHECKSUMTYPE)="[^"]*"')


@pytest.fixture(params=DIALECTS)
def out(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return package(tmp_path, request.param)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return siard(tmp_path, "Orders", *SECOND)


def root(path: Path) -> Any:
    return etree.parse(path).getroot()


def made_anew(out: Path) -> set[str]:
    """Return the files of a package that say what is in it."""
    top = parent(out)
    found = {top, *out.glob("manifest-*.txt"), *top.parent.glob("metadata/preservation/premis.xml")}
    return {str(path.relative_to(out)) for path in found}


# --- what comes of it ---------------------------------------------------------------------------------


def test_what_is_there_is_not_touched(out: Path, source: Path) -> None:
    before = stats(out)
    add(out, source)
    after = stats(out)
    anew = made_anew(out)
    assert {name: each for name, each in after.items() if name in before and name not in anew} == {
        name: each for name, each in before.items() if name not in anew
    }
    assert all(before[name].data != after[name].data for name in anew)
    assert before.keys() < after.keys()
    assert codes(out) == []
    assert names(out.parent) == {"out", "First.siard", "Orders.siard"}


def test_the_parents_documents_keep_every_word_they_had(out: Path, source: Path) -> None:
    before = {name: (out / name).read_text(encoding="utf-8") for name in made_anew(out)}
    add(out, source)
    for name, text in before.items():
        new = iter(_kept((out / name).read_text(encoding="utf-8"), before))
        assert all(line in new for line in _kept(text, before)), name  # in the same order


def _kept(text: str, anew: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a document without what tells when it was made anew, and of files that were."""
    for line in text.splitlines():
        if not any(line.endswith(f"  {name}") for name in anew):
            is_told = "metsHdr" in line or "premis.xml" in line or "DMDID" in line
            yield _TOLD.sub("", line) if is_told else line


def test_every_document_is_valid(out: Path, source: Path) -> None:
    add(out, source)
    for path in sorted((*out.rglob("mets.xml"), *out.rglob("METS.xml"))):
        assert list(mets_faults(path)) == [], path
    for path in sorted(out.rglob("premis.xml")):
        assert list(premis_faults(path)) == [], path


def test_lobs_are_given_back_from_both(out: Path, source: Path, tmp_path: Path) -> None:
    add(out, source)
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
            given = tmp_path / f"{name}-{into.value}"
            api.restore_siard(out, given, into, archive=name)
    assert list(api.roundtrip(out)) == []
    assert [each.lob for each in api.shards(out)] == [
        *(f"s0.t0.c2.r{n}" for n in range(1, len(FIRST) + 1)),
        *(f"Orders.s0.t0.c2.r{n}" for n in range(1, len(SECOND) + 1)),
    ]
    (shard,) = api.shards(out, "Orders.s0.t0.c2.r2")
    assert len(shard.files) > 1


def test_an_archive_given_back_makes_the_package_that_it_makes_alone(
    out: Path, source: Path, tmp_path: Path
) -> None:
    add(out, source)
    given = tmp_path / "again.siard"
    api.restore_siard(out, given, archive="Orders")
    for name, from_ in (("x", source), ("y", given)):
        build.build(from_, tmp_path / name, replace(OPTIONS, name="Orders"))
    assert tree(tmp_path / "x") == tree(tmp_path / "y")


def test_the_lobs_of_one_archive_are_never_taken_for_those_of_another(tmp_path: Path) -> None:
    plain = [siards.Lob(data=b"x", attributes='length="1"'), siards.Lob(data=b"y", attributes='length="1"')]
    first = siards.packed(tmp_path / "First.siard", siards.parts(plain))
    build.build(first, tmp_path / "out", OPTIONS)
    out = tmp_path / "out"
    add(out, first.rename(tmp_path / "Orders.siard"))
    shutil.rmtree(out / "Orders_lobseg_0")
    assert "L002" in codes(out)
    assert "P118" not in codes(out)
    for asked in (
        lambda: list(api.cat(out, "Orders.s0.t0.c2.r1")),
        lambda: api.restore(out, tmp_path / "x", RestoreOptions(archive="Orders")),
    ):
        with pytest.raises(SourceError):
            asked()
    assert list(api.cat(out, "First.s0.t0.c2.r1")) == [b"x"]


def test_a_bare_id_that_both_have_is_refused(out: Path, source: Path) -> None:
    add(out, source)
    asked: tuple[Callable[[], object], ...] = (
        lambda: list(api.cat(out, "s0.t0.c2.r2")),
        lambda: api.open_lob(out, "s0.t0.c2.r2"),
        lambda: list(api.shards(out, "s0.t0.c2.r2")),
    )
    for each in asked:
        with pytest.raises(SourceError, match=r"several archives of the package have a LOB s0\.t0") as caught:
            each()
        assert "First.s0.t0.c2.r2 or Orders.s0.t0.c2.r2" in caught.value.hint
    for lob in ("Other.s0.t0.c2.r2", "Orders.s0.t0.c2.r99", "s0.t0.c2.r99"):
        with pytest.raises(SourceError):
            list(api.cat(out, lob))


def test_what_needs_one_archive_says_how_to_choose(out: Path, source: Path, tmp_path: Path) -> None:
    add(out, source)
    target = tmp_path / "x"
    asked: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: api.restore(out, target), "--archive NAME"),
        (lambda: api.restore_siard(out, target), "--archive NAME"),
        (
            lambda: convert.convert_package(out, target, OPTIONS),
            "metspack restore OUT --siard --archive NAME",
        ),
    )
    for each, hint in asked:
        with pytest.raises(SourceError, match=r"holds 2 archives: .*First\.siard, .*Orders\.siard") as caught:
            each()
        assert hint in caught.value.hint
        assert not target.exists()
    with pytest.raises(SourceError, match="holds no archive 'Other'") as caught:
        api.restore(out, target, RestoreOptions(archive="Other"))
    assert "First, Orders" in caught.value.hint


def test_another_siard_version_is_told_where_the_mets_names_one(out: Path, tmp_path: Path) -> None:
    built = add(out, siard(tmp_path, "Older", *SECOND, version="2.1"))
    told = ("the parent's METS is of TYPE SIARD2.2 INDEX, but Older.siard is SIARD 2.1",)
    is_named = (out / "mets.xml").exists()
    assert built.warnings == (told if is_named else ())
    assert codes(out) == (["Z025"] if is_named else [])


def test_merge_refuses_two_representations(tmp_path: Path, source: Path) -> None:
    out = package(tmp_path, "csip")
    add(out, source)
    with pytest.raises(MetspackError, match=r"has 2 representations \(rep1, rep2\)") as caught:
        metspack.merge([out], tmp_path / "whole")
    assert "metspack restore OUT --siard --archive NAME" in caught.value.hint


def test_every_ip_names_the_agents_of_the_package(tmp_path: Path, source: Path) -> None:
    agents = Agents(
        submitter="National Archives",
        submitter_code="NA",
        archival_creator="Ministry",
        archival_creator_code="M",
        preservation="Keepers",
        packagers=("A", "B"),
    )
    out = package(tmp_path, "csip", **csip(profile="sip", agents=agents))
    add(out, source)
    assert codes(out) == []
    tops = [root(path) for path in sorted(out.glob("*/METS.xml"))]
    found = {
        (top.get("PROFILE"), *(etree.tostring(each, with_tail=False) for each in top.iter(f"{M}agent")))
        for top in tops
    }
    assert len(tops) > len(SECOND)
    assert len(found) == 1
    assert b"Keepers" in b"".join(found.pop()[1:])


def test_a_third_archive(out: Path, source: Path, tmp_path: Path) -> None:
    add(out, source)
    before = stats(out)
    add(out, siard(tmp_path, "2020-log", b"z" * 300, b"y"))
    after = stats(out)
    anew = made_anew(out)
    assert all(after[name] == each for name, each in before.items() if name not in anew)
    assert codes(out) == []
    assert b"".join(api.cat(out, "_2020-log.s0.t0.c2.r1")) == b"z" * 300
    assert b"".join(api.cat(out, "Orders.s0.t0.c2.r1")) == SECOND[0]
    assert b"".join(api.cat(out, "First.s0.t0.c2.r1")) == FIRST[0]
    assert list(api.roundtrip(out)) == []
    for path in sorted((*out.rglob("mets.xml"), *out.rglob("METS.xml"))):
        assert list(mets_faults(path)) == [], path


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_same_bytes_each_time(out: Path, source: Path, jobs: int, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    shutil.copytree(out, tmp_path / "b" / "out")
    add(out, source)
    add(tmp_path / "b" / "out", source, jobs=jobs)
    assert tree(out) == tree(tmp_path / "b" / "out")


@pytest.mark.parametrize(("first", "second"), [((), SECOND), (FIRST, ()), ((), ()), ((b"x",), (b"y",))])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_archives_without_lobs(
    tmp_path: Path, dialect: str, first: tuple[bytes, ...], second: tuple[bytes, ...]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    source = siards.packed(tmp_path / "First.siard", siards.parts(siards.lobs(*first)))
    options = replace(OPTIONS, dialect=dialect, checksum="SHA-256")
    build.build(source, home / "out", options)
    add(home / "out", siard(tmp_path, "Orders", *second))
    assert codes(home / "out") == []
    for path in sorted((*home.rglob("mets.xml"), *home.rglob("METS.xml"))):
        assert list(mets_faults(path)) == [], path


def test_lobs_that_stay_inside(out: Path, tmp_path: Path) -> None:
    add(out, siard(tmp_path, "Orders", *SECOND), min_size=1_000)
    assert codes(out) == []
    with pytest.raises(SourceError, match="several archives of the package have a LOB"):
        api.cat(out, "s0.t0.c2.r1").__next__()
    assert b"".join(api.cat(out, f"s0.t0.c2.r{len(FIRST)}")) == FIRST[-1]
    for name, contents in (("First", FIRST), ("Orders", SECOND)):
        api.restore(out, tmp_path / name, RestoreOptions(archive=name))
        found = sorted((tmp_path / name).rglob("record*"))
        assert [path.read_bytes() for path in found] == list(contents)
    for number, data in enumerate(SECOND, 1):
        assert b"".join(api.cat(out, f"Orders.s0.t0.c2.r{number}")) == data
        assert b"".join(api.cat(out, f"First.s0.t0.c2.r{number}")) == FIRST[number - 1]
    assert list(api.roundtrip(out)) == []


@pytest.mark.parametrize(("dialect", "layout"), spread(product(DIALECTS, sorted(LAYOUTS)), 3))
def test_the_layout_is_the_packages_unless_said(tmp_path: Path, dialect: str, layout: str) -> None:
    out = package(tmp_path, dialect, layout=layout)
    add(out, siard(tmp_path, "Same", *SECOND))
    assert codes(out) == []
    other = next(each for each in sorted(LAYOUTS) if each != layout)
    add(out, siard(tmp_path, "Other", *SECOND), layout=other)
    assert codes(out) == []
    assert list(api.roundtrip(out)) == []


@pytest.mark.parametrize(
    ("style", "kind"), spread(product(["aip", "csip-large", "recommendation"], ["SIP", "AIP", "DIP"]), 4)
)
def test_links_are_in_the_style_of_the_package(tmp_path: Path, style: str, kind: str) -> None:
    out = package(tmp_path, "csip", **csip(link_style=style, package_type=kind, roda_ancestors=True))
    add(out, siard(tmp_path, "Orders", *SECOND))
    assert codes(out) == []
    maps = {each.get("ID") for each in root(parent(out)).iter(f"{M}structMap")}
    before = build.build(
        tmp_path / "First.siard",
        tmp_path / "alone",
        replace(OPTIONS, dialect="csip", checksum="SHA-256", **csip(link_style=style, package_type=kind)),
    )
    assert before.name == "First"
    assert len(maps) == len(list(root(parent(tmp_path / "alone")).iter(f"{M}structMap")))
    ancestors = [path for path in out.rglob("METS.xml") if "RODA" in path.read_text(encoding="utf-8")]
    assert len(ancestors) == len([path for path in out.iterdir() if path.is_dir()]) - 1


@pytest.mark.parametrize("style", ["aip", "recommendation"])
def test_children_of_a_parent_with_an_id_of_its_own(
    tmp_path: Path, northwind: Path, northwind_full: Path, style: str
) -> None:
    out, limits = tmp_path / "out", Limits(files=4, bytes=45_000)
    options = replace(
        OPTIONS, dialect="csip", checksum="SHA-256", objid="NW-1", limits=limits, **csip(link_style=style)
    )
    build.build(northwind, out, options)
    before = names(out)
    add_archive(out, northwind_full, replace(OPTIONS, name="Full", limits=Limits(files=30, bytes=150_000)))
    assert names(out) - before >= {"NW-1_Full_s0_t2_c4_seg_0"}
    assert all(each.startswith("NW-1_Full_") for each in names(out) - before)
    assert codes(out) == []
    assert list(api.roundtrip(out)) == []


def test_agents_terms_and_references_are_those_of_the_package(tmp_path: Path) -> None:
    out = package(
        tmp_path,
        "recommendation",
        agents=("National Archives", "Somebody"),
        mets_profile="urn:profile",
        href_style="file-uri",
        checksum="SHA-512",
        objid="X-1",
    )
    add(out, siard(tmp_path, "Orders", *SECOND), agents=("Other",), checksum="MD5")
    assert codes(out) == []
    child = root(out / "Orders_lobseg_0" / "mets.xml")
    assert child.get("PROFILE") == "urn:profile"
    agents = [each.findtext(f"{M}name") for each in child.iter(f"{M}agent") if each.get("TYPE") != "OTHER"]
    assert agents == ["National Archives", "Somebody"]
    text = (out / "mets.xml").read_text(encoding="utf-8")
    assert "file:///Orders" in text
    assert {each.get("CHECKSUMTYPE") for each in root(out / "mets.xml").iter(f"{M}file")} == {"SHA-512"}


def test_the_parents_metadata_tell_what_was_added(tmp_path: Path, source: Path) -> None:
    out = package(tmp_path, "csip")
    add(out, source, "later")
    top = parent(out).parent
    assert {path.name for path in (top / "representations").iterdir()} == {"rep1", "later"}
    assert {path.name for path in (top / "documentation").iterdir()} == {
        "about-Orders.txt",
        "about-this-package.txt",
    }
    assert "representations/later/data/" in (top / "documentation" / "about-Orders.txt").read_text()
    assert {path.name for path in (top / "metadata" / "descriptive").iterdir()} == {
        "dublin-core.xml",
        "dublin-core-Orders.xml",
    }
    described = [each.get("ID") for each in root(top / "METS.xml").iter(f"{M}dmdSec")]
    (division,) = (each for each in root(top / "METS.xml").iter(f"{M}div") if each.get("DMDID"))
    assert division.get("DMDID").split() == described
    header = root(top / "METS.xml").find(f"{M}metsHdr")
    assert header.get("CREATEDATE") == "2020-01-01T00:00:00Z"
    assert header.get("LASTMODDATE") == OPTIONS.created
    events = [
        (each.findtext(f"{P}eventType"), each.findtext(f"{P}eventDateTime"))
        for each in root(top / "metadata" / "preservation" / "premis.xml").iter(f"{P}event")
    ]
    assert ("modification", OPTIONS.created) in events
    assert len({each for each, _ in events}) == len(events) - 1  # the division, once more
    assert codes(out) == []


@law(8, HealthCheck.function_scoped_fixture)
@given(
    first=st.lists(st.binary(max_size=40), max_size=6),
    second=st.lists(st.binary(max_size=40), max_size=6),
    limits=st.tuples(st.integers(1, 4), st.integers(5, 60)),
    dialect=st.sampled_from(DIALECTS),
)
def test_every_lob_of_both_is_given_back_and_nothing_is_touched(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[bytes],
    second: list[bytes],
    limits: tuple[int, int],
    dialect: str,
) -> None:
    folder = tmp_path_factory.mktemp("law")
    out = folder / "out"
    options = replace(
        OPTIONS, dialect=dialect, checksum="SHA-256", limits=Limits(files=limits[0], bytes=limits[1])
    )
    build.build(siard(folder, "First", *first), out, options)
    before = stats(out)
    add_archive(out, siard(folder, "Orders", *second), options)
    anew = made_anew(out)
    after = stats(out)
    assert all(after[name] == each for name, each in before.items() if name not in anew)
    assert codes(out) == []
    for name, contents in (("First", first), ("Orders", second)):
        for number, data in enumerate(contents, 1):
            assert b"".join(api.cat(out, f"{name}.s0.t0.c2.r{number}")) == data
    shutil.rmtree(folder)


@given(
    name=st.from_regex(r"[A-Za-z0-9_-]{1,12}", fullmatch=True),
    place=st.sampled_from(["s0.t1.c2.r3", "s1.t0.c3.u2.a1.r9"]),
)
def test_ids_begin_with_the_name_and_can_be_parted(name: str, place: str) -> None:
    prefix = links.prefix(f"{name}.siard")
    assert prefix == f"{ids.ncname(name)}."
    assert links.parted(prefix + place) == (prefix, place)
    assert links.parted(place) == ("", place)
    low, high = links.bounds(prefix)
    assert low <= prefix + place < high


# --- what is refused ----------------------------------------------------------------------------------


def refused(out: Path, source: Path, kind: type[MetspackError], words: str, **changes: Any) -> MetspackError:
    """Add what cannot be; nothing may have changed."""
    before = stats(out) if out.is_dir() else {}
    beside = names(out.parent)
    with pytest.raises(kind, match=words) as caught:
        add(out, source, **changes)
    assert caught.value.hint
    assert (stats(out) if out.is_dir() else {}) == before
    assert names(out.parent) == beside
    return caught.value


@pytest.mark.parametrize("name", ["First", "FIRST", "first"])
def test_an_archive_of_a_name_that_is_there(out: Path, source: Path, name: str) -> None:
    error = refused(out, source, ConfigError, "has an archive named First already", name=name)
    assert "--name NAME" in error.hint


def test_the_same_archive_once_more(out: Path, source: Path) -> None:
    add(out, source)
    refused(out, source, ConfigError, "has an archive named Orders already")


def test_a_segment_whose_folder_is_there(tmp_path: Path, source: Path) -> None:
    out = package(tmp_path, "recommendation", name="Orders")
    (out / "Orders.siard").rename(tmp_path / "away.siard")
    first = tmp_path / "again"
    build.build(tmp_path / "First.siard", first, OPTIONS)
    (first / "Orders_lobseg_0").mkdir()
    refused(first, source, TargetError, "holds Orders_lobseg_0 already, which would be a segment of Orders")


@pytest.mark.parametrize("name", ["rep1", "REP1"])
def test_a_representation_that_is_there(tmp_path: Path, source: Path, name: str) -> None:
    out = package(tmp_path, "csip")
    refused(out, source, ConfigError, f"has a representation {name} already", representation=name)


def test_a_representation_where_there_are_none(tmp_path: Path, source: Path) -> None:
    out = package(tmp_path, "recommendation")
    refused(out, source, ConfigError, "has no representations", representation="rep2")


def test_a_representation_whose_name_cannot_be(tmp_path: Path, source: Path) -> None:
    out = package(tmp_path, "csip")
    refused(out, source, ConfigError, "a/b", representation="a/b")


def test_a_package_with_errors(out: Path, source: Path) -> None:
    lob = next(path for path in sorted(out.rglob("*.bin")))
    lob.unlink()
    error = refused(out, source, TargetError, "has errors before anything is added: ")
    assert any("F001" in line for line in error.details)


def test_a_package_whose_child_has_no_mets(out: Path, source: Path) -> None:
    documents = {path for path in out.glob("*/*.xml") if path.name.lower() == "mets.xml"}
    min(documents - {parent(out)}).unlink()
    error = refused(out, source, TargetError, "has errors before anything is added: ")
    assert any("L002" in line for line in error.details)


@pytest.mark.parametrize("manifest", ["manifest-md5.txt", "manifest-sha256.txt"])
def test_a_package_without_a_manifest(out: Path, source: Path, manifest: str) -> None:
    (out / manifest).unlink()
    refused(out, source, TargetError, f"has errors before anything is added: {manifest}: F020")


def test_a_package_whose_manifest_is_in_another_form(out: Path, source: Path) -> None:
    manifest = out / "manifest-md5.txt"
    manifest.write_bytes(manifest.read_bytes().replace(b"\n", b"\r\n"))
    refused(out, source, TargetError, "has errors before anything is added: manifest-md5.txt: F022")


def test_a_package_of_another_tool(out: Path, source: Path) -> None:
    top = parent(out)
    text = top.read_text(encoding="utf-8").replace("<mets:name>metspack<", "<mets:name>other<")
    top.write_text(text, encoding="utf-8")
    refused(out, source, SourceError, "was made by other")


def test_a_package_whose_mets_is_damaged(out: Path, source: Path) -> None:
    parent(out).write_bytes(parent(out).read_bytes()[:-20])
    refused(out, source, SourceError, "its METS or PREMIS: ")


@pytest.mark.parametrize(("old", "new"), [(' TYPE="PHYSICAL"', ' TYPE="other"'), ("SIARD central", "other")])
def test_a_package_whose_mets_is_arranged_otherwise(tmp_path: Path, source: Path, old: str, new: str) -> None:
    out = package(tmp_path, "recommendation")
    text = (out / "mets.xml").read_text(encoding="utf-8")
    (out / "mets.xml").write_text(text.replace(old, new), encoding="utf-8")
    data = (out / "mets.xml").read_bytes()
    for manifest in out.glob("manifest-*.txt"):
        algorithm = manifest.stem.partition("-")[2]
        lines = manifest.read_text(encoding="utf-8").splitlines(keepends=True)
        lines[-1] = f"{hashlib.new(algorithm, data).hexdigest()}  mets.xml\n"
        manifest.write_text("".join(lines), encoding="utf-8")
    refused(out, source, SourceError, "the document has no (structMap PHYSICAL|div of)")


def test_a_file_of_a_name_that_the_package_is_to_get(tmp_path: Path, source: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "about-Orders.txt").write_text("of mine")
    out = package(tmp_path, "csip", **csip(documentation=documents))
    refused(out, source, TargetError, r"about-Orders\.txt exists already")


@pytest.mark.parametrize("form", ["zip", "tar"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_packed_package(tmp_path: Path, source: Path, dialect: str, form: str) -> None:
    out = package(tmp_path, dialect, pack=form)
    refused(out, source, TargetError, "holds packed IPs")


def test_a_folder_without_a_package(tmp_path: Path, source: Path) -> None:
    (tmp_path / "out").mkdir()
    refused(tmp_path / "out", source, SourceError, "does not hold a package")


def test_no_folder(tmp_path: Path, source: Path) -> None:
    refused(tmp_path / "none", source, SourceError, "is not a folder")
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file", source, SourceError, "is not a folder")


def test_the_parent_ip_alone(tmp_path: Path, source: Path) -> None:
    out = package(tmp_path, "csip")
    refused(parent(out).parent, source, SourceError, "does not hold a package|not as metspack made it")


def test_a_child(out: Path, source: Path) -> None:
    child = next(
        path.parent
        for path in sorted(out.glob("*/[mM][eE][tT][sS].xml"))
        if path.parent != parent(out).parent
    )
    refused(
        child,
        source,
        SourceError,
        "does not hold a package|holds no SIARD archive|is the METS of a child|not as metspack made it",
    )


def loose(folder: Path) -> Path:
    """Return a folder of a LOB that belongs to no archive."""
    lob = folder / "lobs" / "content" / "schema0" / "table0" / "lob2" / "record0.bin"
    lob.parent.mkdir(parents=True)
    lob.write_text("a")
    return folder / "lobs"


def test_a_package_of_lobs_without_an_archive(tmp_path: Path, source: Path) -> None:
    build.build(loose(tmp_path), tmp_path / "out", OPTIONS)
    refused(tmp_path / "out", source, SourceError, "holds no SIARD archive in one file")


@pytest.mark.parametrize("data", [b"", b"not a zip file"])
def test_a_source_that_is_no_archive(out: Path, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.siard").write_bytes(data)
    refused(out, tmp_path / "x.siard", SourceError, "x.siard")
    refused(out, tmp_path / "none.siard", SourceError, "none.siard")


def test_lobs_without_an_archive(out: Path, tmp_path: Path) -> None:
    refused(out, loose(tmp_path), SourceError, "is not a SIARD archive, and LOBs without one")


def test_a_source_inside_the_package(out: Path) -> None:
    inside = next(out.rglob("First.siard"))
    refused(out, inside, TargetError, "lies inside the package")


def test_a_package_inside_the_source(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "unpacked"
    shutil.unpack_archive(source, folder, format="zip")
    out = package(folder, "recommendation")
    refused(out, folder, TargetError, "lies inside the source folder")


def test_limits_smaller_than_a_lob(out: Path, source: Path) -> None:
    refused(out, source, MetspackError, "260", split=Split.NEVER)


def test_a_lob_that_is_not_what_its_cell_says(out: Path, tmp_path: Path) -> None:
    wrong = [siards.Lob(data=b"x" * 9, attributes=f'length="9" digestType="MD5" digest="{"0" * 32}"')]
    source = siards.packed(tmp_path / "Orders.siard", siards.parts(wrong))
    refused(out, source, SourceError, "s0.t0.c2.r1")


def test_too_little_room(out: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metspack.files.staging.Partial.free", lambda _: 10)
    refused(out, source, TargetError, "not enough free space")


def test_a_file_system_of_its_own(out: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lstat, own = os.lstat, str(out.resolve())

    def told(path: Any, **options: Any) -> Any:
        found = lstat(path, **options)
        if os.fspath(path) != own:
            return found
        return os.stat_result((found.st_mode, found.st_ino, found.st_dev + 1, *tuple(found)[3:]))

    monkeypatch.setattr(os, "lstat", told)
    refused(out, source, TargetError, "is a mount point")


def test_where_one_may_not_write(out: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(_path: object, *_more: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.mkdir", denied)
    refused(out, source, TargetError, "Permission denied")


def test_what_does_not_check_is_taken_back(out: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = manifests.write_grown

    def wrong(package: Path, *more: Any, root: Path) -> Seal:
        seal = write(package, *more, root=root)
        path = package / "manifest-md5.txt"
        path.write_bytes(path.read_bytes().replace(b"0", b"1"))
        return seal

    monkeypatch.setattr(manifests, "write_grown", wrong)
    refused(out, source, TargetError, "would have errors; nothing was added: manifest-md5.txt: F0")
