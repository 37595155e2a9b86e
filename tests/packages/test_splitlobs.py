"""The order of a split LOB's parts: exactly what a check accepts is restored."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.checking import Level, check
from metspack.errors import SourceError
from metspack.model import Severity
from metspack.packages.package import Package
from tests.laws import law
from tests.packages import forge
from tests.packages.cases import Case, cases

LOB = "s0.t2.c4.r1"
SIZES = (100, 100, 203)
DATA = forge.LOBS[0].data
FOLDER = Path(forge.FIRST).parent
ORDERED = [each for each in cases() if each.id.startswith(("good/S010__", "bad/S023-"))]
NAMES = {
    *("csip_divided", "csip_without_seq", "csip_put_together", "split_with_its_map", "without_seq"),
    *("parts_written_in_another_order", "label_in_words"),
}
"""The good cases in which METS says all that there is to say of the parts."""


def joined(root: Path) -> bytes:
    with Package(root) as package:
        return b"".join((root / part.name).read_bytes() for part in package.lob(LOB).parts)


@pytest.mark.parametrize("case", ORDERED, ids=[each.id for each in ORDERED])
def test_what_is_accepted_is_given_back_and_what_is_uncertain_is_refused(case: Case, tmp_path: Path) -> None:
    root = case.made(tmp_path)
    if case.kind == "bad":
        with pytest.raises(SourceError):
            joined(root)
    elif case.folder.name.partition("__")[2] in NAMES:
        assert joined(root) == DATA


def test_no_good_case_is_forgotten() -> None:
    assert {each.folder.name.partition("__")[2] for each in ORDERED} >= NAMES


def made(root: Path, written: Sequence[int], order: Sequence[str], seq: Sequence[str], named: bool) -> None:
    """Forge a package with a LOB in three parts; their names have numbers only if ``named``."""
    forge.forge(root)
    forge.split(root, 1, SIZES)
    child = root / forge.CHILD
    for number, value in enumerate(seq):
        forge.edit(child, f'GROUPID="{LOB}" SEQ="{number}"', f'GROUPID="{LOB}"{value}')
    if not named:
        for number, suffix in enumerate(("0", "1", "z")):
            (root / f"{forge.FIRST}.{suffix}").rename(root / FOLDER / f"piece{number}x")
            forge.edit(child, f"record0.bin.{suffix}", f"piece{number}x")
    divs = "".join(
        f'<mets:div{order[each]}><mets:mptr xlink:href="ID_Northwind_lobseg_0_mets" LOCTYPE="OTHER" '
        f'OTHERLOCTYPE="OBJID" CONTENTIDS="{LOB}.p{each}"/></mets:div>'
        for each in written
    )
    whole = f'<mets:file ID="{LOB}" SIZE="{len(DATA)}" CHECKSUM="{forge.md5(DATA)}" CHECKSUMTYPE="MD5"/>'
    forge.edit(
        root / "mets.xml",
        "</mets:fileGrp></mets:fileSec>",
        f'<mets:fileGrp USE="split LOB">{whole}</mets:fileGrp></mets:fileGrp></mets:fileSec>',
    )
    forge.edit(
        root / "mets.xml",
        '<mets:structMap LABEL="SIARD',
        f'<mets:structMap TYPE="SPLITLOB"><mets:div><mets:div LABEL="{LOB}"><mets:fptr FILEID="{LOB}"/>'
        f'{divs}</mets:div></mets:div></mets:structMap><mets:structMap LABEL="SIARD',
    )
    forge.seal(root)


def values(name: str, first: int) -> st.SearchStrategy[list[str]]:
    """Three values of an attribute: as they should be in some order, missing, or any."""
    usual = st.permutations([f' {name}="{first + number}"' for number in range(3)])
    anything = st.sampled_from(["", *(f' {name}="{number}"' for number in (0, 1, 2, 3, 7))])
    right = st.just([f' {name}="{first + number}"' for number in range(3)])
    return st.one_of(right, usual, st.just([""] * 3), st.lists(anything, min_size=3, max_size=3))


@pytest.mark.slow
@law(50)
@given(written=st.permutations(range(3)), order=values("ORDER", 1), seq=values("SEQ", 0), named=st.booleans())
def test_check_and_restore_find_the_same_order(
    written: list[int], order: list[str], seq: list[str], named: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "package"
        made(root, written, order, seq, named)
        found = list(check(root, Level.FULL))
        codes = {each.code for each in found if each.severity is Severity.ERROR}
        try:
            given_back = joined(root)
        except SourceError:
            assert codes == {"S023"}
        else:
            assert codes == (set() if given_back == DATA else {"S017"})
