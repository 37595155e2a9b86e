"""Requirements of E-ARK in reports: each is a group of its own, by its own name, whatever its code is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from metspack.checking import Code, explained
from metspack.checking.eark.faults import Faults
from metspack.checking.eark.requirements import Standard, Version
from metspack.model import Finding
from metspack.reporting import html, junit, text
from metspack.reporting.model import Frame, record
from metspack.reporting.store import FindingStore
from tests.reporting.reports import holding


def broken(
    id_: str, path: str, standard: Standard = Standard.CSIP, version: Version | None = None
) -> Finding:
    faults = Faults({standard}, version)
    faults.add(id_, 7, "none")
    (finding,) = faults.findings(path)
    return finding


@contextmanager
def found() -> Iterator[tuple[Frame, FindingStore]]:
    findings = [broken("CSIP60", f"{number}/METS.xml") for number in range(4)]
    findings += [
        broken("SIARD_3", "0/METS.xml", Standard.SIARD),
        broken("CSIP62", "0/METS.xml"),
        Code.UNLISTED.at("z", found="1"),
    ]
    with holding(*findings) as both:
        yield both


def test_each_is_a_group_of_its_own_under_its_name() -> None:
    with found() as (_, kept):
        groups = [(each.name, each.explanation.title, each.count) for each in kept.groups()]
    assert groups == [
        ("F010", Code.UNLISTED.title, 1),
        ("CSIP60 (M030)", "There is a fileGrp Documentation", 4),
        ("SIARD_3 (M030)", "The content information type of the package is citssiard_v1_0", 1),
        ("CSIP62 (M031)", "The fileGrp of a representation names its content information type", 1),
    ]


def test_a_limit_is_of_each_so_that_none_is_behind_another() -> None:
    with found() as (_, kept):
        lines = [text.plain(each) for each in text.grouped(kept, 1)]
    assert "error CSIP60 (M030) There is a fileGrp Documentation (4 findings)\n" in lines
    assert "  ... and 3 more findings CSIP60 (--max-per-code 0 shows all)\n" in lines
    assert any(each.startswith("error SIARD_3 (M030)") for each in lines)


def test_the_page_has_a_section_for_each() -> None:
    with found() as (frame, kept):
        page = "".join(html.document(frame, kept))
    at = [page.index(f'<h3 id="{name}">') for name in ("F010", "CSIP60-M030", "SIARD_3-M030", "CSIP62-M031")]
    assert all(one < two for one, two in pairwise(at))
    assert '<a href="#CSIP60-M030">CSIP60 (M030)</a>' in page


_LATER = "One agent is the submitting agent"


def test_each_has_the_text_of_its_version() -> None:
    findings = [broken("SIP9", f"{each.value}/METS.xml", Standard.SIP, each) for each in list(Version)[2:]]
    usual, later = findings
    assert later.title == _LATER
    assert usual.title != _LATER
    assert later.clause == "E-ARK SIP 2.3.0, metsHdr/agent"
    assert [record(each)["clause"] for each in findings] == [usual.clause, later.clause]
    assert [record(each)["remedy"] for each in findings] == [usual.remedy, later.remedy]
    with holding(*findings) as (frame, kept):
        assert [(each.name, each.explanation.title, each.count) for each in kept.groups()] == [
            (f"SIP9 ({each.code})", each.title, 1) for each in sorted(findings, key=lambda each: each.code)
        ]
        page = "".join(html.document(frame, kept))
        assert later.clause in page
        cases = "".join(junit.document(frame, kept))
        assert f"SIP9 {_LATER}" in cases


def test_the_clause_is_that_of_an_older_version() -> None:
    assert broken("CSIP60", "METS.xml", version=Version.V2_0_4).clause.startswith("CSIP 2.0.4, ")


def test_a_number_that_versions_use_otherwise_is_explained_for_each() -> None:
    assert f"\n\nE-ARK SIP 2.3.0: {_LATER} (MUST)." in explained("SIP9").meaning
    assert explained("SIP15").meaning.endswith("\n\nE-ARK SIP 2.3.0: no such requirement.")
    assert "\n" not in explained("CSIP60").meaning
