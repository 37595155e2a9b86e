"""A package in memory: its files as if unpacked, and which of them lie in zip and tar files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutants.containers import READERS, WRITERS, Container

MANIFESTS = ("manifest-md5.txt", "manifest-sha256.txt")
_METS = re.compile(r"(?:.*/)?mets\.xml", re.IGNORECASE)
_LOB = re.compile(r"(?:.*/)?(?:record[0-9]+\.[^/]*|t[0-9]+_[^/]*r[0-9]+\.[^/]*)")


@dataclass
class Package:
    """The files of a package by their paths, and its packed IPs by the paths of their files."""

    files: dict[str, bytes]
    containers: dict[str, Container] = field(default_factory=dict)

    def copy(self) -> Package:
        return Package(dict(self.files), dict(self.containers))

    @property
    def mets(self) -> list[str]:
        return [path for path in self.files if _METS.fullmatch(path)]

    @property
    def premis(self) -> list[str]:
        return [path for path in self.files if path.endswith("/premis.xml")]

    @property
    def archives(self) -> list[str]:
        return [path for path in self.files if path.lower().endswith(".siard")]

    @property
    def lobs(self) -> list[str]:
        """Files that are LOBs or parts of them."""
        return [path for path in self.files if _LOB.fullmatch(path)]

    def on_disk(self) -> dict[str, bytes]:
        """Return the files as they lie on disk, IPs packed."""
        disk = {
            path: data
            for path, data in self.files.items()
            if not any(each.holds(path) for each in self.containers.values())
        }
        for name, container in self.containers.items():
            skipped = len(container.beside)
            held = {path[skipped:]: data for path, data in self.files.items() if container.holds(path)}
            disk[name] = WRITERS[container.form](held)
        return disk

    def write(self, root: Path) -> Path:
        for path, data in self.on_disk().items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        return root


def read(root: Path) -> Package:
    """Read a package from disk; each zip or tar file in it is an IP."""
    package = Package({})
    for path in sorted(each for each in root.rglob("*") if each.is_file()):
        name, data = path.relative_to(root).as_posix(), path.read_bytes()
        form = path.suffix[1:]
        if form in READERS:
            held = READERS[form](data)
            folder = name[: -len(path.name)]
            package.containers[name] = Container(
                form, folder, frozenset(each.partition("/")[0] for each in held)
            )
            package.files |= {f"{folder}{each}": data for each, data in held.items()}
        else:
            package.files[name] = data
    return package


def manifest(disk: Mapping[str, bytes], name: str) -> bytes:
    """Return the manifest of files on disk that is called so."""
    algorithm = name.removeprefix("manifest-").removesuffix(".txt")
    return b"".join(
        b"%b  %b\n"
        % (hashlib.new(algorithm, disk[path], usedforsecurity=False).hexdigest().encode(), path.encode())
        for path in sorted(disk, key=str.encode)
        if path not in MANIFESTS
    )
