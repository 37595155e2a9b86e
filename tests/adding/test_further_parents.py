"""Additions to packages with further parents, and additions that get some of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metspack import api
from metspack.building import manifests
from metspack.digests import Seal
from metspack.errors import TargetError
from metspack.model import Limits
from metspack.restoring.files import RestoreOptions
from tests.adding.packages import DIALECTS, FIRST, SECOND, add, codes, csip, package, siard, stats
from tests.official import mets_faults, premis_faults
from tests.trees import tree

ONE = Limits(files=1)
LINKS = [
    ("recommendation", {}),
    ("csip", {}),
    ("csip", csip(link_style="csip-large")),
    ("csip", csip(link_style="recommendation", roda_ancestors=True)),
    ("csip", csip(child_links="objid")),
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return siard(tmp_path, "Orders", *SECOND)


def lobs_are_given_back(out: Path, folder: Path) -> None:
    for name, contents in (("First", FIRST), ("Orders", SECOND)):
        api.restore(out, folder / name, RestoreOptions(archive=name))
        tail = "content/schema0/table0/lob2/record{}.bin"
        assert [(folder / name / tail.format(n)).read_bytes() for n in range(len(contents))] == list(contents)


@pytest.mark.parametrize(("dialect", "own"), LINKS)
@pytest.mark.parametrize("limits", [(2, 2), (2, None), (None, 1), (7, 7)])
def test_the_lobs_of_both_are_found_below_all_parents(
    tmp_path: Path, source: Path, dialect: str, own: dict[str, Any], limits: tuple[int | None, int | None]
) -> None:
    """Of nine segments the parent names as many as it may; with 7 it has room for two of the addition."""
    out = package(tmp_path, dialect, limits=ONE, parent_limit=limits[0], **own)
    before = stats(out)
    built = add(out, source, limits=ONE, parent_limit=limits[1])
    assert len(built.children) == len(SECOND)
    assert codes(out) == []
    lobs_are_given_back(out, tmp_path)
    after = stats(out)
    changed = {path for path in before if after[path] != before[path]}
    assert {path.rpartition("/")[2] for path in changed} <= {
        *("mets.xml", "METS.xml", "premis.xml", "manifest-md5.txt", "manifest-sha256.txt")
    }
    assert all("parent_" not in path for path in changed)
    for path in sorted((*out.rglob("mets.xml"), *out.rglob("METS.xml"))):
        assert list(mets_faults(path)) == [], path
    for path in sorted(out.rglob("premis.xml")):
        assert list(premis_faults(path)) == [], path


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (2, 2, {"First_parent_1", "First_parent_2", "Orders_parent_1", "Orders_parent_2"}),
        (2, None, {"First_parent_1", "First_parent_2"}),
        (None, 2, {"Orders_parent_1", "Orders_parent_2"}),
        (None, 7, {"Orders_parent_1"}),
        (None, 9, set()),
    ],
)
def test_the_parent_names_no_more_children_than_the_limit(
    tmp_path: Path, source: Path, first: int | None, second: int | None, expected: set[str]
) -> None:
    out = package(tmp_path, "recommendation", limits=ONE, parent_limit=first)
    add(out, source, limits=ONE, parent_limit=second)
    assert {each.name for each in out.glob("*_parent_*")} == expected


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_further_addition_has_further_parents_of_its_own(
    tmp_path: Path, source: Path, dialect: str
) -> None:
    out = package(tmp_path, dialect, limits=ONE, parent_limit=3)
    add(out, source, limits=ONE, parent_limit=3)
    add(out, siard(tmp_path, "Third", b"x", b"y", b"z", b"w"), limits=ONE, parent_limit=3)
    assert codes(out) == []
    lobs_are_given_back(out, tmp_path)
    assert b"".join(api.cat(out, "Third.s0.t0.c2.r4")) == b"w"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_parts_of_lobs_are_named_by_the_further_parent_of_the_first(
    tmp_path: Path, source: Path, dialect: str
) -> None:
    out = package(tmp_path, dialect, parent_limit=1)
    add(out, source, parent_limit=1)
    assert set(codes(out)) <= {"S010"}
    lobs_are_given_back(out, tmp_path)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_bytes_each_time(tmp_path: Path, source: Path, dialect: str) -> None:
    made = []
    for jobs in (1, 2):
        (tmp_path / f"{jobs}").mkdir()
        out = package(tmp_path / f"{jobs}", dialect, limits=ONE, parent_limit=2)
        add(out, source, limits=ONE, parent_limit=2, jobs=jobs)
        made.append(tree(out))
    assert made[0] == made[1]


def test_what_does_not_check_is_taken_back(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = package(tmp_path, "recommendation", limits=ONE, parent_limit=2)
    before = stats(out)
    write = manifests.write_grown

    def wrong(package: Path, *more: Any, root: Path) -> Seal:
        with (package / "Orders_parent_1/mets.xml").open("ab") as mets:
            mets.write(b"\n")
        return write(package, *more, root=root)

    monkeypatch.setattr(manifests, "write_grown", wrong)
    with pytest.raises(TargetError, match="would have errors; nothing was added: Orders_parent_1"):
        add(out, source, limits=ONE, parent_limit=2)
    assert stats(out) == before


def test_a_further_parent_where_a_folder_is(tmp_path: Path, source: Path) -> None:
    out = package(tmp_path, "recommendation", limits=ONE)
    (out / "Orders_parent_1").mkdir()
    with pytest.raises(TargetError, match="holds Orders_parent_1 already"):
        add(out, source, limits=ONE, parent_limit=2)
