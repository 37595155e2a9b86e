"""The IP at the top of those side by side in a folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from metspack import checking
from metspack.containers.ipreader import OpenPacks
from metspack.errors import SourceError
from metspack.limits import Budgets
from metspack.packages.delivery import ByObjid, only_package
from metspack.packages.package import Package
from tests.tables import tabled

_METS = '<mets xmlns="http://www.loc.gov/METS/" xmlns:l="http://www.w3.org/1999/xlink" OBJID="{}">{}</mets>'
_LINK = '<structMap LABEL="{}"><div><mptr LOCTYPE="{}" l:href="{}"/></div></structMap>'


def top(root: Path) -> tuple[str, str | None] | None:
    found = only_package(root, Budgets())
    return None if found is None else (found.folder, found.mets)


def ip(root: Path, name: str, objid: str, *ups: tuple[str, str], down: str = "") -> None:
    links = [_LINK.format("parent AIP", *up) for up in ups]
    if down:
        links.append(_LINK.format("child AIP", "URL" if "/" in down else "OTHER", down))
    (root / name).mkdir()
    (root / name / "METS.xml").write_text(_METS.format(objid, "".join(links)))


def refused(root: Path, *ips: str) -> None:
    shown = ", ".join(rf".*/{each}( \([A-Z]\))?" for each in ips)
    with pytest.raises(SourceError, match=f"holds {len(ips)} packages: {shown}; expected one"):
        top(root)


@tabled
def test_a_childs_parent_is_found_by_place_and_by_name(tmp_path: Path, up: tuple[str, str]) -> None:
    ip(tmp_path, "a", "A", up)
    ip(tmp_path, "m", "M", up)
    ip(tmp_path, "z", "urn:uuid:1")
    assert top(tmp_path) == ("z", "METS.xml")


@pytest.mark.parametrize("parent", ["a", "z"])
def test_an_ip_that_its_parent_names_by_bare_objid_need_not_name_it(tmp_path: Path, parent: str) -> None:
    ip(tmp_path, parent, "A", down="M")
    ip(tmp_path, "m", "M")
    assert top(tmp_path) == (parent, "METS.xml")


@pytest.mark.parametrize("label", ["parent AIP", "child AIP", ""])
def test_a_location_that_leads_to_the_folder_around_is_that_of_no_ip(tmp_path: Path, label: str) -> None:
    ip(tmp_path, "a", "A", ("URL", "../"))
    ip(tmp_path, "b", "B", ("URL", "../../"))
    for name in "ab":
        mets = tmp_path / name / "METS.xml"
        mets.write_text(mets.read_text().replace("parent AIP", label))
    refused(tmp_path, "a", "b")
    codes = {each.code for each in checking.check([tmp_path / "a", tmp_path / "b"], jobs=1)}
    assert ("P003" in codes) is (label != "parent AIP")


def test_a_folder_without_ips_has_no_top(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b/METS.xml").symlink_to("/etc/passwd")
    (tmp_path / "METS.xml").mkdir()
    assert top(tmp_path) is None


@pytest.mark.parametrize(
    "up", [("URL", "../../out/METS.xml"), ("URL", "../a/METS.xml"), ("URN", "urn:x:gone")]
)
def test_children_whose_parent_is_not_there_are_several(tmp_path: Path, up: tuple[str, str]) -> None:
    ip(tmp_path, "a", "A", up)
    assert top(tmp_path) == ("a", "METS.xml")
    ip(tmp_path, "b", "B", up)
    if up == ("URL", "../a/METS.xml"):
        assert top(tmp_path) == ("a", "METS.xml")
    else:
        refused(tmp_path, "a", "b")


def test_the_top_is_found_though_a_further_parent_of_the_first_ip_is_not_there(tmp_path: Path) -> None:
    ip(tmp_path, "a", "A", ("URL", "../gone/METS.xml"))
    ip(tmp_path, "b", "B", ("URL", "../z/METS.xml"))
    ip(tmp_path, "z", "Z", down="../gone/METS.xml")
    assert top(tmp_path) == ("z", "METS.xml")
    ip(tmp_path, "c", "C", ("URL", "../lost/METS.xml"))
    refused(tmp_path, "c", "z")


def test_a_damaged_ip_is_the_one_at_the_top_only_where_no_other_is(tmp_path: Path) -> None:
    ip(tmp_path, "a", "A", ("URL", "../z/METS.xml"))
    ip(tmp_path, "b", "B", ("URL", "../z/METS.xml"))
    ip(tmp_path, "z", "Z", down="../a/METS.xml")
    for name in "az":
        mets = tmp_path / name / "METS.xml"
        mets.write_text(mets.read_text().replace("</mets>", "</met>"))
        assert top(tmp_path) == ("z", "METS.xml"), name


def test_parents_in_a_circle_are_one_package_that_is_refused_where_it_is_read(tmp_path: Path) -> None:
    ip(tmp_path, "a", "A", ("URL", "../b/METS.xml"))
    ip(tmp_path, "b", "B", ("URL", "../a/METS.xml"))
    assert top(tmp_path) == ("a", "METS.xml")
    with Package(tmp_path) as package, pytest.raises(SourceError, match="is the METS of a child IP"):
        assert package.objid


def test_what_cannot_be_read_is_looked_at_by_the_caller(tmp_path: Path) -> None:
    ip(tmp_path, "a", "A", ("URN", "urn:x:B"))
    (tmp_path / "b").mkdir()
    (tmp_path / "b/METS.xml").write_text("no XML")
    refused(tmp_path, "a", "b")
    (tmp_path / "b/METS.xml").unlink()
    (tmp_path / "a/METS.xml").write_text("none either")
    assert top(tmp_path) == ("a", "METS.xml")


@pytest.fixture
def find() -> Iterator[Callable[..., str | None]]:
    with closing(OpenPacks(Budgets())) as packs:

        def find(objid: str, root: Path, *roots: Path) -> str | None:
            root.mkdir(exist_ok=True)
            found = ByObjid(root, roots, packs, Budgets()).find(objid, "P")
            return None if found is None else str(found.path)

        yield find


def test_an_ip_is_found_by_its_objid_whatever_its_folder_is_called(
    tmp_path: Path, find: Callable[..., str | None]
) -> None:
    ip(tmp_path, "a", "urn:uuid:B")
    ip(tmp_path, "b", "C")
    ip(tmp_path, "c", "")
    (tmp_path / "d").mkdir()
    (tmp_path / "e.txt").touch()
    assert find("B", tmp_path) == find(" urn:x:B ", tmp_path) == str(tmp_path / "a")
    assert find("C", tmp_path) == str(tmp_path / "b")
    assert find("D", tmp_path) is None


def test_the_folder_called_by_an_objid_goes_before_others(
    tmp_path: Path, find: Callable[..., str | None]
) -> None:
    ip(tmp_path, "a", "urn:x:1")
    ip(tmp_path, "urn+x+1", "urn:x:1")
    assert find("urn:x:1", tmp_path) == str(tmp_path / "urn+x+1")


def test_of_several_ips_of_one_objid_that_which_names_the_parent_is_found(
    tmp_path: Path, find: Callable[..., str | None]
) -> None:
    for name in ("b", "a"):
        ip(tmp_path, name, "X")
    assert find("X", tmp_path) == str(tmp_path / "a")
    other = tmp_path / "disk/shelf"
    other.mkdir(parents=True)
    ip(other, "x", "X", ("URN", "urn:x:P"))
    assert find("X", tmp_path, tmp_path / "disk") == str(other / "x")


def _whole(copy: Path) -> None:
    (copy / "mets.xml").write_text(_METS.format("P", ""))


def _without_its_mets(copy: Path) -> None:
    (copy / "manifest-md5.txt").write_text(f"{'0' * 32}  mets.xml\n")


def _with_its_archive(copy: Path) -> None:
    (copy / "Northwind.siard").touch()


def _of_representations(copy: Path) -> None:
    (copy / "representations").mkdir()


def _in_the_folder_of_a_column(copy: Path) -> None:
    _whole(copy)
    below = copy / "Northwind_lobs/s0_t2_c4"
    below.mkdir(parents=True)
    shutil.move(copy / "Northwind_lobseg_1", below)


def _with_its_mets_in_metadata(copy: Path) -> None:
    _whole(copy)
    child = copy / "Northwind_lobseg_1"
    (child / "metadata").mkdir()
    shutil.move(child / "METS.xml", child / "metadata/mets.xml")


COPIES = (
    _whole,
    _without_its_mets,
    _with_its_archive,
    _of_representations,
    _in_the_folder_of_a_column,
    _with_its_mets_in_metadata,
)


@pytest.mark.parametrize("form", [None, "zip", "tar"])
@pytest.mark.parametrize("change", COPIES)
def test_a_child_is_found_in_a_copy_of_the_whole_package(
    tmp_path: Path, find: Callable[..., str | None], change: Callable[[Path], None], form: str | None
) -> None:
    copy = tmp_path / "disk/shelf/copy"
    copy.mkdir(parents=True)
    ip(copy, "Northwind_lobseg_1", "B")
    change(copy)
    (expected,) = copy.rglob("Northwind_lobseg_1")
    if form is not None:
        expected = Path(shutil.make_archive(str(copy), form, copy.parent, "copy"))
        shutil.rmtree(copy)
    assert find("B", tmp_path / "elsewhere", tmp_path / "disk") == str(expected)
