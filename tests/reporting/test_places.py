"""A finding with many places: each report names them, and counts the finding once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from metspack.model import FindingPlace
from metspack.reporting import html, junit, text
from metspack.reporting import json as reporting
from metspack.reporting.model import Frame, places
from metspack.reporting.store import FindingStore
from tests.packages import forge
from tests.reporting import pages
from tests.reporting.reports import checked

COUNT = 12


@pytest.fixture
def seen(tmp_path: Path) -> Iterator[tuple[Frame, FindingStore, Path]]:
    root = forge.forge(tmp_path / "ip", forge.lobs(COUNT, COUNT))
    forge.edit(root / "mets.xml", 'OBJID="', 'OBJID="x')
    forge.seal(root)
    with checked(root) as (frame, kept):
        yield frame, kept, root


def test_the_text_has_as_many_places_as_findings(seen: tuple[Frame, FindingStore, Path]) -> None:
    frame, kept, _ = seen
    lines = [text.plain(line) for line in text.grouped(kept, 10)]
    assert lines[0].startswith("error L020")
    assert "findings" not in lines[0]
    assert sum("Northwind_lobseg" in line for line in lines) == 10
    assert lines[-1] == "    ... and 2 more places\n"
    assert sum("Northwind_lobseg" in line for line in text.document(frame, kept)) == COUNT
    assert "1 error," in "".join(text.plain(line) for line in text.verdict(frame))


def test_json_has_all_places(seen: tuple[Frame, FindingStore, Path]) -> None:
    frame, kept, _ = seen
    report = json.loads("".join(reporting.document(frame, kept)))
    (found,) = report["findings"]
    assert found["count"] == COUNT
    assert len(found["others"]) == COUNT - 1
    assert found["others"][0]["path"] == "Northwind_lobseg_1/mets.xml"
    assert found["others"][0]["line"] > 1
    assert report["counts"]["errors"] == 1
    *_, line, _ = "".join(reporting.lines(frame, kept)).splitlines()
    assert json.loads(line)["others"] == found["others"]


def test_the_page_folds_the_places_away(seen: tuple[Frame, FindingStore, Path]) -> None:
    frame, kept, root = seen
    page = pages.read("".join(html.document(replace(frame, folders={"": root}), kept)))
    (section,) = page.all("section", "code")
    assert section.one("summary").text == f"{COUNT - 1} more places"
    assert len(list(section.one("ul", "places").all("li"))) == COUNT - 1


def test_each_suite_of_junit_has_the_finding_at_its_own_place(seen: tuple[Frame, FindingStore, Path]) -> None:
    frame, kept, _ = seen
    written = "".join(junit.document(frame, kept))
    assert f'failures="{COUNT}"' in written
    for number in range(COUNT):
        assert written.count(f'file="Northwind_lobseg_{number}/mets.xml"') == 1


def test_places_that_are_not_kept_are_counted(seen: tuple[Frame, FindingStore, Path]) -> None:
    _, kept, _ = seen
    (found,) = kept.by_place()
    more = FindingPlace(path="a", place="b\u202e")
    shown = list(
        places(
            type(found)(code="L020", severity=found.severity, path="x", message="", count=9, others=(more,))
        )
    )
    assert shown == ["a [b\\u202e]", "... and 7 more places"]
