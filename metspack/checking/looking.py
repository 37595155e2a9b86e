"""The options of a check: level, sample, schemas, E-ARK profile, budgets and processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, unique
from functools import total_ordering
from pathlib import Path

from metspack.checking import grammar, sampling, schema
from metspack.checking.grammar import Grammar
from metspack.checking.rules.profiles import Profile
from metspack.checking.sampling import FileSample
from metspack.errors import ConfigError
from metspack.model import Budgets


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

    def __post_init__(self) -> None:
        if self.sample is not None and not self.level.hashes:
            raise ConfigError(
                f"at the level {self.level.value} no files are hashed, so none can be sampled",
                hint="Choose the level fixity or full, or leave the sample out.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """How packages are checked, in the words of a person; ``looking`` is what the check makes of them.

    ``roots`` are further folders in which children may lie, found by their OBJID. ``sample`` is the share
    (``1%``) or number (``250``) of files to hash, chosen by ``seed``. METS documents are judged by the
    schemas in ``schema_dir`` if given, and by xmlschema too with ``strict_schema``. ``profile`` is which of
    the E-ARK standards each is held against, by itself those that it says it follows (docs/rules.md).
    ``jobs`` processes hash files; with more than one the calling module must be importable.
    """

    level: Level = Level.FULL
    roots: tuple[Path, ...] = ()
    sample: str | None = None
    seed: int = sampling.SEED
    schema_dir: Path | None = None
    strict_schema: bool = False
    jobs: int | None = 1
    profile: Profile = Profile.AUTO
    budgets: Budgets = field(default_factory=Budgets)

    def looking(self) -> Looking:
        """Return how the check goes about it; raises ``ConfigError`` when one of these cannot be had."""
        judged_by = None if self.schema_dir is None else grammar.of_folder(self.schema_dir)
        if self.strict_schema:
            schema.check_second_engine(judged_by)
        return Looking(
            level=self.level,
            budgets=self.budgets,
            sample=None if self.sample is None else sampling.parsed(self.sample, self.seed),
            grammar=judged_by,
            strict=self.strict_schema,
            jobs=self.jobs,
            profile=self.profile,
        )
