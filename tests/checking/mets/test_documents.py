"""A METS document in the catalogue: the same whether its files are taken in runs or one by one."""

import tracemalloc
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metspack.checking import Level, check
from metspack.checking.catalogue import Catalogue
from metspack.checking.eark.folders import Claims
from metspack.checking.mets import documents
from metspack.checking.mets.documents import DocumentReader
from metspack.checking.options import Looking
from metspack.checking.segments import Agreement
from metspack.checking.tree import CheckedTree
from metspack.limits import Budgets
from metspack.mets.reader import METS, XLINK, Fact, Watch, read
from metspack.model import Finding
from metspack.packages.delivery import DeliveredPackage
from metspack.packages.files import FolderTree
from tests.laws import law
from tests.tables import tables_of

MD5, SHA1 = "d41d8cd98f00b204e9800998ecf8427e", "da39a3ee5e6b4b0d3255bfef95601890afd80709"
TABLES = [f"SELECT * FROM {table}" for table in ("entry", "fptr", "ident", "mptr")]  # noqa: S608

Values = dict[str, str]


def one_by_one(
    blocks: Iterable[bytes],
    budgets: Budgets,
    *,
    watch: Watch,
    **_names: Any,
) -> Iterator[Fact]:
    return read(blocks, budgets, watch=watch)


def taken(root: Path, document: str) -> tuple[list[Finding], list[list[tuple[Any, ...]]]]:
    """Return the findings of a document in the folder ``a b``, and the rows of the catalogue."""
    path = root / "a b" / "mets.xml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(document)
    with Catalogue() as catalogue:
        number = catalogue.new_mets(b"a b/mets.xml", None, done=True)
        places = CheckedTree(FolderTree(root), Agreement(root, Looking(), catalogue), 0)
        claims = Claims(catalogue, places, Looking(), DeliveredPackage(path=root))
        found = list(DocumentReader(catalogue, places, number, b"a b/mets.xml", claims).findings())
        return found, [list(catalogue.rows(sql)) for sql in TABLES]


def mets(
    files: Iterable[Values],
    group: str,
    order: Iterable[str],
    *,
    located: bool = True,
    unpointed: Sequence[str] = (),
) -> str:
    names = tuple(order)
    attributes = [" ".join(f'{name}="{each[name]}"' for name in names) for each in files]
    listed = "".join(
        f'<file {text}><FLocat LOCTYPE="URL" x:href="{each["href"]}"/></file>\n'
        if located
        else f"<file {text}/>\n"
        for text, each in zip(attributes, files, strict=True)
    )
    pointers = "".join(f'<fptr FILEID="{each["ID"]}"/>' for each in files if each["ID"] not in unpointed)
    return (
        f'<mets xmlns="{METS}" xmlns:x="{XLINK}" OBJID="P"><fileSec>'
        f'<fileGrp ID="{group}">\n{listed}</fileGrp>'
        f"</fileSec><structMap><div>{pointers}</div></structMap></mets>"
    )


NAMES = ("ID", "SIZE", "CHECKSUM", "CHECKSUMTYPE", "GROUPID", "SEQ", "CREATED", "MIMETYPE", "OWNERID")
PLAIN: dict[str, str] = tables_of(__file__)["plain"]
TWELVE = [{**PLAIN, "ID": f"f{number}"} for number in range(12)]
UNUSUAL: dict[str, list[str]] = tables_of(__file__)["unusual"]


@st.composite
def many(draw: st.DrawFn) -> list[Values]:
    files = [{name: value.format(number) for name, value in PLAIN.items()} for number in range(12)]
    for _ in range(draw(st.integers(0, 2))):
        name = draw(st.sampled_from(sorted(UNUSUAL)))
        unusual = draw(st.sampled_from(UNUSUAL[name]))
        for each in draw(st.sampled_from([files, files[5:6]])):
            each[name] = unusual
    return files


@law(40)
@given(
    files=many(),
    group=st.sampled_from(["seg_0", "ID_SIARD_DDL"]),
    order=st.sampled_from([NAMES, NAMES[::-1], NAMES[:4], NAMES[:2], NAMES[:1], NAMES[1:]]),
    located=st.booleans(),
    unpointed=st.sampled_from([(), ("f3",), tuple(f"f{number}" for number in range(12))]),
)
@example(files=TWELVE, group="seg_0", order=NAMES, located=True, unpointed=())
@example(files=TWELVE, group="seg_0", order=NAMES, located=False, unpointed=("f3",))
def test_runs_make_no_difference(
    tmp_path_factory: pytest.TempPathFactory,
    *,
    files: list[Values],
    group: str,
    order: tuple[str, ...],
    located: bool,
    unpointed: tuple[str, ...],
) -> None:
    root = tmp_path_factory.mktemp("root")
    document = mets(files, group, order, located=located, unpointed=unpointed)
    fast = taken(root, document)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(documents, "condensed", one_by_one)
        assert taken(root, document) == fast


# --- PREMIS in METS -------------------------------------------------------------------------------------

SHA256 = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"  # of "a"
MD5_OF_A, MD5_OF_B = "0cc175b9c0f1b6a831c399e269772661", "92eb5ffee6ae2fec3ad71c777531578f"
PREMIS = {2: "info:lc/xmlns/premis-v2", 3: "http://www.loc.gov/premis/v3"}


def technical(
    identifier: str, *stated: tuple[str, str], size: str = "1", status: str = "", version: int = 3
) -> str:
    """Return a techMD as Archivematica writes it, with the digests that are stated of a file."""
    fixity = "".join(
        f"<p:fixity><p:messageDigestAlgorithm>{name}</p:messageDigestAlgorithm>"
        f"<p:messageDigest>{value}</p:messageDigest></p:fixity>"
        for name, value in stated
    )
    return (
        f'<techMD ID="{identifier}"{status}><mdWrap MDTYPE="PREMIS:OBJECT"><xmlData>'
        f'<p:object xmlns:p="{PREMIS[version]}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        f'xsi:type="p:file" version="{version}.0"><p:objectIdentifier>'
        f"<p:objectIdentifierType>UUID</p:objectIdentifierType><p:objectIdentifierValue>u"
        f"</p:objectIdentifierValue></p:objectIdentifier><p:objectCharacteristics>{fixity}<p:size>{size}</p:size>"
        "</p:objectCharacteristics></p:object></xmlData></mdWrap></techMD>\n"
    )


def archivematica(root: Path, *sections: str, files: Sequence[str] = ('ADMID="amd"',)) -> Path:
    """Write a package like an AIP of Archivematica: a METS, and a file "a" for each attributes given."""
    listed = ""
    for number, attributes in enumerate(files):
        (root / f"f{number}").write_bytes(b"a")
        location = f'LOCTYPE="OTHER" OTHERLOCTYPE="SYSTEM" x:href="f{number}"'
        listed += f'<file ID="f{number}" {attributes}><FLocat {location}/></file>\n'
    amd = f'<amdSec ID="amd">\n{"".join(sections)}</amdSec>' if sections else ""
    pointers = "".join(f'<fptr FILEID="f{number}"/>' for number in range(len(files)))
    (root / "METS.xml").write_text(
        f'<mets xmlns="{METS}" xmlns:x="{XLINK}" OBJID="P">{amd}<fileSec><fileGrp USE="original">\n{listed}'
        f'</fileGrp></fileSec><structMap TYPE="physical"><div>{pointers}</div></structMap></mets>'
    )
    return root


NO_MANIFESTS = {"F020"}


def codes(root: Path, level: Level = Level.FULL) -> list[str]:
    return [each.code for each in check(root, level) if each.code not in NO_MANIFESTS]


@pytest.mark.parametrize("version", [2, 3])
def test_the_digest_of_a_file_is_found_in_the_section_that_it_names(tmp_path: Path, version: int) -> None:
    section = technical("tech", ("sha256", SHA256), version=version)
    for named in ("amd", "tech", "amd tech"):
        assert codes(archivematica(tmp_path, section, files=[f'ADMID="{named}"'])) == []
    (tmp_path / "f0").write_bytes(b"b")
    (found,) = [each for each in check(tmp_path) if each.code not in NO_MANIFESTS]
    assert (found.code, found.path, dict(found.facts)["expected"]) == ("F003", "f0", SHA256)
    (tmp_path / "f0").write_bytes(b"bb")
    assert codes(tmp_path, Level.STRUCTURE) == ["F002"]


def test_a_second_digest_of_the_section_is_compared_with_the_file(tmp_path: Path) -> None:
    good = technical("tech", ("SHA-256", SHA256), ("md5", MD5_OF_A))
    assert codes(archivematica(tmp_path, good)) == []
    (found,) = [
        each
        for each in check(archivematica(tmp_path, good.replace(MD5_OF_A, MD5_OF_B)))
        if each.code not in NO_MANIFESTS
    ]
    assert (found.code, found.line) == ("M042", 2)


def test_a_digest_of_the_section_is_compared_with_that_of_the_file_element(tmp_path: Path) -> None:
    attributes = f'ADMID="amd" SIZE="1" CHECKSUM="{MD5_OF_A}" CHECKSUMTYPE="MD5"'
    assert codes(archivematica(tmp_path, technical("tech", ("md5", MD5_OF_A)), files=[attributes])) == []
    assert codes(archivematica(tmp_path, technical("tech", ("md5", MD5_OF_B)), files=[attributes])) == [
        "M042"
    ]
    sized = technical("tech", ("md5", MD5_OF_A), size="2")
    assert codes(archivematica(tmp_path, sized, files=[attributes])) == ["M042"]
    assert codes(archivematica(tmp_path, sized, files=['ADMID="amd" SIZE="1"'])) == ["M042"]


@pytest.mark.parametrize(
    "sections",
    [
        (),
        (technical("tech"),),
        (technical("tech", ("whirlpool", "ab")),),
        (technical("tech", ("md5", "no digest")),),
        (technical("one", ("md5", MD5_OF_A)), technical("two", ("md5", MD5_OF_B))),
    ],
    ids=["no section", "no digest", "unknown algorithm", "malformed", "of several files"],
)
def test_where_the_section_states_no_digest_of_the_file_there_is_none(
    tmp_path: Path, sections: tuple[str, ...]
) -> None:
    (tmp_path / "f0").touch()
    admid = 'ADMID="amd"' if sections else ""
    assert "F005" in codes(archivematica(tmp_path, *sections, files=[admid]))


@pytest.mark.slow
def test_thousands_of_sections_take_no_more_memory_than_a_hundred(tmp_path: Path) -> None:
    def used(count: int) -> int:
        names = [f"t{number}" for number in range(count)]
        sections = [technical(name, ("md5", MD5_OF_A)) for name in names]
        archivematica(tmp_path, *sections, files=[f'ADMID="{name}"' for name in names])
        tracemalloc.start()
        assert codes(tmp_path) == []
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    used(1)
    few = used(100)
    assert used(2_000) < few + (4 << 20)
