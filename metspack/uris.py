"""References to files as archives and METS write them, decoded once into checked segments.

``parsed`` turns a ``file`` attribute or a ``lobFolder`` into a ``Reference``, ``located`` an ``xlink:href``
of METS, and ``joined`` walks it below a root it cannot leave. A reference is never joined as a string, and
an unsafe name is refused and never cleaned.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, unique
from typing import NoReturn
from urllib.parse import quote, unquote, unquote_to_bytes

from metspack.errors import SourceError


class ReferenceRefused(SourceError):  # noqa: N818 -- a reference is refused, nothing has gone wrong
    """A reference that is not accepted; ``rule`` is the stable name of the rule that it breaks.

    Rules: ``backslash-encoded`` ``control`` ``dot-segment-encoded`` ``drive`` ``drive-relative``
    ``empty`` ``empty-segment`` ``file-relative`` ``fragment`` ``host`` ``leaves-root`` ``not-utf8``
    ``nul`` ``percent`` ``query`` ``scheme`` ``slash-encoded`` ``unc`` ``unsafe-name``.
    """

    def __init__(self, message: str, *, rule: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.rule = rule


@unique
class Kind(Enum):
    """The starting point of a reference."""

    RELATIVE = "relative"
    ABSOLUTE = "absolute path"
    DRIVE = "drive"


@unique
class Repair(Enum):
    """A deviation from RFC 3986 or RFC 8089 that is tolerated in a reference."""

    SURROUNDING_SPACE = "surrounding white space"
    BACKSLASH = "backslashes for slashes"
    DRIVE_BAR = "| after a drive letter"
    PSEUDO_ABSOLUTE = "file: before a path without a drive"
    SPACE = "spaces not escaped"
    NON_ASCII = "non-ASCII characters not escaped"
    UNESCAPED = "characters not escaped that no URI may hold"
    FILE_RELATIVE = "file: before a relative path (RFC 8089, §2: an absolute path follows)"
    SLASH_ESCAPED = "slashes escaped as %2F (RFC 3986, §2.2: they are then a part of a name)"
    FRAGMENT = "an identifier after # (RFC 3986, §3.5: it names a part of the file)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A reference to a file or folder, decoded once.

    ``segments`` are names, and ``..`` where a step up was written: a name itself is never ``..``.
    ``drive`` is ``"C:"`` or a share, upper-case, for ``Kind.DRIVE`` only. ``is_folder``: it ended with ``/``,
    ``.`` or ``..``. ``repairs`` are in the order of ``Repair``.
    """

    kind: Kind
    drive: str | None = None
    segments: tuple[str, ...]
    is_folder: bool = False
    repairs: tuple[Repair, ...] = ()


_FILE_RELATIVE = re.compile(r"\Afile:(?://(?=\./)|(?!/))", re.IGNORECASE)
_ESCAPED_SLASH = re.compile("%2F", re.IGNORECASE)

PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
"""The usual reference, which means itself: no dot at the start of a name, and no escapes."""

CHARACTERS = r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})"
"""A character of a URI (RFC 3986, 2), as a pattern."""

URN = re.compile(rf"urn:[a-z0-9][a-z0-9-]{{0,30}}[a-z0-9]:{CHARACTERS}+", re.IGNORECASE | re.ASCII)
"""A URN: its NID has 2 to 32 characters, and no hyphen at either end (RFC 8141, 2)."""

_STEPS = re.compile(rf"((?:\.\./)*){PLAIN.pattern}")  # the same, with steps up before it
_ALL_PLAIN, _ALL_STEPS = (re.compile(rf"(?:{each.pattern}\n)*") for each in (PLAIN, _STEPS))
_FIRST_COLON = re.compile(r"([^/?#:]*):")
_SHARE = re.compile(
    r"(?P<start>\\\\|file:(?:/{4,5}|//))(?P<host>[^/\\?.:\s][^/\\:\s]*)[/\\](?P<share>[^/\\]+)[/\\](?P<path>.+)",
    re.DOTALL | re.IGNORECASE,
)
_PATH_DRIVE = re.compile(r"/?([A-Za-z])([:|])(.*)", re.DOTALL)
_BAD_CHARACTER = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_NOT_IN_URI = re.compile(r"""["<>^`{|}\[\]]""")
WHITE_SPACE = " \t\r\n"
"""XML's white space, which may surround a reference."""
_SHOWN = 100


def is_urn(text: str) -> bool:
    """Return whether a text is a URN."""
    return URN.fullmatch(text) is not None


def parsed(text: str) -> Reference:
    r"""Return the reference that a ``file`` attribute or ``lobFolder`` holds.

    Taken: relative and absolute paths, ``file:`` without a host or with localhost, drives (RFC 8089
    E.2, ``C:\x``). Split at ``/`` first, then percent-decoded exactly once. Raises ``ReferenceRefused``
    for any other text. ``~``, ``$``, ``*``, ``;`` and ``+`` mean themselves.
    """
    if _STEPS.fullmatch(text):
        return Reference(kind=Kind.RELATIVE, segments=tuple(text.split("/")))
    stripped = text.strip(WHITE_SPACE)
    _check_text(text, stripped)
    is_file, path = _local_path(text, stripped.replace("\\", "/"))
    drive, mark = None, ""
    if (found := _PATH_DRIVE.fullmatch(path)) is not None and (found[2] == ":" or is_file):
        drive, mark, path = f"{found[1].upper()}:", found[2], found[3]
    kind = _kind(text, path, drive=drive, is_file=is_file)
    written = path.removeprefix("/").split("/")
    is_folder = written[-1] in {"", ".", ".."}
    if not written[-1]:
        written.pop()
    segments = tuple(_segment(text, each) for each in written if each != ".")
    repairs = _made(
        (Repair.SURROUNDING_SPACE, stripped != text),
        (Repair.BACKSLASH, "\\" in stripped),
        (Repair.DRIVE_BAR, mark == "|"),
        (Repair.PSEUDO_ABSOLUTE, kind is Kind.ABSOLUTE and is_file),
        (Repair.SPACE, " " in path),
        (Repair.NON_ASCII, not path.isascii()),
        (Repair.UNESCAPED, _NOT_IN_URI.search(path) is not None),
    )
    return Reference(kind=kind, drive=drive, segments=segments, is_folder=is_folder, repairs=repairs)


def _made(*repairs: tuple[Repair, bool]) -> tuple[Repair, ...]:
    """Return those of some repairs, in the order of ``Repair``, that were made."""
    return tuple(each for each, is_made in repairs if is_made)


def on_share(text: str) -> Reference | None:
    r"""Return the reference to a file on a share (``\\host\share\x``), or None.

    The share is its ``drive``, written with backslashes. Raises ``ReferenceRefused`` as ``parsed`` does.
    """
    if (found := _SHARE.fullmatch(text.strip(WHITE_SPACE))) is None:
        return None
    path = parsed(f"/{found['path']}")
    drive = rf"\\{found['host']}\{found['share']}"
    if found["start"] != "\\\\":
        drive = unquote(drive)
    repairs = (Repair.BACKSLASH, *path.repairs) if "\\" in text else path.repairs
    return replace(path, kind=Kind.DRIVE, drive=drive.upper(), repairs=tuple(dict.fromkeys(repairs)))


def located(text: str) -> Reference:
    """Return the reference in a location of METS, in the form of ``parsed`` or of E-ARK tools.

    These write ``file:x`` and ``file://./x`` for ``x``, ``a%2Fb`` for ``a/b``, and an identifier in the file
    behind ``#``; each is a repair. Raises ``ReferenceRefused`` for any other text.
    """
    try:
        return parsed(text)
    except ReferenceRefused as error:
        if error.rule not in {"file-relative", "host", "slash-encoded", "fragment"}:
            raise
        path, mark, _ = text.strip(WHITE_SPACE).partition("#")
        relative = _FILE_RELATIVE.sub("", path)
        meant = _ESCAPED_SLASH.sub("/", relative)
        try:
            reference = parsed(meant)
        except ReferenceRefused:
            raise error from None  # the error reports the text as written, not its assumed meaning
    repairs = _made(
        (Repair.FILE_RELATIVE, relative != path),
        (Repair.SLASH_ESCAPED, meant != relative),
        (Repair.FRAGMENT, bool(mark)),
    )
    return replace(reference, repairs=(*reference.repairs, *repairs))


def are_plain(texts: Sequence[str], *, behind_steps: bool = False) -> bool:
    """Return whether each text is a relative path that only needs splitting into names.

    With ``behind_steps`` the names may follow steps up.
    """
    lines = "\n".join((*texts, ""))
    pattern = _ALL_STEPS if behind_steps else _ALL_PLAIN
    return lines.count("\n") == len(texts) and pattern.fullmatch(lines) is not None


def _check_text(text: str, stripped: str) -> None:
    if not stripped:
        _refuse(text, "empty", "is empty", "A reference names a file; write its path.")
    if found := _BAD_CHARACTER.search(stripped):
        rule, what = _character_fault(found[0])
        hint = "Names with such characters are not read: rename the file, and its reference."
        _refuse(text, rule, f"holds {what}", hint)
    if stripped.startswith("\\\\"):
        what = "is a Windows device path" if stripped.startswith(("\\\\?\\", "\\\\.\\")) else "is a UNC path"
        hint = "Only local files are read: write a path relative to the archive, with forward slashes."
        _refuse(text, "unc", what, hint)


def _local_path(text: str, rest: str) -> tuple[bool, str]:
    """Return whether ``file:`` was written, and the path without it and the local authority."""
    scheme = _FIRST_COLON.match(rest)
    is_file = scheme is not None and scheme[1].lower() == "file"
    if scheme is not None and is_file:
        rest = rest[scheme.end() :]
    elif scheme is not None and not re.fullmatch(r"[A-Za-z]", scheme[1]):
        hint = (
            "Only local files are read, nothing is fetched: write a path; a colon in a name is written %3A."
        )
        _refuse(text, "scheme", f"has the scheme {shown(scheme[1])}", hint)
    for mark, rule, escape in (("?", "query", "%3F"), ("#", "fragment", "%23")):
        if mark in rest:
            _refuse(text, rule, f"has a {rule} ({mark!r})", f"In the name of a file write {escape}.")
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host.lower() not in {"", "localhost"}:
            hint = (
                "Only local files are read: file:///path has three slashes, a relative path begins with none."
            )
            _refuse(text, "host", f"is on the host {shown(host)}", hint)
        rest = slash + path
    if not rest:
        _refuse(text, "empty", "has no path", "A reference names a file; write its path.")
    return is_file, rest


def _kind(text: str, path: str, *, drive: str | None, is_file: bool) -> Kind:
    if drive is not None:
        if not path.startswith("/"):
            hint = f"Write {drive}/ before the path; for a name with a colon escape it (%3A)."
            _refuse(text, "drive-relative", f"has no / after the drive {drive}", hint)
        return Kind.DRIVE
    if path.startswith("//"):
        hint = "Only local files are read: write a path relative to the archive."
        _refuse(text, "unc", "is a UNC path", hint)
    if path.startswith("/"):
        return Kind.ABSOLUTE
    if is_file:
        hint = "file: comes before an absolute path (file:///x); write a relative one without file:."
        _refuse(text, "file-relative", "has a relative path after file:", hint)
    return Kind.RELATIVE


def _segment(text: str, written: str) -> str:
    if written == "..":
        return written
    name = written
    if "%" in written:
        if found := _BAD_PERCENT.search(written):
            hint = "A % is followed by two hexadecimal digits; the character itself is written %25."
            _refuse(text, "percent", f"has {shown(found[0])} for a percent-encoded byte", hint)
        try:
            name = unquote_to_bytes(written).decode()
        except UnicodeDecodeError as error:
            what = f"is not UTF-8 when decoded (byte %{error.object[error.start]:02X})"
            _refuse(text, "not-utf8", what, "Names are written as percent-encoded UTF-8 (RFC 3986 §2.5).")
    if fault := _fault(name):
        rule, what = fault
        _refuse(text, rule, f"has {what} for a name", "Every segment names one file or folder.")
    return name


def _fault(name: str) -> tuple[str, str] | None:
    """Return the rule that a decoded name breaks and a description, or None for a safe name."""
    if not name:
        return "empty-segment", "nothing between two slashes"
    if name in {".", ".."}:
        return "dot-segment-encoded", f"an escaped {name!r}"
    if "/" in name:
        return "slash-encoded", "an escaped slash"
    if "\\" in name:
        return "backslash-encoded", "an escaped backslash"
    if found := _BAD_CHARACTER.search(name):
        return _character_fault(found[0])
    return None


def _character_fault(character: str) -> tuple[str, str]:
    number = ord(character)
    if not number:
        return "nul", "a NUL character"
    if number >= 0xD800:  # noqa: PLR2004 -- the first surrogate
        return "not-utf8", f"a lone surrogate (U+{number:04X}), which is not a character"
    return "control", f"the control character U+{number:04X}"


def shown(text: str) -> str:
    """Return a text for a message: quoted, cut when long, with terminal controls escaped."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


def _refuse(text: str, rule: str, what: str, hint: str) -> NoReturn:
    raise ReferenceRefused(f"the reference {shown(text)} {what}", rule=rule, hint=hint) from None


def walked(base: Sequence[str], segments: Sequence[str]) -> tuple[str, ...]:
    """Return the names from a root to ``base`` and along ``segments``; ``..`` is a step up.

    Raises ``ReferenceRefused`` (``leaves-root``) for a step above the root, even one that comes back.
    """
    names = collapsed((*base, *segments))
    if names[:1] == ("..",):
        where = f"{shown('/'.join(segments))} from {shown('/'.join(base) or '.')}"
        raise ReferenceRefused(
            f"the reference {where} leads out of its root",
            rule="leaves-root",
            hint="A reference stays in the folder it was granted; one more root can be granted by name.",
        )
    return names


def collapsed(segments: Sequence[str]) -> tuple[str, ...]:
    """Return the same steps with ``..`` at the start only."""
    names: list[str] = []
    for segment in segments:
        if segment == ".." and names and names[-1] != "..":
            names.pop()
        else:
            names.append(segment)
    return tuple(names)


def joined(base: Sequence[str], reference: Reference) -> tuple[str, ...]:
    """Return the names from a root to the target of ``reference`` in the folder ``base``.

    ``base`` is below the root. An absolute path starts at the root for any base
    (``file:///Northwind_lobseg_0/mets.xml`` of recommendation 0.16); callers that refuse it check
    ``reference.kind``. Raises ``ReferenceRefused`` for a step above the root (``leaves-root``) and a drive
    (``drive``), which has no root: a caller that maps drives walks ``reference.segments`` below its folder.
    """
    if reference.kind is Kind.DRIVE:
        path = f"{reference.drive}/{'/'.join(reference.segments)}"
        raise ReferenceRefused(
            f"{shown(path)} is on a drive", rule="drive", hint="Name the folder that the drive stands for."
        )
    return walked(() if reference.kind is Kind.ABSOLUTE else base, reference.segments)


def quoted(segments: Sequence[str]) -> str:
    """Return the relative reference that ``parsed`` reads as ``segments``, percent-encoded.

    Names are in UTF-8. Unreserved characters, sub-delims and ``@`` stay (RFC 3986 §3.3); a colon is always
    escaped, so that no first segment is taken for a scheme or a drive. ``..`` is a step up. Raises
    ``ReferenceRefused``: ``empty`` for no segments, ``unsafe-name`` for an impossible name.
    """
    if not segments:
        raise ReferenceRefused("a reference needs at least one name", rule="empty")
    for name in segments:
        if name != ".." and (fault := _fault(name)):
            raise ReferenceRefused(
                f"{shown(name)} cannot be the name of a file or folder",
                rule="unsafe-name",
                hint=f"It breaks the rule {fault[0]}; rename it before it is packaged.",
            )
    return "/".join(quote(each, safe="()!$&'*+,;=@") for each in segments)


def file_uri(segments: Sequence[str]) -> str:
    """Return the absolute form of recommendation 0.16: ``file:///Northwind_lobseg_0/mets.xml``.

    The path begins at the package's root. Raises ``ReferenceRefused`` as ``quoted`` does, and for a step
    above the root.
    """
    return "file:///" + quoted(walked((), segments))
