"""Commands that accept each package without findings, and the LOBs that they return."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

from lxml import etree

import metspack
from metspack import Into, MetspackError, RestoreOptions
from tests.mutants.documents import Document, local
from tests.mutants.package import MANIFESTS

_TABLE = re.compile(r"content/.*/(table[0-9]+)/\1\.xml")


@dataclass
class Outcome:
    """The refusals of commands, and digests of their output by command and LOB."""

    refused: list[str] = field(default_factory=list)
    given: dict[str, str] = field(default_factory=dict)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def run(root: Path, archives: tuple[str, ...]) -> Outcome:
    """Run them all; an exception of another kind passes through."""
    outcome = Outcome()

    def note(command: str, give: Callable[[], Mapping[str, str]]) -> None:
        try:
            found = give()
        except MetspackError as error:
            outcome.refused.append(f"{command}: {error.message}")
        else:
            outcome.given |= {f"{command} {name}": value for name, value in found.items()}

    with TemporaryDirectory(prefix="metspack-mutants-") as folder:
        target = Path(folder)
        note("shards", lambda: _sharded(root))
        for number, archive in enumerate(archives if len(archives) > 1 else (None,)):
            for into in (None, *(Into if archives else ())):  # without an archive LOBs are files alone
                dry = f"restore --dry-run {number} {into}"
                try:
                    run = metspack.restore_dry_run(root, RestoreOptions(archive=archive), into)
                    outcome.refused += [f"{dry}: {each.message}" for each in run]
                except MetspackError as error:
                    outcome.refused.append(f"{dry}: {error.message}")
            note(f"restore {number}", lambda n=number, a=archive: _restored(root, target / f"{n}", a))  # type: ignore[misc]
            if archives:
                note(
                    f"restore --siard {number}",
                    lambda n=number, a=archive: _archived(root, target / f"{n}.siard", a),  # type: ignore[misc]
                )
    return outcome


def _sharded(root: Path) -> dict[str, str]:
    folder = root if root.is_dir() else root.parent
    # By LOB: the names of shards are made from the OBJID, which nothing but its own METS may say.
    return {
        shard.lob: _sha256(
            b"".join(
                (folder / unquote(each.url)).read_bytes()[each.offset : each.offset + each.length]
                for each in shard.files
            )
        )
        for shard in metspack.shards(root)
    }


def _restored(root: Path, target: Path, archive: str | None) -> dict[str, str]:
    metspack.restore(root, target, RestoreOptions(archive=archive))
    return {
        path.relative_to(target).as_posix(): _sha256(path.read_bytes())
        for path in target.rglob("*")
        if path.is_file() and path.name not in MANIFESTS
    }


def _archived(root: Path, target: Path, archive: str | None) -> dict[str, str]:
    metspack.restore_siard(root, target, archive=archive)
    found: dict[str, str] = {}
    with zipfile.ZipFile(io.BytesIO(target.read_bytes())) as zipped:
        names = set(zipped.namelist())
        for name in names:
            if _TABLE.fullmatch(name):
                found |= {
                    f"{name} {place}": _sha256(zipped.read(file)) if file in names else f"no {file}"
                    for place, file in _cells(zipped.read(name))
                }
    return found


def _cells(table: bytes) -> Iterator[tuple[str, str]]:
    try:
        document = Document.parsed(table)
    except etree.XMLSyntaxError:  # a further entry that only is called as a table
        return
    for number, row in enumerate(document.elements("row"), 1):
        for cell in row.iter(etree.Element):
            if cell.get("file"):
                yield f"row {number} {local(cell)}", cell.get("file", "")
