"""Layouts of LOBs in a package, one module each; pure."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from metspack.errors import ConfigError
from metspack.layouts.names import FolderStyle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metspack.layouts.interface import Layout

    LAYOUTS: Mapping[str, Layout]

__all__ = ["LAYOUTS", "FolderStyle", "Layout"]


# All modules need ``layouts.names``; only those that write packages need the layouts, loaded on first use.
def __getattr__(name: str) -> object:
    if name == "LAYOUTS":
        return _layouts()
    if name == "Layout":
        return import_module("metspack.layouts.interface").Layout
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _layouts() -> Mapping[str, Layout]:
    """Return the layouts by name; the first is the default."""
    from metspack.layouts import lobseg, siard22  # noqa: PLC0415

    return MappingProxyType({each.name: each for each in (lobseg.LAYOUT, siard22.LAYOUT)})


def named(name: str) -> Layout:
    """Return the layout of that name; raises ``ConfigError`` for an unknown one."""
    if name not in _layouts():
        raise ConfigError(f"unknown layout {name!r}", hint=f"Layouts are {', '.join(_layouts())}.")
    return _layouts()[name]
