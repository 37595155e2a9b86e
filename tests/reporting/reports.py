"""Checks kept for tests of reports, without the command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from metspack.checking import Checked, CheckSummary, Level, check
from metspack.checking.links.graph import Edge, LinkState, Node
from metspack.model import Finding, Severity
from metspack.reporting.facts import facts_of, join_facts
from metspack.reporting.model import Frame, Relation, ReportFacts
from metspack.reporting.store import FindingStore

NONE = CheckSummary(packages=0, files=0, links=0, bytes=0, errors=0, warnings=0, infos=0)


@contextmanager
def checked(
    package: Path | Sequence[Path], level: Level = Level.FULL, roots: Sequence[Path] = ()
) -> Iterator[tuple[Frame, FindingStore]]:
    """Give the frame and the findings of a check of a package, or of several."""
    facts = ReportFacts()

    def gather(seen: Checked) -> None:
        nonlocal facts
        facts = join_facts([facts, facts_of(seen, level)])

    with FindingStore() as kept:
        run = check(package, level, roots=roots, observer=gather)
        for each in run:
            kept.add(each)
        name = package.name if isinstance(package, Path) else ", ".join(map(str, package))
        yield Frame(path=name, level=level.value, summary=run.summary, facts=facts), kept


@contextmanager
def holding(*findings: Finding, frame: Frame | None = None) -> Iterator[tuple[Frame, FindingStore]]:
    """Give a frame whose counts are of given findings, and those findings."""
    counts = {severity: sum(each.severity is severity for each in findings) for severity in Severity}
    summary = replace(
        NONE, errors=counts[Severity.ERROR], warnings=counts[Severity.WARNING], infos=counts[Severity.INFO]
    )
    with FindingStore() as kept:
        for each in findings:
            kept.add(each)
        yield replace(frame or Frame(path="out", level="full", summary=summary), summary=summary), kept


def node(path: str, objid: str = "", found: str = "") -> Node:
    """Return the METS of an IP as a graph has it."""
    return Node(id=0, path=path, objid=objid, found=found)


def related(
    child: Node,
    parent: Node | None = None,
    state: LinkState = LinkState.OK,
    *,
    names_parent: bool = True,
    files: int = 0,
) -> Relation:
    """Return the relation of a child to a parent, the package's own METS if no other is given."""
    link = Edge(parent=0, child=0, href="", line=0, state=state, names_parent=names_parent)
    return Relation(
        parent=parent or node("mets.xml"),
        child=child,
        link=None if state is LinkState.EXTRA else link,
        state=state,
        files=files,
    )
