"""URLs of object stores: scheme, bucket, and the key of an object or a prefix of keys."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from metspack.errors import ConfigError

SCHEMES = ("s3", "gs", "az")
"""The schemes of stores that the client supports; only the first is tested."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/{1,2}([^/]*)(?:/(.*))?", re.DOTALL)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


_mirrors: list[str] = []


def note_mirrors(folder: str) -> None:
    """Set the folder that has the mirrors of stores, for ``shown``; "" without stores."""
    _mirrors[:] = [folder] if folder else []


def shown(text: str) -> str:
    """Return a text for people, with URLs in place of the paths of mirrors."""
    for each in _mirrors:
        text = re.sub(re.escape(each) + r"/([a-z0-9]+):/", r"\1://", text)
    return text


def is_url(text: str) -> bool:
    """Return whether a text begins as a URL does: ``s3://``."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUrl:
    """A place in a store; ``key`` is an object's, or the prefix of the keys below it."""

    scheme: str
    bucket: str
    key: str

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the place that a URL names; raises ``ConfigError``.

        Its key is not percent-encoded: a percent sign stands for itself.
        """
        found = _URL.fullmatch(text)
        scheme = found[1].lower() if found is not None else ""
        if found is None or scheme not in SCHEMES:
            raise ConfigError(
                f"{_without_secrets(text)} is a URL of an unknown scheme; expected s3://BUCKET/KEY",
                hint="Name a folder or file of this machine, or of a store: s3:// (gs:// and az:// may "
                "work and are not tested).",
            )
        bucket, key = found[2], (found[3] or "").rstrip("/")
        if not _BUCKET.fullmatch(bucket):
            raise ConfigError(
                f"{_without_secrets(text)} names no bucket; expected s3://BUCKET/KEY",
                hint="A bucket comes after the two slashes. Credentials are taken from the environment "
                "(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), never from a URL.",
            )
        if key and any(each in {"", ".", ".."} for each in key.split("/")):
            raise ConfigError(
                f"{text} has a key that no folder could hold: an empty name, . or .. between two slashes",
                hint="Name the key as the store has it, with one slash between two names.",
            )
        return cls(scheme=scheme, bucket=bucket, key=key)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}" + (f"/{self.key}" if self.key else "")


def _without_secrets(text: str) -> str:
    """Return a URL with ``...`` in place of the text before an ``@``, which may be a password."""
    return re.sub(r"(:/{1,2})[^/@]*@", r"\1...@", text)
