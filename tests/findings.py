"""Findings in the order of reports."""

from __future__ import annotations

from collections.abc import Iterable

from metspack.model import Finding


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by path, line, code and place, in the order found among equals."""

    def key(each: Finding) -> tuple[str, int, str, str]:
        return each.path, each.line, each.code, each.place

    return sorted(findings, key=key)


def codes(findings: Iterable[Finding]) -> list[str]:
    """Return the codes of findings in the order of reports."""
    return [each.code for each in ordered(findings)]


def placed(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """Return code and path of findings in the order of reports."""
    return [(each.code, each.path) for each in ordered(findings)]
