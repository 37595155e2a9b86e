"""Prints as JSON what metsrw reads in METS documents; run by the Python of the tools."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


def found(path: str) -> dict[str, Any]:
    """Return what metsrw reads in a document, or why it does not."""
    metsrw = importlib.import_module("metsrw")
    try:
        document = metsrw.METSDocument.fromfile(path)
    except metsrw.exceptions.ParseError as error:
        return {"refused": str(error)}
    entries = [each for each in document.all_files() if each.type == "Item"]
    files = sorted([each.path, each.checksum, each.checksumtype, each.use] for each in entries)
    return {"objid": document.objid, "agents": [each.name for each in document.agents], "files": files}


if __name__ == "__main__":
    json.dump([found(path) for path in sys.argv[1:]], sys.stdout)
