"""Names and identifiers (OBJID, xml:id), each derived from the content that it names; pure."""

from __future__ import annotations

import hashlib
import re
import unicodedata
import uuid

from metspack.errors import ConfigError
from metspack.model import Notice
from metspack.siard.offsets import Element

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "metspack.package")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_NOT_IN_NCNAMES = re.compile(r"[^A-Za-z0-9_.-]")
_OBJID = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})+")
_NOT_IN_IDENTITY = frozenset({"lobFolder", "folder", "messageDigest"})


_LETTERS = {
    **dict.fromkeys("äæǽ", "ae"),
    **dict.fromkeys("öøǿœ", "oe"),
    **dict.fromkeys("đð", "d"),
    "å": "aa",
    "ü": "ue",
    "ß": "ss",
    "þ": "th",
    "ħ": "h",
    "\u0131": "i",
    "ł": "l",
    "ŋ": "ng",
    "ŧ": "t",
}
"""The ASCII spelling of Latin letters other than ASCII letters with accents, in lower case."""


def transliterated(text: str) -> str:
    """Return a text with its Latin letters in ASCII: ``Kørekort ß`` becomes ``Koerekort ss``.

    Accents are left out. Of two letters for one, the second is a capital only before a capital. Other scripts
    stay.
    """
    composed = unicodedata.normalize("NFC", text)
    return "".join(_in_ascii(each, composed[n + 1 : n + 2]) for n, each in enumerate(composed))


def _in_ascii(letter: str, following: str) -> str:
    if letter.isascii():
        return letter
    small = letter.lower()
    letters = _LETTERS.get(small)
    if letters is None:
        plain = unicodedata.normalize("NFKD", letter)
        bare = "".join(each for each in plain if not unicodedata.combining(each))
        return bare if re.fullmatch("[A-Za-z0-9]+", bare) else letter
    if letter == small:
        return letters
    return letters.upper() if following.isupper() else letters.capitalize()


def package_name(stem: str) -> str:
    """Return a package's name, for .siard, folders and ids, from the stem of a file's name.

    Latin letters are transliterated; then characters outside ``[A-Za-z0-9_-]`` become ``_``, also dots
    (recommendation 0.16, revision 0.10). A stem without such letters and digits gives ``SIARD-`` and eight
    digits of its digest, the same in either Unicode form. Raises ``ConfigError`` for a stem without any
    letter or digit.
    """
    if is_readable(stem):
        return _NOT_IN_NAMES.sub("_", transliterated(stem))
    composed = unicodedata.normalize("NFC", stem)
    if not any(each.isalnum() for each in composed):
        raise ConfigError(
            f"no package name can be made from {stem!r}: it has no letter and no digit",
            hint="Give the package a name: --name Northwind.",
        )
    return f"SIARD-{hashlib.sha256(composed.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def is_readable(stem: str) -> bool:
    """Return whether a stem has a letter or digit that a package's name can have."""
    return re.search(r"[A-Za-z0-9]", transliterated(stem)) is not None


def name_words(stem: str, given: str | None) -> tuple[Notice, ...]:
    """Return a warning where a package's name differs from the given one, or the source's stem."""
    original = stem if given is None else given
    made = package_name(original)
    if unicodedata.normalize("NFC", original) == made:
        return ()
    why = "allowed: ASCII letters, digits, _ and -" if is_readable(original) else "no ASCII letter or digit"
    words = f"renamed {original!r} to {made} ({why}); choose another name with --name"
    return (Notice("name-changed", words),)


def name_history(stem: str, given: str | None, name: str) -> tuple[str, ...]:
    """Return a note for METS on the given name, or stem, that ``name`` was made from.

    There is no note if both are the same, or if ``name`` was made from another.
    """
    original = unicodedata.normalize("NFC", stem if given is None else given)
    return (f"name of the source {original!r}",) if original != name == package_name(original) else ()


def given_name(name: str) -> str:
    """Return the name of a package from a given name, as ``package_name`` does.

    Raises ``ConfigError`` for an empty name, one with a slash, and one that is not ``is_readable``.
    """
    if not name.strip():
        raise ConfigError("the name is empty", hint="Give --name a word such as Northwind, or leave it out.")
    if "/" in name or "\\" in name or "\0" in name:
        raise ConfigError(
            f"the name {name!r} holds a path separator",
            hint="A name is one word: --name Northwind, without a folder.",
        )
    if not is_readable(name):
        raise ConfigError(
            f"the name {name!r} has no ASCII letter or digit",
            hint="Names have A to Z, a to z, 0 to 9, _ and -: --name Northwind.",
        )
    return package_name(name)


def given_objid(objid: str) -> str:
    """Return a given OBJID; raises ``ConfigError`` for one that cannot be the target of a link.

    Links have it unescaped in ``xlink:href`` (an anyURI), so that all its characters must be allowed in a URI
    reference.
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
    """Return the OBJID of a parent IP: ``urn:uuid:`` and a uuid5 of its name and metadata.

    LOB folders, digests, and white space between elements do not count, so that an archive whose LOBs were
    moved out and back again has the same OBJID.
    """
    taken = hashlib.sha256(name.encode())
    _take(taken, metadata)
    return f"urn:uuid:{uuid.uuid5(_NAMESPACE, taken.hexdigest())}"


def loose_objid(name: str, fingerprint: str) -> str:
    """Return the OBJID of a parent IP without an archive: a uuid5 of name and fingerprint."""
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
    """Return an xml:id for an element of a METS: ``ID`` and a uuid5 of OBJID and purpose."""
    return f"ID{uuid.uuid5(_NAMESPACE, f'{objid} {purpose}')}"


def ncname(text: str) -> str:
    """Return ``text`` as an NCName: Latin letters are transliterated, other characters become ``_``.

    A ``_`` also precedes a name that would not begin with a letter.
    """
    name = _NOT_IN_NCNAMES.sub("_", transliterated(text))
    return name if re.match(r"[A-Za-z_]", name) else f"_{name}"


def child_objid(segment: str) -> str:
    """Return the OBJID of a child IP: ``ID_Northwind_lobseg_0_mets`` (recommendation 0.16)."""
    return f"ID_{segment}_mets"
