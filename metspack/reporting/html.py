"""The report as one HTML page, with charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby, islice
from typing import Any, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from metspack import resources
from metspack.checking import Level, PackageResult
from metspack.checking.links.graph import LinkState
from metspack.layouts import readers
from metspack.limits import Limits
from metspack.model import Finding
from metspack.reporting import linkmap, model
from metspack.reporting.facts import add_damage
from metspack.reporting.model import Frame, Relation, ReportFacts, SplitLob, SplitPart, printable
from metspack.reporting.store import CodeGroup, Excerpts, FindingStore
from metspack.reporting.text import INTERRUPTED, counts
from metspack.resources import __version__
from metspack.sizes import counted


def visible(value: object) -> Markup:
    """Return a value as HTML text, with escapes for characters that do not print."""
    return value if isinstance(value, Markup) else escape(printable(str(value)))


@cache
def _environment() -> Environment:
    """Return the environment of the templates: it escapes all values and requires each of them."""
    environment = Environment(
        loader=FileSystemLoader(resources.root() / "templates" / "report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"counted": counted, "counts": counts, "standing": model.standing}
    environment.filters["number"] = "{:,}".format
    return environment


SHOWN = 500
"""The most findings of one code in a package, and places of one finding, that are shown."""

_T = TypeVar("_T")
_CHILDREN = 5_000
_FOLDED = 40  # rows of a table beyond which those without a fault are folded away
_PAPER = 100  # rows that are printed
_PRINTED = 10  # findings of a code that are printed, and at least
_PRINTED_LEAST = 2
_PRINTED_TOGETHER = 100
_NAMED = 10  # representations that are not in order, parents
_AT_THE_FOOT = 90  # characters beside the number of a sheet
_BUFFERED_EVENTS = 200
_VERDICTS = {"ok": "No faults found", "warning": "Warnings", "error": "Errors found"}
_LEVELS = {
    Level.LINKS: "the METS files only",
    Level.STRUCTURE: "everything that needs no LOB's bytes",
    Level.FIXITY: "every file's bytes against its digests, without the archive's cells",
    Level.FULL: "every byte, and every cell of the archive",
}
_SAMPLED_LEVELS = {
    Level.FIXITY: "the bytes of the files in the sample against their digests, without the archive's cells",
    Level.FULL: "every byte of the files in the sample, and every cell of the archive",
}
MEANINGS = {
    "ok": "both name each other",
    "elsewhere": "both name each other, but the child is not where its parent says",
    "one-way": "only one names the other",
    "broken": "the link leads nowhere or to another METS, or one of the two METS was changed",
    "missing": "named, but does not exist",
    "extra": "exists, but no METS names it",
    "unknown": "a parent that is not in the packages and roots checked",
}
"""The meanings of the states of children; a legend has those that occur."""


def document(frame: Frame, kept: FindingStore) -> Iterator[str]:
    """Yield the report as HTML; it quotes the lines that findings refer to."""
    with Excerpts(frame.folders) as excerpts:
        for _, _, found in _found(frame, kept):
            excerpts.want(found)
        excerpts.read()
        stream = _environment().get_template("page.html.j2").stream(_facts(frame, kept, excerpts))
        stream.enable_buffering(_BUFFERED_EVENTS)
        yield from stream


def _facts(frame: Frame, kept: FindingStore, excerpts: Excerpts) -> dict[str, Any]:
    facts = add_damage(frame.facts, kept.by_place())
    found = model.verdict(frame.summary)
    is_open = not frame.is_complete and found != "error"
    headline = "Interrupted" if is_open else _VERDICTS[found]
    children = _shown(frame, facts.children)
    segments = [each for each in facts.children if each.is_missing or each.child.path]
    states = Counter(each.word for each in facts.children)
    is_drawn = (facts.children or facts.parents) and len(facts.children) <= linkmap.MOST
    in_legend = {*states, *([model.word(LinkState.UNKNOWN)] if facts.parents else [])}
    notes = {LinkState.UNKNOWN: " (not checked)"}
    above = dict.fromkeys(each.parent.objid + notes.get(each.state, "") for each in facts.parents)
    groups = kept.groups()
    shares = list(fills(_shown(frame, segments), frame.limits))
    filled, folded_fills = _folded(shares, lambda each: each["child"].is_fault or each["is_over"])
    digests, folded_digests = _folded(list(facts.fixity), lambda each: bool(each["failed"]))
    results = frame.summary.results if frame.are_several else ()
    rows = [(each, model.standing(each), f"package-{number}") for number, each in enumerate(results, 1)]
    packages, folded_packages = _folded(rows, lambda each: each[1] != "ok")
    parts_of_findings = sum(1 for _ in kept.by_owner(frame.make_package_lookup())) if rows else len(groups)
    provenance = frame.provenance
    return {
        "version": __version__,
        "provenance": provenance if provenance.checked else replace(provenance, checked=frame.created),
        "paths": _first_of(provenance.paths, "path"),
        "made_by": "" if frame.are_several else "".join(map(_made_by, frame.summary.results)),
        "sheets": _sheets(frame),
        "archives": facts.archives[:_CHILDREN],
        "opens_archives": Level(frame.level).opens_archives,
        "frame": frame,
        "packages": packages,
        "folded_packages": folded_packages,
        "digests": digests,
        "folded_digests": folded_digests,
        "parents": _first_of(above, "parent"),
        "level": (_LEVELS if frame.sample is None else _SAMPLED_LEVELS)[Level(frame.level)],
        "sampled": model.sampled(frame),
        "unopened": printable(readers.unopened(frame.summary.unopened)),
        "readers": model.readers_lines(frame.summary),
        "facts": facts,
        "verdict": "warning" if is_open else found,
        "headline": model.outcome(frame.summary) if rows else "Not a package" if frame.are_none else headline,
        "interrupted": INTERRUPTED,
        "map": linkmap.link_map(facts) if is_drawn else None,
        "legend": [(state, meaning) for state, meaning in MEANINGS.items() if state in in_legend],
        "children": children,
        "representations": _representations(facts),
        "states": [(state, states[state]) for state in MEANINGS if states[state]],
        "faulty": sum(each.is_fault for each in facts.children),
        "damaged": sum(bool(each.damage) for each in facts.children),
        "unverified": "not checked" if frame.level == Level.LINKS.value else "no faults found",
        "fills": filled,
        "folded_fills": folded_fills,
        "paper": _PAPER,
        "printed": min(_PRINTED, max(_PRINTED_LEAST, _PRINTED_TOGETHER // max(parts_of_findings, 1))),
        "segments_left_out": max(len(segments) - _CHILDREN, 0),
        "strips": list(strips(facts.splits)),
        "groups": groups,
        "packages_with_findings": _packages(frame, kept, excerpts, rows),
    }


def _folded(rows: list[_T], is_shown: Callable[[_T], bool]) -> tuple[list[_T], list[_T]]:
    """Return the shown and the folded rows: of many rows, those without ``is_shown`` are folded."""
    if len(rows) <= _FOLDED:
        return rows, []
    return [each for each in rows if is_shown(each)], [each for each in rows if not is_shown(each)]


def _first_of(names: Collection[str], what: str) -> list[str]:
    """Return the first of many names, and the number of the others."""
    more = len(names) - _NAMED
    return [*islice(names, _NAMED), *([f"... and {counted(more, f'more {what}')}"] if more > 0 else [])]


def _made_by(result: PackageResult) -> str:
    """Return the makers of a package, the last with the creation time in its METS, or ""."""
    made = [f"on {result.made}"] if result.made else []
    return ", ".join((*result.makers, *made, "as its METS says")) if result.makers else ""


def _sheets(frame: Frame) -> Markup:
    """Return the style of printed sheets: the subject of the check and page numbers at the foot.

    All but ASCII letters and digits of a name are escaped: no name can end the string.
    """
    objid = "" if frame.are_several else next((each.objid for each in frame.summary.results), "")
    words = printable(objid or frame.subject)
    words = words if len(words) <= _AT_THE_FOOT else f"{words[:_AT_THE_FOOT]}…"
    text = "".join(each if each.isascii() and each.isalnum() else f"\\{ord(each):x} " for each in words)
    return Markup(  # noqa: S704 -- escaped for CSS
        f'@page {{ @bottom-left {{ content: "{text}"; }}'
        ' @bottom-right { content: "Page " counter(page) " of " counter(pages); } }'
    )


def _representations(facts: ReportFacts) -> str:
    """Return the numbers of representations by state, and names of some that are not in order."""
    states = Counter(each.word for each in facts.representations)
    words = ", ".join(f"{states[state]:,} {state}" for state in MEANINGS if states[state])
    faulty = [each.name for each in facts.representations if each.state is not LinkState.OK]
    named = f" ({', '.join(faulty[:_NAMED])}{', ...' if len(faulty) > _NAMED else ''})" if faulty else ""
    return f"{counted(len(facts.representations), 'representation')}: {words}{named}." if words else ""


def _shown(frame: Frame, children: Sequence[Relation]) -> Sequence[Relation]:
    """Return the children to show: of very many, the first ones, which are at fault.

    If several packages were checked, they are in the order of paths.
    """
    order = {each.name: number for number, each in enumerate(frame.facts.children)}
    shown = children[:_CHILDREN]  # those at fault are first
    return sorted(shown, key=lambda each: order[each.name]) if frame.are_several else shown


def _found(frame: Frame, kept: FindingStore) -> Iterator[tuple[str, CodeGroup, Iterator[Finding]]]:
    """Yield the codes of each package with findings, by path; "" is that of a single package."""
    if not frame.are_several:
        for group in kept.groups():
            yield "", group, kept.of_group(group, SHOWN)
        return
    package = frame.make_package_lookup()
    groups = list(kept.by_owner(package))
    grouped = groupby(kept.of_owner(package), lambda each: (each[0], *model.kind(each[1])))
    for (name, group), (_, found) in zip(groups, grouped, strict=True):
        yield name, group, islice((finding for _, finding in found), SHOWN)


def _packages(
    frame: Frame, kept: FindingStore, excerpts: Excerpts, rows: Iterable[tuple[PackageResult, str, str]]
) -> Iterator[dict[str, Any]]:
    """Yield each package with its findings; findings outside of all have separate parts."""
    results = {printable(result.path): (result, anchor) for result, _, anchor in rows}
    ahead = sorted(results, reverse=True)
    codes = Counter[str]()

    def package(name: str, sections: Iterable[dict[str, Any]] = ()) -> dict[str, Any]:
        result, anchor = results.get(name, (None, None))
        return {"name": name, "anchor": anchor, "result": result, "sections": sections}

    for name, found in groupby(_found(frame, kept), lambda each: each[0]):
        while ahead and ahead[-1] < name:
            yield package(ahead.pop())
        if ahead and ahead[-1] == name:
            ahead.pop()
        yield package(name, (_section(group, each, excerpts, codes) for _, group, each in found))
    yield from map(package, reversed(ahead))


def _section(
    group: CodeGroup, found: Iterator[Finding], excerpts: Excerpts, codes: Counter[str]
) -> dict[str, Any]:
    """Return the findings of one code; ``codes`` counts the sections so far, for unique anchors."""
    codes[group.anchor] += 1
    number = codes[group.anchor]
    return {
        "group": group,
        "anchor": group.anchor if number == 1 else f"{group.anchor}-{number}",
        "findings": (
            {
                "where": where,
                "words": words,
                "line": each.line,
                "excerpt": excerpts.of(each),
                "places": list(model.places(each, SHOWN)),
                "more": each.count - 1,
            }
            for each in found
            for where, words in (model.parts(each),)
        ),
        "left_out": max(group.count - SHOWN, 0),
    }


# --- Charts of segments and split LOBs: lengths of bars and strips, which templates draw as SVG ---

_STRIP = 1_000
_NARROWEST = 3.0


def fills(segments: Sequence[Relation], limits: Limits) -> Iterator[dict[str, Any]]:
    """Yield each segment's files and bytes as shares of the limits, or of the fullest segment."""
    most_files = max((each.files for each in segments), default=0)
    most_bytes = max((each.bytes for each in segments), default=0)
    for each in segments:
        files = _bar(each.files, limits.files, most_files, "file")
        size = _bar(each.bytes, limits.bytes, most_bytes, "byte")
        yield {"child": each, "files": files, "bytes": size, "is_over": files["is_over"] or size["is_over"]}


def _bar(value: int, limit: int | None, most: int, what: str) -> dict[str, Any]:
    """Return a number as a percentage of its limit or the largest, and whether it is too large."""
    whole = limit or most
    share = round(100 * value / whole, 1) if whole else 0.0
    return {
        "value": value,
        "share": min(share, 100.0),
        "is_over": limit is not None and value > limit,
        "percent": f"{share:,} %",
        "words": f"{counted(value, what)}, {share:,} % of the {'limit' if limit else 'fullest'} ({whole:,})",
    }


def strips(lobs: Iterable[SplitLob]) -> Iterator[dict[str, Any]]:
    """Yield each split LOB as a strip; parts of unknown size share the rest of the whole."""
    for lob, whole, pieces in lobs:
        held = sum(size or 0 for _, _, size, _ in pieces)
        lost = sum(size is None for _, _, size, _ in pieces)
        missing = max((whole or 0) - held, 0)
        # If the size of the whole is missing, a lost part gets the mean width of the others.
        guess = (missing or held // max(len(pieces) - lost, 1) or 1) // max(lost, 1) if lost else 0
        absent = sum(is_absent for *_, is_absent in pieces)
        of = "" if whole is None else f" of {whole:,}"
        gone = f", {counted(lost, 'part')} without a known size" if lost else ""
        gone += f", the file of {counted(absent, 'part')} missing" if absent else ""
        yield {
            "id": lob,
            "words": f"{counted(len(pieces), 'part')}, {held:,}{of} bytes{' listed' if absent else ''}{gone}",
            "is_whole": not (lost or absent) and whole in {None, held},
            "pieces": list(_pieces(pieces, max(guess, 1), held + max(guess, 1) * lost)),
        }


def _pieces(pieces: Iterable[SplitPart], guess: int, total: int) -> Iterator[dict[str, Any]]:
    """Yield the parts of a split LOB with their starts and widths, of 1,000 in all."""
    x = 0.0
    for part, child, size, is_absent in pieces:
        width = round(_STRIP * (guess if size is None else size) / max(total, 1), 1)
        words = "size unknown" if size is None else counted(size, "byte")
        yield {
            "x": round(x, 1),
            "width": max(width, _NARROWEST),
            "title": f"{part}: {words} in {child}{', file missing' if is_absent else ''}",
            "is_missing": size is None or is_absent,
        }
        x += width
