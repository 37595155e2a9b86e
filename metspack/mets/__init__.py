"""METS documents: read as facts, written through templates; and the names of their files."""

from __future__ import annotations

from typing import overload

CSIP_METS = "METS.xml"
"""The METS of an IP and of a representation in it (CSIP 2.2.0, CSIPSTR4)."""

PLAIN_METS = "mets.xml"
"""The METS of a package after the recommendation on large LOBs (0.28), parent and children."""

REPRESENTATIONS_FOLDER = "representations"
"""The folder of an IP's representations, a folder each (CSIP 2.2.0, CSIPSTR9)."""

METS_NAMES = (PLAIN_METS, CSIP_METS)
"""Both, in the order in which a folder that has both is read."""


@overload
def is_mets_name(path: str) -> bool: ...
@overload
def is_mets_name(path: bytes) -> bool: ...
def is_mets_name(path: str | bytes) -> bool:
    """Return whether the last name of a path is that of a METS, in any letter case."""
    if isinstance(path, str):
        return path.rpartition("/")[2].lower() == PLAIN_METS
    return path.rpartition(b"/")[2].lower() == PLAIN_METS.encode()
