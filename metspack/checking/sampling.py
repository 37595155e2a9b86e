"""The sample of files that a check hashes: the same ones each time for the same package and seed."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from fractions import Fraction

from metspack.checking.catalogue import Catalogue
from metspack.errors import ConfigError

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
    """What was hashed of a sample: ``hashed`` of the ``files`` that METS or a manifest has a digest for.

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
