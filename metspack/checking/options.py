"""The options of a check: level, sample, schemas, E-ARK profile, budgets and processes."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from enum import Enum, unique
from fractions import Fraction
from functools import total_ordering
from pathlib import Path

from metspack.checking.catalogue import Catalogue
from metspack.checking.eark.profiles import Profile
from metspack.checking.mets import grammar, schema
from metspack.checking.mets.grammar import Grammar
from metspack.errors import ConfigError
from metspack.model import Budgets

SEED = 0
"""The seed where none is given."""

_FORM = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,9}))?(%)?")
_STATED = """
SELECT path FROM disk WHERE kind = 'f'
AND (EXISTS (SELECT 1 FROM entry e WHERE e.path = disk.path AND e.digest IS NOT NULL)
    OR EXISTS (SELECT 1 FROM listed l WHERE l.path = disk.path))
AND NOT EXISTS (SELECT 1 FROM mets m WHERE m.path = disk.path)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSample:
    """A share of a package's files, or a number of them; ``seed`` chooses which.

    A file's place in the order of choice depends on its path and the seed alone, so that the larger of two
    samples holds the smaller one.
    """

    text: str
    share: Fraction | None
    files: int
    seed: int = SEED

    def size(self, total: int) -> int:
        """Return how many of ``total`` files are taken: a share is rounded up, so that none is nothing."""
        if self.share is None:
            return min(self.files, total)
        return -(-total * self.share.numerator // self.share.denominator)

    def key(self, path: bytes) -> bytes:
        """Return what the files are chosen by, the smallest first."""
        return hashlib.sha256(b"%d\n" % self.seed + path).digest()[:8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """The size of a sample: ``hashed`` of the ``files`` for which METS or a manifest has a digest.

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
    """Put the paths of a sample into the catalogue; return how many files there are, none hashed so far.

    The files on disk, the METS documents and the manifests are in the catalogue, and indexed.
    """
    catalogue.function("sample_key", sample.key)
    total = catalogue.number(f"SELECT count(*) FROM ({_STATED})")  # noqa: S608 -- a constant
    catalogue.put(
        f"INSERT INTO sampled SELECT path FROM ({_STATED}) ORDER BY sample_key(path), path LIMIT ?",  # noqa: S608
        sample.size(total),
    )
    return Sampled(files=total)


@unique
@total_ordering
class Level(Enum):
    """The level of a check; ``<`` means that less is read.

    Each level does all that the one before it does, but ``FIXITY`` does not open the archive: to it, the
    archive is a file like any other.
    """

    LINKS = "links"
    """The METS documents: both directions of the links, and the digests and sizes of child METS."""
    STRUCTURE = "structure"
    """And all that needs no LOB's bytes: files, sizes, manifests, structMaps, the archive's cells."""
    FIXITY = "fixity"
    """And the size and every digest of every file in every METS and manifest; not the archive's cells."""
    FULL = "full"
    """And the cells against the files' bytes, every entry of the archive, its messageDigest."""

    def __lt__(self, other: object) -> bool:
        """Whether this level reads less."""
        if not isinstance(other, Level):
            return NotImplemented
        levels = list(Level)
        return levels.index(self) < levels.index(other)

    @property
    def hashes(self) -> bool:
        """Whether the bytes of every file are read."""
        return self in {Level.FIXITY, Level.FULL}

    @property
    def opens_archives(self) -> bool:
        """Whether archives are opened, and their cells looked at."""
        return self in {Level.STRUCTURE, Level.FULL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Looking:
    """The options of a check.

    ``sample`` limits the files that are hashed; ``grammar`` is what METS documents are valid by, None for
    the project's own; ``strict`` asks a second engine too; ``profile`` is which of the E-ARK standards they
    are held against. ``jobs`` processes hash files, None for as many as are of use; with more than one the
    files of a large package are listed in a process of its own while its METS are read. What is found is the
    same. ``is_for_listing`` leaves the files alone, once all of them are known. Raises ``ConfigError`` for a
    sample at a level that hashes no files.
    """

    level: Level = Level.FULL
    budgets: Budgets = field(default_factory=Budgets)
    sample: FileSample | None = None
    grammar: Grammar | None = None
    strict: bool = False
    jobs: int | None = 1
    profile: Profile = Profile.AUTO
    is_for_listing: bool = False

    @property
    def is_of_every_file(self) -> bool:
        """Whether all files are looked at, and METS documents judged by the project's own schemas alone."""
        is_part = self.sample is not None or self.is_for_listing or self.level is Level.LINKS
        return not (is_part or self.strict or self.grammar is not None)

    def __post_init__(self) -> None:
        if self.sample is not None and not self.level.hashes:
            raise ConfigError(
                f"at the level {self.level.value} no files are hashed, so none can be sampled",
                hint="Choose the level fixity or full, or leave the sample out.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """The options of a check as a person gives them; ``looking`` are the parsed ones.

    ``roots`` are further folders in which children may lie, found by their OBJID. ``sample`` is the share
    (``1%``) or number (``250``) of files to hash, chosen by ``seed``. METS documents are judged by the
    schemas in ``schema_dir`` if given, and by xmlschema too with ``strict_schema``. ``profile`` is which of
    the E-ARK standards each is held against, by itself those that it says it follows (docs/rules.md).
    ``jobs`` processes hash files; with more than one the calling module must be importable.
    """

    level: Level = Level.FULL
    roots: tuple[Path, ...] = ()
    sample: str | None = None
    seed: int = SEED
    schema_dir: Path | None = None
    strict_schema: bool = False
    jobs: int | None = 1
    profile: Profile = Profile.AUTO
    budgets: Budgets = field(default_factory=Budgets)

    def looking(self) -> Looking:
        """Return the parsed options; raises ``ConfigError`` if one of them is not valid."""
        judged_by = None if self.schema_dir is None else grammar.of_folder(self.schema_dir)
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
        )
