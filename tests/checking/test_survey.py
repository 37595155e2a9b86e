"""Reading METS for its requirements: whatever a document holds, in little memory."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack import safexml
from metspack.checking.rules.faults import Faults
from metspack.checking.rules.outline import Outline
from metspack.checking.rules.profiles import opening
from metspack.checking.rules.requirements import Standard
from metspack.checking.rules.survey import surveyed

_OPEN = (
    '<m:mets xmlns:m="http://www.loc.gov/METS/" xmlns:l="http://www.w3.org/1999/xlink" '
    'xmlns:c="https://DILCIS.eu/XML/METS/CSIPExtensionMETS"'
)
_NAMES = (
    *("mets", "metsHdr", "agent", "name", "note", "dmdSec", "amdSec", "techMD", "rightsMD", "digiprovMD"),
    *("mdRef", "mdWrap", "fileSec", "fileGrp", "file", "FLocat", "structMap", "div", "fptr", "mptr", "x"),
)
_ATTRIBUTES = {
    "ID": ("a", "b", ""),
    "USE": ("Documentation", "Schemas/x", "Representations/r", "Representations", "data"),
    "LABEL": ("CSIP", "Metadata", "documentation", "Schemas", "Representations", "Representations/r"),
    "TYPE": ("PHYSICAL", "OTHER", "INDIVIDUAL", "ORGANIZATION"),
    "ROLE": ("CREATOR", "ARCHIVIST", "PRESERVATION"),
    "OTHERROLE": ("SUBMITTER",),
    "OTHERTYPE": ("SOFTWARE",),
    "STATUS": ("CURRENT", "SUPERSEDED", "OLD"),
    "FILEID": ("a", "c"),
    "ADMID": ("a b",),
    "l:href": ("schemas/a", "x"),
    "l:title": ("a",),
    "c:CONTENTINFORMATIONTYPE": ("citssiard_v1_0", "OTHER"),
    "c:OTHERCONTENTINFORMATIONTYPE": ("SIARD_2.2",),
    "c:NOTETYPE": ("SOFTWARE VERSION", "IDENTIFICATIONCODE"),
}


@st.composite
def elements(draw: st.DrawFn, depth: int = 0) -> str:
    """An element of any of METS's names, with any of the attributes, in no order that a schema would have."""
    name = draw(st.sampled_from(_NAMES))
    chosen = draw(st.sets(st.sampled_from(sorted(_ATTRIBUTES)), max_size=4))
    attributes = "".join(
        f" {each}={quoteattr(draw(st.sampled_from(_ATTRIBUTES[each])))}" for each in sorted(chosen)
    )
    inside = draw(st.lists(elements(depth + 1), max_size=3)) if depth < 4 else []
    return f"<m:{name}{attributes}>{draw(st.sampled_from(('', 'x')))}{''.join(inside)}</m:{name}>"


@given(inside=st.lists(elements(), max_size=4), is_package=st.booleans())
def test_any_document_is_read_to_its_end(inside: list[str], is_package: bool) -> None:
    faults = Faults()
    text = f'{_OPEN} OBJID="o">{"".join(inside)}</m:mets>'.encode()
    found = surveyed([text], faults, is_package=is_package)
    assert found.root["OBJID"] == "o"
    told = [dict(each.facts)["rule"] for each in faults.findings("x", set(Standard))]
    assert len(told) == len(set(told)), "each requirement once"
    in_pieces = Faults()
    surveyed((bytes([each]) for each in text), in_pieces, is_package=is_package)
    assert list(in_pieces.findings("x", set(Standard))) == list(faults.findings("x", set(Standard)))


@pytest.mark.parametrize("text", [b"<mets", b"<a></b>", b"<!DOCTYPE x []><x/>"])
def test_what_is_not_well_formed_is_refused(text: bytes) -> None:
    with pytest.raises(safexml.XmlError):
        surveyed([text], Faults(), is_package=True)
    with pytest.raises(safexml.XmlError):
        opening([text])


def test_no_more_than_the_beginning_is_read_to_tell_what_a_document_claims() -> None:
    def blocks() -> Iterator[bytes]:
        yield f'{_OPEN} PROFILE="https://earksip.dilcis.eu/profile/x"><m:fileSec>'.encode()
        raise AssertionError("more was asked for")

    assert opening(blocks()).site == "earksip"


def _many(count: int) -> Outline:
    groups = "".join(f'<m:fileGrp ID="g{each}" USE="Notes"><m:file/></m:fileGrp>' for each in range(count))
    sections = "".join(f'<m:dmdSec ID="d{each}"/>' for each in range(count))
    amd = "".join(f'<m:amdSec><m:digiprovMD ID="p{each}"/></m:amdSec>' for each in range(count))
    divisions = "".join(f'<m:div LABEL="Representations/{each}"><m:mptr/></m:div>' for each in range(count))
    pointed = '<m:div LABEL="Metadata"/><m:div LABEL="Schemas">' + "<m:fptr/>" * count + "</m:div>"
    return surveyed(
        [
            f"{_OPEN}>{sections}{amd}<m:fileSec>{groups}</m:fileSec><m:structMap LABEL='CSIP'><m:div>"
            f"{divisions}{pointed}</m:div></m:structMap></m:mets>".encode()
        ],
        Faults(),
        is_package=True,
    )


def test_of_more_than_is_kept_nothing_is_concluded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _many(20).is_complete
    for module in ("header", "sections", "filesection", "structure"):
        monkeypatch.setattr(f"metspack.checking.rules.{module}.KEPT", 5)
    found = _many(20)
    assert not found.is_complete
    assert (len(found.groups), len(found.descriptive), len(found.divided)) == (5, 5, 5)
