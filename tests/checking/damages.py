"""Single damages to a small package, and packages that are made to agree with them again."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metspack.checking import Level, check
from tests.packages.forge import write_manifests

_TAG = re.compile(rb"<(?:mets:)?([A-Za-z]+)((?:\s+[A-Za-z:]+=\"[^\"]*\")*)\s*/?>([^<]*)")
_ATTRIBUTE = re.compile(rb"([A-Za-z:]+)=\"([^\"]*)\"")


def is_found(package: Path, level: Level = Level.FULL) -> bool:
    """Return whether a check finds anything; it ends with the first finding."""
    return next(check(package, level), None) is not None


@contextmanager
def changed(path: Path, at: int, mask: int) -> Iterator[None]:
    """Have a byte of a file changed for a while; a mask is never 0, so that it is another byte."""
    data = path.read_bytes()
    try:
        path.write_bytes(data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :])
        yield
    finally:
        path.write_bytes(data)


@contextmanager
def swapped(path: Path, other: Path) -> Iterator[None]:
    """Have two files in each other's place for a while."""
    aside = path.with_name("aside")

    def swap() -> None:
        path.rename(aside)
        other.rename(path)
        aside.rename(other)

    swap()
    try:
        yield
    finally:
        swap()


@contextmanager
def agreeing(package: Path, path: Path) -> Iterator[None]:
    """Have the parent's METS and the manifests agree for a while with what a file has become.

    As somebody would leave it who changes a file and computes all digests anew. What the child METS says
    of a LOB is made to agree too.
    """
    held = {each: each.read_bytes() for each in package.rglob("*") if each.suffix in {".xml", ".txt"}}
    first, *below = path.relative_to(package).parts
    damaged = path
    try:
        for mets in [*([package / first / "mets.xml"] if below else []), package / "mets.xml"]:
            if mets != path:
                href = path.relative_to(mets.parent).as_posix()
                _described(mets, href, path.read_bytes())
                path = mets
        write_manifests(package)
        yield
    finally:
        for each, data in held.items():
            if each != damaged:
                each.write_bytes(data)


def _described(mets: Path, href: str, data: bytes) -> None:
    text = mets.read_text(encoding="utf-8", errors="surrogateescape")
    digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
    entry = re.compile(
        rf'SIZE="[0-9]*"([^>]*)CHECKSUM="[0-9a-f]*"([^>]*>\s*<mets:FLocat [^>]*"{re.escape(href)}")'
    )
    text, count = entry.subn(rf'SIZE="{len(data)}"\1CHECKSUM="{digest}"\2', text)
    assert count == 1, f"{mets} lists {href} {count} times"
    mets.write_text(text, encoding="utf-8", errors="surrogateescape")


def place(document: bytes, at: int) -> str:
    """Return what a byte of a METS is in: ``element@attribute``, ``element`` (its text) or ``markup``."""
    for tag in _TAG.finditer(document):
        if not tag.start() <= at < tag.end():
            continue
        element = tag[1].decode()
        for attribute in _ATTRIBUTE.finditer(document, *tag.span(2)):
            if attribute.start(2) <= at < attribute.end(2):
                return f"{element}@{attribute[1].decode()}"
        return element if tag.start(3) <= at and tag[3].strip() else "markup"
    return "markup"
