"""A METS document as a stream of facts, those of its many elements of one shape as runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from xml.sax.saxutils import quoteattr

from metspack.mets.reader import FILE, FPTR, METS, Fact, File, Fptr, Reader, read
from metspack.mets.runs import Cut, Run, Shape, pieces_of, shape_of
from metspack.model import Budgets

Sink = Callable[[bytes], object]
"""Gets a document's bytes with white space in place of the runs, as many lines, and columns in the last."""

_END = re.compile(
    rb"</(?:[^\s<>/:]+:)?(?:file|fptr)[ \t\r\n]*>|<(?:[^\s<>/:]+:)?(?:file|fptr)[ \t\r\n][^<>]*/>"
)
_ENCODINGS = {None, "utf-8", "us-ascii"}
_FIRST_PAUSE = 1 << 8
_LAST_PAUSE = 1 << 16
_WORTH_IT = 8
_HELD = 1 << 16


def condensed(
    blocks: Iterable[bytes], budgets: Budgets | None = None, *, sink: Sink | None = None
) -> Iterator[Fact | Run]:
    """Yield what ``reader.read`` does, raising as it does, but many facts of one kind as a run.

    The facts, their lines and their order are the same. ``sink`` gets what was not in a run, block by block,
    after the facts; what is in a run refers to no ID but by ``FILEID``, its ``LOCTYPE`` is URL or none, and
    its ``xlink:type`` the same throughout.
    """
    condensing = Condensing(budgets or Budgets(), sink)
    for block in blocks:
        yield from condensing.condensed(block, final=False)
    yield from condensing.condensed(b"", final=True)


@dataclass(frozen=True, slots=True)
class _Sample:
    """An element that ended, and that no other fact came of: where its first byte and its end tag are."""

    start: int
    end: int
    fact: Fact


@dataclass(frozen=True, slots=True)
class _Known:
    """The last element of its kind that was asked for its shape, under which namespaces, and what it has."""

    literals: list[str]
    namespaces: Mapping[str, str]
    shape: Shape | None


class Condensing(Reader):
    """A reader that passes over elements that are written like the one before them; for one document.

    It does so behind an element only when the parser has just told of that element's end, at that very byte:
    what follows is its sibling then, under the same namespaces, and no part of a comment or a text.
    """

    def __init__(self, budgets: Budgets, sink: Sink | None) -> None:
        super().__init__(budgets)
        self._sink = sink
        self._encoding: str | None = None
        self._held = b""
        self._told: list[bytes] = []
        self._pause = _FIRST_PAUSE
        self._skipped = 0
        self._began: tuple[int, int, int] | None = None  # depth, first byte, facts before
        self._ended: _Sample | None = None
        self._known: dict[type, _Known] = {}
        self._shape: tuple[Shape, File | Fptr] | None = None  # of the element that ended where reading stands
        self._parser.XmlDeclHandler = self._declaration
        for kind in (FILE, FPTR):
            self._starts[kind] = partial(self._beginning, self._starts[kind])

    def condensed(self, block: bytes, *, final: bool) -> Iterator[Fact | Run]:
        """Yield the facts and runs in the next bytes, raising as ``read`` does; the last are ``final``."""
        data, at = self._held + block, 0
        self._held = b""
        self._told = []
        while at < len(data):
            if (cut := self._cut(data, at)) is not None:
                yield cut.run
                yield from self._telling(cut.blank)
                at += cut.size
            elif not final and self._may_go_on(data, at):
                self._held = data[at:]
                break
            else:
                end = _END.search(data, min(at + self._skipped, len(data)))
                stop = len(data) if end is None else end.end()
                self._skipped = max(0, self._skipped - (stop - at))
                before = self._fed
                yield from self._telling(data[at:stop])
                self._shape = None if end is None else self._shape_of(data[at:stop], end[0], before)
                at = stop
        if final:
            yield from self._parsed(b"", final=True)
        self._bounded(len(block))
        if self._sink is not None:
            self._sink(b"".join(self._told))

    def _telling(self, piece: bytes) -> Iterator[Fact]:
        """Let the parser have some bytes."""
        self._began = self._ended = None
        self._told.append(piece)
        return self._parsed(piece, final=False)

    def _cut(self, data: bytes, at: int) -> Cut | None:
        if self._shape is None:
            return None
        shape, fact = self._shape
        cut = shape.cut(data, at, fact)
        if cut is not None:
            self._shape = shape, replace(fact, line=cut.run.lines[-1])
            if cut.run.count >= _WORTH_IT:
                self._pause = _FIRST_PAUSE
        return cut

    def _may_go_on(self, data: bytes, at: int) -> bool:
        """Whether to wait for more, as the bytes end where an element of the shape may have begun."""
        if self._shape is None:
            return False
        if len(data) - at <= min(_HELD, self._budgets.attribute) and self._shape[0].may_go_on(data, at):
            return True
        self._shape = None
        # Looking for runs costs more than it gives where there are none: it is done ever more seldom.
        self._skipped = self._pause
        self._pause = min(self._pause * 2, _LAST_PAUSE)
        return False

    # --- what the parser tells --------------------------------------------------------------------------

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self._encoding = encoding and encoding.lower()

    def _beginning(self, handle: Callable[[dict[str, str]], None], attributes: dict[str, str]) -> None:
        self._began = self._depth, self._parser.CurrentByteIndex, len(self._found)
        handle(attributes)

    def _end(self, name: str) -> None:
        super()._end(name)
        if self._began is not None and self._began[0] == self._depth + 1:
            _, start, facts = self._began
            if len(self._found) == facts + 1:
                self._ended = _Sample(start, self._parser.CurrentByteIndex, self._found[-1])

    # --- shapes -------------------------------------------------------------------------------------

    def _shape_of(self, piece: bytes, tag: bytes, before: int) -> tuple[Shape, File | Fptr] | None:
        """Return the shape of the element that a piece ends with, its last tag being ``tag``, if it has one.

        ``before`` is how many bytes the parser had been given before that piece.
        """
        sample = self._ended
        if sample is None or self._encoding not in _ENCODINGS or not isinstance(sample.fact, File | Fptr):
            return None
        start, end = sample.start - before, sample.end - before
        if start < 0 or not len(piece) - len(tag) <= end <= len(piece):
            return None
        try:
            pieces = pieces_of(piece[start:].decode())
        except UnicodeDecodeError:
            return None
        shape = None if pieces is None else self._known_shape(*pieces, type(sample.fact))
        return None if shape is None else (shape, sample.fact)

    def _known_shape(self, literals: list[str], values: list[str], kind: type) -> Shape | None:
        namespaces = self._scopes[-1][1]
        known = self._known.get(kind)
        if known is None or known.literals != literals or known.namespaces is not namespaces:
            shape = shape_of(literals, values, partial(_told, namespaces))
            self._known[kind] = known = _Known(literals, namespaces, shape)
        elif known.shape is not None and not known.shape.is_fixed_in(values):
            return None
        return known.shape


def _told(namespaces: Mapping[str, str], element: str) -> File | Fptr | None:
    """Return what a reader says of an element by itself: its one fact, if it is one."""
    root = "m"
    while root in namespaces:
        root += "m"
    declared = {f"xmlns:{prefix}" if prefix else "xmlns": name for prefix, name in namespaces.items() if name}
    said = "".join(f" {name}={quoteattr(value)}" for name, value in declared.items())
    document = f"<{root}:mets xmlns:{root}={quoteattr(METS)}{said}>{element}</{root}:mets>"
    _root, *facts = read([document.encode()])
    (fact,) = facts
    return fact if isinstance(fact, File | Fptr) else None
