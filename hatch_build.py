"""The description of the package, as an index shows it: README.md without what leads to files beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?:)[^)]*\)\n+", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)")
_WHERE = "\n\nThe pages of `docs/` are in the source distribution.\n"


class Description(MetadataHookInterface):
    """The hook that puts the description into the metadata of wheel and sdist."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the description."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": description(text)}


def description(text: str) -> str:
    """Return a README whose links and pictures of files beside it are text, or left out."""

    def named(link: re.Match[str]) -> str:
        words, path = link[1], link[2]
        return words if words == path else f"{words} (`{path}`)"

    return _LINK.sub(named, _PICTURE.sub("", text)).rstrip() + _WHERE
