"""Findings kept on disk come back whole, in the order that a report asks for."""

from __future__ import annotations

import collections

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.checking import Code
from metspack.errors import TargetError
from metspack.model import Finding, Severity
from metspack.reporting.model import rank
from metspack.reporting.store import FindingStore
from tests.findings import ordered
from tests.laws import law
from tests.reporting.reports import holding

PATHS = ["mets.xml", "a/mets.xml", "a/b", "z", "ä"]


def made(code: str, path: str, line: int, place: str, message: str) -> Finding:
    severity = Code.named(code).severity
    return Finding(
        code=code, severity=severity, path=path, line=line, place=place, message=message, facts=(("a", "b"),)
    )


FINDINGS = st.lists(
    st.builds(
        made,
        st.sampled_from(["L001", "F003", "N002", "Z017"]),
        st.sampled_from(PATHS) | st.text(max_size=5),
        st.integers(0, 3),
        st.sampled_from(["", "p", "q"]) | st.text(max_size=12),
        st.text(),
    )
)


@law(50)
@given(FINDINGS)
def test_by_place_is_a_stable_sort(findings: list[Finding]) -> None:
    with holding(*findings) as (_, kept):
        assert list(kept.by_place()) == ordered(findings)


@law(50)
@given(FINDINGS, st.integers(1, 3))
def test_groups_hold_every_finding_once(findings: list[Finding], limit: int) -> None:
    with holding(*findings) as (_, kept):
        groups = kept.groups()
        assert groups == sorted(groups, key=lambda each: (rank(each.severity), each.code))
        found = [each for group in groups for each in kept.of_group(group)]
        assert sorted(found, key=repr) == sorted(findings, key=repr)
        for group in groups:
            assert len(list(kept.of_group(group))) == group.count
            assert list(kept.of_group(group, limit)) == list(kept.of_group(group))[:limit]


@law(50)
@given(FINDINGS)
def test_owners_and_their_findings_agree(findings: list[Finding]) -> None:
    def owner(path: str) -> str:
        return path[:1]

    with holding(*findings) as (_, kept):
        counted = [(name, group.code) for name, group in kept.by_owner(owner) for _ in range(group.count)]
        listed = [(name, each.code) for name, each in kept.of_owner(owner)]
        assert counted == listed
        assert all(name == owner(each.path) for name, each in kept.of_owner(owner))
        assert len(listed) == len(findings)


def test_more_than_one_batch_is_kept() -> None:
    with FindingStore() as kept:
        for number in range(2_500):
            kept.add(Code.UNLISTED.at(f"{number:05}", found="1"))
        assert [each.path for each in kept.by_place()] == [f"{number:05}" for number in range(2_500)]
        assert [(each.code, each.count, each.explanation.title) for each in kept.groups()] == [
            ("F010", 2_500, Code.UNLISTED.title)
        ]


def test_what_no_database_holds_is_escaped() -> None:
    with holding(Code.REFUSED.at("a\udc80", 0, "p\ud800", reason="\ud800")) as (_, kept):
        (found,) = kept.by_place()
    assert (found.path, found.place) == ("a\\udc80", "p\\ud800")
    assert "\ud800" in found.message
    assert found.severity is Severity.ERROR


def test_a_full_disk_is_an_error_that_says_what_to_do() -> None:
    with FindingStore() as kept:
        kept._database.execute("PRAGMA max_page_count = 3")
        many = (Code.UNLISTED.at(f"{number:0500}", found="1") for number in range(5_000))
        with pytest.raises(TargetError, match="cannot keep the findings on disk") as raised:
            collections.deque(map(kept.add, many), maxlen=0)
        assert "SQLITE_TMPDIR" in raised.value.hint
