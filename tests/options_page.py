# ruff: noqa: E501 -- the page is written as it is read
"""Writes docs/options.md from the commands; run as a module, it writes the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metspack.cli.app import Commands

PAGE = Path(__file__).resolve().parents[1] / "docs" / "options.md"
_BEFORE = """# Options

Every command and every option, from the commands' own help. `metspack help build` shows the options that most people need,
`metspack build --help-all` all of them with their variables ([Configuration](configuration.md)).

## Commands

| command | what it does |
|---|---|"""
_TABLE = "| option | commands | what it does |\n|---|---|---|"
_GENERAL = "In general"


def page() -> str:
    """Return the page."""
    parts = [_BEFORE]
    sections: dict[str, dict[tuple[str, str], list[str]]] = {_GENERAL: {}}
    for name, each in Commands().items():
        parts.append(f"| `metspack {' '.join((name, *_arguments(each)))}` | {each.help.splitlines()[0]} |")
        for option in _options(each):
            panel = getattr(option, "rich_help_panel", None) or ""
            sections.setdefault(panel, {}).setdefault(_cells(option), []).append(name)
    for cells, names in list(sections.pop("").items()):
        title = _GENERAL if len(names) > 1 else f"Only `{names[0]}`"
        sections.setdefault(title, {})[cells] = names
    for title, rows in sections.items():
        parts += [f"\n## {title}\n", _TABLE]
        parts += [f"| {first} | {', '.join(names)} | {last} |" for (first, last), names in rows.items()]
    return "\n".join(parts) + "\n"


def _arguments(each: Any) -> Iterator[str]:
    for param in each.params:
        if param.param_type_name == "argument":
            yield param.metavar if param.nargs == 1 else f"{param.metavar.removesuffix('...')}..."


def _options(each: Any) -> Iterator[Any]:
    return (
        param for param in each.params if param.param_type_name == "option" and "--help-all" not in param.opts
    )


def _cells(option: Any) -> tuple[str, str]:
    names = ", ".join(f"`{name}`" for name in sorted(option.opts, key=len, reverse=True))
    value = f" `{option.metavar}`" if option.metavar else ""
    is_stated = option.default in {None, "", False, ()} or "default" in option.help
    default = "" if is_stated else f" Default: {option.default}."
    return f"{names}{value}".replace("|", "\\|"), f"{option.help}{default}".replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
