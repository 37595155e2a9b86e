"""The programs that read SIARD archives, and whether they find the LOBs that lie outside one; pure.

What is said of a program was tried with the version named, on packages of every style and layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metspack.layouts.folders import FolderStyle
from metspack.layouts.interface import safe_extension
from metspack.model import LobRef
from metspack.sizes import counted

_OUTSIDE = ("2.0", "2.1", "2.2")
_READ_BY_DBPTK = frozenset({"bin", "txt"})


@dataclass(slots=True, kw_only=True)
class LobTraits:
    """What some readers stumble over in LOBs: numbers of those in fields, in parts, and of odd extensions."""

    lobs: int = 0
    nested: int = 0
    split: int = 0
    odd: int = 0

    def take(self, lob: LobRef) -> LobRef:
        """Count a LOB that moves; returns it."""
        self.lobs += 1
        if "." in lob.place.cell:
            self.nested += 1
        if safe_extension(lob.extension) not in _READ_BY_DBPTK:
            self.odd += 1
        return lob


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """The way in which a package is written: version of SIARD, name of the layout, style."""

    version: str
    layout: str
    style: FolderStyle


@dataclass(frozen=True, slots=True, kw_only=True)
class SiardReader:
    """A program that reads archives: its name and version, what it reads, and by which rule.

    ``finds`` tells whether it follows the locations of a package; ``misses`` names the LOBs among
    them that it does not find, ``style`` is the style that it follows.
    """

    name: str
    version: str
    reads: str
    source: str
    style: FolderStyle | None
    finds: Callable[[Writing], bool]
    misses: Callable[[Writing, LobTraits], Iterator[str]]

    @property
    def label(self) -> str:
        """The name, with the version where it matters."""
        return f"{self.name} {self.version}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderVerdict:
    """Whether a reader finds the LOBs of a package: all, all but some, or none, and what would help."""

    reader: str
    version: str
    finds: bool
    misses: tuple[str, ...] = ()
    remedy: str = ""

    @property
    def label(self) -> str:
        """The reader's name and version."""
        return f"{self.reader} {self.version}".strip()


def _none(_writing: Writing, _traits: LobTraits) -> Iterator[str]:
    return iter(())


def _dbptk(writing: Writing) -> bool:
    if writing.style is FolderStyle.DBPTK:
        return writing.version in _OUTSIDE
    return writing.style is FolderStyle.SFA and writing.version == "2.2"


def _missed_by_dbptk(writing: Writing, traits: LobTraits) -> Iterator[str]:
    if traits.nested:
        yield f"{counted(traits.nested, 'LOB')} in fields"
    if traits.odd:
        yield f"{counted(traits.odd, 'LOB')} not named .bin or .txt"
    if traits.split and writing.layout != "siard22":
        yield f"{counted(traits.split, 'LOB')} in parts"


def _suite(writing: Writing) -> bool:
    if writing.style is FolderStyle.SFA:
        return writing.version in _OUTSIDE
    return writing.style is FolderStyle.DBPTK and writing.version == "2.2"


def _missed_by_suite(writing: Writing, traits: LobTraits) -> Iterator[str]:
    if traits.nested and writing.style is not FolderStyle.SFA:
        yield f"{counted(traits.nested, 'LOB')} in fields"
    if traits.split:
        yield f"{counted(traits.split, 'LOB')} in parts"


READERS: Sequence[SiardReader] = (
    SiardReader(
        name="metspack",
        version="",
        reads="LOBs in every style, whole and in parts, also of SIARD 1.0",
        source="statement of the DILCIS Board on the location of LOBs; conventions of docs/locations.md",
        style=None,
        finds=lambda _writing: True,
        misses=_none,
    ),
    SiardReader(
        name="SIARD Suite",
        version="",
        reads="a lobFolder that begins with ../, of the column, or of the field that has the LOB; no parts",
        source="SiardApi, MetaColumnImpl and MetaFieldImpl; SFA, LOB folder handling, 2018",
        style=FolderStyle.SFA,
        finds=_suite,
        misses=_missed_by_suite,
    ),
    SiardReader(
        name="DBPTK",
        version="4.5",
        reads="in SIARD 2.0 and 2.1 cells that begin with ../, in 2.2 lobFolders of database and column that "
        "begin with ../; files named .bin and .txt; parts in the layout siard22; no LOBs in fields",
        source="SIARD20ContentImportStrategy and SIARD22ContentImportStrategy",
        style=FolderStyle.DBPTK,
        finds=_dbptk,
        misses=_missed_by_dbptk,
    ),
)
"""The readers that are known, ours first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readership:
    """Whether each reader finds the LOBs of a package; ``is_merged`` says that they must be merged first."""

    verdicts: tuple[ReaderVerdict, ...]
    is_merged: bool = False

    @classmethod
    def restored(cls, told: Mapping[str, Any]) -> Readership:
        """Return what ``dataclasses.asdict`` made of one."""
        verdicts = (ReaderVerdict(**{**each, "misses": tuple(each["misses"])}) for each in told["verdicts"])
        return cls(verdicts=tuple(verdicts), is_merged=told["is_merged"])

    def sentence(self) -> str:
        """Return all in one line: ``LOBs found by metspack; not by DBPTK 4.5 (--lob-folder-style dbptk)``."""
        yes = [
            each.label + (f" (but for {' and '.join(each.misses)})" if each.misses else "")
            for each in self.verdicts
            if each.finds
        ]
        no = [f"{each.label} ({each.remedy})" for each in self.verdicts if not each.finds]
        begun = "After metspack merge, LOBs found by" if self.is_merged else "LOBs found by"
        return f"{begun} {', '.join(yes)}" + (f"; not by {', '.join(no)}" if no else "")

    def document(self) -> list[dict[str, object]]:
        """Return all as JSON has it."""
        return [
            {
                "reader": each.reader,
                "version": each.version or None,
                "finds": each.finds,
                "misses": list(each.misses),
                "remedy": each.remedy or None,
            }
            for each in self.verdicts
        ]


def readership(writing: Writing, traits: LobTraits, *, is_merged: bool = False) -> Readership:
    """Return for each reader whether it finds the LOBs of a package that is written so."""
    found = []
    for reader in READERS:
        finds = reader.finds(writing)
        remedy = ""
        if not finds:
            upgrade = "" if writing.version in _OUTSIDE else "--siard-version 2.2 "
            remedy = f"{upgrade}--lob-folder-style {reader.style.value}" if reader.style else ""
        misses = tuple(reader.misses(writing, traits)) if finds else ()
        found.append(
            ReaderVerdict(
                reader=reader.name, version=reader.version, finds=finds, misses=misses, remedy=remedy
            )
        )
    return Readership(verdicts=tuple(found), is_merged=is_merged)


def unopened(archives: Sequence[str]) -> str:
    """Return in one clause which archives of SIARD 1.0 its readers will not open, "" when there are none."""
    if not archives:
        return ""
    if len(archives) == 1:
        which = f"{archives[0]}, whose LOBs are outside"
    else:
        which = f"{len(archives):,} archives whose LOBs are outside, the first {archives[0]}"
    return f"no reader of SIARD 1.0 will open {which} (build and convert take --siard-version 2.2)"
