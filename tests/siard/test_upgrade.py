"""Metadata and tables of SIARD 1.0 become those of 2.2 with every value, or are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from metspack.errors import SourceError
from metspack.siard import metadata, schemas
from metspack.siard.offsets import Encoding
from metspack.siard.upgrade import name_faults, root_edits, upgraded_metadata
from metspack.siard.upgradedtables import columns_with_files, table_schema, table_schemas, upgraded_table
from tests.laws import law, of_each
from tests.shared_data import shared
from tests.siard.old_archives import METADATA_XML, TABLE_XML
from tests.tables import read_table, tabled

TABLE = metadata.read(METADATA_XML.encode()).tables[0]
SPACE = "{http://www.bar.admin.ch/xmlns/siard/2/metadata.xsd}"
FOLDERS = "SIARD 2.2 has no folder of a column: left out, for cells name their entries in full"
ACTION = "the updateAction of a foreign key that SIARD 2.2 lacks is left out"
DATED = "<c1>1</c1><c2>2001-02-03T04:05:06.789Z</c2>"


def made(text: str = METADATA_XML) -> etree._Element:
    return etree.fromstring(upgraded_metadata(text.encode())[0])


def leaves(root: etree._Element) -> Iterator[tuple[str, str]]:
    """Yield the texts of a document with the local names on the way to each."""
    for each in root.iter("*"):
        if not len(each):
            way = [etree.QName(one).localname for one in (*reversed(list(each.iterancestors())), each)]
            yield "/".join(way), each.text or ""


def table(rows: str, root: str = "<table>") -> bytes:
    return f"{root}{rows}</table>".encode()


def survey(document: bytes, block: int = 1 << 16) -> set[int]:
    blocks = (document[at : at + block] for at in range(0, len(document), block))
    return set(columns_with_files(blocks, TABLE, "old.siard"))


def upgraded(document: bytes, block: int = 1 << 16) -> bytes:
    blocks = (document[at : at + block] for at in range(0, len(document), block))
    return b"".join(upgraded_table(blocks, TABLE))


def test_the_metadata_is_valid_by_the_official_schema_and_by_the_own_one() -> None:
    root = made()
    own = etree.XMLSchema(etree.fromstring(schemas.metadata_schema()))
    own.assertValid(root)
    assert schemas.faults(etree.tostring(root)) == []
    etree.XMLSchema(etree.parse(shared("data", "xsd", "siard-2.2-metadata.xsd"))).assertValid(root)


def test_every_value_is_kept_but_those_that_are_reported() -> None:
    before = sorted(leaves(etree.fromstring(METADATA_XML.encode())))
    after = sorted(leaves(made()))
    lost = [each for each in before if each not in after]
    new = [each for each in after if each not in before]
    column, key = "siardArchive/schemas/schema/tables/table/columns/column", "foreignKeys/foreignKey"
    above = "siardArchive/schemas/schema"
    assert lost == [
        ("siardArchive/messageDigest", "MD5D41D8CD98F00B204E9800998ECF8427E"),
        (f"{column}/folder", "lob3"),
        (f"{column}/folder", "lob4"),
        (f"{column}/type", "TIMESTAMP(6) WITH TIME ZONE"),
        (f"{column}/type", "integer"),
        (f"{above}/tables/table/{key}/deleteAction", "set  null"),
        (f"{above}/tables/table/{key}/updateAction", "ON UPDATE SOMETHING"),
    ]
    assert new == [
        ("siardArchive/messageDigest/digest", "D41D8CD98F00B204E9800998ECF8427E"),
        ("siardArchive/messageDigest/digestType", "MD5"),
        (f"{above}/routines/routine/specificName", "R"),
        (f"{above}/routines/routine/specificName", "R_2"),
        (f"{above}/routines/routine/specificName", "R_3"),
        (f"{column}/type", "INTEGER"),
        (f"{column}/type", "TIMESTAMP WITH TIME ZONE(6)"),
        (f"{above}/tables/table/{key}/deleteAction", "SET NULL"),
        (f"{above}/tables/table/primaryKey/name", "PK_T"),
    ]
    assert upgraded_metadata(METADATA_XML.encode())[1] == (
        f"{FOLDERS}: 2, the first 'lob3' of table S x.T, column words",
        "a primary key has a name in SIARD 2.2, so one was made: PK_T of S x.T",
        f"{ACTION}: 'ON UPDATE SOMETHING' of foreign key FK of S x.T",
        "routines of one name have specific names in SIARD 2.2, so some were made: R_3 of schema S x",
    )


def test_other_bytes_stay() -> None:
    text = METADATA_XML.replace("<dbname>", "<!-- who knows -->\n  <dbname>")
    upgraded = upgraded_metadata(text.encode())[0].decode()
    assert '<?xml-stylesheet type="text/xsl" href="metadata.xsl"?>' in upgraded
    assert "<!-- who knows -->\n  <dbname>Old</dbname>" in upgraded
    assert "<name>S\\u0020x</name>" in upgraded


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_documents_in_any_encoding_are_taken(encoding: str) -> None:
    text = METADATA_XML.replace("UTF-8", encoding).replace("Nobody", "Grüße")
    root = etree.fromstring(upgraded_metadata(text.encode(encoding))[0])
    assert root.findtext(f"{SPACE}dataOwner") == "Grüße"
    assert root.get("version") == "2.2"


def test_a_prefix_stays() -> None:
    text = re.sub(r"<(/?)([a-zA-Z])", r"<\1s:\2", METADATA_XML).replace(" xmlns=", " xmlns:s=")
    assert (
        made(text).findtext(
            f"{SPACE}schemas/{SPACE}schema/{SPACE}tables/{SPACE}table/{SPACE}primaryKey/{SPACE}name"
        )
        == "PK_T"
    )


def test_what_is_missing_is_added_and_what_says_nothing_goes() -> None:
    text = METADATA_XML.replace("ON UPDATE SOMETHING", " ")
    text = re.sub(r"\s*<users>.*</users>", "", text, flags=re.DOTALL)
    text = re.sub(r"<messageDigest>.*</messageDigest>", "<messageDigest/>", text)
    upgraded = upgraded_metadata(text.encode())
    root = etree.fromstring(upgraded[0])
    assert root.find(f"{SPACE}users") is not None
    assert root.find(f"{SPACE}messageDigest") is None
    assert not [each for each in upgraded[1] if "Digest" in each or "updateAction" in each]


@tabled
def test_digests_without_a_form_are_left_out_and_reported(old: str, new: str, note: str) -> None:
    upgraded = upgraded_metadata(METADATA_XML.replace(old, new).encode())
    assert upgraded[1][0].startswith("a messageDigest that SIARD 2.2 has no form for is left out: ")
    assert note in upgraded[1][0]


def test_what_is_as_in_2_2_already_stays() -> None:
    digest = "<messageDigest><digestType>MD5</digestType><digest>00</digest></messageDigest>"
    text = re.sub("<messageDigest>.*</messageDigest>", digest, METADATA_XML)
    text = text.replace(
        "<name>R</name>\n          <source>",
        "<specificName>own</specificName><name>R</name>\n          <source>",
    )
    text = text.replace("<primaryKey>", "<primaryKey><name>own</name>").replace("set  null", "CASCADE")
    root = made(text)
    assert root.findtext(f"{SPACE}messageDigest/{SPACE}digest") == "00"
    assert [each.text for each in root.iter(f"{SPACE}specificName")] == ["own", "R", "R_2"]
    assert [each.text for each in root.iter(f"{SPACE}deleteAction")] == ["CASCADE"]


@of_each(read_table(__file__, "refused"))
def test_what_2_2_lacks_is_refused_by_table_and_column(old: str, new: str, reason: str) -> None:
    assert old in METADATA_XML
    with pytest.raises(SourceError, match=re.escape(reason)) as refused:
        upgraded_metadata(METADATA_XML.replace(old, new, 1).encode(), what="old.siard")
    assert refused.value.message.startswith("old.siard cannot be written as SIARD 2.2: ")
    assert "--siard-version" in refused.value.hint


def test_all_faults_are_reported_at_once() -> None:
    text = METADATA_XML.replace("BLOB", "BIT").replace("SMALLINT", "BIT VARYING(3)")
    with pytest.raises(SourceError, match=r"column bytes .*\(2 faults in all\)") as refused:
        upgraded_metadata(text.encode())
    assert len(refused.value.details) == 1


def test_names_of_entries_are_letters_digits_and_one_extension() -> None:
    good = ("content/", "content/schema0/table0/lob1/record0.bin", "header/metadata.xml", "a_1")
    assert list(name_faults(good)) == []
    bad = ("content/0/", "a b", "a.b.c", "x/_", "ä.bin")
    assert [each.split("'")[1] for each in name_faults(bad)] == list(bad)


# --- Tables -----------------------------------------------------------------------------------------------


def test_a_table_keeps_every_byte_but_root_and_digests() -> None:
    made = upgraded(TABLE_XML.encode()).decode()
    space = "http://www.bar.admin.ch/xmlns/siard/2/table.xsd"
    assert made == TABLE_XML.replace("http://www.admin.ch/xmlns/siard/1.0/schema0/table0.xsd", space).replace(
        "<table ", '<table version="2.2" '
    ).replace(
        'messageDigest="MD58B04D5E3775D298E78455EFC5CA404D5"',
        'digestType="MD5" digest="8B04D5E3775D298E78455EFC5CA404D5"',
    ).replace("\n    messageDigest=''", "\n   ")


def test_an_upgraded_table_is_valid_by_its_schema() -> None:
    own = etree.XMLSchema(etree.fromstring(table_schema(TABLE, survey(TABLE_XML.encode()))))
    own.assertValid(etree.fromstring(upgraded(TABLE_XML.encode())))
    [(name, schema)] = table_schemas([TABLE], {}).items()
    assert name == "content/schema0/table0/table0.xsd"
    assert b'name="c3" type="xs:string"' in schema()


@law(30)
@given(st.integers(1, 400), st.sampled_from(["utf-8", "utf-16", "iso-8859-1"]))
def test_blocks_of_any_size_and_any_encoding_give_the_same(block: int, encoding: str) -> None:
    document = TABLE_XML.replace("UTF-8", encoding).encode(encoding)
    whole = upgraded(document)
    assert upgraded(document, block) == whole
    assert survey(document, block) == {3, 4}
    assert etree.fromstring(whole).get("version") == "2.2"


@pytest.mark.parametrize(
    ("root", "expected"),
    [*read_table(__file__, "roots"), ("<table x:schemaLocation='urn:old a.xsd'>", None)],
)
def test_roots_of_any_form_get_namespace_and_version(root: str, expected: str | None) -> None:
    data, text = root.encode(), root
    prefix = "a" if root.startswith("<a:") else ""
    for edit in reversed(root_edits(data, 0, Encoding(codec="utf-8", unit=1), prefix, "urn:new")):
        text = text[: edit.start] + edit.text + text[edit.stop :]
    assert text == (expected or '<table xmlns="urn:new" version="2.2" x:schemaLocation=\'urn:old a.xsd\'>')


@of_each(
    [
        *read_table(__file__, "rows"),
        (f"<row><c1>1</c1><c3 messageDigest='SHA-512{'0' * 128}'/></row>", "is not a digest that"),
        (f"<row><c1>1</c1><c3 messageDigest='MD5{'0' * 32}' digest='0'/></row>", "it has two digests"),
    ]
)
def test_rows_that_2_2_cannot_have_are_refused_by_table_column_and_row(rows: str, reason: str) -> None:
    with pytest.raises(SourceError, match=re.escape(reason)) as refused:
        survey(table(rows))
    assert "table0.xml line" in refused.value.message or "table S x.T, " in refused.value.message


def test_of_a_long_text_the_beginning_is_shown() -> None:
    with pytest.raises(SourceError, match=f"row 1: '{'9' * 100}' is not a time"):
        survey(table(f"<row><c1>1</c1><c2>{'9' * 100_000}</c2></row>"), block=1000)


def test_a_table_that_ends_too_soon_is_refused() -> None:
    with pytest.raises(SourceError, match=r"table0\.xml line 1: not well-formed"):
        upgraded(b"<table><row>")


def test_good_rows_are_taken() -> None:
    assert survey(table(f"<row>{DATED}</row><row><c1>2</c1><c3>x</c3></row>")) == set()
    assert survey(table(f"<row><c1>1</c1><c3 messageDigest='MD5{'0' * 32}'>x</c3></row>")) == {3}
