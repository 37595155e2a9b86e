"""Plain rows are taken apart as a parser does it, and whatever is not plain is left to the parser."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack import safexml
from metspack.errors import SourceError
from metspack.model import Budgets, LobCell
from metspack.siard import plainrows, tables
from metspack.siard.edits import NewCell, NewCells, spliced_table
from metspack.siard.tables import CellReader, Tally
from tests.laws import law
from tests.siard import test_tables
from tests.siard.test_tables import column

MD5 = "0123456789abcdef0123456789ABCDEF"
SHA1 = MD5 + "01234567"


TABLE = replace(
    test_tables.TABLE,
    columns=(
        replace(column(1, "INTEGER"), is_nullable=False),
        column(2, "VARCHAR(200)"),
        column(3, "BLOB"),
        column(4, "CLOB"),
    ),
)
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<table xmlns="urn:x">\n'
LIKE_A_TAG = f'"a.bin" length="3" digestType="MD5" digest="{MD5}"'
PLAIN = f'<row><c1>1</c1><c2>a</c2><c3 file="a.bin" length="3" digestType="MD5" digest="{MD5}"/></row>\n'

ROWS = st.sampled_from(
    [
        *[PLAIN] * 4,
        PLAIN.replace("a.bin", "schema/é.bin"),
        PLAIN.replace("a.bin", ""),
        PLAIN.replace("a.bin", "a&amp;b.bin"),
        PLAIN.replace("a.bin", "a&#10;b.bin"),
        PLAIN.replace("a.bin", "a\nb.bin"),
        PLAIN.replace("a.bin", "a\tb.bin"),
        PLAIN.replace("a.bin", "a<b.bin"),
        PLAIN.replace("a.bin", "a>b.bin"),
        PLAIN.replace(MD5, MD5.replace("f", "g")),
        PLAIN.replace(MD5, MD5.replace("f", "&amp;")),
        PLAIN.replace(MD5, MD5[:-3] + " />"),
        PLAIN.replace('"a.bin"', "'a.bin'"),
        PLAIN.replace("<c2>a</c2>", ""),
        PLAIN.replace("<c2>a</c2>", "<c2/>"),
        PLAIN.replace("<c2>a</c2>", "<c2>&lt;é&amp;\u20ac</c2>"),
        PLAIN.replace("<c2>a</c2>", "<c2>&other;</c2>"),
        PLAIN.replace("<c2>a</c2>", '<c2>"</c2>'),
        PLAIN.replace("<c2>a</c2>", f'<c2>" length="3" digestType="MD5" digest="{MD5}</c2>'),
        PLAIN.replace("<c2>a</c2>", f"<c2>{LIKE_A_TAG}</c2>"),
        PLAIN.replace(">1<", ' a="1">1<'),
        PLAIN.replace("<c2>a</c2>", "<c2>]]></c2>"),
        PLAIN.replace("<c2>a</c2>", "<c2>\uffff</c2>"),
        PLAIN.replace("<c2>a</c2>", "<c2>\x7f\x85\ufeff</c2>"),
        PLAIN.replace("<c2>a</c2>", "<c2>\x01</c2>"),
        PLAIN.replace("<c2>a</c2>", "<c2><![CDATA[</row>]]></c2>"),
        PLAIN.replace("<c2>a</c2>", "<!-- </row> --><c2>a</c2>"),
        PLAIN.replace("<c2>a</c2>", "<c2>a\r\n</c2>"),
        PLAIN.replace("<c2>a</c2>", '<c2 file="b.txt"/>'),
        PLAIN.replace("<c2>a</c2>", '<c2 dlurlpathonly="b"/>'),
        PLAIN.replace("<c2>a</c2>", "<c2><u1>b</u1></c2>"),
        PLAIN.replace("<c1>1</c1>", ""),
        PLAIN.replace("<c1>1</c1><c2>a</c2>", "<c2>a</c2><c1>1</c1>"),
        PLAIN.replace("<c2>a</c2>", "<c2>a</c2><c2>a</c2>"),
        PLAIN.replace("</row>", "<c4>inline</c4></row>"),
        PLAIN.replace("</row>", "<c4/></row>"),
        PLAIN.replace("</row>", '<c4 file="x"/></row>'),
        PLAIN.replace("</row>", "<c5>of no column</c5></row>"),
        PLAIN.replace("</row>", "text</row>"),
        PLAIN.replace("</row>", "</row >"),
        PLAIN.replace("</row>", ""),
        PLAIN.replace("<row>", "<row a='1'>"),
        PLAIN.replace("<row>", "<x:row xmlns:x='urn:y'>").replace("</row>", "</x:row>"),
        PLAIN.replace("row>", "other>"),
        PLAIN.replace(' length="3"', ""),
        PLAIN.replace('"3"', '""'),
        PLAIN.replace('"3"', '"-3"'),
        PLAIN.replace('"3"', f'"{"9" * 19}"'),
        PLAIN.replace(MD5, MD5[:-1]),
        PLAIN.replace(MD5, SHA1).replace("MD5", "SHA-1"),
        PLAIN.replace("digestType", "x").replace("digest", "messageDigest"),
        PLAIN.replace("/></row>", "></c3></row>"),
        PLAIN.replace("/></row>", ">\n</c3></row>"),
        PLAIN.replace("/></row>", ">0A</c3></row>"),
        PLAIN.replace("/></row>", " /></row>"),
        PLAIN.replace("><", ">\n  <"),
        PLAIN.replace("><", ">\r\n<"),
        PLAIN.replace("><", ">\r<"),
        PLAIN.replace("\n", ""),
        "<row/>",
        "<row></row>\n",
        "<row><c1>1</c1></row>",
        "<row><c1>1</c1><c3/><c4>x</c4></row>",
        "<row><c1>1</c1><c2>" + "é" * 400 + "</c2></row>",
        "<row><c1>1</c1><c2>" + "a" * (1 << 17) + "</c2></row>",
        "<!-- a comment -->\n",
        "<?a processing instruction?>",
        "</table>",
        "words",
    ]
)

JUNK = (b"<", b"&", b"\xff", b"\xc3", b"\r", b"</row>", b"\0")


@pytest.fixture(params=["from the first row on", "as ever"])
def eager(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "from the first row on":
        monkeypatch.setattr(safexml, "FIRST", 1)
        monkeypatch.setattr(safexml, "FEWEST", 0)
        monkeypatch.setattr(tables, "_HEAD", 40)


def read(data: bytes, size: int, budgets: Budgets) -> tuple[str, list[LobCell], list[int], object]:
    """Return why a document is refused; else its cells, the offsets of their tags, and what is counted."""
    tally = Tally()
    reader = CellReader(TABLE, budgets, tally)
    found: list[LobCell] = []
    starts: list[int] = []
    try:
        for at in range(0, len(data) + size, size):
            piece = data[at : at + size]
            for run in reader.feed(piece, final=not piece):
                found += run.cells()
                starts += run.starts
            assert reader.position <= min(at + size, len(data))
            if not piece:
                break
    except SourceError as error:
        return f"{error.message} {error.hint}", [], [], None
    form = tally.form
    assert form is not None
    return "", found, starts, (replace(tally, form=None), form.odd, form.absent)


@pytest.mark.usefixtures("eager")
@law(150)
@given(
    rows=st.lists(ROWS, max_size=12),
    many=st.integers(0, 300),
    size=st.sampled_from([7, 100, 1000, 1 << 18]),
    junk=st.one_of(st.none(), st.tuples(st.integers(0, 3000), st.sampled_from(JUNK))),
    depth=st.sampled_from([2, 100]),
)
def test_plain_rows_say_what_a_parser_says(
    rows: list[str], many: int, size: int, junk: tuple[int, bytes] | None, depth: int
) -> None:
    data = (HEAD + PLAIN * many + "".join(rows) + PLAIN * 20 + "</table>").encode()
    if junk is not None:
        data = data[: junk[0]] + junk[1] + data[junk[0] :]
    budgets = Budgets(depth=depth)
    found = read(data, size, budgets)
    with pytest.MonkeyPatch.context() as context:
        context.setattr(tables, "_SHAPES", 0)
        assert found == read(data, size, budgets)
    assert all(data[each : each + 2] in {b"<c", b"<u"} for each in found[2])


@pytest.mark.parametrize(
    ("declaration", "is_read"),
    [
        ("<?xml version='1.0' encoding='utf-8' standalone='yes' ?>", True),
        ("", True),
        (f'<?xml version="1.0" {" " * 1200}encoding="ISO-8859-1"?>', True),
        ('<?xml version="1.0" encoding="utf8"?>', False),
        ('<?xml version="1.0" encoding="US-ASCII"?>', False),
    ],
)
def test_rows_are_plain_where_the_parser_reads_utf_8(declaration: str, *, is_read: bool) -> None:
    rows = PLAIN * 300 + PLAIN.replace("a.bin", "é.bin") * 20
    data = f'{declaration}<table xmlns="urn:x">\n{rows}</table>'.encode()
    found = read(data, 1 << 18, Budgets())
    assert (found[0] == "") == is_read
    with pytest.MonkeyPatch.context() as context:
        context.setattr(tables, "_SHAPES", 0)
        assert found == read(data, 1 << 18, Budgets())


TEXTS = st.sampled_from(["a", "", '"', '""', ' file="a" length="3', "é", "&amp;", "a<b", None])


@pytest.mark.usefixtures("eager")
@law(150)
@given(
    names=st.permutations(["file", "length", "digestType", "digest"]),
    left_out=st.sampled_from([(), ("length",), ("digest", "digestType")]),
    rows=st.lists(st.tuples(TEXTS, TEXTS, st.integers(0, 10**18), st.booleans()), max_size=12),
    again=st.sampled_from([1, 1, 30]),
)
def test_attributes_in_any_order_are_read_as_by_a_parser(
    names: list[str], left_out: tuple[str, ...], rows: list[tuple[str | None, ...]], again: int
) -> None:
    def row(text: str | None, inline: str | None, number: object, has_lob: object) -> str:
        said = {"file": f"a{number}", "length": f"{number}", "digestType": "MD5", "digest": MD5}
        tag = " ".join(f'{name}="{said[name]}"' for name in names if name not in left_out)
        cells = ("c2", "" if text is None else f">{text}</c2>"), ("c4", inline and f">{inline}</c4>")
        others = [f"<{name}{rest}" if rest else "" for name, rest in cells]
        return f"<row><c1>1</c1>{others[0]}{f'<c3 {tag}/>' if has_lob else ''}{others[1]}</row>\n"

    usual = row("a", None, 7, has_lob=True)
    data = (HEAD + usual * 30 + "".join(row(*each) for each in rows) * again + usual + "</table>").encode()
    found = read(data, 1 << 18, Budgets())
    new = NewCells(one=lambda _: None, many=lambda run: ["new"] * len(run))
    old = NewCells(one=lambda _: NewCell(file="new"))

    def spliced(value: NewCells) -> bytes:
        try:
            return b"".join(spliced_table([data], TABLE, Budgets(), value, version="2.2"))
        except SourceError:
            return b""

    rewritten = spliced(new)
    with pytest.MonkeyPatch.context() as context:
        context.setattr(tables, "_SHAPES", 0)
        assert found == read(data, 1 << 18, Budgets())
        assert rewritten == spliced(old)


@pytest.mark.usefixtures("eager")
@law(50)
@given(
    rows=st.lists(ROWS, max_size=6),
    size=st.sampled_from([100, 1 << 18]),
    new=st.sampled_from(["new/{}", "{}", "n&w/{}", "n\u00e9w/{}", 'n"w/{}', "", "x"]),
    together=st.booleans(),
)
def test_plain_rows_are_spliced_as_others_are(
    rows: list[str], size: int, new: str, *, together: bool
) -> None:
    data = (HEAD + PLAIN * 50 + "".join(rows) + PLAIN * 20 + "</table>").encode()
    one = NewCells(one=lambda cell: NewCell(file=new.format(cell.file)))
    many = replace(one, many=lambda run: [new.format(each) for each in run.files])

    def spliced(value: NewCells) -> tuple[bytes, str]:
        given: list[bytes] = []
        blocks = (data[at : at + size] for at in range(0, len(data), size))
        try:
            for each in spliced_table(blocks, TABLE, Budgets(), value, version="2.2"):
                given.append(each)  # noqa: PERF402 -- what was given before an error counts
        except SourceError as error:
            return b"", error.message
        return b"".join(given), ""

    found = spliced(many if together else one)
    with pytest.MonkeyPatch.context() as context:
        context.setattr(tables, "_SHAPES", 0)
        assert spliced(one) == found


def test_most_rows_of_a_table_never_meet_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    fed = 0
    parse = CellReader.parse

    def counted(self: CellReader, piece: bytes) -> None:
        nonlocal fed
        fed += len(piece)
        parse(self, piece)

    monkeypatch.setattr(CellReader, "parse", counted)
    data = (HEAD + PLAIN * 5000 + "</table>").encode()
    _, found, _, _ = read(data, 1 << 18, Budgets())
    assert len(found) == 5000
    assert fed < len(data) / 10


def plain_rows() -> plainrows.PlainRows:
    usual = plainrows.usual({"file": "", "length": "", "digestType": "MD5", "digest": ""})
    rows = plainrows.pattern(TABLE.columns, {"c3": usual})
    assert rows is not None
    return rows


@pytest.mark.parametrize(
    "odd",
    [
        PLAIN.replace("row>", "other>"),
        PLAIN.replace(MD5, MD5[:-1] + "g"),
        PLAIN.replace('"3"', '"three"'),
        PLAIN.replace('"3"', f'"{"3" * 19}"'),
        PLAIN.replace('"a.bin"', '"&amp;"'),
    ],
)
def test_rows_before_one_that_is_not_plain_are_taken(odd: str) -> None:
    rows = plain_rows()
    for times in range(1, 10):
        taken = rows.take(PLAIN * times + odd + PLAIN, 0, 100)
        assert taken is not None
        assert (taken.stop, taken.count) == (100 + times * len(PLAIN) - 1, times)
        assert taken.said.starts == [100 + n * len(PLAIN) + PLAIN.index("<c3") for n in range(times)]
        assert rows.take(PLAIN.strip(), 0) is not None
    assert rows.take(odd + PLAIN, 0) is None
    assert rows.take("\n</table>", 0) is None


@pytest.mark.parametrize("text", ["", '"', f'" length="3" digestType="MD5" digest="{MD5}', LIKE_A_TAG])
def test_quotation_marks_in_texts_are_none_of_tags(text: str) -> None:
    rows = plain_rows()
    row = PLAIN.replace("<c2>a</c2>", f"<c2>{text}</c2>")
    without = "<row><c1>1</c1><c4>x</c4></row>"
    for _ in range(2):
        taken = rows.take(row + without + row, 0)
        assert taken is not None
        assert (taken.count, list(taken.rows), taken.inline) == (3, [0, 2], 1)
        assert taken.said.files == ["a.bin"] * 2
        assert taken.said.values[1] == len(row + without) + row.rindex("a.bin")


def test_values_in_the_only_column_of_lobs_are_counted() -> None:
    usual = plainrows.usual({"file": "", "length": "", "digestType": "MD5", "digest": ""})
    rows = plainrows.pattern(TABLE.columns[:3], {"c3": usual})
    assert rows is not None
    value, empty = "<row><c1>1</c1><c3>00</c3></row>", "<row><c1>1</c1><c3/></row>\n"
    for data, inline in ((PLAIN * 2, 0), (PLAIN + value + empty + PLAIN, 2), (value, 1)):
        taken = rows.take(data, 0)
        assert taken is not None
        assert (taken.inline, taken.count) == (inline, data.count("<row>"))


def test_a_table_with_a_gap_in_its_columns_has_no_plain_rows() -> None:
    assert plainrows.pattern(TABLE.columns[1:], {}) is None
    assert plainrows.pattern((), {}) is None


@pytest.mark.parametrize(
    "text",
    [b"\xff", b"\xed\xa0\x80", b"\xef\xbf\xbe", b"\xef\xbf\xbf", b"a" * (1 << 17)],
    ids=lambda each: repr(each[:9]),
)
def test_rows_with_what_xml_does_not_allow_are_not_plain(text: bytes) -> None:
    rows = plain_rows()
    plain = PLAIN.encode()
    taken = rows.take((plain * 2).decode("latin-1"), 0)
    assert taken is not None
    assert taken.count == 2
    for odd in (
        plain.replace(b"<c2>a</c2>", b"<c2>" + text + b"</c2>"),
        plain.replace(b"<c2>a</c2>", b'<c2>"' + text + b"</c2>"),
        plain.replace(b"a.bin", text),
    ):
        both = (plain + odd).decode("latin-1")
        taken = rows.take(both, 0)
        assert taken is None or (taken.count == 1 and rows.take(both, taken.stop) is None)
