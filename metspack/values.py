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
from collections.abc import Mapping
from dataclasses import Field
from functools import cached_property, partial
from operator import attrgetter
from types import MemberDescriptorType
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
            stated = _StatedFields(given, frozen=frozen, slots=slots, kw_only=kw_only)
            return _with_slots(given, stated) if slots else _with_methods(given, stated)

        return make if cls is None else make(cls)


_MISSING = dataclasses.MISSING
_FILLED = 60
_FIELDS, _PARAMETERS = "__dataclass_fields__", "__dataclass_params__"
_NO_FIELD = "ClassVar", "typing.ClassVar"


_PARAMETERS_OF = {
    frozen: getattr(
        dataclasses.dataclass(init=False, repr=False, eq=False, frozen=frozen)(
            type("", (), {"__doc__": " "})
        ),
        _PARAMETERS,
    )
    for frozen in (False, True)
}
"""What the standard library keeps of its words in a class that is frozen and in one that is not."""


class _StatedFields:
    """What a class states of its fields; it stands where they are until somebody asks for them.

    Then the standard library makes them, of a class that has the same ones and nothing else. What is wrong
    with a statement is only noticed there.
    """

    def __init__(self, given: Any, **words: bool) -> None:
        self.owner = given
        self.words = words
        self._texts = vars(given).get("__annotations__", {})
        self.own = {
            name: getattr(given, name, _MISSING)
            for name, text in self._texts.items()
            if not str(text).startswith(_NO_FIELD)
        }
        self._above: dict[str, Any] = {}
        for base in given.__mro__[-2:0:-1]:
            if (parameters := getattr(base, _PARAMETERS, None)) is not None:
                if parameters.frozen is not words["frozen"]:
                    raise TypeError("a dataclass is frozen where the one above it is, and nowhere else")
                self._above |= {field.name: field for field in dataclasses.fields(base)}
        for name in self._above.keys() & self.own.keys():
            if isinstance(self.own[name], MemberDescriptorType):  # the slot of the class above
                self.own[name] = _MISSING
        self.all = self._above | self.own

    def __set_name__(self, owner: Any, name: str) -> None:
        self.owner = owner

    def __get__(self, instance: object, kind: type) -> Any:
        fields = getattr(self.standard(init=False), _FIELDS)
        setattr(self.owner, _FIELDS, fields)
        return fields

    def positional(self) -> tuple[str, ...]:
        """Return the names of the fields that may be given by position."""
        alone = self.words["kw_only"]
        return tuple(
            name
            for name, value in self.all.items()
            if not (
                not value.init or (alone if value.kw_only is _MISSING else value.kw_only)
                if isinstance(value, Field)
                else alone
            )
        )

    def standard(self, *, init: bool) -> Any:
        """Return a class with the same fields that the standard library made."""
        owner = self.owner
        body = {
            **{name: value for name, value in self.all.items() if value is not _MISSING},
            "__annotations__": {name: field.type for name, field in self._above.items()} | self._texts,
            "__doc__": owner.__name__,  # else the signature is written there
            "__module__": owner.__module__,
            "__qualname__": owner.__qualname__,
            **({"__post_init__": owner.__post_init__} if hasattr(owner, "__post_init__") else {}),
        }
        twin: Any = type(owner.__name__, (), body)
        # Without an __init__ the other words mean nothing here, but would have methods compiled.
        words = self.words if init else {"kw_only": self.words["kw_only"]}
        return dataclasses.dataclass(init=init, repr=False, eq=False, **words)(twin)


def _with_methods(given: Any, stated: _StatedFields) -> Any:
    """Return the class itself, with all that makes it a dataclass."""
    for name, value in stated.own.items():
        if isinstance(value, Field):
            if value.default is _MISSING:
                delattr(given, name)
            else:
                setattr(given, name, value.default)
    for name, value in _attributes(stated, vars(given)).items():
        setattr(given, name, value)
    return given


def _with_slots(given: Any, stated: _StatedFields) -> Any:
    """Return a class like the one given, of whose values each field has a slot."""
    inherited = {
        name
        for base in given.__mro__[1:-1]
        if (names := vars(base).get("__slots__"))
        for name in ((names,) if isinstance(names, str) else names)
    }
    left_out = {"__dict__", "__weakref__", *stated.all}
    body = {name: value for name, value in vars(given).items() if name not in left_out}
    body["__slots__"] = tuple(name for name in stated.all if name not in inherited)
    body |= _attributes(stated, body)
    made = type(given)(given.__name__, given.__bases__, body)
    made.__qualname__ = given.__qualname__
    stated.owner = made
    return made


def _attributes(stated: _StatedFields, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a class gets besides its ``own`` attributes, which it keeps."""
    names = tuple(name for name, value in stated.all.items() if not isinstance(value, Field) or value.compare)
    key = attrgetter(*names) if names else lambda _: ()

    def __eq__(self: Any, other: object) -> Any:  # noqa: N807 -- it is the class's
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(key(self))

    positional = stated.positional()
    frozen = stated.words["frozen"]
    methods = {
        "__init__": _Init(stated, positional),
        "__repr__": _shown,
        "__eq__": __eq__,
        "__hash__": __hash__ if frozen else None,
        "__match_args__": positional,
    }
    if frozen:
        methods |= {"__setattr__": _refuse_setting, "__delattr__": _refuse_deleting}
        methods |= {"__getstate__": _state, "__setstate__": _set_state} if stated.words["slots"] else {}
    return {name: value for name, value in methods.items() if name not in own} | {
        _FIELDS: stated,
        _PARAMETERS: _PARAMETERS_OF[frozen],
        "__doc__": own.get("__doc__") or stated.owner.__name__,
    }


class _Init:
    """The ``__init__`` of a class: the first values are filled field by field, then one is compiled for it.

    To compile takes as long as to fill 60 values, and most classes of a small command have fewer. It takes
    this one's place, and says as the standard library's what is wrong with arguments.
    """

    def __init__(self, stated: _StatedFields, positional: tuple[str, ...]) -> None:
        self._stated = stated
        self._positional = positional
        self._left = _FILLED

    @cached_property
    def _fields(self) -> list[tuple[str, bool, Any, Any]]:
        return [
            (name, value.init, value.default, value.default_factory)
            if isinstance(value, Field)
            else (name, True, value, _MISSING)
            for name, value in self._stated.all.items()
        ]

    def __get__(self, instance: object, kind: type) -> Any:
        self._left -= 1
        # Since Python 3.13 its ``inspect`` asks with the class in place of a value.
        if self._left < 0 or instance is None or isinstance(instance, type):
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
        owner = self._stated.owner
        owner.__init__ = self._stated.standard(init=True).__init__
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
