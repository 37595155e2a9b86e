"""Report the faults of a METS document by the schema, those of each engine up to a number."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from metspack import safexml
from metspack.checking.codes import Code
from metspack.mets import schema
from metspack.mets.schema import Blocks, Grammar, Validation
from metspack.model import Finding

STRICT_MOST = 64 << 20
"""Bytes of the largest document for the second engine, whose memory is about ten times that."""


def findings(name: str, validation: Validation, blocks: Blocks) -> Iterator[Finding]:
    """Yield the findings on the invalid elements of a document that the validation watched."""
    try:
        for line, place, reason in validation.faults(blocks):
            yield Code.NOT_VALID.at(name, line, place, reason=reason)
    except safexml.XmlError as error:
        # The first reading found it well-formed: a fault without a line is one of libxml2's limits.
        code = Code.NOT_WELL_FORMED if error.line else Code.BUDGET
        yield code.at(name, error.line, reason=error.message)
    if validation.further:
        yield Code.MORE_NOT_VALID.at(name, count=validation.further)


def strict_findings(
    name: str, blocks: Blocks, grammar: Grammar, *, most: int = STRICT_MOST
) -> Iterator[Finding]:
    """Yield the findings of the second engine; one too large for it has a finding too.

    Raises ``ConfigError`` as ``schema.strict_faults`` does.
    """
    faults = schema.strict_faults(blocks, grammar, most=most)
    if faults is None:
        yield Code.SECOND_ENGINE_LEFT_OUT.at(name, expected=f"{most:,}")
        return
    for line, _, reason in islice(faults, schema.SHOWN):
        yield Code.SECOND_ENGINE.at(name, line, reason=reason)
    if count := sum(1 for _ in faults):
        yield Code.MORE_NOT_VALID.at(name, count=f"{count:,}")
