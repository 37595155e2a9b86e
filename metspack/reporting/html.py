"""A check's report as one HTML page: no scripts, nothing from outside, the same bytes for the same check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metspack.checking import Code, Level
from metspack.checking.graph import LinkState
from metspack.reporting import drawing, linkmaps
from metspack.reporting.excerpts import Excerpts
from metspack.reporting.findings import parts, sampled, verdict
from metspack.reporting.kept import CodeGroup, FindingStore
from metspack.reporting.model import Frame, Relation, ReportFacts, word
from metspack.reporting.templating import environment
from metspack.reporting.text import INTERRUPTED, counts
from metspack.version import __version__

SHOWN = 500
"""Findings of one code on the page; how many more there are is said."""

DRAWN = 60
"""Children that are drawn with their arrows; more become tiles."""

_CHILDREN = 5_000
_BUFFERED_EVENTS = 200
_VERDICTS = {"ok": "No faults found", "warning": "Warnings", "error": "Errors found"}
_OPEN = "Interrupted"
_LEVELS = {
    Level.LINKS: "the METS files alone",
    Level.STRUCTURE: "all that needs no LOB's bytes",
    Level.FIXITY: "every file's bytes against its digests, the archive's cells left out",
    Level.FULL: "every byte, and every cell of the archive",
}
_SAMPLED_LEVELS = {
    Level.FIXITY: "the bytes of the files in the sample against their digests, the archive's cells left out",
    Level.FULL: "every byte of the files in the sample, and every cell of the archive",
}
MEANINGS = {
    word(state): meaning
    for state, meaning in (
        (LinkState.OK, "both name each other"),
        (LinkState.ELSEWHERE, "both name each other, but it lies elsewhere than its parent says"),
        (LinkState.ONE_WAY_DOWN, "only one names the other"),
        (LinkState.BROKEN, "leads nowhere or to another METS, or one of the two METS was changed"),
        (LinkState.MISSING, "named, but not there"),
        (LinkState.EXTRA, "there, but named by nobody"),
        (LinkState.UNKNOWN, "a parent that is not among the packages and roots looked at"),
    )
}
"""What the states of children mean; a legend has those that occur."""


def document(frame: Frame, kept: FindingStore, roots: Mapping[str, Path]) -> Iterator[str]:
    """Yield the report as HTML; ``roots`` are as ``Excerpts`` has them, to quote what findings point at."""
    with Excerpts(roots) as excerpts:
        for group in kept.groups():
            excerpts.want(kept.of_group(group, SHOWN))
        excerpts.read()
        stream = environment().get_template("page.html.j2").stream(_facts(frame, kept, excerpts))
        stream.enable_buffering(_BUFFERED_EVENTS)
        yield from stream


def _facts(frame: Frame, kept: FindingStore, excerpts: Excerpts) -> dict[str, Any]:
    facts = frame.facts
    found = verdict(frame.summary)
    children = _shown(facts.children)
    states = Counter(each.word for each in facts.children)
    drawn = linkmaps.link_map(facts.tops, facts.children, facts.parents) if _is_drawn(facts) else None
    return {
        "version": __version__,
        "frame": frame,
        "summary": frame.summary,
        "counts": counts(frame.summary),
        "level": (_LEVELS if frame.sample is None else _SAMPLED_LEVELS)[Level(frame.level)],
        "sampled": sampled(frame),
        "facts": facts,
        "verdict": found if frame.is_complete or found == "error" else "warning",
        "headline": _VERDICTS[found] if frame.is_complete or found == "error" else _OPEN,
        "interrupted": INTERRUPTED,
        "map": drawn,
        "legend": list(_legend(facts)),
        "has_absent": drawn is not None and any(each.is_missing for each in drawn.arrows),
        "children": children,
        "children_left_out": len(facts.children) - len(children),
        "states": [(state, states[state]) for state in MEANINGS if states[state]],
        "fills": list(drawing.fills(facts.segments[:_CHILDREN], frame.limits)),
        "segments_left_out": max(len(facts.segments) - _CHILDREN, 0),
        "strips": list(drawing.strips(facts.splits)),
        "groups": kept.groups(),
        "sections": (_section(kept, group, excerpts) for group in kept.groups()),
    }


def _is_drawn(facts: ReportFacts) -> bool:
    return bool(facts.children or facts.parents) and len(facts.children) <= DRAWN


def _legend(facts: ReportFacts) -> Iterator[tuple[str, str]]:
    """Yield the states that are in the picture, and what they mean."""
    found = {each.word for each in facts.children}
    if facts.parents:
        found.add(word(LinkState.UNKNOWN))
    yield from ((state, meaning) for state, meaning in MEANINGS.items() if state in found)


def _shown(children: Sequence[Relation]) -> Sequence[Relation]:
    """Return the children that get a tile: all, or of very many those at fault first, in their order."""
    if len(children) <= _CHILDREN:
        return children
    worst = sorted(range(len(children)), key=lambda number: children[number].state is LinkState.OK)[
        :_CHILDREN
    ]
    return [children[number] for number in sorted(worst)]


def _section(kept: FindingStore, group: CodeGroup, excerpts: Excerpts) -> dict[str, Any]:
    return {
        "group": group,
        "rule": Code.named(group.code),
        "findings": (
            {"where": where, "said": said, "line": each.line, "excerpt": excerpts.of(each)}
            for each in kept.of_group(group, SHOWN)
            for where, said in (parts(each),)
        ),
        "left_out": max(group.count - SHOWN, 0),
    }
