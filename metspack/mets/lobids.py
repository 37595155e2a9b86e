"""LOB ids in a package of several archives, with the name of the archive before them; pure.

A LOB's id is its place in a database (``s0.t2.c4.r1``). In METS the ids of an archive that was added to a
package begin with its name (``Orders.s0.t2.c4.r1``), so that each means one LOB.
"""

from __future__ import annotations

import re

_ID = re.compile(r"(?:([A-Za-z_][A-Za-z0-9_-]*)\.)?(s[0-9]+\.t[0-9]+\.c.+)", re.ASCII | re.DOTALL)


def prefix(archive: str) -> str:
    """Return the prefix that ids of the archive in a file of this name may have."""
    stem = archive.rpartition(".")[0] or archive
    return f"{stem}." if re.match("[A-Za-z_]", stem, re.ASCII) else f"_{stem}."


def parted(lob: str) -> tuple[str, str]:
    """Return an id's prefix, "" without one, and the place; an id of another form is all place."""
    found = _ID.fullmatch(lob)
    if found is None or found[1] is None:
        return "", lob
    return f"{found[1]}.", found[2]


def bounds(prefix: str) -> tuple[str, str]:
    """Return the bounds of all ids with a prefix: from the first to before the second."""
    return f"{prefix}s0", f"{prefix}s:"  # ":" follows "9"
