"""Archives for recipes to begin with, by name: one for each convention, and those whose LOBs are in parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.siard.convention_archives import BINARY, SAMPLES, SECOND, TABLE, Row, Sample, absolute

_A, _B, _C = BINARY[:4_000], BINARY[4_000:8_000], BINARY[8_000:]
_LOBS = "Northwind_lobs/s0_t2_c1"
PIECES: Mapping[str, bytes] = {"whole": BINARY, "first": _A, "second": _B, "third": _C, "other": SECOND}
"""Names in recipes for the bytes of the first LOB, of its parts, and of the second LOB."""

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
BELOW_THE_ROOT = Sample(
    letter="L",
    column="./",
    rows=(Row(file="Northwind_lobseg_0/record0.bin"),),
    outside={"Northwind_lobseg_0/record0.bin": BINARY},
)
"""To be put into a folder of the package, while its cells go on from the package's own."""
_PART = f"{TABLE}/lob1/record0.bin"
INSIDE = Sample(
    letter="C",
    rows=(Row(file=_PART),),
    inside={f"{_PART}.0": _A, f"{_PART}.1": _B, f"{_PART}.z": _C},
)
"""Parts inside the archive, which no standard has and some tools may write."""

_OUTSIDE = SAMPLES["C-outside"]
_OWN: Mapping[str, Sample] = {
    "siard22": SIARD22,
    "lobseg": LOBSEG,
    "parts inside": INSIDE,
    "parts inside, exchanged": replace(INSIDE, inside={f"{_PART}.0": _B, f"{_PART}.1": _A, f"{_PART}.z": _C}),
    "below the root": BELOW_THE_ROOT,
    "spaces": replace(
        _OUTSIDE,
        rows=(Row(file=" seg 0/t2_c1_r1.bin"),),
        outside={f"{_LOBS}/seg 0/t2_c1_r1.bin": BINARY},
    ),
    "two places": Sample(
        letter="H",
        column="../lobs/",
        rows=(Row(file="a/r.bin", length=None, digest=None),),
        outside={"lobs/a/r.bin": SECOND, "a/r.bin": _A},
    ),
    "no slash": replace(_OUTSIDE, column="s0_t2_c1", database="./Northwind_lobs"),
}


def sample(name: str, folder: Path) -> Sample:
    """Return the archive of a name; those with absolute locations are for this folder."""
    return _OWN.get(name) or SAMPLES.get(name) or absolute(folder)[name]
