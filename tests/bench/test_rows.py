from __future__ import annotations

import re
import sys

import pytest

from bench.data import KINDS
from bench.rows import PREPARED, ROWS, chosen
from bench.store import CHECKOUT, expanded

NAMES = {*KINDS, *PREPARED, "out", "files", "bytes", "schema"}


def test_every_row_has_a_name_of_its_own() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_commands_and_what_is_prepared_name_what_there_is() -> None:
    for line in (*(each for row in ROWS for each in (row.contender, row.reference)), *PREPARED.values()):
        assert set(re.findall(r"\{(\w+)\}", line)) <= NAMES | {"made"}


def test_rows_are_chosen_by_name_in_their_own_order() -> None:
    assert [row.name for row in chosen("check,build-folder")] == ["build-folder", "check"]
    assert chosen(None) == list(ROWS)
    with pytest.raises(ValueError, match="no such row: nothing"):
        chosen("nothing,check")


def test_programs_stand_where_a_command_begins_with_their_names() -> None:
    python = sys.executable
    line = expanded("cp -r {floor} {out} && floor build {folder} {out}", 2)
    assert (
        line == f"cp -r {{floor}} {{out}} && {python} {CHECKOUT}/bench/floor.py build -j 2 {{folder}} {{out}}"
    )
    assert expanded("bagit --md5 {out}", 2) == f"{python} -m bagit --md5 {{out}}"
