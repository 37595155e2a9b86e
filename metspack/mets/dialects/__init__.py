"""The registry of dialects: forms of METS, and of the files beside it, that describe a package.

A dialect is one folder and one line of ``DIALECTS``: a Python package with ``FACTS`` (``DialectFacts``) and a
module ``dialect`` with ``DIALECT`` (a subclass of ``interface.Dialect``), which is loaded on first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from metspack.errors import ConfigError

if TYPE_CHECKING:
    from metspack.mets.dialects.interface import Dialect

DIALECTS = {
    "recommendation": "metspack.mets.dialects.recommendation",
    "csip": "metspack.mets.dialects.csip",
}
"""The dialects by name, each with its Python package; the first is the default."""

DEFAULT = next(iter(DIALECTS))


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectFacts:
    """Facts of a dialect that are available without loading it; ``summary`` is for people.

    ``checksum`` is the default algorithm in METS. ``options`` are the names of the dialect's options, each
    with the allowed values (empty: any value). ``no_sidecars`` is the reason why its packages have no
    mapping.txt and manifest.txt, ``not_in_place`` the reason why it cannot describe a folder in place; each
    is "" without one. ``merges``: it can merge parent and children into one package.
    """

    summary: str
    checksum: str
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    no_sidecars: str = ""
    not_in_place: str = ""
    merges: bool = False


def facts(name: str) -> DialectFacts:
    """Return the facts of the dialect with a name; raises ``ConfigError`` for another name."""
    if name not in DIALECTS:
        raise ConfigError(f"there is no dialect {name!r}", hint=f"There are {', '.join(DIALECTS)}.")
    found: DialectFacts = import_module(DIALECTS[name]).FACTS
    return found


def named(name: str) -> type[Dialect]:
    """Return the dialect with a name; raises ``ConfigError`` for another name."""
    facts(name)
    found: type[Dialect] = import_module(f"{DIALECTS[name]}.dialect").DIALECT
    return found


def that_take(*options: str) -> tuple[str, ...]:
    """Return the names of the dialects that have all of these options."""
    return tuple(name for name in DIALECTS if facts(name).options.keys() >= set(options))


def that_merge() -> tuple[str, ...]:
    """Return the names of the dialects that can merge parent and children into one package."""
    return tuple(name for name in DIALECTS if facts(name).merges)


def for_merging() -> str:
    """Return the name of the dialect of merged packages: the first of those that can merge."""
    return that_merge()[0]


def values(option: str) -> tuple[str, ...]:
    """Return the allowed values of an option in all dialects that have it."""
    found = (each for name in that_take(option) for each in facts(name).options[option])
    return tuple(dict.fromkeys(found))
