"""Reports of checks as JSON, JSON lines (``schemas/check-report*.schema.json``) and SARIF 2.1.0."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from metspack.checking import ALL_CODES, Code, Explanation, explained, told_as
from metspack.model import Finding, Severity
from metspack.reporting.model import TOOL, Frame, head, package, printable, record, result, sample
from metspack.reporting.store import FindingStore
from metspack.reporting.text import INTERRUPTED
from metspack.resources import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
BASE = "PACKAGE"
"""The name that stands for the package's root, wherever it lies."""

_FINGERPRINT = "metspackFinding/v1"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_CODES = sorted(each.id for each in ALL_CODES)
_KNOWN = frozenset(_CODES)


def document(frame: Frame, kept: FindingStore) -> Iterator[str]:
    """Yield the report as one JSON object, plain ASCII, the findings streamed one by one."""
    facts = head(frame) | result(frame)
    yield json.dumps(facts, indent=2).removesuffix("\n}")
    yield ',\n  "findings": ['
    separator = "\n"
    for each in kept.by_place():
        yield f"{separator}    {json.dumps(record(each))}"
        separator = ",\n"
    yield "\n  ]\n}\n" if separator != "\n" else "]\n}\n"


def lines(frame: Frame, kept: FindingStore) -> Iterator[str]:
    """Yield the report as one JSON object a line: the head, each finding, the result; plain ASCII.

    A report whose last line is no ``result`` was cut off.
    """
    yield _line("check", head(frame))
    for each in kept.by_place():
        yield _line("finding", record(each))
    yield _line("result", result(frame))


def _line(kind: str, value: dict[str, Any]) -> str:
    return f"{json.dumps({'type': kind, **value})}\n"


def sarif(frame: Frame, kept: FindingStore) -> Iterator[str]:
    """Yield the report as one SARIF log, plain ASCII, the results streamed one by one."""
    # Of requirements those alone that were found: there are three hundred, and no run breaks many.
    rules = _CODES + sorted({each.told_as for each in kept.groups()}.difference(_CODES))
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver(rules)},
                "automationDetails": {"id": f"{TOOL} check/{frame.level}/"},
                "invocations": [_invocation(frame)],
                "originalUriBaseIds": {
                    BASE: {"description": {"text": "The root of the package that was checked."}}
                },
                "columnKind": "utf16CodeUnits",
                "properties": {
                    "path": printable(frame.path),
                    "isComplete": frame.is_complete,
                    "packages": [package(each) for each in frame.summary.results],
                    **sample(frame),
                },
            }
        ],
    }
    whole = json.dumps(log, indent=1)
    ahead, end = whole.rsplit("\n  }\n ]\n}", 1)
    yield f'{ahead},\n   "results": ['
    separator = "\n"
    places = {name: number for number, name in enumerate(rules)}
    for each in kept.by_place():
        yield f"{separator}    {json.dumps(_result(each, places[told_as(each)]))}"
        separator = ",\n"
    yield f"\n   ]\n  }}\n ]\n}}{end}\n"


def _driver(rules: Sequence[str]) -> dict[str, Any]:
    return {
        "name": TOOL,
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(explained(each)) for each in rules],
    }


def _rule(rule: Explanation) -> dict[str, Any]:
    name = Code.named(rule.code).name.title().replace("_", "") if rule.code in _KNOWN else rule.code
    return {
        "id": rule.code,
        "name": name,
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": rule.meaning},
        "help": {"text": f"{rule.remedy}\n\nRule: {rule.clause}. More: metspack explain {rule.code}"},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": ["digital-preservation"], "clause": rule.clause},
    }


def _invocation(frame: Frame) -> dict[str, Any]:
    said: dict[str, Any] = {"executionSuccessful": frame.is_complete}
    if frame.created:
        said["endTimeUtc"] = frame.created
    if not frame.is_complete:
        said["toolExecutionNotifications"] = [{"level": "error", "message": {"text": INTERRUPTED}}]
    return said


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    further = [_location(each.path, each.line, each.place) for each in finding.others]
    related = [{"id": number, **each} for number, each in enumerate(further, 1)]
    said = {"requirement": finding.requirement} if finding.requirement else {}
    return {
        "ruleId": told_as(finding),
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": printable(finding.message)},
        "locations": [_location(finding.path, finding.line, finding.place)],
        **({"relatedLocations": related, "occurrenceCount": finding.count} if related else {}),
        "partialFingerprints": {_FINGERPRINT: _fingerprint(finding)},
        "properties": {"code": finding.code, **said, "facts": dict(finding.facts)},
    }


def _location(path: str, line: int, place: str) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(path, safe="/"), "uriBaseId": BASE}}
    if line:
        physical["region"] = {"startLine": line}
    logical = {"logicalLocations": [{"name": place}]} if place else {}
    return {"physicalLocation": physical, **logical}


def _fingerprint(finding: Finding) -> str:
    """Return the fingerprint of a finding, the same in every run; its line is not part of it."""
    what = json.dumps((finding.code, finding.path, finding.place, finding.message))
    return hashlib.sha256(what.encode()).hexdigest()[:32]
