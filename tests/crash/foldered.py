"""A store that keeps its objects in a folder, for commands that are disturbed: no server is asked.

As long as a package is unfinished its objects lie in ``out.partial``, and then in ``out``, as those of a
package on disk do: the same laws hold of both. What a call of the system refuses, the store refuses.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from metspack.errors import StoreError
from metspack.files.mirrors import UNFINISHED
from metspack.stores.client import StoredObject

_MARK = f"out/{UNFINISHED}"
_SECOND = 1_000_000_000


class FolderedStore:
    """A bucket with one package in it."""

    def __init__(self, made: Path) -> None:
        self._made = made
        self._unfinished, self._finished = made / "out.partial", made / "out"

    def _folder(self) -> Path:
        """Return where the package is now; it is unfinished as long as that is ``out.partial``."""
        return self._unfinished if _is_there(self._unfinished) else self._finished

    def _path(self, key: str) -> Path:
        if key == _MARK:  # beside the others, so that these are finished by one rename
            return self._made / ".mark.partial"
        return self._folder() / key.partition("/")[2]

    def _object(self, key: str) -> StoredObject:
        found = self._path(key).stat()
        if not os.path.isfile(self._path(key)) or (key == _MARK and not _is_there(self._unfinished)):
            raise FileNotFoundError(2, "No such object", key)
        return StoredObject(key=key, size=found.st_size, modified=found.st_mtime_ns // _SECOND * _SECOND + 1)

    @contextmanager
    def _reported(self, key: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(f"s3://archive/{key}: {error}", hint="Run the same command again.") from None

    def level(self, prefix: str) -> tuple[list[StoredObject], list[str]]:
        """Return the objects right below a prefix, and the prefixes below it."""
        with self._reported(prefix):
            folder = self._path(prefix)
            if not prefix or not _is_there(folder) or folder.is_file():
                return [], ["out"] if not prefix and _is_there(folder) else []
            names = sorted(each.name for each in folder.iterdir())
            folders = [f"{prefix}/{name}" for name in names if (folder / name).is_dir()]
            keys = [f"{prefix}/{name}" for name in names if f"{prefix}/{name}" not in folders]
            marks = [_MARK] if folder == self._unfinished else []
            return [self._object(key) for key in (*keys, *marks)], folders

    def below(self, prefix: str) -> Iterator[StoredObject]:
        """Yield all objects below a prefix."""
        objects, folders = self.level(prefix)
        yield from objects
        for each in folders:
            yield from self.below(each)

    def head(self, key: str) -> StoredObject:
        """Return an object without its bytes."""
        try:
            return self._object(key)
        except FileNotFoundError:
            raise
        except OSError as error:
            with self._reported(key):
                raise error from None

    def read(self, found: StoredObject, start: int, stop: int) -> bytes:
        """Return a range of an object's bytes."""
        with self._reported(found.key), self._path(found.key).open("rb") as file:
            file.seek(start)
            return file.read(stop - start)

    def put(self, key: str, chunks: Iterable[bytes], _size: int) -> None:
        """Put an object, which appears complete or not at all."""
        data = b"".join(chunks)
        with self._reported(key):
            held = self._made / f".{os.getpid()}-{threading.get_ident()}.partial"
            held.write_bytes(data)
            path = self._path(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            held.rename(path)
            if key == _MARK:
                self._unfinished.mkdir(exist_ok=True)

    def remove(self, key: str) -> None:
        """Remove an object; a package whose mark goes is finished."""
        with self._reported(key):
            folder, path = self._folder(), self._path(key)
            if key == _MARK and folder == self._unfinished:
                folder.rename(self._finished) if any(folder.iterdir()) else folder.rmdir()
            path.unlink(missing_ok=True)
            while key != _MARK and (path := path.parent) != folder and not any(path.iterdir()):
                path.rmdir()


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True


def store(_scheme: str, _bucket: str) -> FolderedStore:
    """Return the bucket of the command that is run in this folder."""
    return FolderedStore(Path("made").absolute())
