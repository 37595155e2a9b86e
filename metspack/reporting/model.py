"""Values of reports: subject, options and figures of a check, and a finding as text and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from metspack.checking import CheckSummary, PackageResult, reported_id, standard_of
from metspack.checking.links.graph import Edge, Graph, LinkState, Node
from metspack.checking.options import FileSample
from metspack.layouts.readers import Readership, readership_on_disk
from metspack.limits import Limits
from metspack.model import Finding, FindingPlace, Severity
from metspack.resources import SCHEMA_VERSION, __version__
from metspack.sizes import counted

_CODES = 3  # shown beside a state; the findings show all


def word(state: LinkState) -> str:
    """Return a link's state in one word; the map draws the direction of a one-way link."""
    return "unknown" if state is LinkState.UNKNOWN else state.value.partition(",")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A parent IP, a child IP and the link between them: nodes and edge of the check's graph.

    ``link`` is None for a child that no METS names; its parent is then the package's own METS. ``files`` and
    ``bytes`` are those that the child's METS and those of its representations list, METS left out. ``damage``
    are words on its files and errors, set after all findings are collected.
    """

    parent: Node
    child: Node
    link: Edge | None
    state: LinkState
    files: int = 0
    bytes: int = 0
    damage: str = ""

    @property
    def word(self) -> str:
        """Its state in one word."""
        return word(self.state)

    @property
    def summary(self) -> str:
        """Its state, and the damage of its files."""
        return f"links {self.words}, {self.damage}" if self.damage else self.words

    @property
    def is_missing(self) -> bool:
        """True if the child is named, but missing."""
        return self.state is LinkState.MISSING

    @property
    def is_fault(self) -> bool:
        """True if the link, or any of the child's files, is at fault."""
        return bool(self.damage) or self.link is None or self.link.is_fault

    @property
    def words(self) -> str:
        """Its state, followed by the codes of its findings when the link is at fault."""
        codes = self.link.codes[:_CODES] if self.link is not None and self.link.is_fault else ()
        return " ".join((self.word, *codes))

    @property
    def names_child(self) -> bool:
        """True if the parent links to the child."""
        return self.link is not None and self.link.names_child

    @property
    def names_parent(self) -> bool:
        """True if the child links to the parent."""
        return self.link is not None and self.link.names_parent

    @property
    def name(self) -> str:
        """The name of the child: its folder, else its METS, else its OBJID."""
        return self.child.folder or self.child.path or self.child.objid


def below(graph: Graph) -> Iterator[Relation]:
    """Yield the children and representations of a package, unnamed ones last."""
    if (top := graph.top) is None:
        return
    nodes, named = {node.id: node for node in graph.nodes}, {top.id}
    for edge in graph.edges:
        parent, child = nodes[edge.parent], nodes[edge.child]
        # A METS that is its own child, or a link that makes the package's METS a child: neither counts.
        if parent.path and child.id != top.id:
            named.add(child.id)
            yield Relation(parent=parent, child=child, link=edge, state=edge.state)
    for node in graph.nodes:
        if node.path and node.id not in named:
            yield Relation(parent=top, child=node, link=None, state=LinkState.EXTRA)


def parents(graph: Graph) -> Iterator[Relation]:
    """Yield the parents of the package's own METS, which are no part of the package."""
    top, nodes = graph.top, {node.id: node for node in graph.nodes}
    for edge in graph.edges:
        if top is not None and edge.child == top.id and not nodes[edge.parent].path:
            yield Relation(parent=nodes[edge.parent], child=top, link=edge, state=edge.state)


SplitPart = tuple[str, str, int | None, bool]
"""A part of a split LOB: id, child by the parent's METS, size there, True if its file is absent."""

SplitLob = tuple[str, int | None, tuple[SplitPart, ...]]
"""A split LOB: its id, the size of the whole in the parent's METS, and its parts."""


ARCHIVE = (
    *("path", "version", "database", "owner", "timespan", "archived"),
    *("schemas", "tables", "rows", "lobs", "lost", "inline", "bytes"),
)
"""The facts of an archive: of its database by its metadata, and of the LOBs in its cells.

``rows`` is None when metadata.xml does not count those of all tables, ``lobs``, the ``lost`` of them and
``inline`` (values in the cells themselves) when not all cells were read. ``bytes`` are those of the LOBs
that were found.
"""

FIXITY = ("source", "algorithm", "files", "bytes", "read", "failed")
"""The figures of the digests of one algorithm in METS or in a manifest, its ``source``.

``files`` have a digest there, of ``bytes`` in all; ``read`` of them were hashed, ``failed`` of those differ.
Both are None when the check was interrupted.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """Figures of the packages of a check: links, segments, split LOBs, fixity.

    ``tops`` are the METS of the packages themselves, ``parents`` the relations above them, ``children`` those
    below, and ``representations`` those of packages and children, sorted by name, those without a METS last.
    ``splits`` are the first split LOBs; ``splits_left_out`` counts further ones. If several packages were
    checked, paths begin with that of the package, as in findings. ``archives`` are the SIARD archives that
    the check opened. Memory is taken per segment, never per LOB.
    """

    tops: tuple[Node, ...] = ()
    parents: tuple[Relation, ...] = ()
    children: tuple[Relation, ...] = ()
    representations: tuple[Relation, ...] = ()
    splits: tuple[SplitLob, ...] = ()
    splits_left_out: int = 0
    fixity: tuple[dict[str, Any], ...] = ()
    archives: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The time, place and operator of a check; reports leave empty values out.

    ``checked`` is an xs:dateTime in UTC, ``paths`` are the packages' absolute paths.
    """

    checked: str = ""
    host: str = ""
    operator: str = ""
    paths: tuple[str, ...] = ()

    @property
    def moment(self) -> str:
        """The time for a person: ``2026-05-01 12:00:00 UTC``."""
        return self.checked.replace("T", " ").replace("Z", " UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The frame of a check's report: its subject, its options and its result.

    ``path`` is the package as the user named it. ``sample`` selected the files that were hashed
    (``summary.sampled`` counts them); None stands for all. ``is_complete`` is False when the check was
    interrupted. ``created`` is an xs:dateTime, empty to leave it out. Findings of ``fail_on`` or worse make
    the check fail; with None it cannot fail. ``limits`` are those that segments are compared with.
    ``folders`` are those of the packages, by the prefix of the paths of their findings. ``provenance`` is for
    reports that are filed: HTML, text.
    """

    path: str
    level: str
    summary: CheckSummary
    sample: FileSample | None = None
    is_complete: bool = True
    created: str = ""
    fail_on: Severity | None = Severity.ERROR
    limits: Limits = field(default_factory=Limits)
    folders: Mapping[str, Path] = field(default_factory=dict)
    facts: ReportFacts = field(default_factory=ReportFacts)
    provenance: Provenance = field(default_factory=Provenance)

    @property
    def are_several(self) -> bool:
        """True if several packages were checked: then each has a separate result in every report."""
        return len(self.summary.results) > 1

    @property
    def subject(self) -> str:
        """The subject of the check in few words: the path, or the number of packages."""
        packages = sum(each.is_package for each in self.summary.results)
        return counted(packages, "package") if self.are_several else self.path

    @property
    def are_none(self) -> bool:
        """True if a single subject was checked, and is not a package."""
        return not (self.are_several or all(each.is_package for each in self.summary.results))

    def make_package_lookup(self) -> Callable[[str], str]:
        """Return a function that gives the printed path of a finding's package.

        A path outside of all packages is returned unchanged, as is a list of expected packages.
        """
        paths = [printable(each.path) for each in self.summary.results]
        names = {"", *paths}
        apart = set(map(printable, self.summary.apart))

        def package(path: str) -> str:
            path = printable(path)
            if path in apart:
                return path
            return paths[0] if len(paths) == 1 else nearest(path, names) or path

        return package

    def fails(self, severity: Severity) -> bool:
        """Return whether a finding of this severity makes the check fail."""
        return self.fail_on is not None and rank(severity) <= rank(self.fail_on)

    @property
    def is_failed(self) -> bool:
        """True if the check fails as a whole."""
        counts = self.summary.errors, self.summary.warnings, self.summary.infos
        return any(count and self.fails(each) for each, count in zip(Severity, counts, strict=True))


def nearest(path: str, among: Container[str]) -> str:
    """Return a path, or the nearest one above it, that is ``among`` others: of these one is ""."""
    while path not in among:
        path = path.rpartition("/")[0]
    return path


rank = tuple(Severity).index
"""The function that returns a severity's rank, from 0 for the worst."""


def kind(finding: Finding) -> tuple[Severity, str, str, str]:
    """Return the key by which findings are grouped: severity, code, requirement or code, and standard."""
    return finding.severity, finding.code, reported_id(finding), standard_of(finding)


def line(finding: Finding) -> str:
    """Return a finding as one line: ``mets.xml:41: error L001 mptr 'X' has no ...``.

    Control characters are escaped, so that a name in a package cannot write to the terminal or forge lines.
    """
    where, words = parts(finding)
    return f"{where}: {finding.severity.value} {finding.code} {words}"


def parts(finding: Finding) -> tuple[str, str]:
    """Return a finding's place (``mets.xml:41``) and message, both printable.

    The finding's requirement, if it has one besides its code, ends the message.
    """
    place = f" [{finding.place}]" if finding.place else ""
    also = "" if finding.requirement in {"", reported_id(finding)} else f" ({finding.requirement})"
    return printable(_where(finding)), printable(f"{finding.message}{place}{also}")


def _where(at: Finding | FindingPlace) -> str:
    return f"{at.path}:{at.line}" if at.line else at.path


def places(finding: Finding, limit: int | None = None) -> Iterator[str]:
    """Yield up to ``limit`` other places of a finding, and the number of the rest; printable."""
    for each in finding.others[:limit]:
        yield printable(f"{_where(each)} [{each.place}]" if each.place else _where(each))
    if left := finding.count - 1 - len(finding.others[:limit]):
        yield f"... and {counted(left, 'more place')}"


def printable(text: str) -> str:
    """Return text with escapes for characters that do not print, such as bidirectional controls."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text
    )


def record(finding: Finding) -> dict[str, Any]:
    """Return a finding as its object in JSON."""
    rule = finding.explanation
    return {
        "code": finding.code,
        "requirement": finding.requirement or None,
        "severity": finding.severity.value,
        **_place(finding),
        "message": finding.message,
        "facts": dict(finding.facts),
        "count": finding.count,
        "others": list(map(_place, finding.others)),
        "clause": rule.clause,
        "remedy": rule.remedy,
    }


def _place(at: Finding | FindingPlace) -> dict[str, str | int | None]:
    return {"path": at.path, "line": at.line or None, "place": at.place or None}


NOT_A_PACKAGE = "not a package"


def standing(result: PackageResult) -> str:
    """Return the verdict on a package, or a note that its check is unfinished."""
    return verdict(result) if result.is_complete else "not checked to the end"


def tally(summary: CheckSummary) -> dict[str, int]:
    """Return the number of packages checked, and those of each outcome, as in JSON."""
    packages = [each for each in summary.results if each.is_package]
    failed = sum(bool(each.errors) for each in packages)
    unfinished = sum(not (each.errors or each.is_complete) for each in packages)
    return {
        "packages": len(packages),
        "without_errors": len(packages) - failed - unfinished,
        "with_errors": failed,
        "unfinished": unfinished,
        "no_packages": len(summary.results) - len(packages),
        "errors_beside": summary.beside,
    }


def outcome(summary: CheckSummary) -> str:
    """Return the verdict on a delivery: the number of packages of each outcome."""
    found = tally(summary)
    words = [f"{found['without_errors']:,} without errors", f"{found['with_errors']:,} with errors"]
    words += [f"{found['unfinished']:,} not checked to the end"] if found["unfinished"] else []
    if others := found["no_packages"]:
        words.append(counted(others, "entry is no package", "entries are no packages"))
    words += [f"{counted(summary.beside, 'error')} about none of them"] if summary.beside else []
    return f"{counted(found['packages'], 'package')}: {', '.join(words)}"


def verdict(summary: CheckSummary | PackageResult) -> str:
    """Return the verdict: ``error``, ``warning`` or ``ok``, or that it is not a package."""
    if isinstance(summary, PackageResult) and not summary.is_package:
        return NOT_A_PACKAGE
    return "error" if summary.errors else "warning" if summary.warnings else "ok"


def head(frame: Frame) -> dict[str, Any]:
    """Return the JSON members about a check that precede its result."""
    words = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "metspack", "version": __version__},
        "path": frame.path,
        "level": frame.level,
    }
    return words | ({"created": frame.created} if frame.created else {})


def sampled(frame: Frame) -> str:
    """Return words on the files that a sample or a ledger left to hash, or ""."""
    if (ledger := frame.summary.ledger) is not None:
        oldest = f", the oldest verified {ledger.oldest}" if ledger.oldest else ""
        return f"{counted(ledger.read, 'file')} read, {ledger.taken:,} taken from the ledger{oldest}"
    if frame.sample is None or frame.summary.sampled is None:
        return ""
    files, hashed = frame.summary.sampled.files, frame.summary.sampled.hashed
    drawn = f"sample of {frame.sample.text}, seed {frame.sample.seed}"
    return f"{hashed:,} of {counted(files, 'file')} hashed ({drawn})"


def readers_lines(summary: CheckSummary) -> list[str]:
    """Return the programs that find the archives' LOBs, in a line for each set of programs."""
    groups: dict[Readership, list[str]] = {}
    lobs = Counter[Readership]()
    for each in summary.routes:
        found = readership_on_disk(each)
        group = replace(found, lobs=0)
        groups.setdefault(group, []).append(each.path)
        lobs[group] += found.lobs
    lines = []
    for group, (first, *others) in groups.items():
        archives = f"{first} and {counted(len(others), 'more archive')}" if others else first
        lines.append(printable(replace(group, lobs=lobs[group]).sentence(archives)))
    return lines


def package(result: PackageResult) -> dict[str, Any]:
    """Return the result of one package as its object in JSON."""
    return {
        "path": printable(result.path),
        "objid": result.objid or None,
        "kind": result.kind or None,
        "verdict": verdict(result),
        "is_complete": result.is_complete,
        "counts": {"errors": result.errors, "warnings": result.warnings, "infos": result.infos},
    }


_COUNTS = ("packages", "files", "links", "bytes", "errors", "warnings", "infos")


def result(frame: Frame) -> dict[str, Any]:
    """Return the JSON members about a check's result, without its findings."""
    summary = frame.summary
    words: dict[str, Any] = {}
    if (drawn := frame.sample) is not None and (counts := summary.sampled) is not None:
        chosen = {"asked": drawn.text, "seed": drawn.seed}
        words["sample"] = chosen | {"files": counts.files, "hashed": counts.hashed}
    if (ledger := summary.ledger) is not None:
        words["ledger"] = {"read": ledger.read, "taken": ledger.taken, "oldest": ledger.oldest or None}
    if summary.unopened:
        words["unopened_archives"] = list(summary.unopened)
    if summary.routes:
        words["readers"] = [
            {"archive": each.path, "is_merged": each.is_apart, "readers": readership_on_disk(each).document()}
            for each in summary.routes
        ]
    return words | {
        "verdict": verdict(summary),
        "is_complete": frame.is_complete,
        "delivery": tally(summary) | {"outcome": outcome(summary)},
        "packages": [package(each) for each in summary.results],
        "counts": {name: getattr(summary, name) for name in _COUNTS},
    }
