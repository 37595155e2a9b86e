"""Where a LOB lies in a package, and back: one module per layout; pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from metspack.errors import ConfigError
from metspack.layouts import lobseg, siard22
from metspack.layouts.interface import FolderStyle, Layout, LobName, PartName, SegmentName, safe_extension

__all__ = ["LAYOUTS", "FolderStyle", "Layout", "LobName", "PartName", "SegmentName", "safe_extension"]

LAYOUTS: Mapping[str, Layout] = MappingProxyType(
    {each.name: each for each in (lobseg.LAYOUT, siard22.LAYOUT)}
)
"""The layouts by name; the first is the one to take when nothing else is asked for."""


def named(name: str) -> Layout:
    """Return the layout with a name; raises ``ConfigError`` when there is none."""
    if name not in LAYOUTS:
        raise ConfigError(f"there is no layout {name!r}", hint=f"Layouts are {', '.join(LAYOUTS)}.")
    return LAYOUTS[name]
