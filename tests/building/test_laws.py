"""The law of builder and checker: what ``build`` publishes, a full check accepts without a word of its own.

The sources are made by hypothesis; METSPACK_EXAMPLES asks for more of them than an ordinary run tries.
"""

from __future__ import annotations

import codecs
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from metspack.building import build
from metspack.building.build import BuildOptions, Built
from metspack.checking import Code, Level, check
from metspack.errors import SourceError
from metspack.layouts import LAYOUTS
from metspack.limits import Limits
from metspack.model import Finding, Severity
from metspack.planning.division import Split
from tests.siard.forging import Table, column, field, siard

DIALECTS = ("recommendation", "csip")
EXAMPLES = int(os.environ.get("METSPACK_EXAMPLES", "20"))
ANNOUNCED = {
    Code.CELLS_WITHOUT_DIGEST.id: "without a digest in the cell",
    Code.PSEUDO_ABSOLUTE.id: "",  # what was asked for with the style of references
}
"""Warnings of a check that a build gives in words of its own."""
ENCODINGS = {
    "utf-8": b"",
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}
CELLS = ("c1", "c2.u1", "c2.u2", "c3.a1", "c3.a2")
COLUMNS = (
    column("text", "CLOB"),
    column("record", fields=field("first") + field("second")),
    column("array", fields=field("array[1]") + field("array[2]")),
)


@dataclass(frozen=True, kw_only=True)
class Clob:
    """A text as a cell has it: its bytes, and the length and the digest that the cell says."""

    data: bytes
    length: int | None
    algorithm: str | None = "MD5"

    def cell(self, tag: str, file: str) -> str:
        attributes = "" if self.length is None else f' length="{self.length}"'
        if self.algorithm is not None:
            digest = hashlib.new(self.algorithm.replace("-", ""), self.data).hexdigest()
            attributes += f' digestType="{self.algorithm}" digest="{digest}"'
        return f'<{tag} file="{file}"{attributes}/>'


def clob(text: str, codec: str, unit: str, *, marked: bool, mark_counts: bool) -> Clob:
    """Return a text with the length that a program that counts in ``unit`` gives it."""
    data = text.encode(codec)
    mark = (codecs.BOM_UTF8 if codec == "utf-8" else ENCODINGS[codec]) if marked else b""
    units = {
        "bytes": len(data) + (len(mark) if mark_counts else 0),
        "characters": len(text) + bool(mark and mark_counts),
        "UTF-16 units": len(text.encode("utf-16-le")) // 2 + bool(mark and mark_counts),
    }
    return Clob(data=mark + data, length=units[unit])


TEXTS = st.text(st.sampled_from("ab\n§é€\U0001f600\U00010000") | st.characters(codec="utf-8"), max_size=12)
CLOBS = st.builds(
    clob,
    TEXTS,
    st.sampled_from(list(ENCODINGS)),
    st.sampled_from(["bytes", "characters", "UTF-16 units"]),
    marked=st.sampled_from([True, True, False]),
    mark_counts=st.booleans(),
) | st.binary(max_size=8).flatmap(
    lambda data: st.builds(
        Clob,
        data=st.just(data),
        length=st.sampled_from([None, len(data), len(data), len(data) // 2]),
        algorithm=st.sampled_from([None, "MD5", "SHA-1", "SHA-256"]),
    )
)
ROWS = st.lists(st.dictionaries(st.sampled_from(CELLS), CLOBS, min_size=1), min_size=1, max_size=2)


def source(folder: Path, rows: Sequence[dict[str, Clob]]) -> Path:
    """Write an archive of one table: a column, a record of two fields, an array of two elements."""
    entries: dict[str, bytes] = {}
    written = []
    for number, row in enumerate(rows):
        cells: dict[str, str] = {}
        for path in sorted(row):
            outer, _, inner = path.partition(".")
            name = f"content/schema0/table0/lob{outer[1:]}/{inner}record{number}.txt"
            entries[name] = row[path].data
            cells[outer] = cells.get(outer, "") + row[path].cell(inner or outer, name)
        written.append(
            "".join(cell if tag == "c1" else f"<{tag}>{cell}</{tag}>" for tag, cell in cells.items())
        )
    return siard(folder / "Law.siard", tables=[Table(columns=COLUMNS, rows=tuple(written))], lobs=entries)


def options(layout: str, dialect: str, limits: Limits, split: Split = Split.FILL) -> BuildOptions:
    return BuildOptions(
        created="2016-02-23T00:00:00Z",
        layout=layout,
        dialect=dialect,
        limits=limits,
        split=split,
    )


OPTIONS = st.builds(
    options,
    st.sampled_from(list(LAYOUTS)),
    st.sampled_from(DIALECTS),
    # Many LOBs are split.
    st.builds(Limits, files=st.none() | st.integers(2, 4), bytes=st.none() | st.integers(8, 40)),
    st.sampled_from([each for each in Split if each is not Split.NEVER]),
)


def unannounced(result: Built) -> list[Finding]:
    """Return the errors, and the warnings that the build did not give itself, of a full check."""
    words = "\n".join(result.warnings)
    return [
        each
        for each in check(result.target, Level.FULL)
        if each.severity is Severity.ERROR
        or (each.severity is Severity.WARNING and ANNOUNCED.get(each.code, f"{each.code} ") not in words)
    ]


@given(rows=ROWS, wanted=OPTIONS)
@settings(max_examples=EXAMPLES)
@example(
    rows=[{"c2.u1": clob("é" * 9, "utf-16-be", "UTF-16 units", marked=True, mark_counts=True)}],
    wanted=options("siard22", "csip", Limits(bytes=8)),
)
@example(
    rows=[{"c1": clob("\U0001f600", "utf-16-le", "characters", marked=True, mark_counts=False)}],
    wanted=options("lobseg", "recommendation", Limits()),
)
def test_what_is_published_is_accepted(rows: list[dict[str, Clob]], wanted: BuildOptions) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        try:
            result = build.build(source(folder, rows), folder / "package", wanted)
        except SourceError:
            event("refused")
            return
        event("published")
        assert not unannounced(result)


@pytest.mark.parametrize(("dialect", "layout"), [*zip(DIALECTS, LAYOUTS, strict=True)])
def test_text_of_any_encoding_and_length_unit_is_accepted(tmp_path: Path, layout: str, dialect: str) -> None:
    clobs = [
        clob("aé€\U0001f600", codec, unit, marked=marked, mark_counts=mark_counts)
        for codec in ENCODINGS
        for unit in ("bytes", "characters", "UTF-16 units")
        for marked in ([False, True] if codec == "utf-8" else [True])
        for mark_counts in ([True] if codec == "utf-8" or unit == "bytes" else [False, True])
    ]
    rows = [dict(zip(CELLS, clobs[start:], strict=False)) for start in range(0, len(clobs), len(CELLS))]
    wanted = options(layout, dialect, Limits())
    result = build.build(source(tmp_path, rows), tmp_path / "package", wanted)
    assert not unannounced(result)
