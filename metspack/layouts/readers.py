"""Programs that read SIARD archives, and the LOBs outside an archive that they find; pure.

Each statement on a program was tested with the version named, on packages of every style and layout.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from metspack.errors import ConfigError
from metspack.layouts.interface import safe_extension
from metspack.layouts.names import ArchiveRoutes, FolderStyle, LobRoute
from metspack.model import LobRun, Notice
from metspack.sizes import counted

_OUTSIDE = ("2.0", "2.1", "2.2")
_TEXT = "txt"
_READ_BY_DBPTK = frozenset({"bin", _TEXT})
_SIARD22 = "siard22"


@dataclass(slots=True, kw_only=True)
class LobTraits:
    """Counts of LOBs: all, in fields, in parts, and with extensions other than .bin and .txt.

    ``nested_unusual`` counts those in fields with such extensions. ``largest_text`` is the size in bytes of
    the largest CLOB. ``has_types``: the archive has columns of user-defined types.
    """

    lobs: int = 0
    nested: int = 0
    split: int = 0
    unusual: int = 0
    nested_unusual: int = 0
    largest_text: int = 0
    has_types: bool = False

    def take(self, run: LobRun) -> LobRun:
        """Count LOBs that are placed outside the archive, and return them."""
        self.lobs += len(run)
        extension = safe_extension(run.shared.extension)
        is_nested, is_unusual = "." in run.shared.cell, extension not in _READ_BY_DBPTK
        self.nested += len(run) * is_nested
        self.unusual += len(run) * is_unusual
        self.nested_unusual += len(run) * (is_nested and is_unusual)
        if extension == _TEXT:
            self.largest_text = max(self.largest_text, *run.sizes)
        return run


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """The form in which a package is written: version of SIARD, name of the layout, style."""

    version: str
    layout: str
    style: FolderStyle

    def route(self, *, nested: bool = False, unusual: bool = False, split: bool = False) -> LobRoute:
        """Return the route to a LOB with these traits."""
        is_up = self.style is not FolderStyle.DILCIS
        by_cell = self.style is FolderStyle.DBPTK and self.version != "2.2"
        by_column = is_up and not by_cell
        return LobRoute(
            joined=is_up,
            cell=by_cell,
            innermost=by_column and (self.style is FolderStyle.SFA or not nested),
            nested=nested,
            unusual=unusual,
            split=split,
            numbered=split and self.layout == _SIARD22,
        )


def _all(_version: str, _route: LobRoute) -> bool:
    return True


def _none(_version: str, _route: LobRoute) -> Iterator[str]:
    return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class SiardReader:
    """A program that reads archives or packages: its name, version, and rules for LOBs.

    ``follows`` returns whether it resolves a LOB's references in a version of SIARD; ``obstacles`` yields the
    traits of a LOB that it cannot read although it resolves the references. ``key`` is its name for
    ``--for``, or ""; ``style`` and ``layouts`` (by version of SIARD) are those that it reads best. ``terms``
    are the options that it requires of packages, the dialect among them, ``packed_terms`` further ones for
    packed IPs, and ``forms`` the forms that it unpacks. ``is_listed``: messages list it among the readers.
    ``reads_types``: it opens archives with columns of user-defined types. ``halts_at_parts`` are the versions
    of SIARD in which it loses every CLOB after one in parts. ``names_folders``: an IP's folder must have
    exactly the OBJID as its name.
    """

    name: str
    version: str = ""
    reads: str
    source: str
    follows: Callable[[str, LobRoute], bool] = _all
    obstacles: Callable[[str, LobRoute], Iterator[str]] = _none
    key: str = ""
    style: FolderStyle | None = None
    layouts: Mapping[str, str] = field(default_factory=dict)
    terms: Mapping[str, object] = field(default_factory=dict)
    packed_terms: Mapping[str, object] = field(default_factory=dict)
    forms: tuple[str, ...] | None = None
    is_listed: bool = True
    reads_types: bool = True
    halts_at_parts: tuple[str, ...] = ()
    names_folders: bool = False

    @property
    def label(self) -> str:
        """The name, with the version where it matters."""
        return f"{self.name} {self.version}".strip()

    def required(self, *, is_packed: bool) -> dict[str, object]:
        """Return the options that it requires, by name."""
        return {**self.terms, **(self.packed_terms if is_packed else {})}

    def check(self, given: Mapping[str, object], form: str | None) -> None:
        """Raise ``ConfigError`` for option values, or a form of packed IPs, that it cannot read."""
        if form is not None and self.forms is not None and form not in self.forms:
            instead = f"Write --pack {' or '.join(self.forms)}, or leave" if self.forms else "Leave"
            raise ConfigError(
                f"{self.label} does not read IPs packed as {form} (--for {self.key})",
                hint=f"{instead} --pack out.",
            )
        for name, value in self.required(is_packed=form is not None).items():
            if given.get(name, value) != value:
                flag = _flag(name, given[name])
                raise ConfigError(
                    f"--for {self.key} requires {_flag(name, value)}, which does not go with {flag}",
                    hint=f"Leave {flag} out, or leave --for {self.key} out.",
                )

    def misses(self, version: str, routes: Iterable[tuple[LobRoute, int]]) -> Iterator[str]:
        """Yield the number of LOBs that it misses for each reason, in words; routes have counts."""
        counts: Counter[str] = Counter()
        for route, count in routes:
            reasons = list(self.obstacles(version, route))
            if not reasons and not self.follows(version, route):
                reasons = ["located in another way"]
            if reasons:
                counts[" and ".join(reasons)] += count
        for reason, count in counts.items():
            yield f"{counted(count, 'LOB')} {reason}"


def _flag(name: str, value: object) -> str:
    word = f"--{'type' if name == 'package_type' else name.replace('_', '-')}"
    return word if value is True else f"{word} {value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderVerdict:
    """The LOBs of a package that a reader finds or misses, and a remedy.

    ``misses`` are numbers of LOBs with their reasons, in words; if the reader cannot open the archive, it is
    the reason of that.
    """

    reader: str
    version: str
    finds: bool
    misses: tuple[str, ...] = ()
    remedy: str = ""

    @property
    def label(self) -> str:
        """The reader's name and version."""
        return f"{self.reader} {self.version}".strip()

    @property
    def missed(self) -> str:
        """The LOBs that it misses, in words."""
        return " and ".join(self.misses)


def _stated(_version: str, route: LobRoute) -> bool:
    return not (route.joined or route.cell or route.innermost)


def _dbptk(version: str, route: LobRoute) -> bool:
    return route.joined if version == "2.2" else version in _OUTSIDE and route.cell


def _missed_by_dbptk(version: str, route: LobRoute) -> Iterator[str]:
    if route.nested:
        yield "in fields"
    if route.unusual:
        yield "not named .bin or .txt"
    if route.split and not (route.numbered and version == "2.2"):
        yield "in parts"


def _suite(version: str, route: LobRoute) -> bool:
    return version in _OUTSIDE and route.innermost


def _missed_by_suite(_version: str, route: LobRoute) -> Iterator[str]:
    if route.nested and not route.innermost:
        yield "in fields"
    if route.split:
        yield "in parts"


READERS: Sequence[SiardReader] = (
    SiardReader(
        name="metspack",
        reads="LOBs in every style, whole and in parts, also of SIARD 1.0",
        source="statement of the DILCIS Board on the location of LOBs; conventions of docs/locations.md",
    ),
    SiardReader(
        key="siard-suite",
        name="SIARD Suite",
        reads="a lobFolder that begins with ../, of the column, or of the field that has the LOB; no parts",
        source="SiardApi, MetaColumnImpl and MetaFieldImpl; SFA, LOB folder handling, 2018",
        style=FolderStyle.SFA,
        follows=_suite,
        obstacles=_missed_by_suite,
        forms=(),
    ),
    SiardReader(
        key="dbptk",
        name="DBPTK",
        version="4.5",
        reads="in SIARD 2.0 and 2.1 cells that begin with ../, in 2.2 lobFolders of database and column that "
        "begin with ../; files named .bin and .txt; parts in the layout siard22 of SIARD 2.2; no LOBs in "
        "fields, and no archive with columns of user-defined types",
        source="SIARD20ContentImportStrategy and SIARD22ContentImportStrategy",
        style=FolderStyle.DBPTK,
        layouts={"2.2": _SIARD22},
        follows=_dbptk,
        obstacles=_missed_by_dbptk,
        forms=(),
        reads_types=False,
        halts_at_parts=("2.0", "2.1"),
    ),
    SiardReader(
        key="roda",
        name="RODA",
        reads="E-ARK SIPs, in folders or zip files, each of which leads nowhere outside itself; no LOBs: "
        "these are found by DBPTK once the packages are merged",
        source="validator of commons-ip 2.11 (docs/interop.md)",
        style=FolderStyle.DBPTK,
        terms={"dialect": "csip", "package_type": "SIP", "profile": "sip", "roda_ancestors": True},
        packed_terms={"child_links": "objid"},
        forms=("zip",),
        is_listed=False,
        names_folders=True,
    ),
    SiardReader(
        key="statement",
        name="any that follows the statement",
        reads="lobFolder of the database and of the column, relative to the folder that holds the .siard",
        source="statement of the DILCIS Board on the location of LOBs",
        style=FolderStyle.DILCIS,
        follows=_stated,
        is_listed=False,
    ),
)
"""The supported readers, metspack first."""

FOR: Mapping[str, SiardReader] = {each.key: each for each in READERS if each.key}
"""The readers that ``--for`` names; a package can be written for each."""


def named(key: str) -> SiardReader:
    """Return the reader of this name for ``--for``; raises ``ConfigError`` without one."""
    if key not in FOR:
        raise ConfigError(f"there is no reader {key!r}", hint=f"There are {', '.join(FOR)}.")
    return FOR[key]


def layout_for(key: str | None, version: str | None) -> str | None:
    """Return the layout that a reader reads best in a SIARD version, or None for any layout."""
    return None if key is None else named(key).layouts.get(version or "")


def style_for(key: str | None, given: FolderStyle | None, version: str | None) -> FolderStyle:
    """Return the style of an archive: the given one, or else the reader's, or else the default.

    ``version`` is the archive's, None without an archive. Raises ``ConfigError`` for a reader without an
    archive, and for one that would find no LOB of that style or version.
    """
    if key is None or version is None:
        if key is not None:
            raise ConfigError(
                f"--for {key} requires a SIARD archive, and the source is not one",
                hint=f"Leave --for {key} out.",
            )
        return given or FolderStyle.DILCIS
    reader = named(key)
    style = given or (reader.style if version in _OUTSIDE else None) or FolderStyle.DILCIS
    if reader.follows(version, Writing(version=version, layout="", style=style).route()):
        return style
    if version not in _OUTSIDE and reader.is_listed:
        raise ConfigError(
            f"{reader.label} finds no LOBs outside an archive of SIARD {version} (--for {key})",
            hint="Add --siard-version 2.2, which writes the archive as SIARD 2.2; or leave --for out.",
        )
    who = f"{reader.label} finds no LOBs" if reader.is_listed else "the statement does not know LOBs"
    raise ConfigError(
        f"--for {key} does not go with --lob-folder-style {style.value}: {who} located so in SIARD {version}",
        hint="Leave --lob-folder-style out, or leave --for out.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Readership:
    """The readers' verdicts on the LOBs outside an archive, ``lobs`` in number, and ``advice``.

    ``is_merged``: the package must be merged first.
    """

    verdicts: tuple[ReaderVerdict, ...]
    lobs: int
    advice: str = ""
    is_merged: bool = False

    def sentence(self, archive: str = "") -> str:
        """Return the verdicts in one line, with the name of the archive if given.

        ``LOBs found by metspack. DBPTK 4.5 will show this LOB as empty. To let it find it: --for dbptk``
        """
        begun = f"LOBs of {archive} found by" if archive else "LOBs found by"
        begun = f"After metspack merge, {begun}" if self.is_merged else begun
        found = ", ".join(
            each.label + (f" (except {each.missed})" if each.misses else "")
            for each in self.verdicts
            if each.finds
        )
        sentences = [f"{begun} {found}."]
        if missing := [each.label for each in self.verdicts if not (each.finds or each.misses)]:
            these = f"these {self.lobs:,} LOBs" if self.lobs > 1 else "this LOB"
            sentences.append(f"{' and '.join(missing)} will show {these} as empty.")
        sentences += [
            f"{each.label} {each.missed}." for each in self.verdicts if each.misses and not each.finds
        ]
        return " ".join((*sentences, self.advice)).rstrip()

    def document(self) -> list[dict[str, object]]:
        """Return the verdicts as data for JSON."""
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


_NOT_OPENED = "opens no archive with columns of user-defined types"


def _verdicts(
    version: str, routes: Sequence[tuple[LobRoute, int]], *, has_types: bool = False
) -> list[ReaderVerdict]:
    """Return each reader's verdict on LOBs by their routes, which come with counts."""
    found = []
    for reader in (each for each in READERS if each.is_listed):
        opens = reader.reads_types or not has_types
        finds = opens and any(reader.follows(version, route) for route, _count in routes)
        misses = tuple(reader.misses(version, routes)) if finds else () if opens else (_NOT_OPENED,)
        found.append(ReaderVerdict(reader=reader.name, version=reader.version, finds=finds, misses=misses))
    return found


def _written(writing: Writing, traits: LobTraits) -> list[ReaderVerdict]:
    """Return each reader's verdict on the LOBs of a package in a form."""
    unusual = (
        (writing.route(nested=True), traits.nested - traits.nested_unusual),
        (writing.route(unusual=True), traits.unusual - traits.nested_unusual),
        (writing.route(nested=True, unusual=True), traits.nested_unusual),
        (writing.route(split=True), traits.split),
    )
    routes = [(writing.route(), traits.lobs), *(each for each in unusual if each[1])]
    return _verdicts(writing.version, routes, has_types=traits.has_types)


def _ways(
    version: str, layout: str, traits: LobTraits, *, prefix: str = ""
) -> dict[str, dict[str, ReaderVerdict]]:
    """Return options that write LOBs for one reader, with each reader's verdict on the result.

    Those with the fewest kinds of missed LOBs come first, and among equals those for DBPTK.
    """
    written = version if version in _OUTSIDE else "2.2"
    upgrade = "" if written == version else f"--siard-version {written} "
    ways = {}
    for key in ("dbptk", "siard-suite"):
        style = style_for(key, None, written)
        best = layout_for(key, written) or layout
        verdicts = _written(Writing(version=written, layout=best, style=style), traits)
        ways[f"{prefix}{upgrade}--for {key}"] = {each.reader: each for each in verdicts}
    return dict(sorted(ways.items(), key=lambda way: sum(len(each.misses) for each in way[1].values())))


def _advised(
    verdicts: Sequence[ReaderVerdict],
    ways: Mapping[str, Mapping[str, ReaderVerdict]],
    lobs: int,
    *,
    is_merged: bool,
) -> Readership:
    """Return the readership with a remedy, if possible the same, for readers that find no LOB."""
    missing = [each.reader for each in verdicts if not (each.finds or each.misses)]
    every = f"{counted(lobs, 'LOB')} "
    helped = {
        options: [
            each
            for each in missing
            if then[each].finds and not any(words.startswith(every) for words in then[each].misses)
        ]
        for options, then in ways.items()
    }
    best = sorted(helped, key=lambda options: -len(helped[options]))
    remedies = {each: next((way for way in best if each in helped[way]), "") for each in missing}
    advice = []
    for options in dict.fromkeys(filter(None, remedies.values())):
        then = ways[options]
        who = [then[each] for each in missing if remedies[each] == options]
        is_clear = sum(not each.finds for each in verdicts) == 1
        names = "both" if len(who) > 1 else "it" if is_clear else who[0].label
        lost = [each.label for each in verdicts if each.finds and not then[each.reader].finds]
        instead = f", instead of {' and '.join(lost)}" if lost else ""
        them = "them" if lobs > 1 else "it"
        partly = ", ".join(f"{each.label} except {each.missed}" for each in who if each.misses)
        advice.append(f"o let {names} find {them}{instead}: {options}" + (f" ({partly})" if partly else ""))
    return Readership(
        verdicts=tuple(replace(each, remedy=remedies.get(each.reader, "")) for each in verdicts),
        lobs=lobs,
        advice=f"T{'; t'.join(advice)}" if advice else "",
        is_merged=is_merged,
    )


def readership(writing: Writing, traits: LobTraits, *, is_merged: bool = False) -> Readership:
    """Return the readers' verdicts on the LOBs of a package in a form, with advice."""
    ways = _ways(writing.version, writing.layout, traits)
    return _advised(_written(writing, traits), ways, traits.lobs, is_merged=is_merged)


def readership_on_disk(archive: ArchiveRoutes) -> Readership:
    """Return the readers' verdicts on the LOBs that an existing archive references, with advice."""
    traits = LobTraits(
        lobs=sum(count for _, count in archive.routes),
        nested=sum(count for route, count in archive.routes if route.nested),
        unusual=sum(count for route, count in archive.routes if route.unusual),
        split=sum(count for route, count in archive.routes if route.split),
        has_types=archive.has_types,
    )
    found = _verdicts(archive.version, archive.routes, has_types=archive.has_types)
    ways = _ways(archive.version, "", traits, prefix="metspack convert ")
    return _advised(found, ways, traits.lobs, is_merged=archive.is_apart)


def check_texts(key: str | None, version: str | None, traits: LobTraits, most: int | None) -> None:
    """Raise ``ConfigError`` if a split CLOB would hide later CLOBs from the intended reader.

    ``most`` is the most bytes of a segment.
    """
    if key is None or most is None or traits.largest_text <= most:
        return
    reader = named(key)
    if version in reader.halts_at_parts:
        raise ConfigError(
            f"{reader.label} loses every CLOB after one in parts in SIARD {version} (--for {key}): the "
            f"largest has {traits.largest_text:,} bytes, a segment may hold {most:,}",
            hint=f"Write --max-bytes {traits.largest_text} or more, or leave --for {key} out.",
        )


def missed_words(key: str | None, writing: Writing, traits: LobTraits) -> tuple[Notice, ...]:
    """Return a warning on LOBs that the package's intended reader misses, if there are any."""
    if key is None:
        return ()
    reader = named(key)
    if traits.has_types and not reader.reads_types:
        return (Notice("reader-opens-none", f"{reader.label} {_NOT_OPENED} (--for {key})"),)
    found = (each for each in readership(writing, traits).verdicts if each.reader == reader.name)
    return tuple(
        Notice("reader-misses", f"{reader.label} will not find {each.missed} (--for {key})")
        for each in found
        if each.misses
    )


def unopened(archives: Sequence[str]) -> str:
    """Return a clause on archives of SIARD 1.0 that its readers refuse, or "" without any."""
    if not archives:
        return ""
    if len(archives) == 1:
        which = f"{archives[0]}, whose LOBs are outside"
    else:
        which = f"{len(archives):,} archives whose LOBs are outside, the first {archives[0]}"
    return f"no reader of SIARD 1.0 will open {which} (build and convert take --siard-version 2.2)"
