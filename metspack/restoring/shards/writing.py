"""Write LOBs as shards, once their parts, files and relations agree with METS.

The pattern "Data Shards" of the DOMS data models: a shard is a virtual file that refers to the files
which hold its bytes, with offset and length in each, and is related to each of them (``consistsOf``).
The pattern's example counts seconds of broadcasts; here offsets and lengths count bytes, as stated there.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from metspack import safexml, uris
from metspack.errors import SourceError
from metspack.files.byteranges import FileRange
from metspack.limits import Budgets
from metspack.packages.files import Inflated, PackageFiles
from metspack.packages.listing import LobListing
from metspack.packages.lobs import Disagreement, HeldLob, HeldPart
from metspack.packages.package import Package
from metspack.restoring.joining import find_listed_id
from metspack.sizes import counted

_NOT_HELD = """
SELECT p.lob, p.part, p.child, m.path, p.line, (SELECT coalesce(n.called, n.objid) FROM entry o
    JOIN mets n ON n.id = o.mets WHERE o.xml_id = p.part LIMIT 1)
FROM mapped p JOIN mets m ON m.id = p.mets
WHERE (p.lob = ?1 OR ?1 IS NULL) AND NOT EXISTS (SELECT 1 FROM entry e JOIN mets c ON c.id = e.mets
    WHERE e.xml_id = p.part AND bare(p.child) IN (bare(c.called), bare(c.objid))) ORDER BY p.id
"""
_NOT_NAMED = """
SELECT e.lob, e.xml_id, coalesce(c.called, c.objid), c.path, e.line FROM entry e JOIN mets c ON c.id = e.mets
WHERE (e.lob = ?1 OR ?1 IS NULL) AND e.part AND NOT EXISTS (SELECT 1 FROM mapped p
    WHERE p.lob = e.lob AND p.part = e.xml_id
    AND bare(p.child) IN (bare(c.called), bare(c.objid))) ORDER BY e.id
"""


def unrelated(package: Package, lob: str | None = None) -> Generator[Disagreement, None, None]:
    """Yield the parts of split LOBs, or of one of them, that only parent or child names.

    Each part in the parent's SPLITLOB structMap is a file of the child it names, and each part that a
    child lists is in a map. Raises ``SourceError`` when the package cannot be read.
    """
    for about, part, child, path, line, other in package.index.rows(_NOT_HELD, lob):
        yield Disagreement(
            lob=about or "",
            part=part or "",
            what=f"{path} line {line} names it as a part",
            expected=f"a file with this ID in {child or 'a child'}",
            found=f"it in {other}" if other else "none",
        )
    for about, part, child, path, line in package.index.rows(_NOT_NAMED, lob):
        yield Disagreement(
            lob=about,
            part=part or "",
            what=f"{path} line {line} lists it as a part",
            expected=f"an mptr to {child} with this CONTENTIDS in the parent's SPLITLOB structMap",
            found="none",
        )


def misplaced(files: PackageFiles, lob: HeldLob) -> Generator[Disagreement, None, None]:
    """Yield the files of a LOB that are missing, compressed or of another size, without reading."""
    for part in lob.parts:
        expected = f"a file of {counted(part.size, 'byte')}"
        try:
            with files.opened(part.path) as medium:
                size = medium.size
        except OSError as error:
            found = error.strerror or str(error)
        except SourceError as error:
            found = error.message
        else:
            if isinstance(medium, Inflated):
                found = f"it compressed in {medium.file.segments[-1]}, so it is not a stretch of a file"
            elif size == part.size:
                continue
            else:
                found = counted(size, "byte")
        yield Disagreement(
            lob=lob.id,
            part=part.id if lob.is_split else "",
            what=f"{part.name}, which {part.source} lists",
            expected=expected,
            found=found,
        )


def unlisted(package: Package, budgets: Budgets | None = None) -> Iterator[Disagreement]:
    """Yield the LOBs of cells in the package's archives that neither METS nor an archive has.

    An archive that cannot be read is one further disagreement.
    """
    try:
        for row in LobListing(package, budgets=budgets):
            if row.fault and row.archive and not package.index.holds(row.id):
                yield Disagreement(
                    lob=row.id,
                    what=f"the archive {row.archive} has a cell of it",
                    expected="a file that METS lists, or an entry",
                    found=row.fault,
                )
    except SourceError as error:
        yield Disagreement(
            lob="",
            what="the cells of an archive cannot be compared with METS",
            expected="an archive that can be read",
            found=error.message,
        )


VIRTUAL = "http://www.statsbiblioteket.dk/doms/shard/"
"""The beginning of the URL of a shard's virtual file; its pid follows."""
CONSISTS_OF = "http://doms.statsbiblioteket.dk/relations/default/0/1/#consistsOf"
"""The predicate of a shard's relation to each of its files."""
UNIT = "bytes"
PRONOM = "info:pronom/"
"""The beginning of a format's URI; the PUID follows."""

_PLACEHOLDER = "placeholder"  # a virtual file must have a characterisation, even an empty one


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardFile:
    """A stretch of a file: ``length`` bytes from ``offset``.

    ``id`` is the file's ID in METS, ``url`` a URI reference, ``name`` the file's name. ``format_uri`` is its
    PRONOM id (``info:pronom/fmt/11``), None where METS lacks it: always for a part of a LOB, which has no
    format.
    """

    id: str
    url: str
    name: str
    offset: int
    length: int
    media_type: str | None
    format_uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A LOB as the stretches of files with its bytes, in order; ``url`` refers to no real file."""

    lob: str
    pid: str
    files: tuple[ShardFile, ...]

    @property
    def url(self) -> str:
        """The URL of the virtual file."""
        return f"{VIRTUAL}{quote(self.pid, safe=':')}"

    def to_json(self) -> dict[str, object]:
        """Return the shard as data for JSON; offsets and lengths are bytes."""
        return {
            "lob": self.lob,
            "pid": self.pid,
            "url": self.url,
            "unit": UNIT,
            "files": list(map(asdict, self.files)),
        }


def shards(package: Package, lob: str | None = None, *, base: str = "") -> Iterator[Shard]:
    """Yield the shards of all LOBs of a package, or of one, in the order of the archive.

    File URLs are relative to the package's folder; ``base`` is put before them unchanged. Raises
    ``SourceError`` as ``joining.find_lob`` and ``Package.lobs`` do, for a LOB that stayed in the archive, and
    where METS documents, or METS and files, disagree (``unrelated``, ``misplaced``).
    """
    meant = None if lob is None else held(package, lob)
    _agree(unrelated(package, meant))
    for each in package.lobs() if meant is None else (package.lob(meant),):
        _agree(misplaced(package.index.files, each))
        yield shard(package, each, base=base)


def _agree(disagreements: Generator[Disagreement, None, None]) -> None:
    with closing(disagreements):  # the rows are closed before their database
        for each in disagreements:
            raise SourceError(each.message, hint="metspack check shows what else is wrong with the package.")


def held(package: Package, lob: str) -> str:
    """Return the id under which METS lists a LOB: that of the first cell that names its file.

    Raises ``SourceError`` for a LOB that stayed in the archive, and as ``joining.find_listed_id`` does.
    """
    meant = find_listed_id(package, lob)
    if meant is None:
        raise SourceError(
            f"LOB {lob} stayed in the archive; a shard is made of files",
            hint=f"metspack cat {package.root} {lob} gives it.",
        )
    return meant


def shard(package: Package, lob: HeldLob, *, base: str = "") -> Shard:
    """Return the shard of a LOB of a package; ``base`` is that of ``shards``."""
    # Ids of LOBs are unique in their package only.
    pid = f"uuid:{uuid5(NAMESPACE_URL, f'{package.objid}#{lob.id}')}"
    files = tuple(_of_part(package.index.files, part, lob.media_type, base) for part in lob.parts)
    return Shard(lob=lob.id, pid=pid, files=files)


def _of_part(files: PackageFiles, part: HeldPart, media_type: str | None, base: str) -> ShardFile:
    """Return the file that holds a part, or the zip or tar file in which it is packed."""
    place = files.place(part.path)
    path, offset = (place.file.segments, place.offset) if isinstance(place, FileRange) else (part.path, 0)
    return ShardFile(
        id=part.id,
        url=base + uris.quoted(path),
        name=path[-1],
        offset=offset,
        length=part.size,
        media_type=part.media_type or media_type,
        format_uri=None if part.puid is None else f"{PRONOM}{part.puid}",
    )


def to_doms(shard: Shard) -> str:
    """Return a shard as an XML element: contents, characterisation, metadata and relations.

    ``shard_metadata`` follows the pattern, without a ``channel_id`` and with ``unit="bytes"``;
    ``format_uri`` is there when the file has one.
    """
    lines = [
        f"  <shard pid={safexml.quoted(shard.pid)} lob={safexml.quoted(shard.lob)}>",
        f"    <contents>{safexml.escaped(shard.url)}</contents>",
        f"    <characterisation>{_PLACEHOLDER}</characterisation>",
        "    <shard_metadata>",
        *(line for each in shard.files for line in _file(each)),
        "    </shard_metadata>",
        *(
            f'    <relation predicate="{CONSISTS_OF}" object={safexml.quoted(each)}/>'
            for each in dict.fromkeys(each.id for each in shard.files)
        ),
        "  </shard>",
    ]
    # Only ASCII, with references for other characters: no encoding or terminal can alter it.
    return "\n".join(lines).encode("ascii", "xmlcharrefreplace").decode()


def _file(file: ShardFile) -> Iterator[str]:
    yield "      <file>"
    yield f"        <file_url>{safexml.escaped(file.url)}</file_url>"
    yield f'        <program_start_offset unit="{UNIT}">{file.offset}</program_start_offset>'
    yield f'        <program_clip_length unit="{UNIT}">{file.length}</program_clip_length>'
    yield f"        <file_name>{safexml.escaped(file.name)}</file_name>"
    if file.format_uri is not None:
        yield f"        <format_uri>{safexml.escaped(file.format_uri)}</format_uri>"
    yield "      </file>"


def doms_document(those: Iterable[Shard]) -> Iterator[str]:
    """Yield the lines of an XML document (ASCII) with all the shards, streamed."""
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield "<shards>"
    for each in those:
        yield to_doms(each)
    yield "</shards>"
