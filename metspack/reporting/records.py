"""Lines and data objects for findings and their counts, the same in every form of report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from metspack.checking import CheckSummary, Code
from metspack.model import Finding, Severity
from metspack.reporting.model import Frame
from metspack.sizes import counted
from metspack.version import __version__

SCHEMA_VERSION = 1
TOOL = "metspack"


def line(finding: Finding) -> str:
    """Return a finding as one line: ``mets.xml:41: error L001 mptr 'X' has no ...``.

    Control characters are escaped, so that a name in a package cannot write to the terminal or forge lines.
    """
    where, said = parts(finding)
    return f"{where}: {finding.severity.value} {finding.code} {said}"


def parts(finding: Finding) -> tuple[str, str]:
    """Return a finding's place (``mets.xml:41``) and message, both printable."""
    where = f"{finding.path}:{finding.line}" if finding.line else finding.path
    place = f" [{finding.place}]" if finding.place else ""
    return printable(where), printable(f"{finding.message}{place}")


def printable(text: str) -> str:
    """Return text with every character escaped that does not print, bidirectional controls among them."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text
    )


def record(finding: Finding) -> dict[str, Any]:
    """Return a finding as the object that stands for it in JSON."""
    rule = Code.named(finding.code)
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


def verdict(summary: CheckSummary) -> str:
    """Return the worst severity found, ``ok`` when there is nothing worse than information."""
    if summary.errors:
        return Severity.ERROR.value
    return Severity.WARNING.value if summary.warnings else "ok"


def head(frame: Frame) -> dict[str, Any]:
    """Return the JSON members about a check that are known before its result."""
    said = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": TOOL, "version": __version__},
        "path": frame.path,
        "level": frame.level,
    }
    return said | ({"created": frame.created} if frame.created else {})


def sample(frame: Frame) -> dict[str, Any]:
    """Return the JSON members about a sample, none if there was no sample."""
    if frame.sample is None or frame.summary.sampled is None:
        return {}
    counts = {"files": frame.summary.sampled.files, "hashed": frame.summary.sampled.hashed}
    return {"sample": {"asked": frame.sample.text, "seed": frame.sample.seed, **counts}}


def sampled(frame: Frame) -> str:
    """Return how many files were hashed of how many, empty when there was no sample."""
    if frame.sample is None or frame.summary.sampled is None:
        return ""
    files, hashed = frame.summary.sampled.files, frame.summary.sampled.hashed
    asked = f"sample of {frame.sample.text}, seed {frame.sample.seed}"
    return f"{hashed:,} of {counted(files, 'file')} hashed ({asked})"


def result(frame: Frame) -> dict[str, Any]:
    """Return the JSON members about a check's result, without its findings."""
    summary = frame.summary
    return sample(frame) | {
        "verdict": verdict(summary),
        "is_complete": frame.is_complete,
        "counts": {
            "packages": summary.packages,
            "files": summary.files,
            "links": summary.links,
            "bytes": summary.bytes,
            "errors": summary.errors,
            "warnings": summary.warnings,
            "infos": summary.infos,
        },
    }


def document(summary: CheckSummary, findings: Iterable[Finding], *, path: str, level: str) -> dict[str, Any]:
    """Return a finished check's report as one object held in memory; findings in the order given."""
    frame = Frame(path=path, level=level, summary=summary)
    return head(frame) | result(frame) | {"findings": [record(each) for each in findings]}
