"""Names that Windows cannot hold (Microsoft, Naming Files, Paths, and Namespaces); pure."""

from __future__ import annotations

import re

_RESERVED = re.compile(r"(?is)(?:con|prn|aux|nul|con(?:in|out)\$|(?:com|lpt)[0-9\xb9\xb2\xb3])(?:\..*)?")
NOT_HELD = re.compile(r'[\x00-\x1f"*:<>?|\\/]')
"""A character that no name may have."""


def unholdable(name: str) -> str:
    """Return why Windows cannot hold a file of that name, or ""."""
    if _RESERVED.fullmatch(name):
        return "is the name of a device"
    if found := NOT_HELD.search(name):
        return f"has the character {found[0]!r}"
    return "ends with a dot or a blank" if name.endswith((".", " ")) else ""
