"""The rules of words as far as a program can judge; CONTRIBUTING.md has them with examples.

``python -m tests.words [PACKAGE...]`` lists the places that break a rule; ``--lower`` lowers the allowances.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.conftest import CHECKOUT
from tests.syntax import nodes, parsed, walk, written

ALLOWANCES = CHECKOUT / "tests" / "words.toml"
RULES = {
    "length": "the first sentence of a docstring has at most 90 characters",
    "order": "a docstring begins with a verb or a noun, in the order subject, verb, object",
    "negation": "docstrings use the positive word in place of none, nobody and nothing",
    "names": "names are words of the field, not of speech",
    "factories": "a function that returns a function of its own is called make_...",
    "shapes": "a data class is made at more than one place",
}
LONGEST = 90
SPEECH = frozenset({"told", "said", "asked", "known", "odd", "alone", "alike", "lies"})
"""Words that name no function, class, variable, parameter or column."""

_FIRST = re.compile(r"(.*?[.!:?](?=\s|$)|.+)", re.DOTALL)
_RIDDLE = re.compile(r"(What|Which|Whether|Where|Who|Whom|Whose|How|When|Of|Those|Such|There)\b")
_INVERTED = re.compile(
    r"\b(of|for|from|about) (which|whom|what)\b|\bwhat (is|are|was|were|has|had|it|they|else|all|there)\b"
    r"|\b(is|are) to (be|have)\b"
)
_NEGATION = re.compile(
    r"\b(none|nobody|nothing)\b|(?<!or )\bNone\b(?= (of|is|has|have|are|but|that|other)\b)"
)
_LITERAL = re.compile(r"``[^`]*``|\"[^\"]*\"")  # values and names, which are written as they are
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_GOES_ON = re.compile(r"goe?s?_on(?![a-z])")
_TABLE = re.compile(r"CREATE (?:TEMP |TEMPORARY )?TABLE[^(]*\((.*)\)", re.DOTALL | re.IGNORECASE)


class Wrong(NamedTuple):
    """A place where a rule is broken."""

    rule: str
    line: int
    words: str


def packages() -> Iterator[tuple[str, Path]]:
    """Yield each module with the package that its words count for: ``metspack/mets``, ``tests/mets``."""
    for top in ("metspack", "tests"):
        for path in sorted((CHECKOUT / top).rglob("*.py")):
            inner = path.relative_to(CHECKOUT / top).parts[:-1]
            yield "/".join((top, *inner[:1])), path


def wrong(tree: ast.Module) -> Iterator[Wrong]:
    """Yield each place of a module where a rule is broken."""
    for node in nodes(tree):
        for name, line in _names(node):
            if SPEECH & {each.lower() for each in _WORD.findall(name)} or _GOES_ON.search(name):
                yield Wrong("names", line, name)
    for line, text in docstrings(tree):
        yield from (Wrong(rule, line, words) for rule, words in judged(text))


def judged(text: str) -> Iterator[tuple[str, str]]:
    """Yield each rule that a docstring breaks, with the words that break it."""
    first = " ".join(_FIRST.match(text.strip())[1].split())  # type: ignore[index]
    if len(first) > LONGEST:
        yield "length", first
    if _RIDDLE.match(first) or _INVERTED.search(first):
        yield "order", first
    for found in _NEGATION.finditer(_LITERAL.sub(lambda each: "_" * len(each[0]), text)):
        yield "negation", text[max(0, found.start() - 40) : found.end() + 30]


def _names(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names that a node declares, with their lines: columns of tables too."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name, node.lineno
        case ast.arg():
            yield node.arg, node.lineno
        case ast.Name(ctx=ast.Store()):
            yield node.id, node.lineno
        case ast.Attribute(ctx=ast.Store()):
            yield node.attr, node.lineno
        case ast.Constant(value=str(text)) if found := _TABLE.search(text):
            for column in re.findall(r"(?:^|,)\s*(\w+)", found[1]):
                yield column, node.lineno


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the docstrings with their lines: of modules, classes, functions, and of values above them."""
    for node in nodes(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for each in node.body:
                match each:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        yield each.lineno, text
                    case _:
                        pass


def factories(tree: ast.Module) -> Iterator[Wrong]:
    """Yield the functions that return an inner function and are not called ``make_...``."""
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef) and not node.name.lstrip("_").startswith("make_"):
            inner = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            returned = {
                each.value.id
                for each in (walk(node) if inner else ())
                if isinstance(each, ast.Return) and isinstance(each.value, ast.Name)
            }
            if inner & returned:
                yield Wrong("factories", node.lineno, node.name)


def made_once(trees: Mapping[Path, ast.Module]) -> Iterator[tuple[Path, Wrong]]:
    """Yield the data classes and named tuples that at most one call makes."""
    calls = Counter(
        written(node.func).rpartition(".")[2]
        for tree in trees.values()
        for node in nodes(tree)
        if isinstance(node, ast.Call)
    )
    for path, tree in trees.items():
        for node in nodes(tree):
            if isinstance(node, ast.ClassDef) and calls[node.name] < len("ab"):
                above = [*map(ast.unparse, node.decorator_list), *map(ast.unparse, node.bases)]
                if any("dataclass" in each or each == "NamedTuple" for each in above):
                    yield path, Wrong("shapes", node.lineno, node.name)


def found() -> Iterator[tuple[str, Path, Wrong]]:
    """Yield each place that breaks a rule, with its package and file."""
    places = {path: package for package, path in packages()}
    for path, package in places.items():
        yield from ((package, path, each) for each in wrong(parsed(path)))
    ours = {path: parsed(path) for path, package in places.items() if package.startswith("metspack")}
    yield from ((places[path], path, each) for path, each in made_once(ours))
    for path, tree in ours.items():
        yield from ((places[path], path, each) for each in factories(tree))


def counted() -> dict[str, Counter[str]]:
    """Return the number of places that break each rule, by package."""
    counts = {package: Counter[str]() for package, _path in packages()}
    for package, _path, each in found():
        counts[package][each.rule] += 1
    return counts


def allowances() -> dict[str, dict[str, int]]:
    """Return how many places of each package may break each rule: these numbers only fall."""
    return tomllib.loads(ALLOWANCES.read_text(encoding="utf-8"))


def lowered(counts: Mapping[str, Mapping[str, int]], allowed: Mapping[str, Mapping[str, int]]) -> str:
    """Return the text of the allowances, each at most its former value."""
    lines = [
        "# How many places of a package may break a rule of tests/words.py: these numbers only fall.",
        "",
    ]
    for package, rules in allowed.items():
        kept = {rule: min(most, counts[package].get(rule, 0)) for rule, most in rules.items()}
        row = ", ".join(f"{rule} = {most}" for rule, most in kept.items() if most)
        lines += [f'"{package}" = {{ {row} }}'] if row else []
    return "\n".join(lines) + "\n"


def main() -> None:
    """List the places that break a rule, in the named packages or in all, or lower allowances."""
    if sys.argv[1:] == ["--lower"]:
        ALLOWANCES.write_text(lowered(counted(), allowances()), encoding="utf-8")
        return
    for package, path, each in found():
        if not sys.argv[1:] or package in sys.argv[1:]:
            place = f"{path.relative_to(CHECKOUT)}:{each.line}"
            sys.stdout.write(f"{place}: {each.rule}: {' '.join(each.words.split())}\n")


if __name__ == "__main__":
    main()
