"""mapping.txt of SIARD 2.2 (S_8.1.2-0): the URIs to which segment folders were moved."""

from __future__ import annotations

import errno
from pathlib import Path

from metspack.errors import ConfigError, SourceError
from metspack.files import reading
from metspack.locations.grantedroots import Mapped
from metspack.uris import Kind, Reference, ReferenceRefused, collapsed, parsed, shown, walked

NAME = "mapping.txt"
_LINE = 1 << 16
_INSIST = "name it with --mapping to insist"


class LineRefused(SourceError):  # noqa: N818 -- the state of a line
    """A line other than a segment folder and a URI."""


def parsed_line(line: bytes) -> tuple[tuple[str, ...], str] | None:
    """Return a segment's folder and its new URI, or None for an empty line.

    White space separates the two. The folder is below that of the .siard; the URI is as written. Raises
    ``LineRefused``.
    """
    try:
        text = line.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise LineRefused("is not UTF-8", hint="Write the mapping in UTF-8.") from None
    if not text:
        return None
    words = text.rsplit(None, 1)
    if len(words) != 2:  # noqa: PLR2004 -- a folder and a URI
        raise LineRefused(
            f"{shown(text)} is one word; expected a segment folder, a space and a URI",
            hint="As in SIARD 2.2 S_8.1.2-0: Northwind_lobs/s0_t2_c4/seg_0/ file:///srv/store/.",
        )
    try:
        folder = parsed(words[0])
    except ReferenceRefused as refused:
        raise LineRefused(refused.message, hint=refused.hint) from None
    names = collapsed(folder.segments)
    if folder.kind is not Kind.RELATIVE or ".." in names or not names:
        raise LineRefused(
            f"maps {shown(words[0])}; expected a folder below that of the .siard",
            hint="The first word is relative to the folder that holds the .siard and has no .. in it.",
        )
    return names, words[1]


def read_mapping(path: Path) -> Mapped:
    """Return the segment folders of a mapping file that a person named, each with its URI.

    Empty lines are ignored. A relative URI begins in the .siard's folder. Raises ``ConfigError`` for an
    unreadable file, and, naming the line, for one that is not a folder and a URI without a host.
    """
    try:
        descriptor = reading.opened(path)
    except (OSError, SourceError) as error:
        why = error.strerror if isinstance(error, OSError) else error.message
        raise ConfigError(
            f"the mapping file {path} cannot be opened: {why}",
            hint="Name the file that says where the segments are: --mapping FILE.",
        ) from None
    mapping, number, refused = _read(descriptor)
    if refused is not None:
        raise ConfigError(f"{path} line {number:,}: {refused.message}", hint=refused.hint)
    return mapping


def mapping_beside(folder: Path) -> tuple[Mapped, str]:
    """Return the contents of mapping.txt beside the .siard, and a sentence if it is ignored.

    As no person named it, no link to it is followed, its text is not quoted, and with any other line, as
    notes have, all of it is ignored.
    """
    try:
        descriptor = reading.opened(folder, (NAME,))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):  # the last in a packed package
        return {}, ""
    except OSError as error:
        why = "it is a symbolic link" if error.errno == errno.ELOOP else f"{error.strerror}"
        return {}, f"{NAME} beside the archive was not read: {why}; {_INSIST}"
    except SourceError:
        return {}, f"{NAME} beside the archive was not read: it is not a regular file"
    mapping, number, refused = _read(descriptor)
    if refused is not None:
        return {}, f"{NAME} beside the archive was not understood: line {number:,}; {_INSIST}"
    return mapping, ""


def _read(descriptor: int) -> tuple[Mapped, int, SourceError | None]:
    """Read and close a mapping file; return the mapping, the lines read, the last one's error."""
    found: dict[tuple[str, ...], Reference] = {}
    number = 0
    with open(descriptor, "rb") as file:
        while line := file.readline(_LINE):
            number += 1
            try:
                if (mapped := parsed_line(line)) is not None:
                    _put(found, *mapped)
            except (LineRefused, ReferenceRefused) as refused:
                return {}, number, refused
    return found, number, None


def _put(found: dict[tuple[str, ...], Reference], folder: tuple[str, ...], uri: str) -> None:
    target = parsed(uri)
    if target.kind is not Kind.RELATIVE:
        walked((), target.segments)
    if found.setdefault(folder, target) != target:
        raise LineRefused(
            f"maps {shown('/'.join(folder))}, which another line maps elsewhere",
            hint="Each segment folder lies in one place; keep one of the lines.",
        )
