"""A check's report as one HTML page: no scripts, nothing from outside, the same bytes for the same check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from metspack import resources
from metspack.checking import Code
from metspack.reporting import drawing
from metspack.reporting.excerpts import Excerpts
from metspack.reporting.findings import parts, printable, verdict
from metspack.reporting.kept import Group, Kept
from metspack.reporting.model import Child, Frame, State
from metspack.reporting.text import INTERRUPTED
from metspack.sizes import counted
from metspack.version import __version__

SHOWN = 500
"""Findings of one code on the page; how many more there are is said."""

_CHILDREN = 5_000
_BUFFERED_EVENTS = 200
_VERDICTS = {"ok": "No faults found", "warning": "Warnings", "error": "Errors found"}
_OPEN = "Interrupted"


def document(frame: Frame, kept: Kept, roots: Mapping[str, Path]) -> Iterator[str]:
    """Yield the report as HTML; ``roots`` are as ``Excerpts`` has them, to quote what findings point at."""
    with Excerpts(roots) as excerpts:
        for group in kept.groups():
            excerpts.want(kept.of_group(group, SHOWN))
        excerpts.read()
        stream = _environment().get_template("page.html.j2").stream(_facts(frame, kept, excerpts))
        stream.enable_buffering(_BUFFERED_EVENTS)
        yield from stream


def visible(value: object) -> Markup:
    """Return a value as HTML text; characters that do not print, or turn text around, are shown as codes."""
    return value if isinstance(value, Markup) else escape(printable(str(value)))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(resources.template_folder() / "report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["counted"] = counted
    environment.filters["number"] = lambda value: f"{value:,}"
    return environment


def _facts(frame: Frame, kept: Kept, excerpts: Excerpts) -> dict[str, Any]:
    facts = frame.facts
    found = verdict(frame.summary)
    children = _shown(facts.children)
    states = Counter(each.state for each in facts.children)
    return {
        "version": __version__,
        "frame": frame,
        "summary": frame.summary,
        "facts": facts,
        "verdict": found if frame.is_complete or found == "error" else "warning",
        "headline": _VERDICTS[found] if frame.is_complete or found == "error" else _OPEN,
        "interrupted": INTERRUPTED,
        "map": drawing.linked(facts) if len(facts.children) <= drawing.DRAWN else None,
        "children": children,
        "children_left_out": len(facts.children) - len(children),
        "states": [(state.value, states[state]) for state in State if states[state]],
        "fills": list(drawing.fills(facts.segments[:_CHILDREN], frame.limits)),
        "segments_left_out": max(len(facts.segments) - _CHILDREN, 0),
        "strips": list(drawing.strips(facts.splits)),
        "groups": kept.groups(),
        "sections": (_section(kept, group, excerpts) for group in kept.groups()),
    }


def _shown(children: Sequence[Child]) -> Sequence[Child]:
    """Return the children that get a tile: all, or of very many those at fault first, in their order."""
    if len(children) <= _CHILDREN:
        return children
    worst = sorted(range(len(children)), key=lambda number: children[number].state is State.OK)[:_CHILDREN]
    return [children[number] for number in sorted(worst)]


def _section(kept: Kept, group: Group, excerpts: Excerpts) -> dict[str, Any]:
    return {
        "group": group,
        "rule": Code.named(group.code).value,
        "findings": (
            {"where": where, "said": said, "line": each.line, "excerpt": excerpts.of(each)}
            for each in kept.of_group(group, SHOWN)
            for where, said in (parts(each),)
        ),
        "left_out": max(group.count - SHOWN, 0),
    }
