"""The published JSON Schema of the check's report holds for every report, and refuses what is none."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from metspack import resources
from metspack.checking import Level, check, ordered
from metspack.reporting import findings
from tests.packages import forge


@pytest.fixture(scope="module")
def schema() -> Draft202012Validator:
    path = resources.schema_folder() / "check-report.schema.json"
    document = json.loads(path.read_bytes())
    Draft202012Validator.check_schema(document)
    return Draft202012Validator(document)


def report(package: Path, level: Level) -> dict[str, Any]:
    run = check(package, level)
    found = list(ordered(run))
    made = findings.document(run.summary, found, path=str(package), level=level.value)
    read_back: dict[str, Any] = json.loads(json.dumps(made))
    return read_back


@pytest.mark.parametrize("level", list(Level))
def test_reports_of_good_and_bad_packages_are_valid(
    schema: Draft202012Validator, tmp_path: Path, level: Level
) -> None:
    package = forge.forge(tmp_path / "package")
    assert not list(schema.iter_errors(report(package, level)))
    (package / "mets.xml").write_bytes((package / "mets.xml").read_bytes().replace(b"mptr", b"mptt", 2))
    (package / "unlisted").write_bytes(b"")
    bad = report(package, level)
    assert bad["findings"]
    assert not list(schema.iter_errors(bad))


def test_what_is_no_report_is_refused(schema: Draft202012Validator, tmp_path: Path) -> None:
    good = report(forge.forge(tmp_path / "package"), Level.LINKS)
    changes: list[dict[str, Any]] = [
        {"verdict": "fine"},
        {"schema_version": 2},
        {"findings": [{}]},
        {"more": 1},
    ]
    for change in changes:
        assert list(schema.iter_errors(good | change)), change
    for name in good:
        assert list(schema.iter_errors({key: value for key, value in good.items() if key != name})), name
