"""Findings as lines and as JSON."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from metspack.checking import CheckSummary, Code
from metspack.layouts.names import ArchiveRoutes
from metspack.reporting import model as reporting

NONE = CheckSummary(packages=1, files=2, links=3, bytes=4, errors=0, warnings=0, infos=0)


def test_a_line_names_place_severity_and_code() -> None:
    found = Code.MPTR_WITHOUT_FILE.at("mets.xml", 41, href="X", nearest="Y")
    expected = (
        "mets.xml:41: error L001 mptr 'X' names no file: no file entry of this METS has that ID; "
        "nearest is 'Y'"
    )
    assert reporting.line(found) == expected
    assert reporting.line(Code.UNLISTED.at("a", 0, "p", found="3")) == (
        "a: error F010 no METS of this package lists this file (3 bytes) [p]"
    )


@given(st.text(), st.text(), st.text())
def test_a_line_is_one_printable_line(path: str, place: str, reason: str) -> None:
    line = reporting.line(Code.REFUSED.at(path, 0, place, reason=reason))
    assert line.isprintable()


def test_verdicts() -> None:
    assert reporting.verdict(NONE) == "ok"
    warned = CheckSummary(packages=1, files=2, links=3, bytes=4, errors=0, warnings=1, infos=9)
    assert reporting.verdict(warned) == "warning"


def test_archives_that_the_same_programs_read_are_reported_together() -> None:
    def routes(path: str, version: str) -> ArchiveRoutes:
        return ArchiveRoutes(path=path, version=version, is_apart=False, routes=())

    same = [routes(f"p{number}/a.siard", "2.2") for number in range(40)]
    summary = replace(NONE, routes=(*same, routes("old.siard", "1.0")))
    sentence, other = reporting.readers_lines(summary)
    assert sentence.startswith("LOBs of p0/a.siard and 39 more archives found by")
    assert other.startswith("LOBs of old.siard found by")
