"""Facts in runs are the facts that are read one by one, whatever the document."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, cycle, pairwise, takewhile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree

from metspack import safexml
from metspack.limits import Budgets
from metspack.mets.fastreader import Run, condensed
from metspack.mets.links import Mptr
from metspack.mets.reader import METS, XLINK, Fact, File, Fptr, read
from tests.laws import law

FILE = (
    '<m:file ID="f{0}" SIZE="{0}" CHECKSUM="{0:032x}" CHECKSUMTYPE="MD5">\n'
    '  <m:FLocat LOCTYPE="URL" x:type="simple" x:href="lobs/r{0}.bin"/>\n</m:file>'
)
MPTR = '<m:div LABEL="child"><m:mptr LOCTYPE="URL" x:href="c{0}/mets.xml"/></m:div>'
HEAD = f'<m:mets xmlns:m="{METS}" xmlns:x="{XLINK}" OBJID="P">\n'


def document(
    file: str = FILE,
    fptr: str = '<m:fptr FILEID="f{0}"/>',
    gap: str = "\n  ",
    count: int = 40,
    head: str = HEAD,
) -> bytes:
    files = gap.join(file.format(number) for number in range(count))
    pointers = gap.join(fptr.format(number) for number in range(count))
    return (
        f'{head}<m:fileSec><m:fileGrp ID="g" USE="u">{gap}{files}{gap}</m:fileGrp></m:fileSec>'
        f"<m:structMap><m:div>{gap}{pointers}{gap}</m:div></m:structMap>\n</m:mets>\n"
    ).encode()


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


Outcome = tuple[list[Fact], tuple[type, str, int, int] | None]


def outcome(facts: Iterator[Fact | Run]) -> Outcome:
    """Return the facts one by one, and the error that ended them."""
    found: list[Fact] = []
    try:
        for each in facts:
            found += each.facts() if isinstance(each, Run) else [each]
    except safexml.XmlError as error:
        return found, (type(error), error.message, error.line, error.column)
    return found, None


def runs(data: bytes, size: int = 1 << 16) -> list[Run]:
    return [each for each in condensed(cut(data, size)) if isinstance(each, Run)]


def in_runs(data: bytes) -> int:
    return sum(each.count for each in runs(data))


def test_most_of_a_usual_document_is_in_runs() -> None:
    assert in_runs(document()) == 78  # all but the first file and the first fptr
    assert in_runs(document(count=1000)) == 1998
    (first, *_) = runs(document())
    assert first.count == 39
    assert first.columns["href"][:2] == ["lobs/r1.bin", "lobs/r2.bin"]
    assert (first.line, first.step) == (6, 3)


@pytest.mark.parametrize(
    "data",
    [
        document(gap=""),
        document(gap="\r\n"),
        document(head='<?xml version="1.0" encoding="UTF-8"?>' + HEAD),
        document(FILE.replace("lobs", "löbs")),
        document(FILE.replace("m:", "").replace("<file", f'<file xmlns="{METS}"')),
        document(FILE.replace("<m:FLocat", f'<m:FLocat xmlns:x="{XLINK}"')),
        document(FILE.replace("</m:file>", '<m:transformFile TRANSFORMORDER="1"/></m:file>')),
        document(fptr='<m:fptr>\n<m:area FILEID="f{0}"/></m:fptr>'),
        document(FILE.replace(' ID="', '\n ID = "')),
        document(FILE.replace(' ID="', ' ID="" OWNERID="')),
    ],
)
def test_the_ways_of_writing_make_no_difference(data: bytes) -> None:
    assert in_runs(data) == 78
    assert outcome(condensed([data])) == outcome(read([data]))


@pytest.mark.parametrize(
    "data",
    [
        document(gap="\r"),
        document(head='<?xml version="1.0" encoding="ISO-8859-1"?>' + HEAD, fptr="<m:fptr/>"),
        document(FILE.replace("URL", "URN"), fptr="<m:fptr/>"),
        document(FILE.replace(" ID=", ' ADMID="a" ID='), fptr="<m:fptr/>"),
        document(FILE.replace("'", '"').replace('"{0}"', "'{0}'"), fptr="<m:fptr FILEID='f{0}'/>"),
        document(FILE.replace("f{0}", "&lt;{0}"), fptr='<m:fptr FILEID="&lt;{0}"/>'),
        document(FILE.replace("</m:file>", "<!-- {0} --></m:file>"), fptr='<m:fptr FILEID="f" ID="a{0}"/>'),
        document(FILE.replace("<m:FLocat", '<m:FLocat ID="l{0}"'), fptr="<m:fptr/>"),
        document(FILE.replace("</m:file>", "{0}</m:file>"), fptr='<m:fptr FILEID="f{0}" DMDID="x"/>'),
        document(FILE.replace("</m:file>", "<m:mptr/></m:file>"), fptr="<m:fptr><m:par/></m:fptr>"),
    ],
)
def test_what_is_not_distinguished_by_its_quotes_or_refers_to_more_is_read_one_by_one(data: bytes) -> None:
    assert not runs(data)
    assert outcome(condensed([data])) == outcome(read([data]))


def test_facts_can_have_other_lines_groups_and_kinds_in_between() -> None:
    data = document().replace(b'<m:file ID="f20"', b'</m:fileGrp><!-- f20 -->\n\n<m:fileGrp><m:file ID="f20"')
    assert in_runs(data) == 76
    assert outcome(condensed([data])) == outcome(read([data]))


_SNIPPETS = [
    *(
        b"<",
        b">",
        b"&",
        b'"',
        b"'",
        b"\n",
        b"\r",
        b"\t",
        b" ",
        b"\0",
        b"\xff",
        "é".encode(),
        b"/>",
        b"=",
        b"x",
    ),
    *(b"<!--", b"-->", b"]]>", b"<![CDATA[", b"<?p", b"?>", b"&amp;", b"&#10;", b"<!DOCTYPE a>", b"\xc2\x85"),
    *(b'<m:fptr FILEID="z"/>', b"</m:file>", b"<m:file>", b"<m:fileGrp>", b"</m:fileGrp>", b"\xef\xbf\xbe"),
    *(b'<m:fileGrp xmlns:m="u">', b' xmlns:m="u"', b' xmlns:x="u"', b' ID="f1"', b' q:a="b"', b"m:"),
]
_BASES = [
    document(count=12),
    document(gap="", count=20),
    document(gap="\r\n", count=12),
    document(fptr='<m:fptr><m:area FILEID="a{0}"/></m:fptr>', count=12),
    document(count=12).replace(b"m:", b"").replace(b":m=", b"="),
    document(fptr=MPTR, count=12),
    document(FILE.replace("\n", ""), gap="", count=6),
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Return a document of some elements of one shape with bytes deleted, inserted or changed."""
    data = draw(st.sampled_from(_BASES))
    for _ in range(draw(st.integers(0, 3))):
        # What expat calls a fault behind the root depends on the blocks: nothing is put there.
        at = draw(st.integers(0, max(0, data.rfind(b"</"))))
        gone = draw(st.integers(0, 12))
        data = data[:at] + draw(st.sampled_from([b"", *_SNIPPETS])) + data[at + gone :]
    return data


@law(80)
@given(
    data=damaged(),
    size=st.one_of(st.integers(1, 600), st.just(1 << 16)),
    attribute=st.sampled_from([30, 300, 1 << 20]),
    has_links=st.booleans(),
)
@example(
    data=document().replace(b"lobs/r9.bin", b"lobs/\n.bin"), size=1 << 16, attribute=400, has_links=False
)
@example(
    data=document('<m:file ID="f{0}"/>', gap="", count=11), size=1 << 16, attribute=1 << 20, has_links=True
)
def test_facts_lines_and_errors_are_those_of_the_plain_reader(
    data: bytes, size: int, attribute: int, *, has_links: bool
) -> None:
    budgets = Budgets(attribute=attribute)
    found = condensed(cut(data, size), budgets, has_links=has_links)
    assert outcome(found) == outcome(read(cut(data, size), budgets))


FILES = st.sampled_from(
    [
        FILE,
        FILE,
        FILE.replace("lobs", "l\u00f6bs &amp; more"),
        FILE.replace('"', "'").replace("\n", "\r\n"),
        FILE.replace(' ID="', '\tOWNERID="&lt;" ID = "'),
        FILE.replace("</m:file>", "<!-- </m:file> --><![CDATA[</m:file>]]></m:file>"),
        FILE.replace("</m:file>", "<m:file ID='in{0}'/></m:file>"),
        FILE.replace("lobs/r{0}.bin", "lobs/r{0}" + "0" * 900),
        '<m:fileGrp ID="h{0}">' + FILE + "</m:fileGrp>",
        "<m:file ID='f{0}'><m:FLocat LOCTYPE='URL' x:href='a'/><m:FLocat LOCTYPE='URL' x:href='b'/></m:file>",
        "<m:file ID='f{0}' />",
    ]
)
GAPS = st.sampled_from(["", "\n  ", "\r\n", " " * 2_000, "<!-- <m:file ID='x'/> -->", "<?x <m:fptr/>?>"])


@law(20)
@given(
    parts=st.lists(st.tuples(FILES, GAPS, st.sampled_from([1, 1, 200])), max_size=6),
    fptr=st.sampled_from(['<m:fptr FILEID="f{0}"/>', "<m:fptr>\n<m:area FILEID='f{0}' /></m:fptr>"]),
    sizes=st.lists(st.sampled_from([7, 80, 5_000, 20_000]), min_size=1, max_size=9),
    has_links=st.booleans(),
)
@example(parts=[(FILE, "\n", 900)], fptr='<m:fptr FILEID="f{0}"/>', sizes=[1 << 16], has_links=False)
def test_facts_are_those_of_a_tree(
    parts: list[tuple[str, str, int]], fptr: str, sizes: list[int], *, has_links: bool
) -> None:
    numbered = [file + gap for file, gap, times in parts for _ in range(times)]
    files = "".join(each.format(number) for number, each in enumerate(numbered))
    data = document(file=files.replace("{", "{{"), fptr=fptr, count=1)
    ends = accumulate(cycle(sizes), initial=0)
    cuts = pairwise((*takewhile(lambda end: end < len(data), ends), len(data)))
    found, error = outcome(condensed((data[start:stop] for start, stop in cuts), has_links=has_links))
    assert error is None
    root = etree.fromstring(data, etree.XMLParser(huge_tree=True))
    expected = []
    for _, each in etree.iterwalk(root, events=("end",), tag=f"{{{METS}}}file"):
        hrefs = [one.get(f"{{{XLINK}}}href") for one in each.findall(f"{{{METS}}}FLocat")]
        groups = [one.get(name) for one in each.iterancestors(f"{{{METS}}}fileGrp") for name in ("USE", "ID")]
        expected.append(
            (
                *(each.get(name) for name in ("ID", "SIZE", "CHECKSUM", "CHECKSUMTYPE")),
                (*hrefs, None)[0],
                tuple(hrefs[1:]),
                tuple(name for name in reversed(groups) if name),
                each.sourceline,
            )
        )
    assert expected == [
        (f.id, f.size, f.checksum, f.checksum_type, f.href, f.others, f.groups, f.line)
        for f in found
        if isinstance(f, File)
    ]
    pointers = [each.get("FILEID") for each in root.iterfind(".//*[@FILEID]")]
    assert pointers == [each.fileid for each in found if isinstance(each, Fptr)]


def unnumbered(facts: list[Fact]) -> list[Fact]:
    """Return facts without the numbers of divisions; without runs a document has fewer of these."""
    return [replace(each, div=0) if isinstance(each, Fptr | Mptr) else each for each in facts]


@law(30)
@given(data=damaged(), size=st.integers(1, 600), has_links=st.booleans())
def test_what_is_left_is_a_document_with_the_same_lines_and_nothing_else(
    data: bytes, size: int, *, has_links: bool
) -> None:
    left: list[bytes] = []
    found, error = outcome(condensed(cut(data, size), sink=left.append, has_links=has_links))
    if error is None:
        again, found = unnumbered(outcome(read(left))[0]), unnumbered(found)
        passed = [each for each in found if each not in again]
        assert [each for each in found if each in again] == again
        assert all(isinstance(each, File | Fptr | Mptr if has_links else File | Fptr) for each in passed)


def test_memory_does_not_grow_with_files() -> None:
    def many(times: int) -> Iterator[bytes]:
        yield HEAD.encode() + b"<m:fileSec><m:fileGrp>"
        for start in range(0, times * 100, 100):
            yield "".join(FILE.format(start + number) for number in range(100)).encode()
        yield b"</m:fileGrp></m:fileSec></m:mets>"

    assert sum(each.count for each in condensed(many(20)) if isinstance(each, Run)) == 1999
    held = [sys.getsizeof(each) for each in condensed(many(500)) if not isinstance(each, Run)]
    assert len(held) < 10


@pytest.mark.parametrize("size", [50, 1 << 16])
@pytest.mark.parametrize(
    ("mptr", "count"),
    [
        (MPTR, 39),
        (MPTR.replace(' LABEL="child"', ""), 39),
        (MPTR.replace('"URL"', '"OTHER" OTHERLOCTYPE="OBJID"').replace("/mets.xml", ""), 39),
        (MPTR.replace('"URL"', '"URL" OTHERLOCTYPE="OBJID"'), 0),
        (MPTR.replace('"URL"', '"OTHER"'), 0),
        (MPTR.replace("c{0}", "urn:c{0}"), 0),
        (MPTR.replace("child", "child{0}"), 0),
        (MPTR.replace("<m:div", '<m:div ID="d{0}"'), 0),
        (MPTR.replace("</m:div>", '<m:fptr FILEID="f"/></m:div>'), 0),
        (MPTR.replace("<m:mptr", '<m:mptr CONTENTIDS="c"'), 0),
        ('<m:div><m:area FILEID="f{0}"/></m:div>', 0),
    ],
)
def test_divisions_with_an_mptr_come_in_runs_for_who_asks(mptr: str, count: int, size: int) -> None:
    data = document(fptr=mptr).replace(b"</m:div>\n</m:structMap>", b"<m:div>%s</m:div>" % MPTR.encode())
    found = list(condensed(cut(data, size), has_links=True))
    counts = [each.count for each in found if isinstance(each, Run) and isinstance(each.fact, Mptr)]
    assert outcome(iter(found)) == outcome(read([data]))
    assert sum(counts) == count or size == 50
    assert not any(isinstance(each.fact, Mptr) for each in runs(data))
    few = Budgets(links=20)
    assert outcome(condensed(cut(data, size), few, has_links=True)) == outcome(read(cut(data, size), few))
