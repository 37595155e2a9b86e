"""Statements of PREMIS on files are compared many at once; equal shapes need no parser."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metspack.building.build import BuildOptions, build
from metspack.checking import Level, check
from metspack.checking.files import metadatafiles
from metspack.limits import Limits
from metspack.mets.dialects.interface import Software
from metspack.model import Finding
from tests import siards
from tests.laws import law
from tests.tables import tabled, tables_of

_OBJECT = '  <premis:object xsi:type="premis:file">'
_END = "</premis:object>\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of one IP with thirty LOBs; treat it as read-only."""
    folder = tmp_path_factory.mktemp("premis")
    source = siards.siard(folder / "N.siard", *(bytes([number]) * (number + 1) for number in range(30)))
    options = BuildOptions(
        dialect="csip",
        limits=Limits(files=100),
        created="2021-01-01T00:00:00Z",
        software=Software(name="metspack", version="metspack 0"),
    )
    build(source, folder / "out", options)
    return folder / "out"


def premis_of(package: Path) -> Path:
    documents = package.glob("*/representations/rep1/metadata/preservation/premis.xml")
    return max(documents, key=lambda each: each.stat().st_size)


def _first_in_upper_case(found: re.Match[str]) -> str:
    return found[1].replace("a", "A")


CHANGES = st.sampled_from(
    [*tables_of(__file__)["changes"], (r"(<premis:messageDigest>[^<]*)", _first_in_upper_case)]
)
Changes = Sequence[tuple[tuple[str, str], int, bool]]


def changed(made: Path, target: Path, changes: Changes) -> Path:
    """Copy the package, and change its objects: each time one of them, or all."""
    package = Path(shutil.copytree(made, target))
    document = premis_of(package)
    head, *objects = re.split(f"(?={re.escape(_OBJECT)})", document.read_bytes().decode())
    assert len(objects) == 30
    for (old, new), number, is_of_all in changes:
        for each in range(30) if is_of_all else (number,):
            objects[each] = re.sub(old, new, objects[each], count=1, flags=re.DOTALL)
    document.write_bytes((head + "".join(objects)).encode())
    return package


@law(4)
@example(changes=[(("</premis:object>\n", ""), 0, True), (("(?<=Digest>).", "0"), 0, True)], together=7)
@example(changes=[(("(?<=Digest>).", "0"), 0, True), ((_OBJECT, f"words{_OBJECT}"), 1, False)], together=7)
@example(
    changes=[(("(?<=Digest>).", "0"), 0, True), ((_END, f"{_END}</premis:premis>"), 0, False)], together=7
)
@given(
    changes=st.lists(st.tuples(CHANGES, st.integers(0, 29), st.booleans()), max_size=4),
    together=st.sampled_from([7, 20, 1000]),
)
def test_objects_of_a_shape_that_are_compared_at_once_give_what_each_gives(
    made: Path, tmp_path_factory: pytest.TempPathFactory, changes: Changes, together: int
) -> None:
    package = changed(made, tmp_path_factory.mktemp("changed") / "out", changes)

    def found(*, together: int, tries: int) -> list[Finding]:
        with pytest.MonkeyPatch.context() as context:
            context.setattr(metadatafiles, "LONGEST", together)
            context.setattr(metadatafiles, "_TRIES", tries)
            return sorted(check(package, Level.STRUCTURE), key=repr)

    assert found(together=together, tries=20) == found(together=1, tries=0)


@tabled
def test_what_is_no_text_of_premis_is_not_taken_for_it(
    made: Path, tmp_path: Path, change: tuple[str, str], of_one: tuple[str, str], count: int
) -> None:
    """All objects are changed alike, and one of them a second time."""
    package = Path(shutil.copytree(made, tmp_path / "out"))
    document = premis_of(package)
    head, *objects = re.split(f"(?={re.escape(_OBJECT)})", re.sub(*change, document.read_text("utf-8")))
    objects[3] = objects[3].replace(*of_one)
    document.write_text(head + "".join(objects), "utf-8")
    found = [each for each in check(package, Level.STRUCTURE) if each.path.endswith(document.name)]
    assert [each.code[0] for each in found].count("M") == count


@pytest.mark.parametrize("old", ["s0.t0.c2.r9<", "_r9.bin"])
def test_a_value_that_is_markup_is_not_taken_for_text(made: Path, tmp_path: Path, old: str) -> None:
    """METS escapes it in an attribute; in PREMIS it is unescaped, which is not XML."""
    package = Path(shutil.copytree(made, tmp_path / "out"))
    document = premis_of(package)
    mets = document.parents[2] / "METS.xml"
    new = old.replace("r9", "r&amp;9")
    mets.write_text(mets.read_text("utf-8").replace(old.replace("<", '"'), new.replace("<", '"')), "utf-8")
    for data in document.parents[2].rglob("*_r9.bin"):
        if "_r9" in old:
            data.rename(data.with_name(data.name.replace("r9", "r&9")))
    text = document.read_text("utf-8")
    assert old in text
    document.write_text(text.replace(old, old.replace("r9", "r&9")), "utf-8")
    found = {each.code for each in check(package, Level.STRUCTURE) if each.path.endswith(document.name)}
    assert "M040" in found
