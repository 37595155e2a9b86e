"""What keeps a METS of a package from being read, as faults of the package."""

from __future__ import annotations

from metspack import safexml
from metspack.errors import MetspackError, SourceError


def unread(path: str, error: OSError | MetspackError) -> SourceError:
    """Return the fault of a METS that cannot be read."""
    if isinstance(error, safexml.XmlError):
        hint = error.hint or "The METS is damaged; get another copy of it."
        return SourceError(f"{path} line {error.line}, column {error.column}: {error.message}", hint=hint)
    if isinstance(error, MetspackError):
        return SourceError(f"{path}: {error.message}", hint=error.hint)
    return SourceError(
        f"{path} cannot be read: {error.strerror or error}",
        hint="The package is not complete, or you may not read it; metspack check tells what is missing.",
    )


def nowhere(where: str, href: str | None, refused: str | None) -> SourceError:
    """Return the fault of a METS that names a child and gives it no place; ``refused`` says why."""
    return SourceError(
        f"{where} names the child {href or 'nothing'}, "
        + (refused or "but no file of that METS with this ID gives it a place"),
        hint="metspack check tells more about the links of the package.",
    )
