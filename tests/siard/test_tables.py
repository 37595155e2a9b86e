import tracemalloc
from collections.abc import Iterator
from itertools import accumulate, cycle, pairwise, takewhile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree

from metspack.errors import SourceError
from metspack.limits import Budgets
from metspack.model import Digest, LobCell, LobPlace
from metspack.siard.metadata import Field, Table
from metspack.siard.tables import Tally, cell_runs
from tests.laws import law, of_each
from tests.siards import cells
from tests.tables import read_table, tabled

MD5 = "0123456789abcdef0123456789abcdef"
SHA1 = MD5 + "01234567"
SHA256 = MD5 + MD5


def column(number: int, sql: str) -> Field:
    return Field(number=number, name="", type=sql, lob_folder=None, folder=None, mime_type=None, fields=())


TABLE = Table(
    schema=1,
    number=7,
    name="t",
    schema_name="s",
    folder="table7",
    schema_folder="schema1",
    rows=None,
    columns=(column(1, "INTEGER"), column(2, "BLOB"), column(3, "CLOB")),
)
WHERE = "content/schema1/table7/table7.xml line "


def read(text: str | bytes, *, budgets: Budgets | None = None, size: int = 1 << 20) -> list[LobCell]:
    data = text if isinstance(text, bytes) else text.encode()
    return list(cells((data[at : at + size] for at in range(0, len(data), size)), TABLE, budgets))


def row(inner: str) -> str:
    return f"<table><row>{inner}</row></table>"


def test_cells_are_found_at_any_depth_in_document_order() -> None:
    found = read(
        "<table file='not a cell'><row file='nor this'><c1>1</c1><c2 file='a'/></row><row/>"
        "<row><c3><u2><u3 file='b'/></u2><u4 file='c'/></c3>"
        "<c4><a1 file='d'/><a2><u1 file='e'/></a2></c4></row></table>"
    )
    assert [(each.place.id, each.file) for each in found] == [
        ("s1.t7.c2.r1", "a"),
        ("s1.t7.c3.u2.u3.r3", "b"),
        ("s1.t7.c3.u4.r3", "c"),
        ("s1.t7.c4.a1.r3", "d"),
        ("s1.t7.c4.a2.u1.r3", "e"),
    ]


@tabled
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_documents_are_read_in_their_encodings(codec: str, declared: str, size: int) -> None:
    head = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    data = (head + row("<c2 file='é/&#246;&amp;.bin' length='3'/>")).encode(codec)
    if codec == "utf-16-be":
        data = b"\xfe\xff" + data
    (cell,) = read(data, size=size)
    assert cell.file == "é/ö&.bin"
    assert cell.length == 3


def test_prefixes_do_not_matter() -> None:
    text = "<x:table xmlns:x='urn:x'><x:row><x:c2><x:u1 file='a'/></x:c2></x:row></x:table>"
    assert [each.place.cell for each in read(text)] == ["c2.u1"]


def test_rows_and_inline_values_are_tallied() -> None:
    tally = Tally()
    text = (
        "<table><row><c1>1</c1><c2>0A</c2><c3 file='a'/></row><row><c1>1</c1><c3>x</c3></row><row/></table>"
    )
    assert len(list(cells([text.encode()], TABLE, None, tally))) == 1
    assert (tally.rows, tally.inline) == (3, 2)


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_cells_with_a_file_and_a_value_are_tallied(size: int) -> None:
    long = "0A" * 50_000
    text = (
        "<table><row><c1>1</c1><c2 file='a'/><c3><u1 file='b'>\n</u1>x</c3><c4>y</c4></row>"
        f"<row><c2 file='a'>{long}</c2><c3><u1 file='b'><x>0</x></u1></c3></row>"
        "<row><c2 file='a'> <!-- z --> </c2><c4>y</c4></row></table>"
    ).encode()
    tally = Tally()
    blocks = (text[at : at + size] for at in range(0, len(text), size))
    assert len(list(cells(blocks, TABLE, None, tally))) == 5
    assert (tally.both, tally.first_of_both) == (2, "s1.t7.c2.r2")


@of_each(read_table(__file__, "digests"))
def test_digests_are_read_in_all_their_forms(attributes: str, algorithm: str) -> None:
    values = {"MD5": MD5, "SHA-1": SHA1, "SHA-256": SHA256}
    text = attributes.format(md5=MD5, MD5=MD5.upper(), sha1=SHA1, sha256=SHA256)
    (cell,) = read(row(f"<c2 file='a' {text}/>"))
    assert cell.digest == (Digest(algorithm=algorithm, value=values[algorithm]) if algorithm else None)


@pytest.mark.parametrize(
    ("text", "length"), [("0", 0), (" 12 ", 12), ("", None), (" ", None), ("9" * 18, 10**18 - 1)]
)
def test_lengths_are_whole_numbers_or_absent(text: str, length: int | None) -> None:
    (cell,) = read(row(f"<c2 file='a' length='{text}'/>"))
    assert cell.length == length


@pytest.mark.parametrize("text", ["-1", "1.5", "many", "9" * 19, "&#x661;"])
def test_a_length_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(
        SourceError,
        match=WHERE
        + r"2: table s.t row 1, cell c2 \(s1.t7.c2.r1\) has the length .*, expected a whole number",
    ):
        read(row(f"\n<c2 file='a' length='{text}'/>"))


@tabled
def test_a_digest_that_is_none_is_refused(attributes: str, words: str) -> None:
    with pytest.raises(
        SourceError, match=WHERE + r"1: table s.t row 1, cell c2 \(s1.t7.c2.r1\) has .*" + words
    ) as caught:
        read(row(f"<c2 file='a' {attributes.format(MD5=MD5)}/>"))
    assert "SHA-256" in caught.value.hint


@pytest.mark.parametrize(
    ("inner", "path"),
    [
        ("<d2 file='a'/>", "d2"),
        ("<c0 file='a'/>", "c0"),
        ("<c2><x1 file='a'/></c2>", "c2.x1"),
        ("<c2><u file='a'/></c2>", "c2.u"),
        ("<c02 file='a'/>", "c02"),
        (f"<c{'9' * 5000} file='a'/>", "c9999"),
    ],
)
def test_a_cell_with_another_name_is_refused(inner: str, path: str) -> None:
    with pytest.raises(SourceError, match=WHERE + f"1: a file attribute stands at '{path}") as caught:
        read(row(inner))
    assert "T_6.1" in caught.value.hint


def test_a_cell_that_stands_twice_in_a_row_is_refused() -> None:
    twice = "<c2 file='a'/><c2 file='b'/>"
    with pytest.raises(SourceError, match=WHERE + "1: row 2 has the cell c2 twice"):
        read(f"<table><row/><row>{twice}</row></table>")
    assert len(read("<table><row><c2 file='a'/></row><row><c2 file='b'/></row></table>")) == 2


def test_a_dtd_is_refused() -> None:
    with pytest.raises(
        SourceError, match=WHERE + "1, column [0-9]+: the document has a document type"
    ) as caught:
        read("<!DOCTYPE table [<!ENTITY e 'x'>]>" + row(""))
    assert "DTD" in caught.value.hint


@tabled
def test_a_document_is_refused_where_it_is_not_well_formed(text: str, line: int, column: int) -> None:
    with pytest.raises(SourceError, match=WHERE + f"{line}, column {column}: not well-formed") as caught:
        read(text)
    assert "damaged" in caught.value.hint


@pytest.mark.parametrize("rest", ["<table/>", "<table>" + " " * 2000 + "</table>"])
def test_an_encoding_that_cannot_be_spliced_is_refused_as_what_it_is(rest: str) -> None:
    with pytest.raises(SourceError, match=r"table7\.xml is encoded in Shift_JIS, which cannot") as caught:
        read(f'<?xml version="1.0" encoding="Shift_JIS"?>{rest}'.encode())
    assert "convert the document to UTF-8" in caught.value.hint


@pytest.mark.parametrize(
    "long", ["<c2 file='{}'/>", "<!--{}-->", "<c2 file='a' other='{}'/>"], ids=["value", "comment", "other"]
)
def test_markup_longer_than_the_budget_is_refused(long: str) -> None:
    text = row(long.format("x" * 100_000))
    assert read(text, size=64, budgets=Budgets(attribute=200_000)) is not None
    with pytest.raises(
        SourceError, match=WHERE + "1, column 13: a tag or comment is longer than 1,000 bytes"
    ) as caught:
        read(text, size=64, budgets=Budgets(attribute=1_000))
    assert "--budget attribute=N" in caught.value.hint


def test_long_text_is_no_long_tag() -> None:
    assert len(read(row(f"<c2>{'x' * 3_000_000}</c2><c3 file='a'/>"), size=4096)) == 1


@pytest.mark.parametrize("size", [1, 7, 80])
def test_what_expat_puts_off_is_no_long_tag(size: int) -> None:
    text = "<table>" + "<row><c2 file='a' length='1'/></row>" * 60 + "</table>"
    assert read(text, size=size, budgets=Budgets(attribute=1_000)) == read(text)


def test_nesting_deeper_than_the_budget_is_refused() -> None:
    with pytest.raises(
        SourceError, match=WHERE + "1, column 45: elements are nested more than 10 deep"
    ) as caught:
        read(row("<c2>" + "<u1>" * 8 + "</u1>" * 8 + "</c2>"), budgets=Budgets(depth=10))
    assert "--budget depth=N" in caught.value.hint


TEXTS = st.one_of(
    st.sampled_from(
        ["", '"', "]]", "&lt;row>", "&#233;\u20ac", "<![CDATA[</row><row><c2 file='x'/>]]>", "0A" * 400]
    ),
    st.text(st.sampled_from("ab é/0]\"'\r\n\t"), max_size=20),
    st.sampled_from(
        ["<!-- </row><c2 file='x'/> -->", "<?row </row>?>", "<u1>x</u1>", "<u1 file='{}.u'/><u2/>"]
    ),
)
GAPS = st.sampled_from(["", "", "\n", "\r\n  ", "\t", " " * 3_000, "<!-- </row> -->", "<?x <row>?>"])
USUAL = '<c2 file="{}.bin" length="{}" digestType="MD5" digest="{:032X}"/>'
TAGS = st.sampled_from(
    [
        USUAL,
        USUAL,
        "<c2 digest='{2:032x}'\r\n\tdigestType = 'MD5' file='&#65;>&amp;\u00e9{0}' ></c2 >",
        "<c2 file='{}'/><c3 file='{}.txt' length='{}'></c3>",
        "<c2>0A</c2><c3 dlurlpathonly='{}'/>",
        "<c2/>",
        "",
    ]
)
DAMAGE = st.sampled_from(
    ["<", "&", "</row>", "<row>", "]]>", "&nbsp;", "<c2 file='1' file='2'/>", "\x01", "\uffff"]
)


def by_lxml(data: bytes) -> tuple[list[LobCell], int, int]:
    """Return a table's cells, its rows and the LOBs in its cells; raises if it is no tree."""
    root = etree.fromstring(data, etree.XMLParser(huge_tree=True, resolve_entities=False))
    found, inline = [], 0
    for number, one in enumerate(root.iterchildren("{urn:x}row"), start=1):
        for each in one.iterdescendants("{*}*"):
            path = [each, *each.iterancestors()][:-2]
            names = [etree.QName(element).localname for element in reversed(path)]
            if "file" in each.attrib:
                length, value = each.get("length"), each.get("digest", "").lower()
                digest = Digest(algorithm=each.attrib["digestType"], value=value) if value else None
                place = LobPlace(schema=1, table=7, cell=".".join(names), row=number)
                lob = LobCell(
                    place=place, file=each.attrib["file"], length=length and int(length), digest=digest
                )
                found.append(lob)
            else:
                inline += names in [["c2"], ["c3"]] and "dlurlpathonly" not in each.attrib
    return found, len(root.findall("{*}row")), inline


@law(30)
@given(
    rows=st.lists(st.tuples(TEXTS, TAGS, GAPS, GAPS, st.sampled_from([1, 1, 300])), max_size=6),
    head=GAPS,
    damage=st.one_of(st.none(), st.none(), st.tuples(st.integers(0, 2_000), DAMAGE)),
    codec=st.sampled_from(["utf-8", "utf-8", "utf-16"]),
    sizes=st.lists(st.sampled_from([7, 80, 5_000, 20_000]), min_size=1, max_size=9),
)
@example(rows=[("", USUAL, "", "\n", 900)], head="", damage=None, codec="utf-8", sizes=[1 << 16])
def test_cells_are_those_that_a_tree_has_whatever_the_blocks(
    rows: list[tuple[str, str, str, str, int]],
    head: str,
    damage: tuple[int, str] | None,
    codec: str,
    sizes: list[int],
) -> None:
    parts = [f'<?xml version="1.0" encoding="{codec}"?>{head}<table xmlns="urn:x">']
    for text, tag, inside, behind, times in rows:
        for number in range(len(parts), len(parts) + times):
            inner = f"<c1>{text.format(number)}</c1>{inside}{tag.format(*[number] * 3)}"
            parts.append(f"<row>{inside}{inner}</row>{behind}")
    if damage is not None:
        parts.insert(1 + damage[0] % len(parts), damage[1])
    data = "".join((*parts, "</table>")).encode(codec)
    ends = accumulate(cycle(sizes), initial=0)
    cuts = pairwise((*takewhile(lambda end: end < len(data), ends), len(data)))
    pieces = [data[start:stop] for start, stop in cuts]
    tally = Tally()
    try:
        expected = by_lxml(data)
    except etree.XMLSyntaxError:
        for blocks in (pieces, [data]):
            with pytest.raises(SourceError, match=r"table7\.xml (is|line)"):
                list(cells(blocks, TABLE))
        return
    runs = list(cell_runs(pieces, TABLE, None, tally))
    assert ([cell for run in runs for cell in run.cells()], tally.rows, tally.inline) == expected
    codec, step = ("utf-16-le", 2) if data.startswith(b"\xff\xfe") else ("utf-8", 1)
    for run in runs:
        tags = [data[at : at + step * 3].decode(codec) for at in run.starts]
        assert set(tags) <= {f"<{run.cell.rpartition('.')[2]}"}


@pytest.mark.slow
def test_memory_does_not_grow_with_the_table() -> None:
    def blocks(rows: int) -> Iterator[bytes]:
        yield b"<table>"
        for _ in range(rows // 100):
            yield b"<row><c1>1</c1><c2 file='a'/></row>" * 100
        yield b"</table>"

    def peak(rows: int) -> int:
        tracemalloc.start()
        try:
            assert sum(1 for _ in cells(blocks(rows), TABLE)) == rows
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(20_000)  # what is kept for good is made by the first
    assert peak(20_000) < 2 * peak(1_000) + 100_000


@pytest.mark.parametrize("attribute", ["length", "digest", "messageDigest", "digestType"])
def test_what_is_far_too_long_is_not_shown_whole(attribute: str) -> None:
    value = f"digest='00' digestType='{'9' * 900_000}'" if attribute == "digestType" else ""
    with pytest.raises(SourceError) as caught:
        read(row(f"<c2 file='a' {value or attribute + '=' + repr('9' * 900_000)}/>"))
    assert len(caught.value.message) < 1_000


def test_two_digests_of_one_algorithm_that_differ_are_refused() -> None:
    other = MD5[::-1]
    with pytest.raises(SourceError) as caught:
        read(row(f"<c2 file='a' digestType='MD5' digest='{MD5}' messageDigest='md5{other}'/>"))
    assert MD5 in caught.value.message
    assert other in caught.value.message
    assert "table s.t row 1, cell c2" in caught.value.message


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (f"digestType='MD5' digest='{MD5}' messageDigest='md5{MD5.upper()}'", ("MD5", MD5)),
        (f"digestType='MD5' digest='{MD5}' messageDigest='sha1{SHA1}'", ("SHA-1", SHA1)),
        (f"digestType='SHA-256' digest='{SHA256}' messageDigest='md5{MD5}'", ("SHA-256", SHA256)),
    ],
)
def test_of_two_digests_the_stronger_one_is_taken(attributes: str, expected: tuple[str, str]) -> None:
    (cell,) = read(row(f"<c2 file='a' {attributes}/>"))
    assert cell.digest is not None
    assert (cell.digest.algorithm, cell.digest.value) == expected


def test_of_two_cells_that_cannot_be_understood_the_first_is_reported() -> None:
    text = "<table><row><c2 file='a' length='x'/></row>\n<row><c2 file='a'/><c2 file='b'/></row></table>"
    with pytest.raises(SourceError, match=r"line 1: table s\.t row 1, cell c2"):
        read(text)
    with pytest.raises(SourceError, match=r"line 1: table s\.t row 1, cell c2"):
        read(text.replace("</table>", "<"))
