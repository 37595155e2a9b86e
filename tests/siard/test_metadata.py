from pathlib import Path

import pytest

from metspack import safexml
from metspack.errors import SourceError
from metspack.model import Digest
from metspack.siard.metadata import Field, read, unescaped
from tests.laws import of_each
from tests.tables import read_table, tabled

MD5 = "0123456789abcdef0123456789abcdef"
SHA = "0" * 64

METADATA = Path(__file__).with_suffix(".xml").read_text(encoding="utf-8")


def with_tables(*folders: str, schemas: tuple[str, ...] = ("schema0",)) -> bytes:
    tables = "".join(
        f"<table><name>n{n}</name><folder>{each}</folder></table>" for n, each in enumerate(folders)
    )
    inner = "".join(
        f"<schema><name>s</name><folder>{each}</folder><tables>{tables}</tables></schema>" for each in schemas
    )
    return f'<siardArchive version="2.1"><schemas>{inner}</schemas></siardArchive>'.encode()


def test_the_archive_describes_itself() -> None:
    found = read(METADATA.encode())
    assert found.version == "2.2"
    assert found.dbname == r"Data base \u0041"
    assert (found.description, found.data_owner, found.origin_timespan) == ("d", "owner", "1999")
    assert found.product == "Prod"
    assert found.lob_folder == ".. /lobs"
    assert found.digests == (Digest(algorithm="MD5", value=MD5),)
    assert found.unread_digests == ("00",)


def test_tables_are_numbered_by_their_folders() -> None:
    first, second = read(METADATA.encode()).tables
    assert (first.schema, first.number, first.rows) == (1, 7, 12)
    assert first.label == "sa.t"
    assert first.path == "content/schema1/table7/table7.xml"
    assert first.folder_path == "content/schema1/table7"
    assert (second.number, second.folder, second.rows) == (9, "table9", None)


def test_columns_have_their_fields() -> None:
    a, b, c = read(METADATA.encode()).tables[0].columns
    assert (a.number, a.name, a.type, a.is_lob) == (1, "a", "INTEGER", False)
    assert (b.lob_folder, b.mime_type, b.is_lob) == ("x/", "image/png", True)
    assert c.folder == "lob3"
    assert c.fields[0] == Field(
        number=1, name="f", type="", lob_folder=None, folder=None, mime_type=None, fields=()
    )
    assert c.fields[1].lob_folder is None
    assert c.fields[1].fields[0].mime_type == "text/plain"


@tabled
def test_a_cell_path_is_followed_as_far_as_it_goes(cell: str, names: list[str]) -> None:
    table = read(METADATA.encode()).tables[0]
    assert [each.name for each in table.chain(cell)] == names


@of_each(read_table(__file__, "types"))
def test_large_objects_are_recognised_by_their_types(sql: str, is_lob: bool) -> None:
    column = Field(number=1, name="", type=sql, lob_folder=None, folder=None, mime_type=None, fields=())
    assert column.is_lob is is_lob


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"MD5{MD5.upper()}", Digest(algorithm="MD5", value=MD5)),
        (f"SHA-256:{SHA}", Digest(algorithm="SHA-256", value=SHA)),
    ],
)
def test_digests_of_older_versions_are_text(text: str, expected: Digest) -> None:
    data = f'<siardArchive version="1.0"><messageDigest>{text}</messageDigest></siardArchive>'.encode()
    assert read(data).digests == (expected,)


def test_a_digest_not_understood_is_distinguished() -> None:
    found = read(b'<siardArchive version="1.0"><messageDigest>soon</messageDigest></siardArchive>')
    assert (found.digests, found.unread_digests) == ((), ("soon",))


@pytest.mark.parametrize("folder", ["", " ", "/", "a/b", ".", ".."])
def test_a_folder_that_is_none_is_refused(folder: str) -> None:
    with pytest.raises(SourceError, match=r"line 1: table n0 has the folder .*, expected one folder name"):
        read(with_tables(folder))


def test_a_folder_that_is_missing_is_refused() -> None:
    data = b'<siardArchive version="2.1"><schemas><schema><tables/></schema></schemas></siardArchive>'
    with pytest.raises(SourceError, match=r"schema \(unnamed\) has the folder ''"):
        read(data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (with_tables("table1", "table1"), "table n1 has the folder 'table1', which table n0 has too"),
        (
            with_tables("t", schemas=("schema0", "schema0")),
            "schema s has the folder 'schema0', which schema s has too",
        ),
    ],
)
def test_a_folder_that_two_share_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        read(data)


@pytest.mark.parametrize("version", ["1.0", "2.0", "2.1", "2.2"])
def test_supported_versions_are_read(version: str) -> None:
    assert read(f'<siardArchive version="{version}"/>'.encode()).version == version


@pytest.mark.parametrize(
    ("attribute", "message"), [("", r"\(none\)"), ('version="3.0"', "3.0"), ('version="2"', "2")]
)
def test_an_unknown_version_is_refused_naming_the_supported(attribute: str, message: str) -> None:
    with pytest.raises(SourceError, match=f"version {message}, expected one of 1.0, 2.0, 2.1, 2.2"):
        read(f"<siardArchive {attribute}/>".encode())


@pytest.mark.parametrize("root", ["html", "views", "users"])
def test_another_document_is_refused_by_its_root(root: str) -> None:
    with pytest.raises(SourceError, match=f"begins with <{root}>, expected <siardArchive>"):
        read(f"<{root}/>".encode())


def test_a_document_nested_too_deep_is_refused() -> None:
    with pytest.raises(safexml.XmlError, match="nested more than 3 deep"):
        read(METADATA.encode(), depth=3)


def test_only_escapes_of_two_digits_are_undone() -> None:
    assert unescaped(r"\u0041\u00e9\u1234\u00zz") == r"\u0041é\u1234\u00zz".replace(r"\u0041", "A")
