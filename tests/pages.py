"""Sections of the documentation that programs write."""

from __future__ import annotations

from pathlib import Path


def put_section(page: Path, name: str, text: str) -> None:
    """Replace the text between the two comments of a name in a page."""
    before, begun, rest = page.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    _old, ended, after = rest.partition(f"<!-- end of {name} -->")
    if not (begun and ended):
        raise SystemExit(f"{page} has no comments <!-- {name} --> and <!-- end of {name} -->")
    page.write_text(f"{before}{begun}\n{text}\n{ended}{after}", encoding="utf-8")
