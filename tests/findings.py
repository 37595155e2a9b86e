"""Findings in the order of reports."""

from __future__ import annotations

from collections.abc import Iterable

from metspack.model import Finding


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by path, line, code and place, in the order found among equals."""

    def key(each: Finding) -> tuple[str, int, str, str]:
        return each.path, each.line, each.code, each.place

    return sorted(findings, key=key)
