from __future__ import annotations

import ast
import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar

import pytest

import metspack
from metspack import values
from metspack.model import Limits
from tests.syntax import parsed


def both(**words: bool) -> Iterator[Any]:
    """Yield the same class as ours and as the standard library makes it."""
    for make in (values.dataclass, dataclasses.dataclass):

        class Base:
            kind: ClassVar[str] = "kept"

        class Value(Base):
            one: int
            two: str = "2"
            three: list[int] = field(default_factory=list)
            four: int = field(default=4, init=False)
            five: int = field(default=5, compare=False, repr=False)

            def __post_init__(self) -> None:
                if self.one < 0:
                    raise ValueError(self.one)

        yield make(**words)(Value)


WORDS = [
    {"frozen": frozen, "slots": slots, "kw_only": kw_only}
    for frozen in (False, True)
    for slots in (False, True)
    for kw_only in (False, True)
]


@pytest.mark.parametrize("words", WORDS)
def test_a_class_is_as_the_standard_library_makes_it(words: dict[str, bool]) -> None:
    found = []
    for kind in both(**words):
        one, same, other = kind(one=1), kind(one=1, five=6), kind(one=1, two="3")
        found.append(
            (
                inspect.signature(kind),
                kind.__dataclass_params__.frozen,
                [each.name for each in dataclasses.fields(kind)],
                dataclasses.asdict(dataclasses.replace(one, two="4")),
                repr(one).replace(kind.__qualname__, ""),
                (one == same, one == other, one == 1, one != same),
                vars(kind).get("__match_args__"),
                hasattr(one, "__dict__"),
                one.three is not same.three,
                copy.copy(one) == one,
                kind.__hash__ is None,
            )
        )
        with pytest.raises(ValueError, match="-1"):
            kind(one=-1)
        with pytest.raises(TypeError):
            kind()
        with pytest.raises(TypeError):
            kind(one=1, four=4)
    assert found[0] == found[1]


@pytest.mark.parametrize("words", WORDS[::7])
def test_the_first_values_are_like_those_that_follow(words: dict[str, bool]) -> None:
    """The first are filled field by field; then ``__init__`` is compiled."""
    kind, _ = both(**words)
    many = [kind(one=1, three=[number]) for number in range(values._FILLED * 2)]
    assert isinstance(vars(kind)["__init__"], type(both))
    assert {repr(dataclasses.replace(each, three=[])) for each in many} == {repr(kind(one=1))}
    assert [each.three for each in many] == [[number] for number in range(len(many))]


@pytest.mark.parametrize("words", WORDS[::7])
@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ((1, "2", [], 5, 6), {}),
        ((1,), {"one": 1}),
        ((), {"two": ""}),
        ((), {"one": 1, "six": 6}),
        ((), {"one": 1, "four": 4}),
    ],
)
def test_wrong_arguments_are_refused_in_the_words_of_the_standard_library(
    arguments: tuple[Any, ...], given: dict[str, Any], words: dict[str, bool]
) -> None:
    said = []
    for kind in both(**words):
        with pytest.raises(TypeError) as caught:
            kind(*arguments, **given)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_what_is_frozen_cannot_be_changed_and_has_a_hash() -> None:
    @values.dataclass(frozen=True, slots=True)
    class Value:
        one: int
        two: str = ""

    value = Value(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'one'"):
        value.one = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'one'"):
        del value.one
    assert len({Value(1), Value(1), Value(1, "2")}) == 2


def test_a_field_that_is_stated_again_is_that_of_the_class_below() -> None:
    found = []
    for make in (values.dataclass, dataclasses.dataclass):
        made: Any = make(frozen=True, slots=True)

        @made
        class Above:
            one: int
            two: str = "2"

        @made
        class Below(Above):
            one: int = 7
            three: list[int] = field(default_factory=list, kw_only=True)

        class Lower(Below):
            one: int

        lowest: Any = made(Lower)
        text = repr(lowest(5, three=[1])).replace(lowest.__qualname__, "")
        found.append((inspect.signature(lowest), lowest.__match_args__, text, lowest.__slots__))
        with pytest.raises(TypeError):
            make(slots=True)(type("Open", (Above,), {}))
    assert found[0] == found[1]


def test_the_standard_library_makes_fields_when_they_are_asked_for() -> None:
    @values.dataclass(frozen=True, slots=True)
    class Value:
        one: int

    @values.dataclass
    class Wrong:
        one: list[int] = []  # noqa: RUF012 -- that is what is wrong

    value = Value(1)
    assert (value, hash(value)) == (Value(1), hash(Value(1)))
    assert not isinstance(vars(Value)["__dataclass_fields__"], dict)
    assert [each.type for each in dataclasses.fields(value)] == ["int"]
    assert isinstance(vars(Value)["__dataclass_fields__"], dict)
    with pytest.raises(ValueError, match="mutable default"):
        dataclasses.fields(Wrong)


def test_a_value_is_pickled_before_and_after_another_was_made() -> None:
    script = (
        "import pickle, sys; from metspack.model import Limits; "
        "assert pickle.load(sys.stdin.buffer) == Limits(files=3, bytes=7)"
    )
    data = pickle.dumps(Limits(files=3, bytes=7))
    subprocess.run([sys.executable, "-c", script], input=data, check=True)


def test_a_regular_expression_is_compiled_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    compile_: Any = re.compile

    def compiled(*given: object) -> Any:
        seen.append(given)
        return compile_(*given)

    monkeypatch.setattr(re, "compile", compiled)
    made: Any = values.regex("(?P<a>A)b", re.IGNORECASE)
    other: Any = copy.deepcopy(made)
    assert (made.pattern, seen) == ("(?P<a>A)b", [])
    assert [each.fullmatch("aB")["a"] for each in (made, made, other)] == ["a"] * 3
    assert made.groupindex == {"a": 1}
    assert not hasattr(made, "nothing_like_it")
    assert not hasattr(made, "__index__")
    with pytest.raises(re.error):
        values.regex("(").search("")


def test_every_regular_expression_of_the_program_is_right() -> None:
    script = (
        "import gc, importlib, re, sys\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
        "made = [each for each in gc.get_objects() if type(each).__name__ == '_Regex']\n"
        "print(len(made), len([re.compile(each.pattern, each.flags) for each in made]))"
    )
    names = [each for each in modules() if not each.endswith("__main__")]
    done = subprocess.run([sys.executable, "-c", script, *names], check=True, capture_output=True, text=True)
    made, right = map(int, done.stdout.split())
    assert made == right > 150


def test_no_module_compiles_a_regular_expression_when_it_is_imported() -> None:
    found = []
    for path in sorted(Path(metspack.__path__[0]).rglob("*.py")):
        waiting: list[ast.AST] = [parsed(path)]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                continue
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile":
                found.append(f"{path}:{node.lineno}: regex of metspack.values waits until it is used")
            waiting += ast.iter_child_nodes(node)
    assert not found


def modules() -> Iterator[str]:
    yield from (each.name for each in pkgutil.walk_packages(metspack.__path__, "metspack."))


def test_every_class_of_the_program_has_the_signature_of_the_standard_library() -> None:
    kinds = {
        kind
        for name in modules()
        if not name.endswith("__main__")
        for kind in vars(importlib.import_module(name)).values()
        if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__ == name
    }
    assert len(kinds) > 300
    for kind in kinds:
        fields = dataclasses.fields(kind)
        body: dict[str, Any] = {each.name: each for each in fields}
        body["__annotations__"] = {each.name: each.type for each in fields}
        twin: Any = dataclasses.dataclass(type(kind.__name__, (), body | {"__module__": kind.__module__}))
        assert inspect.signature(kind) == inspect.signature(twin), kind
        assert vars(kind)["__match_args__"] == twin.__match_args__, kind
