"""The archive's own messageDigest, compared with its content before a package is made of it."""

from __future__ import annotations

from collections.abc import Iterator

from metspack.progress import Progress
from metspack.siard import rewriting
from metspack.siard.archive import Archive


def words(archive: Archive, progress: Progress, *, rewritten: bool) -> Iterator[str]:
    """Yield what is to be known of digests that are not those of the content.

    ``rewritten``: the package gets an archive with new digests; else the archive is left as it is.
    """
    if not archive.metadata.digests:
        return
    if not rewriting.comparable(archive):
        yield (
            "the archive's messageDigest could not be compared with its content: it is of the zip file "
            f"that the archive was before it was unpacked or wrapped{_NEW if rewritten else ''}"
        )
        return
    progress.stage("Comparing the archive's messageDigest", rewriting.sealed(archive))
    for said, found in rewriting.stale_digests(archive, progress.advance):
        yield (
            f"the archive's {said.algorithm} messageDigest is {said.value}, but its content has "
            f"{found.value}; it was changed after it was sealed{_RIGHT if rewritten else _LEFT}"
        )


_NEW = " (the package gets a new one)"
_RIGHT = " (the package gets the right one)"
_LEFT = ", and is left as it is (a full check says so)"
