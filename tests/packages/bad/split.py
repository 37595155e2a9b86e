"""LOBs in parts: whether they are there, each once, and together the whole."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.packages import forge
from tests.packages.bad.places import Damage, instead
from tests.packages.bad.recipe import CHILD, FIRST, Bad, bad
from tests.packages.bad.siard import split
from tests.packages.forge import LOBS
from tests.siard.convention_archives import BINARY, SECOND, Row, Sample

_A, _B, _C = BINARY[:4_000], BINARY[4_000:8_000], BINARY[8_000:]
_LOBS = "Northwind_lobs/s0_t2_c1"
_FIRST = "Northwind_lobseg_0/record0.bin.0"
_REST = len(LOBS[0].data) - 200

SIARD22 = Sample(
    letter="C",
    database="./Northwind_lobs/",
    column="s0_t2_c1/",
    version="2.2",
    rows=(Row(file="seg_0/t2_c1_r1.bin"), Row(file="seg_2/t2_c1_r2.bin", data=SECOND)),
    outside={
        f"{_LOBS}/seg_0/t2_c1_r1.bin_part001": _A,
        f"{_LOBS}/seg_1/t2_c1_r1.bin_part002": _B,
        f"{_LOBS}/seg_2/t2_c1_r1.bin_part003": _C,
        f"{_LOBS}/seg_2/t2_c1_r2.bin": SECOND,
    },
)
"""Parts as SIARD 2.2 names them; the METS does not say which belong together."""
LOBSEG = Sample(
    letter="C",
    column="./",
    rows=(Row(file="Northwind_lobseg_0/record0.bin"),),
    outside={
        "Northwind_lobseg_0/record0.bin.0": _A,
        "Northwind_lobseg_1/record0.bin.1": _B,
        "Northwind_lobseg_2/record0.bin.z": _C,
    },
)
"""Parts as recommendation 0.28 names them."""


def _with(sample: Sample, changed: Mapping[str, bytes | None]) -> Damage:
    """Put files in, or take them out, and describe what is left."""
    files = {name: data for name, data in {**sample.outside, **changed}.items() if data is not None}
    return instead(replace(sample, outside=files))


def _without(part: str) -> Damage:
    """Split the first LOB as a METS with GROUPIDs has it, then lose a part and what the METS says of it."""

    def damage(root: Path) -> None:
        split([100, 100, _REST])(root)
        (root / f"{FIRST}.{part}").unlink()
        lines = (root / CHILD).read_text().splitlines(keepends=True)
        (root / CHILD).write_text("".join(line for line in lines if f"record0.bin.{part}" not in line))
        number = "2" if part == "z" else part
        forge.edit(root / CHILD, f'<mets:fptr FILEID="s0.t2.c4.r1.p{number}"/>', "")

    return damage


def _named_otherwise(sizes: list[int]) -> Damage:
    """Split the first LOB into parts that only GROUPID in the METS knows."""

    def damage(root: Path) -> None:
        split(sizes)(root)
        for part in ("0", "1", "z"):
            (root / f"{FIRST}.{part}").rename((root / FIRST).with_name(f"piece-{part}"))
            forge.edit(root / CHILD, f"record0.bin.{part}", f"piece-{part}")

    return damage


def _lost_of_a_group(root: Path) -> None:
    """Lose the first part; later ones are there, and the METS still lists all."""
    split([100, 100, _REST])(root)
    (root / f"{FIRST}.0").unlink()


SPLIT: tuple[Bad, ...] = (
    bad("S010_with_groups", split([100, 100, _REST])),
    bad("S010_siard22", instead(SIARD22)),
    bad("S010_lobseg", instead(LOBSEG)),
    bad("S010_named_by_the_mets_alone", _named_otherwise([100, 100, _REST])),
    bad("S010_odd_number", _with(LOBSEG, {_FIRST: None, "Northwind_lobseg_0/record0.bin.00": _A})),
    bad("S011_with_groups", split([100, 100, 5]), "S010"),
    bad("S011_named_by_the_mets_alone", _named_otherwise([100, 100, 5]), "S010"),
    bad("S011_middle_lost", _without("1"), "S010"),
    bad("S011_cut_off", _with(LOBSEG, {"Northwind_lobseg_2/record0.bin.z": b"cut"}), "S010"),
    bad("S011_last_lost", _with(SIARD22, {f"{_LOBS}/seg_2/t2_c1_r1.bin_part003": None}), "S010"),
    bad("S013_last_lost", _without("z")),
    bad("S013_first_lost", _without("0")),
    bad("S013_first_lost_but_listed", _lost_of_a_group, "F001"),
    bad("S013_hole", _with(SIARD22, {f"{_LOBS}/seg_1/t2_c1_r1.bin_part002": None}), "S001"),
    bad("S013_no_last", _with(LOBSEG, {"Northwind_lobseg_2/record0.bin.z": None})),
    bad("S014_two_spellings", _with(LOBSEG, {"Northwind_lobseg_1/record0.bin.01": _B}), "Z017"),
    bad("S014_in_two_segments", _with(SIARD22, {f"{_LOBS}/seg_0/t2_c1_r1.bin_part002": _B}), "Z017"),
    bad("S015_whole_and_parts", _with(LOBSEG, {"Northwind_lobseg_0/record0.bin": BINARY}), "Z017"),
    bad("S015_siard22", _with(SIARD22, {f"{_LOBS}/seg_0/t2_c1_r1.bin": BINARY}), "Z017"),
)
