"""Values of METS facts, outlines and segments as JSON texts, to be kept in a database."""

from __future__ import annotations

import json
from typing import Any

from metspack.checking.eark.document import Outline, StatedFileGroup, TypedFile
from metspack.checking.eark.profiles import Opening
from metspack.checking.held import AgreedSegment, ManifestStretch
from metspack.mets.links import Mptr
from metspack.mets.reader import Agent, File, Fptr, Identified, MetsHeader, Root, StatedObject, StructMap
from metspack.system import os

_KINDS: dict[str, Any] = {
    each.__name__: each
    for each in (
        *(Agent, File, Fptr, Identified, MetsHeader, Mptr, Root, StatedObject, StructMap),
        *(AgreedSegment, ManifestStretch, Opening, Outline, StatedFileGroup, TypedFile),
    )
}
_MANY: dict[str, Any] = {each.__name__: each for each in (list, tuple, set, frozenset)}
_PLAIN = {str, int, bool, type(None)}


def text_of(value: object) -> str:
    """Return a text that ``value_of`` reads, of such values or collections of them."""
    return json.dumps(_plain(value), separators=(",", ":"))


def value_of(text: str) -> Any:
    """Return the value that ``text_of`` was given, with the types of all its parts."""
    return _value(json.loads(text))


def _plain(value: Any) -> Any:
    """Return a value in JSON's types; one that is neither text nor number has its kind first."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is bytes:
        return [kind.__name__, os.fsdecode(value)]
    if kind is dict:
        return [kind.__name__, *([_plain(key), _plain(each)] for key, each in value.items())]
    if kind.__name__ in _KINDS:
        return [kind.__name__, *(_plain(getattr(value, each)) for each in kind.__dataclass_fields__)]
    return [kind.__name__, *map(_plain, value)]


def _value(plain: Any) -> Any:
    if type(plain) is not list:
        return plain
    name, *values = plain
    if name == bytes.__name__:
        return os.fsencode(values[0])
    if name == dict.__name__:
        return {_value(key): _value(each) for key, each in values}
    if (kind := _KINDS.get(name)) is not None:
        return kind(**dict(zip(kind.__dataclass_fields__, map(_value, values), strict=True)))
    return _MANY[name](map(_value, values))
