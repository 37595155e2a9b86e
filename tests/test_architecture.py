"""The shape of the house, read from its source: order, size, names; docs/architecture.md is its map."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache

import pytest

from tests.conftest import CHECKOUT
from tests.syntax import Trees

ORDER = (
    {"(foundation)"},
    {"stores"},
    {"files", "layouts"},
    {"containers"},
    {"siard"},
    {"locations"},
    {"sources"},
    {"mets"},
    {"planning", "inspecting"},
    {"packages"},
    {"checking"},
    {"building"},
    {"reporting", "restoring"},
    {"merging"},
    {"adding", "volumes"},
    {"api"},
    {"cli"},
    {"__init__", "__main__"},
)
"""Each imports only from those further up; those that stand side by side know nothing of each other."""

AT_THE_TOP = 16
# Six of volumes/ and their command, seven of stores/ and their readers, two for clusters, one of add, one of
# planning/: tables that are read ahead, which no other module of it knows of; one of building/: parents;
# one of files/: threads, which were a part of processes.
IN_ALL = 260
PACKAGES = 19
SOFT, HARD, SPLINTER = 400, 700, 60

LONG: Mapping[str, str] = {
    "metspack.cluster": "one cluster: its workers asked, tasks given out, and what workers call",
    "metspack.api": "every function for Python programs, and the package that they walk through",
    "metspack.mets.dialects.csip.package": "each kind of IP: the parent, further ones, one that was merged",
    "metspack.merging.ips": "the IPs to be merged: as files, as their METS name each other, in their order",
    "metspack.planning.assignment": "one assignment of LOBs to segments, written, read back, and asked",
    "metspack.restoring.files": "one restore of files, in slices, and both manifests of them",
    "metspack.cli.options.common": "every option that commands of several kinds share",
    "metspack.files.mirrors": "one mirror of a store: its paths, what is listed, filled and emptied again",
    "metspack.files.journal": "every journal: of changes to a folder and of runs, and what it says",
    "metspack.files.byteranges": "every range of bytes, and how it is opened again elsewhere",
    "metspack.restoring.shards.reading": "one shard read: its form, its files below the root, their bytes",
    "metspack.restoring.roundtrip": "one proof, and its report",
    "metspack.building.build": "one build from source to publication, in its order",
    "metspack.building.placing": "every way of placing LOBs, alone or in runs, copied or linked",
    "metspack.building.segments": "the work on segments: placed whole or in stretches, and described",
    "metspack.building.segmentedfolder": "one folder of segments: its files, and its LOBs where they lie",
    "metspack.building.manifests": "every list of checksums: those written, and those trusted",
    "metspack.cli.commands.check": "the options of a check, its run, and what is printed and filed of it",
    "metspack.cli.console": "all that a run prints: results as text and JSON, errors, progress, its log",
    "metspack.checking.archives.archive": "all that is asked of one archive in a package",
    "metspack.checking.archives.lobsearch": "the checker's own search for LOBs, apart from the reader's",
    "metspack.checking.archives.packagefiles": "one look-up of files for cells: in columns, in the catalogue",
    "metspack.checking.codes.fixity": "every code of files, manifests, segments, parts and volumes",
    "metspack.checking.files.fixity": "one reading of all files: what is stated of them, and what is wrong",
    "metspack.checking.files.manifests": "every manifest: the package's own, those beside archives, a bag's",
    "metspack.checking.files.metadatafiles": "one reading of metadata files, and what PREMIS is held against",
    "metspack.checking.files.splitlobs": "all that is said of split LOBs, against each other and the bytes",
    "metspack.checking.eark.package": "one package against all standards, its METS, folders and archives",
    "metspack.checking.eark.sections": "the sections of METS before the structMap, a handler each",
    "metspack.checking.grouping": "what is told once of many: of a folder, of a cause, of a code",
    "metspack.checking.files.listed": "what METS list against the disk: each query beside its findings",
    "metspack.checking.links.links": "one walk from METS to METS, each way of linking beside the others",
    "metspack.checking.links.swaps": "one comparison of what divisions and structMaps name, after all links",
    "metspack.checking.links.roots": "one index of packages: filled, and every question that is put to it",
    "metspack.checking.catalogue": "one schema, with what puts rows into it and what is asked of all METS",
    "metspack.checking.opening": "what can be named to be checked, and what all else that is named is",
    "metspack.packages.listing": "one list of LOBs: by cells, by METS, of a segment, with all digests",
    "metspack.merging.merge": "one merge from METS to publication, and the copying of its files in processes",
    "metspack.merging.datafiles": "every data file of a merge: in runs, and one by one where that is needed",
    "metspack.checking.options": "every option of a check, read from what a person gives",
    "metspack.checking.run": "the order of a check: what is looked at whole, each step, what bytes tell",
    "metspack.checking.segmentreader": "one segment from all sides: METS, folder or zip file, PREMIS",
    "metspack.checking.segments": "what is known of segments that agree, and what cannot be known of them",
    "metspack.cli.options.package": "every option of a package and of its division, a field each",
    "metspack.mets.packages": "which IPs lie where: side by side in a folder, and in what was delivered",
    "metspack.checking.mets.documents": "one reading of METS into the catalogue, fact by fact and in runs",
    "metspack.checking.mets.schema": "one validation, quick for what is valid and close for what is not",
    "metspack.containers.zipdirectory": "one central directory: found, checked, read by runs and one by one",
    "metspack.containers.zipreader": "the checked reader of zip files: directory, entries, bytes",
    "metspack.files.staging": "one target while it is made: begun, done stretch by stretch, published",
    "metspack.files.reading": "every way of opening, reading and hashing a file that follows no link",
    "metspack.files.writing": "every way of writing, linking and removing a file",
    "metspack.layouts.readers": "one table of readers, and all that follows from it",
    "metspack.locations.grantedroots": "the one judge of what lies in a granted folder, alone or in a run",
    "metspack.locations.resolver": "from a cell to its bytes, and advice where there are none",
    "metspack.locations.search": "one search, place by place, and the digests that decide",
    "metspack.mets.dialects.interface": "the whole contract of a dialect on one page",
    "metspack.mets.fastreader": "the fast way through METS, to be taken out whole if it is no longer needed",
    "metspack.mets.reader": "every fact of METS and the handlers that find it",
    "metspack.model": "the values that pass from stage to stage, one by one and together",
    "metspack.reporting.model": "what every report shows: its frame, packages, relations and figures",
    "metspack.checking.links.mounting": "children not in their places, mounted or lost, and the links up",
    "metspack.restoring.joining": "LOBs as files by id, alone and in parts, in a package and in its archive",
    "metspack.packages.cells": "the cells of a package's archive beside the files that METS lists",
    "metspack.packages.files": "every tree that a package's files are in, and one mounted in another",
    "metspack.packages.index": "the tables of a package's METS, and the walk that fills them",
    "metspack.packages.package": "what can be asked of an opened package",
    "metspack.packages.source": "a package as a source: cells paired with METS",
    "metspack.processes": "worker processes: of a pool, kept ones, one ahead, how all begin and end",
    "metspack.restoring.evidence": "one judgement: what is stated, what there is, which manifests are right",
    "metspack.restoring.siard": "one restore of an archive: LOBs inside or beside it, and its cells",
    "metspack.siard.edits": "every edit of metadata.xml and tables, of cells alone or in runs",
    "metspack.siard.schemas": "the facts of all versions' schemas: elements, their order, types of SQL",
    "metspack.siard.tables": "one parser of table documents: cells, runs of them, and the form",
    "metspack.sources.archive": "an archive as a source: tables, cells, LOBs, and what is wrong with them",
    "metspack.sources.rewriting": "one rewriting of an archive, and the copy where none is needed",
    "metspack.sources.lobfolder": "LOBs in files: looked for, sorted by place, whole and in parts",
    "metspack.volumes.check": "one check of volumes: what is here, what of it counts, what it came to",
    "metspack.reporting.store": "all that is kept of checks on disk: findings, lines, the ledger",
    "metspack.reporting.linkmap": "the map whole: what is drawn or counted, where it stands, what it says",
}
"""Modules above the soft limit, each with why it is one thing."""

SMALL: Mapping[str, str] = {"metspack.cli.commands.status": "a command, which has a module of its own"}
"""Modules under 60 lines with one importer, each with why it stands alone."""

SHARED_NAMES: Mapping[str, str] = {
    "Package": "the package of the public API is a face of the one in packages/, which programs do not see",
}
"""Class names that stand in two modules, each with why that is one concept or cannot be mistaken."""

_VERBS = {"check", "tell", "write"}
"""What a name may begin with that ends in a participle: ``write_merged`` writes what is merged."""

_OPENING = {f"metspack.files.writing.{name}" for name in ("NewFile", "Journal", "Log")}
"""Classes that make a file when they are made."""

_MIRRORS = "metspack.files.mirrors"
"""What it changes are mirrors of stores in a temporary folder: whoever reads by it changes nothing."""

_RIDDLE = re.compile(r"(What|Where|How|Whether|Which)\b")
_CHANGES = {
    *("chmod", "copy_file_range", "fsync", "ftruncate", "link", "makedirs", "mkdir", "pwrite", "remove"),
    *("rename", "replace", "rmdir", "symlink", "truncate", "unlink", "utime", "write", "writev"),
}

MODULES = {
    ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((CHECKOUT / "metspack").rglob("*.py"))
}
TREES = Trees(MODULES)


def room(module: str) -> str:
    """Return the package at the top that a module is in; those that lie loose are the foundation."""
    _metspack, *inner = module.split(".")
    if len(inner) > 1 or (inner and MODULES[module].name == "__init__.py"):
        return inner[0]
    last = inner[0] if inner else "__init__"
    return last if last in {"api", "__main__", "__init__"} else "(foundation)"


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of every module of the project that is imported, wherever in the tree that is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "metspack":
            for each in node.names:
                full = f"{node.module}.{each.name}"
                yield node.lineno, full if full in MODULES else str(node.module)


def lines(module: str) -> int:
    return len(MODULES[module].read_bytes().splitlines())


@cache
def importers() -> Mapping[str, set[str]]:
    found = defaultdict(set)
    for module, tree in TREES.items():
        for _line, name in imported(tree):
            found[name].add(module)
    return found


def classes(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name.lstrip("_")


def first_line(tree: ast.Module) -> str:
    return (ast.get_docstring(tree) or "").partition("\n")[0]


def is_riddle(line: str) -> bool:
    return not line.endswith((".", ":", "``.")) or _RIDDLE.match(line) is not None


class Calls(ast.NodeVisitor):
    """The functions of one module, each with those that it calls by names that can be followed."""

    def __init__(self, module: str, tree: ast.Module) -> None:
        self.module = module
        self.calls: dict[str, set[str]] = {}
        self.changing: set[str] = set()
        self._names = {
            each.asname or each.name: f"{node.module}.{each.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("metspack")
            for each in node.names
        }
        self._class: str | None = None
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                self._names[node.name] = f"{module}.{node.name}"
        self.visit(tree)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._class = f"{self.module}.{node.name}"
        self.generic_visit(node)
        self._class = None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        name = f"{self._class or self.module}.{node.name}"
        types = {each.arg: self._type(each.annotation) for each in [*node.args.args, *node.args.kwonlyargs]}
        for call in (each for each in ast.walk(node) if isinstance(each, ast.Call)):
            self.calls.setdefault(name, set()).update(self._called(call.func, types))
            if re.fullmatch(r"os\.(\w+)", what := ast.unparse(call.func)) and what[3:] in _CHANGES:
                self.changing.add(name)

    def _type(self, annotation: ast.expr | None) -> str | None:
        """Return the class that a parameter is of, where its annotation names one of the project's."""
        text = "" if annotation is None else ast.unparse(annotation)
        first, _, rest = text.partition(" ")[0].partition(".")
        known = self._names.get(first)
        return None if known is None else ".".join(filter(None, (known, rest)))

    def _called(self, called: ast.expr, types: Mapping[str, str | None]) -> Iterator[str]:
        first, *rest = ast.unparse(called).split(".")
        known = self._class if first in {"self", "cls"} else types.get(first) or self._names.get(first)
        if known is not None:
            yield ".".join([known, *rest])


def changing(trees: Mapping[str, ast.Module]) -> set[str]:
    """Return the functions that come to change the file system, by themselves or by what they call."""
    modules = [Calls(name, tree) for name, tree in trees.items() if name != _MIRRORS]
    found = _OPENING | {name for module in modules for name in module.changing}
    calls = {name: called for module in modules for name, called in module.calls.items()}
    grown = True
    while grown:
        more = {name for name, called in calls.items() if not called.isdisjoint(found)} - found
        found |= more
        grown = bool(more)
    return found


def test_packages_are_those_of_the_order() -> None:
    known = set().union(*ORDER)
    assert {room(module) for module in MODULES} == known
    assert len(known - {"(foundation)", "api", "__init__", "__main__"}) == PACKAGES


def test_imports_follow_the_order_of_packages() -> None:
    level = {name: place for place, names in enumerate(ORDER) for name in names}
    wrong = [
        f"{MODULES[module]}:{line} imports {name}, which comes later in the order or stands beside it"
        for module, tree in TREES.items()
        for line, name in imported(tree)
        if room(module) != room(name) and level[room(name)] >= level[room(module)]
    ]
    assert not wrong, "\n".join(wrong)


def test_no_module_leads_back_to_itself() -> None:
    """Imports inside functions count as well: a circle that is put off is a circle."""
    after = {module: {name for _line, name in imported(tree)} - {module} for module, tree in TREES.items()}
    circles = []
    for module in MODULES:
        ahead, seen = list(after[module]), set[str]()
        while ahead:
            name = ahead.pop()
            if name not in seen and name != "metspack":
                seen.add(name)
                ahead.extend(after[name])
        if module in seen:
            circles.append(module)
    assert not circles, f"these import each other in a circle: {', '.join(circles)}"


def test_few_modules_lie_at_the_top_and_not_too_many_in_all() -> None:
    top = [path.name for path in (CHECKOUT / "metspack").glob("*.py")]
    assert len(top) <= AT_THE_TOP, f"{len(top)} modules lie at the top: {', '.join(sorted(top))}"
    assert len(MODULES) <= IN_ALL


@pytest.mark.parametrize("module", sorted(MODULES))
def test_the_first_line_of_a_module_says_what_it_holds(module: str) -> None:
    line = first_line(TREES[module])
    assert line, f"{MODULES[module]} has no docstring"
    assert not is_riddle(line), (
        f"{MODULES[module]}: a sentence that begins with a noun or a verb, not {line!r}"
    )


def test_modules_are_neither_heaps_nor_splinters() -> None:
    too_long = [f"{name}: {lines(name)} lines" for name in MODULES if lines(name) > HARD]
    assert not too_long, f"over {HARD} lines: {too_long}"
    long = {name for name in MODULES if lines(name) > SOFT}
    assert long == set(LONG), (
        f"over {SOFT} lines without a reason, or with one and no longer: {long ^ set(LONG)}"
    )
    small = {
        name
        for name, path in MODULES.items()
        if path.name not in {"__init__.py", "__main__.py"}
        and lines(name) < SPLINTER
        and len(importers().get(name, ())) <= 1  # commands have none: they are loaded by name
    }
    assert small == set(SMALL), (
        f"under {SPLINTER} lines with one importer and without a reason, or with one and no longer: "
        f"{sorted(small ^ set(SMALL))}"
    )


def test_a_class_name_has_one_meaning() -> None:
    where = defaultdict(set)
    for module, tree in TREES.items():
        for name in classes(tree):
            where[name].add(module)
    twice = {name: sorted(modules) for name, modules in where.items() if len(modules) > 1}
    wrong = {name: modules for name, modules in twice.items() if name not in SHARED_NAMES}
    assert not wrong, "\n".join(f"{name}: {', '.join(modules)}" for name, modules in sorted(wrong.items()))
    assert set(SHARED_NAMES) <= set(twice), "an exception that none needs any longer"


def is_named_like_a_value(function: str) -> bool:
    """Return whether a function is called by a participle; one that begins with a verb is not."""
    words = function.rpartition(".")[2].strip("_").split("_")
    return words[-1].endswith("ed") and words[0] not in _VERBS


def test_what_changes_the_file_system_is_named_by_a_verb() -> None:
    wrong = sorted(name for name in changing(TREES) if is_named_like_a_value(name))
    assert not wrong, "named like values, but they write: " + ", ".join(wrong)


def test_a_function_that_writes_is_seen_through_what_it_calls() -> None:
    trees = {
        "metspack.files.writing": ast.parse("def write(path): os.replace(path, path)\ndef same(x): return x"),
        "metspack.a": ast.parse(
            "from metspack.files import writing\n"
            "from metspack.b import Held\n"
            "def placed(path): return writing.write(path)\n"
            "def planned(path): return writing.same(path)\n"
            "def filled(path):\n    with writing.NewFile(path) as file: file.write(b'')\n"
            "def kept(held: Held): held.done()\n"
            "def kept_or_not(held: Held | None): held.done()\n"
        ),
        "metspack.b": ast.parse(
            "from metspack.a import placed\n"
            "class Held:\n    def done(self): self._end()\n    def _end(self): placed(1)\n"
        ),
    }
    assert changing(trees) - _OPENING == {
        "metspack.files.writing.write",
        "metspack.a.filled",
        "metspack.a.placed",
        "metspack.a.kept",
        "metspack.a.kept_or_not",
        "metspack.b.Held.done",
        "metspack.b.Held._end",
    }


@pytest.mark.parametrize("line", ["", "What it holds.", "Where it is.", "How it is read.", "no full stop"])
def test_riddles_are_told(line: str) -> None:
    assert is_riddle(line)


@pytest.mark.parametrize("line", ["Readers of zip files.", "Whatever is given.", "Write METS; read PREMIS."])
def test_sentences_are_let_be(line: str) -> None:
    assert not is_riddle(line)
