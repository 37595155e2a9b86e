"""Read the files about a bag (BagIt, RFC 8493): declaration, lists, fetch.txt, bag-info.txt."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from metspack.containers.ipreader import Content
from metspack.files import reading
from metspack.packages.digestlists import BEYOND_BAGIT, stated_path, unmarked
from metspack.packages.files import PackageTree

BAG, PAYLOAD = b"bagit.txt", b"data/"
"""The file that makes a folder a bag, and the payload's folder in it (RFC 8493, 2.1)."""
FETCH, INFORMATION = "fetch.txt", "bag-info.txt"
"""The list of files to be fetched, and the metadata of the bag (RFC 8493, 2.2)."""

_ENCODED = re.compile(rb"%(0A|0D|25)", re.IGNORECASE)
_FETCH_LINE = re.compile(rb"(\S+)[ \t]+(?:[0-9]+|-)[ \t]+([^\r\n]+?)[\r\n]*", re.DOTALL)
_OXUM = re.compile(rb"Payload-Oxum:[ \t]*([0-9]{1,99})\.([0-9]{1,99})[ \t\r]*", re.IGNORECASE)
_DECLARED = re.compile(rb"Tag-File-Character-Encoding:[ \t]*(.*)", re.IGNORECASE | re.DOTALL)
_AS_THEY_STAND = frozenset({"ascii", "utf-8", "utf-8-sig"})  # names may be in another encoding
# Python has further codecs, which are no encodings of text.
_CODEC = re.compile(r"ascii|utf-(8|16|32)\b.*|(big5|cp|euc|gb|hp|hz|iso|johab|koi8|kz|mac|ptcp|shift|tis).*")


class BagFiles:
    """The files about a bag in a tree; ``encoding`` is the declared one, once it was taken."""

    def __init__(self, tree: PackageTree) -> None:
        self._tree = tree
        self.encoding = ""
        self._codec = ""  # of an encoding that must be decoded

    def take_declaration(self) -> tuple[int, bytes] | None:
        """Take the encoding of the other files; return number and line of an unusable one."""
        with self._tree.content(BAG) as content:
            lines = enumerate(content.lines(), start=1)
            found = ((number, line, _DECLARED.fullmatch(line.strip())) for number, line in lines)
            number, line, declared = next((each for each in found if each[2]), (0, b"", None))
        if declared is None:
            return None
        self.encoding = declared[1].decode("utf-8", "replace")
        try:
            codec = codecs.lookup(self.encoding).name
        except (LookupError, ValueError):
            codec = ""
        if _CODEC.fullmatch(codec) is None:
            return number, line
        self._codec = "" if codec in _AS_THEY_STAND else codec
        return None

    def text(self, content: Content) -> tuple[list[str], Iterator[bytes]]:
        """Return the forms of a text that BagIt lacks, and its lines, with any system's line ends."""
        forms, blocks = unmarked(content.blocks(), self._codec)
        lines = (each for line in reading.lines(blocks) for each in line.splitlines())
        return [each for each in forms if each in BEYOND_BAGIT], lines

    def decoded(self, written: bytes) -> bytes:
        """Return the path that a line means: before BagIt 1.0 a per cent sign stands for itself."""
        path = written.lstrip(b" \t")
        is_so = b"%" in path and not path.startswith(b"/") and b".." not in path and self._tree.is_there(path)
        return path if is_so else _ENCODED.sub(lambda mark: bytes((int(mark[1], 16),)), path)

    def fetched(self) -> Iterator[tuple[int, bytes, bytes, bytes]]:
        """Yield number, line, path and URL of each line of fetch.txt that is not blank.

        The path of a line in another form is empty.
        """
        with self._tree.content(FETCH.encode()) as content:
            for number, line in enumerate(self.text(content)[1], start=1):
                if not line.strip():
                    continue
                found = _FETCH_LINE.fullmatch(line)
                written = b"/" if found is None else self.decoded(found[2]).replace(b"\\", b"/")
                reason, path = stated_path(written)
                is_right = found is not None and not reason
                yield number, line, path if is_right else b"", b"" if found is None else found[1]

    def payload_sums(self) -> list[tuple[int, int]]:
        """Return the bytes and files that each Payload-Oxum in bag-info.txt states for the payload."""
        with self._tree.content(INFORMATION.encode()) as content:
            found = [oxum for line in self.text(content)[1] if (oxum := _OXUM.fullmatch(line))]
        return [(int(each[1]), int(each[2])) for each in found]
