import ast
import dataclasses
import inspect
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from metspack import model
from metspack.checking.codes import Code
from metspack.errors import ConfigError
from metspack.limits import Limits
from metspack.model import LobCell, LobPlace, LobRef, Severity, ZipExtent
from tests.laws import of_each
from tests.planning.lobruns import cells_of

VALUES = [each for each in vars(model).values() if dataclasses.is_dataclass(each) and isinstance(each, type)]
EXTENT = ZipExtent(name="a", offset=0, limit=40, compressed=1, size=1, crc=0, method=0, flags=0)


def test_a_lob_is_named_by_its_place() -> None:
    assert LobPlace(schema=0, table=2, cell="c4", row=1).id == "s0.t2.c4.r1"
    assert LobPlace(schema=1, table=12, cell="c3.u2.u3", row=10).id == "s1.t12.c3.u2.u3.r10"


def test_lobs_of_a_run_are_named_as_one_by_one() -> None:
    run = cells_of("c4", [1, 4])
    assert [f"{run.id_stem}{row}" for row in run.rows] == [run.place(number).id for number in range(2)]


def test_a_lob_found_stands_where_its_cell_does() -> None:
    place = LobPlace(schema=0, table=0, cell="c1", row=1)
    cell = LobCell(place=place, file="a", length=None, digest=None)
    assert LobRef(cell=cell, size=1, extension="bin", media_type="x/y", extents=(EXTENT,)).place is place


@of_each(VALUES)
def test_values_are_frozen_slotted_and_named_in_full(kind: Any) -> None:
    assert kind.__dataclass_params__.frozen
    assert "__slots__" in vars(kind)
    parameters = inspect.signature(kind).parameters.values()
    assert {each.kind for each in parameters} == {inspect.Parameter.KEYWORD_ONLY}


def test_equal_to_a_limit_of_one_is_still_something() -> None:
    assert Limits(files=1, bytes=1) == Limits(files=1, bytes=1)
    assert Limits() == Limits(files=None, bytes=None)


@pytest.mark.parametrize("limits", [{"files": 0}, {"bytes": 0}, {"files": -1}, {"bytes": -5}])
def test_a_limit_under_one_is_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=f"{next(iter(limits.values()))} is not a number"):
        Limits(**limits)


def test_enumerations_have_one_name_for_one_value() -> None:
    for kind in vars(model).values():
        if isinstance(kind, type) and issubclass(kind, Enum):
            assert len(kind.__members__) == len(set(kind))


def test_the_model_imports_nothing_of_metspack() -> None:
    module = ast.parse(Path(inspect.getfile(model)).read_text(encoding="utf-8"))
    named = [each.module or "" for each in ast.walk(module) if isinstance(each, ast.ImportFrom)]
    named += [name.name for each in ast.walk(module) if isinstance(each, ast.Import) for name in each.names]
    assert [name for name in named if name.startswith("metspack")] == []


def test_the_worse_severity_is_the_greater() -> None:
    assert Severity.INFO < Severity.WARNING < Severity.ERROR
    assert max(Severity) is Severity.ERROR
    assert Severity.ERROR.__lt__("error") is NotImplemented


def test_a_finding_has_the_explanation_of_its_code() -> None:
    found = Code.SPECIAL.at("content/record1.bin")
    assert (found.title, found.clause, found.remedy) == (
        found.explanation.title,
        found.explanation.clause,
        found.explanation.remedy,
    )
    assert all((found.title, found.clause, found.remedy))
    assert found.explanation.to_json() == {
        "code": found.code,
        "title": found.title,
        "severity": "error",
        "meaning": found.explanation.meaning,
        "clause": found.clause,
        "remedy": found.remedy,
        "example": None,
    }
