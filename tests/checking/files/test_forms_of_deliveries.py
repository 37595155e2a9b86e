"""The same IPs in each form that a delivery may have: one verdict, and each fault at its place."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.checking import check
from metspack.errors import SourceError
from metspack.model import Finding, Severity
from tests.checking.files.test_lists import listed
from tests.laws import spread
from tests.packages import csip, forge
from tests.packages.bags import INFO, PAYLOAD, put_in_a_bag, seal_tags
from tests.packages.spread import tarred, zipped

CHILD, FILE = csip.CHILDREN[0], "documentation/readme.txt"


@pytest.fixture(scope="module")
def ips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A parent and its children side by side, without a manifest."""
    folder = csip.divide(tmp_path_factory.mktemp("ips") / "in")
    for each in folder.glob("manifest-*.txt"):
        each.unlink()
    return folder


def packed(folder: Path, pack: Callable[..., Path], suffix: str) -> Path:
    """Pack each IP in a folder by itself."""
    for each in sorted(folder.iterdir()):
        pack(each, each.with_name(each.name + suffix), inside=each.name)
    return folder


def in_a_bag(folder: Path) -> Path:
    bag = folder.with_name("bag")
    bag.mkdir()
    folder.rename(bag / "data")
    put_in_a_bag(bag)
    return bag


def deeper(folder: Path) -> Path:
    outer = folder.with_name("outer")
    outer.mkdir()
    folder.rename(outer / "in")
    return outer


def listed_whole(folder: Path) -> Path:
    listed(folder)
    return folder


def zip_of(folder: Path) -> Path:
    return zipped(folder, folder.with_suffix(".zip"), inside=folder.name)


Step = Callable[[Path], Path]
FORMS: dict[str, tuple[Step, Step]] = {
    # What is done before a fault, and after it.
    "folder": (lambda folder: folder, lambda folder: folder),
    "zip": (lambda folder: folder, lambda folder: packed(folder, zipped, ".zip")),
    "tar": (lambda folder: folder, lambda folder: packed(folder, tarred, ".tar")),
    "bag of folders": (in_a_bag, lambda bag: bag),
    "bag of zips": (lambda folder: folder, lambda folder: in_a_bag(packed(folder, zipped, ".zip"))),
    "zip of a bag": (in_a_bag, zip_of),
    "folder in a folder": (deeper, lambda folder: folder),
    "manifest over all": (listed_whole, lambda folder: folder),
}


def child(root: Path) -> Path:
    return next(root.rglob(CHILD))


def parent(root: Path) -> Path:
    return next(root.rglob(csip.TOP))


def lose(root: Path) -> None:
    (child(root) / FILE).unlink()


def change(root: Path) -> None:
    data = (child(root) / FILE).read_bytes()
    (child(root) / FILE).write_bytes(bytes((data[0] ^ 1,)) + data[1:])


def add(root: Path) -> None:
    (child(root) / "documentation/more.txt").write_text("more\n")


def lose_child(root: Path) -> None:
    shutil.rmtree(child(root))


def misname(root: Path) -> None:
    forge.edit(parent(root) / "METS.xml", f'xlink:href="{CHILD}"', 'xlink:href="nobody"')


def damage(root: Path) -> None:
    data = (child(root) / "METS.xml").read_bytes()
    (child(root) / "METS.xml").write_bytes(data[: len(data) // 2])


def rewrite(bag: Path, name: str, old: str, new: str) -> None:
    forge.edit(bag / name, old, new)
    seal_tags(bag)


def zeros(root: Path) -> None:
    lines = (root / PAYLOAD).read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if CHILD in line)
    lines[at] = "0" * 64 + lines[at][64:]
    (root / PAYLOAD).write_text("\n".join([*lines, ""]))
    if (root / INFO).exists():
        seal_tags(root)


def misstate(bag: Path) -> None:
    rewrite(bag, INFO, "Oxum: ", "Oxum: 9")


def without_manifests(bag: Path) -> None:
    for each in bag.glob("manifest-*.txt"):
        each.unlink()
    seal_tags(bag)


def truncate(root: Path) -> None:
    pack = root if root.is_file() else next(root.rglob(f"{CHILD}.*"))
    pack.write_bytes(pack.read_bytes()[: pack.stat().st_size * 2 // 3])


BAGS, PACKS = {"bag of folders", "bag of zips", "zip of a bag"}, {"zip", "tar", "bag of zips", "zip of a bag"}
AT_LAST = {"wrong Oxum", "no manifest", "manifest line of zeros", "truncated container"}
FAULTS: dict[str, tuple[Callable[[Path], None], set[str], set[str], str]] = {
    # What is done, in which forms it can be, the codes that may tell of it, and where.
    "file lost": (lose, {*FORMS}, {"F001"}, f"{CHILD}/{FILE}"),
    "file changed": (change, {*FORMS}, {"F003"}, f"{CHILD}/{FILE}"),
    "file added": (add, {*FORMS}, {"F010"}, f"{CHILD}/documentation/more.txt"),
    "child lost": (lose_child, {*FORMS}, {"L002"}, f"{csip.TOP}/METS.xml"),
    "wrong OBJID in mptr": (misname, {*FORMS}, {"L003"}, f"{CHILD}/METS.xml"),
    "METS damaged": (damage, {*FORMS}, {"X001"}, f"{CHILD}/METS.xml"),
    "wrong Oxum": (misstate, BAGS, {"F042"}, INFO),
    "no manifest": (without_manifests, BAGS, {"F044"}, "bagit.txt"),
    "manifest line of zeros": (zeros, BAGS | {"manifest over all"}, {"F026", "F042", "F003"}, CHILD),
    "truncated container": (truncate, PACKS, {"M012"}, CHILD),
}


def delivered(ips: Path, out: Path, form: str, fault: str = "") -> list[Finding]:
    """Return the findings on the IPs in a form, one fault done before or after what makes it so."""
    begin, end = FORMS[form]
    root = begin(Path(shutil.copytree(ips, out / "in")))
    harm = FAULTS[fault][0] if fault else None
    is_late = fault in AT_LAST and not (form == "zip of a bag" and fault != "truncated container")
    if harm is not None and not is_late:
        harm(root)
    root = end(root)
    if harm is not None and is_late:
        harm(root)
    return [each for each in check(root) if each.code != "F020"]  # that one of two manifests lacks


@pytest.mark.parametrize("form", FORMS)
def test_the_same_ips_are_clean_in_each_form(ips: Path, tmp_path: Path, form: str) -> None:
    assert delivered(ips, tmp_path, form) == []


WHOLE = "zip of a bag", "truncated container"
CASES = [(form, fault) for fault in FAULTS for form in sorted(FAULTS[fault][1]) if (form, fault) != WHOLE]


@pytest.mark.parametrize(("form", "fault"), spread(CASES, 3))
def test_each_fault_is_found_in_each_form(ips: Path, tmp_path: Path, form: str, fault: str) -> None:
    _, _, codes, place = FAULTS[fault]
    found = [
        each
        for each in delivered(ips, tmp_path, form, fault)
        if each.code in codes and each.severity is Severity.ERROR
    ]
    paths = [each.path.replace(".zip/", "/").replace(".tar/", "/") for each in found]
    assert any(place in path for path in paths), paths


def test_where_nothing_of_a_delivery_can_be_read_it_is_refused(ips: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"bag\.zip.* is cut off"):
        delivered(ips, tmp_path, *WHOLE)
