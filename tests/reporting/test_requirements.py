"""Requirements of E-ARK in reports: each is a group of its own, by its own name, whatever its code is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from metspack.checking import Code
from metspack.checking.eark.faults import Faults
from metspack.checking.eark.requirements import Standard
from metspack.model import Finding
from metspack.reporting import html, text
from metspack.reporting.model import Frame
from metspack.reporting.store import FindingStore
from tests.reporting.reports import holding


def broken(id_: str, path: str, standard: Standard = Standard.CSIP) -> Finding:
    faults = Faults({standard})
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
        groups = [(each.name, each.title, each.count) for each in kept.groups()]
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
