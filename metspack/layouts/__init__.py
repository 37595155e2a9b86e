"""Layouts of LOBs in a package, one module each; pure."""

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
"""The layouts by name; the first is the default."""


def named(name: str) -> Layout:
    """Return the layout of that name; raises ``ConfigError`` for an unknown one."""
    if name not in LAYOUTS:
        raise ConfigError(f"unknown layout {name!r}", hint=f"Layouts are {', '.join(LAYOUTS)}.")
    return LAYOUTS[name]
