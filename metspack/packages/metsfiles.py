"""Facts of ``mets:file`` entries: path, size and digest, LOBs and archives among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from metspack import digests, uris
from metspack.layouts.names import ARCHIVE, SEGMENT_GROUP, SIARD
from metspack.mets import PLAIN_METS, REPRESENTATIONS_FOLDER, is_mets_name, reader
from metspack.mets.fastreader import Run
from metspack.mets.links import SPLIT_LOBS, Mptr, is_of_children, target
from metspack.model import Digest
from metspack.siard import metadata

_METADATA = tuple(metadata.NAME.split("/"))
_SIZE_DIGITS = 18
ARCHIVES = "ID_SIARD_DDL"
"""The fileGrp of the archive (recommendation 0.16), with any suffix in its name."""

_AUXILIARY = {"Documentation", "Schemas"}  # the beginning of the USE of such groups (CSIP60, CSIP113)


def located(folder: tuple[str, ...], href: str) -> tuple[tuple[str, ...] | None, str | None]:
    """Return the names from the root to an href's file or None, and the reason for None."""
    try:
        reference = uris.located(href)
        if reference.kind is uris.Kind.ABSOLUTE and uris.Repair.PSEUDO_ABSOLUTE not in reference.repairs:
            return None, f"the href {href!r} is an absolute path, outside the package"
        path = target(folder, reference)
    except uris.ReferenceRefused as error:
        return None, error.message
    return (path, None) if path else (None, f"the href {href!r} names no file")


def archive_of(path: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the archive of a file: itself, its whole (SIARD 2.2 S_8.2-0), that of metadata.xml."""
    if (named := ARCHIVE.fullmatch(path[-1])) is not None:
        return (*path[:-1], named[1])
    return path[:-2] if path[-2:] == _METADATA and len(path) > len(_METADATA) else None


def size_of(fact: reader.File) -> int | None:
    """Return the size that METS gives a file, or None without a number."""
    text = (fact.size or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _SIZE_DIGITS else None


def digest_of(fact: reader.File) -> Digest | None:
    """Return a file's digest, as written if it cannot be computed here, or None."""
    if fact.checksum is None:
        return None
    algorithm = digests.algorithm_name(fact.checksum_type or "")
    found = None if algorithm is None else digests.parsed(fact.checksum, algorithm)
    unread = Digest(algorithm=algorithm or fact.checksum_type or "unknown", value=fact.checksum.strip())
    return found or unread


_PUID = re.compile(r"(?:x-)?s?fmt/[0-9]+")


def puid_of(fact: reader.File) -> str | None:
    """Return the PRONOM id of a file's format by E-ARK's attributes (SIP34, SIP35), or None."""
    registry, key = (fact.format_registry or "").strip(), (fact.format_key or "").strip()
    return key if registry.casefold() == "pronom" and _PUID.fullmatch(key) else None


LOB_ID = re.compile(
    r"(?:[A-Za-z_][A-Za-z0-9_-]*\.)?s[0-9]+\.t[0-9]+\.c[0-9]+(?:\.[ua][0-9]+)*\.r[0-9]+(?:\.p[0-9]+)?",
    re.ASCII,
)
"""The file/@ID of a LOB or part, which may have an archive's name as prefix."""


def is_of_lob(identifier: str | None, groups: Iterable[str] = ()) -> bool:
    """Return whether a file is a LOB or a part of one, by its ID or its group."""
    return LOB_ID.fullmatch(identifier or "") is not None or any(
        each == SPLIT_LOBS or SEGMENT_GROUP.fullmatch(each) for each in groups
    )


def is_auxiliary(groups: tuple[str, ...], path: tuple[str, ...] | None) -> bool:
    """Return whether a file is documentation, a schema or a METS instead of data (CSIP)."""
    return any(each.partition("/")[0] in _AUXILIARY for each in groups) or (
        path is not None and is_mets_name(path[-1])
    )


def is_representation(path: tuple[str, ...]) -> bool:
    """Return whether a METS is right in the folder of a representation (CSIP)."""
    return path[-3:-2] == (REPRESENTATIONS_FOLDER,)


def split_lob(mptr: Mptr) -> str | None:
    """Return the LOB whose part an mptr names: the LABEL of the div around the part's; or None."""
    label = mptr.div_labels[-2] if len(mptr.div_labels) > 1 else None
    return label if label is not None and LOB_ID.fullmatch(label) else None


_HEXADECIMAL = b"0123456789ABCDEFabcdef"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRun:
    """Files of a run: the values that they share, and the others as columns."""

    algorithm: str
    line: int
    step: int
    ids: Sequence[str]
    groups: Sequence[str] | None
    sizes: Sequence[int]
    digests: Sequence[str]
    hrefs: Sequence[str]
    places: Sequence[str] | None

    @property
    def columns(self) -> tuple[Sequence[Any] | None, ...]:
        """The columns of hrefs, IDs, sizes, digests, GROUPIDs and SEQs; the last two may be None."""
        return self.hrefs, self.ids, self.sizes, self.digests, self.groups, self.places


def plain_files(run: Run) -> PlainRun | None:
    """Return the columns of files that all have ID, SIZE, CHECKSUM and a plain href, or None."""
    ids, hrefs = run.columns.get("id"), run.columns.get("href")
    sizes = _sizes(run.columns.get("size", ()))
    algorithm, found = _digests(run)
    if ids is None or hrefs is None or sizes is None or algorithm is None or not uris.are_plain(hrefs):
        return None
    return PlainRun(
        algorithm=algorithm,
        line=run.line,
        step=run.step,
        ids=list(map(str.strip, ids)),
        groups=run.columns.get("groupid"),
        sizes=sizes,
        digests=found,
        hrefs=hrefs,
        places=run.columns.get("seq"),
    )


def _sizes(texts: Sequence[str]) -> Sequence[int] | None:
    lengths, text = set(map(len, texts)) or {0}, "".join(texts)
    if min(lengths) < 1 or max(lengths) > _SIZE_DIGITS or not (text.isascii() and text.isdigit()):
        return None
    return list(map(int, texts))


def _digests(run: Run) -> tuple[str | None, Sequence[str]]:
    """Return the algorithm of all CHECKSUMs and their values; None if any is malformed."""
    kinds, values = run.columns.get("checksum_type", ()), run.columns.get("checksum", ())
    algorithm = digests.algorithm_name(kinds[0]) if kinds and kinds.count(kinds[0]) == len(kinds) else None
    text = "".join(values)
    if algorithm is None or set(map(len, values)) != {2 * digests.OCTETS[algorithm]}:
        return None, ()
    if not text.isascii() or text.encode().translate(None, _HEXADECIMAL):
        return None, ()
    return algorithm, values if text == text.lower() else [each.lower() for each in values]


def has_archive(file: reader.File, run: Run) -> bool:
    """Return whether a file of a run may be an archive."""
    return ARCHIVES in file.groups or SIARD in "\n".join(run.columns.get("href", ())).lower()


def may_be_children(file: reader.File, names: str) -> bool:
    """Return whether files with these names may be the METS of children."""
    return is_of_children(file.groups) or PLAIN_METS in names.lower()


TO_DATA = 4
"""The number of names on the path of a representation's data: IP, representations, one of them, data."""
