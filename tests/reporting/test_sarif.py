"""The SARIF report: what the standard requires, a location on every result, the same bytes every time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from metspack.checking import ALL_CODES, Code
from metspack.reporting.json import sarif
from metspack.reporting.model import Frame
from metspack.reporting.store import FindingStore
from tests.laws import law
from tests.packages import forge
from tests.reporting.reports import checked, holding

TEXT = {"type": "string", "minLength": 1}
MESSAGE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {"text": TEXT},
}
LEVEL = {"enum": ["none", "note", "warning", "error"]}


def closed(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required.split(),
        "properties": properties,
    }


def every(item: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": item, **more}


# The part of the OASIS schema that the report uses: its names, what is required, and what may be there.
SCHEMA = closed(
    "version runs $schema",
    **{
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": every(
            closed(
                "tool results",
                tool=closed(
                    "driver",
                    driver=closed(
                        "name version rules",
                        name=TEXT,
                        version=TEXT,
                        semanticVersion={"type": "string", "pattern": r"^[0-9]+\.[0-9]+\.[0-9]+"},
                        rules=every(
                            closed(
                                "id name shortDescription fullDescription help defaultConfiguration",
                                id={"type": "string", "pattern": "^[A-Z][0-9]{3}$"},
                                name={"type": "string", "pattern": "^[A-Z][A-Za-z0-9]*$"},
                                shortDescription=MESSAGE,
                                fullDescription=MESSAGE,
                                help=MESSAGE,
                                defaultConfiguration=closed("level", level=LEVEL),
                                properties={"type": "object"},
                            ),
                        ),
                    ),
                ),
                automationDetails=closed("id", id=TEXT),
                invocations=every(
                    closed(
                        "executionSuccessful",
                        executionSuccessful={"type": "boolean"},
                        endTimeUtc={"type": "string", "pattern": "^[0-9-]{10}T[0-9:]{8}Z$"},
                        toolExecutionNotifications=every(closed("message", level=LEVEL, message=MESSAGE)),
                    )
                ),
                originalUriBaseIds={
                    "type": "object",
                    "additionalProperties": closed("", description=MESSAGE),
                },
                columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                properties={"type": "object"},
                results=every(
                    closed(
                        "ruleId ruleIndex level message locations partialFingerprints",
                        ruleId=TEXT,
                        ruleIndex={"type": "integer", "minimum": 0},
                        level=LEVEL,
                        message=MESSAGE,
                        locations=every(
                            closed(
                                "physicalLocation",
                                physicalLocation=closed(
                                    "artifactLocation",
                                    artifactLocation=closed(
                                        "uri uriBaseId",
                                        uri={"type": "string", "pattern": "^[!-~]*$"},
                                        uriBaseId={"const": "PACKAGE"},
                                    ),
                                    region=closed("startLine", startLine={"type": "integer", "minimum": 1}),
                                ),
                                logicalLocations=every(closed("name", name=TEXT)),
                            ),
                            minItems=1,
                        ),
                        partialFingerprints={
                            "type": "object",
                            "minProperties": 1,
                            "additionalProperties": TEXT,
                        },
                        properties={"type": "object"},
                    )
                ),
            ),
            minItems=1,
        ),
    },
)


VALIDATOR = Draft202012Validator(SCHEMA)


def read(frame: Frame, kept: FindingStore) -> dict[str, Any]:
    """Return the one run of a report that is valid."""
    text = "".join(sarif(frame, kept))
    assert text.isascii()
    log = json.loads(text)
    VALIDATOR.validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({each["id"] for each in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    found: dict[str, Any] = run
    return found


def test_the_rules_are_the_catalogue() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    with holding() as (frame, kept):
        run = read(frame, kept)
    rules = run["tool"]["driver"]["rules"]
    assert [each["id"] for each in rules] == sorted(code.id for code in ALL_CODES)
    first = next(each for each in rules if each["id"] == "L001")
    rule = Code.MPTR_WITHOUT_FILE
    assert first["name"] == "MptrWithoutFile"
    assert first["fullDescription"]["text"] == rule.why
    assert rule.remedy in first["help"]["text"]
    assert "helpUri" not in first
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": True}]


def test_results_of_a_bad_package(tmp_path: Path) -> None:
    package = forge.forge(tmp_path / "package")
    (package / "mets.xml").write_bytes(
        (package / "mets.xml").read_bytes().replace(b'_1_mets" xlink', b'_9" xlink')
    )
    (package / "with space & ä").write_bytes(b"")
    with checked(package) as (frame, kept):
        run = read(frame, kept)
        assert len(run["results"]) == frame.summary.findings
    (link,) = (each for each in run["results"] if each["ruleId"] == "L001")
    assert link["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "mets.xml", "uriBaseId": "PACKAGE"},
        "region": {"startLine": 19},
    }
    assert link["level"] == "error"
    uris = {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in run["results"]}
    assert "with%20space%20%26%20%C3%A4" in uris


def test_fingerprints_tell_findings_apart_but_not_their_lines() -> None:
    one, moved = Code.NO_OBJID.at("mets.xml", 1), Code.NO_OBJID.at("mets.xml", 2)
    other = Code.NO_OBJID.at("a/mets.xml", 1)
    with holding(one, moved, other) as (frame, kept):
        first, second, third = (each["partialFingerprints"] for each in read(frame, kept)["results"])
    assert first != second == third


def test_an_interrupted_check_says_so() -> None:
    with holding() as (frame, kept):
        run = read(replace(frame, is_complete=False, created="2026-05-01T12:00:00Z"), kept)
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["endTimeUtc"] == "2026-05-01T12:00:00Z"
    assert "interrupted" in invocation["toolExecutionNotifications"][0]["message"]["text"]
    assert run["properties"]["isComplete"] is False


@law(40)
@given(st.text(min_size=1), st.text(), st.integers(0, 9))
def test_every_path_is_a_relative_reference_to_itself(path: str, place: str, line: int) -> None:
    with holding(Code.REFUSED.at(path, line, place, reason="r")) as (frame, kept):
        (result,) = read(frame, kept)["results"]
        (kept_finding,) = kept.by_place()
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote(uri) == kept_finding.path
    if not path.startswith("//"):
        assert not urlsplit(uri).scheme
