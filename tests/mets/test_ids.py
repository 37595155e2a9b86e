import re
import unicodedata
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from metspack.errors import ConfigError
from metspack.mets.ids import (
    child_objid,
    element_id,
    given_name,
    given_objid,
    is_readable,
    loose_objid,
    name_history,
    name_words,
    ncname,
    package_name,
    package_objid,
)
from metspack.siard.offsets import document
from tests.tables import tabled

METADATA = """<siardArchive version="2.2"><dbname>Näme</dbname>{database}{digest}<schemas>
<schema><name>s</name>
<tables><table><name>t</name><columns><column><name>c</name>{column}<type>BLOB</type></column></columns>
</table></tables></schema></schemas></siardArchive>"""


def objid(
    name: str = "Northwind", *, database: str = "", digest: str = "", column: str = "", text: str = METADATA
) -> str:
    filled = text.format(database=database, digest=digest, column=column)
    return package_objid(name, document(filled.encode()))


@tabled
def test_names_are_letters_digits_hyphen_and_underline(stem: str, name: str) -> None:
    assert package_name(stem) == name


@given(st.text())
def test_a_name_is_one_safe_word_or_an_error(stem: str) -> None:
    if not any(each.isalnum() for each in unicodedata.normalize("NFC", stem)):
        with pytest.raises(ConfigError) as caught:
            package_name(stem)
        assert "--name Northwind" in caught.value.hint
        return
    name = package_name(stem)
    assert re.fullmatch(r"[A-Za-z0-9_-]+", name)
    assert package_name(name) == name
    assert package_name(unicodedata.normalize("NFD", stem)) == name
    is_same = unicodedata.normalize("NFC", stem) == name
    assert (name_words(stem, None) == ()) == is_same
    assert is_same <= is_readable(stem)
    assert name_words(stem, "N") == ()
    assert len(name_history(stem, None, name)) == (not is_same)
    assert name_history(stem, None, f"{name}-other") == ()


@pytest.mark.parametrize("stem", ["", "(...)", "___"])
def test_a_stem_without_letter_or_digit_names_nothing(stem: str) -> None:
    with pytest.raises(ConfigError, match="no package name can be made from"):
        package_name(stem)


@pytest.mark.parametrize(
    ("stem", "name"), [("архив", "SIARD-0d2913c1"), ("数据库", "SIARD-263200d7"), ("Ünï", "Ueni")]
)
def test_a_stem_in_another_script_gives_a_name_of_its_own(stem: str, name: str) -> None:
    assert package_name(stem) == name
    for words in name_words(stem, None):
        assert f" to {name} (" in words
        assert words.endswith("choose another name with --name")


@tabled
def test_a_name_given_must_be_one(name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        given_name(name)
    assert "Northwind" in caught.value.hint


def test_a_name_given_becomes_what_a_stem_would() -> None:
    assert given_name("My.Base") == "My_Base"


def test_a_name_that_was_changed_is_reported_and_noted_as_it_was() -> None:
    (words,) = name_words("Kørekort ß", None)
    assert words == (
        "renamed 'Kørekort ß' to Koerekort_ss (allowed: ASCII letters, digits, _ and -); "
        "choose another name with --name"
    )
    assert name_words("x", "Kørekort")[0].startswith("renamed 'Kørekort' to Koerekort (")
    assert name_history("Kørekort ß", None, "Koerekort_ss") == ("name of the source 'Kørekort ß'",)
    assert name_history("x", "a\u0308\ud800", "ae_") == ("name of the source 'ä\\ud800'",)


@pytest.mark.parametrize("value", ["ID.AVID.RA.18005", "urn:uuid:1-2", "a/b?c=%20d", "x~y!$&'()*+,;=@"])
def test_an_objid_that_can_be_a_link_is_taken_as_it_is(value: str) -> None:
    assert given_objid(value) == value


@pytest.mark.parametrize(
    ("value", "wrong"), [("a b", "' '"), ("a%zz", "'%'"), ("ä", "'ä'"), ("<a>", "'<' '>'"), ("a#b", "'#'")]
)
def test_an_objid_that_cannot_be_a_link_is_refused_naming_what_is_wrong(value: str, wrong: str) -> None:
    with pytest.raises(ConfigError) as caught:
        given_objid(value)
    assert f"holds {wrong}, which" in caught.value.message


@pytest.mark.parametrize("value", ["", " \t"])
def test_an_empty_objid_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match="the OBJID is empty"):
        given_objid(value)


def test_a_package_has_a_uuid_urn() -> None:
    found = objid()
    assert found.startswith("urn:uuid:")
    assert uuid.UUID(found.removeprefix("urn:uuid:")).version == 5
    assert given_objid(found) == found


def test_folders_digests_and_indentation_do_not_count() -> None:
    moved = objid(
        database="\n  <lobFolder>./</lobFolder>",
        digest="<messageDigest><digestType>MD5</digestType><digest>00</digest></messageDigest>",
        column="\n <lobFolder>x</lobFolder><folder>lob1</folder>",
    )
    assert moved == objid()
    assert objid(text=METADATA.replace("><", ">\n\t<")) == objid()


@tabled
def test_everything_else_counts(old: str, new: str) -> None:
    assert objid(text=METADATA.replace(old, new)) != objid()


def test_the_name_counts() -> None:
    assert objid("Southwind") != objid()


def test_where_an_element_ends_counts() -> None:
    one = package_objid("n", document(b"<a><b><c/></b></a>"))
    assert one != package_objid("n", document(b"<a><b/><c/></a>"))


def test_element_ids_are_made_from_what_they_name() -> None:
    assert element_id("o", "p") == element_id("o", "p")
    assert len({element_id(a, b) for a in "op" for b in "pq"}) == 4
    assert re.fullmatch(r"ID[0-9a-f-]{36}", element_id("o", "p"))


@given(st.text())
def test_an_ncname_is_one(text: str) -> None:
    etree.fromstring(f"<{ncname(text)}/>")


@pytest.mark.parametrize(
    ("text", "name"), [("a.b-c_1", "a.b-c_1"), ("1a", "_1a"), ("a:b", "a_b"), ("", "_"), ("-", "_-")]
)
def test_an_ncname_keeps_what_it_can(text: str, name: str) -> None:
    assert ncname(text) == name


def test_a_child_is_named_by_its_segment() -> None:
    assert child_objid("Northwind_lobseg_0") == "ID_Northwind_lobseg_0_mets"


def test_lobs_without_an_archive_have_an_objid_of_their_name_and_content() -> None:
    found = [loose_objid(*each) for each in (("Scans", "a"), ("Scans", "a"), ("Scans", "b"), ("Maps", "a"))]
    assert found[0] == found[1]
    assert len(set(found)) == 3
    assert all(re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", each) for each in found)
