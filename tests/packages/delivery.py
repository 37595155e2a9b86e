"""A delivery as an archive gets it: packages in all forms on several disks, with faults of many kinds."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.packages import forge
from tests.packages.bags import bagged
from tests.packages.spread import tarred, zipped

FORMS = ("folder", "zip", "tar", "bag", "METS of another name", "METS in metadata")
"""The forms that packages come in, one after the other."""

DISKS = 3
_ELSEWHERE = 3  # children of some packages in folders, on another disk
_UUID = "3a487ce5-63cf-4000-9522-7288e208e2bc"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that is wrong: what does it to a child in a package, and the one code that tells of it.

    ``is_before`` tells that it was so before sizes, digests and manifests were written, which say the same.
    """

    name: str
    code: str
    harm: Callable[[Path, Path], object]
    is_before: bool = False


def _lob(child: Path) -> Path:
    return next(child.glob("content/schema0/table2/lob4/*"))


def _flip(_package: Path, child: Path) -> None:
    data = _lob(child).read_bytes()
    _lob(child).write_bytes(bytes((data[0] ^ 1,)) + data[1:])


def _lose(_package: Path, child: Path) -> None:
    _lob(child).unlink()


def _lose_mets(_package: Path, child: Path) -> None:
    (child / "mets.xml").unlink()


def _lose_child(_package: Path, child: Path) -> None:
    shutil.rmtree(child)


def _rename(_package: Path, child: Path) -> None:
    _lob(child).rename(_lob(child).with_name("copy.bin"))


def _swap(package: Path, child: Path) -> None:
    other = _lob(_next(package, child))
    data = _lob(child).read_bytes()
    _lob(child).write_bytes(other.read_bytes())
    other.write_bytes(data)


def _next(package: Path, child: Path) -> Path:
    stem, _, number = child.name.rpartition("_")
    return package / f"{stem}_{int(number) + 1}"


def _add(_package: Path, child: Path) -> None:
    (child / "content" / "Thumbs.db").write_bytes(b"what a file manager leaves behind")


def _edit(old: str, new: str) -> Callable[[Path, Path], object]:
    return lambda _package, child: forge.edit(child / "mets.xml", old, new)


def _edit_cell(package: Path, child: Path) -> None:
    """Let the archive say another digest of the child's LOB."""
    lobs = _lobs(sum(1 for _ in package.glob("*_lobseg_*")))
    table = forge.table(lobs, package.name).decode()
    digest = forge.md5(_lob(child).read_bytes())
    assert digest in table
    text = table.replace(digest, forge.md5(b"another"), 1).encode()
    (package / f"{package.name}.siard").write_bytes(forge.siard(text, rows=len(lobs)))


def _lobs(count: int) -> tuple[forge.Lob, ...]:
    return tuple(forge.Lob(number, number + 1, b"LOB of a row %d\n" % number) for number in range(count))


FAULTS = (
    Fault(name="a LOB flipped", code="F003", harm=_flip),
    Fault(name="a LOB lost", code="F001", harm=_lose),
    Fault(name="a child's METS lost", code="L002", harm=_lose_mets),
    Fault(name="a child's METS edited", code="F011", harm=_edit("child IP", "child ip")),
    Fault(name="a LOB renamed", code="F014", harm=_rename),
    Fault(name="two LOBs swapped", code="F004", harm=_swap),
    Fault(name="a child lost", code="L002", harm=_lose_child),
    Fault(name="a file added", code="F010", harm=_add, is_before=True),
    Fault(name="another parent named", code="L020", harm=_edit("urn:uuid:0", "urn:uuid:1"), is_before=True),
    Fault(name="another OBJID", code="L003", harm=_edit('_mets" TYPE', '_met" TYPE'), is_before=True),
    Fault(name="another size", code="F002", harm=_edit('SIZE="', 'SIZE="1'), is_before=True),
    Fault(name="not METS's grammar", code="M020", harm=_edit(' SIZE="', ' KIND="x" SIZE="'), is_before=True),
    Fault(name="a cell with another digest", code="Z015", harm=_edit_cell, is_before=True),
)


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """A delivery: the disks that are given to a check, and the codes of what is wrong in it."""

    disks: tuple[Path, ...]
    codes: tuple[str, ...]


def deliver(
    root: Path, *, packages: int = 40, children: int = 1_000, faults: int = 30, forms: Sequence[str] = FORMS
) -> Delivery:
    """Write a delivery below an empty folder: so many packages, children of theirs in all, and faults."""
    disks = tuple(root / f"disk{number}" for number in range(1, DISKS + 1))
    each = children // packages
    wrong: dict[int, list[tuple[Fault, int]]] = {}
    for number in range(faults):
        place = (number * 7) % packages, (number * 3) % (each - _ELSEWHERE - 2)
        wrong.setdefault(place[0], []).append((FAULTS[number % len(FAULTS)], place[1]))
    for number in range(packages):
        form = forms[number % len(forms)]
        _write(disks, number, each, form, wrong.get(number, ()))
    codes = (FAULTS[number % len(FAULTS)].code for number in range(faults))
    return Delivery(disks=disks, codes=tuple(sorted(codes)))


def _write(
    disks: Sequence[Path], number: int, children: int, form: str, wrong: Sequence[tuple[Fault, int]]
) -> None:
    name = f"Database{number:02}"
    disk = disks[number % DISKS]
    objid = f"urn:uuid:00000000-0000-5000-8000-{number:012}"
    package = disk / form.replace(" ", "_") / name
    forge.forge(package, _lobs(children), name, objid, with_manifests=False)
    done = [(fault, package / f"{name}_lobseg_{child}") for fault, child in wrong]
    for fault, child in done:
        if fault.is_before:
            fault.harm(package, child)
    if form in _FOLDERS:
        forge.seal_parent(package)  # its manifests are made in another way
    else:
        forge.seal(package)
    payload = _FOLDERS[form](package) if form in _FOLDERS else package
    for fault, child in done:
        if not fault.is_before:
            fault.harm(payload, payload / child.name)
    if form == "folder" and number % 4 == 0:
        for last in range(children - _ELSEWHERE, children):
            target = disks[(number + 1) % DISKS] / f"of {name}"
            target.mkdir(parents=True, exist_ok=True)
            shutil.move(payload / f"{name}_lobseg_{last}", target)
    if form in _PACKS:
        _PACKS[form](package)


def _called(name: str) -> Callable[[Path], Path]:
    """Return what gives a package's METS another name; paths begin at that METS."""

    def change(folder: Path) -> Path:
        mets, target = folder / "mets.xml", folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        text = mets.read_text()
        if target.parent != folder:
            text = re.sub('href="(?=[^"]*(?:\\.siard|/mets\\.xml)")', 'href="../', text)
        mets.unlink()
        target.write_text(text)
        forge.write_manifests(folder)
        return folder

    return change


_FOLDERS: Mapping[str, Callable[[Path], Path]] = {
    "bag": bagged,
    "METS of another name": _called(f"METS.{_UUID}.xml"),
    "METS in metadata": _called("metadata/mets.xml"),
}


_PACKS: Mapping[str, Callable[[Path], object]] = {
    "zip": lambda folder: zipped(folder, folder.with_suffix(".zip"), inside=folder.name),
    "tar": lambda folder: tarred(folder, folder.with_suffix(".tar"), inside=folder.name),
}
