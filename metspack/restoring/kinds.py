"""What kind of file a package has recorded each of its LOBs as: media type, and format by PRONOM."""

from __future__ import annotations

from functools import cached_property

from metspack.errors import MetspackError
from metspack.mediatypes import DEFAULT, is_media_type
from metspack.model import Recorded
from metspack.restoring.formats import PREMIS, SplitFormat, split_formats
from metspack.restoring.held import HeldLob
from metspack.restoring.package import Package


class Kinds:
    """The kinds of a package's LOBs, as METS says them; of those in parts of a CSIP package, as PREMIS does.

    ``unread`` says why PREMIS could not be read, "" where it could or was not needed.
    """

    def __init__(self, package: Package) -> None:
        self._package = package
        self.unread = ""

    def recorded(self, lob: HeldLob) -> Recorded | None:
        """Return the kind of a LOB, None where nothing more is said than that it is bytes."""
        kind = lob.format
        if kind is None and lob.is_split and (found := self._split.get(lob.id)) is not None:
            # PREMIS is believed of the LOB that it means, which has as many bytes.
            kind = found.format if found.size == str(lob.size) else None
        said = (lob.media_type or "").strip()
        media_type = said if is_media_type(said) else DEFAULT
        return (
            None if media_type == DEFAULT and kind is None else Recorded(media_type=media_type, format=kind)
        )

    @cached_property
    def _split(self) -> dict[str, SplitFormat]:
        """What PREMIS says of LOBs in parts: few, for each has more bytes than a segment may hold."""
        representation = self._package.representation
        if representation is None:
            return {}
        path = (*representation, *PREMIS)
        try:
            with self._package.index.files.document(path) as document:
                return {each.lob: each for each in split_formats(document.chunks())}
        except FileNotFoundError:
            return {}
        except (OSError, MetspackError) as error:
            why = error.message if isinstance(error, MetspackError) else error.strerror
            self.unread = f"{'/'.join(path)} cannot be read, so formats of split LOBs are not known: {why}"
            return {}
