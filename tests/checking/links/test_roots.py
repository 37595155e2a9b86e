"""Parents and children wherever they lie: several packages, roots, disks, zip and tar files."""

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.checking.links.graph import LinkState
from metspack.errors import ConfigError
from metspack.files import reading
from metspack.limits import Budgets
from metspack.packages.files import weight
from tests.findings import codes, ordered
from tests.packages import forge
from tests.packages.placed import structmap, urn
from tests.packages.spread import moved, tarred, zipped
from tests.tables import tabled


def four(root: Path) -> Path:
    """A package of four segments."""
    return forge.forge(root, forge.lobs(8, 4))


def mets(objid: str, *maps: str) -> str:
    return (
        '<mets:mets xmlns:mets="http://www.loc.gov/METS/" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'OBJID="{objid}"><mets:fileSec><mets:fileGrp><mets:file ID="x"><mets:FContent/></mets:file>'
        '</mets:fileGrp></mets:fileSec><mets:structMap><mets:div><mets:fptr FILEID="x"/></mets:div>'
        f"</mets:structMap>{''.join(maps)}</mets:mets>"
    )


def aip(folder: Path, objid: str, *, parent: str = "", children: Iterable[str] = ()) -> Path:
    """Write a package with the links of E-ARK's AIP."""
    maps = [structmap("parent AIP", urn(parent))] if parent else []
    if children:
        maps.append(structmap("child AIPs", *(urn(each) for each in children)))
    folder.mkdir(parents=True)
    (folder / "METS.xml").write_text(mets(objid, *maps))
    return folder


@pytest.mark.parametrize("level", [Level.LINKS, Level.FULL])
def test_segments_on_three_disks_and_in_a_zip_are_found_and_clean(tmp_path: Path, level: Level) -> None:
    root = four(tmp_path / "package")
    moved(root, 1, "disk1")
    moved(root, 2, "disk2/deep/er")
    zipped(moved(root, 3, "disk3"), tmp_path / "disk3/box.zip", inside="Northwind_lobseg_3")
    roots = [tmp_path / each for each in ("disk1", "disk2", "disk3")]
    run = check(root, level, roots=roots)
    assert codes(run) == ["L011"] * 3
    assert (run.summary.packages, run.summary.errors, run.summary.warnings) == (5, 0, 0)
    (graph,) = run.graphs
    assert [edge.state for edge in graph.edges] == [LinkState.OK, *[LinkState.ELSEWHERE] * 3]
    assert not graph.is_broken
    assert [node.found for node in graph.nodes if node.found] == [
        f"{tmp_path}/disk1/Northwind_lobseg_1/mets.xml",
        f"{tmp_path}/disk2/deep/er/Northwind_lobseg_2/mets.xml",
        f"{tmp_path}/disk3/box.zip/Northwind_lobseg_3/mets.xml",
    ]


def test_empty_folders_and_links_in_packed_segments_are_reported(package: Path, tmp_path: Path) -> None:
    one, two = moved(package, 0, "disk"), moved(package, 1, "disk")
    for each in (one, two):
        (each / "empty").mkdir()
        (each / "zempty").mkdir()
    (two / "link").symlink_to("mets.xml")
    zipped(one, tmp_path / "disk/a.zip")
    tarred(two, tmp_path / "disk/b.tar")
    found = sorted(codes(check(package, roots=[tmp_path / "disk"])))
    assert found == ["L011", "L011", "P008", "P010", "P010", "P010", "P010"]


def test_the_roots_may_hold_the_package_itself(package: Path, tmp_path: Path) -> None:
    moved(package, 1, "disk")
    assert codes(check(package, roots=[tmp_path])) == ["L011"]
    assert codes(check(package, roots=[package, tmp_path, tmp_path / "disk"])) == ["L011"]
    assert codes(check(package, roots=[package.parent / "package/../disk"])) == ["L011"]


def test_a_root_may_be_a_packed_file_or_a_mets(package: Path, tmp_path: Path) -> None:
    target = moved(package, 1, "disk")
    assert codes(check(package, roots=[target / "mets.xml"])) == ["L011"]
    packed = zipped(target, tmp_path / "disk/x.zip")
    assert codes(check(package, roots=[packed])) == ["L011"]
    with pytest.raises(ConfigError, match="nowhere does not exist"):
        list(check(package, roots=[tmp_path / "nowhere"]))


def test_a_child_of_the_same_objid_of_another_package_is_not_taken(tmp_path: Path) -> None:
    """A child's OBJID is unique beside its parent alone; the pair tells."""
    mine, other = forge.forge(tmp_path / "mine"), forge.forge(tmp_path / "other")
    for path in other.rglob("mets.xml"):
        forge.edit(path, "0018", "0099")
    moved(mine, 1, "disk")
    shutil.move(other / "Northwind_lobseg_1", tmp_path / "adisk/Northwind_lobseg_1")
    run = check(mine, roots=[tmp_path / "adisk", tmp_path / "disk", tmp_path / "other"])
    assert codes(run) == ["L011"]
    assert run.graphs[0].nodes[2].found == f"{tmp_path}/disk/Northwind_lobseg_1/mets.xml"


def test_several_packages_are_checked_once_each_with_their_names(tmp_path: Path) -> None:
    root = four(tmp_path / "package")
    one, two = moved(root, 1, "disk1"), moved(root, 2, "disk2")
    run = check([one, root, two])
    assert codes(run) == ["L011", "L011"]
    assert run.summary.packages == 5
    assert [graph.path for graph in run.graphs] == [str(root)]
    (one / "note").touch()
    paths = [each.path for each in check([two, one, root]) if each.code == "F010"]
    assert paths == [f"{one}/note"]
    assert weight([one, root]) == weight(one) + weight(root)


def test_what_cannot_be_read_in_a_root_is_reported_and_the_rest_is_checked(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved(package, 1, "disk/b")
    (tmp_path / "disk/a").mkdir()
    (tmp_path / "disk/c").mkdir()
    (tmp_path / "disk/c/mets.xml").write_text("<not closed")
    (tmp_path / "disk/d.zip").write_bytes(b"PK\3\4")
    original = reading.opened_folder

    def refused(root: Path, segments: Iterable[str] = ()) -> int:
        if tuple(segments) == ("a",):
            raise PermissionError(13, "Permission denied", "a")
        return original(root, tuple(segments))

    monkeypatch.setattr(reading, "opened_folder", refused)
    found = ordered(check(package, roots=[tmp_path / "disk"]))
    assert sorted(each.code for each in found) == ["L011", "P007", "P007", "P011"]
    reasons = {Path(each.path).name: dict(each.facts)["reason"] for each in found if each.code != "L011"}
    assert {name: reason.partition(":")[0] for name, reason in reasons.items()} == {
        "a": "Permission denied",
        "mets.xml": "not well-formed",
        "d.zip": "is cut off",
    }


def test_a_packed_file_over_its_budget_is_not_looked_into(package: Path, tmp_path: Path) -> None:
    tarred(moved(package, 0, "disk"), tmp_path / "disk/x.tar")
    found = codes(check(package, Level.LINKS, roots=[tmp_path / "disk"], budgets=Budgets(entries=2)))
    assert sorted(found) == ["L002", "L030", "P011"]


def test_more_packed_segments_than_are_kept_open(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "package", forge.lobs(24, 12))
    for number in range(12):
        zipped(moved(root, number, "disk"), tmp_path / f"disk/{number}.zip")
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert codes(check(root, roots=[tmp_path / "disk"])) == ["L011"] * 12
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after <= before


# --- links upward ---------------------------------------------------------------------------------------


def url(href: str) -> str:
    return f'<mets:mptr LOCTYPE="URL" xlink:href="{href}"/>'


def beside(tmp_path: Path, *maps: str) -> Path:
    """A parent with one child in a folder of its own, whose links up are given."""
    down = structmap("child AIPs", url("c/METS.xml"))
    (tmp_path / "p/c").mkdir(parents=True)
    (tmp_path / "p/METS.xml").write_text(mets("urn:x:top", structmap("parent IP", urn("urn:x:above")), down))
    (tmp_path / "p/c/METS.xml").write_text(mets("child", *maps))
    return tmp_path / "p"


def upward(words: Sequence[str]) -> str:
    """Return a map with divisions, each of one link or several, by location or OBJID."""
    label, *divisions = words
    links = ("".join(url(each) if "/" in each else urn(each) for each in div.split()) for div in divisions)
    return structmap(label, *links)


@tabled
def test_links_up_from_a_child(tmp_path: Path, maps: list[list[str]], expected: list[str]) -> None:
    found = codes(check(beside(tmp_path, *map(upward, maps)), Level.LINKS))
    assert sorted(each for each in found if each != "L022") == expected


@tabled
def test_links_up_from_a_single_child(tmp_path: Path, maps: list[list[str]], expected: list[str]) -> None:
    assert sorted(codes(check(beside(tmp_path, *map(upward, maps)) / "c", Level.LINKS))) == expected


# --- identity and location together ---------------------------------------------------------------------


def test_a_location_and_an_objid_in_one_div_are_one_link(tmp_path: Path) -> None:
    root = beside(tmp_path, structmap("parent AIP", urn("top")))
    both = structmap("child AIPs", urn("urn:x:child") + url("c/METS.xml"))
    (root / "METS.xml").write_text(mets("top", both))
    assert codes(check(root, Level.LINKS)) == []
    (root / "METS.xml").write_text(mets("top", both.replace("urn:x:child", "urn:x:Child")))
    (found,) = check(root, Level.LINKS)
    assert found.code == "L003"
    assert found.message.endswith("(differs only in case)")


@pytest.mark.parametrize("folder", ["", "children/", "a/b/"])
def test_a_child_that_is_packed_in_its_parent_is_where_it_would_be_unpacked(
    tmp_path: Path, folder: str
) -> None:
    root = aip(tmp_path / "top", "urn:x:top", children=["urn:x:one"])
    zipped(aip(tmp_path / "one", "urn:x:one", parent="urn:x:top"), root / f"{folder}box.zip", inside="one")
    run = check(root, Level.LINKS)
    list(run)
    (graph,) = run.graphs
    assert [each.path for each in graph.nodes] == ["METS.xml", f"{folder}one/METS.xml"]
    assert graph.nodes[1].found == f"{root}/{folder}box.zip/one/METS.xml"


def test_what_is_found_in_a_child_given_beside_its_parent_counts_for_the_child(package: Path) -> None:
    child = moved(package, 1, "elsewhere")
    (child / "link").symlink_to("mets.xml")
    found = [each for each in check([package, child]) if each.code == "P008"]
    assert [each.path for each in found] == [str(child / "link")]


def test_files_of_two_children_that_lie_in_one_folder_are_listed(tmp_path: Path) -> None:
    root = four(tmp_path / "package")
    one, two = (root / f"Northwind_lobseg_{number}" for number in (1, 2))
    both = root / "both"
    one.rename(both)
    (two / "mets.xml").rename(both / "METS.xml")
    shutil.copytree(two / "content", both / "content", dirs_exist_ok=True)
    shutil.rmtree(two)
    assert {each.path: each.count for each in check(root) if each.code == "F024"} == {"both/METS.xml": 1}
