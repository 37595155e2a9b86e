"""Findings as lines and as JSON."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from metspack.checking import CheckSummary, Code, PackageResult
from metspack.layouts.names import ArchiveRoutes
from metspack.reporting import model as reporting
from metspack.resources import __version__

NONE = CheckSummary(packages=1, files=2, links=3, bytes=4, errors=0, warnings=0, infos=0)


def test_a_line_names_place_severity_and_code() -> None:
    found = Code.MPTR_WITHOUT_FILE.at("mets.xml", 41, href="X", nearest="Y")
    expected = (
        "mets.xml:41: error L001 mptr 'X' names no file: the same METS has no file with this ID; "
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


def test_the_json_document() -> None:
    found = Code.FILE_MISSING.at("a/b", 0, "id", expected="a/b", source="mets.xml line 3")
    result = PackageResult(path="out", objid="", kind="METS", errors=1, warnings=0, infos=0)
    summary = CheckSummary(
        packages=1, files=2, links=3, bytes=4, errors=1, warnings=0, infos=0, results=(result,)
    )
    document = reporting.document(summary, [found], path="out", level="full")
    assert json.loads(json.dumps(document)) == document
    assert document == {
        "schema_version": 1,
        "tool": {"name": "metspack", "version": __version__},
        "path": "out",
        "level": "full",
        "verdict": "error",
        "is_complete": True,
        "packages": [
            {
                "path": "out",
                "objid": None,
                "kind": "METS",
                "verdict": "error",
                "is_complete": True,
                "counts": {"errors": 1, "warnings": 0, "infos": 0},
            }
        ],
        "counts": {
            "packages": 1,
            "files": 2,
            "links": 3,
            "bytes": 4,
            "errors": 1,
            "warnings": 0,
            "infos": 0,
        },
        "findings": [
            {
                "code": "F001",
                "requirement": None,
                "severity": "error",
                "path": "a/b",
                "line": None,
                "place": "id",
                "message": "'a/b' is listed in mets.xml line 3 but does not exist",
                "facts": {"expected": "a/b", "source": "mets.xml line 3"},
                "count": 1,
                "others": [],
                "clause": Code.FILE_MISSING.clause,
                "remedy": Code.FILE_MISSING.remedy,
            }
        ],
    }


def test_verdicts() -> None:
    assert reporting.verdict(NONE) == "ok"
    warned = CheckSummary(packages=1, files=2, links=3, bytes=4, errors=0, warnings=1, infos=9)
    assert reporting.verdict(warned) == "warning"


def test_archives_that_the_same_programs_read_are_told_together() -> None:
    def routes(path: str, version: str) -> ArchiveRoutes:
        return ArchiveRoutes(path=path, version=version, is_apart=False, routes=())

    same = [routes(f"p{number}/a.siard", "2.2") for number in range(40)]
    summary = replace(NONE, routes=(*same, routes("old.siard", "1.0")))
    said, other = reporting.readers_lines(summary)
    assert said.startswith("LOBs of p0/a.siard and 39 more archives found by")
    assert other.startswith("LOBs of old.siard found by")
