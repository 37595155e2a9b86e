"""The JUnit report: valid by the schema that CI systems go by, and its counts are those of its cases."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from metspack.checking import ALL_CODES, Code
from metspack.model import Severity
from metspack.reporting import junit
from metspack.reporting.model import Frame, ReportFacts
from metspack.reporting.store import FindingStore
from tests.reporting.reports import holding, node, related

# What the readers of Jenkins and GitLab take, with the file and line that GitLab shows.
VALID = etree.XMLSchema(etree.parse(Path(__file__).with_name("junit.xsd")))


def read(frame: Frame, kept: FindingStore) -> etree._Element:
    """Return the report, valid, its counts true and its test cases' names unique."""
    root = etree.fromstring("".join(junit.document(frame, kept)).encode())
    VALID.assertValid(root)
    for each in (root, *root.iter("testsuite")):
        for attribute, path in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
            assert each.get(attribute) == str(len(list(each.iter(path)))), (each.get("name"), attribute)
    names = [(each.get("classname"), each.get("name")) for each in root.iter("testcase")]
    assert len(names) == len(set(names))
    suites = [each.get("name") for each in root]
    assert len(suites) == len(set(suites))
    return root


def cases(root: etree._Element) -> dict[tuple[str | None, str | None], str]:
    return {
        (each.get("classname"), each.get("name")): ",".join(str(below.tag) for below in each)
        for each in root.iter("testcase")
    }


@pytest.mark.parametrize(
    ("fail_on", "failures"), [(None, 0), (Severity.ERROR, 1), (Severity.WARNING, 2), (Severity.INFO, 3)]
)
def test_what_does_not_fail_the_check_does_not_fail_here(fail_on: Severity | None, failures: int) -> None:
    info = next(code for code in ALL_CODES if code.severity is Severity.INFO)
    findings = [Code.NO_OBJID.at("mets.xml", 1), Code.LOB_IN_NO_CELL.at("a")]
    findings.append(replace(findings[0], code=info.id, severity=Severity.INFO))
    with holding(*findings) as (frame, kept):
        root = read(replace(frame, fail_on=fail_on), kept)
    assert (root.get("tests"), root.get("failures")) == ("3", str(failures))


def test_findings_belong_to_the_nearest_mets_and_archives_to_themselves() -> None:
    facts = ReportFacts(tops=(node("METS.xml"),), children=(related(node("a/mets.xml")),))
    with holding() as (frame, _):
        owner = junit.make_owner_lookup(replace(frame, facts=facts))
    paths = ["METS.xml", "a/b/c.bin", "a/mets.xml", "ab/c", "a/N.SIARD", "manifest-md5.txt"]
    assert [owner(path) for path in paths] == [
        "METS.xml",
        "a/mets.xml",
        "a/mets.xml",
        "METS.xml",
        "a/N.SIARD",
        "METS.xml",
    ]


def test_many_findings_of_a_code_are_one_case_that_says_how_many() -> None:
    with holding(*(Code.UNLISTED.at(f"{number:03}", found="1") for number in range(150))) as (frame, kept):
        (case,) = read(frame, kept).iter("testcase")
    (failure,) = case
    assert (failure.get("message") or "").endswith("(and 149 more findings)")
    lines = (failure.text or "").splitlines()
    assert len(lines) == 102
    assert lines[100] == "... and 50 more findings"


def test_an_interrupted_check_is_an_error() -> None:
    with holding() as (frame, kept):
        root = read(replace(frame, is_complete=False, created="2026-05-01T12:00:00Z"), kept)
    assert (root.get("tests"), root.get("errors"), root.get("failures")) == ("2", "1", "0")
    assert cases(root)["metspack check", "the check was complete"] == "error"
    assert root[1].get("timestamp") == "2026-05-01T12:00:00"


@given(st.lists(st.tuples(st.text(), st.text(), st.integers(0, 9))), st.text())
def test_names_of_any_kind_give_valid_xml(names: list[tuple[str, str, int]], package: str) -> None:
    findings = [Code.REFUSED.at(path, line, place, reason=path) for path, place, line in names]
    with holding(*findings) as (frame, kept):
        read(replace(frame, path=package), kept)
