"""The readers of foreign data, each as a function of bytes: it returns, or raises ``MetspackError``.

``python -m tests.fuzz`` feeds them what atheris makes up; ``test_corpus`` the corpus, and changes to it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import cache
from itertools import islice
from pathlib import Path

from metspack import checking, safexml, uris
from metspack.cli.app import Commands
from metspack.cli.config import defaults
from metspack.containers.tarreader import Tar
from metspack.containers.zipreader import ZipContainer, contents
from metspack.errors import MetspackError
from metspack.files import journal, reading
from metspack.files.byteranges import FileBelow
from metspack.limits import Budgets
from metspack.locations import mappingtxt
from metspack.mets import fastreader, reader
from metspack.planning.planfile import PlanFile
from metspack.restoring.shards.reading import read_shard
from metspack.siard import metadata, offsets, tables

CORPUS = Path(__file__).parent / "corpus"
_FEW = 10
_BUDGETS = Budgets(entries=100_000, metadata=1 << 20, inflated=1 << 20)
_METADATA = b"""<siardArchive xmlns="http://www.bar.admin.ch/xmlns/siard/2/metadata.xsd" version="2.2">
<schemas><schema><name>s</name><folder>schema0</folder><tables><table><name>t</name><folder>table0</folder>
<columns><column><name>c</name><type>BLOB</type></column><column><name>d</name><fields><field><name>f</name>
</field></fields></column></columns><rows>3</rows></table></tables></schema></schemas></siardArchive>"""


@cache
def _folder() -> Path:
    """Return the folder of this process, which goes with it."""
    kept = tempfile.TemporaryDirectory(prefix="metspack-fuzz-")
    _KEPT.append(kept)
    return Path(kept.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def _blocks(data: bytes, size: int = 64) -> Iterator[bytes]:
    """Yield bytes in small blocks, which are cut at many places."""
    return (data[start : start + size] for start in range(0, len(data), size))


def mets(data: bytes) -> None:
    """Read METS both ways, and its identity."""
    reader.identity(_blocks(data), "mets.xml")
    for _fact in fastreader.condensed(_blocks(data, 4096), _BUDGETS):
        pass
    for _fact in reader.read(_blocks(data), _BUDGETS):
        pass


def package(data: bytes) -> None:
    """Check a package of a METS and one file, and tell the findings."""
    path = _file("package/mets.xml", data)
    _file("package/here.bin", b"here")
    for finding in checking.check(path.parent, checking.Level.STRUCTURE, jobs=1, budgets=_BUDGETS):
        assert finding.message
        assert finding.remedy


def siard_metadata(data: bytes) -> None:
    """Read a metadata.xml, and the offsets of all of its elements."""
    metadata.read(data)
    offsets.document(data)


def siard_table(data: bytes) -> None:
    """Read the LOB cells of a table."""
    (table,) = metadata.read(_METADATA).tables
    for run in tables.cell_runs(_blocks(data), table, _BUDGETS):
        list(run.cells())


def zip_directory(data: bytes) -> None:
    """Read the directory of a zip file, and its first entries."""
    with ZipContainer.opened(_file("x.siard", data), _BUDGETS) as container:
        for name in islice(container.names(), _FEW):
            if (extent := container.extent(name)) is not None:
                for _block in container.contents(extent):
                    pass
        for _record in islice(container.records(), _FEW):
            pass
        container.stray()


def tar_directory(data: bytes) -> None:
    """Read the directory of a tar file, and its first members."""
    path = _file("x.tar", data)
    with closing(Tar(FileBelow(root=path.parent, segments=(path.name,)), _BUDGETS)) as tar:
        for member in islice(tar.members(), _FEW):
            if (extent := tar.extent(os.fsdecode(member.name))) is not None:
                for _block in contents(tar.medium, extent, what=tar.what):
                    pass
        tar.stray()


def uri(data: bytes) -> None:
    """Take a reference apart; one that is accepted stays within its base."""
    written = data.decode("utf-8", "surrogateescape")
    uris.is_urn(written)
    uris.are_plain([written])
    for parse in (uris.parsed, uris.located):
        try:
            reference = parse(written)
        except uris.ReferenceRefused:
            continue
        for names in (uris.joined(("base",), reference), uris.walked(("base",), reference.segments)):
            assert not {"", ".", ".."} & set(names), names
            assert not any("/" in name or "\0" in name for name in names), names


def shards(data: bytes) -> None:
    """Read the description of a LOB's files."""
    _file("here.bin", b"here")
    read_shard(_file("shards", data), root=_folder())


def mapping(data: bytes) -> None:
    """Read a mapping.txt, named by a person or found beside an archive."""
    folder = _file("mapping.txt", data).parent
    mappingtxt.mapping_beside(folder)
    mappingtxt.read_mapping(folder / "mapping.txt")


def plan(data: bytes) -> None:
    """Read a plan."""
    for _segment in PlanFile(_file("plan.jsonl", data)).segments():
        pass


def configuration(data: bytes) -> None:
    """Read a configuration file."""
    defaults(_file("metspack.toml", data), Commands())


def journal_lines(data: bytes) -> None:
    """Read the journal of a run."""
    with reading.opening(_file("journal.jsonl", data)) as descriptor:
        journal.run_events(descriptor)


def xml(data: bytes) -> None:
    """Read a small document as a tree."""
    safexml.tree(data)


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "configuration": configuration,
    "journal": journal_lines,
    "mapping": mapping,
    "mets": mets,
    "package": package,
    "plan": plan,
    "shards": shards,
    "siard-metadata": siard_metadata,
    "siard-table": siard_table,
    "tar": tar_directory,
    "uri": uri,
    "xml": xml,
    "zip": zip_directory,
}
"""All targets; the folder of each in the corpus has its name."""


def run(name: str, data: bytes) -> bool:
    """Feed a target; whether it took the data. Whatever else than ``MetspackError`` comes out is a fault."""
    try:
        TARGETS[name](data)
    except MetspackError as error:
        return not error.message
    return True


def corpus(name: str) -> list[Path]:
    """Return the files of a target's corpus."""
    return sorted(each for each in (CORPUS / name).iterdir() if each.is_file())


def remaining() -> int:
    """Return the number of files that are open."""
    return len(os.listdir("/dev/fd"))
