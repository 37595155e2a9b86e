"""Places of shards' files below the granted root: by URL, path or name.

Nothing outside the root is opened, no link is followed, and a URL is never fetched. What fits several
different files is refused, and so is a name that is found in some other folder while the one that the
URL names is there: then the file is missing, and the other one is another.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from metspack import uris
from metspack.errors import SourceError
from metspack.files import reading, walking

_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}
_FILES = "Only regular files are read, through folders and no link."
_NEITHER = "A file of a shard has a file_url, or a file_name, or both."

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFile:
    """A shard's reference to a file; ``where`` is its place in the shard, for messages."""

    url: str | None
    name: str | None
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file that was found: its names below the root, and its size."""

    path: Names
    size: int


class ShardFolder:
    """Places of files below ``root``; all folders are searched once, when they must be."""

    def __init__(self, root: Path, files: Iterable[NamedFile]) -> None:
        self._root = root
        self._names = {each.name for each in files if each.name}
        self._listed: dict[str, list[Names]] | None = None

    def found(self, file: NamedFile) -> FoundFile:
        """Return the place of a file.

        A relative or ``file:`` URL says it. Where nothing is there or that is outside, and for every other
        URL, it is at ``file_name`` or an end of the URL's path below the root, or in the only folder with
        a file of that name. Raises ``SourceError`` for none, for several different ones, and for a name
        with folders in it.
        """
        _check(file)
        said: Names | None = None
        refused: SourceError | None = None
        if file.url and _is_local(file.url):
            try:
                said = self._said(file, file.url)
            except SourceError as error:
                refused = error
        if said is not None and (place := self._one(file, [said])) is not None:
            return place
        if refused is not None and not file.name:
            raise refused
        candidates = [said] if said is not None else []
        if file.name or said is None:
            candidates += [(file.name,)] if file.name else []
            candidates += _ends(file.url)
        candidates = list(dict.fromkeys(candidates))
        place = self._one(file, candidates)
        missing = self._missing_from(candidates)
        if place is None and file.name and missing is None:
            place = self._one(file, self._elsewhere(file.name))
        if place is None:
            raise self._absent(file, candidates, missing, refused)
        return place

    def _said(self, file: NamedFile, url: str) -> Names:
        """Return the names below the root of a local URL; raises ``SourceError`` for one outside."""
        try:
            reference = uris.parsed(url)
            names = uris.joined((), reference)
        except uris.ReferenceRefused as error:
            raise SourceError(f"{file.where}: {error.message}", hint=error.hint) from None
        if reference.kind is uris.Kind.ABSOLUTE:
            # A person may have written the root through a link: both forms name it.
            for form in (os.path.realpath(self._root), os.path.abspath(self._root)):
                above = tuple(name for name in form.split("/") if name)
                if names[: len(above)] == above and len(names) > len(above):
                    return names[len(above) :]
        elif names:
            return names
        raise SourceError(
            f"{file.where}: {uris.shown(url)} lies outside {self._root}, the folder that was granted",
            hint="If the file is to be read, name a folder above it with --root.",
        )

    def _one(self, file: NamedFile, candidates: Iterable[Names]) -> FoundFile | None:
        """Return the one file at some names, None for none; raises ``SourceError`` for several."""
        found: dict[tuple[int, int], FoundFile] = {}
        for path in candidates:
            try:
                with reading.opening(self._root, path) as descriptor:
                    status = os.fstat(descriptor)
            except OSError as error:
                if error.errno in _ABSENT:
                    continue
                raise SourceError(
                    f"{file.where}: {'/'.join(path)} cannot be opened: {error.strerror}", hint=_FILES
                ) from None
            except SourceError as error:
                raise SourceError(f"{file.where}: {error.message}", hint=_FILES) from None
            found.setdefault((status.st_dev, status.st_ino), FoundFile(path=path, size=status.st_size))
        places = list(found.values())
        if len(places) > 1:
            raise SourceError(
                f"{file.where}: {len(places)} files fit: {', '.join('/'.join(each.path) for each in places)}",
                hint="Remove the files that are not meant, or name a folder without them with --root.",
            )
        return places[0] if places else None

    def _missing_from(self, candidates: Iterable[Names]) -> str | None:
        """Return the folder below the root that a URL begins with, itself or an end of it."""
        for path in candidates:
            if len(path) > 1:
                try:
                    reading.release(reading.opened_folder(self._root, path[:1]))
                except OSError:
                    continue
                return path[0]
        return None

    def _elsewhere(self, name: str) -> list[Names]:
        """Return the regular files with a name in all folders, sorted."""
        if self._listed is None:
            self._listed = {}
            for path in self._below():
                if path[-1] in self._names:
                    self._listed.setdefault(path[-1], []).append(path)
        return sorted(self._listed.get(name, ()))

    def _below(self) -> Iterator[Names]:
        top = os.fspath(self._root)
        for folder, folders, files in os.walk(top, onerror=self._unreadable):
            above = tuple(each for each in os.path.relpath(folder, top).split("/") if each != ".")
            if len(above) >= walking.DEEPEST:
                folders.clear()
            for name in files:
                if name in self._names and stat.S_ISREG(os.lstat(f"{folder}/{name}").st_mode):
                    yield (*above, name)

    def _unreadable(self, error: OSError) -> None:
        if error.errno not in _ABSENT:
            raise SourceError(
                f"{self._root}: the folder {error.filename} cannot be read: {error.strerror}",
                hint="All folders are looked through for a file that is not where its URL says.",
            ) from None

    def _absent(
        self, file: NamedFile, candidates: list[Names], missing: str | None, refused: SourceError | None
    ) -> SourceError:
        looked = ", ".join("/".join(each) for each in candidates)
        if missing is not None:
            looked += f"; the folder {missing} is there, the file is not"
        elif file.name:
            looked += f", and for {file.name} in all folders"
        why = "" if refused is None else f" ({refused.message.removeprefix(f'{file.where}: ')})"
        return SourceError(
            f"{file.where}: the file {file.url or file.name} is not below {self._root}; "
            f"looked for {looked}{why}",
            hint="Nothing is fetched from elsewhere: name the folder that holds the file with --root.",
        )


def _check(file: NamedFile) -> None:
    if not file.url and not file.name:
        raise SourceError(f"{file.where}: the file has neither a URL nor a name", hint=_NEITHER)
    if file.name and (file.name in {".", ".."} or "/" in file.name or "\0" in file.name):
        raise SourceError(
            f"{file.where}: {file.name[:100]!r} is not the name of a file",
            hint="A file_name has no folders in it.",
        )


def _is_local(url: str) -> bool:
    """Return whether a URL names a file here: without a scheme, with ``file:``, or on a drive."""
    split = _split(url)
    return split is not None and (split.scheme in {"", "file"} or len(split.scheme) == 1)


def _split(url: str) -> SplitResult | None:
    """Return the components of a URL, None for one whose host is none."""
    try:
        return urlsplit(url)
    except ValueError:
        return None


def _ends(url: str | None) -> Iterator[Names]:
    """Yield the path of a URL and every end of it, the longest first."""
    split = _split(url or "")
    if split is None or not split.path:
        return
    try:
        path = uris.joined((), uris.parsed(split.path))
    except uris.ReferenceRefused:
        return
    for start in range(len(path)):
        yield path[start:]
