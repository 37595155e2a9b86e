"""A client of object stores: lists objects, reads ranges of them, puts and removes them.

It uses obstore (``pip install 'metspack[cloud]'``), with limited retries. obstore takes credentials from the
environment and its other sources; messages never contain them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from importlib import import_module
from typing import Any, NoReturn, TypeVar

from metspack.errors import ConfigError, MetspackError, SourceError, StoreError
from metspack.system import os

PART = 16 << 20
"""The bytes of a part of a large object, or more: S3 takes at most 10,000 parts."""

JOBS = 16
"""Requests in flight at once by default."""

_MOST_PARTS = 9_000
_SECOND = 1_000_000_000  # nanoseconds
_RETRIES, _RETRY_SECONDS = 8, 60
_SHORT_READS = 4  # the most requests for a range whose answer ends early
_STATUS = re.compile(r"status code: ([0-9]{3})")
_CODE = re.compile(r"<Code>([A-Za-z0-9.]{1,80})</Code>")
_INTERNAL_ERROR = 500
T = TypeVar("T")


class ObjectChanged(SourceError):  # noqa: N818 -- the state of the object
    """An object has changed since it was listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object of a store: its key, its size in bytes, and a number for its version.

    ``modified`` is in nanoseconds: whole seconds are those of its last change, the rest is made of its etag,
    and is 0 without one.
    """

    key: str
    size: int
    modified: int

    @classmethod
    def of(cls, meta: Any) -> StoredObject:
        """Return the object that a client's metadata describes."""
        when: datetime = meta["last_modified"]
        below = 0
        if meta.get("e_tag"):
            version = f"{meta['e_tag']} {meta.get('version')}".encode()
            below = 1 + int.from_bytes(sha256(version).digest()[:8], "big") % (_SECOND - 1)
        modified = int(when.timestamp()) * _SECOND + below
        return cls(key=meta["path"], size=meta["size"], modified=modified)

    def is_now(self, now: StoredObject) -> bool:
        """Return whether ``now`` is the same version: by etag, or else by size and seconds."""
        if self.modified % _SECOND:
            return now == self
        return (now.size, now.modified // _SECOND) == (self.size, self.modified // _SECOND)


def _library() -> Any:
    try:
        return import_module("obstore")
    except ImportError:
        raise ConfigError(
            "obstore, which speaks to stores, is not installed",
            hint="pip install 'metspack[cloud]'",
        ) from None


@cache
def store(scheme: str, bucket: str) -> ObStore:
    """Return the bucket of a URL; raises ``ConfigError`` without the library."""
    return ObStore(scheme, bucket)


class ObStore:
    """A bucket of a store, by obstore.

    Keys begin at the bucket. Methods raise ``StoreError``, and ``FileNotFoundError`` for missing objects.
    """

    def __init__(self, scheme: str, bucket: str) -> None:
        self._library = _library()
        self._url = f"{scheme}://{bucket}"
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
        options: dict[str, Any] = {
            "retry_config": {
                "max_retries": _RETRIES,
                "retry_timeout": timedelta(seconds=_RETRY_SECONDS),
                "backoff": {
                    "init_backoff": timedelta(milliseconds=100),
                    "max_backoff": timedelta(seconds=5),
                    "base": 2,
                },
            },
            # An endpoint without TLS is used only if its URL says so.
            "client_options": {
                "allow_http": endpoint.startswith("http://"),
                "connect_timeout": timedelta(seconds=10),
                "timeout": timedelta(seconds=120),
            },
        }
        if scheme == "s3" and (provider := _profile()) is not None:
            options["credential_provider"] = provider
        try:
            self._store = import_module("obstore.store").from_url(self._url, **options)
        except Exception as error:  # noqa: BLE001 -- of any kind; its text may contain settings
            raise ConfigError(
                f"{self._url}: the client cannot be set up: {type(error).__name__}",
                hint="Look at the environment's variables for the store (AWS_ENDPOINT_URL, AWS_REGION ...).",
            ) from None

    def level(self, prefix: str) -> tuple[list[StoredObject], list[str]]:
        """Return the objects right below a prefix without a slash at its end, and its sub-prefixes."""
        found = self._answer(
            prefix, lambda: self._library.list_with_delimiter(self._store, prefix=prefix or None)
        )
        return [StoredObject.of(each) for each in found["objects"]], list(found["common_prefixes"])

    def below(self, prefix: str) -> Iterator[StoredObject]:
        """Yield all objects below a prefix, at any depth."""
        stream = iter(self._library.list(self._store, prefix=prefix or None, chunk_size=1_000))
        while True:
            batch = self._answer(prefix, lambda: next(stream, None))
            if batch is None:
                return
            yield from map(StoredObject.of, batch)

    def head(self, key: str) -> StoredObject:
        """Return the metadata of an object."""
        return StoredObject.of(self._answer(key, lambda: self._library.head(self._store, key)))

    def read(self, found: StoredObject, start: int, stop: int) -> bytes:
        """Return a range of an object's bytes; raises ``ObjectChanged`` when it was replaced."""
        wanted = min(stop, found.size) - start
        if wanted <= 0:
            return b""
        data = b""
        for attempt in range(_SHORT_READS):
            data = self._answer(found.key, lambda: self._range(found, start, start + wanted))
            if len(data) == wanted:
                return data
            time.sleep(0.1 * 2**attempt)
        raise StoreError(
            f"{self._url}/{found.key}: the store sent {len(data):,} of {wanted:,} bytes from byte {start:,}, "
            f"{_SHORT_READS} times",
            hint="The store or the connection to it cuts answers short: run the same command again.",
        )

    def _range(self, found: StoredObject, start: int, stop: int) -> bytes:
        try:
            answer = self._library.get(self._store, found.key, options={"range": (start, stop)})
        except FileNotFoundError:
            raise self._changed(found, "was removed") from None
        now = StoredObject.of(answer.meta)
        if not found.is_now(now):
            raise self._changed(found, "was replaced")
        try:
            data: bytes = answer.bytes().to_bytes()
        except Exception as error:
            if "body" in str(error) or "incomplete" in str(error).lower():
                return b""  # cut short: requested again
            raise
        return data

    def _changed(self, found: StoredObject, how: str) -> ObjectChanged:
        return ObjectChanged(
            f"{self._url}/{found.key}: {how} while it was read",
            hint="Wait until nothing else writes there and start again.",
        )

    def put(self, key: str, chunks: Iterable[bytes], size: int) -> None:
        """Put an object whole, or a large one in parts; it appears complete or not at all."""
        if size <= PART:
            data = b"".join(chunks)
            self._check_size(key, len(data), size)
            self._answer(key, lambda: self._library.put(self._store, key, data, use_multipart=False))
            return
        part = max(PART, -(-size // _MOST_PARTS))
        self._answer(key, lambda: self._put_parts(key, chunks, size, part))

    def _put_parts(self, key: str, chunks: Iterable[bytes], size: int, part: int) -> None:
        # The writer gives up the parts, and no object appears, when its block ends by an exception.
        sent = 0
        with self._library.open_writer(self._store, key, buffer_size=part, max_concurrency=4) as writer:
            for chunk in chunks:
                sent += len(chunk)
                writer.write(chunk)
            self._check_size(key, sent, size)

    def _check_size(self, key: str, sent: int, size: int) -> None:
        if sent != size:
            raise StoreError(
                f"{self._url}/{key}: {sent:,} bytes were to be put, expected {size:,}",
                hint="The file was changed meanwhile: start again.",
            )

    def remove(self, key: str) -> None:
        """Remove an object, if it exists."""
        with suppress(FileNotFoundError):
            self._answer(key, lambda: self._library.delete(self._store, key))

    def _answer(self, key: str, request: Callable[[], T]) -> T:
        """Return the answer to a request; other messages replace obstore's, which may have secrets."""
        try:
            return request()
        except MetspackError:
            raise
        except Exception as error:  # noqa: BLE001 -- of any kind
            self._explain(key, error)

    def _explain(self, key: str, error: Exception) -> NoReturn:
        text, kind = str(error), type(error).__name__
        found = _CODE.search(text)
        code, status = found[1] if found else "", int(next(iter(_STATUS.findall(text)), "0"))
        where = f"{self._url}/{key}" if key else self._url
        answer = f"{status or kind}{f' {code}' if code else ''}"
        if code == "NoSuchBucket":
            where, problem = self._url, "there is no such bucket"
            hint = "Look at its name, at the region (AWS_REGION) and the endpoint (AWS_ENDPOINT_URL)."
        elif isinstance(error, FileNotFoundError):
            raise FileNotFoundError(2, "No such object", where) from None
        elif status in {401, 403} or "Expired" in code or kind in _REFUSALS:
            problem = f"the store refuses: {answer}"
            hint = (
                "The credentials are wrong, have run out, or do not allow this: get others, and run the "
                "same command again."
            )
        elif status >= _INTERNAL_ERROR or status == 429:  # noqa: PLR2004 -- too many requests
            problem = f"the store answers {answer}, also after {_RETRIES} retries"
            hint = "It is overloaded: run the same command again later, or with --io-jobs 4."
        elif "InvalidPath" in kind:
            problem = "the store has a key that no folder could hold (an empty name, . or ..)"
            hint = "Rename that object, or name a prefix without it."
        else:
            problem = f"the store cannot be reached or gives no answer: {answer}"
            hint = (
                "Look at the endpoint (AWS_ENDPOINT_URL), the region (AWS_REGION), the connection, and the "
                "credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE with boto3 "
                "installed; AWS_SKIP_SIGNATURE=true reads what is public."
            )
        raise StoreError(f"{where}: {problem}", hint=hint) from None


_REFUSALS = {"PermissionDeniedError", "UnauthenticatedError"}


def _profile() -> Any:
    """Return a provider of the credentials of a profile in the files of AWS, or None.

    boto3 reads the files, if it is installed. Credentials in the environment take precedence.
    """
    given = ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SKIP_SIGNATURE")
    if any(os.environ.get(each) for each in given):
        return None
    try:
        session = import_module("boto3").Session()
        provider = import_module("obstore.auth.boto3").Boto3CredentialProvider
        if session.get_credentials() is None:
            return None
        return provider(session)
    except Exception:  # noqa: BLE001 -- obstore has other sources
        return None
