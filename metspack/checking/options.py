"""The options of a check: level, sample, expected packages, schemas, profile, budgets, jobs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, unique
from functools import total_ordering
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from metspack import optionfields
from metspack.checking.catalogue import Catalogue, Mark
from metspack.checking.eark.profiles import Profile
from metspack.digests import Seal
from metspack.errors import ConfigError
from metspack.files.reading import StrPath, as_path, as_places
from metspack.limits import Budgets
from metspack.mets import schema
from metspack.mets.schema import Grammar
from metspack.optionfields import OptionField
from metspack.packages.expected import ExpectedPackages, expected, first_bytes
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
    data = first_bytes("--seal", Path(given), _SEAL_BYTES + 1)
    text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
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
    def takes_all_files(self) -> bool:
        """Return whether all files are checked, without a sample or a ledger."""
        return self.sample is None and self.ledger is None

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
