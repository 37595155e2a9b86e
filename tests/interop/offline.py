"""Runs eark-validator without the network; by the Python of the tools' own environment.

At its start it fetches four vocabularies by https. They are answered from the copies that it ships.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import sys
import urllib.request
from email.message import Message
from pathlib import Path
from urllib.response import addinfourl


class Shipped(urllib.request.BaseHandler):
    """Answers every request by https with the file of that name among the vocabularies."""

    def __init__(self, vocabularies: Path) -> None:
        self._vocabularies = vocabularies

    def https_open(self, req: urllib.request.Request) -> addinfourl:
        content = self._vocabularies.joinpath(Path(req.selector).name).read_bytes()
        return addinfourl(io.BytesIO(content), Message(), req.full_url, 200)


def main() -> None:
    found = importlib.util.find_spec("eark_validator")
    if found is None or found.origin is None:
        sys.exit("eark-validator is not installed")
    vocabularies = Path(found.origin).parent / "ipxml" / "resources" / "vocabs"
    opener = urllib.request.OpenerDirector()
    opener.add_handler(Shipped(vocabularies))
    urllib.request.install_opener(opener)
    importlib.import_module("eark_validator.cli.app").main()


if __name__ == "__main__":
    main()
