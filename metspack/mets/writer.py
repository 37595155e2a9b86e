"""Writing METS documents through streamed templates, hashing them as they are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from metspack import resources
from metspack.digests import Hashers
from metspack.errors import ConfigError
from metspack.files import writing

_REFUSED = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BUFFERED_EVENTS = 500


def finalized(value: object) -> Markup:
    """Return a value as it may stand in XML 1.0, in an element or an attribute.

    Raises ``ConfigError`` for a character that XML cannot hold. Tabs and line ends are written as
    references: a parser would otherwise turn them into spaces in an attribute.
    """
    if isinstance(value, Markup):
        return value
    text = str(value)
    if found := _REFUSED.search(text):
        raise ConfigError(
            f"{text!r} holds the character U+{ord(found[0]):04X}, which XML cannot hold",
            hint="Choose a value without control characters.",
        )
    safe = escape(text)
    if "\n" in safe or "\r" in safe or "\t" in safe:
        # As str: Markup.replace would escape what is put in.
        whole = str(safe).replace("\t", "&#9;").replace("\n", "&#10;").replace("\r", "&#13;")
        safe = Markup(whole)  # noqa: S704 -- escaped above
    return safe


@cache
def _environment(folder: Path, *, is_xml: bool = True) -> Environment:
    return Environment(
        loader=FileSystemLoader([folder, resources.template_folder() / "shared"]),
        autoescape=is_xml,  # noqa: S701 -- what is no XML goes to no browser
        undefined=StrictUndefined,
        finalize=finalized if is_xml else None,
        keep_trailing_newline=True,
    )


def fragment(folder: Path, template: str, macro: str, *values: object) -> str:
    """Return what a macro of a template in a folder makes of some values; raises ``ConfigError``."""
    made: str = getattr(_module(folder, template), macro)(*values)
    return made


def rendered(folder: Path, template: str, facts: Mapping[str, Any]) -> str:
    """Return what a template in a folder makes of some facts, which is little; raises ``ConfigError``."""
    return _environment(folder).get_template(template).render(facts)


def plain(folder: Path, template: str, facts: Mapping[str, Any]) -> str:
    """Return what a template of plain text in a folder makes of some facts: nothing is escaped."""
    return _environment(folder, is_xml=False).get_template(template).render(facts)


@cache
def _module(folder: Path, template: str) -> Any:
    return _environment(folder).get_template(template).module


def write_document(
    target: Path, folder: Path, template: str, facts: Mapping[str, Any], algorithms: Iterable[str]
) -> Hashers:
    """Write a new document from a template in a folder and the facts it names; returns its digests and size.

    Facts may be iterators: the document streams, and nothing of it is held. Raises ``TargetError``
    and ``ConfigError``.
    """
    stream = _environment(folder).get_template(template).stream(facts)
    stream.enable_buffering(_BUFFERED_EVENTS)
    hashers = Hashers(algorithms)
    with writing.NewFile(target) as file:
        for piece in stream:
            block = piece.encode()
            hashers.update(block)
            file.write(block)
    return hashers
