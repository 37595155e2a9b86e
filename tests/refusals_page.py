# ruff: noqa: E501 -- the page is written as it is read
"""Writes docs/refusals.md from tests/refusals.toml; run as a module, it writes the page."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "refusals.md"
_BEFORE = """# Refusals: what is not read, and why

metspack has refused your archive, and you want to know why and what to do: look up the message. Malformed archives are read as far as their
meaning is certain, with warnings ([Locating LOBs](locations.md)). A source is refused only where bytes would have to be guessed, where reading
would leave the granted folders, or where a file demands more memory than any genuine one. Nothing is written then.

`…` stands for what differs: names, numbers, and the reasons of other rows. Each message comes with a hint, which is more exact than the last
column.
"""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A case met in a source: why it is refused, what to do, and the messages."""

    area: str
    what: str
    why: str
    remedy: str
    messages: tuple[str, ...]


def listed() -> Iterator[Refusal]:
    """Yield what the file lists, in its order."""
    with (HERE / "refusals.toml").open("rb") as file:
        for area, rows in tomllib.load(file).items():
            for what, (why, remedy, *messages) in rows.items():
                yield Refusal(area=area, what=what, why=why, remedy=remedy, messages=tuple(messages))


def page() -> str:
    """Return the page."""
    lines, area = [_BEFORE], ""
    for each in listed():
        if each.area != area:
            area = each.area
            lines += [
                f"\n## {area}\n",
                "| what is met | messages | why it is refused | what to do |",
                "|---|---|---|---|",
            ]
        messages = "<br>".join(f"`{text}`" for text in each.messages)
        lines.append(f"| {each.what} | {messages} | {each.why} | {each.remedy} |")
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
