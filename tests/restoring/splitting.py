"""Forges packages with split LOBs in the form of the recommendation; stdlib only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tests.packages import forge

NAME = "Northwind"
SPLIT = "s0.t2.c4.r2"


@dataclass(frozen=True)
class Lob:
    """A LOB, which is split where it has several pieces, each in the next segment."""

    row: int
    pieces: tuple[bytes, ...]
    segment: int = 0
    extension: str = "bin"

    @property
    def id(self) -> str:
        return f"s0.t2.c4.r{self.row}"

    @property
    def data(self) -> bytes:
        return b"".join(self.pieces)

    def path(self, number: int) -> str:
        name = f"content/schema0/table2/lob4/record{self.row - 1}.{self.extension}"
        if len(self.pieces) == 1:
            return name
        return f"{name}.{'z' if number == len(self.pieces) - 1 else number}"


LOBS = (
    Lob(1, (b"before " * 5,)),
    Lob(2, (b"The first part, ", b"the second, and then ", b"the last.")),
    Lob(3, (b"after " * 7,), segment=2),
)


def mets(segment: int, name: str = NAME) -> str:
    return f"{name}_lobseg_{segment}/mets.xml"


def _file(lob: Lob, number: int) -> str:
    data = lob.pieces[number]
    identity = f'ID="{lob.id}" OWNERID="{lob.id}"'
    if len(lob.pieces) > 1:
        identity = f'ID="{lob.id}.p{number}" GROUPID="{lob.id}" SEQ="{number}"'
    return (
        f'<mets:file {identity} MIMETYPE="image/png" SIZE="{len(data)}" CHECKSUM="{forge.md5(data)}" '
        f'CHECKSUMTYPE="MD5"><mets:FLocat LOCTYPE="URL" xlink:href="{lob.path(number)}"/></mets:file>'
    )


def _pieces(lobs: Sequence[Lob]) -> list[tuple[int, Lob, int]]:
    return sorted(
        ((lob.segment + number, lob, number) for lob in lobs for number, _piece in enumerate(lob.pieces)),
        key=lambda each: (each[0], each[1].row, each[2]),
    )


def _child(segment: int, files: Sequence[str]) -> str:
    return "\n".join(
        (
            f'<mets:mets {forge._NAMESPACES} OBJID="ID_{NAME}_lobseg_{segment}_mets">',
            f'<mets:fileSec><mets:fileGrp ID="seg_{segment}">',
            *files,
            "</mets:fileGrp></mets:fileSec>",
            '<mets:structMap TYPE="logical" LABEL="parent IP"><mets:div>',
            f'<mets:mptr xlink:href="{forge.PARENT_OBJID}" LOCTYPE="URN"/></mets:div></mets:structMap>',
            "</mets:mets>",
        )
    )


def _wholes(lobs: Sequence[Lob]) -> str:
    files = "\n".join(
        f'<mets:file ID="{lob.id}" MIMETYPE="image/png" SIZE="{len(lob.data)}" '
        f'CHECKSUM="{forge.md5(lob.data)}" CHECKSUMTYPE="MD5"/>'
        for lob in lobs
    )
    return f'<mets:fileGrp ID="ID_SPLIT_LOBS" USE="split LOB">\n{files}\n</mets:fileGrp>\n'


def _map(lobs: Sequence[Lob]) -> str:
    divs = []
    for lob in lobs:
        divs.append(f'<mets:div LABEL="{lob.id}"><mets:fptr FILEID="{lob.id}"/>')
        divs += [
            f'<mets:div ORDER="{number + 1}" LABEL="{lob.id}.p{number}">\n'
            f'<mets:mptr xlink:href="ID_{NAME}_lobseg_{lob.segment + number}_mets" LOCTYPE="OTHER" '
            f'OTHERLOCTYPE="OBJID" CONTENTIDS="{lob.id}.p{number}"/></mets:div>'
            for number, _piece in enumerate(lob.pieces)
        ]
        divs.append("</mets:div>")
    joined = "\n".join(divs)
    return f'<mets:structMap TYPE="SPLITLOB"><mets:div>\n{joined}\n</mets:div></mets:structMap>\n'


def forged(root: Path, lobs: Sequence[Lob] = LOBS) -> Path:
    """Write a good package into a new folder and return it."""
    pieces = _pieces(lobs)
    children: dict[int, bytes] = {}
    for segment in sorted({each[0] for each in pieces}):
        held = [(lob, number) for at, lob, number in pieces if at == segment]
        folder = root / f"{NAME}_lobseg_{segment}"
        for lob, number in held:
            path = folder / lob.path(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(lob.pieces[number])
        children[segment] = _child(segment, [_file(lob, number) for lob, number in held]).encode()
        (folder / "mets.xml").write_bytes(children[segment])
    cells = [forge.Lob(lob.segment, lob.row, lob.data, lob.extension) for lob in lobs]
    archive = forge.siard(forge.table(cells, NAME), rows=len(cells))
    root.mkdir(parents=True, exist_ok=True)
    (root / f"{NAME}.siard").write_bytes(archive)
    text = forge.parent(archive, children, NAME).decode()
    split = [lob for lob in lobs if len(lob.pieces) > 1]
    if split:
        text = text.replace(
            '<mets:fileGrp USE="child IP"', _wholes(split) + '<mets:fileGrp USE="child IP"', 1
        )
        text = text.replace("</mets:mets>", _map(split) + "</mets:mets>")
    (root / "mets.xml").write_bytes(text.encode())
    return root


_CHILD = re.compile(
    r'SIZE="[0-9]*" CHECKSUM="[0-9a-f]*"([^>]*>\s*'
    r'<mets:FLocat [^>]*xlink:href="([^"]*(?:mets\.xml|\.siard))")'
)


def agreed(root: Path) -> Path:
    """Restate the children's METS and the archive in the parent's METS; return the package."""

    def entry(found: re.Match[str]) -> str:
        if not (root / found[2]).is_file():
            return found[0]
        data = (root / found[2]).read_bytes()
        return f'SIZE="{len(data)}" CHECKSUM="{forge.md5(data)}"{found[1]}'

    (root / "mets.xml").write_text(_CHILD.sub(entry, (root / "mets.xml").read_text()))
    return root


def edit(path: Path, old: str, new: str, *, count: int = 1) -> None:
    """Replace text that a METS must have; restate a child's METS in that of the parent."""
    forge.edit(path, old, new, count=count)
    root = path.parents[1]
    if (root / "mets.xml").is_file():
        agreed(root)


def cut(data: bytes, *at: int) -> tuple[bytes, ...]:
    """Return data cut at offsets."""
    ends = [0, *sorted(at), len(data)]
    return tuple(data[start:stop] for start, stop in pairwise(ends))
