"""Packages given one by one, in folders and in zip files: the same findings however they are given."""

from __future__ import annotations

import io
import shlex
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from metspack.checking import Level, check
from metspack.errors import SourceError
from metspack.reporting import linkgraph
from tests.checking.links.test_roots import aip, mets
from tests.findings import ordered
from tests.laws import law
from tests.packages import csip, forge
from tests.packages.placed import structmap, urn
from tests.packages.spread import moved, tarred, zipped

RODA = "RODA structural map"


def numbered(root: Path, number: int) -> Path:
    """Write a package of the recommendation with an OBJID of its own."""
    forge.forge(root)
    for path in root.rglob("mets.xml"):
        forge.edit(path, "0018", f"{number:04}")
    forge.seal(root)
    return root


def codes(*paths: Path, level: Level = Level.FULL, roots: Sequence[Path] = ()) -> list[str]:
    return sorted(each.code for each in check(paths, level, roots=roots))


# --- the packages that the law is tried on ----------------------------------------------------------------


def _good(root: Path) -> None:
    numbered(root / "good", 20)


def _damaged(root: Path) -> None:
    path = numbered(root / "damaged", 21)
    (path / forge.FIRST).write_bytes(b"x" * 403)
    (path / "Northwind_lobseg_1/mets.xml").unlink()


def _loose(root: Path) -> None:
    for name in ("Other.siard", "alone/A.siard", "lobs/content/schema0/table2/x", "parts.siard_part001"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"PK")
    (root / "parts.siard_part002").touch()
    (root / "unpacked.siard/header").mkdir(parents=True)
    (root / "unpacked.siard/header/metadata.xml").touch()


def _sources(root: Path) -> None:
    numbered(root / "beside", 26)
    (root / "alone").mkdir()
    for name in ("Other.siard", "alone/A.siard", "alone/B.siard"):
        (root / name).write_bytes(b"PK")


def _again(root: Path) -> None:
    numbered(root / "again", 20)
    (root / "again/note").touch()


def _apart(root: Path) -> None:
    path = numbered(root / "apart", 22)
    moved(path, 1, "disk")
    shutil.move(root / "disk/Northwind_lobseg_1", root / "Northwind_lobseg_1")
    shutil.rmtree(root / "disk")
    (root / "Northwind_lobseg_1/note").touch()


def _packed(root: Path) -> None:
    zipped(numbered(root / "packed", 23), root / "packed.zip", inside="packed")


def _compressed(root: Path) -> None:
    path = numbered(root / "tight", 25)
    (path / forge.FIRST).write_bytes(b"x" * 403)
    tarred(path, root / "tight.tar", inside="tight", backwards=True)


def _lost(root: Path) -> None:
    (numbered(root / "lost", 24) / "mets.xml").unlink()


def _by_objid(root: Path) -> None:
    aip(root / "over", "urn:x:over", children=["urn:x:under", "urn:x:silent", "urn:x:gone"])
    aip(root / "under", "under", parent="urn:x:over", children=["urn:x:last"])
    aip(root / "silent", "silent")
    aip(root / "last", "last", parent="urn:x:under")
    aip(root / "stranger", "stranger", parent="urn:x:over")


def _roda(root: Path) -> None:
    aip(root / "plain", "plain")
    (root / "kid").mkdir()
    (root / "kid/METS.xml").write_text(mets("kid", structmap(RODA, urn("plain"))))


def _siblings(root: Path) -> None:
    csip.divide(root / "set")
    _unpacked(root)


def _by_parts(root: Path) -> None:
    csip.divided(root / "set")
    csip.seal(root / "set")
    _unpacked(root)


def _unpacked(root: Path) -> None:
    for each in (root / "set").iterdir():
        if each.is_dir():
            each.rename(root / each.name)
    shutil.rmtree(root / "set")


KINDS: tuple[Callable[[Path], None], ...] = (
    *(_good, _damaged, _again, _apart, _packed, _compressed, _lost, _sources),
    *(_by_objid, _roda, _siblings, _by_parts),
)


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[Path]]:
    """The packages of each kind, side by side."""
    found: dict[str, list[Path]] = {}
    for make in KINDS:
        root = tmp_path_factory.mktemp("stock") / "packages"
        root.mkdir()
        make(root)
        found[make.__name__] = sorted(root.iterdir())
    return found


@dataclass(frozen=True)
class Place:
    """The folder of a package, and how it is given: by its path or by that folder."""

    folder: str
    is_named: bool


FOLDERS = ("a", "b", "b/c", "d/e/f")
PLACES = st.builds(Place, st.sampled_from(FOLDERS), st.booleans())


def placed(
    packages: Sequence[Path], places: Iterator[Place], root: Path
) -> tuple[list[Path], dict[str, str]]:
    """Copy packages to places; return the given paths, and the packages by path."""
    named: list[Path] = []
    folders: set[Path] = set()
    names_by_path: dict[str, str] = {}
    for each in packages:
        place = next(places)
        target = root / (f"named/{place.folder}" if place.is_named else place.folder) / each.name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if each.is_dir() else shutil.copyfile)(each, target)
        names_by_path[str(target)] = each.name
        if place.is_named:
            named.append(target)
        else:
            folders.add(root / place.folder.partition("/")[0])
    return [*named, *sorted(folders)], names_by_path


def reported(
    paths: Sequence[Path], names_by_path: Mapping[str, str], level: Level
) -> Counter[tuple[str, str, str]]:
    """Return the findings by package, path in it, and code."""
    found = Counter[tuple[str, str, str]]()
    for each in check(paths, level):
        at = next((name for name in names_by_path if f"{each.path}/".startswith(f"{name}/")), None)
        assert at is not None or len(names_by_path) == 1, each
        name, path = (
            (names_by_path[at], each.path[len(at) + 1 :]) if at else (*names_by_path.values(), each.path)
        )
        found[name, path, each.code] += 1
    return found


@pytest.mark.slow
@law(5, HealthCheck.function_scoped_fixture)
@given(
    kinds=st.lists(st.sampled_from([each.__name__ for each in KINDS]), min_size=1, max_size=4, unique=True),
    places=st.lists(PLACES, min_size=14, max_size=14),
    level=st.sampled_from([Level.LINKS, Level.STRUCTURE, Level.FULL]),
)
def test_the_same_packages_give_the_same_findings_however_they_are_given(
    stock: Mapping[str, list[Path]],
    tmp_path_factory: pytest.TempPathFactory,
    kinds: list[str],
    places: list[Place],
    level: Level,
) -> None:
    packages = [each for kind in kinds for each in stock[kind]]
    if {"_siblings", "_by_parts"} <= set(kinds):
        packages = [each for kind in kinds if kind != "_by_parts" for each in stock[kind]]
    root = tmp_path_factory.mktemp("law")
    one_by_one = reported(packages, {str(each): each.name for each in packages}, level)
    paths, names_by_path = placed(packages, iter(places * 2), root)
    found = reported(paths[:: 1 if places[0].is_named else -1], names_by_path, level)
    shutil.rmtree(root)
    assert found == one_by_one


# --- what a delivery is -----------------------------------------------------------------------------------


def test_a_folder_of_packages_is_checked_package_by_package(tmp_path: Path) -> None:
    good, bad = numbered(tmp_path / "inbox/a", 20), numbered(tmp_path / "inbox/deep/er/b", 21)
    assert codes(tmp_path / "inbox") == []
    forge.edit(bad / "mets.xml", 'xlink:href="ID_Northwind_lobseg_1_mets"', 'xlink:href="nobody"')
    (good / "note").touch()
    found = ordered(check(tmp_path / "inbox", Level.STRUCTURE))
    assert [(each.path, each.code) for each in found if each.code[0] == "L"] == [
        (f"{bad}/mets.xml", "L005"),
        (f"{bad}/mets.xml", "L001"),
    ]
    assert {each.path for each in found if each.code == "F010"} == {f"{good}/note"}


def test_a_link_between_packages_of_two_deliveries_is_followed(tmp_path: Path) -> None:
    aip(tmp_path / "one/top", "top", children=["urn:x:child"])
    aip(tmp_path / "two/x/child", "child", parent="urn:x:top")
    assert codes(tmp_path / "one", tmp_path / "two", level=Level.LINKS) == []
    assert codes(tmp_path / "one", level=Level.LINKS) == ["L010"]
    assert codes(tmp_path / "two", level=Level.LINKS) == ["L022"]
    assert codes(tmp_path / "two", level=Level.LINKS, roots=[tmp_path / "one"]) == []


def test_siblings_that_metspack_made_have_manifests_beside_them(tmp_path: Path) -> None:
    root = csip.divide(tmp_path / "set")
    for manifest in root.glob("manifest-*"):
        manifest.unlink()
    assert codes(root) == [], "other software does not write them"
    forge.edit(root / "top/METS.xml", "By hand", "metspack")
    assert [(each.path, each.code) for each in ordered(check(root))] == [
        ("manifest-md5.txt", "F020"),
        ("manifest-sha256.txt", "F020"),
    ]
    assert codes(root, level=Level.LINKS) == []


def test_links_of_several_packages_are_shown_with_the_path_of_each(tmp_path: Path) -> None:
    one = numbered(tmp_path / "in/a", 20)
    csip.divide(tmp_path / "in/set")
    run = check(tmp_path / "in", Level.LINKS)
    assert list(run) == []
    paths = {node.path for graph in run.graphs for node in graph.nodes}
    inbox = tmp_path / "in"
    assert {f"{one}/mets.xml", f"{one}/Northwind_lobseg_0/mets.xml", f"{inbox}/set/child_0/METS.xml"} <= paths
    assert all(path.startswith(f"{inbox}/") and path.count(str(inbox)) == 1 for path in paths)
    drawn = "\n".join(line for graph in run.graphs for line in linkgraph.tree(graph))
    assert f"{one}/mets.xml" in drawn
    assert f"{one}/{one}" not in drawn
    run = check(one, Level.LINKS)
    list(run)
    assert run.graphs[0].nodes[0].path == "mets.xml"


def test_packages_are_checked_once_however_often_they_are_given(tmp_path: Path) -> None:
    one, two = numbered(tmp_path / "in/a", 20), numbered(tmp_path / "in/b", 21)
    for each in (one, two):
        (each / "note").touch()
    expected = codes(one, two)
    assert codes(tmp_path / "in", one, two / "mets.xml", tmp_path / "in/../in") == expected
    assert codes(one, one / "Northwind_lobseg_0", two) == expected


def test_a_zip_or_tar_file_may_hold_several_packages(tmp_path: Path) -> None:
    one = numbered(tmp_path / "in/a", 20)
    numbered(tmp_path / "in/x/b", 21)
    (one / "note").touch()
    packed = zipped(tmp_path / "in", tmp_path / "box.zip", keep=True)
    found = [each.path for each in check(packed) if each.code == "F010"]
    assert found == [f"{packed}/a/note"]
    packed = tarred(tmp_path / "in", tmp_path / "box.tar", inside="in")
    found = [each.path for each in check(packed) if each.code == "F010"]
    assert found == [f"{packed}/in/a/note"]


def test_what_no_package_has_is_reported_with_the_command_that_makes_one(tmp_path: Path) -> None:
    good = numbered(tmp_path / "in/good", 21)
    _loose(tmp_path / "in")
    found = {each.path.removeprefix(f"{tmp_path}/in/"): each for each in check(tmp_path / "in")}
    assert {(path, each.code) for path, each in found.items()} == {
        (path, "M016")
        for path in ("Other.siard", "alone/A.siard", "lobs", "unpacked.siard", "parts.siard_part001")
    }
    made = {
        path: each.message.partition("metspack build ")[2].partition(" -o")[0] for path, each in found.items()
    }
    assert made["Other.siard"] == shlex.quote(f"{tmp_path}/in/Other.siard")
    assert made["alone/A.siard"] == shlex.quote(f"{tmp_path}/in/alone/A.siard")
    assert made["lobs"] == shlex.quote(f"{tmp_path}/in/lobs")
    assert found["lobs"].message.startswith("not a package: it holds LOBs and no METS. To make one: ")
    assert found["alone/A.siard"].message.startswith("a SIARD archive. To make a package of it: ")
    run = check([good, tmp_path / "in/alone"])
    assert [each.code for each in run] == ["M016"]
    assert [(Path(each.path).name, each.is_package) for each in run.summary.results] == [
        ("A.siard", False),
        ("good", True),
    ]


def _zip_of(name: str, data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr(name, data)
    return packed.getvalue()


def test_other_files_in_a_delivery_are_named_with_what_they_seem_to_be(tmp_path: Path) -> None:
    numbered(tmp_path / "in/good", 21)
    whole = zipped(tmp_path / "in/good", tmp_path / "whole.zip", keep=True).read_bytes()
    for name, data in (
        *((f"next.zip{each}", whole[:700]) for each in (".filepart", ".part", ".crdownload", ".001")),
        ("next.sip", whole),
        ("packed.zip", _zip_of("inner.zip", whole)),
        ("notes/readme.txt", b"text"),
        ("list.csv", b"a,b"),
    ):
        (tmp_path / "in" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_bytes(data)
    (tmp_path / "in/empty").mkdir()
    run = check(tmp_path / "in")
    found = {each.path.removeprefix(f"{tmp_path}/in/"): each.code for each in run}
    uploads = (f"next.zip{each}" for each in (".filepart", ".part", ".crdownload", ".001"))
    unfinished = (*uploads, "next.sip", "packed.zip")
    assert found == dict.fromkeys(unfinished, "M044") | dict.fromkeys(("notes", "list.csv", "empty"), "M045")
    assert sum(each.is_package for each in run.summary.results) == 1
    for each in (tmp_path / "in").iterdir():  # alone, it is what it was before
        if each.name != "good":
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    assert list(check(tmp_path / "in")) == []


def test_an_archive_beside_packages_in_a_zip_file_is_reported_too(tmp_path: Path) -> None:
    numbered(tmp_path / "in/good", 21)
    (tmp_path / "in/a/x").mkdir(parents=True)
    (tmp_path / "in/a/x/Other.siard").write_bytes(b"PK")
    packed = zipped(tmp_path / "in", tmp_path / "in.zip", keep=True)
    (found,) = check(packed)
    assert (found.path, found.code) == (f"{packed}/a/x/Other.siard", "M016")
    assert f"Take it out of {packed}" in found.message


def test_what_is_missing_or_unreadable_is_reported_and_the_rest_is_checked(tmp_path: Path) -> None:
    good = numbered(tmp_path / "in/good", 21)
    (good / "note").touch()
    (tmp_path / "in/cut.zip").write_bytes(b"PK\3\4")
    (tmp_path / "in/other.7z").write_bytes(b"7z")
    found = ordered(check([tmp_path / "in", tmp_path / "nowhere"], Level.STRUCTURE))
    assert {(each.path.removeprefix(f"{tmp_path}/"), each.code) for each in found} == {
        ("in/cut.zip", "M012"),
        ("in/other.7z", "M013"),
        ("nowhere", "M012"),
        ("in/good/note", "F010"),
        ("in/good/note", "F024"),
    }
    for single, words in (("nowhere", "does not exist"), ("in/cut.zip", "zip"), ("in/other.7z", "7z")):
        with pytest.raises(SourceError, match=words):
            list(check(tmp_path / single))


def test_of_two_copies_a_link_leads_to_the_nearest(tmp_path: Path) -> None:
    for side in ("a", "b"):
        aip(tmp_path / side / "top", "top", children=["urn:x:child"])
        aip(tmp_path / side / "child", "child", parent="urn:x:top")
    run = check([tmp_path / "b", tmp_path / "a"], Level.LINKS)
    assert sorted(each.code for each in run) == ["L041"]
    assert [graph.path for graph in run.graphs] == [str(tmp_path / side / "top") for side in "ab"]
    shutil.move(tmp_path / "b/child", tmp_path / "b/x/child")
    run = check([tmp_path / "b/top", tmp_path / "b/x", tmp_path / "a/child", tmp_path / "a"], Level.LINKS)
    assert sorted(each.code for each in run) == ["L041"]
    assert all(not graph.is_broken for graph in run.graphs)
