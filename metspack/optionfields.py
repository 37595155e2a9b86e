"""Fields of options that convert a given value once, and refuse all others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from enum import Enum
from pathlib import Path
from typing import Any, Generic, TypeVar

from metspack import sizes
from metspack.errors import ConfigError

Value = TypeVar("Value")
Given = TypeVar("Given")


class OptionField(Generic[Value, Given]):
    """A field of a frozen data class that holds a ``Value`` and is set with a ``Given``.

    ``read`` gets the name of the field and what is given, and raises ``ConfigError`` for anything that the
    field does not take. The data class has no slots.
    """

    def __init__(self, default: Value, read: Callable[[str, Any], Value]) -> None:
        self._default = default
        self._read = read

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, options: object | None, owner: type | None = None) -> Value:
        found: Value = self._default if options is None else options.__dict__[self._name]
        return found

    def __set__(self, options: object, given: Given) -> None:
        options.__dict__[self._name] = self._read(self._name, given)


def chosen(option: str, values: Iterable[Value], given: object) -> Value:
    """Return the given value, or the one with the given name; raises ``ConfigError``."""
    values = list(values)
    for each in values:
        if given == each or given == name_of(each):
            return each
    names = ", ".join(map(name_of, values))
    raise ConfigError(f"{option} {given!r} is not known", hint=f"Choose one of {names}.")


def name_of(value: object) -> str:
    """Return the name of a value to choose: that of an enumeration's member, or the value itself."""
    return str(value.value if isinstance(value, Enum) else value)


def choice(values: Iterable[Any], default: Any) -> OptionField[Any, Any]:
    """Return a field that takes one of the values or its name; None only as the default."""

    def read(option: str, given: object) -> object:
        return None if given is None and default is None else chosen(option, values, given)

    return OptionField(default, read)


def words(values: Collection[str]) -> OptionField[frozenset[str], Any]:
    """Return a field that takes several of the words, or a single one, as a set."""
    return OptionField(
        frozenset(), lambda option, given: frozenset(chosen(option, values, each) for each in _each(given))
    )


def texts() -> OptionField[tuple[str, ...], Any]:
    """Return a field that takes several texts, or a single one."""
    return OptionField((), _texts)


def text(read: Callable[[str], object], default: str | None = None) -> OptionField[Any, Any]:
    """Return a field that takes the default, or a text that ``read`` accepts."""

    def taken(option: str, given: object) -> object:
        if given != default:
            read(*_texts(option, [given]))
        return given

    return OptionField(default, taken)


def paths(read: Callable[[Any], tuple[Path, ...]]) -> OptionField[tuple[Path, ...], Any]:
    """Return a field that takes one or several paths, which ``read`` converts."""
    return OptionField((), lambda _option, given: read(given))


def instance(kind: type[Value], default: Value | None = None) -> OptionField[Value, Value]:
    """Return a field that takes an object of one class; ``kind()`` is its default unless given."""
    return OptionField(
        kind() if default is None else default, lambda option, given: checked(option, kind, given)
    )


def checked(option: str, kind: type[Value], given: object) -> Value:
    """Return the given value if it is of the class; raises ``ConfigError`` for any other."""
    if isinstance(given, kind):
        return given
    raise ConfigError(
        f"{option} {given!r} is not {kind.__name__}", hint=f"Give an object of the class {kind.__name__}."
    )


def flag(*, default: bool = False) -> OptionField[bool, Any]:
    """Return a field that takes True or False."""
    return OptionField(default, _flag)


def number(default: int | None, read: Callable[[str, str], int | None]) -> OptionField[int | None, Any]:
    """Return a field that takes a whole number from 1 on, None, or a text for ``read``."""
    return OptionField(
        default, lambda option, given: read(given, option) if isinstance(given, str) else whole(option, given)
    )


def size(default: int | None = None) -> OptionField[int | None, Any]:
    """Return a field of bytes that takes ``45000``, ``"4GB"``, ``"none"`` and None."""
    return number(default, sizes.size)


def jobs(default: int | None = 1) -> OptionField[int | None, Any]:
    """Return a field of a number of processes; None stands for as many as help."""
    return OptionField(default, whole)


def whole(option: str, given: object) -> int | None:
    """Return a whole number from 1 on, or None; raises ``ConfigError`` for anything else."""
    if given is None or (isinstance(given, int) and not isinstance(given, bool) and given >= 1):
        return given
    raise ConfigError(f"{option} {given!r} is not a number", hint="Give a whole number from 1 on, or None.")


def _each(given: object) -> Iterable[Any]:
    return given if isinstance(given, Iterable) and not isinstance(given, str) else (given,)


def _texts(option: str, given: object) -> tuple[str, ...]:
    found = tuple(_each(given))
    for each in found:
        if not isinstance(each, str):
            raise ConfigError(
                f"{option} {each!r} is not a text", hint="Give one text, or several in a tuple."
            )
    return found


def _flag(option: str, given: object) -> bool:
    if not isinstance(given, bool):
        raise ConfigError(f"{option} {given!r} is neither True nor False", hint="Give True or False.")
    return given
