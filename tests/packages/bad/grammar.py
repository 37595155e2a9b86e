"""METS documents that the METS schema refuses, and what the schema leaves open."""

from collections.abc import Callable
from pathlib import Path

from tests.packages.bad.recipe import CHILD, Bad, bad
from tests.packages.forge import edit

_FILE = '<mets:file ID="s0.t2.c4.r1"'
_LINK = '<mets:smLink xlink:from="a" xlink:to="a"/>'
_FPTR = '<mets:fptr FILEID="s0.t2.c4.r1"/>'


def _child(old: str, new: str) -> Callable[[Path], object]:
    return lambda root: edit(root / CHILD, old, new)


def _described(reference: str) -> Callable[[Path], object]:
    """Return the damage that gives a file a reference and the document a dmdSec and techMD to refer to."""

    def damage(root: Path) -> None:
        edit(root / CHILD, _FILE, f"{_FILE} {reference}")
        edit(
            root / CHILD,
            "<mets:fileSec>",
            '<mets:dmdSec ID="dmd"/><mets:amdSec><mets:techMD ID="tech"/></mets:amdSec><mets:fileSec>',
        )

    return damage


GRAMMAR: tuple[Bad, ...] = (
    bad("M020_unknown_attribute", _child(_FILE, f'{_FILE} LENGTH="1"')),
    bad("M020_unknown_element", _child(_FPTR, f"{_FPTR}<mets:pointer/>")),
    bad(
        "M020_wrong_order",
        _child("<mets:fileSec>", "<mets:structMap><mets:div/></mets:structMap><mets:fileSec>"),
    ),
    bad("M020_bad_date", _child(_FILE, f'{_FILE} CREATED="23.2.2016"')),
    bad("M020_bad_algorithm", _child('CHECKSUMTYPE="MD5"', 'CHECKSUMTYPE="md5"')),
    bad("M021_endless_faults", _child(_FPTR, _FPTR + '<mets:fptr LENGTH="1"/>' * 200), "M020"),
    bad("M022_metadata_gone", _described('ADMID="tech gone"')),
    bad(
        "M022_link_to_no_division",
        _child("</mets:mets>", f"<mets:structLink>{_LINK}</mets:structLink></mets:mets>"),
    ),
    bad("M023_administrative_for_descriptive", _described('DMDID="tech"')),
    bad("M023_descriptive_for_administrative", _described('ADMID="dmd"')),
    bad("M024_unnamed_kind_of_location", _child('LOCTYPE="URN"', 'LOCTYPE="OTHER"')),
    bad("M025_two_kinds_of_location", _child('LOCTYPE="URN"', 'LOCTYPE="URN" OTHERLOCTYPE="OBJID"')),
    bad("M026_no_urn", _child('LOCTYPE="URN"', 'LOCTYPE="DOI"')),
)
