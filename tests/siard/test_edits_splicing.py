import base64
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from metspack.errors import SourceError
from metspack.limits import Budgets
from metspack.model import CellRun, Digest, LobCell
from metspack.siard.edits import CellValues, Edit, edited, spliced_table
from metspack.siard.metadata import Table
from metspack.siard.offsets import Encoding
from tests.laws import law
from tests.siard.newcells import NewCell, cell_values
from tests.tables import read_table, tabled

TABLE = Table(
    schema=0,
    number=0,
    name="t",
    schema_name="s",
    folder="table0",
    schema_folder="schema0",
    rows=None,
    columns=(),
)
UTF8 = Encoding(codec="utf-8", unit=1)


def in_blocks(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    at = 0
    for size in itertools.cycle(sizes):
        if at >= len(data):
            return
        yield data[at : at + size]
        at += size


def spliced(
    data: bytes, value: str | Callable[[LobCell], str | None] = "NEW", sizes: tuple[int, ...] = (1 << 20,)
) -> bytes:
    files: dict[str, str] = {}

    def new(cell: LobCell) -> NewCell | None:
        file = value if isinstance(value, str) else value(cell)
        files[cell.place.id] = cell.file if file is None else file
        return None if file is None else NewCell(file=file)

    def together(run: CellRun) -> tuple[list[str], tuple[()]]:
        return [files[each.place.id] for each in run.cells()], ()

    one_by_one = celled(data, new, sizes=sizes)
    assert _made(data, together, "2.2", sizes) == one_by_one
    return one_by_one


def celled(
    data: bytes,
    value: Callable[[LobCell], NewCell | None],
    version: str = "2.2",
    sizes: Iterable[int] = (1 << 20,),
) -> bytes:
    return _made(data, cell_values(value), version, sizes)


def _made(data: bytes, values: CellValues, version: str, sizes: Iterable[int]) -> bytes:
    return b"".join(spliced_table(in_blocks(data, list(sizes)), TABLE, Budgets(), values, version=version))


def test_edits_are_made_in_order_of_place() -> None:
    edits = [
        Edit(start=6, stop=6, text="ü"),
        Edit(start=2, stop=4, text="X"),
        Edit(start=4, stop=6, text=""),
        Edit(start=4, stop=4, text="+"),
    ]
    assert edited(b"0123456789", edits, UTF8) == "01X+ü6789".encode()
    assert edited(b"0123", [], UTF8) == b"0123"


def test_the_new_value_is_escaped_and_encoded() -> None:
    head = b"<?xml version='1.0' encoding='ISO-8859-1'?>"
    data = head + b"<table><row><c1 file='\xe9'/></row></table>"
    assert spliced(data, "a&<>\"'\xe9\u20ac") == (
        head + b"<table><row><c1 file='a&amp;&lt;&gt;&#34;&#39;\xe9&#8364;'/></row></table>"
    )


def test_a_document_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(SourceError, match="not well-formed"):
        spliced(b"<table><row><c1 file='a'></row></table>")


def test_what_was_read_is_given_out_before_the_end() -> None:
    def blocks() -> Iterator[bytes]:
        yield b"<table>"
        for _ in range(1000):
            yield b"<row><c1 file='a'/></row>" * 100

    pieces = spliced_table(
        blocks(), TABLE, Budgets(), cell_values(lambda _cell: NewCell(file="b")), version="2.2"
    )
    assert sum(map(len, itertools.islice(pieces, 200))) > 2_000


# --- digests and lengths ------------------------------------------------------------------------------

OLD, NEW = "0f" * 16, "a1" * 16
MD5 = Digest(algorithm="MD5", value=NEW)
SHA1 = Digest(algorithm="SHA-1", value="b2" * 20)
SHA256 = Digest(algorithm="SHA-256", value="c3" * 32)
VALUES = {
    "old": OLD,
    "OLD": OLD.upper(),
    "new": NEW,
    "NEW": NEW.upper(),
    "sha1": SHA1.value,
    "sha256": SHA256.value,
    "base64": base64.b64encode(bytes.fromhex(SHA256.value)).decode(),
}


@pytest.mark.parametrize(
    ("version", "algorithm", "attributes", "expected"), read_table(__file__, "exchanged")
)
@pytest.mark.parametrize("codec", ["utf-8", "utf-16"])
def test_a_digest_is_exchanged_in_the_form_it_has(
    version: str, algorithm: str, attributes: str, expected: str, codec: str
) -> None:
    def document(inside: str, file: str) -> bytes:
        # What is added stands behind file.
        first, _, added = inside.partition(' messageDigest="')
        behind = f' messageDigest="{added}' if added else ""
        return f"<table><row><c1 {first} file='{file}'{behind} é='ü'/></row></table>".encode(codec)

    digest = next((each for each in (MD5, SHA1, SHA256) if each.algorithm == algorithm), None)
    data, whole = document(attributes.format(**VALUES), "a"), document(expected.format(**VALUES), "b")
    assert celled(data, lambda _cell: NewCell(file="b", digest=digest), version) == whole


@pytest.mark.parametrize(
    ("version", "digest", "expected"),
    [
        ("2.0", MD5, f'messageDigest="MD5{NEW}"'),
        ("2.0", SHA1, f'messageDigest="SHA-1{SHA1.value}"'),
        ("2.0", SHA256, f'messageDigest="SHA-256:{SHA256.value}"'),
        ("2.1", MD5, f'digestType="MD5" digest="{NEW}"'),
        ("2.2", SHA256, f'digestType="SHA-256" digest="{SHA256.value}"'),
    ],
)
@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "utf-16-be"])
def test_an_added_digest_fits_the_version(version: str, digest: Digest, expected: str, codec: str) -> None:
    mark = "\ufeff" if codec == "utf-16-be" else ""
    data, behind = (
        f"{mark}<table><row><c1 a='\U0001f600' {attributes}\n/></row></table>".encode(codec)
        for attributes in ("length='7' file='ä' x='y'", f"length='7' file='ä' {expected} x='y'")
    )
    assert celled(data, lambda cell: NewCell(file=cell.file, digest=digest), version) == behind
    read: list[LobCell] = []
    celled(behind, read.append, version)
    assert [each.digest for each in read] == [digest]


def test_a_value_that_is_as_it_was_keeps_its_spelling() -> None:
    data = b"<table><row><c1 file='&#97;&amp;' length=' 07 '/></row></table>"
    assert celled(data, lambda cell: NewCell(file=cell.file)) == data


@tabled
def test_a_misplaced_digest_is_refused(version: str, algorithm: str, attributes: str, words: str) -> None:
    data = f"<table><row><c1 file='a' {attributes.format(OLD=OLD)}/></row></table>".encode()
    digest = Digest(algorithm=algorithm, value="00")
    with pytest.raises(ValueError, match=words):
        celled(data, lambda _cell: NewCell(file="b", digest=digest), version)


DIGESTS = st.sampled_from([None, MD5, SHA1, SHA256])
WRITTEN = st.sampled_from(
    [
        "",
        " digest=''",
        f" digest = '{OLD}' digestType='MD5'",
        f"\tdigestType = \"sha1\" digest='{OLD}00000000'",
        f" messageDigest='MD5{OLD.upper()}'",
        f" digestType='SHA-256' messageDigest='{'0' * 43}='",
        f" digestType='MD5'\nlength='3' messageDigest=\"md5{OLD}\" digest='{OLD}'",
        " messageDigest=' '  digestType=''",
    ]
)


@given(
    st.tuples(st.sampled_from(["", " file='é'"]), WRITTEN),
    DIGESTS,
    st.sampled_from(["2.0", "2.1", "2.2"]),
    st.sampled_from(["utf-8", "utf-16", "iso-8859-1"]),
)
def test_read_back(written: tuple[str, str], digest: Digest | None, version: str, codec: str) -> None:
    inside = "".join(written) if written[0] else f"{written[1]} file='é'"
    head = f'<?xml version="1.0" encoding="{codec}"?>'
    data = f"{head}<table><row><c1{inside} other='x'/></row></table>".encode(codec)
    before: list[LobCell] = []
    after: list[LobCell] = []
    celled(data, before.append, version)
    new = NewCell(file="ü/\"<'&.bin", digest=digest)
    result = celled(data, lambda _cell: new, version)
    celled(result, after.append, version)
    assert after == [
        LobCell(
            place=before[0].place,
            file=new.file,
            digest=digest or before[0].digest,
            length=before[0].length,
        )
    ]
    assert celled(result, lambda _cell: new, version) == result
    assert etree.fromstring(result)[0][0].get("other") == "x"


# --- any document in any encoding in any blocks -------------------------------------------------------

SPACE = st.sampled_from([" ", "\n", "\t", "  \n "])
MAYBE = st.sampled_from(["", " ", "\n\t"])
TEXT = st.text(
    st.sampled_from("a>'\"/= &;<file\u00e9\u0416\u3d27\u2722\U0001f600\n\u00a0\u0085"), max_size=12
)
CODECS = ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "iso-8859-1", "windows-1252", "koi8-r", "us-ascii"]


@st.composite
def attribute(draw: st.DrawFn, name: str) -> str:
    text = draw(TEXT)
    if draw(st.booleans()):
        written = quoteattr(text)
    else:
        written = "'" + escape(text, {"'": "&#39;", "\n": "&#10;"}).replace("&gt;", ">") + "'"
    return f"{draw(SPACE)}{name}{draw(MAYBE)}={draw(MAYBE)}{written}"


@st.composite
def lob_cell(draw: st.DrawFn, name: str) -> str:
    parts = [draw(attribute("file"))]
    parts += [draw(attribute(each)) for each in draw(st.sets(st.sampled_from(["xfile", "d", "\u00e9file"])))]
    if draw(st.booleans()):
        parts.append(f"{draw(SPACE)}length='7'")
    inside = "".join(draw(st.permutations(parts)))
    return f"<{name}{inside}{draw(MAYBE)}/>" if draw(st.booleans()) else f"<{name}{inside}>x</{name}>"


NOISE = st.one_of(
    TEXT.map(escape),
    st.just("<!-- <c1 file='no'> -->"),
    st.just("<![CDATA[<c1 file='no'/>]]>"),
    st.just("<?pi file='no' > ?>"),
    st.just("&amp;&#65;"),
)


@st.composite
def row(draw: st.DrawFn) -> str:
    cells = ""
    for number in range(1, draw(st.integers(0, 4)) + 1):
        kind = draw(st.sampled_from(["lob", "text", "nested"]))
        if kind == "lob":
            cells += draw(lob_cell(f"c{number}"))
        elif kind == "text":
            cells += f"<c{number}>{draw(NOISE)}</c{number}>"
        else:
            cells += (
                f"<c{number}>{draw(lob_cell('u1'))}{draw(NOISE)}<u2>{draw(lob_cell('a1'))}</u2></c{number}>"
            )
    return f"<row>{cells}{draw(NOISE)}</row>"


@st.composite
def document(draw: st.DrawFn) -> tuple[bytes, str]:
    codec = draw(st.sampled_from(CODECS))
    declared = {"utf-8-sig": "UTF-8", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}.get(codec, codec)
    rows = "".join(draw(st.lists(row(), max_size=4)))
    # A name cannot be written as a reference, so it is left out where the encoding has no such letter.
    if codec in {"us-ascii", "koi8-r"}:
        rows = rows.replace("\u00e9file", "efile")
    text = f'<?xml version="1.0" encoding="{declared}"?>{draw(MAYBE)}<table>{rows}</table>{draw(MAYBE)}'
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(codec, b"")
    # Inside comments and the like nothing that would need a reference is written.
    return mark + text.encode(codec, "xmlcharrefreplace"), codec


@law(60)
@given(document(), st.lists(st.integers(1, 60), min_size=1, max_size=5), TEXT)
def test_all_but_the_values_of_file_is_the_same(made: tuple[bytes, str], sizes: list[int], new: str) -> None:
    data, codec = made
    numbers = itertools.count()
    values: list[str] = []
    olds: list[str] = []

    def value(cell: LobCell) -> str:
        olds.append(cell.file)
        values.append(f"{new}\u20ac{next(numbers)}".replace("\n", " "))
        return values[-1]

    result = spliced(data, value, tuple(sizes))
    before, after = (list(etree.fromstring(each).iter(etree.Element)) for each in (data, result))
    holders = [each for each in after if "file" in each.attrib]
    assert [each.get("file") for each in holders] == values
    assert [each.get("file") for each in before if "file" in each.attrib] == olds
    # Put the same word in all values of both: what is left must be the same bytes.
    assert blanked(data, codec) == blanked(result, codec)
    assert celled(data, lambda _cell: None) == data


def blanked(data: bytes, codec: str) -> str:
    """Return the document with each LOB cell's ``file`` emptied, by another reader of tags."""
    text = data.decode(codec.replace("-sig", ""))
    pieces = re.split(r"(<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>)", text, flags=re.DOTALL)
    tag = re.compile(r"""<[a-z][a-z0-9]*(?:[ \n\t]+[^ \n\t=/<>]+[ \n\t]*=[ \n\t]*(?:"[^"]*"|'[^']*'))+""")
    value = re.compile(r"""([ \n\t]file[ \n\t]*=[ \n\t]*)(?:"[^"]*"|'[^']*')""")

    def empty(found: re.Match[str]) -> str:
        attributes = re.split(r"""([ \n\t]+[^ \n\t=/<>]+[ \n\t]*=[ \n\t]*(?:"[^"]*"|'[^']*'))""", found[0])
        return "".join(
            value.sub(r"\1", each) if re.match(r"[ \n\t]+file[ \n\t]*=", each) else each
            for each in attributes
        )

    return "".join(each if number % 2 else tag.sub(empty, each) for number, each in enumerate(pieces))
