"""Bags (BagIt, RFC 8493) around what lies in a folder ``data``, as bagit.py makes them."""

from __future__ import annotations

import hashlib
from pathlib import Path

INFO = "bag-info.txt"
PAYLOAD, TAGS = "manifest-sha256.txt", "tagmanifest-md5.txt"


def put_in_a_bag(bag: Path) -> Path:
    """Make a bag of the folder ``data`` in a folder as bagit.py does; returns the payload."""
    data = bag / "data"
    files = sorted(path for path in data.rglob("*") if path.is_file())
    for algorithm in ("sha256", "sha512"):
        sums = (hashlib.new(algorithm, path.read_bytes()).hexdigest() for path in files)
        lines = zip(sums, (path.relative_to(bag).as_posix() for path in files), strict=True)
        # In the order of the digests: a bag has no order.
        text = "".join(f"{digest}  {path}\n" for digest, path in sorted(lines))
        (bag / f"manifest-{algorithm}.txt").write_text(text)
    size = sum(path.stat().st_size for path in files)
    (bag / INFO).write_text(f"Bagging-Date: 2026-01-01\nPayload-Oxum: {size}.{len(files)}\n")
    (bag / "bagit.txt").write_text("BagIt-Version: 0.97\nTag-File-Character-Encoding: UTF-8\n")
    seal_tags(bag)
    return data


def bagged(folder: Path) -> Path:
    """Make a bag of a folder without its manifests; return the payload."""
    data = folder.with_name("data")
    folder.rename(data)
    folder.mkdir()
    data.rename(folder / "data")
    for path in (folder / "data").glob("manifest-*.txt"):
        path.unlink()
    return put_in_a_bag(folder)


def seal_tags(bag: Path) -> None:
    """Write the manifest of a bag's tag files from the files on disk."""
    tags = [path for path in bag.glob("*.txt") if not path.name.startswith("tagmanifest")]
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()} {path.name}\n" for path in tags]  # noqa: S324
    (bag / TAGS).write_text("".join(sums))
