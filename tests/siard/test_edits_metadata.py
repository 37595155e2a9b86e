import re

import pytest
from lxml import etree

from metspack.digests import Hashers
from metspack.siard.edits import LobFolders, edited_metadata
from tests.shared_data import shared
from tests.siard.forging import NEW_MD5, OLD_MD5, Table, column, field, metadata
from tests.tables import read_table, tabled

VERSIONS = ["1.0", "2.0", "2.1", "2.2"]
TABLE = Table(columns=(column("ID", "INTEGER"), column("DATA")))
OTHER = Table(folder="table1", name="u", columns=(column("DATA"), column("MORE")))


def after(document: bytes, folders: LobFolders | None) -> str:
    return edited_metadata(document, Hashers(["MD5"]), folders).decode()


def columns(text: str) -> list[str]:
    return re.findall("<column>.*?</column>", text, re.DOTALL)


SIARD22 = LobFolders(
    database="./Northwind_lobs/",
    columns={TABLE.path: {2: "s0_t0_c2/"}, OTHER.path: {1: "s0_t1_c1/", 2: "s0_t1_c2/"}},
)
SFA = LobFolders(
    columns={TABLE.path: {2: "../Northwind_lobs/s0_t0_c2/"}, OTHER.path: {1: "../Northwind_lobs/s0_t1_c1/"}}
)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("lob_folder", [None, "", "old/"])
def test_each_column_has_its_own_folder_below_the_databases(version: str, lob_folder: str | None) -> None:
    text = after(metadata(version, [TABLE, OTHER], lob_folder=lob_folder), SIARD22)
    assert "</dataOriginTimespan>\n <lobFolder>./Northwind_lobs/</lobFolder>\n <archivalDate>" in text
    id_, *others = columns(text)
    assert "<lobFolder>" not in id_
    for each, folder in zip(others, ("s0_t0_c2/", "s0_t1_c1/", "s0_t1_c2/"), strict=True):
        assert f"</name>\n     <lobFolder>{folder}</lobFolder>\n     <type>" in each


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("lob_folder", [None, "", "old/"])
def test_a_style_may_have_no_folder_of_the_database(version: str, lob_folder: str | None) -> None:
    text = after(metadata(version, [TABLE, OTHER], lob_folder=lob_folder), SFA)
    assert "</dataOriginTimespan>\n <archivalDate>" in text
    assert re.findall("<lobFolder>(.*?)</lobFolder>", text.partition("-->")[2]) == [
        "../Northwind_lobs/s0_t0_c2/",
        "../Northwind_lobs/s0_t1_c1/",
    ]


def structured(version: str) -> str:
    return column(
        "S",
        folder="lob1",
        lob_folder="x",
        fields=field("f" if version != "2.0" else "", folder="u1", lob_folder="y"),
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_all_lobs_inside_need_no_folder_at_all(version: str) -> None:
    table = Table(columns=(structured(version), column("D", lob_folder="z")))
    text = after(metadata(version, [table], lob_folder="old/"), LobFolders())
    assert text.count("lobFolder>") == 2  # in a comment
    assert "<folder>lob1</folder>" in text
    assert "<folder>u1</folder>" in text


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
@pytest.mark.parametrize("prefix", ["", "s"])
def test_a_folder_is_escaped_and_encoded(codec: str, prefix: str) -> None:
    document = metadata("2.2", [TABLE], codec=codec, prefix=prefix, lob_folder="")
    new = edited_metadata(
        document, Hashers(()), LobFolders(database="a&b\u20ac/", columns={TABLE.path: {2: "<c>/"}})
    )
    found = [each.text for each in etree.fromstring(new).iter("{*}lobFolder")]
    assert found == ["a&b\u20ac/", "<c>/"]


@pytest.mark.parametrize(("pattern", "replacement", "expected"), read_table(__file__, "places"))
def test_a_folder_is_put_in_its_place(pattern: str, replacement: str, expected: str) -> None:
    document = re.sub(pattern, replacement, metadata("1.0", [TABLE]).decode()).encode()
    text = after(document, LobFolders(database="./", columns={TABLE.path: {2: "./"}}))
    assert expected in text
    assert text.count("<lobFolder>./") == 2


@pytest.mark.parametrize("digests", [OLD_MD5, NEW_MD5, ""])
def test_without_folders_nothing_but_the_digest_is_another(digests: str) -> None:
    document = metadata("2.2", [TABLE], lob_folder="old/", digests=digests.format(MD5="A" * 32, md5="a" * 32))
    seals = Hashers(["MD5"])
    seals.update(b"new content")
    new = edited_metadata(document, seals, None)
    value = seals.digest("MD5").value
    assert new == document.replace(b"a" * 32, value.encode()).replace(b"A" * 32, value.upper().encode())


@tabled
@pytest.mark.parametrize("folders", [SIARD22, SFA, LobFolders(renamed={TABLE.path: {2}})])
def test_every_style_is_valid_against_the_official_schema(
    version: str, xsd: str, lob_folder: str | None, folders: LobFolders
) -> None:
    schema = etree.XMLSchema(etree.parse(shared("data", "xsd", f"{xsd}-metadata.xsd")))
    document = metadata(version, [TABLE, OTHER], lob_folder=lob_folder)
    schema.assertValid(etree.fromstring(document))
    schema.assertValid(etree.fromstring(edited_metadata(document, Hashers(()), folders)))
