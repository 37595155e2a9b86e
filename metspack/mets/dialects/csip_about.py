"""The text in every CSIP package's documentation that tells a person what it is; pure."""

from __future__ import annotations

NAME = "about-this-package.txt"

_DIVIDED = """\

How the packages belong together
--------------------------------
A database with large objects (LOBs) was divided over several information packages: one
parent, which holds the SIARD archive, and numbered children, which hold the LOBs. Each is
a package of its own after E-ARK CSIP 2.2.0. Their METS.xml name each other by OBJID, and
by the place where they were when they were made: beside one another.

The LOBs are named by the archive's cells. These names begin in the folder
{data} of the representation that the packages share:
put together, the packages' folders {data} are that
representation, and no path in them occurs twice. The parent's and the children's other
files are each package's own.

"""
_WHOLE = """\

How the package came to be
--------------------------
A database with large objects (LOBs) was divided over several information packages, which
were then put together again into this one: the folders {data}
of them all are that of this package. Nothing in it was changed. It is a package after
E-ARK CSIP 2.2.0.

The LOBs are named by the archive's cells. These names begin in the folder
{data}.

"""
_REST = """\
A LOB that was too large for one package lies in parts: record0.bin.0, record0.bin.1 ...
and record0.bin.z as the last, or record0.bin_part001, _part002 ... Put together in this
order they are the LOB. The structMap of type SPLITLOB in {mets} names them.

The digest of every file is in METS.xml and in metadata/preservation/premis.xml.
"""


def text(*, title: str, objid: str, role: str, parent: str, data: str, is_whole: bool) -> str:
    """Return the text for the IP ``objid``; ``parent`` is its parent's OBJID, "" when it has none.

    ``is_whole`` is for a package that was put together of parent and children.
    """
    lines = [
        title,
        "=" * len(title),
        f"This information package: {objid}",
        f"What it is:               {role}",
        *([f"Its parent:               {parent}"] if parent else ()),
    ]
    how, mets = (_WHOLE, "METS.xml") if is_whole else (_DIVIDED, "the parent's METS.xml")
    return "\n".join(lines) + "\n" + how.format(data=data) + _REST.format(mets=mets)
