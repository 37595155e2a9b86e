"""Names and identifiers, made from what they name and from nothing else; pure."""

from __future__ import annotations

import hashlib
import re
import uuid

from metspack.errors import ConfigError
from metspack.siard.markup import Element

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "metspack.package")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_NOT_IN_NCNAMES = re.compile(r"[^A-Za-z0-9_.-]")
_OBJID = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})+")
_NOT_IN_IDENTITY = frozenset({"lobFolder", "folder", "messageDigest"})


def package_name(stem: str) -> str:
    """Return the name for the .siard, the folders and the ids, made from a file's stem.

    Characters outside ``[A-Za-z0-9_-]`` become ``_``: no dots, by recommendation 0.16, revision
    0.10. Raises ``ConfigError`` when nothing is left to name it by.
    """
    name = _NOT_IN_NAMES.sub("_", stem)
    if not re.search(r"[A-Za-z0-9]", name):
        raise ConfigError(f"{stem!r} gives no name for the package", hint="Choose one with --name.")
    return name


def given_name(name: str) -> str:
    """Return a name that a person chose, as ``package_name`` would make it.

    Raises ``ConfigError`` for an empty one and for one with a slash.
    """
    if not name.strip():
        raise ConfigError("the name is empty", hint="Give --name a word such as Northwind, or leave it out.")
    if "/" in name or "\\" in name or "\0" in name:
        raise ConfigError(
            f"the name {name!r} holds a path separator",
            hint="A name is one word: --name Northwind, without a folder.",
        )
    return package_name(name)


def given_objid(objid: str) -> str:
    """Return an OBJID that a person chose; raises ``ConfigError`` for one that cannot be a link target.

    The links name it in ``xlink:href`` (an anyURI), letter by letter, so it may hold no space and
    nothing that a URI reference may not hold.
    """
    if not objid.strip():
        raise ConfigError("the OBJID is empty", hint="Give --id a value, or leave it out to have one made.")
    if not _OBJID.fullmatch(objid):
        wrong = sorted({c for c in objid if not _OBJID.fullmatch(c)})
        raise ConfigError(
            f"the OBJID {objid!r} holds {' '.join(repr(c) for c in wrong)}, which cannot stand in a link",
            hint="Use letters, digits and . _ - : such as ID.AVID.RA.18005 or urn:uuid:...",
        )
    return objid


def package_objid(name: str, metadata: Element) -> str:
    """Return the OBJID of a parent IP: ``urn:uuid:`` and a uuid5 over the name and the metadata.

    Folders and digests are left out, and white space between elements does not count, so that an
    archive whose LOBs were moved and brought back has the identity it began with.
    """
    taken = hashlib.sha256(name.encode())
    _take(taken, metadata)
    return f"urn:uuid:{uuid.uuid5(_NAMESPACE, taken.hexdigest())}"


def loose_objid(name: str, fingerprint: str) -> str:
    """Return the OBJID of a parent IP without an archive: a uuid5 over the name and what its LOBs are."""
    return f"urn:uuid:{uuid.uuid5(_NAMESPACE, f'{name} {fingerprint}')}"


def _take(taken: hashlib._Hash, element: Element) -> None:
    words = [element.name, *(f"{key}={value}" for key, value in sorted(element.attributes.items()))]
    if not element.children:
        words.append(element.text.strip())
    taken.update(b"\x00".join(word.encode() for word in words) + b"\x01")
    for child in element.children:
        if child.name not in _NOT_IN_IDENTITY:
            _take(taken, child)
    taken.update(b"\x02")


def element_id(objid: str, purpose: str) -> str:
    """Return an xml:id for an element without a name of its own: ``ID`` and a uuid5 (deterministic)."""
    return f"ID{uuid.uuid5(_NAMESPACE, f'{objid} {purpose}')}"


def ncname(text: str) -> str:
    """Return ``text`` as an NCName: what it may not hold becomes ``_``, and a first digit gets one before."""
    name = _NOT_IN_NCNAMES.sub("_", text)
    return name if re.match(r"[A-Za-z_]", name) else f"_{name}"


def child_objid(segment: str) -> str:
    """Return the OBJID of a child IP: ``ID_Northwind_lobseg_0_mets`` (recommendation 0.16)."""
    return f"ID_{segment}_mets"
