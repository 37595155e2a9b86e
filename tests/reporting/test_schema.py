"""The published JSON Schemas accept every report of a check, and refuse other documents."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from metspack import resources
from metspack.checking import Code, Level
from metspack.reporting import html, junit, text
from metspack.reporting import json as forms
from metspack.reporting.model import Frame
from metspack.reporting.store import FindingStore
from tests.laws import law
from tests.packages import forge
from tests.reporting.reports import checked, holding


def document(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((resources.root() / "schemas" / name).read_bytes())
    Draft202012Validator.check_schema(found)
    return found


WHOLE = document("check-report.schema.json")
LINES = document("check-report-lines.schema.json")
REGISTRY: Registry[Any] = Registry().with_resources(
    (each["$id"], Resource.from_contents(each)) for each in (WHOLE, LINES)
)
SCHEMA = Draft202012Validator(WHOLE)
LINE_SCHEMA = Draft202012Validator(LINES, registry=REGISTRY)


def report(frame: Frame, kept: FindingStore) -> dict[str, Any]:
    """Return the report, which both forms agree on and whose schemas hold."""
    text = "".join(forms.document(frame, kept))
    assert text.isascii()
    assert text.endswith("}\n")
    made: dict[str, Any] = json.loads(text)
    SCHEMA.validate(made)
    lines = [json.loads(line) for line in "".join(forms.lines(frame, kept)).splitlines()]
    for line in lines:
        LINE_SCHEMA.validate(line)
    assert [each.pop("type") for each in lines] == ["check", *["finding"] * len(made["findings"]), "result"]
    head, *found, result = lines
    assert head | result | {"findings": found} == made
    return made


@pytest.mark.parametrize("level", [Level.LINKS, Level.FULL])
def test_reports_of_good_and_bad_packages_are_valid(tmp_path: Path, level: Level) -> None:
    package = forge.forge(tmp_path / "package")
    with checked(package, level) as (frame, kept):
        assert report(frame, kept)["findings"] == []
    (package / "mets.xml").write_bytes((package / "mets.xml").read_bytes().replace(b"mptr", b"mptt", 2))
    (package / "unlisted").write_bytes(b"")
    with checked(package, level) as (frame, kept):
        streamed = report(frame, kept)
    assert streamed["findings"]
    assert streamed["counts"]["errors"] == frame.summary.errors


def test_a_report_of_an_interrupted_check_says_so() -> None:
    with holding() as (frame, kept):
        document = report(replace(frame, is_complete=False, created="2026-05-01T12:00:00Z"), kept)
    assert (document["is_complete"], document["created"]) == (False, "2026-05-01T12:00:00Z")


@law(20)
@given(st.lists(st.tuples(st.text(), st.text(), st.integers(0, 9), st.text(min_size=1))))
def test_findings_of_any_text_are_valid(given_: list[tuple[str, str, int, str]]) -> None:
    made = [Code.REFUSED.at(path, line, place, reason=why) for path, place, line, why in given_]
    with holding(*made) as (frame, kept):
        assert len(report(frame, kept)["findings"]) == len(made)


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    with checked(forge.forge(tmp_path / "package"), Level.LINKS) as (frame, kept):
        good = report(frame, kept)
        lines = [json.loads(line) for line in forms.lines(frame, kept)]
    changes: list[dict[str, Any]] = [
        {"verdict": "fine"},
        {"schema_version": 2},
        {"findings": [{}]},
        {"more": 1},
        {"created": "yesterday"},
        {"is_complete": "yes"},
    ]
    for change in changes:
        assert list(SCHEMA.iter_errors(good | change)), change
    for name in good:
        assert list(SCHEMA.iter_errors({key: value for key, value in good.items() if key != name})), name
    for line in lines:
        for name in line:
            assert not LINE_SCHEMA.is_valid({key: value for key, value in line.items() if key != name}), name
        assert not LINE_SCHEMA.is_valid(line | {"more": 1})


def test_several_packages_have_a_result_each(tmp_path: Path) -> None:
    one, two = forge.forge(tmp_path / "one"), forge.forge(tmp_path / "two")
    (two / "note").touch()
    with checked([one, two, tmp_path / "gone"]) as (frame, kept):
        made = report(frame, kept)
        document = "".join(text.document(frame, kept))
        suites = list(junit.document(frame, kept))
        page = "".join(html.document(replace(frame, folders={str(two): two}), kept))
    found = [(each["path"], each["verdict"], each["objid"], each["kind"]) for each in made["packages"]]
    kind = "package of the recommendation on external LOBs"
    assert found == [
        (str(tmp_path / "gone"), "error", None, None),
        (str(one), "ok", forge.PARENT_OBJID, kind),
        (str(two), "error", forge.PARENT_OBJID, kind),
    ]
    counts = [tuple(each["counts"].values()) for each in made["packages"]]
    assert counts == [(1, 0, 0), (0, 0, 0), (3, 0, 1)]
    assert all(each["is_complete"] for each in made["packages"])
    assert sum(sum(each) for each in counts) == len(made["findings"])
    assert f"{one}: 0 errors, 0 warnings  ({forge.PARENT_OBJID}, {kind})\n" in document
    assert f"\n3 packages: {made['counts']['packages']} METS files, " in document
    names = [each.split('"')[1] for each in suites if each.startswith("<testsuite ")]
    assert names == sorted(each["path"] for each in made["packages"])
    row = f'<a href="#package-3">{two}</a></th><td><span class="badge error">error</span></td>'
    assert row in page
