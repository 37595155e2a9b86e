"""URI references as text (RFC 3986): taken apart, put together, resolved; nothing is decoded or refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """The five components of a URI reference, undecoded; None is absent, "" is present and empty."""

    scheme: str | None
    authority: str | None
    path: str
    query: str | None
    fragment: str | None


_COMPONENTS = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)
_URI_DRIVE = re.compile(r"(/?[A-Za-z][:|])((?:/.*)?)", re.DOTALL)


def components(reference: str) -> Components:
    """Return the components of a URI reference; any text has some (RFC 3986 Appendix B, §3.1)."""
    found = _COMPONENTS.fullmatch(reference)
    assert found is not None  # noqa: S101 -- every part is optional and the path takes the rest
    scheme, authority, path, query, fragment = found.groups()
    return Components(scheme=scheme, authority=authority, path=path, query=query, fragment=fragment)


def recomposed(parts: Components) -> str:
    """Return the URI reference made of components (RFC 3986 §5.3)."""
    text = "" if parts.scheme is None else f"{parts.scheme}:"
    if parts.authority is not None:
        text += f"//{parts.authority}"
    elif parts.path.startswith("//"):
        text += "/."  # without it the path's first segment would be read as an authority (§3.3)
    text += parts.path
    if parts.query is not None:
        text += f"?{parts.query}"
    return text if parts.fragment is None else f"{text}#{parts.fragment}"


def without_dot_segments(path: str) -> str:
    """Return a path without its ``.`` and ``..`` segments; ``..`` stops at the root (RFC 3986 §5.2.4)."""
    segments = path.split("/")
    kept: list[str] = []
    floor = 0
    if segments[0] == "" and len(segments) > 1:
        kept, floor, segments = [""], 1, segments[1:]
    for segment in segments:
        if segment == ".." and len(kept) > floor:
            kept.pop()
            # A relative path that climbs to its start goes on as an absolute one, as in the RFC's loop.
            if not kept:
                kept, floor = [""], 1
        elif segment not in {".", ".."}:
            kept.append(segment)
    if segments[-1] in {".", ".."} and kept:
        kept.append("")
    return "/".join(kept)


def resolved(base: str, reference: str) -> str:
    """Return the target URI of a reference against an absolute base URI (RFC 3986 §5.2.2, strict).

    Below ``file:`` a reference beginning with ``/`` keeps the base's drive letter, and no ``..``
    overwrites one (RFC 8089 E.2.1). Nothing is decoded, nothing refused.
    """
    root, target = components(base), components(reference)
    if target.scheme is not None:
        drive, path = _drive_and_path(target.scheme, target.path)
        return recomposed(replace(target, path=drive + without_dot_segments(path)))
    target = replace(target, scheme=root.scheme)
    if target.authority is not None:
        drive, path = _drive_and_path(root.scheme, target.path)
        return recomposed(replace(target, path=drive + without_dot_segments(path)))
    target = replace(target, authority=root.authority)
    if not target.path:
        query = root.query if target.query is None else target.query
        return recomposed(replace(target, path=root.path, query=query))
    drive, folder = _drive_and_path(root.scheme, root.path)
    if target.path.startswith("/"):
        own, path = _drive_and_path(root.scheme, target.path)
        return recomposed(replace(target, path=(own or drive) + without_dot_segments(path)))
    if not folder and (drive or root.authority is not None):
        folder = "/"
    path = folder[: folder.rfind("/") + 1] + target.path
    return recomposed(replace(target, path=drive + without_dot_segments(path)))


def _drive_and_path(scheme: str | None, path: str) -> tuple[str, str]:
    """Return ``("/c:", "/x")`` for ``/c:/x`` below ``file:``; else no drive and the path."""
    if scheme is None or scheme.lower() != "file" or (found := _URI_DRIVE.fullmatch(path)) is None:
        return "", path
    return found[1], found[2]
