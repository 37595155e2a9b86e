"""Selection of LOBs by an id or its beginning."""

from __future__ import annotations

from metspack.packages.selection import Selection
from tests.tables import tabled

LOBS = ("s0.t2.c4.r1", "s0.t2.c4.r14", "s0.t2.c4.u2.r1", "s0.t2.c41.r1", "s0.t21.c4.r1", "s1.t2.c4.r1")


@tabled
def test_the_beginning_of_an_id_selects_what_is_below_it(only: list[str], taken: list[str]) -> None:
    selection = Selection(only=tuple(only))
    assert list(filter(selection.takes, LOBS)) == taken
    assert all(selection.met(lob) for lob in taken if only)
    assert not any(selection.met(lob) for lob in LOBS if lob not in taken)


@tabled
def test_a_table_is_passed_over_when_none_of_its_lobs_can_be_meant(only: list[str], met: bool) -> None:
    assert Selection(only=tuple(only)).meets("s0.t2") is met


def test_what_is_selected_twice_is_met_twice() -> None:
    assert Selection(only=("s0", "s1", "s0.t2")).met(LOBS[0]) == ("s0", "s0.t2")
