"""Links by location to a sibling package, in the forms in which programs write them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.api import build
from metspack.building.build import BuildOptions
from metspack.checking import Level, check
from metspack.limits import Limits
from tests.conftest import CHECKOUT
from tests.packages.spread import tarred, zipped

URN = re.compile(r'\s*<mets:mptr [^>]*LOCTYPE="URN"[^>]*/>')


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packages of CSIP side by side, whose parent names its children by location."""
    root = tmp_path_factory.mktemp("made") / "set"
    source = CHECKOUT / "samples" / "northwind" / "Northwind.siard"
    build(source, root, BuildOptions(dialect="csip", limits=Limits(files=4, bytes=45_000)))
    for each in root.glob("manifest-*"):
        each.unlink()
    mets = parent(root)
    mets.write_text(URN.sub("", mets.read_text()))
    return root


def parent(root: Path) -> Path:
    """Return the METS of the parent."""
    return next(each for each in root.glob("*/METS.xml") if "child SIPs" in each.read_text())


def child(root: Path) -> Path:
    """Return the folder of the first child."""
    return min(each.parent for each in root.glob("*/METS.xml") if "child SIPs" not in each.read_text())


def located(root: Path, new: Callable[[str], str]) -> None:
    """Write the location of the first child in another form."""
    old, mets = f"../{child(root).name.replace('+', '%2B')}/METS.xml", parent(root)
    mets.write_text(mets.read_text().replace(f'"{old}"', f'"{new(old)}"'))


def renamed(root: Path, name: str = "ID.B") -> Path:
    return child(root).rename(root / name)


def with_another_objid(folder: Path) -> None:
    mets = folder / "METS.xml"
    mets.write_text(re.sub('OBJID="[^"]+"', 'OBJID="urn:uuid:9"', mets.read_text(), count=1))


def packed(root: Path, pack: Callable[..., Path], ending: str) -> None:
    folder = child(root)
    pack(folder, root / f"{folder.name}{ending}", inside=folder.name)


FORMS: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "in its place": (lambda _root: None, set()),
    "renamed folder": (renamed, {"L011"}),
    "renamed folder, another OBJID": (lambda root: with_another_objid(renamed(root)), {"L002", "L024"}),
    "not there": (lambda root: shutil.rmtree(child(root)), {"L002"}),
    "zip in its place": (lambda root: packed(root, zipped, ".zip"), set()),
    "tar in its place": (lambda root: packed(root, tarred, ".tar"), set()),
    "a dot more": (lambda root: located(root, lambda at: at.replace("../", ".././")), set()),
    "slashes escaped": (lambda root: located(root, lambda at: at.replace("/", "%2F")), {"P005"}),
    "plus for plus": (lambda root: located(root, lambda at: at.replace("%2B", "+")), set()),
    "backslashes": (lambda root: located(root, lambda at: at.replace("/", "\\")), {"M026", "P005"}),
    "another letter case": (
        lambda root: located(root, lambda at: at.replace("METS.xml", "mets.xml")),
        {"L002"},
    ),
    "the folder alone": (
        lambda root: located(root, lambda at: at.removesuffix("METS.xml")),
        {"L005", "L031", "L034", "P006"},
    ),
    "without the step up": (lambda root: located(root, lambda at: at.removeprefix("../")), {"L011"}),
    "an absolute path": (lambda root: located(root, lambda at: at.replace("..", "file:///srv")), {"L011"}),
    "escaped twice": (lambda root: located(root, lambda at: at.replace("%2B", "%252B")), {"L002", "L024"}),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_leads_to_the_sibling_or_says_where_it_is(made: Path, tmp_path: Path, form: str) -> None:
    root = Path(shutil.copytree(made, tmp_path / "set"))
    change, codes = FORMS[form]
    change(root)
    found = {each.code for each in check(root, Level.LINKS) if each.code != "M031"}
    assert found == codes
