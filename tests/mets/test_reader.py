"""The facts of a METS document, and refused documents."""

import pickle
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack import safexml
from metspack.limits import Budgets
from metspack.mets import reader
from metspack.mets.links import Mptr
from metspack.mets.reader import (
    Agent,
    File,
    Fptr,
    Identified,
    MetsHeader,
    Root,
    StatedObject,
    StructMap,
    read,
)
from tests.laws import law
from tests.tables import tabled

DOCUMENT, HEADER = (
    Path(__file__).with_name("documents").joinpath(name).read_bytes()
    for name in ("document.xml", "header.xml")
)


def facts(data: bytes, size: int = 1 << 16, budgets: Budgets | None = None) -> list[reader.Fact]:
    return list(read((data[at : at + size] for at in range(0, len(data), size)), budgets))


def test_every_fact_of_a_document_with_its_line() -> None:
    assert facts(DOCUMENT) == [
        Root(objid="P", type="T", profile="F", label="L", line=2),
        Identified(id="root", element="mets", line=2),
        Identified(id="premis", element="digiprovMD", line=4),
        File(
            element="mdRef",
            id="ref",
            groupid=None,
            seq=None,
            groups=(),
            size="3",
            checksum="ab",
            checksum_type="MD5",
            mimetype=None,
            href="metadata/p.xml",
            mdtype="PREMIS",
            loctype="URL",
            embedded=False,
            line=4,
        ),
        Identified(id="outer", element="fileGrp", line=7),
        Identified(id="inner", element="fileGrp", line=7),
        File(
            element="file",
            id="a",
            groupid="g",
            seq="1",
            groups=("outer", "inner", "child IP"),
            size="9",
            checksum="c",
            checksum_type="MD5",
            mimetype="a/b",
            href="this",
            loctype="OTHER",
            embedded=False,
            line=8,
            others=("not-this", "too-late"),
        ),
        File(
            element="file",
            id="b",
            groupid=None,
            seq=None,
            groups=("outer",),
            size=None,
            checksum=None,
            checksum_type=None,
            mimetype=None,
            href=None,
            loctype=None,
            embedded=True,
            line=15,
        ),
        StructMap(type="PHYSICAL", label="map"),
        Mptr(
            href="child",
            loctype="OTHER",
            otherloctype="OBJID",
            contentids="k",
            structmap_type="PHYSICAL",
            structmap_label="map",
            div_labels=("one", "two"),
            line=19,
            div=3,
        ),
        Identified(id="p", element="mptr", line=19),
        Fptr(fileid="a", line=20),
        Fptr(fileid="b", line=20),
    ]


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_the_header_and_its_agents_are_facts(size: int) -> None:
    root, *others = facts(HEADER, size)
    assert isinstance(root, Root)
    assert (root.attributes["OBJID"], root.attributes["c:KIND"]) == ("P", "K")
    assert others == [
        MetsHeader(attributes={"CREATEDATE": "2021", "c:PACKAGE": "SIP"}),
        Agent(type="ORGANIZATION", role="SUBMITTER", name="Abr\xe4ham & Sons", notes=("one", ", two")),
        Agent(type="", role="CREATOR", name="", notes=()),
    ]


def test_a_note_without_end_does_not_fill_memory() -> None:
    long = HEADER.replace(b", two", b"x" * 1_000_000)
    agent = next(each for each in facts(long, budgets=Budgets(attribute=1_000)) if isinstance(each, Agent))
    assert len("".join(agent.notes)) < 500_000


@law(50)
@given(size=st.integers(1, 200))
def test_facts_do_not_depend_on_where_blocks_are_cut(size: int) -> None:
    assert facts(DOCUMENT, size) == facts(DOCUMENT)


@tabled
def test_prefixes_mean_nothing(old: bytes, new: bytes) -> None:
    data = (
        DOCUMENT.replace(b"<" + old, b"<" + new)
        .replace(b"</" + old, b"</" + new)
        .replace(b" " + old, b" " + new)
    )
    data = data.replace(b"xmlns:" + old[:-1] + b"=", b"xmlns" + (b":" + new[:-1] if new else b"") + b"=")
    found = facts(data.replace(b'<file ID="foreign"/>', b""))
    assert found == facts(DOCUMENT)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1", "cp1252"])
def test_other_encodings(encoding: str) -> None:
    name = encoding.removesuffix("-le")
    text = (
        DOCUMENT.decode().replace('version="1.0"', f'version="1.0" encoding="{name}"').replace('"P"', '"Pé"')
    )
    mark = b"\xff\xfe" if encoding == "utf-16-le" else b""
    first = facts(mark + text.encode(encoding))[0]
    assert isinstance(first, Root)
    assert first.objid == "Pé"


@pytest.mark.parametrize(
    ("data", "kind", "line"),
    [
        (b"", safexml.XmlError, 1),
        (b"text", safexml.XmlError, 1),
        (DOCUMENT[:700], safexml.XmlError, 12),
        (DOCUMENT.replace(b"<m:div>", b"<n:div>").replace(b"one", b"one", 1), safexml.XmlError, 18),
        (DOCUMENT.replace(b"<m:mets", b"<!DOCTYPE a>\n<m:mets"), safexml.DoctypeError, 2),
        (b"<a/>", reader.NotMets, 1),
        (b"\n<mets/>", reader.NotMets, 2),
        (DOCUMENT.replace(b"METS/", b"METS/v2"), reader.NotMets, 2),
        (b'<?xml version="1.0" encoding="shift_jis"?><a/>', safexml.XmlError, 1),
        (b'<?xml version="1.0" encoding="none-such"?><a/>', safexml.XmlError, 1),
    ],
)
def test_documents_that_are_refused(data: bytes, kind: type[safexml.XmlError], line: int) -> None:
    with pytest.raises(kind) as caught:
        facts(data)
    assert type(caught.value) is kind
    assert caught.value.line == line
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 -- our own
    assert (type(again), again.message, again.line) == (kind, caught.value.message, line)


def test_facts_before_a_fault_are_yielded() -> None:
    found = []
    stream = read([DOCUMENT[:800]])
    with suppress(safexml.XmlError):
        while True:
            found.append(next(stream))
    assert found == facts(DOCUMENT)[: len(found)]
    assert len(found) > 3


@pytest.mark.parametrize("size", [1, 7, 80])
def test_what_expat_puts_off_is_no_long_tag(size: int) -> None:
    """Expat 2.6 waits for more bytes of a tag, and gives no position until it has them."""
    files = b"".join(b'<file ID="f%d" SIZE="1"><FLocat LOCTYPE="URL"/></file>' % each for each in range(40))
    data = b'<mets xmlns="http://www.loc.gov/METS/"><fileSec><fileGrp>%s</fileGrp></fileSec></mets>' % files
    assert facts(data, size, Budgets(attribute=1_000)) == facts(data)


def test_budgets() -> None:
    deep = DOCUMENT.replace(b"<m:div>", b"<m:div>" * 200)
    with pytest.raises(safexml.BudgetError, match="nested more than 100 deep"):
        facts(deep)
    long = DOCUMENT.replace(b'"one"', b'"' + b"x" * 10_000 + b'"')
    with pytest.raises(safexml.BudgetError, match="longer than 1,000 bytes"):
        facts(long, 100, Budgets(attribute=1_000))
    assert facts(long, 100, Budgets(attribute=20_000))


def test_a_prefix_may_be_declared_where_it_is_used() -> None:
    sip = b"https://DILCIS.eu/XML/METS/SIPExtensionMETS"
    document = (
        b'<mets xmlns="http://www.loc.gov/METS/"><fileSec><fileGrp>'
        b'<file ID="a" xmlns:s="%s" s:FORMATREGISTRYKEY="fmt/11"><FLocat LOCTYPE="URL" '
        b'xmlns:href="urn:x" xmlns:x="http://www.w3.org/1999/xlink" x:href="a"/></file>'
        b'<file ID="b"/></fileGrp></fileSec></mets>' % sip
    )
    one, two = (each for each in facts(document) if isinstance(each, File))
    assert (one.href, one.format_key, two.format_key) == ("a", "fmt/11", None)


def _million(count: int) -> Iterator[bytes]:
    yield b'<mets xmlns="http://www.loc.gov/METS/" xmlns:x="http://www.w3.org/1999/xlink"><fileSec>'
    for number in range(count):
        yield b'<file ID="f%d"><FLocat LOCTYPE="URL" x:href="f%d"/></file>\n' % (number, number)
    yield b"</fileSec></mets>"


def test_memory_does_not_grow_with_files() -> None:
    before = sys.getallocatedblocks()
    count = sum(1 for _ in read(_million(30_000)))
    assert count == 30_001
    assert sys.getallocatedblocks() - before < 2_000


# --- PREMIS in METS -------------------------------------------------------------------------------------


def premis(section: str, *, namespace: str = "http://www.loc.gov/premis/v3", amd: str = ' ID="amd"') -> bytes:
    return (
        f'<mets xmlns="{reader.METS}" xmlns:p="{namespace}"><amdSec{amd}>{section}</amdSec>'
        '<fileSec><file ID="f" ADMID="tech amd"/></fileSec></mets>'
    ).encode()


OBJECT = (
    "<p:object><p:objectCharacteristics><p:fixity>"
    "<p:messageDigestAlgorithm> sha256 </p:messageDigestAlgorithm>"
    "<p:messageDigest>ab\n</p:messageDigest></p:fixity>"
    "<p:size>7</p:size></p:objectCharacteristics></p:object>"
)


def objects(document: bytes) -> list[StatedObject]:
    return [each for each in facts(document, 7) if isinstance(each, StatedObject)]


def wrapped(inner: str, name: str = "techMD", attributes: str = ' ID="tech"') -> str:
    return f"<{name}{attributes}><mdWrap><xmlData>{inner}</xmlData></mdWrap></{name}>"


@pytest.mark.parametrize("namespace", ["http://www.loc.gov/premis/v3", "info:lc/xmlns/premis-v2"])
@pytest.mark.parametrize("name", ["techMD", "digiprovMD"])
def test_an_object_of_premis_in_mets_is_recognised_by_the_sections_around_it(
    namespace: str, name: str
) -> None:
    document = premis(wrapped(OBJECT, name), namespace=namespace)
    assert objects(document) == [
        StatedObject(ids=("tech", "amd"), digests=(("sha256", "ab"),), size="7", line=1)
    ]
    (file,) = [each for each in facts(document) if isinstance(each, File)]
    assert file.admid == "tech amd"


@pytest.mark.parametrize(
    "document",
    [
        premis(wrapped(OBJECT, attributes=' ID="tech" STATUS="Superseded"')),
        premis(wrapped(OBJECT, "rightsMD")),
        premis(wrapped(OBJECT, attributes=""), amd=""),
        premis(wrapped(OBJECT), namespace="urn:other"),
        premis(wrapped("<p:object/>")),
        premis(wrapped("<p:size>7</p:size><p:event><p:messageDigest>ab</p:messageDigest></p:event>")),
    ],
    ids=["superseded", "rights", "no ID", "not PREMIS", "no fixity", "no object"],
)
def test_what_is_no_object_that_a_file_could_name(document: bytes) -> None:
    assert objects(document) == []


def test_of_an_object_with_endless_digests_some_are_kept() -> None:
    document = premis(wrapped(f"<p:object>{'<p:messageDigest>ab</p:messageDigest>' * 99}</p:object>"))
    (found,) = objects(document)
    assert found.digests == (("", "ab"),) * 10


_CREATED = (
    '<metsHdr CREATEDATE="2026-11-26"><agent ROLE="CREATOR" TYPE="OTHER"><name>tool</name><note>1.2</note>'
    "</agent></metsHdr>"
)


def _sections(first: int, count: int) -> str:
    return "".join(f'<amdSec ID="a{number}"/>' for number in range(first, first + count))


def _pieces(*pieces: str) -> list[bytes]:
    return [piece.encode() for piece in (f'<mets xmlns="{reader.METS}" OBJID="it">', *pieces, "</mets>")]


@pytest.mark.parametrize("before", [0, 900])
def test_a_header_is_read_also_behind_some_sections(before: int) -> None:
    found = reader.identity(_pieces(_sections(0, before), _CREATED), "mets.xml")
    assert (found.objid, found.software, found.makers, found.made) == (
        "it",
        "tool",
        ("tool 1.2",),
        "2026-11-26",
    )


def test_a_million_sections_are_not_read_for_a_header() -> None:
    blocks = iter(_pieces(*(_sections(first, 100) for first in range(0, 1_000_000, 100))))
    assert reader.identity(blocks, "mets.xml").objid == "it"
    assert len(list(blocks)) > 9_900
