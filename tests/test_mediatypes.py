import re

import pytest

from metspack.mediatypes import BY_EXTENSION, DEFAULT, media_type


@pytest.mark.parametrize(
    ("declared", "extension", "expected"),
    [
        ("image/png", "bin", "image/png"),
        (" image/png ", "bin", "image/png"),
        ("application/vnd.a+xml", "txt", "application/vnd.a+xml"),
        (None, "JPG", "image/jpeg"),
        ("", "pdf", "application/pdf"),
        ("picture", "tif", "image/tiff"),
        ("image/png; q=1", "png", "image/png"),
        ('image/"png', "unheard-of", DEFAULT),
        (None, "", DEFAULT),
    ],
)
def test_the_column_says_or_the_extension_does(declared: str | None, extension: str, expected: str) -> None:
    assert media_type(declared, extension) == expected


def test_the_table_is_sorted_and_well_formed() -> None:
    assert list(BY_EXTENSION) == sorted(BY_EXTENSION)
    assert all(re.fullmatch(r"[a-z0-9]+", key) for key in BY_EXTENSION)
    assert all(media_type(value, "") == value for value in BY_EXTENSION.values())
