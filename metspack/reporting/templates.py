"""The template environment of reports: text from a package is escaped, and control characters are shown."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from metspack import resources
from metspack.reporting.records import printable
from metspack.sizes import counted


def visible(value: object) -> Markup:
    """Return a value as HTML text; characters that do not print, or turn text around, are shown as codes."""
    return value if isinstance(value, Markup) else escape(printable(str(value)))


@cache
def environment() -> Environment:
    """Return the environment of the templates: all values are escaped, and none may be missing."""
    environment = Environment(
        loader=FileSystemLoader(resources.template_folder() / "report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["counted"] = counted
    environment.filters["number"] = lambda value: f"{value:,}"
    return environment
