"""The message of a broken requirement: what was nearly it; media types against lists and bytes."""

from __future__ import annotations

import pytest

from metspack.checking.eark.faults import Faults, is_registered
from metspack.checking.eark.requirements import Need, Standard, Version, none_but
from tests.tables import tabled


@tabled
def test_what_was_nearly_it_is_named(wanted: str, seen: list[str], words: str) -> None:
    assert none_but("USE", wanted, seen) == words


@pytest.mark.parametrize("version", [*Version, None])
@tabled
def test_media_types_are_compared_with_the_list(
    kind: str, newest: str | None, earlier: str | None, version: Version | None
) -> None:
    faults = Faults({Standard.CSIP}, version)
    assert is_registered(kind) == (newest is None and bool(kind.strip()))
    for _ in range(2):
        faults.judge_type("CSIP68", kind, 1, "")
    expected = earlier if version in {Version.V2_0_4, Version.V2_1_0} else newest
    assert [each.code for each in faults.findings("METS.xml")] == ([expected] if expected else [])


def test_a_need_of_its_own_is_reported_beside_that_of_the_requirement() -> None:
    faults = Faults({Standard.CSIP})
    faults.add("CSIP68", 1, "'x/y', which IANA does not list", need=Need.SHOULD)
    faults.add("CSIP68", 2, "none")
    assert [(each.code, each.requirement) for each in faults.findings("METS.xml")] == [
        ("M030", "CSIP68"),
        ("M031", "CSIP68"),
    ]
