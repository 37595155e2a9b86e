"""What METS documents say, as texts: facts and outlines that are kept on disk, and read back from there."""

from __future__ import annotations

import json
from typing import Any

from metspack.checking.eark.document import Outline, StatedFileGroup, TypedFile
from metspack.checking.eark.profiles import Opening
from metspack.mets.links import Mptr
from metspack.mets.reader import Agent, File, Fptr, Identified, MetsHeader, Root, StatedObject, StructMap

_KINDS: dict[str, Any] = {
    each.__name__: each
    for each in (
        *(Agent, File, Fptr, Identified, MetsHeader, Mptr, Root, StatedObject, StructMap),
        *(Opening, Outline, StatedFileGroup, TypedFile),
    )
}
_MANY: dict[str, Any] = {each.__name__: each for each in (list, tuple, set, frozenset)}
_PLAIN = {str, int, bool, type(None)}


def text_of(value: object) -> str:
    """Return a text that ``value_of`` reads: of facts, of an outline, and of collections of them."""
    return json.dumps(_plain(value), separators=(",", ":"))


def value_of(text: str) -> Any:
    """Return the value that ``text_of`` was given, each part of it of the type that it had."""
    return _value(json.loads(text))


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: what is neither text nor number has its kind before it."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:
        return [kind.__name__, *([_plain(key), _plain(each)] for key, each in value.items())]
    if kind.__name__ in _KINDS:
        return [kind.__name__, *(_plain(getattr(value, each)) for each in kind.__dataclass_fields__)]
    return [kind.__name__, *map(_plain, value)]


def _value(plain: Any) -> Any:
    if type(plain) is not list:
        return plain
    name, *values = plain
    if name == dict.__name__:
        return {_value(key): _value(each) for key, each in values}
    if (kind := _KINDS.get(name)) is not None:
        return kind(**dict(zip(kind.__dataclass_fields__, map(_value, values), strict=True)))
    return _MANY[name](map(_value, values))
