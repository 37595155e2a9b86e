"""Types of SQL in SIARD 2.2: those of the official schema, in notations that mean the same in SIARD 1.0."""

from __future__ import annotations

import re
from functools import cache

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from metspack.siard import schemas
from tests.laws import law, of_each
from tests.shared_data import shared
from tests.tables import read_table, tabled

_NAMES = read_table(__file__, "names")
_SIZES = ("", "(1)", "(0)", "(10, 2)", "( 7 )", "(2G)", "(3 K)", " (12)", "(x)", "(1")


@cache
def official() -> re.Pattern[str]:
    """Return the types that the official schema of 2.2 has; it has them as regular expressions."""
    root = etree.parse(shared("data", "xsd", "siard-2.2-metadata.xsd")).getroot()
    space = "{http://www.w3.org/2001/XMLSchema}"
    [kind] = [
        each for each in root.iterfind(f"{space}simpleType") if each.get("name") == "predefinedTypeType"
    ]
    return re.compile("|".join(f"(?:{each.get('value')})" for each in kind.iter(f"{space}pattern")), re.ASCII)


types = st.builds(
    "".join, st.tuples(st.sampled_from(_NAMES), st.sampled_from(_SIZES), st.sampled_from(("", " ")))
)


@law(300)
@given(types)
def test_a_type_is_taken_as_it_is_exactly_where_the_official_schema_has_it(text: str) -> None:
    assert (schemas.notation(text) == text) == (official().fullmatch(text) is not None)


@law(300)
@given(types, st.booleans(), st.sampled_from((" ", "  ", "\n ")))
def test_what_is_written_is_a_type_of_the_official_schema_and_stays(text: str, lower: bool, gap: str) -> None:
    written = schemas.notation((text.lower() if lower else text).replace(" ", gap))
    if written is not None:
        assert official().fullmatch(written)
        assert schemas.notation(written) == written
        assert schemas.cell_type(written, has_files=False) is not None


@of_each(
    [
        *read_table(__file__, "notations"),
        *((text, None) for text in ("BIT(1)", "BIT VARYING(8)", "money", "")),
    ]
)
def test_other_notations_become_that_of_siard(text: str, written: str | None) -> None:
    assert schemas.notation(text) == written


@tabled
def test_cells_have_the_types_of_the_standard(text: str, kind: str | None, with_files: str | None) -> None:
    assert schemas.cell_type(text, has_files=False) == kind
    assert schemas.cell_type(text, has_files=True) == with_files


def test_the_patterns_are_those_of_xml_schema_too() -> None:
    etree.XMLSchema(etree.fromstring(schemas.metadata_schema()))
