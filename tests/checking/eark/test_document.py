"""Reading METS for its requirements: whatever a document holds, in little memory."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack import safexml
from metspack.checking.eark.faults import Faults
from metspack.checking.eark.outline import Outline
from metspack.checking.eark.profiles import opening
from metspack.checking.eark.requirements import Standard
from metspack.checking.eark.survey import Survey
from metspack.mets.fastreader import condensed
from tests.checking.eark.surveys import surveyed
from tests.laws import law
from tests.tables import tabled, tables_of

_OPEN = (
    '<m:mets xmlns:m="http://www.loc.gov/METS/" xmlns:l="http://www.w3.org/1999/xlink" '
    'xmlns:c="https://DILCIS.eu/XML/METS/CSIPExtensionMETS"'
)
_NAMES = (
    *("mets", "metsHdr", "agent", "name", "note", "dmdSec", "amdSec", "techMD", "rightsMD", "digiprovMD"),
    *("mdRef", "mdWrap", "fileSec", "fileGrp", "file", "FLocat", "structMap", "div", "fptr", "mptr", "x"),
)
_ATTRIBUTES: dict[str, list[str]] = tables_of(__file__)["attributes"]


@st.composite
def elements(draw: st.DrawFn, depth: int = 0) -> str:
    """An element with any name and attributes of METS, in any order."""
    name = draw(st.sampled_from(_NAMES))
    chosen = draw(st.sets(st.sampled_from(sorted(_ATTRIBUTES)), max_size=4))
    attributes = "".join(
        f" {each}={quoteattr(draw(st.sampled_from(_ATTRIBUTES[each])))}" for each in sorted(chosen)
    )
    inside = draw(st.lists(elements(depth + 1), max_size=3)) if depth < 4 else []
    return f"<m:{name}{attributes}>{draw(st.sampled_from(('', 'x')))}{''.join(inside)}</m:{name}>"


@law(8)
@given(inside=st.lists(elements(), max_size=4), is_package=st.booleans())
def test_any_document_is_read_to_its_end(inside: list[str], is_package: bool) -> None:
    faults = Faults(set(Standard))
    text = f'{_OPEN} OBJID="o">{"".join(inside)}</m:mets>'.encode()
    found = surveyed([text], faults, is_package=is_package)
    assert found.root["OBJID"] == "o"
    reported = [dict(each.facts)["rule"] for each in faults.findings("x")]
    assert len(reported) == len(set(reported)), "each requirement once"
    in_pieces = Faults(set(Standard))
    pieces = [bytes([each]) for each in text]
    surveyed(pieces, in_pieces, is_package=is_package)
    assert list(in_pieces.findings("x")) == list(faults.findings("x"))


@pytest.mark.parametrize("text", [b"<mets", b"<a></b>", b"<!DOCTYPE x []><x/>"])
def test_what_is_not_well_formed_is_refused(text: bytes) -> None:
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
    text = (
        f"{_OPEN}>{sections}{amd}<m:fileSec>{groups}</m:fileSec><m:structMap LABEL='CSIP'><m:div>"
        f"{divisions}{pointed}</m:div></m:structMap></m:mets>"
    ).encode()
    return surveyed([text], Faults(set(Standard)), is_package=True)


def test_of_more_than_is_kept_nothing_is_concluded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _many(20).is_complete
    monkeypatch.setattr("metspack.checking.eark.outline.KEPT", 5)
    found = _many(20)
    assert not found.is_complete
    assert (len(found.groups), len(found.descriptive), len(found.divided)) == (5, 5, 5)


# --- files that are written alike -------------------------------------------------------------------------

_FILE = (
    '<m:file ID="f{0}" MIMETYPE="text/plain" SIZE="{0}" CREATED="2026-05-01T12:00:00Z" CHECKSUM="{0}" '
    'CHECKSUMTYPE="MD5">\n<m:FLocat LOCTYPE="URL" l:type="simple" l:href="data/{0}"/>\n</m:file>\n'
)
_FILES = 300
_LAST = _FILE.format(_FILES)


def _listing(change: str, to: str, use: str = "data") -> dict[str, tuple[int, str]]:
    """Return the broken requirements of a METS; its last file was changed: lines and counts."""
    files = "".join(map(_FILE.format, range(1, _FILES + 1)))
    assert change in _LAST
    files = files[: -len(_LAST)] + _LAST.replace(change, to, 1)
    group = f'<m:fileSec ID="s">\n<m:fileGrp ID="g" USE="{use}">\n{files}</m:fileGrp></m:fileSec>'
    text = f"{_OPEN}>\n{group}</m:mets>".encode()
    blocks = [text[at : at + 4_096] for at in range(0, len(text), 4_096)]
    faults = Faults({Standard.CSIP})
    surveyed(blocks, faults, is_package=False)
    found = list(faults.findings("x"))
    survey = Survey(Faults({Standard.CSIP}), is_package=False)
    assert list(condensed(blocks, sink=survey.feed, stands=survey.takes))
    survey.end()
    assert list(survey.faults.findings("x")) == found, "whether or not files are taken in runs"
    reported = {dict(each.facts)["rule"]: (each.line, dict(each.facts)["count"]) for each in found}
    return {
        rule: at for rule, at in reported.items() if 66 <= int(rule[4:].lstrip("STR")) <= 79 or "STR" in rule
    }


@tabled
def test_one_file_among_many_that_is_otherwise_is_found(change: str, to: str, rule: str) -> None:
    of_location = rule in {"CSIP77", "CSIP78", "CSIP79"}
    assert _listing(change, to) == {rule: (4 + 3 * (_FILES - 1) + of_location, "1")}


def test_files_that_are_similar_and_complete_break_nothing() -> None:
    assert _listing("data/300", "data/other") == {}


def test_each_file_of_documentation_is_looked_at_where_it_is() -> None:
    assert _listing("data/300", "documentation/300", "Documentation") == {"CSIPSTR16": (5, str(_FILES - 1))}


def test_files_that_all_lack_the_same_are_all_counted() -> None:
    text = _OPEN + "><m:fileSec ID='s'><m:fileGrp ID='g' USE='data'>"
    text += "".join(_FILE.format(each).replace(' MIMETYPE="text/plain"', "") for each in range(_FILES))
    faults = Faults({Standard.CSIP})
    whole = (text + "</m:fileGrp></m:fileSec></m:mets>").encode()
    surveyed([whole], faults, is_package=False)
    [found] = (each for each in faults.findings("x") if "CSIP68" in each.message)
    assert dict(found.facts)["count"] == str(_FILES)
