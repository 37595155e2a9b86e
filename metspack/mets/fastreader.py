"""A fast reader of METS: it splits runs of ``file`` and other elements of one shape without a parser.

A large METS repeats the same few lines a million times. For elements that are identical, byte for byte,
except for the values of their attributes, the parser's result for one locates the facts of all others. The
parser reads all elements that differ in any other byte.

The module only saves time: to remove it, read with ``reader.read`` and ``reader.Reader`` wherever it is
imported, and remove the functions of the catalogue that insert runs of files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from typing import Any

from metspack import safexml
from metspack.limits import Budgets
from metspack.mets.links import Mptr
from metspack.mets.reader import DIV, FILE, FPTR, METS, MPTR, Fact, File, Fptr, Reader, Watch, read

_FIRST_WINDOW = 1 << 13
_LAST_WINDOW = 1 << 20

_TAG = re.compile(r"</?(?:[^\s<>/:]+:)?([^\s<>/:]+)")
_SLOT = re.compile(r"[ \t\r\n](?:([^\s<>=:]+):)?([^\s<>=:]+)[ \t\r\n]*=[ \t\r\n]*\Z")

# Elements and attributes of shapes: they affect no other element, and only FILEID refers to IDs.
_ELEMENTS = frozenset({"file", "FLocat", "transformFile", "fptr", "area", "div", "mptr"})
_OF_FILES = {
    "ID",
    "OWNERID",
    "GROUPID",
    "SEQ",
    "SIZE",
    "CREATED",
    "CHECKSUM",
    "CHECKSUMTYPE",
    "MIMETYPE",
    "USE",
}
_OF_POINTERS = {"FILEID", "CONTENTIDS", "BEGIN", "END", "BETYPE"}
_OF_CODING = {"TRANSFORMTYPE", "TRANSFORMALGORITHM", "TRANSFORMKEY", "TRANSFORMORDER"}
_ATTRIBUTES = frozenset(_OF_FILES | _OF_POINTERS | _OF_CODING)
_OF_LINKS = {"href", "type", "title", "show", "actuate", "role", "arcrole"}
_OF_FORMATS = {"FILEFORMATNAME", "FILEFORMATVERSION", "FORMATREGISTRY", "FORMATREGISTRYKEY"}
_PREFIXED = frozenset(_OF_LINKS | _OF_FORMATS)
_OF_DIVISIONS = frozenset({"LABEL", "ORDER", "TYPE", "LOCTYPE", "OTHERLOCTYPE"})
_DECLARED = "xmlns"
_LOCTYPE, _URL = "LOCTYPE", "URL"
_LOCATION = "href"
_KIND = "type"  # of XLink: the same word in every element

# The types of METS 1.12.1 of values that differ: any strings, numbers, names, plain references.
_FREE = frozenset({"OWNERID", "GROUPID", "MIMETYPE", "CHECKSUM", "USE"})
_DIGITS = b"0123456789"
_IN_NAMES = b"\nabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" + _DIGITS + b"_.-"
_LONGEST_NUMBERS = {"SIZE": 18, "SEQ": 9}
_NAMES = {"ID": _IN_NAMES, "FILEID": _IN_NAMES, _LOCATION: _IN_NAMES + b"/"}

_SAFE = bytes(each for each in range(0x20, 0x7F) if each not in b'<>&"')
_MARKUP = re.compile(r"[<>&]")


Repeated = File | Fptr | Mptr
"""The kinds of elements in runs: a ``file``, an ``fptr``, and a ``div`` that only has an ``mptr``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Successive elements of one shape: ``count`` facts that differ from ``fact`` in ``columns``.

    ``columns`` are values in document order, by the name of the fact's field. ``line`` is that of the first
    fact; each further one is ``step`` lines below.
    """

    fact: Repeated
    count: int
    columns: Mapping[str, Sequence[Any]]
    line: int
    step: int

    @property
    def lines(self) -> Sequence[int]:
        """The line of each fact."""
        if not self.step:
            return [self.line] * self.count
        return range(self.line, self.line + self.step * self.count, self.step)

    def facts(self) -> Iterator[Fact]:
        """Yield the facts one by one, as ``reader.read`` does."""
        for line, *values in zip(self.lines, *self.columns.values(), strict=True):
            yield replace(self.fact, line=line, **dict(zip(self.columns, values, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A run, its size in bytes, and white space in its place, of as many lines and columns.

    ``is_valid``: the run's elements are valid METS if the element before them is.
    """

    run: Run
    size: int
    blank: bytes
    is_valid: bool


class Shape:
    """The shape of an element as written: ``literals`` are the texts around its attributes' values.

    ``fixed`` are the values, by number, that belong to the shape; ``fields_`` are the numbers of values by
    the field of the element's fact. ``names`` are those of the attributes, without prefixes; ``sample`` is
    set to the values of the last element of the shape that the parser read.
    """

    def __init__(
        self,
        literals: tuple[str, ...],
        fixed: Mapping[int, str],
        fields_: Mapping[str, int],
        names: Sequence[str],
    ) -> None:
        self.literals = literals
        self.fixed = fixed
        self.sample: Sequence[str] = ()
        self._fields = fields_
        self._judged = {
            slot: name for slot, name in enumerate(names) if slot not in fixed and name not in _FREE
        }
        self._end = literals[-1].encode()
        self._window = _FIRST_WINDOW

    def is_fixed_in(self, values: Sequence[str]) -> bool:
        """Return whether an element has the fixed values."""
        return all(values[slot] == value for slot, value in self.fixed.items())

    def cut(self, data: bytes, at: int, fact: Repeated) -> Cut | None:
        """Return the run that begins at ``at``, directly after the element of ``fact``, or None.

        The number of examined bytes grows with the length of the runs, so that few are examined in vain.
        """
        stop = data.rfind(self._end, at, at + self._window)
        if stop < 0:
            return None
        stop += len(self._end)
        cut = self._cut(data[at:stop], fact)
        is_whole = cut is not None and at + cut.size == stop
        self._window = min(self._window * 4, _LAST_WINDOW) if is_whole else _FIRST_WINDOW
        return cut

    def is_open(self, data: bytes, at: int) -> bool:
        """Return whether the data from ``at`` on has no end of an element of this shape yet."""
        return data.find(self._end, at) < 0

    def _cut(self, stretch: bytes, fact: Repeated) -> Cut | None:
        try:
            text = stretch.decode()
        except UnicodeDecodeError:
            return None
        gap = text[: len(text) - len(text.lstrip(" \t\r\n"))]
        first, *inner, last = self.literals
        joint = last + gap + first
        if joint.count("\r") != joint.count("\r\n"):
            return None
        pieces = text.split('"')
        period = 2 * len(self.literals) - 2
        count = self._count_repeated(pieces, period, gap)
        values = pieces[: period * count]
        if not count or not _are_safe(values[1::2]):
            return None
        whole = count * period + 1 == len(pieces) and pieces[-1] == last
        taken = text if whole else '"'.join([*values, last])
        step = joint.count("\n") + sum(each.count("\n") for each in inner)
        columns: dict[str, Sequence[Any]] = {
            name: values[2 * slot + 1 :: period] for name, slot in self._fields.items()
        }
        if isinstance(fact, Mptr):
            if _has_others("".join(columns["href"]), _NAMES[_LOCATION]):
                return None
            columns["div"] = range(fact.div + 1, fact.div + 1 + count)
        run = Run(
            fact=fact,
            count=count,
            columns=columns,
            line=fact.line + step,
            step=step,
        )
        blank = b"\n" * (step * count) + b" " * (len(taken) - 1 - taken.rfind("\n"))
        is_valid = all(
            _are_valid(name, values[2 * slot + 1 :: period], self.sample[slot])
            for slot, name in self._judged.items()
        )
        return Cut(run=run, size=len(taken.encode()), blank=blank, is_valid=is_valid)

    def _count_repeated(self, pieces: Sequence[str], period: int, gap: str) -> int:
        """Return the number of elements of this shape from the first piece on."""
        first, *inner, last = self.literals
        if pieces[0] != gap + first:
            return 0
        ends = pieces[period::period]
        count = _same(ends, last + gap + first)
        if count < len(ends) and ends[count].startswith(last):
            count += 1
        for number, literal in enumerate(inner, start=1):
            count = min(count, _same(pieces[2 * number : period * count : period], literal))
        for slot, value in self.fixed.items():
            count = min(count, _same(pieces[2 * slot + 1 : period * count : period], value))
        return count


def _same(pieces: Sequence[str], wanted: str) -> int:
    """Return the number of pieces from the first on that equal ``wanted``."""
    if pieces.count(wanted) == len(pieces):
        return len(pieces)
    return next(number for number, each in enumerate(pieces) if each != wanted)


def _are_valid(name: str, values: Sequence[str], sample: str) -> bool:
    """Return whether the values of an attribute are valid METS, as the sample is."""
    if values.count(sample) == len(values):
        return True
    if (longest := _LONGEST_NUMBERS.get(name)) is not None:
        lengths = set(map(len, values))
        return min(lengths) > 0 and max(lengths) <= longest and not _has_others("".join(values), _DIGITS)
    if name not in _NAMES or not sample[:1].isalpha():
        return False
    # If all names begin with the letter of the sample, as nearly always, each begins with a letter.
    lines = "\n" + "\n".join(values)
    return lines.count("\n" + sample[0]) == len(values) and not _has_others(lines, _NAMES[name])


def _has_others(text: str, characters: bytes) -> bool:
    """Return whether a text has any other character than these."""
    return not text.isascii() or bool(text.encode().translate(None, characters))


def _are_safe(values: Sequence[str]) -> bool:
    """Return whether a parser accepts all values, and returns them as they are written."""
    text = "".join(values)
    if text.isascii():
        return not text.encode().translate(None, _SAFE)
    return text.isprintable() and not _MARKUP.search(text)


def pieces_of(element: str) -> tuple[list[str], list[str]] | None:
    """Return an element's literals and values, or None if quotes may not delimit all values."""
    pieces = element.split('"')
    literals, values = pieces[::2], pieces[1::2]
    text = "".join(literals)
    if not values or len(literals) != len(values) + 1 or not _are_safe(values):
        return None
    if "'" in text or "<!" in text or "<?" in text or not _ELEMENTS.issuperset(_TAG.findall(text)):
        return None
    return literals, values


def shape_of(
    literals: Sequence[str], values: Sequence[str], kind: type, read_fact: Callable[[str], Repeated | None]
) -> Shape | None:
    """Return the shape of an element, or None if it has attributes that its fact lacks.

    In a ``div`` with an ``mptr`` all values but the location belong to the shape. ``read_fact`` parses an
    element and returns its one fact: with marks as values, it shows which field has which value.
    """
    fixed: dict[int, str] = {}
    names: list[str] = []
    locations = 0
    for slot, value in enumerate(values):
        found = _SLOT.search(literals[slot])
        if found is None:
            return None
        prefix, name = found.groups()
        names.append(name)
        is_declaration = prefix == _DECLARED or (prefix is None and name == _DECLARED)
        is_url = prefix is None and name == _LOCTYPE and value == _URL
        is_of_division = kind is Mptr and prefix is None and name in _OF_DIVISIONS
        if is_declaration or is_url or is_of_division or (prefix is not None and name == _KIND):
            fixed[slot] = value
        elif name not in (_ATTRIBUTES if prefix is None else _PREFIXED) or (
            kind is Mptr and name != _LOCATION
        ):
            return None
        locations += name == _LOCATION
    if locations > 1:  # the reader chooses one by their values
        return None
    marks = {f"value {slot}": slot for slot in range(len(values)) if slot not in fixed}
    marked = [fixed.get(slot, f"value {slot}") for slot in range(len(values))]
    woven = "".join(f'{literal}"{value}"' for literal, value in zip(literals, marked, strict=False))
    fact = read_fact(woven + literals[-1])
    if fact is None:
        return None
    stand = {each.name: marks.get(getattr(fact, each.name)) for each in fields(fact) if each.name != "groups"}
    stood = {name: slot for name, slot in stand.items() if slot is not None}
    if isinstance(fact, Mptr) and (_LOCATION not in stood or not _is_of_one_kind(fact)):
        return None
    return Shape(tuple(literals), fixed, stood, names)


def _is_of_one_kind(fact: Mptr) -> bool:
    """Return whether an ``mptr`` names a package in a usual way, without a finding."""
    if fact.loctype == _URL:
        return fact.otherloctype is None
    return fact.loctype == "OTHER" and bool((fact.otherloctype or "").strip())


Sink = Callable[[bytes], object]
"""Called with a document's bytes, block by block."""


def check_links(blocks: Callable[[], Iterable[bytes]], budgets: Budgets) -> None:
    """Raise the error of ``read`` for a document with too many ``mptr``, faster than ``read``.

    ``blocks`` returns the document's bytes from the start.
    """
    name, before, count = MPTR.rpartition(" ")[2], b"", 0
    for block in blocks():
        count += (before + block).count(name.encode())
        before = block[1 - len(name) :]
    if count <= budgets.links:  # each element has its name at least once, in encodings that extend ASCII
        return
    parser = safexml.expat_parser(namespaces=True)
    links = safexml.Allowance(name, budgets.links, "links", parser)

    def start(element: str, _attributes: dict[str, str]) -> None:
        if element == MPTR:
            links.take()

    parser.StartElementHandler = start
    try:
        for block in blocks():
            safexml.feed_block(parser, block, final=False)
    except safexml.BudgetError:
        raise
    except safexml.XmlError:
        return  # ``read`` raises it
    finally:
        parser.StartElementHandler = parser.StartDoctypeDeclHandler = None


_ENDING = rb"</(?:[^\s<>/:]+:)?(?:%b)[ \t\r\n]*>|<(?:[^\s<>/:]+:)?(?:file|fptr)[ \t\r\n][^<>]*/>"
_END, _END_OR_DIVISION = re.compile(_ENDING % b"file|fptr"), re.compile(_ENDING % b"file|fptr|div")
_ENCODINGS = {None, "utf-8", "us-ascii"}
_FIRST_PAUSE = 1 << 8
_LAST_PAUSE = 1 << 16
_WORTH_IT = 8
_HELD = 1 << 16
_SHAPES_KEPT = 64


def condensed(
    blocks: Iterable[bytes],
    budgets: Budgets | None = None,
    *,
    sink: Sink | None = None,
    stands: Callable[[Run], bool] | None = None,
    validated: Sink | None = None,
    watch: Watch | None = None,
    has_links: bool = False,
) -> Iterator[Fact | Run]:
    """Yield the facts of ``reader.read``, many of one kind as a run; raises as ``reader.read``.

    Facts, lines and order are the same. ``mptr`` come in runs only with ``has_links``. ``sink`` is called
    with all bytes, before their facts; white space is in place of each run, or of each that the element
    before it ``stands`` for. ``validated`` is called with the bytes outside valid runs, to be validated as
    METS, ``watch`` with the METS elements outside runs. Elements in a run refer to IDs only by ``FILEID``,
    their ``LOCTYPE`` is URL or absent (of ``mptr`` also OTHER with an ``OTHERLOCTYPE``), and their
    ``xlink:type`` is constant.
    """
    sinks = sink, stands, validated, watch
    with closing(Condensing(budgets or Budgets(), *sinks, has_links=has_links)) as condensing:
        for block in blocks:
            yield from condensing.take_runs(block, final=False)
        yield from condensing.take_runs(b"", final=True)


class Condensing(Reader):
    """A reader of one document that skips elements of the same shape as the one before.

    It skips an element only if the parser reported the end of the one before at the byte where it begins:
    then it is a sibling, with the same namespaces, outside comments and text.
    """

    def __init__(
        self,
        budgets: Budgets,
        sink: Sink | None,
        stands: Callable[[Run], bool] | None,
        validated: Sink | None,
        watch: Watch | None,
        *,
        has_links: bool,
    ) -> None:
        super().__init__(budgets, watch)
        self._sink, self._stands, self._validated = sink, stands, validated
        self._open: list[bytes] = []  # the bytes of a block to be validated
        self._encoding: str | None = None
        self._held = b""
        self._pause = _FIRST_PAUSE
        self._skipped = 0
        self._began: tuple[int, int, int, type] | None = None  # depth, offset, facts before, kind
        self._ended: tuple[int, int, Fact] | None = None  # offset, that of the end tag, and its fact
        self._learned: dict[type, tuple[list[str], Mapping[str, str], Shape | None]] = {}
        self._shape: tuple[Shape, Repeated] | None = None  # of the element that ends at the current byte
        self._parser.XmlDeclHandler = self._declaration
        self._ending = _END_OR_DIVISION if has_links else _END
        kinds: dict[str, type] = {FILE: File, FPTR: Fptr, **({DIV: Mptr} if has_links else {})}
        for name, kind in kinds.items():
            self._starts[name] = partial(self._begin, self._starts[name], kind)

    def take_runs(self, block: bytes, *, final: bool) -> Iterator[Fact | Run]:
        """Yield the facts and runs of the next bytes, the last with ``final``; raises as ``read``."""
        data, at = self._held + block, 0
        self._held = b""
        self._open = []
        while at < len(data):
            if (cut := self._cut(data, at)) is not None:
                written = data[at : at + cut.size]
                if self._sink is not None:
                    is_blank = self._stands is None or self._stands(cut.run)
                    self._sink(cut.blank if is_blank else written)
                yield cut.run
                yield from self._parse_piece(cut.blank)
                self._open.append(b"" if cut.is_valid else written)
                at += cut.size
            elif not final and self._is_open(data, at):
                self._held = data[at:]
                break
            else:
                end = self._ending.search(data, min(at + self._skipped, len(data)))
                stop = len(data) if end is None else end.end()
                self._skipped = max(0, self._skipped - (stop - at))
                before, written = self._fed, data[at:stop]
                if self._sink is not None:
                    self._sink(written)
                yield from self._parse_piece(written)
                self._open.append(written)
                self._shape = None if end is None else self._shape_of(written, end[0], before)
                at = stop
        if final:
            yield from self._parse(b"", final=True)
        self._check_bounds(len(block))
        if self._validated is not None:
            self._validated(b"".join(self._open))

    def _parse_piece(self, piece: bytes) -> Iterator[Fact]:
        """Parse some bytes, and yield their facts."""
        self._began = self._ended = None
        return self._parse(piece, final=False)

    def _cut(self, data: bytes, at: int) -> Cut | None:
        if self._shape is None:
            return None
        shape, fact = self._shape
        cut = shape.cut(data, at, fact)
        if cut is not None and isinstance(fact, Mptr):
            if not self._mptrs.takes(cut.run.count):
                return None  # so that the parser meets the one over the budget
            self._divs_seen += cut.run.count
            fact = replace(fact, div=cut.run.columns["div"][-1])
        if cut is not None:
            self._shape = shape, replace(fact, line=cut.run.lines[-1])
            if cut.run.count >= _WORTH_IT:
                self._pause = _FIRST_PAUSE
        return cut

    def _is_open(self, data: bytes, at: int) -> bool:
        """Return whether to wait for more bytes, as an element of the shape may be incomplete."""
        if self._shape is None:
            return False
        if len(data) - at <= min(_HELD, self._budgets.attribute) and self._shape[0].is_open(data, at):
            return True
        self._shape = None
        # Where runs are rare, the search costs more than it saves: it pauses, for longer each time.
        self._skipped = self._pause
        self._pause = min(self._pause * 2, _LAST_PAUSE)
        return False

    # --- events of the parser ---------------------------------------------------------------------------

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self._encoding = encoding and encoding.lower()

    def _begin(
        self, handle: Callable[[dict[str, str]], None], kind: type, attributes: dict[str, str]
    ) -> None:
        self._began = self._depth, self._parser.CurrentByteIndex, len(self._found), kind
        handle(attributes)

    def _end(self, name: str) -> None:
        super()._end(name)
        if self._began is not None and self._began[0] == self._depth + 1:
            _, start, facts, kind = self._began
            if len(self._found) == facts + 1 and isinstance(self._found[-1], kind):
                self._ended = start, self._parser.CurrentByteIndex, self._found[-1]

    # --- shapes -------------------------------------------------------------------------------------

    def _shape_of(self, piece: bytes, tag: bytes, before: int) -> tuple[Shape, Repeated] | None:
        """Return the shape of the element at the end of a piece, with the last tag ``tag``, or None.

        ``before`` is the number of bytes that the parser got before the piece.
        """
        if self._ended is None or self._encoding not in _ENCODINGS:
            return None
        start, end, fact = self._ended
        if not isinstance(fact, Repeated):
            return None
        # An empty fptr may precede the end of a division, which is another element's.
        if tag.startswith(b"</") and (b"div" in tag.rpartition(b":")[2]) is not isinstance(fact, Mptr):
            return None
        start, end = start - before, end - before
        if start < 0 or not len(piece) - len(tag) <= end <= len(piece):
            return None
        try:
            pieces = pieces_of(piece[start:].decode())
        except UnicodeDecodeError:
            return None
        shape = None if pieces is None else self._learned_shape(*pieces, type(fact))
        return None if shape is None else (shape, fact)

    def _learned_shape(self, literals: list[str], values: list[str], kind: type) -> Shape | None:
        namespaces = self._scopes[-1][1]
        last, scope, shape = self._learned.get(kind, ([], {}, None))
        if last != literals or scope is not namespaces:
            shape = shape_of(literals, values, kind, partial(_fact, tuple(namespaces.items())))
            self._learned[kind] = literals, namespaces, shape
        elif shape is not None and not shape.is_fixed_in(values):
            return None
        if shape is not None:
            shape.sample = values
        return shape


@lru_cache(_SHAPES_KEPT)  # the METS of all children have the same shapes
def _fact(pairs: tuple[tuple[str, str], ...], element: str) -> Repeated | None:
    namespaces, root = dict(pairs), "m"
    while root in namespaces:
        root += "m"
    declared = {f"xmlns:{prefix}" if prefix else "xmlns": name for prefix, name in namespaces.items() if name}
    attributes = "".join(f" {name}={safexml.quoted(value)}" for name, value in declared.items())
    document = f"<{root}:mets xmlns:{root}={safexml.quoted(METS)}{attributes}>{element}</{root}:mets>"
    _root, *facts = read([document.encode()])
    (fact,) = facts
    return fact if isinstance(fact, Repeated) else None
