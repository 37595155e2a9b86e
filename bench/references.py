"""Small programs that metspack is measured beside: each reads in one way, and does nothing with it.

``python -m bench.references NAME PATH [OUT]``
"""

from __future__ import annotations

import importlib
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.parsers import expat

from lxml import etree

HASHED = (
    "find {out} -type f -print0 | xargs -0 -n 500 -P 2 md5sum && "
    "find {out} -type f -print0 | xargs -0 -n 500 -P 2 sha256sum"
)
"""Both sums of every file, by two processes each."""


def extractall(path: Path, out: Path) -> None:
    """Unpack a zip."""
    with zipfile.ZipFile(path) as archive:
        archive.extractall(out)


def iterparse(path: Path, _out: Path) -> None:
    """Parse a document element by element, in flat memory."""
    for _, element in etree.iterparse(path, events=("end",), resolve_entities=False, huge_tree=True):
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]


def parse_table(path: Path, _out: Path) -> None:
    """Parse a document with expat, which calls a function at each start of an element."""
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda _name, _attributes: None
    with path.open("rb") as file:
        parser.ParseFile(file)


def metsrw(path: Path, _out: Path) -> None:
    """Read a METS with metsrw."""
    importlib.import_module("metsrw").METSDocument.fromfile(str(path))


PROGRAMS: dict[str, Callable[[Path, Path], None]] = {
    "extractall": extractall,
    "iterparse": iterparse,
    "expat": parse_table,
    "metsrw": metsrw,
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[-1]))
