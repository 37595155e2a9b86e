"""The shape of the code, read from its source: order, size, names; docs/architecture.md is its map."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.conftest import CHECKOUT
from tests.laws import of_each
from tests.syntax import Trees, lines_of_code, nodes, parsed, walk, written

ORDER = (
    {"system"},
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
    {"api"},
    {"cli"},
    {"__init__", "__main__"},
)
"""Packages in levels: each imports only from levels above its own."""

BUDGETS: Mapping[str, int] = {
    "system": 628,
    "(foundation)": 2_690,
    "stores": 335,
    "files": 2_720,
    "layouts": 590,
    "containers": 1_801,
    "siard": 1_997,
    "locations": 2_099,
    "sources": 1_821,
    "mets": 3_552,
    "planning": 877,
    "inspecting": 550,
    "packages": 3_768,
    "checking": 12_700,
    "building": 3_050,
    "reporting": 2_097,
    "restoring": 1_806,
    "merging": 930,
    "cli": 3_200,
    "templates": 1_452,
}
"""The most lines of code, without blank lines, comments and docstrings."""

LONG = 900
REASONS: Mapping[str, str] = {}
"""Modules above so many lines, each with why it is one thing."""

SHARED_NAMES: Mapping[str, str] = {
    "HeldSignals": "each operating system has one, and system/ gives that of its own",
    "Package": "the package of the public API is a face of the one in packages/, which programs do not see",
}
"""Class names of two modules, each with the reason."""

DATA = {".j2", ".sql", ".toml", ".json", ".txt", ".xml"}
"""Suffixes of templates and data that count as code."""

_VERBS = {"check", "tell", "write"}
"""Verbs that a name with a participle may begin with: ``write_merged`` writes merged files."""

_OPENING = {f"metspack.files.writing.{name}" for name in ("NewFile", "RunJournal", "Log")}
"""Classes that make a file when they are made."""

_MIRRORS = "metspack.files.mirrors"
"""The module that changes mirrors of stores, which are temporary, and is used for reading."""

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
    """Return the top package of a module; loose modules are the foundation."""
    _metspack, *inner = module.split(".")
    if len(inner) > 1 or (inner and MODULES[module].name == "__init__.py"):
        return inner[0]
    last = inner[0] if inner else "__init__"
    return last if last in {"api", "__main__", "__init__"} else "(foundation)"


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of every imported module of the project, anywhere in the tree."""
    for node in nodes(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "metspack":
            for each in node.names:
                full = f"{node.module}.{each.name}"
                yield node.lineno, full if full in MODULES else str(node.module)


def budget_of(path: Path) -> str:
    """Return the package that a file of code or data counts for."""
    top, *inner = path.relative_to(CHECKOUT).parts
    return top if top == "templates" else inner[0] if len(inner) > 1 else "(foundation)"


def code_lines(path: Path) -> int:
    """Return the lines of code of a module, or of all that is no blank line of another file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return lines_of_code(text, parsed(path))
    return sum(1 for line in text.split("\n") if line.strip())


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
            for node in nodes(tree)
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
        for call in (each for each in walk(node) if isinstance(each, ast.Call)):
            self.calls.setdefault(name, set()).update(self._called(call.func, types))
            if re.fullmatch(r"os\.(\w+)", what := written(call.func)) and what[3:] in _CHANGES:
                self.changing.add(name)

    def _type(self, annotation: ast.expr | None) -> str | None:
        """Return the class that a parameter is of, where its annotation names one of the project's."""
        text = "" if annotation is None else ast.unparse(annotation)
        first, _, rest = text.partition(" ")[0].partition(".")
        bound = self._names.get(first)
        return None if bound is None else ".".join(filter(None, (bound, rest)))

    def _called(self, called: ast.expr, types: Mapping[str, str | None]) -> Iterator[str]:
        first, *rest = written(called).split(".")
        bound = self._class if first in {"self", "cls"} else types.get(first) or self._names.get(first)
        if bound is not None:
            yield ".".join([bound, *rest])


def changing(trees: Mapping[str, ast.Module]) -> set[str]:
    """Return the functions that change the file system, directly or by their calls."""
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
    bound = set().union(*ORDER)
    assert {room(module) for module in MODULES} == bound


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


@of_each(sorted(MODULES))
def test_the_first_line_of_a_module_says_what_it_holds(module: str) -> None:
    line = first_line(TREES[module])
    assert line, f"{MODULES[module]} has no docstring"
    assert not is_riddle(line), (
        f"{MODULES[module]}: a sentence that begins with a noun or a verb, not {line!r}"
    )


def test_each_package_keeps_its_budget() -> None:
    counted: dict[str, int] = defaultdict(int)
    for folder in ("metspack", "templates"):
        for path in (CHECKOUT / folder).rglob("*.*"):
            if path.suffix == ".py" or path.suffix in DATA:
                counted[budget_of(path)] += code_lines(path)
    assert set(counted) == set(BUDGETS)
    over = [
        f"{name}: {lines:,} of {BUDGETS[name]:,}" for name, lines in counted.items() if lines > BUDGETS[name]
    ]
    assert not over, f"more lines of code than a package may have: {', '.join(over)}"


def test_a_module_that_is_long_has_a_reason() -> None:
    lines = {name: len(path.read_bytes().splitlines()) for name, path in MODULES.items()}
    assert {name for name, number in lines.items() if number > LONG} == set(REASONS)


def test_code_is_counted_without_what_explains_it() -> None:
    text = '"""About."""\n\nX = 1\n"""A value."""\n\ndef f():  # why\n    """Do."""\n    # as\n'
    assert lines_of_code(text + '    return """\n\n"""\n') == 5


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
