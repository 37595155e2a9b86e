"""Each fault of ``docs/findings.md`` has its codes, and a package or a test for it."""

from __future__ import annotations

import re

from metspack.checking.codes import ALL_CODES
from tests import threats_page
from tests.conftest import CHECKOUT
from tests.findings_page import Fault, faults
from tests.laws import of_each
from tests.packages.cases import cases

CASES = {case.id: case for case in cases()}
# Forms that are told and are no fault, conventions like those that are listed, what a second engine and the
# rules of the standards say (they have pages of their own), and what needs a medium that fails.
NOT_LISTED = {
    *("L022", "L029", "L030", "S010", "S021", "Z007", "Z023"),
    *("P102", "P105", "P106", "P108", "P111", "P112", "P119"),
    *("M027", "M028", "M030", "M031", "M032"),
}


ROWS = list(faults())


@of_each(ROWS)
def test_a_fault_is_shown_by_what_is_there(row: Fault) -> None:
    codes = frozenset(row.codes)
    assert codes <= {code.id for code in ALL_CODES}
    assert row.shown_by
    for name in row.shown_by:
        if name not in CASES:
            path, _, test = name.partition("::")
            assert f"def {test}(" in (CHECKOUT / path).read_text(encoding="utf-8"), name
    packages = [CASES[name] for name in row.shown_by if name in CASES]
    if codes:
        assert all(case.codes & codes for case in packages), row
        assert not packages or codes <= frozenset().union(*(case.codes for case in packages)), row


def test_no_row_is_lost() -> None:
    assert len(ROWS) >= 276


def test_no_fault_stands_on_two_pages() -> None:
    shown = {each for row in ROWS for each in row.shown_by}
    threats = set(re.findall(r"`((?:bad|warn|good|tests)/[^`]+)`", threats_page.page()))
    assert not shown & threats


def test_every_code_is_listed_or_left_out_on_purpose() -> None:
    listed = frozenset().union(*(row.codes for row in ROWS))
    declared = {code.id for code in ALL_CODES}
    assert listed | NOT_LISTED == declared
    assert not listed & NOT_LISTED
