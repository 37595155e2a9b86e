"""A mapping.txt: where the segment folders of an archive were moved to (SIARD 2.2 S_8.1.2-0)."""

from __future__ import annotations

import errno
from pathlib import Path

from metspack import reading
from metspack.errors import ConfigError, SourceError
from metspack.siard.granted import Mapped
from metspack.uris import Kind, Reference, ReferenceRefused, collapsed, parsed, shown, walked

NAME = "mapping.txt"
_LINE = 1 << 16
_INSIST = "name it with --mapping to insist"


class _Misread(SourceError):  # noqa: N818 -- says what became of a line
    """A line that says nothing that is understood; ``number`` is from 1."""

    def __init__(self, message: str, *, hint: str, number: int) -> None:
        super().__init__(message, hint=hint)
        self.number = number


def read_mapping(path: Path) -> Mapped:
    """Return what a mapping file that a person named says: each segment folder and the URI of where it lies.

    One folder, white space and a URI on each line; empty lines mean nothing. A relative URI is from
    the .siard's folder. Raises ``ConfigError`` when it cannot be read, naming the line that says anything
    else, or a host.
    """
    try:
        descriptor = reading.opened(path)
    except (OSError, SourceError) as error:
        why = error.strerror if isinstance(error, OSError) else error.message
        raise ConfigError(
            f"the mapping file {path} cannot be opened: {why}",
            hint="Name the file that says where the segments are: --mapping FILE.",
        ) from None
    try:
        return _mapping(descriptor)
    except _Misread as error:
        raise ConfigError(f"{path} line {error.number:,}: {error.message}", hint=error.hint) from None


def mapping_beside(folder: Path) -> tuple[Mapped, str]:
    """Return what the mapping.txt in the .siard's folder says, and a sentence when it was left alone.

    Nobody named it: no link is followed to it, nothing of what it says is repeated, and one that is
    not understood (notes of somebody's) means nothing.
    """
    try:
        descriptor = reading.opened(folder, (NAME,))
    except (FileNotFoundError, IsADirectoryError):
        return {}, ""
    except OSError as error:
        why = "it is a symbolic link" if error.errno == errno.ELOOP else f"{error.strerror}"
        return {}, f"{NAME} beside the archive was not read: {why}; {_INSIST}"
    except SourceError:
        return {}, f"{NAME} beside the archive was not read: it is no regular file"
    try:
        return _mapping(descriptor), ""
    except _Misread as error:
        return {}, f"{NAME} beside the archive was not understood: line {error.number:,}; {_INSIST}"


def _mapping(descriptor: int) -> Mapped:
    found: dict[tuple[str, ...], Reference] = {}
    with open(descriptor, "rb") as file:
        number = 0
        while line := file.readline(_LINE):
            number += 1
            try:
                text = line.decode("utf-8-sig")
            except UnicodeDecodeError:
                raise _Misread("is not UTF-8", hint="Write the mapping in UTF-8.", number=number) from None
            if text.strip():
                folder, target = _line(text, number)
                if found.setdefault(folder, target) != target:
                    raise _Misread(
                        f"maps {shown('/'.join(folder))}, which another line maps elsewhere",
                        hint="Each segment folder lies in one place; keep one of the lines.",
                        number=number,
                    )
    return found


def _line(text: str, number: int) -> tuple[tuple[str, ...], Reference]:
    words = text.rsplit(None, 1)
    if len(words) != 2:  # noqa: PLR2004 -- a folder and a URI
        raise _Misread(
            f"{shown(text.strip())} is one word; expected a segment folder, a space and a URI",
            hint="As in SIARD 2.2 S_8.1.2-0: Northwind_lobs/s0_t2_c4/seg_0/ file:///srv/store/.",
            number=number,
        )
    try:
        folder, target = parsed(words[0]), parsed(words[1])
        if target.kind is not Kind.RELATIVE:
            walked((), target.segments)
    except ReferenceRefused as refused:
        raise _Misread(refused.message, hint=refused.hint, number=number) from None
    names = collapsed(folder.segments)
    if folder.kind is not Kind.RELATIVE or ".." in names or not names:
        raise _Misread(
            f"maps {shown(words[0])}; expected a folder below that of the .siard",
            hint="The first word is relative to the folder that holds the .siard and has no .. in it.",
            number=number,
        )
    return names, target
