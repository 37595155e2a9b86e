"""Media types of files: from the SIARD column, else from the extension; pure.

Python's ``mimetypes`` reads the machine's own tables, so the same input would not always give the
same bytes; this table is fixed.
"""

from __future__ import annotations

import re

DEFAULT = "application/octet-stream"

BY_EXTENSION = {
    "avi": "video/x-msvideo",
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
    "msg": "application/vnd.ms-outlook",
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

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*")


def is_media_type(text: str) -> bool:
    """Return whether a text has the form of a media type."""
    return _MEDIA_TYPE.fullmatch(text) is not None


def media_type(declared: str | None, extension: str) -> str:
    """Return the column's own ``mimeType`` when it is one, else what the extension stands for."""
    if declared and is_media_type(declared.strip()):
        return declared.strip()
    return BY_EXTENSION.get(extension.lower(), DEFAULT)
