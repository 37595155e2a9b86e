"""What a CSIP package says that was put together of the containers of a divided representation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from metspack import identifiers, premis
from metspack.digests import Hashers
from metspack.mets import CSIP_METS
from metspack.mets.dialects import csip_links
from metspack.mets.dialects.csip import DATA, Csip, Part
from metspack.mets.dialects.csip_documents import Done
from metspack.mets.dialects.csip_files import Ip
from metspack.mets.dialects.csip_terms import folder_name
from metspack.mets.dialects.interface import SplitLob, SplitPart
from metspack.placing import PlacedFile, Placements


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedContent:
    """What a merged package holds: OBJID, how many containers it is of, and the representation's data.

    The paths of ``files`` are those below the data folder; ``archive`` is the ID of the SIARD archive among
    them. ``split`` gives the split LOBs and ``parts`` their parts in the same order; every function begins
    anew at every call. ``documentation`` are names below the folder ``root`` that go along when the dialect
    has no documentation of its own.
    """

    objid: str
    containers: int
    archive: str
    files: Callable[[], Iterable[PlacedFile]]
    split: Callable[[], Iterable[SplitLob]]
    parts: Callable[[], Iterable[SplitPart]]
    root: Path
    documentation: Sequence[tuple[str, ...]] = ()


def written(dialect: Csip, package: Path, content: MergedContent) -> dict[str, Hashers]:
    """Write all that a merged package is beside its data; returns each file's digests by path.

    Raises ``TargetError`` and ``ConfigError``, and ``SourceError`` for documentation that cannot be read.
    """
    ip = Ip(package, folder_name(content.objid), content.objid, dialect.checksum_type)
    holds = "the SIARD archive and its LOBs"
    part = Part(role=f"the whole package with {holds}", label=dialect.label(holds), is_whole=True)
    data = dialect.data_group(ip, content.files, DATA, archive=content.archive)
    placed = premis.objects(content.files(), dialect.checksum_type, data.folder)
    whole = dialect.split_objects(content.split(), content.parts())
    merging = Done(
        type="information package merging",
        detail=f"The data of the representation, which {content.containers:,} information packages held, "
        "were put together. Every file was compared with the digest in its METS while it was copied.",
    )
    mets = dialect.representation_written(
        ip,
        data,
        label=part.label,
        objects=(each for some in (placed, whole) for each in some),
        done=(merging,),
    )
    with closing(Placements()) as schemas, closing(Placements()) as documentation:
        if dialect.documentation is not None:
            ip.tree("documentation", dialect.documentation, documentation)
        for names in () if dialect.documentation is not None else content.documentation:
            documentation.add(ip.copied("/".join(names), content.root, names))
        group = dialect.group(ip, mets, data)
        facts = dialect.package_facts(ip, part, group, schemas, documentation.files)
        if next(iter(content.parts()), None) is not None:
            facts["split"] = {
                "id": identifiers.element_id(content.objid, "split LOBs"),
                "loctype": csip_links.loctype(dialect.terms, content.objid),
                "lobs": groupby(content.parts(), attrgetter("lob")),
            }
        ip.from_template(CSIP_METS, "mets.xml.j2", facts)
    return ip.files
