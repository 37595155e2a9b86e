"""A check's report for people to read: findings in groups, the worst first, then the verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metspack.checking import CheckSummary, PackageResult
from metspack.layouts import readers
from metspack.model import Severity
from metspack.reporting import model
from metspack.reporting.model import NOT_A_PACKAGE, Frame, printable
from metspack.reporting.store import CodeGroup, FindingStore
from metspack.resources import __version__
from metspack.sizes import counted

INTERRUPTED = "The check was interrupted: this report may be incomplete."


_WORDS = re.compile(" +|[^ ]+")
_HANGING = "    "


Line = tuple[tuple[str, str], ...]
"""Printable texts, each with its style ("" for plain), as ``metspack check`` prints them."""


def grouped(kept: FindingStore, limit: int | None = None, least: Severity = Severity.INFO) -> Iterator[Line]:
    """Yield findings by code or requirement, at most ``limit`` of each, and the number left out.

    Each finding shows as many of its places at most. A limit of None shows all. Findings below the severity
    ``least`` are left out.
    """
    for group in _groups(kept, least):
        yield _head(group)
        for each in kept.of_group(group, limit):
            where, words = model.parts(each)
            yield (f"  {where}: ", "faint"), (words, "")
            for place in model.places(each, limit and limit - 1):
                yield ((f"    {place}", "faint"),)
        if limit is not None and group.count > limit:
            more = counted(group.count - limit, "more finding")
            yield ((f"  ... and {more} {group.label} (--max-per-code 0 shows all)", "faint"),)


def totals(kept: FindingStore, least: Severity = Severity.INFO) -> Iterator[Line]:
    """Yield a line for each code with the number of its findings, the worst first."""
    return map(_head, _groups(kept, least))


def _groups(kept: FindingStore, least: Severity) -> Iterator[CodeGroup]:
    return (each for each in kept.groups() if model.rank(each.severity) <= model.rank(least))


def _head(group: CodeGroup) -> Line:
    count = f" ({counted(group.count, 'finding')})" if group.count > 1 else ""
    severity, title = group.severity.value, group.explanation.title
    return (f"{severity} {group.name}", severity), (f" {title}{count}", "")


def verdict(frame: Frame) -> Iterator[Line]:
    """Yield the counts of files and findings.

    Of several packages the counts of each come first, and the verdict for filing last.
    """
    summary = frame.summary
    if not frame.is_complete:
        yield ((INTERRUPTED, "warning"),)
    if frame.are_several:
        yield from map(_package, summary.results)
    none = f"{NOT_A_PACKAGE}, " if frame.are_none else ""
    looked = (
        f"{printable(frame.subject)}: {none}{counted(summary.packages, 'METS file')}, "
        f"{counted(summary.files, 'listed file')}, {counted(summary.links, 'link')}"
    )
    if summary.bytes:
        looked += f", {counted(summary.bytes, 'byte')} read"
    if sample := model.sampled(frame):
        looked += f"; {sample}"
    style = "error" if summary.errors else "warning" if summary.warnings else "good"
    yield (f"{looked}; level {frame.level}: ", ""), (counts(summary), style)
    if frame.are_several:
        yield ((model.outcome(summary), style),)


def _package(result: PackageResult) -> Line:
    """Return the line of one package of several."""
    identity = ", ".join(filter(None, (result.objid, result.kind if result.is_package else "")))
    ends = model.standing(result)
    style = "error" if result.errors else "good" if ends == "ok" else "warning"
    found = counts(result)
    if not (result.is_complete and result.is_package):
        found = f"{ends}; {found}" if result.is_complete else ends
    about = printable(f"  ({identity})") if identity else ""
    return (f"{printable(result.path)}: ", ""), (found, style), (about, "faint")


def counts(summary: CheckSummary | PackageResult) -> str:
    """Return the numbers of findings: ``1 error, 0 warnings``, with notes where there are any."""
    notes = [counted(summary.infos, "note")] if summary.infos else []
    return ", ".join((counted(summary.errors, "error"), counted(summary.warnings, "warning"), *notes))


def unopened(frame: Frame) -> Iterator[Line]:
    """Yield a line on the archives that readers of their version refuse, if there are any."""
    if words := printable(readers.unopened(frame.summary.unopened)):
        yield ((f"{words[0].upper()}{words[1:]}.", "warning"),)


def document(frame: Frame, kept: FindingStore) -> Iterator[str]:
    """Yield the whole report as lines of plain text; the first names tool and package."""
    provenance = frame.provenance
    created = f", {frame.created}" if frame.created and not provenance.checked else ""
    words = printable(readers.unopened(frame.summary.unopened))
    first = f"metspack check of {printable(frame.path)}, level {frame.level}{created}"
    yield f"{'; '.join(filter(None, (first, words)))}\n"
    for line in verdict(frame):
        yield plain(line)
    yield from (f"{words}\n" for words in model.readers_lines(frame.summary))
    place, operator = provenance.host and f"on {provenance.host}", provenance.operator
    if found := " ".join(filter(None, (provenance.moment, place, operator and f"by {operator}"))):
        yield f"Checked {printable(found)} with metspack {__version__}\n"
    yield from (f"Path: {printable(path)}\n" for path in provenance.paths)
    yield "\n"
    for line in grouped(kept):
        yield plain(line)


def wrapped(line: Line, width: int) -> Iterator[Line]:
    """Yield a line as rows of at most ``width`` columns, all but the first indented."""
    from rich.cells import cell_len  # noqa: PLC0415 -- heavy: only where a person looks at it

    row: list[tuple[str, str]] = []
    used = 0
    for text, style in line:
        for word in _WORDS.findall(text):
            used += cell_len(word)
            if used > width and not word.isspace() and not all(each.isspace() for each, _ in row):
                yield tuple(row[:-1] if row[-1][0].isspace() else row)
                row, used = [(_HANGING, "")], len(_HANGING) + cell_len(word)
            row.append((word, style))
    yield tuple(row)


def plain(line: Line) -> str:
    """Return a line without its styles, with its end."""
    return "".join(text for text, _ in line) + "\n"
