import re

import pytest

from metspack.checking.eark.faults import registered_types
from metspack.sources.mediatypes import BY_EXTENSION, DEFAULT, REGISTERED, another_type, media_type
from tests.laws import of_each
from tests.tables import read_table


@pytest.mark.parametrize(
    ("declared", "extension", "expected"),
    [*read_table(__file__, "declared"), (None, "JPG", "image/jpeg"), (None, "", DEFAULT)],
)
def test_the_column_says_or_the_extension_does(declared: str | None, extension: str, expected: str) -> None:
    assert media_type(declared, extension) == expected


def test_the_table_is_sorted_and_well_formed() -> None:
    assert list(BY_EXTENSION) == sorted(BY_EXTENSION)
    assert all(re.fullmatch(r"[a-z0-9]+", key) for key in BY_EXTENSION)
    assert all(media_type(value, "") == value for value in BY_EXTENSION.values())


def test_every_media_type_that_an_extension_stands_for_is_on_the_list_of_iana() -> None:
    assert set(BY_EXTENSION.values()) <= registered_types()


def test_only_names_outside_the_list_are_replaced_by_those_on_it() -> None:
    assert list(REGISTERED) == sorted(REGISTERED)
    assert set(REGISTERED.values()) <= registered_types()
    assert registered_types().isdisjoint(REGISTERED)


@of_each(read_table(__file__, "heads"))
def test_media_types_are_compared_with_the_first_bytes(kind: str, head: str, actual: str) -> None:
    assert another_type(kind, head.encode("latin-1")) == (actual or None)
