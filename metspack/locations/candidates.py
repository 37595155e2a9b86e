"""Candidate places of a LOB: by the statement on their location, then by convention; pure.

``statement`` has the DILCIS Board's rule. Programs wrote other locations before that, and still do; every
place that one of them would mean is a candidate, in one fixed order and with its convention. ``search``
looks for a file at each.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace

from metspack import sizes
from metspack.errors import SourceError
from metspack.layouts.names import DIGITS, stem_of
from metspack.locations import Convention
from metspack.locations.conventions import DESPITE_ERRORS, WAYS
from metspack.locations.conventions import Candidate as Candidate  # noqa: PLC0414 -- exported
from metspack.locations.statement import Levels, LocationError, Place, cell_reference, is_content, local_texts
from metspack.siard.metadata import Field
from metspack.uris import Kind, ReferenceRefused

# A last name with a dot is never the name of a folder that a convention looks for (content, seg_0).
_PLAIN = re.compile(
    r"((?:[A-Za-z0-9_][A-Za-z0-9_-]*/)*)([A-Za-z0-9_][A-Za-z0-9_-]*\.[A-Za-z0-9_][A-Za-z0-9_.-]*)"
)
_REMEMBERED = 64
_BYTES_ONLY = re.compile(r"\s*(?:BLOB|BINARY|VARBINARY|DATALINK)\b", re.IGNORECASE)
PLAIN_NAME = "x"
"""A cell's ``file`` that stands for any plain name in its column."""


def candidates(levels: Levels, refusals: list[SourceError] | None = None) -> Iterator[Candidate]:
    """Yield every place where the LOB may be, in the fixed order, each place once.

    The order: the statement's place; the zip's root and ``..`` from there (A, H, D, E, G); I; B; K; the
    .siard's folder; granted folders; renamed ones. A relative place whose path has backslashes has convention
    J. For levels that are an error by the statement, only B and K apply. The errors of references that give
    no place are appended to ``refusals``, each once.
    """
    noted: list[SourceError] = [] if refusals is None else refusals
    try:
        file = cell_reference(levels.file)
    except ReferenceRefused as refused:
        noted.append(refused)
        return
    is_error = False
    seen: set[tuple[bool, Place]] = set()
    yielded: list[Candidate] = []
    for way, make in enumerate(WAYS):
        if is_error and (file.is_folder or way not in DESPITE_ERRORS):
            continue
        try:
            found = make(levels, file)
        except SourceError as refused:
            is_error = is_error or isinstance(refused, LocationError)
            if refused.message not in {each.message for each in noted}:
                noted.append(refused)
            continue
        if found is None or (key := (found.convention is Convention.LOB_ROOT, found.place)) in seen:
            continue
        seen.add(key)
        yielded.append(replace(found, way=way))
        yield yielded[-1]
    for each in () if is_error else yielded:
        if (again := _renamed(each)) is not None:
            yield again


class Candidates:
    """The candidate places of one column's or field's LOBs, and the test of a file's size.

    Builder and checker share it; each searches for files in another way. ``is_text``: a cell's ``length`` may
    count characters. The places of plain names are computed once for each folder.
    """

    __slots__ = ("_made", "is_content", "is_inside", "is_text", "levels")

    def __init__(self, levels: Levels, *, is_text: bool = True) -> None:
        """Keep a column's levels; their ``file`` is ignored."""
        self.levels = levels
        self.is_text = is_text
        self.is_inside = not local_texts(levels)
        """True if the statement puts the LOBs inside: neither column nor fields have a lobFolder."""
        self.is_content = is_content(levels)
        self._made: dict[str, list[Candidate]] = {}

    @classmethod
    def of_field(cls, chain: Sequence[Field], database: str | None, table: str) -> Candidates:
        """Return the candidates of the innermost field of ``chain``, a column and fields in it.

        ``chain`` is ``Table.chain`` of a cell's path, empty for a cell without a column in metadata.xml.
        ``database`` is the lobFolder of the database, ``table`` the table's folder in the archive.
        """
        folders = [each.lob_folder for each in chain] or [None]
        levels = Levels(
            database=database,
            column=folders[0],
            fields=tuple(folders[1:]),
            folder=next((each.folder for each in reversed(chain) if each.folder), None),
            table=table,
            file=PLAIN_NAME,
        )
        return cls(levels, is_text=not chain or _BYTES_ONLY.match(chain[-1].type) is None)

    def fits(self, size: int, length: int | None) -> bool:
        """Return whether a file of ``size`` bytes may be a LOB of ``length`` bytes or characters."""
        return length is None or size == length or (self.is_text and sizes.is_possible(length, size))

    def named_in_full(self, file: str) -> Convention:
        """Return the convention by which a plain ``file`` is an entry's full name: C, or F."""
        return Convention.F if self.is_content and file.startswith("content/") else Convention.C

    def all_named_in_full(self, files: Sequence[str]) -> dict[Convention, int]:
        """Return the number of plain names that are entries' full names, by convention."""
        full = "\n".join(("", *files)).count("\ncontent/") if self.is_content else 0
        counts = {Convention.F: full, Convention.C: len(files) - full}
        return {convention: count for convention, count in counts.items() if count}

    def of(self, file: str, refusals: list[SourceError]) -> Iterator[Candidate]:
        """Yield the candidates of the cell with this ``file``, as ``candidates`` does."""
        plain = _PLAIN.fullmatch(file)
        if plain is None:
            return candidates(replace(self.levels, file=file), refusals)
        made = self._made.get(plain[1])
        return self._first(file, plain, refusals) if made is None else _named_anew(made, plain[2])

    def _first(
        self, file: str, plain: re.Match[str], refusals: list[SourceError]
    ) -> Generator[Candidate, None, None]:
        made: list[Candidate] = []
        for each in candidates(replace(self.levels, file=file), refusals):
            made.append(each)
            yield each
        # A refusal may quote the cell's file.
        if not refusals and all(each.place.segments[-1] == plain[2] for each in made):
            if len(self._made) >= _REMEMBERED:
                self._made.clear()
            self._made[plain[1]] = made


def _named_anew(made: Iterable[Candidate], name: str) -> Iterator[Candidate]:
    for each in made:
        yield replace(each, place=replace(each.place, segments=(*each.place.segments[:-1], name)))


def candidate(levels: Levels, way: int) -> Candidate | None:
    """Return the place that the rule ``way``, of another cell's candidate, gives, or None."""
    base = way % len(WAYS)
    try:
        file = cell_reference(levels.file)
        if file.is_folder or (file.kind is not Kind.RELATIVE and base not in DESPITE_ERRORS):
            return None
        found = WAYS[base](levels, file)
    except SourceError:
        return None
    if found is None:
        return None
    found = replace(found, way=base)
    return found if way == base else _renamed(found)


def _renamed(found: Candidate) -> Candidate | None:
    if found.place.inside or found.place.absolute or found.convention is Convention.LOB_ROOT:
        return None
    for number, segment in enumerate(found.place.segments[:-1]):
        if is_lob_folder(segment):
            return replace(found, convention=Convention.RENAMED, way=found.way + len(WAYS), renamed=number)
    return None


def renamed(segment: str, siblings: Iterable[str], siard: str) -> list[str]:
    """Return the siblings that may be a renamed LOB folder, those of this archive first.

    ``old.siard_lobs`` may be ``new.siard_lobs``, ``old_lobseg_3`` any other ``_lobseg_3``.
    """
    found = _LOB_FOLDER.fullmatch(segment)
    if found is None:
        return []
    others = [
        (not name.startswith(stem_of(siard)), name)
        for name in siblings
        if name != segment and (other := _LOB_FOLDER.fullmatch(name)) is not None and other[2] == found[2]
    ]
    return [name for _strange, name in sorted(others)]


def lob_folders(names: Iterable[str], archives: Iterable[str], siard: str) -> list[str]:
    """Return those of some names that are LOB folders, without those of other archives.

    ``archives`` are the names of .siard files that may have LOB folders there, among them ``siard``, the name
    of this archive.
    """
    others = {stem for name in archives if name != siard for stem in (name, stem_of(name))}
    starts = tuple(f"{stem}_{word}" for stem in others for word in ("lob", "documents"))
    return [name for name in names if is_lob_folder(name) and not name.startswith(starts)]


def is_lob_folder(name: str) -> bool:
    """Return whether a name is one that programs give to an archive's LOB folder."""
    return _LOB_FOLDER.fullmatch(name) is not None


_LOB_FOLDER = re.compile(rf"(.+?)(_(?:lobs(?!eg)|documents).*|_lobseg_{DIGITS})", re.DOTALL)
