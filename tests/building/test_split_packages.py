"""Packages with LOBs larger than a segment: files, METS and cells as they lie on disk."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from metspack import checking
from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.layouts import LAYOUTS
from metspack.limits import Limits
from metspack.model import Severity
from metspack.planning.division import Split
from metspack.restoring.files import restore_files
from tests import siards
from tests.laws import law
from tests.official import mets_faults
from tests.trees import tree

OPTIONS = BuildOptions(created="2020-01-01T00:00:00Z", limits=Limits(files=100_000, bytes=100))
M = "{http://www.loc.gov/METS/}"
XLINK = "{http://www.w3.org/1999/xlink}"
# The figure of recommendation 0.28 §5.3: 14 LOBs leave 30 of 100 bytes, the next is larger than a folder,
# two more follow behind its last part.
FIGURE = tuple(bytes([number]) * size for number, size in enumerate((*[5] * 14, 410, 15, 5), 1))
RECORDS = "content/schema0/table0/lob2/record"


def built(folder: Path, contents: tuple[bytes, ...], options: BuildOptions, target: str = "out") -> Path:
    source = folder / "N.siard"
    if not source.exists():
        siards.siard(source, *contents)
    build.build(source, folder / target, options)
    return folder / target


@pytest.mark.slow
def test_several_processes_find_the_same_of_split_lobs(tmp_path: Path) -> None:
    contents = tuple(bytes([number]) * (150 + number) for number in range(9))
    package = built(tmp_path, contents, OPTIONS)
    for number, damage in ((2, b"x" * 100), (3, b"short"), (7, b"y" * 100)):
        next((package / f"N_lobseg_{number}").rglob("*.bin.*")).write_bytes(damage)
    found = [[*checking.check(package, jobs=jobs)] for jobs in (1, 4)]
    assert Severity.ERROR in {each.severity for each in found[0]}
    assert found[0] == found[1]


def test_mets_says_which_parts_a_lob_has_and_where(tmp_path: Path) -> None:
    package = built(tmp_path, FIGURE, OPTIONS)
    parent = etree.parse(package / "mets.xml")
    (whole,) = parent.iterfind(f".//{M}fileGrp[@ID='ID_SPLIT_LOBS']/{M}file")
    assert whole.get("ID") == "s0.t0.c2.r15"
    assert whole.get("SIZE") == "410"
    assert whole.get("CHECKSUM") == hashlib.md5(FIGURE[14], usedforsecurity=False).hexdigest()
    assert not len(whole)
    (lob,) = parent.iterfind(f".//{M}structMap[@TYPE='SPLITLOB']/{M}div/{M}div")
    assert [each.get("FILEID") for each in lob.iterfind(f"{M}fptr")] == ["s0.t0.c2.r15"]
    parts = lob.findall(f"{M}div")
    assert [each.get("ORDER") for each in parts] == ["1", "2", "3", "4", "5"]
    for number, part in enumerate(parts):
        (pointer,) = part
        name = f"s0.t0.c2.r15.p{number}"
        assert (part.get("LABEL"), pointer.get("CONTENTIDS")) == (name, name)
        assert pointer.get(f"{XLINK}href") == f"ID_N_lobseg_{number}_mets"
        child = etree.parse(package / f"N_lobseg_{number}" / "mets.xml")
        (file,) = child.iterfind(f".//{M}file[@ID='{name}']")
        assert (file.get("GROUPID"), file.get("SEQ")) == ("s0.t0.c2.r15", str(number))
    assert "SPLITLOB" not in (package / "N_lobseg_0" / "mets.xml").read_text(encoding="utf-8")


def test_mets_of_split_lobs_is_valid(tmp_path: Path) -> None:
    package = built(tmp_path, FIGURE, OPTIONS)
    assert not [fault for path in package.rglob("mets.xml") for fault in mets_faults(path)]


def test_a_package_without_split_lobs_says_nothing_of_them(tmp_path: Path) -> None:
    package = built(tmp_path, FIGURE[:14], OPTIONS)
    assert "SPLIT" not in (package / "mets.xml").read_text(encoding="utf-8")


@given(
    sizes=st.lists(st.integers(0, 40), max_size=10),
    options=st.builds(
        replace,
        st.just(OPTIONS),
        limits=st.builds(Limits, files=st.none() | st.integers(1, 4), bytes=st.integers(8, 25)),
        layout=st.sampled_from(sorted(LAYOUTS)),
        split=st.sampled_from((Split.FILL, Split.SEPARATE)),
    ),
    method=st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)),
)
@law(5)
def test_parts_joined_are_the_lob(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    options: BuildOptions,
    method: int,
) -> None:
    folder = tmp_path_factory.mktemp("law")
    contents = tuple(
        bytes((number * 7 + at) % 256 for at in range(size)) for number, size in enumerate(sizes)
    )
    siards.packed(folder / "N.siard", siards.parts(siards.lobs(*contents)), method=method)
    package = built(folder, contents, options)
    with zipfile.ZipFile(package / "N.siard") as archive:
        assert [name for name in archive.namelist() if name.startswith("content/")] == [siards.TABLE]
    restore_files(package, folder / "files")
    files = tree(folder / "files")
    assert [files[f"{RECORDS}{number}.bin"] for number in range(len(contents))] == list(contents)
    assert not [each for each in checking.check(package) if each.severity is not Severity.INFO]
