"""The LOBs are all there, but not where the statement on the location of LOBs has them."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.packages.bad.recipe import Bad, bad
from tests.packages.placed import packaged
from tests.siard.convention_archives import SAMPLES, Row, Sample, absolute

Damage = Callable[[Path], object]
CODES = {
    letter: f"P1{number:02d}"
    for number, letter in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 1)
    if letter in "ABDEFGHIJKLRS"
}
LOOSE = {
    "D-outside",  # its folders end without a slash
    "D-renamed",
    "J-database",  # its spaces are not escaped
    "J-spaced",
    "R",
}
"""The samples whose locations are also repaired."""
STARTS_AT_1 = {"E", "R-segment"}
"""The samples whose segments begin at 1."""

BELOW_THE_ROOT = Sample(
    letter="L",
    column="./",
    rows=(Row(file="Northwind_lobseg_0/record0.bin"),),
    outside={"Northwind_lobseg_0/record0.bin": Row(file="").data},
)
"""To be put into a folder of the package, while its cells go on from the package's own."""


def instead(sample: Sample, *, into: str = "") -> Damage:
    def damage(root: Path) -> None:
        shutil.rmtree(root)
        packaged(root, sample, into=into)

    return damage


def _absolute(name: str) -> Damage:
    return lambda root: instead(absolute(root)[name])(root)


def _spaced(root: Path) -> None:
    sample = SAMPLES["C-outside"]
    row = replace(sample.rows[0], file=" seg 0/t2_c1_r1.bin")
    files = {"Northwind_lobs/s0_t2_c1/seg 0/t2_c1_r1.bin": row.data}
    instead(replace(sample, rows=(row,), outside=files))(root)


def _no_slash(root: Path) -> None:
    instead(replace(SAMPLES["C-outside"], column="s0_t2_c1", database="./Northwind_lobs"))(root)


def _of(name: str, sample: Sample) -> Bad:
    also = [*(["P120"] if name in LOOSE else []), *(["S002"] if name in STARTS_AT_1 else [])]
    also += (
        ["M020"] if name == "J-database" else []
    )  # its folder's name has a space, as its METS file's ID has
    return bad(f"{CODES[sample.letter]}_{name}", instead(sample), *also)


PLACES: tuple[Bad, ...] = (
    *(_of(name, sample) for name, sample in SAMPLES.items() if sample.letter in CODES),
    *(bad(f"P102_{name}", _absolute(name)) for name in absolute(Path("/"))),
    bad("P112_below_the_root", instead(BELOW_THE_ROOT, into="archive")),
    bad("P120_spaces", _spaced, "M020"),
    bad("P120_no_slash", _no_slash),
)
