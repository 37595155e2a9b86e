"""The work of check is never a product of two parts of its input: counted in steps of its databases.

Each maker writes a package with much of two things that have to do with each other: whatever is looked for
in all of one for each of the other takes sixteen times as long for four times as much.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

import pytest

from metspack import checking
from metspack.mets.reader import METS, XLINK
from tests import siards
from tests.checking.conftest import Grows
from tests.siards import packed

pytestmark = pytest.mark.slow

SIZE = 300

_EMPTY = hashlib.md5(b"", usedforsecurity=False).hexdigest()
_PREMIS = "http://www.loc.gov/premis/v3"
Make = Callable[[Path, int], None]
Text = Callable[[int], str]
MAKERS: list[Make] = []


def maker(make: Make) -> Make:
    """Let a package be tried."""
    MAKERS.append(make)
    return make


def write(path: Path, pieces: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(pieces)


def mets(
    folder: Path,
    files: Iterable[str] = (),
    maps: Iterable[str] = (),
    *,
    objid: str = "hostile",
    before: Iterable[str] = (),
    attributes: str = "",
) -> None:
    head = f'<mets xmlns="{METS}" xmlns:xlink="{XLINK}" OBJID="{objid}"{attributes}>\n'
    end = "</fileGrp></fileSec>\n"
    write(
        folder / "mets.xml",
        chain((head,), before, ("<fileSec><fileGrp>\n",), files, (end,), maps, ("</mets>",)),
    )


def listed(name: str, href: str, *, size: int = 0, digest: str = _EMPTY, more: str = "") -> str:
    return (
        f'<file ID="{name}" SIZE="{size}" CHECKSUM="{digest}" CHECKSUMTYPE="MD5"{more}>'
        f'<FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{href}"/></file>\n'
    )


def mptr(href: str, how: str = 'LOCTYPE="OTHER" OTHERLOCTYPE="OBJID"') -> str:
    return f'<mptr {how} xlink:href="{href}"/>\n'


def located(href: str) -> str:
    return mptr(href, 'LOCTYPE="URL"')


def structmap(inner: Iterable[str], kind: str = "t", label: str = "child IPs") -> Iterator[str]:
    yield f'<structMap TYPE="{kind}" LABEL="{label}"><div>'
    yield from inner
    yield "</div></structMap>\n"


def divs(inner: Iterable[str]) -> Iterator[str]:
    return (f"<div>{each}</div>" for each in inner)


def child(folder: Path, objid: str) -> None:
    mets(folder, maps=structmap((mptr("hostile"),), label="parent IP"), objid=objid)


@maker
def structmaps_that_name_one_child_by_other_ids(folder: Path, size: int) -> None:
    child(folder / "x", "c")
    maps = chain.from_iterable(structmap((mptr(f"c{n}"),), f"t{n}", "x") for n in range(size))
    mets(folder, (listed(f"c{n}", "x/mets.xml") for n in range(size)), maps)


@maker
def divisions_that_name_one_child(folder: Path, size: int) -> None:
    child(folder / "x", "c")
    files = (listed(f"c{n}", "x/mets.xml") for n in range(size))
    mets(folder, files, structmap(mptr(f"c{n}") for n in range(size)))


@maker
def locations_in_one_division(folder: Path, size: int) -> None:
    pointers = chain(
        (located(f"x{n}/mets.xml") for n in range(size)), (f'<fptr FILEID="f{n}"/>' for n in range(size))
    )
    mets(folder, (listed(f"f{n}", f"c/r{n}") for n in range(size)), structmap(pointers))


@maker
def mptr_to_files_of_one_id(folder: Path, size: int) -> None:
    files = (listed("same", f"x{n}/mets.xml") for n in range(size))
    mets(folder, files, structmap(divs(mptr("same") for _ in range(size))))


@maker
def missing_files_and_unlisted_ones(folder: Path, size: int) -> None:
    (folder / "o").mkdir(parents=True)
    for number in range(size):
        (folder / f"o/n{number}").write_bytes(b"x")
    mets(folder, (listed(f"c{n}", f"c/a{n}", size=1, digest=f"{n:032x}") for n in range(size)))


@maker
def chain_of_children_with_ancestors(folder: Path, size: int) -> None:
    for number in range(size):
        down = mptr(f"m{number + 1}") if number + 1 < size else "".join(mptr(f"c{n}") for n in range(size))
        files = [listed(f"m{number + 1}", f"../x{number + 1}/mets.xml")]
        if number + 1 == size:
            files = [listed(f"c{n}", "../y/mets.xml") for n in range(size)]
        maps = chain(structmap((down,)), structmap((mptr("nobody"),), label="Ancestors"))
        mets(folder / f"x{number}", files, maps, objid=f"m{number}")
    child(folder / "y", "y")
    mets(folder, (listed("m0", "x0/mets.xml"),), structmap((mptr("m0"),)))


@maker
def children_of_one_objid(folder: Path, size: int) -> None:
    for number in range(size):
        own = structmap((mptr("same"),))
        mets(folder / f"x{number}", (listed("same", "y/mets.xml"),), own, objid=f"c{number}")
        child(folder / f"x{number}/y", "same")
    files = (listed(f"c{n}", f"x{n}/mets.xml") for n in range(size))
    mets(folder, files, structmap(divs(mptr(f"c{n}") for n in range(size))))


@maker
def swapped_children_with_manifest(folder: Path, size: int) -> None:
    digests = []
    for number in range(size):
        mets(folder / f"x{number}", (listed("a", "a"),), objid=f"ID_x{number ^ 1}_mets")
        (folder / f"x{number}/a").touch()
        data = (folder / f"x{number}/mets.xml").read_bytes()
        digests.append(hashlib.md5(data, usedforsecurity=False).hexdigest())
    files = (listed(f"ID_x{n}_mets", f"x{n}/mets.xml", digest=digests[n ^ 1]) for n in range(size))
    mets(folder, files, structmap(divs(mptr(f"ID_x{n}_mets") for n in range(size))))
    lines = sorted(f"{_EMPTY}  x{number}/a{n}\n" for number in range(size) for n in range(4))
    write(folder / "manifest-md5.txt", lines)


@maker
def statements_about_one_file(folder: Path, size: int) -> None:
    (folder / "a").mkdir(parents=True)
    (folder / "a/a").touch()
    mets(folder, (listed(f"f{n}", "a/a", digest=f"{n:032x}" if n % 2 else _EMPTY) for n in range(size)))


@maker
def parts_in_representations(folder: Path, size: int) -> None:
    for number in range(size):
        mets(folder / f"x/representations/r{number}", objid=f"r{number}")
    inner = divs(located(f"representations/r{n}/mets.xml") for n in range(size))
    mets(folder / "x", maps=structmap(inner, label="x"), objid="c")
    mets(folder, (listed("c", "x/mets.xml"),), chain(structmap((mptr("c"),)), parts("c", size)))


def parts(href: str, size: int) -> Iterator[str]:
    yield '<structMap TYPE="SPLITLOB"><div LABEL="L">'
    for number in range(size):
        more = f'" CONTENTIDS="L.p{number}'
        yield f'<div ORDER="{number + 1}" LABEL="L.p{number}">{mptr(href + more)}</div>\n'
    yield "</div></structMap>"


@maker
def objects_of_one_section_that_all_files_name(folder: Path, size: int) -> None:
    files = (listed(f"f{n}", f"c/r{n}", more=' ADMID="amd"') for n in range(size))
    sections = (
        f'<techMD ID="t{n}"><mdWrap MDTYPE="PREMIS"><xmlData><object xmlns="{_PREMIS}">'
        "<objectCharacteristics><fixity><messageDigestAlgorithm>MD5</messageDigestAlgorithm>"
        f"<messageDigest>{_EMPTY}</messageDigest></fixity><size>0</size></objectCharacteristics></object>"
        "</xmlData></mdWrap></techMD>\n"
        for n in range(size)
    )
    mets(folder, files, before=chain(('<amdSec ID="amd">',), sections, ("</amdSec>",)))


def objects(folder: Path, size: int, *, href: Text, name: Text, digest: Text) -> Iterable[str]:
    """Write a PREMIS document; return the section of METS that names it."""
    write(
        folder / "premis.xml",
        chain(
            (f'<premis xmlns="{_PREMIS}">\n',),
            (
                "<object><objectIdentifier><objectIdentifierType>local</objectIdentifierType>"
                f"<objectIdentifierValue>{name(n)}</objectIdentifierValue></objectIdentifier>"
                "<objectCharacteristics><fixity><messageDigestAlgorithm>MD5</messageDigestAlgorithm>"
                f"<messageDigest>{digest(n)}</messageDigest></fixity><size>0</size></objectCharacteristics>"
                "<storage><contentLocation><contentLocationType>URI</contentLocationType>"
                f"<contentLocationValue>{href(n)}</contentLocationValue></contentLocation></storage></object>\n"
                for n in range(size)
            ),
            ("</premis>",),
        ),
    )
    yield '<amdSec><digiprovMD ID="dp"><mdRef LOCTYPE="URL" xlink:href="premis.xml" MDTYPE="PREMIS"/>'
    yield "</digiprovMD></amdSec>"


@maker
def objects_and_statements_of_one_file(folder: Path, size: int) -> None:
    before = objects(folder, size, href=lambda _: "a/a", name="f{}".format, digest=lambda _: _EMPTY)
    mets(folder, (listed(f"f{n}", "a/a") for n in range(size)), before=before)


@maker
def objects_and_files_of_one_id(folder: Path, size: int) -> None:
    before = objects(folder, size, href="z/a{}".format, name=lambda _: "same", digest="{:032x}".format)
    mets(folder, (listed("same", f"c/a{n}") for n in range(size)), before=before)


# --- Archives -----------------------------------------------------------------------------------------------

_LOB = "content/schema0/table0/lob1/record{}.bin"


def archive(
    folder: Path, rows: int, *, stated: Text, name: str = "hostile.siard", lobs: Iterable[str] = ()
) -> str:
    """Write an archive whose cells state this of LOBs outside it, and return its file entry."""
    cells = "".join(f"<row><c1>{n}</c1><c2 {stated(n)}/></row>" for n in range(rows))
    space = "http://www.bar.admin.ch/xmlns/siard/2/table.xsd"
    table = f'<?xml version="1.0"?><table xmlns="{space}" version="2.2">{cells}</table>'
    folder.mkdir(parents=True, exist_ok=True)
    packed(folder / name, {siards.METADATA: siards.metadata(rows), siards.TABLE: table.encode()})
    for lob in lobs:
        write(folder / lob, ())
    return listed(f"ID_{name}", name, size=(folder / name).stat().st_size)


def of_one_lob(_row: int) -> str:
    return f'file="{_LOB.format(0)}" length="0" digestType="MD5" digest="{"0" * 32}"'


@maker
def cells_and_files_of_one_lob(folder: Path, size: int) -> None:
    own = archive(folder, size, stated=of_one_lob, lobs=(_LOB.format(0),))
    mets(folder, (own, *(listed(f"s0.t0.c2.r{size + 2 + n}", _LOB.format(0)) for n in range(size))))


@maker
def lobs_of_one_id_in_two_children(folder: Path, size: int) -> None:
    own = archive(folder, 1, stated=of_one_lob, lobs=(_LOB.format(0),))
    files = [listed("s0.t0.c2.r1", f"r{n}") for n in range(size)]
    for number in range(size):
        write(folder / f"x_lobseg_0/r{number}", ())
    up = structmap((mptr("hostile"),), label="parent IP")
    mets(folder / "x_lobseg_0", files, up, objid="ID_x_lobseg_0")
    others = [listed("s0.t0.c2.r1", _LOB.format(0)) for _ in range(size)]
    of_child = listed("ID_x_lobseg_0", "x_lobseg_0/mets.xml")
    mets(folder, (own, of_child, *others), structmap((mptr("ID_x_lobseg_0"),)))


@maker
def parts_of_one_lob_of_files_of_other_ids(folder: Path, size: int) -> None:
    lob = _LOB.format(0)
    parts = [f"{lob}.{n}" for n in range(size)]
    own = archive(folder, 1, stated=of_one_lob, lobs=parts)
    mets(folder, (own, *(listed(f"f{n}", each) for n, each in enumerate(parts))))


@maker
def cells_and_lines_of_one_lob(folder: Path, size: int) -> None:
    own = archive(folder, size, stated=of_one_lob, lobs=(_LOB.format(0),))
    write(folder / "manifest.txt", (f"{_EMPTY}  {_LOB.format(n)}\n" for n in range(1, size)))
    write(folder / "manifest-md5.txt", (f"{n:032x}  {_LOB.format(0)}\n" for n in range(size)))
    mets(folder, (own, listed("s0.t0.c2.r1", _LOB.format(0))))


@maker
def manifests_beside_archives_and_unlisted_files(folder: Path, size: int) -> None:
    files = []
    for number in range(size // 4):
        files.append(archive(folder / f"a{number}", 0, stated=of_one_lob, name="a.siard"))
        write(folder / f"a{number}/manifest.txt", (f"{_EMPTY}  {number}\n",))
    for number in range(size):
        write(folder / f"z{number}", ())
    write(folder / "manifest-md5.txt", (f"{_EMPTY}  z{n}\n" for n in range(1)))
    mets(folder, (each.replace("a.siard", f"a{n}/a.siard", 2) for n, each in enumerate(files)))


@maker
def missing_files_in_one_deep_folder(folder: Path, size: int) -> None:
    mets(folder, (listed(f"f{n}", f"{'a/' * size}{n}/x") for n in range(8)))


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_four_times_as_much_of_both_takes_about_four_times_as_many_steps(
    make: Make, grows_evenly: Grows
) -> None:
    def find(folder: Path) -> None:
        assert list(checking.check(folder, jobs=1))

    grows_evenly(make, find, SIZE)
