"""Findings as data for JSON and as lines of text; nothing is printed here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from metspack.checking import Code, Summary
from metspack.model import Finding, Severity

SCHEMA_VERSION = 1


def line(finding: Finding) -> str:
    """Return a finding as one line: ``mets.xml:41: error L001 mptr 'X' has no ...``.

    Control characters are escaped, so that a name in a package cannot write to the terminal or forge lines.
    """
    where = f"{finding.path}:{finding.line}" if finding.line else finding.path
    place = f" [{finding.place}]" if finding.place else ""
    return printable(f"{where}: {finding.severity.value} {finding.code} {finding.message}{place}")


def printable(text: str) -> str:
    """Return text with every character escaped that does not print."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text
    )


def record(finding: Finding) -> dict[str, Any]:
    """Return a finding as the object that stands for it in JSON."""
    rule = Code.named(finding.code).value
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "path": finding.path,
        "line": finding.line or None,
        "place": finding.place or None,
        "message": finding.message,
        "facts": dict(finding.facts),
        "clause": rule.clause,
        "remedy": rule.remedy,
    }


def verdict(summary: Summary) -> str:
    """Return the worst severity found, ``ok`` when there is nothing worse than information."""
    if summary.errors:
        return Severity.ERROR.value
    return Severity.WARNING.value if summary.warnings else "ok"


def document(summary: Summary, findings: Iterable[Finding], *, path: str, level: str) -> dict[str, Any]:
    """Return a check's result as the object for ``--json``; findings in the order given."""
    return {
        "schema_version": SCHEMA_VERSION,
        "path": path,
        "level": level,
        "verdict": verdict(summary),
        "counts": {
            "packages": summary.packages,
            "files": summary.files,
            "links": summary.links,
            "bytes": summary.bytes,
            "errors": summary.errors,
            "warnings": summary.warnings,
            "infos": summary.infos,
        },
        "findings": [record(each) for each in findings],
    }
