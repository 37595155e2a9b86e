"""Read shards of any writer, find their files below the granted root, and read their bytes.

Files are found by URL, path or name. Nothing outside the root is opened, no link is followed, and a URL is
never fetched. A reference that fits several different files is refused, and so is a name found in another
folder while the URL's folder exists: then the file is missing, and the one found is a different file.
"""

from __future__ import annotations

import errno
import io
import json
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

from lxml import etree

from metspack import safexml, uris
from metspack.errors import ConfigError, SourceError
from metspack.files import reading, release, walking
from metspack.files.paths import Names
from metspack.restoring.shards.writing import UNIT
from metspack.system import os

_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}
_FILES = "Only regular files are read, through folders and no link."
_NEITHER = "A file of a shard has a file_url, or a file_name, or both."


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFile:
    """A shard's reference to a file, as written; ``where`` is its place for messages."""

    url: str | None
    name: str | None
    where: str
    offset: str = "0"
    length: str = "0"
    units: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundExtent:
    """A stretch of a found file: its names below the root, and offset and length in bytes."""

    path: Names
    offset: int = 0
    length: int


class ShardFolder:
    """Places of files below ``root``; all folders are searched once, if necessary."""

    def __init__(self, root: Path, files: Iterable[NamedFile]) -> None:
        self._root = root
        self._names = {each.name for each in files if each.name}
        self._listed: list[Names] | None = None

    def find(self, file: NamedFile) -> FoundExtent:
        """Return the whole of a file that exists.

        A relative or ``file:`` URL locates it. Where the file is missing or outside, and for every other URL,
        it is ``file_name`` or an end of the URL's path below the root, or in the only folder with a file of
        that name. Raises ``SourceError`` for no file, for several different ones, and for a name with
        folders in it.
        """
        _check(file)
        stated: Names | None = None
        refused: SourceError | None = None
        if file.url and _is_local(file.url):
            try:
                stated = self._stated(file, file.url)
            except SourceError as error:
                refused = error
        if stated is not None and (place := self._one(file, [stated])) is not None:
            return place
        if refused is not None and not file.name:
            raise refused
        candidates = [stated] if stated is not None else []
        if file.name or stated is None:
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

    def _stated(self, file: NamedFile, url: str) -> Names:
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

    def _one(self, file: NamedFile, candidates: Iterable[Names]) -> FoundExtent | None:
        """Return the only file at some names, or None; raises ``SourceError`` for several."""
        found: dict[tuple[int, int], FoundExtent] = {}
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
            place = FoundExtent(path=path, length=status.st_size)
            found.setdefault((status.st_dev, status.st_ino), place)
        places = list(found.values())
        if len(places) > 1:
            raise SourceError(
                f"{file.where}: {len(places)} files fit: {', '.join('/'.join(each.path) for each in places)}",
                hint="Remove the files that are not meant, or name a folder without them with --root.",
            )
        return places[0] if places else None

    def _missing_from(self, candidates: Iterable[Names]) -> str | None:
        """Return the first folder of a candidate that exists below the root, or None."""
        for path in candidates:
            if len(path) > 1:
                try:
                    release(reading.opened_folder(self._root, path[:1]))
                except OSError:
                    continue
                return path[0]
        return None

    def _elsewhere(self, name: str) -> list[Names]:
        """Return the regular files with a name in all folders, sorted."""
        if self._listed is None:
            self._listed = sorted(self._below())
        return [path for path in self._listed if path[-1] == name]

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
                hint="A file that is not at its URL is searched for in all folders.",
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
    scheme = _SCHEME.match(url)
    return scheme is None or scheme[1].lower() == "file"


def _ends(url: str | None) -> Iterator[Names]:
    """Yield the path of a URL and every end of it, the longest first."""
    try:
        path = uris.joined((), uris.parsed(urlsplit(url or "").path))
    except (ValueError, uris.ReferenceRefused):
        return
    for start in range(len(path)):
        yield path[start:]


_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]+):")
_LONGEST = 64_000_000
_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)
_SHOWN = 20
_PEEKED = 1 << 10
_BLOCK = 1 << 13
_FORM = (
    "A shard file is JSON as metspack shards --json writes it, one object after the other or in an array, or "
    "XML with a shard_metadata element."
)
_UNITS = (
    "Shards of broadcasts count seconds, which only a program that knows the format can turn into bytes. "
    "If this one counts bytes, add --unit bytes."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundShard:
    """A shard whose files were found below ``root``; its bytes are the extents', in order."""

    root: Path
    extents: tuple[FoundExtent, ...]

    @property
    def size(self) -> int:
        """The number of its bytes; those of overlapping extents count each time."""
        return sum(each.length for each in self.extents)

    def cut(self, offsets: range) -> FoundShard:
        """Return the shard of this shard's bytes at ``offsets``, which must be within it."""
        extents = []
        start = 0
        for each in self.extents:
            first = max(offsets.start - start, 0)
            length = min(offsets.stop - start, each.length) - first
            if length > 0:
                extents.append(replace(each, offset=each.offset + first, length=length))
            start += each.length
        return replace(self, extents=tuple(extents))


def read_shard(path: Path, *, root: Path, unit: str | None = None, lob: str | None = None) -> FoundShard:
    """Return the shard that a file describes, its files found below ``root``.

    ``lob`` (or the pid) selects one of several; ``unit``, which can only be ``"bytes"``, is the unit of
    numbers where the file lacks it. Extents may overlap. Raises ``SourceError`` naming file and line for
    anything that is not a shard, counts another unit, or refers to a file that is missing, too short, or
    outside ``root``; ``ConfigError`` for another ``unit``.
    """
    if unit not in {None, UNIT}:
        raise ConfigError(f"the unit {unit!r} is not known; expected {UNIT!r}", hint=_UNITS)
    extents = []
    files = _files(path, lob)
    places = ShardFolder(root, files)
    for file in files:
        for each in file.units:
            _check_unit(file, each, unit)
        extents.append(_extent(places, file))
    if not extents:
        raise SourceError(f"{path}: the shard has no file", hint=_FORM)
    return FoundShard(root=root, extents=tuple(extents))


def read_bytes(shard: FoundShard) -> Iterator[bytes]:
    """Yield a shard's bytes in blocks; raises ``SourceError`` for an unreadable or cut file."""
    for each in shard.extents:
        left = each.length
        try:
            with reading.opening(shard.root, each.path) as descriptor:
                for block in reading.chunks(descriptor, each.offset, each.offset + each.length):
                    left -= len(block)
                    yield block
        except OSError as error:
            raise SourceError(f"{'/'.join(each.path)} cannot be read: {error.strerror}") from None
        if left:
            raise SourceError(
                f"{'/'.join(each.path)} ended {left:,} bytes early: it was cut while it was read",
                hint="Wait until nothing else writes to it and start again.",
            )


def _files(path: Path, lob: str | None) -> list[NamedFile]:
    try:
        descriptor = reading.opened(path)
    except OSError as error:
        raise SourceError(
            f"{path} cannot be opened: {error.strerror}", hint="Name a file that describes a shard."
        ) from None
    with open(descriptor, "rb") as file:
        head = file.peek(_PEEKED)[:_PEEKED].removeprefix(b"\xef\xbb\xbf").lstrip()
        if head[:1] in {b"{", b"["}:
            with io.TextIOWrapper(file, "utf-8-sig", "surrogateescape") as text:
                return _chosen(path, _of_json(path, text, lob), lob)
        data = file.read(_LONGEST + 1)
    if len(data) > _LONGEST:
        raise SourceError(
            f"{path}: has more than {_LONGEST:,} bytes; expected one shard, or a few",
            hint="Write the shard of one LOB to a file, or use the JSON form, which is read line by line.",
        )
    try:
        root = safexml.tree(data)
    except safexml.XmlError as error:
        raise SourceError(f"{path} line {error.line}: {error.message}", hint=error.hint or _FORM) from None
    return _chosen(path, _of_xml(path, root, lob), lob)


def _chosen(path: Path, found: Iterator[tuple[str, list[NamedFile]]], lob: str | None) -> list[NamedFile]:
    """Return the files of the shard found; raises ``SourceError`` unless it is exactly one."""
    some = list(islice(found, _SHOWN + 1))
    if len(some) == 1:
        return some[0][1]
    if some:
        count = f"more than {_SHOWN}" if len(some) > _SHOWN else len(some)
        raise SourceError(
            f"{path} has {count} shards: {', '.join(name for name, _ in some[:_SHOWN])}; expected one",
            hint="Name the LOB: --lob ID.",
        )
    which = "no shard" if lob is None else f"no shard of {lob!r}"
    raise SourceError(f"{path} has {which}", hint=_FORM)


def _of_json(path: Path, file: TextIO, lob: str | None) -> Iterator[tuple[str, list[NamedFile]]]:
    for where, shard in _values(path, file):
        if not isinstance(shard, dict):
            raise SourceError(f"{where}: is not an object", hint=_FORM)
        if lob is None or lob in (shard.get("lob"), shard.get("pid")):
            yield str(shard.get("lob")), _json_files(where, shard)


def _values(path: Path, file: TextIO) -> Iterator[tuple[str, Any]]:
    """Yield the values of JSON, one after the other or in arrays, each with its place."""
    decoder, text, line = json.JSONDecoder(), "", 1
    # The last value may be incomplete: it is decoded again once twice as much is read.
    while block := file.read(min(max(_BLOCK, len(text)), _LONGEST - len(text))):
        text += block
        with suppress(ValueError, RecursionError):
            while rest := text.lstrip():
                line += text[: len(text) - len(rest)].count("\n")
                text = rest
                value, end = decoder.raw_decode(text)
                if isinstance(value, list):
                    yield from (
                        (f"{path} shard {number}", each) for number, each in enumerate(value, start=1)
                    )
                else:
                    yield f"{path} line {line}", value
                line += text[:end].count("\n")
                text = text[end:]
    if text.strip():
        raise SourceError(f"{path} line {line}: is not JSON of at most {_LONGEST:,} characters", hint=_FORM)


_FIELDS = (
    ("offset", {int}, "a whole number"),
    ("length", {int}, "a whole number"),
    ("url", {str, type(None)}, "a text"),
    ("name", {str, type(None)}, "a text"),
)


def _json_files(where: str, shard: Mapping[str, Any]) -> list[NamedFile]:
    files = shard.get("files")
    if not isinstance(files, list) or not all(isinstance(each, dict) for each in files):
        raise SourceError(f"{where}: the shard has no list of files", hint=_FORM)
    read = []
    for number, each in enumerate(files, start=1):
        here = f"{where}, file {number}"
        for name, kinds, expected in _FIELDS:
            if type(found := each.get(name)) not in kinds:
                raise SourceError(f"{here}: has the {name} {found!r}; expected {expected}", hint=_FORM)
        unit = shard.get("unit")
        read.append(
            NamedFile(
                url=each.get("url"),
                name=each.get("name"),
                offset=str(each["offset"]),
                length=str(each["length"]),
                units=(unit if unit is None else str(unit),),
                where=here,
            )
        )
    return read


def _of_xml(path: Path, root: etree._Element, lob: str | None) -> Iterator[tuple[str, list[NamedFile]]]:
    for element in root.iter("{*}shard_metadata"):
        above = element.getparent()
        names = [None if above is None else above.get(name) for name in ("lob", "pid")]
        if lob is None or lob in names:
            files = [_xml_file(path, each) for each in element.iterchildren("{*}file")]
            yield str(names[0] or names[1] or f"line {element.sourceline}"), files


def _xml_file(path: Path, element: etree._Element) -> NamedFile:
    where = f"{path} line {element.sourceline}"
    held: dict[str, etree._Element] = {}
    for child in element.iterchildren("{*}*"):
        name = etree.QName(child).localname
        if name in held:
            raise SourceError(f"{where}: the file has two {name} elements; expected one", hint=_FORM)
        held[name] = child
    numbers = ("program_start_offset", "program_clip_length")
    for name in numbers:
        if name not in held:
            raise SourceError(f"{where}: the file has no {name}", hint=_FORM)
    texts = {name: (child.text or "").strip(uris.WHITE_SPACE) for name, child in held.items()}
    return NamedFile(
        url=texts.get("file_url"),
        name=texts.get("file_name"),
        offset=texts["program_start_offset"],
        length=texts["program_clip_length"],
        units=tuple(held[name].get("unit") for name in numbers),
        where=where,
    )


def _check_unit(file: NamedFile, stated: str | None, given: str | None) -> None:
    if stated is None and given is None:
        raise SourceError(
            f'{file.where}: the unit of its offset and length is missing; expected unit="bytes"', hint=_UNITS
        )
    if stated is not None and stated.strip().lower() != UNIT:
        raise SourceError(
            f"{file.where}: its offset and length count {stated!r}; expected {UNIT!r}",
            hint="Only a program that knows the format of the file can cut it there.",
        )


def _number(file: NamedFile, name: str, text: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        what = "is negative" if text.startswith("-") else "is not a number of bytes"
        raise SourceError(
            f"{file.where}: its {name} {text[:100]!r} {what}; expected 0 or more",
            hint="Offsets count from the start of the file.",
        )
    return int(text)


def _extent(places: ShardFolder, file: NamedFile) -> FoundExtent:
    offset, length = _number(file, "offset", file.offset), _number(file, "length", file.length)
    place = places.find(file)
    if offset + length > place.length:
        raise SourceError(
            f"{file.where}: asks for bytes {offset:,} to {offset + length:,} of {'/'.join(place.path)}, "
            f"which has {place.length:,} bytes",
            hint="The shard is of another version of the file, or counts another unit than bytes.",
        )
    return replace(place, offset=offset, length=length)
