"""The refusals that a source can meet, read from the code: every message of an error that reading raises."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from tests.conftest import CHECKOUT

READING = (
    *("locations/*.py", "sources/[acflo]*.py", "siard/[efmot]*.py", "containers/zip[dfr]*.py"),
    *("files/reading.py", "files/walking.py", "safexml.py", "uris.py", "planning/division.py"),
)
"""The modules that read a source; ``building`` and what writes refuse for other reasons."""

ERRORS = {"SourceError", "PlanError", "ConfigError", "XmlError"}
GAP = "…"
_Function = ast.FunctionDef
_STATED = {"what", "problem", "why", "message", "said", "fault", "text_of"}
"""The names of parameters that hold a part of a message."""
_WORDS = re.compile("[a-z]{2,}.* [a-z]{2,}|^is missing|^is empty")
_FAULT = re.compile("fault|problem|obstruction|obstacle|unlike")
_VALUES = {
    "another zip file",
    "invalid token",
    f"{GAP} (central record at byte {GAP})",
    f"the packed segment {GAP}",
}


@dataclass
class _Module:
    """One module: its functions, and what each calls with messages."""

    name: str
    tree: ast.Module
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    def function_of(self, node: ast.AST) -> _Function | None:
        above = self.parents.get(node)
        while above is not None and not isinstance(above, _Function):
            above = self.parents.get(above)
        return above


def _modules() -> list[_Module]:
    found = []
    for pattern in READING:
        for path in sorted((CHECKOUT / "metspack").glob(pattern)):
            tree = ast.parse(path.read_bytes())
            module = _Module(str(path.relative_to(CHECKOUT / "metspack")), tree)
            for above in ast.walk(tree):
                module.parents.update(dict.fromkeys(ast.iter_child_nodes(above), above))
            found.append(module)
    return found


def _error_classes(modules: list[_Module]) -> set[str]:
    classes = set(ERRORS)
    before = 0
    while len(classes) > before:
        before = len(classes)
        for module in modules:
            for node in ast.walk(module.tree):
                if isinstance(node, ast.ClassDef):
                    bases = {each.id for each in node.bases if isinstance(each, ast.Name)}
                    classes |= {node.name} if bases & classes else set()
    return classes


def template(node: ast.expr) -> str:
    """Return the text of an expression, with a gap for each inserted value."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(template(each) if isinstance(each, ast.Constant) else GAP for each in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return template(node.left) + template(node.right)
    return GAP


def _texts(node: ast.expr) -> Iterator[str]:
    """Yield the texts that an expression may be, without those that are only values."""
    if isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.BoolOp | ast.Tuple):
        for each in node.values if isinstance(node, ast.BoolOp) else node.elts:
            yield from _texts(each)
    elif _WORDS.search(text := template(node).strip()) and not text.endswith(".") and text not in _VALUES:
        yield text


def _names(node: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


@cache
def refusals() -> dict[str, set[str]]:
    """Return the messages of all refusals, each with the modules that have it."""
    modules = _modules()
    classes = _error_classes(modules)
    # A function with a parameter that becomes part of a message: its callers say the message.
    takers: dict[str, set[str]] = {name: {"message"} for name in classes} | {"errors.error": {"what"}}
    signatures = {name: ["message"] for name in classes} | {"errors.error": ["kind", "table", "cell", "what"]}
    found: dict[str, set[str]] = {}
    for module in modules:
        for text in _returned(module):
            found.setdefault(text, set()).add(module.name)
    changed = True
    while changed:
        changed = False
        for module in modules:
            for call in (each for each in ast.walk(module.tree) if isinstance(each, ast.Call)):
                name = _called(call)
                if name not in takers:
                    continue
                for argument in _arguments(call, signatures[name], takers[name]):
                    for value in (argument, *_assigned(module, call, argument)):
                        for text in _texts(value):
                            found.setdefault(text, set()).add(module.name)
                        changed |= _pass_on(module, call, value, takers, signatures)
    return found


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return "errors.error" if ast.unparse(call.func) == "errors.error" else call.func.attr
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    return "errors.error" if name == "error" else name


def _returned(module: _Module) -> Iterator[str]:
    """Yield the results of functions that return or yield messages."""
    for function in (each for each in ast.walk(module.tree) if isinstance(each, ast.FunctionDef)):
        if _FAULT.search(function.name):
            for node in ast.walk(function):
                if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
                    yield from _texts(node.value)


def _arguments(call: ast.Call, signature: list[str], taken: set[str]) -> Iterator[ast.expr]:
    for name, argument in zip(signature, call.args, strict=False):
        if name in taken and not isinstance(argument, ast.Starred):
            yield argument
    for keyword in call.keywords:
        if keyword.arg in taken:
            yield keyword.value


def _assigned(module: _Module, call: ast.Call, argument: ast.expr) -> Iterator[ast.expr]:
    """Yield what a message's names were assigned in the same function."""
    function = module.function_of(call)
    if function is None:
        return
    names = _names(argument)
    for node in (each for each in ast.walk(function) if isinstance(each, ast.Assign)):
        target = node.targets[0]
        is_text = isinstance(node.value, ast.JoinedStr | ast.Constant | ast.IfExp)
        if is_text and isinstance(target, ast.Name) and target.id in names:
            yield node.value


def _pass_on(
    module: _Module,
    call: ast.Call,
    value: ast.expr,
    takers: dict[str, set[str]],
    signatures: dict[str, list[str]],
) -> bool:
    function = module.function_of(call)
    if function is None or function.name.startswith("__"):
        return False
    arguments = [each.arg for each in (*function.args.args, *function.args.kwonlyargs)]
    positional = [each for each in arguments if each not in {"self", "cls"}]
    new = {each for each in _names(value) if each in positional and each in _STATED}
    if new <= takers.get(function.name, set()):
        return False
    takers.setdefault(function.name, set()).update(new)
    signatures[function.name] = positional
    return True
