"""Media types of files, from the SIARD column, the extension and the first bytes; pure.

Python's ``mimetypes`` reads the machine's own tables, so the same input would not always give the
same bytes; this table is fixed.
"""

from __future__ import annotations

import re

DEFAULT = "application/octet-stream"

BY_EXTENSION = {
    "avi": "video/vnd.avi",
    "bin": DEFAULT,
    "bmp": "image/bmp",
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "eml": "message/rfc822",
    "flac": "audio/flac",
    "gif": "image/gif",
    "gml": "application/gml+xml",
    "gz": "application/gzip",
    "htm": "text/html",
    "html": "text/html",
    "jp2": "image/jp2",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "json": "application/json",
    "mkv": "video/matroska",
    "mov": "video/quicktime",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "mpg": "video/mpeg",
    "odp": "application/vnd.oasis.opendocument.presentation",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "odt": "application/vnd.oasis.opendocument.text",
    "ogg": "audio/ogg",
    "pdf": "application/pdf",
    "png": "image/png",
    "ppt": "application/vnd.ms-powerpoint",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "rtf": "application/rtf",
    "svg": "image/svg+xml",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "txt": "text/plain",
    "wav": "audio/vnd.wave",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xml": "application/xml",
    "xsd": "application/xml",
    "zip": "application/zip",
}
"""IANA media types by lower-case file extension."""

_USUAL = {"image/jpeg": "jpg", "text/html": "html"}
EXTENSIONS = {kind: name for name, kind in reversed(BY_EXTENSION.items()) if kind != DEFAULT} | _USUAL
"""The usual file extension of each media type."""

REGISTERED = {
    "application/csv": "text/csv",
    "application/excel": "application/vnd.ms-excel",
    "application/mspowerpoint": "application/vnd.ms-powerpoint",
    "application/x-excel": "application/vnd.ms-excel",
    "application/x-gzip": "application/gzip",
    "application/x-msexcel": "application/vnd.ms-excel",
    "application/x-msword": "application/msword",
    "application/x-pdf": "application/pdf",
    "application/x-rtf": "application/rtf",
    "application/x-zip": "application/zip",
    "application/x-zip-compressed": "application/zip",
    "audio/mp3": "audio/mpeg",
    "audio/wav": "audio/vnd.wave",
    "audio/wave": "audio/vnd.wave",
    "audio/x-flac": "audio/flac",
    "audio/x-m4a": "audio/mp4",
    "audio/x-mp3": "audio/mpeg",
    "audio/x-mpeg": "audio/mpeg",
    "audio/x-ogg": "audio/ogg",
    "audio/x-wav": "audio/vnd.wave",
    "image/jpeg2000": "image/jp2",
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/svg": "image/svg+xml",
    "image/tif": "image/tiff",
    "image/x-bmp": "image/bmp",
    "image/x-ms-bmp": "image/bmp",
    "image/x-png": "image/png",
    "image/x-tiff": "image/tiff",
    "text/json": "application/json",
    "video/avi": "video/vnd.avi",
    "video/mpg": "video/mpeg",
    "video/msvideo": "video/vnd.avi",
    "video/x-matroska": "video/matroska",
    "video/x-mpeg": "video/mpeg",
    "video/x-msvideo": "video/vnd.avi",
}
"""Registered media types by the names that programs wrote for them."""

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*")


def is_media_type(text: str) -> bool:
    """Return whether a text has the form of a media type."""
    return _MEDIA_TYPE.fullmatch(text) is not None


def media_type(declared: str | None, extension: str) -> str:
    """Return the column's ``mimeType`` when it is valid, else the extension's media type.

    A name that programs wrote for a registered one becomes that (E-ARK CSIP68).
    """
    if declared and is_media_type(stated := declared.strip()):
        return REGISTERED.get(essence(stated), stated)
    return BY_EXTENSION.get(extension.lower(), DEFAULT)


def essence(kind: str) -> str:
    """Return a media type without its parameters, in lower case."""
    return kind.partition(";")[0].strip().lower()


_SIGNATURES = {
    "application/pdf": (b"%PDF-",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/tiff": (b"II*\0", b"MM\0*"),
}
_XML = "application/xml"
_UNLIKE_XML = ("audio", "font", "image", "video")


def type_of_bytes(head: bytes) -> str | None:
    """Return the media type that a file's first bytes prove, or None."""
    return next((name for name, starts in _SIGNATURES.items() if head.startswith(starts)), None)


def another_type(kind: str, head: bytes) -> str | None:
    """Return the media type of a file's first bytes if it contradicts ``kind``, else None.

    Only formats with a unique beginning are recognised. A media type of any other format is accepted; a file
    whose ``kind`` is one of these formats, but whose bytes begin otherwise, is ``DEFAULT``.
    """
    bare = essence(kind)
    is_xml = "xml" in bare
    actual = type_of_bytes(head)
    if actual is None and head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<?xml"):
        is_other = bare in _SIGNATURES or (bare.partition("/")[0] in _UNLIKE_XML and not is_xml)
        return _XML if is_other else None
    if actual is None:
        return DEFAULT if head and bare in _SIGNATURES else None
    is_other = bare in _SIGNATURES or is_xml or bare.startswith("text/")
    return actual if is_other and bare != actual else None
