"""Every command reads the named package; several packages beside one another are refused."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from tests import siards
from tests.cli.conftest import Commands
from tests.kept import copied
from tests.laws import spread
from tests.packages.bags import put_in_a_bag
from tests.packages.spread import tarred

LOB = "s0.t0.c2.r1"


class Shelf:
    """A folder in which packages are put side by side; each has LOBs of its own."""

    def __init__(self, metspack: Commands, folder: Path) -> None:
        self._metspack = metspack
        self.folder = folder / "shelf"
        self._aside = folder
        self._numbers = count()
        self.folder.mkdir()

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def group(self, name: str, *more: str) -> Shelf:
        """Put a parent in the dialect csip here, with two children."""
        self._take(self._built(name, "--dialect", "csip", *more), lambda path: name in path.name)
        return self

    def merged(self, name: str) -> Shelf:
        """Put one IP in the dialect csip here, with all LOBs in it."""

        def make(target: Path) -> None:
            self._metspack.fine("merge", self._built(name, "--dialect", "csip"), "-o", target, "-q")

        self._take(copied(("merged", name), self._new(), make), lambda path: path.name == name)
        return self

    def recommended(self, name: str) -> Shelf:
        """Put a package of the other dialect here."""
        shutil.move(self._built(name), self / name)
        return self

    def packed(self, name: str, form: str, to: str = "", *, keep: bool = False) -> Shelf:
        """Pack a package that is here."""
        file = self / f"{to or name}.{form}"
        if form == "zip":
            zipped(self / name, file, name)
        else:
            tarred(self / name, file, inside=name, keep=True)
        if not keep:
            shutil.rmtree(self / name)
        return self

    def _built(self, name: str, *options: str) -> Path:
        def make(target: Path) -> None:
            source = target.with_name(f"{name}.siard")
            siards.siard(source, *lobs(name))
            limits = ("--max-files", "2", "--max-bytes", "1GB")
            self._metspack.fine("build", source, "-o", target, "--id", name, *limits, *options, "-q")

        return copied(("built", name, options), self._new(), make)

    def _new(self) -> Path:
        return self._aside / f"aside{next(self._numbers)}"

    def _take(self, made: Path, wanted: Callable[[Path], bool]) -> None:
        for path in filter(wanted, made.iterdir()):
            shutil.move(path, self / path.name)


def zipped(folder: Path, file: Path, inside: str = "") -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, Path(inside, path.relative_to(folder)))


def lobs(name: str) -> list[bytes]:
    return [f"{name} {number}".encode() * (10 + number) for number in range(3)]


@dataclass(frozen=True)
class Kind:
    """The contents of a folder and the path named there, with the package read or those refused."""

    put: Callable[[Shelf], object]
    named: str = ""
    read: str = ""
    refused: tuple[str, ...] = ()
    also: str = ""


def _beside(form: str, other: str) -> Callable[[Shelf], object]:
    """HX in a packed file, and beside it HY by the name HX: in a folder, or in another packed file."""

    def put(shelf: Shelf) -> None:
        shelf.merged("HX").packed("HX", form).merged("HY")
        (shelf / "HY").rename(shelf / "HX")
        if other:
            shelf.packed("HX", other)

    return put


def _bag(shelf: Shelf, name: str) -> None:
    (shelf / "bag/data").mkdir(parents=True)
    shutil.move(shelf / name, shelf / f"bag/data/{name}")
    put_in_a_bag(shelf / "bag")


def _bagged(shelf: Shelf, name: str = "bag/data", *, bag: bool = True) -> None:
    """Put all that is here into a folder here, the payload of a bag."""
    found = list(shelf.folder.iterdir())
    (shelf / name).mkdir(parents=True)
    for each in found:
        shutil.move(each, shelf / name)
    if bag:
        put_in_a_bag((shelf / name).parent)


def _packed_bag(shelf: Shelf, name: str) -> None:
    _bag(shelf, name)
    zipped(shelf / "bag", shelf / "bag.zip", "bag")
    shutil.rmtree(shelf / "bag")


def _without_its_folder(shelf: Shelf) -> None:
    zipped(shelf.recommended("HX") / "HX", shelf / "any.zip")
    shutil.rmtree(shelf / "HX")


def _cut_off(shelf: Shelf) -> None:
    file = shelf.merged("HX").packed("HX", "zip") / "HX.zip"
    file.write_bytes(file.read_bytes()[:1000])


def _beside_a_bag(shelf: Shelf) -> None:
    _bag(shelf.merged("HX"), "HX")
    shelf.merged("HY")


def _two_in_a_file(shelf: Shelf) -> None:
    (shelf / "both").mkdir()
    shelf.merged("HX").merged("HY")
    for name in ("HX", "HY"):
        shutil.move(shelf / name, shelf / f"both/{name}")
    zipped(shelf / "both", shelf / "HX.zip")
    shutil.rmtree(shelf / "both")


HX, HY = "{}/HX (HX)", "{}/HY (HY)"
KINDS = {
    **{
        f"HX.{form} beside {f'HX.{other}' if other else 'HX'} of another": Kind(
            _beside(form, other), f"HX.{form}", read="HX"
        )
        for form, other in (("zip", ""), ("tar", "zip"))
    },
    "HX beside HX.zip of another": Kind(_beside("zip", ""), "HX", read="HY"),
    "a file called otherwise than its folder": Kind(
        lambda shelf: shelf.merged("HX").merged("HY").packed("HX", "zip", "HY"),
        "HY.zip",
        read="HX",
    ),
    "a packed parent whose children lie beside": Kind(
        lambda shelf: shelf.group("HX").packed("HX", "tar").group("HY"), "HX.tar", read="HX"
    ),
    "a package of the recommendation in a tar file": Kind(
        lambda shelf: shelf.recommended("HX").packed("HX", "tar").merged("HY"), "HX.tar", read="HX"
    ),
    "a package of the recommendation in a zip file": Kind(
        lambda shelf: shelf.recommended("HX").packed("HX", "zip", "HY").merged("HY"), "HY.zip", read="HX"
    ),
    "one of the recommendation in a file without its folder": Kind(_without_its_folder, "any.zip", read="HX"),
    "one of the recommendation in a packed bag": Kind(
        lambda shelf: _packed_bag(shelf.recommended("HX"), "HX"), "bag.zip", read="HX"
    ),
    "one of the recommendation in a packed file alone": Kind(
        lambda shelf: shelf.recommended("HX").packed("HX", "zip"), read="HX"
    ),
    "two packages in one file": Kind(
        _two_in_a_file, "HX.zip", refused=("{}/HX.zip/HX (HX)", "{}/HX.zip/HY (HY)")
    ),
    "a parent and its children by OBJID": Kind(
        lambda shelf: shelf.group("HX", "--child-links", "objid"), read="HX"
    ),
    "a packed parent and a child in two forms": Kind(
        lambda shelf: shelf.group("HX").packed("HX", "zip").packed("HX_s0_t0_c2_seg_0", "tar", keep=True),
        read="HX",
    ),
    "two IPs": Kind(lambda shelf: shelf.merged("HX").merged("HY"), refused=(HX, HY)),
    "a set and a packed one": Kind(
        lambda shelf: shelf.group("HX").group("HY", "--pack", "zip"), refused=(HX, "{}/HY.zip (HY)")
    ),
    "one of each dialect": Kind(lambda shelf: shelf.recommended("HX").group("HY"), refused=(HX, HY)),
    "one of the recommendation named": Kind(
        lambda shelf: shelf.recommended("HX").recommended("HY"), "HY/mets.xml", read="HY"
    ),
    "a folder and a zip file of one OBJID": Kind(
        lambda shelf: shelf.merged("HX").packed("HX", "zip", keep=True), refused=(HX, "{}/HX.zip (HX)")
    ),
    "a zip file called otherwise": Kind(
        lambda shelf: shelf.merged("HX").merged("HY").packed("HY", "zip", "copy"),
        refused=(HX, "{}/copy.zip (HY)"),
    ),
    "an IP and one in a bag": Kind(_beside_a_bag, refused=("{}/bag/data/HX (HX)", HY)),
    "a bag": Kind(lambda shelf: _bag(shelf.merged("HX"), "HX"), "bag", read="HX"),
    "a bag of a packed parent and its children": Kind(
        lambda shelf: _bagged(shelf.group("HX").packed("HX", "zip")), "bag", read="HX"
    ),
    "a file of a bag": Kind(lambda shelf: _packed_bag(shelf.merged("HX"), "HX"), "bag.zip", read="HX"),
    "one of the recommendation in a folder": Kind(lambda shelf: shelf.recommended("HX"), read="HX"),
    "one in a folder two levels down": Kind(
        lambda shelf: _bagged(shelf.group("HX"), "delivery/2026", bag=False), read="HX"
    ),
    "one that lost its METS": Kind(
        lambda shelf: (shelf.recommended("HX").merged("HY") / "HX/mets.xml").unlink(),
        refused=("{}/HX (no METS)", HY),
    ),
    "a file that is cut off and nothing else": Kind(_cut_off, also="{}/HX.zip: "),
    "a child named by its file": Kind(
        lambda shelf: shelf.group("HX").packed("HX_s0_t0_c2_seg_0", "tar").merged("HY"),
        "HX_s0_t0_c2_seg_0.tar",
        also="HX_s0_t0_c2_seg_0.tar/METS.xml is the METS of a child IP",
    ),
}
COMMANDS: dict[str, tuple[str, ...]] = {
    "list": (),
    "cat": (LOB,),
    "shards": (),
    "restore": ("-o", "{}/restored"),
    "convert": ("-o", "{}/converted", "-q"),
}


@pytest.fixture
def shelf(metspack: Commands, tmp_path: Path) -> Shelf:
    return Shelf(metspack, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", spread(KINDS.values(), 2), ids=spread(KINDS, 2))
def test_the_named_package_is_read(metspack: Commands, shelf: Shelf, tmp_path: Path, kind: Kind) -> None:
    kind.put(shelf)
    named = shelf.folder / kind.named
    for command, options in COMMANDS.items():
        given = metspack(command, named, *(each.format(tmp_path) for each in options))
        if kind.read:
            assert given.code == 0, (command, given)
        else:
            assert given.code == 3, (command, given)
            for each in (*kind.refused, kind.also):
                assert each.replace("{}", str(shelf.folder)) in given.err, (command, given)
            assert not kind.refused or "Name one of them" in given.err
        if command == "cat" and kind.read:
            assert given.out.encode() == lobs(kind.read)[0]
    restored = sorted(path.read_bytes() for path in (tmp_path / "restored").rglob("*.bin"))
    assert restored == (lobs(kind.read) if kind.read else [])


def test_an_archive_without_a_package_gets_a_hint(metspack: Commands, shelf: Shelf) -> None:
    siards.siard(shelf / "HX.siard", *lobs("HX"))
    given = metspack("list", shelf.folder)
    assert given.code == 3
    assert f"{shelf.folder} is not a package: it holds HX.siard and no METS\nhint: To make one:" in given.err


@pytest.mark.parametrize(
    "kind", ["two IPs", "a folder and a zip file of one OBJID", "an IP and one in a bag"]
)
def test_check_and_links_see_all_of_them(metspack: Commands, shelf: Shelf, kind: str) -> None:
    KINDS[kind].put(shelf)
    for command in ("check", "links"):
        given = metspack(command, shelf.folder)
        assert given.code in {0, 1}
        assert all(each.partition(" (")[0].format(shelf.folder) in given.out for each in KINDS[kind].refused)
