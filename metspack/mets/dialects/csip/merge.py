"""Documents of a merged CSIP package, and those of the parent that it keeps."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from metspack.digests import Hashers
from metspack.mets import CSIP_METS, ids, premis
from metspack.mets.dialects.csip import links
from metspack.mets.dialects.csip.documents import Action, IpRole
from metspack.mets.dialects.csip.files import IpFolder
from metspack.mets.dialects.csip.package import CsipOptions, CsipPackage
from metspack.mets.dialects.csip.terms import DATA, folder_name
from metspack.mets.dialects.interface import Adopted, MergedContent, Names
from metspack.mets.filetable import Placements


def adopted(
    given: CsipOptions, root: Path, documents: Iterable[Names], representation: str | None
) -> Adopted:
    """Return what is kept of the parent's documents: those in whose place the options give no other."""
    descriptive = given.descriptive
    described: list[Names] = []
    documentation: list[Names] = []
    left: list[Names] = []
    for names in documents:
        if names[0] == "documentation":
            if given.documentation is None:
                documentation.append(names)
        elif descriptive is None:
            described.append(names)
            descriptive = root.joinpath(*names)
        elif given.descriptive is None:
            left.append(names)
    name = representation or given.representation
    return Adopted(
        options=replace(given, descriptive=descriptive, representation=name),
        documents=frozenset((*described, *documentation)),
        documentation=tuple(documentation),
        left=tuple(left),
    )


def write(dialect: CsipPackage, package: Path, content: MergedContent) -> dict[str, Hashers]:
    """Write all that a merged package is beside its data; returns each file's digests by path.

    Raises ``TargetError`` and ``ConfigError``, and ``SourceError`` for documentation that cannot be read.
    """
    ip = IpFolder(package, folder_name(content.objid), content.objid, dialect.checksum_type)
    holds = "the SIARD archive and its LOBs"
    part = IpRole(role=f"the whole package with {holds}", label=dialect.label(holds), is_whole=True)
    data = dialect.data_group(ip, content.files, DATA, archive=content.archive)
    placed = premis.objects(content.files(), dialect.checksum_type, data.folder)
    whole = dialect.split_objects(content.split(), content.parts())
    merging = Action(
        type="information package merging",
        detail=f"The data of the representation, which {content.containers:,} information packages held, "
        "were put together. Every file was compared with the digest in its METS while it was copied.",
    )
    mets = dialect.write_representation(
        ip,
        data,
        label=part.label,
        objects=(each for some in (placed, whole) for each in some),
        done=(merging,),
    )
    with closing(Placements()) as schemas, closing(Placements()) as documentation:
        if dialect.documentation is not None:
            ip.copy_tree("documentation", dialect.documentation, documentation)
        for names in () if dialect.documentation is not None else content.documentation:
            documentation.add(ip.copy("/".join(names), content.root, names))
        group = dialect.group(ip, mets, data)
        facts = dialect.write_package(ip, part, group, schemas, documentation.files)
        if next(iter(content.parts()), None) is not None:
            facts["split"] = {
                "id": ids.element_id(content.objid, "split LOBs"),
                "loctype": links.loctype(dialect.terms, content.objid),
                "lobs": groupby(content.parts(), attrgetter("lob")),
            }
        ip.render(CSIP_METS, "mets.xml.j2", facts)
    return ip.files
