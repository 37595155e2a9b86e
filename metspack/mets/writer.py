"""Write METS and PREMIS documents with templates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from metspack import resources, uris
from metspack.digests import Hashers
from metspack.errors import ConfigError
from metspack.files import writing
from metspack.files.threads import ThreadedHashers
from metspack.mets.filetable import COLUMNS, PlacedRun

_REFUSED = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BUFFER = 1 << 16


def finalized(value: object) -> Markup:
    """Return a value escaped for XML 1.0, for an element or an attribute.

    Tabs and line ends become references, as parsers turn them into spaces in attributes. Raises
    ``ConfigError`` for a character that XML cannot have.
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
        # As str: Markup.replace would escape the references.
        whole = str(safe).replace("\t", "&#9;").replace("\n", "&#10;").replace("\r", "&#13;")
        safe = Markup(whole)  # noqa: S704 -- escaped above
    return safe


@cache
def _environment(folder: Path, *, is_xml: bool = True) -> Environment:
    environment = Environment(
        loader=FileSystemLoader([folder, resources.root() / "templates" / "shared"]),
        autoescape=is_xml,  # noqa: S701 -- plain text is not shown by browsers
        undefined=StrictUndefined,
        finalize=finalized if is_xml else None,
        keep_trailing_newline=True,
    )
    environment.tests["urn"] = uris.is_urn
    return environment


def fragment(folder: Path, template: str, macro: str, *values: object, **facts: object) -> str:
    """Return the text of a template's macro for some values; raises ``ConfigError``."""
    made: str = getattr(_module(folder, template), macro)(*values, **facts)
    return made


def plain(folder: Path, template: str, facts: Mapping[str, Any]) -> str:
    """Return the text of a template of plain text for some facts, without escaping."""
    return _environment(folder, is_xml=False).get_template(template).render(facts)


@cache
def _module(folder: Path, template: str) -> Any:
    return _environment(folder).get_template(template).module


def write_document(
    target: Path, folder: Path, template: str, facts: Mapping[str, Any], algorithms: Iterable[str]
) -> Hashers:
    """Write a new document of a template in ``folder`` and facts; return its digests and size.

    Facts may be iterators: the document is streamed. Raises ``TargetError`` and ``ConfigError``.
    """
    pieces = _environment(folder).get_template(template).generate(facts)
    hashers = ThreadedHashers(algorithms)
    with writing.NewFile(target) as file:
        for block in hashers.pass_on(_blocks(pieces)):
            file.write(block)
    return hashers


def _blocks(pieces: Iterable[str]) -> Iterator[bytes]:
    """Yield text as blocks of bytes, joined from the small and large pieces of templates."""
    waiting: list[str] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= _BUFFER:
            yield "".join(waiting).encode()
            waiting.clear()
            size = 0
    yield "".join(waiting).encode()


_MARK = re.compile("\ue000([a-z0-9_]+)\ue001")
_SAFE = re.compile(r"[A-Za-z0-9_./+\n-]*")
"""Values, one a line, that need no escaping in XML nor, as names, in a reference."""


def _format(text: str) -> tuple[str, list[str]]:
    """Return the format of rows from a row with marks, and the names in its marks."""
    pieces = _MARK.split(text)
    names = pieces[1::2]
    pieces[::2] = [piece.replace("%", "%%") for piece in pieces[::2]]
    pieces[1::2] = ["%s"] * len(names)
    return "".join(pieces), names


class RowFormat:
    """The rows of a template's macro for files, formatted by thousands.

    ``macro`` is called once with marked names in place of values; its result becomes the format of all rows.
    ``href`` returns the reference to a path.
    """

    def __init__(self, macro: Callable[[Mapping[str, Any]], str], href: Callable[[str], str] = str) -> None:
        self._href = href
        self._before = str(finalized(href("a"))).removesuffix("a")
        marks = {name: f"\ue000{name}\ue001" for name in (*COLUMNS, "href")}
        whole = {**marks, "part_of": "", "sequence": None}
        self._formats = _format(macro(whole)), _format(macro(marks))

    def text(self, run: PlacedRun) -> Markup:
        """Return the rows of files; raises ``ConfigError`` for a value that XML cannot have."""
        row, names = self._formats[bool(run.sequence)]
        rows = zip(*map(self._column, names, repeat(run)), strict=True)
        return Markup("".join(map(row.__mod__, rows)))  # noqa: S704 -- each value was made safe

    def _column(self, name: str, run: PlacedRun) -> Iterable[object]:
        if name in {"size", "sequence"}:
            return cast("Iterable[int]", getattr(run, name))
        values: Sequence[str] = run.path if name == "href" else getattr(run, name)
        text = "\n".join(values)
        is_safe = _SAFE.fullmatch(text) is not None and text.count("\n") == len(values) - 1
        if name != "href":
            return values if is_safe else map(finalized, values)
        if is_safe and self._href(values[0]) == self._before + values[0]:
            return map(self._before.__add__, values) if self._before else values
        return (finalized(self._href(each)) for each in values)
