"""The options of a check: level, sample, expected packages, schemas, profile, budgets, jobs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, unique
from functools import total_ordering
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from metspack import optionfields, uris
from metspack.checking.catalogue import Catalogue, Mark
from metspack.checking.codes import Code
from metspack.checking.eark.profiles import Profile
from metspack.checking.mets import schema
from metspack.checking.mets.schema import Grammar
from metspack.checking.similarity import likeness, nearest
from metspack.containers.ipreader import stem_of_pack
from metspack.digests import Seal
from metspack.errors import ConfigError, MetspackError
from metspack.files import reading
from metspack.files.digestlists import unmarked
from metspack.files.reading import StrPath, as_path, as_places
from metspack.limits import Budgets
from metspack.mets import is_mets_name, is_of_representation, reader
from metspack.mets.links import By, Mptr
from metspack.model import Finding
from metspack.optionfields import OptionField
from metspack.system import os

if TYPE_CHECKING:
    from fractions import Fraction

LevelWord = Literal["links", "structure", "fixity", "full"]
ProfileWord = Literal["auto", "recommendation", "csip", "sip", "cits-siard"]
SEED = 0
"""The default seed."""

_FORM = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,9}))?(%)?")
_STATED = """
SELECT path FROM disk WHERE kind = 'f'
AND (EXISTS (SELECT 1 FROM entry e WHERE e.path = disk.path AND e.digest IS NOT NULL)
    OR EXISTS (SELECT 1 FROM listed l WHERE l.path = disk.path))
AND NOT EXISTS (SELECT 1 FROM mets m WHERE m.path = disk.path)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFigures:
    """The figures of a check with a ledger: files that were read, and those taken from it.

    ``oldest`` is the earliest time at which a taken file was verified, or "".
    """

    read: int = 0
    taken: int = 0
    oldest: str = ""

    def with_read(self, files: int) -> LedgerFigures:
        """Return the figures with more files that were read."""
        return replace(self, read=self.read + files)

    def with_taken(self, time: str) -> LedgerFigures:
        """Return the figures with one more file taken, which was verified at a time."""
        return replace(self, taken=self.taken + 1, oldest=min(filter(None, (self.oldest, time))))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSample:
    """A share of a package's files, or a number of them; ``seed`` chooses which.

    The order of choice depends only on the paths and the seed: a larger sample includes a smaller one.
    """

    text: str
    share: Fraction | None
    files: int
    seed: int = SEED

    def size(self, total: int) -> int:
        """Return how many of ``total`` files are taken; a share is rounded up."""
        if self.share is None:
            return min(self.files, total)
        return -(-total * self.share.numerator // self.share.denominator)

    def key(self, path: bytes) -> bytes:
        """Return the key by which the files are chosen, the smallest first."""
        return hashlib.sha256(b"%d\n" % self.seed + path).digest()[:8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """The size of a sample: ``hashed`` of the ``files`` with a digest in METS or a manifest.

    METS files are not among them: they are always hashed.
    """

    files: int = 0
    hashed: int = 0

    def __add__(self, other: Sampled) -> Sampled:
        return Sampled(files=self.files + other.files, hashed=self.hashed + other.hashed)


def parsed(text: str, seed: int = SEED) -> FileSample:
    """Return the sample that ``1%``, ``0.5%`` or ``250`` (files) means; raises ``ConfigError``."""
    found = _FORM.fullmatch(text.strip())
    if found is None or (found[2] and not found[3]):
        raise _refused(text, "is neither a percentage nor a number of files")
    from fractions import Fraction  # noqa: PLC0415 -- most checks take all files

    number = Fraction(f"{found[1]}.{found[2] or 0}")
    if not number:
        raise _refused(text, "would hash nothing")
    if not found[3]:
        return FileSample(text=found[0], share=None, files=int(number), seed=seed)
    if number > 100:  # noqa: PLR2004 -- per cent
        raise _refused(text, "is more than all files")
    return FileSample(text=found[0], share=number / 100, files=0, seed=seed)


def _refused(text: str, why: str) -> ConfigError:
    return ConfigError(
        f"the sample {text!r} {why}", hint="Write a percentage (1%, 0.5%) or a number of files (250)."
    )


def choose(catalogue: Catalogue, sample: FileSample) -> Sampled:
    """Put the paths of a sample into the catalogue; return the number of files to choose from.

    The catalogue must have the files on disk, the METS documents and the manifests.
    """
    catalogue.add_function("sample_key", sample.key)
    total = catalogue.number(f"SELECT count(*) FROM ({_STATED})")  # noqa: S608 -- a constant
    catalogue.put(
        f"INSERT INTO mark (mark, path) SELECT '{Mark.SAMPLED}', path FROM ({_STATED})"  # noqa: S608 -- constants
        " ORDER BY sample_key(path), path LIMIT ?",
        sample.size(total),
    )
    return Sampled(files=total)


# --- The packages that are expected -------------------------------------------------------------------------

_MOST = 64 << 20  # bytes of a list
_NEAR, _HINTS = 1_000, 100
_MARK = "\ufeff"
_NAMES = ("objid", "identifier", "id", "package", "name", "folder", "path", "file")
_NAMES_OF_ONE = ("objid", "identifier", "id", "folder")  # names of a table's only column
_DELIMITERS = ",;\t"
_FORM_OF_LIST = (
    "It has an OBJID or the name of a folder in each line, is CSV with a header (a column objid or folder), "
    "or is the METS of a parent."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedPackage:
    """An expected package with its line in the list; ``also`` is another name that it has there."""

    name: str
    line: int
    also: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedPackages:
    """The packages in a list, each once, the repeated ones (``again``), and the list's OBJID."""

    path: Path
    packages: tuple[ExpectedPackage, ...]
    again: tuple[tuple[ExpectedPackage, int], ...] = ()
    objid: str = ""

    def compared(
        self, given: Sequence[tuple[str, str, str]], within: Collection[str]
    ) -> Iterator[tuple[str, Finding]]:
        """Yield the findings on ``given`` packages outside the list, and on missing ones in it.

        ``given`` has the path of each package, its OBJID and its folder's name; the path is yielded with the
        finding, "" for a missing package. ``within`` are the OBJIDs and folders of all METS in the packages.
        """
        listed = {name for each in self.packages for name in (each.name, _folder_of(each.name), each.also)}
        names = {path: tuple(dict.fromkeys(filter(None, both))) for path, *both in given}
        strangers = [
            path
            for path, objid, _ in given
            if listed.isdisjoint(names[path]) and (not self.objid or objid != self.objid)
        ]
        come = {*chain.from_iterable(names.values()), *within}
        missing = [
            each
            for each in self.packages
            if come.isdisjoint({each.name, _folder_of(each.name), each.also} - {""})
        ]
        here = dict.fromkeys(name for path in strangers[:_NEAR] for name in names[path])
        for number, each in enumerate(missing):
            near = nearest(each.name, here) if number < _HINTS else ""
            like = likeness(each.name, near) if near else ""
            facts = {"expected": each.name, "nearest": near, "likeness": like}
            yield "", Code.PACKAGE_NOT_COME.at(str(self.path), each.line, **facts)
        there = dict.fromkeys(name for each in missing[:_NEAR] for name in (each.name, each.also) if name)
        for number, path in enumerate(strangers):
            found = (nearest(name, there) for name in names[path]) if number < _HINTS else iter(())
            near = next(filter(None, found), "")
            facts = {"found": " and ".join(map(repr, names[path])), "source": str(self.path), "nearest": near}
            yield path, Code.PACKAGE_NOT_ANNOUNCED.at(path, **facts)
        for each, first in self.again:
            facts = {"expected": each.name, "other": f"{first:,}"}
            yield "", Code.PACKAGE_ANNOUNCED_TWICE.at(str(self.path), each.line, **facts)


def _folder_of(name: str) -> str:
    """Return the folder's name in a name, which may be a path or that of a zip or tar file."""
    last = name.rstrip("/").rpartition("/")[2]
    return stem_of_pack(last) or last


def expected(path: Path, budgets: Budgets) -> ExpectedPackages:
    """Return the packages that a file announces: a list, CSV or the METS of a parent.

    The content gives the kind of the file. Raises ``ConfigError`` for any other or an empty file.
    """
    data = _first_bytes("--expect", path, _MOST + 1)
    if len(data) > _MOST:
        raise _unfit(path, 0, f"has more than {_MOST:,} bytes")
    text = _text(path, data)
    if text.lstrip().startswith("<"):
        return _of_mets(path, data, budgets)
    found = list(_of_csv(path, text) or _of_lines(text))
    first: dict[str, int] = {}
    for each in found:
        first.setdefault(each.name, each.line)
    again = [(each, first[each.name]) for each in found if first[each.name] != each.line]
    once = tuple(each for each in found if first[each.name] == each.line)
    if not once:
        raise _unfit(path, 0, "names no package")
    return ExpectedPackages(path=path, packages=once, again=tuple(again))


def _first_bytes(option: str, path: Path, count: int) -> bytes:
    try:
        with reading.opening(path) as descriptor:
            return b"".join(reading.chunks(descriptor, 0, count))
    except (OSError, MetspackError) as error:
        why = error.message if isinstance(error, MetspackError) else error.strerror
        raise ConfigError(f"{option} {path}: cannot be read: {why}", hint="Check the path.") from None


def _unfit(path: Path, line: int, problem: str) -> ConfigError:
    where = f", line {line:,}" if line else ""
    return ConfigError(f"--expect {path}{where}: {problem}", hint=_FORM_OF_LIST)


def _text(path: Path, data: bytes) -> str:
    data = b"".join(unmarked((data,))[1])
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _unfit(path, line, "is not UTF-8; expected a text") from None
    bad = re.search(r"[\x00-\x08\x0e-\x1f]", text)
    if bad is not None:
        line = text.count("\n", 0, bad.start()) + 1
        raise _unfit(path, line, f"has the byte {ord(bad[0]):#04x}; expected a text, this is a binary file")
    return text


def _of_lines(text: str) -> Iterator[ExpectedPackage]:
    for number, line in enumerate(text.splitlines(), 1):
        name = line.strip()
        if name and not name.startswith(("#", ";")):
            yield ExpectedPackage(name=name, line=number)


def _of_csv(path: Path, text: str) -> list[ExpectedPackage] | None:
    """Return the packages in a table with a header, or None for another text."""
    import csv  # noqa: PLC0415 -- few checks expect packages by a list

    lines = text.splitlines()
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return None
    delimiter = max(_DELIMITERS, key=lines[first].count)
    rows = csv.reader(lines[first:], delimiter=delimiter, strict=True)
    try:
        header = [cell.strip().casefold() for cell in next(rows)]
        names = _NAMES if len(header) > 1 else _NAMES_OF_ONE
        column = next((header.index(name) for name in names if name in header), None)
        if column is None:
            width, rest = len(header), lines[first + 1 :]
            if (
                width > 1
                and rest
                and all(line.count(delimiter) == width - 1 for line in rest if line.strip())
            ):
                columns = ", ".join(_NAMES)
                raise _unfit(path, first + 1, f"has a header without any of the columns {columns}")
            return None
        found = []
        for row in rows:
            line = first + rows.line_num
            if not any(cell.strip() for cell in row):
                continue
            if len(row) <= column or not row[column].strip():
                raise _unfit(path, line, f"has nothing in the column {header[column]!r}")
            found.append(ExpectedPackage(name=row[column].strip(), line=line))
    except csv.Error as error:
        raise _unfit(path, first + rows.line_num, f"is not CSV: {error}") from None
    return found


def _of_mets(path: Path, data: bytes, budgets: Budgets) -> ExpectedPackages:
    """Return the packages that a METS leads down to, and its OBJID."""
    objid, by_div = "", dict[tuple[int, int], list[Mptr]]()
    try:
        for fact in reader.read(reading.blocks((data,)), budgets):
            if isinstance(fact, reader.Root):
                objid = (fact.objid or "").strip()
            elif isinstance(fact, Mptr) and fact.href and not fact.is_upward:
                by_div.setdefault((fact.div, fact.within), []).append(fact)
    except MetspackError as error:
        raise _unfit(
            path, getattr(error, "line", 0), f"is no METS that can be read: {error.message}"
        ) from None
    found: dict[str, ExpectedPackage] = {}
    for group in by_div.values():
        places = [_place(each) for each in group if each.named_by is By.LOCATION]
        if any(is_of_representation(os.fsencode(f"/{each}")) for each in places):
            continue
        folder = next(
            (_folder_of(each.rpartition("/")[0] if is_mets_name(each) else each) for each in places), ""
        )
        called = next(((each.href or "").strip() for each in group if each.named_by is not By.LOCATION), "")
        if name := called or folder:
            package = ExpectedPackage(name=name, line=group[0].line, also=folder if called else "")
            found.setdefault(name, package)
    if not found:
        raise _unfit(path, 0, "is a METS that leads to no package")
    return ExpectedPackages(path=path, packages=tuple(found.values()), objid=objid)


def _place(pointer: Mptr) -> str:
    try:
        return "/".join(uris.located(pointer.href or "").segments)
    except uris.ReferenceRefused:
        return ""


# --- The seal of the package --------------------------------------------------------------------------------

_SEAL_BYTES = 1 << 16
_FORM_OF_SEAL = (
    "Give sha256: and 64 hexadecimal digits, or the file that --seal wrote when the package was made."
)


def sealed(given: str) -> Seal:
    """Return the seal in a value or a file; raises ``ConfigError`` for any other text or file."""
    if not os.path.exists(given):
        if (found := _seal(given, given)) is None:
            problem = "neither the value of a seal nor a file"
            raise ConfigError(f"--seal {given}: {problem}", hint=_FORM_OF_SEAL)
        return found
    data = _first_bytes("--seal", Path(given), _SEAL_BYTES + 1)
    text = data.decode("utf-8", "surrogateescape").removeprefix(_MARK)
    if len(data) <= _SEAL_BYTES and (found := _seal(given, text)) is not None:
        return found
    raise ConfigError(f"--seal {given}: the file holds no seal", hint=_FORM_OF_SEAL)


def _seal(given: str, text: str) -> Seal | None:
    try:
        return Seal.parsed(text)
    except ValueError as error:
        raise ConfigError(
            f"--seal {given}: the file was changed: its lines give another seal than {error}, which it names",
            hint="Take the file from where it was kept, or give the value of the seal itself.",
        ) from None


def check_single_package(looking: Looking, packages: int) -> None:
    """Raise ``ConfigError`` for a seal or a ledger with several packages."""
    for option, value, hint in (
        ("--ledger", looking.ledger, "Check each package by itself, with a ledger of its own."),
        ("--seal", looking.seal, "Check the package by itself."),
    ):
        if value is not None and packages > 1:
            raise ConfigError(f"{option} is that of one package, and there are {packages}", hint=hint)


_PERIOD = re.compile(r"([0-9]{1,9}) ?([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_LONGEST = 36_525 * 86_400


def period(text: str) -> int:
    """Return the seconds that ``90d``, ``36h`` or ``2w`` means; raises ``ConfigError``."""
    found = _PERIOD.fullmatch(text.strip())
    seconds = int(found[1]) * _SECONDS[found[2]] if found is not None else -1
    if not 0 <= seconds <= _LONGEST:
        raise ConfigError(
            f"--older-than {text!r} is not a period" if found is None else f"--older-than {text} is too long",
            hint="Write a number and its unit: 90d for days, h for hours, w for weeks, m for minutes, s for "
            "seconds; a hundred years at most.",
        )
    return seconds


@unique
@total_ordering
class Level(Enum):
    """The level of a check; ``<`` means that less is read.

    Each level includes the one before, except that ``FIXITY`` treats the archive as a file like any other.
    """

    LINKS = "links"
    """The METS documents: both directions of the links, and the digests and sizes of child METS."""
    STRUCTURE = "structure"
    """Also all without a LOB's bytes: files, sizes, manifests, structMaps, the archive's cells."""
    FIXITY = "fixity"
    """Also size and digests of every file in METS and manifests, without the archive's cells."""
    FULL = "full"
    """Also the cells against the files' bytes, every entry of the archive, its messageDigest."""

    def __lt__(self, other: object) -> bool:
        """Return whether this level reads less."""
        if not isinstance(other, Level):
            return NotImplemented
        levels = list(Level)
        return levels.index(self) < levels.index(other)

    @property
    def hashes(self) -> bool:
        """Return whether the bytes of every file are read."""
        return self in {Level.FIXITY, Level.FULL}

    @property
    def opens_archives(self) -> bool:
        """Return whether archives are opened and their cells compared."""
        return self in {Level.STRUCTURE, Level.FULL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Looking:
    """The options of a check.

    ``sample`` limits the files that are hashed; ``grammar`` are the schemas for METS documents, None for the
    project's own; ``strict`` adds a second engine; ``profile`` is the choice of E-ARK standards to check
    against. ``jobs`` processes hash files, None for as many as are of use; with more than one the files of a
    large package are listed in another process while its METS are read. The findings are the same.
    ``expected`` are the packages that are announced, ``seal`` is that of the only package. ``ledger`` is the
    file that keeps when each file was verified; those verified less than ``older_than`` seconds ago are not
    read. ``cluster`` is one whose workers read segments and files in place of processes. Raises
    ``ConfigError`` for a sample or a ledger at a level that hashes no files, and for both together.
    """

    level: Level = Level.FULL
    budgets: Budgets = field(default_factory=Budgets)
    sample: FileSample | None = None
    grammar: Grammar | None = None
    strict: bool = False
    jobs: int | None = 1
    profile: Profile = Profile.AUTO
    expected: ExpectedPackages | None = None
    seal: Seal | None = None
    ledger: Path | None = None
    older_than: int | None = None
    cluster: str | None = None

    @property
    def leaves_none_out(self) -> bool:
        """Return whether no files are left out by a sample or a ledger."""
        return self.sample is None and self.ledger is None

    @property
    def is_of_every_file(self) -> bool:
        """Return whether all files are compared, and METS validated only by the project's schemas."""
        is_part = not self.leaves_none_out or self.level is Level.LINKS
        return not (is_part or self.strict or self.grammar is not None)

    def __post_init__(self) -> None:
        if self.sample is not None and not self.level.hashes:
            raise ConfigError(
                f"at the level {self.level.value} no files are hashed, so none can be sampled",
                hint="Choose the level fixity or full, or leave the sample out.",
            )
        if self.ledger is not None and not self.level.hashes:
            raise ConfigError(
                f"at the level {self.level.value} no files are read, so there is nothing to keep a ledger of",
                hint="Choose the level fixity or full, or leave --ledger out.",
            )
        if self.ledger is not None and self.sample is not None:
            raise ConfigError(
                "--ledger and --sample cannot be combined",
                hint="--older-than limits what is read with a ledger.",
            )
        if self.older_than is not None and self.ledger is None:
            raise ConfigError("--older-than requires --ledger", hint="Add --ledger FILE.")


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The options of a check as they are given; ``looking`` returns the parsed ones.

    ``roots`` are further folders in which children may lie, found by their OBJID. ``sample`` is the share
    (``1%``) or number (``250``) of files to hash, chosen by ``seed``. METS documents are validated by the
    schemas in ``schema_dir`` if given, and by xmlschema too with ``strict_schema``. ``profile`` is the choice
    of E-ARK standards to check against, by default those that each METS claims (docs/rules.md). ``jobs``
    processes hash files; with more than one the calling module must be importable. ``expect`` is a file that
    announces the packages; ``seal`` is the value of the package's seal, or a file with it. ``ledger`` is the
    file that keeps when each file was verified; with ``older_than`` (``90d``) only those are read that were
    verified longer ago (docs/checking.md). ``cluster`` is a Dask cluster, in one of ``cluster.FORMS``, whose
    workers read segments and files instead.
    """

    level: OptionField[Level, Level | LevelWord] = optionfields.choice(Level, Level.FULL)
    roots: OptionField[tuple[Path, ...], StrPath | Sequence[StrPath]] = optionfields.paths(as_places)
    sample: OptionField[str | None, str | None] = optionfields.text(parsed)
    seed: OptionField[int, int] = optionfields.instance(int, SEED)
    schema_dir: StrPath | None = None
    strict_schema: OptionField[bool, bool] = optionfields.flag()
    jobs: OptionField[int | None, int | None] = optionfields.jobs()
    profile: OptionField[Profile, Profile | ProfileWord] = optionfields.choice(Profile, Profile.AUTO)
    budgets: OptionField[Budgets, Budgets] = optionfields.instance(Budgets)
    expect: StrPath | None = None
    seal: StrPath | None = None
    ledger: StrPath | None = None
    older_than: OptionField[str | None, str | None] = optionfields.text(period)
    cluster: str | None = None

    def looking(self) -> Looking:
        """Return the parsed options; raises ``ConfigError`` if one of them is not valid."""
        judged_by = None if self.schema_dir is None else schema.of_folder(as_path(self.schema_dir))
        if self.strict_schema:
            schema.check_second_engine(judged_by)
        return Looking(
            level=self.level,
            budgets=self.budgets,
            sample=None if self.sample is None else parsed(self.sample, self.seed),
            grammar=judged_by,
            strict=self.strict_schema,
            jobs=self.jobs,
            profile=self.profile,
            expected=None if self.expect is None else expected(as_path(self.expect), self.budgets),
            seal=None if self.seal is None else sealed(os.fspath(self.seal)),
            ledger=None if self.ledger is None else as_path(self.ledger),
            older_than=None if self.older_than is None else period(self.older_than),
            cluster=self.cluster,
        )
