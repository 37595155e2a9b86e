"""Which way an mptr leads, and how it names what it means."""

import pytest

from metspack.checking.linkstyles import By, is_ancestor, is_childward, is_upward, named_by
from metspack.mets.reader import Mptr


def mptr(
    href: str = "x",
    loctype: str | None = None,
    other: str | None = None,
    label: str | None = None,
    divs: tuple[str, ...] = (),
) -> Mptr:
    return Mptr(
        href=href,
        loctype=loctype,
        otherloctype=other,
        contentids=None,
        structmap_type=None,
        structmap_label=label,
        div_labels=divs,
        line=1,
    )


@pytest.mark.parametrize(
    ("pointer", "by"),
    [
        (mptr("ID_Northwind_lobseg_0_mets", "OTHER", "someID"), By.FILE),
        (mptr("urn:uuid:cea73348-741d-4594-ab8f-0b9e652c1099", "OTHER", "UUID"), By.OBJID),
        (mptr("cea73348-741d-4594-ab8f-0b9e652c1099", "OTHER", "uuid"), By.OBJID),
        (mptr("urn:sa.dk:ID.AVID.RA.18005.rep0.seg0", "URN"), By.OBJID),
        (mptr("AIP-7", "HANDLE"), By.OBJID),
        (mptr("URN:x:y"), By.OBJID),
        (mptr("representations/rep1/METS.xml", "URL"), By.LOCATION),
        (mptr("urn:x:y", "url"), By.LOCATION),
    ],
)
def test_how_it_is_named(pointer: Mptr, by: By) -> None:
    assert named_by(pointer) is by


@pytest.mark.parametrize(
    ("pointer", "up", "ancestor", "child"),
    [
        (mptr(label="parent IP", divs=("IP parent identifier",)), True, False, False),
        (mptr(label="Parent"), True, False, False),
        (mptr(divs=("parent IP",)), True, False, False),
        (mptr(label="Godfather IP"), True, False, False),
        (mptr(label="RODA structural map", divs=("RODA", "Ancestors")), True, True, False),
        (mptr(divs=("Ancestors",)), True, True, False),
        (mptr(label="child AIPs", divs=("child AIPs", "child AIP")), False, False, True),
        (mptr(label="SIARD structmap", divs=("SIARD files", "child IPs", "child IP")), False, False, True),
        (mptr(label="CSIP", divs=("Representations/rep1",)), False, False, False),
        (mptr(), False, False, False),
    ],
)
def test_which_way_it_leads(pointer: Mptr, up: bool, ancestor: bool, child: bool) -> None:
    assert (is_upward(pointer), is_ancestor(pointer), is_childward(pointer)) == (up, ancestor, child)
