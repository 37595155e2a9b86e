"""``dataclass`` and ``re.compile`` with the meaning of the standard library, but quick to import.

The standard one compiles six methods for each class while its module is imported, which was almost half of
the time that a small command took. Here ``__init__`` is compiled once a class has some values, and nothing
else at all (decision 31). Fields, ``replace`` and ``asdict`` are those of the standard library.

A regular expression of a module or a class is compiled when it is used, which most are not in one run; what a
function compiles, it uses, and takes ``re.compile`` itself.
"""

from __future__ import annotations

import dataclasses
import re
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 -- exported

    regex = re.compile
else:

    def regex(pattern: Any, flags: int = 0) -> Any:
        """Return what behaves as the pattern of ``re.compile``; a wrong one is only noticed when used."""
        return _Regex(pattern, flags)

    def dataclass(
        cls: Any = None, /, *, frozen: bool = False, slots: bool = False, kw_only: bool = False
    ) -> Any:
        """Make a class a dataclass; one that is ``frozen`` has a hash, and can be pickled."""

        def make(given: Any) -> Any:
            # The standard library does not let the two kinds be mixed below each other.
            is_below = any(hasattr(each, "__dataclass_params__") for each in given.__mro__)
            # Else the standard library writes the signature there, for which it looks at every field again.
            given.__doc__ = given.__doc__ or given.__name__
            stated = vars(given).get("__annotations__", {})
            # It looks in each annotation, word for word, for those that make no field.
            if stated:
                given.__annotations__ = {
                    name: text if "Var" in str(text) else object for name, text in stated.items()
                }
            made = dataclasses.dataclass(
                init=False, repr=False, eq=False, frozen=frozen and is_below, slots=slots, kw_only=kw_only
            )(given)
            if stated:
                made.__annotations__ = stated
            for name in stated.keys() & made.__dataclass_fields__.keys():
                made.__dataclass_fields__[name].type = stated[name]
            made.__dataclass_params__.frozen = frozen
            for name, method in _methods(made, frozen=frozen, slots=slots).items():
                if name not in vars(given):
                    setattr(made, name, method)
            return made

        return make if cls is None else make(cls)


_MISSING = dataclasses.MISSING
_FILLED = 30


def _methods(made: Any, *, frozen: bool, slots: bool) -> dict[str, Any]:
    """Return the methods of a class that the standard library has given its fields."""
    names = tuple(field.name for field in dataclasses.fields(made) if field.compare)
    key = attrgetter(*names) if names else lambda _: ()

    def __eq__(self: Any, other: object) -> Any:  # noqa: N807 -- it is the class's
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(key(self))

    methods = {
        "__init__": _Init(made, frozen=frozen, slots=slots),
        "__repr__": _shown,
        "__eq__": __eq__,
        "__hash__": __hash__ if frozen else None,
    }
    if frozen:
        methods |= {"__setattr__": _refuse_setting, "__delattr__": _refuse_deleting}
        methods |= {"__getstate__": _state, "__setstate__": _set_state} if slots else {}
    return methods


class _Init:
    """The ``__init__`` of a class: the first values are filled field by field, then one is compiled for it.

    To compile takes as long as to fill 60 values, and most classes of a small command have fewer. It takes
    this one's place, and says as the standard library's what is wrong with arguments.
    """

    def __init__(self, owner: Any, **words: bool) -> None:
        self._owner = owner
        self._words = words
        self._left = _FILLED

    @cached_property
    def _fields(self) -> list[tuple[str, bool, Any, Any]]:
        fields = dataclasses.fields(self._owner)
        return [(field.name, field.init, field.default, field.default_factory) for field in fields]

    @cached_property
    def _positional(self) -> list[str]:
        fields = dataclasses.fields(self._owner)
        return [field.name for field in fields if field.init and not field.kw_only]

    def __get__(self, instance: object, kind: type) -> Any:
        self._left -= 1
        if self._left < 0 or instance is None:
            return self._compile(instance, kind)
        return partial(self._fill, instance)

    def _fill(self, instance: Any, /, *args: Any, **words: Any) -> None:
        given = dict(zip(self._positional, args, strict=False)) | words
        taken = 0
        for name, is_taken, default, make in self._fields:
            if is_taken and name in given:
                value, taken = given[name], taken + 1
            elif make is not _MISSING:
                value = make()
            else:
                value = default
            if value is _MISSING:
                break
            object.__setattr__(instance, name, value)
        else:
            if taken == len(args) + len(words):
                if hasattr(instance, "__post_init__"):
                    instance.__post_init__()
                return
        self._compile(instance, type(instance))(*args, **words)  # which says what is wrong

    def _compile(self, instance: object, kind: type) -> Any:
        owner = self._owner
        # Of a class with the same fields, to which the standard library adds this method.
        fields = owner.__dataclass_fields__
        body = {
            **fields,
            "__annotations__": {name: field.type for name, field in fields.items()},
            "__doc__": owner.__name__,
            "__module__": owner.__module__,
            "__qualname__": owner.__qualname__,
            **({"__post_init__": owner.__post_init__} if hasattr(owner, "__post_init__") else {}),
        }
        twin: Any = type(owner.__name__, (), body)
        owner.__init__ = dataclasses.dataclass(repr=False, eq=False, **self._words)(twin).__init__
        return owner.__init__.__get__(instance, kind)


def _shown(self: Any) -> str:
    fields = (field.name for field in dataclasses.fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in fields)})"


def _refuse_setting(_self: object, name: str, _value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deleting(_self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


class _Regex:
    """A regular expression that is compiled when it is first asked for more than its text."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, found)  # from now on it is there without a call of this method
        return found

    def __reduce__(self) -> Any:
        return regex, (self.pattern, self._flags)
