"""Rows of the table as data: contender and reference.

A command is a line for the shell. A name in braces stands for data that is made when it is asked for
(``bench/store.py``), or for ``{out}``, which does not exist before a run, and the limits ``{files}`` and
``{bytes}``. The words ``metspack``, ``floor``, ``reference`` and ``bagit`` stand for the programs, with
``-q`` and the number of processes where they take them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bench.references import HASHED

_KB, _MB, _GIB = 1_000, 1_000_000, 1 << 30


class Figure(StrEnum):
    """The figure of a run from which the ratio is made."""

    WALL = "wall-clock time"
    GROWTH = "time per LOB, start-up taken off"
    LARGEST = "peak memory of the largest process"


@dataclass(frozen=True, slots=True)
class Sample:
    """A number of LOBs of a size in bytes."""

    lobs: int
    size: int

    def scaled(self, scale: float) -> Sample:
        """Return a sample of fewer LOBs, or of smaller ones where they are large."""
        if self.size >= _MB:
            return Sample(self.lobs, max(_MB, int(self.size * scale)))
        return Sample(max(10, int(self.lobs * scale)), self.size)


SMALL = Sample(100_000, 10 * _KB)
LARGE = Sample(4, _GIB)
CELLS = Sample(1_000_000, 100)
FEW = Sample(4_000, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A comparison of the time or memory of a contender with that of a reference."""

    name: str
    title: str
    contender: str
    beside: str
    reference: str
    sample: Sample = SMALL
    reference_sample: Sample | None = None
    figure: Figure = Figure.WALL
    jobs: tuple[int, int] = (2, 2)
    module: str | None = None
    """A Python package that the row is about; without it the row is left out."""
    option: str | None = None
    """An option of ``metspack build`` that the row is about; without it the row is left out."""
    disk: bool = False
    """Whether it is measured on disk too."""


_DIVIDED = "--max-files {files}"
_BUILD = "metspack build {folder} -o {out} " + _DIVIDED
_FLOOR = "floor build {folder} {out} " + _DIVIDED
_STORED = "metspack build {stored} -o {out} " + _DIVIDED
_FLOOR_STORED = "floor build {stored} {out} " + _DIVIDED
_FLOOR_CHECK = "floor check {floor} --schema {schema}"
_CHECK = "metspack check --level full {package}"
_BY_HAND = "cp -r {folder} {out} && " + HASHED
_LOOP = "floor copy {folder} {out}"
_KILOBYTE = {number: Sample(number, _KB) for number in (10_000, 100_000, 1_000_000)}


def _beside_floor(name: str, title: str, contender: str, *, disk: bool = False) -> Row:
    return Row(
        name=name,
        title=title,
        contender=contender,
        beside="the floor's build",
        reference=_FLOOR,
        disk=disk,
    )


def _beside_floor_check(name: str, title: str, contender: str, *, disk: bool = False) -> Row:
    return Row(
        name=name,
        title=title,
        contender=contender,
        beside="the floor's check with the METS schema",
        reference=_FLOOR_CHECK,
        disk=disk,
    )


def _in_two(name: str, title: str, work: str) -> Row:
    return Row(
        name=name,
        title=f"{title}, one process",
        contender=work,
        beside="two processes",
        reference=work,
        jobs=(1, 2),
    )


def _large(name: str, title: str, contender: str, *, again: bool) -> Row:
    once_more = ", with MD5 once more" if again else ""
    return Row(
        name=name,
        title=title,
        contender=contender,
        beside=f"the loop{once_more}",
        reference=_LOOP + (" --again" if again else ""),
        sample=LARGE,
    )


def _growth(
    name: str,
    number: int,
    figure: Figure,
    *,
    line: str = _BUILD,
    work: str = "build",
) -> Row:
    return Row(
        name=name,
        title=f"{work} of {number:,} LOBs of 1 KB",
        contender=line,
        beside=f"{work} of 10,000",
        reference=line,
        sample=_KILOBYTE[number],
        reference_sample=_KILOBYTE[10_000],
        figure=figure,
    )


ROWS = (
    _beside_floor("build-folder", "build from a folder", _BUILD, disk=True),
    Row(
        name="by-hand",
        title="build from a folder",
        contender=_BUILD,
        beside="by hand",
        reference=_BY_HAND,
        disk=True,
    ),
    Row(
        name="build-stored",
        title="build from a .siard, stored",
        contender=_STORED,
        beside="the floor's build of the same",
        reference=_FLOOR_STORED,
        disk=True,
    ),
    Row(
        name="build-deflated",
        title="build from a .siard, deflated",
        contender="metspack build {deflated} -o {out} " + _DIVIDED,
        beside="by hand",
        reference="reference extractall {deflated} {out} && " + HASHED,
        disk=True,
    ),
    Row(
        name="build-link",
        title="build by hard link",
        contender=_BUILD + " --link-mode hardlink",
        beside="by hand, cp -rl",
        reference="cp -rl {folder} {out} && " + HASHED,
        option="--link-mode",
    ),
    _beside_floor("build-zip", "build --pack zip", _BUILD + " --pack zip"),
    Row(
        name="build-csip",
        title="build --dialect csip from a .siard, stored",
        contender=_STORED + " --dialect csip",
        beside="the floor's build of the same",
        reference=_FLOOR_STORED,
    ),
    _beside_floor_check("check", "check --level full", _CHECK, disk=True),
    _beside_floor_check(
        "check-report",
        "check --level full that writes a report",
        "mkdir {out} && " + _CHECK + " --report {out}/report.html",
    ),
    _beside_floor_check(
        "check-missing",
        "check --level full, one file missing",
        "metspack check --level full --fail-on never {missing}",
    ),
    _beside_floor_check(
        "check-csip", "check --level full, dialect csip", "metspack check --level full {csip}"
    ),
    _beside_floor_check("inspect", "inspect --verify", "metspack inspect --verify {stored}"),
    _beside_floor("restore", "restore of small LOBs", "metspack restore {package} -o {out}", disk=True),
    _beside_floor(
        "restore-siard",
        "restore --siard",
        "mkdir {out} && metspack restore {archived} -o {out}/whole.siard --siard",
    ),
    _beside_floor("convert", "convert", "metspack convert {archived} -o {out} " + _DIVIDED),
    _beside_floor("merge", "merge", "metspack merge {csip} -o {out}"),
    Row(
        name="bagit-create",
        title="bagit.py, both digests, two processes (after cp -r)",
        contender="cp -r {folder} {out} && bagit --md5 --sha256 --processes 2 {out}",
        beside="build from a folder",
        reference=_BUILD,
        module="bagit",
    ),
    Row(
        name="bagit-validate",
        title="bagit.py --validate, both digests, two processes",
        contender="bagit --validate --processes 2 {bag}",
        beside="check --level full",
        reference=_CHECK,
        module="bagit",
    ),
    Row(
        name="structure",
        title="check --level structure, 1,000,000 files",
        contender="metspack check --level structure {mets}",
        beside="bare iterparse of its METS",
        reference="reference iterparse {mets}/mets.xml",
        sample=CELLS,
    ),
    Row(
        name="metsrw",
        title="metsrw reads the METS of 4,000 files",
        contender="reference metsrw {items}/mets.xml",
        beside="check --level structure of the same",
        reference="metspack check --level structure {items}",
        sample=FEW,
        module="metsrw",
    ),
    Row(
        name="plan",
        title="plan of 1,000,000 LOBs from table XML",
        contender="metspack plan {stored} " + _DIVIDED,
        beside="bare expat of the same table",
        reference="reference expat {table}",
        sample=CELLS,
        figure=Figure.GROWTH,
    ),
    _large(
        "large",
        "build of 4 x 1 GiB",
        "metspack build {folder} -o {out} --max-bytes none",
        again=False,
    ),
    _large(
        "parts-build",
        "the same in parts of 400 MB: build",
        "metspack build {folder} -o {out} --max-bytes {bytes}",
        again=True,
    ),
    _large(
        "parts-check",
        "the same in parts: check --level full",
        "metspack check --level full {parts}",
        again=True,
    ),
    _large(
        "parts-restore",
        "the same in parts: restore",
        "metspack restore {parts} -o {out}",
        again=True,
    ),
    _growth("pace-100k", 100_000, Figure.GROWTH),
    _growth("pace-1m", 1_000_000, Figure.GROWTH),
    _growth("pace-floor-1m", 1_000_000, Figure.GROWTH, line=_FLOOR, work="the floor's build"),
    _growth("memory-100k", 100_000, Figure.LARGEST),
    _growth("memory-1m", 1_000_000, Figure.LARGEST),
    _growth("memory-stored-1m", 1_000_000, Figure.LARGEST, line=_STORED, work="build from a .siard"),
    _in_two("two-build", "build from a folder", _BUILD),
    _in_two("two-floor-build", "the floor's build", _FLOOR),
    _in_two("two-stored", "build from a .siard, stored", _STORED),
    _in_two("two-floor-stored", "the floor's build of the same", _FLOOR_STORED),
    _in_two("two-check", "check --level full", _CHECK),
    _in_two("two-floor-check", "the floor's check", _FLOOR_CHECK),
)
"""All rows, in the order in which they are measured and printed."""

PREPARED = {
    "package": "metspack build {folder} -o {made} " + _DIVIDED,
    "archived": "metspack build {stored} -o {made} " + _DIVIDED,
    "missing": "metspack build {folder} -o {made} " + _DIVIDED + " && find {made} -name record0.bin -delete",
    "csip": "metspack build {stored} -o {made} --dialect csip " + _DIVIDED,
    "parts": "metspack build {folder} -o {made} --max-bytes {bytes}",
    "floor": "floor build {folder} {made} " + _DIVIDED,
    "bag": "cp -r {folder} {made} && bagit --md5 --sha256 --processes 2 {made}",
}
"""Commands that make what other commands begin with."""


def chosen(names: str | None) -> list[Row]:
    """Return the rows of these names, divided by commas; all without. Raises ``ValueError``."""
    if names is None:
        return list(ROWS)
    wanted = names.split(",")
    if unknown := set(wanted) - {row.name for row in ROWS}:
        raise ValueError(
            f"no such row: {', '.join(sorted(unknown))}; rows: {', '.join(r.name for r in ROWS)}"
        )
    return [row for row in ROWS if row.name in wanted]
