"""Representations that agree: looked at in one go, with the findings and figures of each file by itself."""

from __future__ import annotations

import hashlib
import re
import shutil
import zipfile
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from metspack import processes
from metspack.building.build import BuildOptions, build
from metspack.building.options import PackageOptions
from metspack.checking import Level, check, segmentreader, segments
from metspack.checking.eark.profiles import Profile
from metspack.checking.files import metadatafiles
from metspack.checking.segments import SegmentLook
from metspack.merging.merge import merge_ips
from metspack.mets.dialects.interface import Software
from metspack.model import Limits
from metspack.processes import Underway, Workers
from tests import siards
from tests.checking.ways import assert_told_alike
from tests.laws import spread
from tests.packages import forge

pytestmark = pytest.mark.slow

PARTED, MERGED = "parted", "merged"
LOBS = (
    b"first",
    b"second",
    b"third " * 9,
    "für fünf €".encode(),
    b"the fifth",
    b"6th",
    b"seventh" * 3,
)
_ENTRY = re.compile(
    r'(xlink:href="([^"]*(?:METS[.]xml|premis[.]xml))"[^>]* SIZE=")[0-9]+("[^>]* CHECKSUM=")[0-9a-f]+|'
    r'( SIZE=")[0-9]+("[^>]* CHECKSUM=")[0-9a-f]+'
    r'("[^>]*>\s*<mets:FLocat[^>]*xlink:href="([^"]*(?:METS[.]xml|N[.]siard))")'
)
Change = Callable[[Path], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of one parent and four children with seven LOBs, and all of it merged; only read."""
    folder = tmp_path_factory.mktemp("csip")
    software = Software(name="metspack", version="metspack 0")
    options = BuildOptions(
        dialect="csip", limits=Limits(files=2), created="2021-01-01T00:00:00Z", software=software
    )
    build(siards.siard(folder / "N.siard", *LOBS), folder / PARTED, options)
    merged = PackageOptions(dialect="csip", created=options.created, software=software)
    merge_ips([folder / PARTED], folder / MERGED, merged)
    return folder


@pytest.fixture(params=[PARTED, MERGED])
def package(made: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A package of which each representation has two LOBs, and one that has the archive and all of them."""
    return Path(shutil.copytree(made / request.param, tmp_path / request.param))


@pytest.fixture(autouse=True)
def _small_packages_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "FEW", 0)
    monkeypatch.setattr(metadatafiles, "_FIRST", 1)
    monkeypatch.setattr(metadatafiles, "_FEWEST", 0)
    monkeypatch.setattr(metadatafiles, "_HEAD", 1000)
    monkeypatch.setattr(segmentreader, "_HELD_AT_ONCE", 1)


def top(package: Path) -> Path:
    """Return the representation of the parent."""
    (found,) = package.glob("*/representations/*/data/N.siard")
    return found.parents[1]


def reps(package: Path) -> list[Path]:
    """Return the representations of the children, in the order of their segments."""
    lobs = package.glob("*/representations/rep1/data/N_lobs/*/seg_*")
    return [each.parents[3] for each in sorted(lobs, key=lambda path: path.name)]


def lobs(package: Path) -> list[Path]:
    return sorted(package.rglob("*_r*.*"), key=lambda path: path.name)


def seal(package: Path, *, archives: bool = True) -> None:
    """Write what METS say of METS, archives and PREMIS, and the manifests, from what lies there now."""
    own = top(package).parents[1] if list(package.rglob("N.siard")) else package
    documents = sorted(package.rglob("METS.xml"), key=lambda path: (-len(path.parts), path.parent == own))
    for mets in documents:

        def entry(found: re.Match[str], folder: Path = mets.parent) -> str:
            path = folder / unquote(found[2] or found[7])
            if not path.is_file() or (path.suffix == ".siard" and not archives):
                return found[0]
            data = path.read_bytes()
            size, digest = len(data), hashlib.sha256(data).hexdigest()
            if found[2]:
                return f"{found[1]}{size}{found[3]}{digest}"
            return f"{found[4]}{size}{found[5]}{digest}{found[6]}"

        mets.write_text(_ENTRY.sub(entry, mets.read_text("utf-8")), "utf-8")
    forge.write_manifests(package)


def sealed(change: Change) -> Change:
    def changed(package: Path) -> None:
        change(package)
        seal(package)

    return changed


def edit(path: str, old: str, new: str) -> Change:
    """Replace a pattern, once, in a file of the second child's representation; seal the package."""

    def change(package: Path) -> None:
        at = (reps(package)[1] / path).resolve()
        text = at.read_text("utf-8")
        assert re.search(old, text, re.DOTALL), f"{old} is not in {at}"
        at.write_text(re.sub(old, new, text, count=1, flags=re.DOTALL), "utf-8")
        seal(package)

    return change


def mets(old: str, new: str) -> Change:
    return edit("METS.xml", old, new)


def premis(old: str, new: str) -> Change:
    return edit("metadata/preservation/premis.xml", old, new)


def write(path: str, data: bytes = b"more") -> Change:
    def change(package: Path) -> None:
        at = reps(package)[1] / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(data)
        seal(package)

    return change


def of_archive(path: str, old: str, new: str) -> Change:
    """Replace a pattern, once, in a file of the representation that has the archive."""

    def change(package: Path) -> None:
        at = top(package) / path
        text = at.read_text("utf-8")
        assert re.search(old, text, re.DOTALL), f"{old} is not in {at}"
        at.write_text(re.sub(old, new, text, count=1, flags=re.DOTALL), "utf-8")
        seal(package, archives=False)

    return change


def rewrite(manifest: str, change: Callable[[list[str]], Iterable[str]]) -> Change:
    def changed(package: Path) -> None:
        path = package / manifest
        path.write_text("".join(change(path.read_text().splitlines(keepends=True))))

    return changed


def listed(data: bytes, href: str, identifier: str, *, pointed: bool = False) -> Change:
    """Let a child's METS, or with ``pointed`` that of its representation, list a file."""

    def change(package: Path) -> None:
        rep = reps(package)[1]
        folder = rep if pointed else rep.parents[1]
        (folder / href).parent.mkdir(parents=True, exist_ok=True)
        (folder / href).write_bytes(data)
        entry = (
            f'<mets:file ID="{identifier}" MIMETYPE="text/plain" SIZE="{len(data)}" '
            f'CREATED="2021-01-01T00:00:00Z" CHECKSUM="{hashlib.sha256(data).hexdigest()}" '
            f'CHECKSUMTYPE="SHA-256"><mets:FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{href}"/>'
            "</mets:file></mets:fileGrp>"
        )
        path = folder / "METS.xml"
        path.write_text(path.read_text("utf-8").replace("</mets:fileGrp>", entry, 1), "utf-8")
        seal(package)

    return change


def renamed(old: str, new: str, *, cells: bool = True) -> Change:
    """Give files another path, in everything that has it."""

    def change(package: Path) -> None:
        for path in sorted(package.rglob("*"), reverse=True):
            if path.is_file() and path.suffix in {".xml", ".txt"}:
                path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
        for path in sorted(package.rglob("*"), reverse=True):
            if path.name == old:
                path.rename(path.with_name(new))
        if cells:
            archive = next(package.rglob("N.siard"))
            with zipfile.ZipFile(archive) as entries:
                contents = {name: entries.read(name) for name in entries.namelist()}
            siards.packed(archive, {n: d.replace(old.encode(), new.encode()) for n, d in contents.items()})
        seal(package)

    return change


def a_file_where_a_cell_says(package: Path) -> None:
    """The representation of the archive has a file of its own at the place of a LOB."""
    data = lobs(package)[0].read_bytes()
    at = top(package) / lobs(package)[0].relative_to(reps(package)[0])
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_bytes(data)


def two_files_at_one_place(package: Path) -> None:
    """Two children have a file at the same place in the same representation; no METS lists the second."""
    source = lobs(package)[0]
    at = reps(package)[2] / source.relative_to(reps(package)[0])
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_bytes(source.read_bytes())


def premis_of_the_child_on_a_lob(package: Path) -> None:
    """The PREMIS of a child's own METS says of a LOB what is not so."""
    rep = reps(package)[1]
    objects = re.findall("<premis:object .*?</premis:object>", (rep / PREMIS).read_text("utf-8"), re.DOTALL)
    wrong = re.sub("(<premis:messageDigest>)[0-9a-f]", r"\g<1>0", objects[1].replace("data/", f"{REP}/data/"))
    forge.edit(rep.parents[1] / PREMIS, "</premis:object>", f"</premis:object>{wrong}")


def without_manifests(package: Path) -> None:
    for each in package.glob("manifest*"):
        each.unlink()


def premis_named_by_two(package: Path) -> None:
    """A child's METS names the PREMIS of its representation, too."""
    rep = reps(package)[1]
    path = rep.parents[1] / "METS.xml"
    path.write_text(path.read_text("utf-8").replace(f'href="{PREMIS}"', f'href="{REP}/{PREMIS}"'), "utf-8")


CSIP = "https://earkcsip.dilcis.eu/profile/E-ARK-CSIP"


def an_older_version_of_all(package: Path) -> None:
    """All METS declare another version, and a child breaks what is asked in that one alone."""
    for path in package.rglob("METS.xml"):
        path.write_text(path.read_text("utf-8").replace("E-ARK-CSIP.xml", "E-ARK-CSIP-v2-0-4.xml"), "utf-8")


REP, PREMIS = "representations/rep1", "metadata/preservation/premis.xml"
FIRST_FILE = r'(<mets:file ID="s0[^>]*?)'
CHANGES: dict[str, Change] = {
    "nothing": lambda _package: None,
    "a LOB's bytes": lambda package: lobs(package)[3].write_bytes(LOBS[3].replace("€".encode(), b"eur")),
    "a LOB's size": lambda package: lobs(package)[2].write_bytes(b"another"),
    "a lost LOB": lambda package: lobs(package)[2].unlink(),
    "a lost folder of data": lambda package: shutil.rmtree(reps(package)[1] / "data"),
    "a lost METS": lambda package: (reps(package)[1] / "METS.xml").unlink(),
    "a lost PREMIS": lambda package: (reps(package)[1] / PREMIS).unlink(),
    "a lost representation": lambda package: shutil.rmtree(reps(package)[1]),
    "a lost child": lambda package: shutil.rmtree(reps(package)[1].parents[1]),
    "no archive": lambda package: next(package.rglob("*.siard")).unlink(),
    "a damaged archive": lambda package: next(package.rglob("*.siard")).write_bytes(b"PK"),
    "an unlisted file": write("data/N_lobs/more.bin"),
    "an unlisted file beside the data": write("more.bin"),
    "a METS in the data": write("data/N_lobs/METS.xml", b"<mets/>"),
    "a METS in the metadata": write("metadata/METS.xml", b"<mets/>"),
    "a mapping in the data": listed(b"seg_0/ file:///x/\n", "data/mapping.txt", "m", pointed=True),
    "a listed file of no cell": listed(b"more", "data/N_lobs/more.bin", "m", pointed=True),
    "an archive in the data": listed(b"PK", "data/more.siard", "m", pointed=True),
    "a name for few systems": write("data/aux"),
    "a name like a folder's": write("data/n_lobs"),
    "metadata without a reference": write("metadata/preservation/more.xml", b"<more/>"),
    "an empty folder": lambda package: (reps(package)[1] / "data" / "empty").mkdir(),
    "a link": lambda package: (reps(package)[1] / "data" / "link").symlink_to("../METS.xml"),
    "a file where a cell says": sealed(a_file_where_a_cell_says),
    "two files at one place": sealed(two_files_at_one_place),
    "a size in METS": mets(FIRST_FILE + r'SIZE="[0-9]+"', r'\g<1>SIZE="1"'),
    "a digest in METS": mets(FIRST_FILE + r'CHECKSUM="[0-9a-f]', r'\g<1>CHECKSUM="0'),
    "an ID in METS": mets(
        FIRST_FILE.replace("ID=", "ID)(=", 1).replace('"s0', '"s0[^"]*"', 1), r'\g<1>="other"'
    ),
    "an ID twice": mets(r'ID="(s0.t0.c2.r)3"(.*?)ID="s0.t0.c2.r4"', r'ID="\g<1>3"\g<2>ID="\g<1>3"'),
    "an ID that metadata has": mets(r'digiprovMD ID="[^"]*"', 'digiprovMD ID="s0.t0.c2.r3"'),
    "an ID that another child has": mets(r'ID="s0.t0.c2.r3"', 'ID="s0.t0.c2.r1"'),
    "IDs exchanged": mets(r'ID="(s0.t0.c2.r)3"(.*?)ID="s0.t0.c2.r4"', r'ID="\g<1>4"\g<2>ID="\g<1>3"'),
    "no media type": mets(FIRST_FILE + r' MIMETYPE="[^"]*"', r"\g<1>"),
    "a media type that IANA does not list": mets(FIRST_FILE + ' MIMETYPE="[^"]*"', r'\g<1> MIMETYPE="x/y"'),
    "such a type of the last file": mets(
        r'(.*<mets:file ID="s0[^>]*?) MIMETYPE="[^"]*"', r'\g<1> MIMETYPE="image/x-y"'
    ),
    "a media type of metadata": mets(r'(<mets:mdRef [^>]*) MIMETYPE="[^"]*"', r'\g<1> MIMETYPE="image/png"'),
    "a USE without a folder": mets(r'(<mets:fileGrp [^>]*) USE="[^"]*"', r'\g<1> USE="nowhere"'),
    "an older version": mets('PROFILE="[^"]*"', f'PROFILE="{CSIP}-v2-0-4.xml"'),
    "an older version of all": sealed(an_older_version_of_all),
    "no date": mets(FIRST_FILE + r' CREATED="[^"]*"', r"\g<1>"),
    "a GROUPID": mets(FIRST_FILE + r" MIMETYPE", r'\g<1> GROUPID="g" MIMETYPE'),
    "a file marked": mets(FIRST_FILE + r" MIMETYPE", r'\g<1> csip:OTHERCONTENTINFORMATIONTYPE="x" MIMETYPE'),
    "metadata that is not there": mets(FIRST_FILE + r" MIMETYPE", r'\g<1> ADMID="none" MIMETYPE'),
    "no pointer": mets("<mets:fptr [^>]*>", ""),
    "a pointer to nothing": mets("<mets:fptr [^>]*>", '<mets:fptr FILEID="nothing"/>'),
    "a pointer to each file": mets(
        "<mets:fptr [^>]*>", '<mets:fptr FILEID="s0.t0.c2.r3"/><mets:fptr FILEID="s0.t0.c2.r4"/>'
    ),
    "a pointer to one file": mets("<mets:fptr [^>]*>", '<mets:fptr FILEID="s0.t0.c2.r3"/>'),
    "a group without a USE": mets(r'(<mets:fileGrp [^>]*) USE="[^"]*"', r"\g<1>"),
    "an OBJID": mets('OBJID="rep1"', 'OBJID="rep2"'),
    "another profile": mets('PROFILE="[^"]*"', 'PROFILE="https://archives.example/profile"'),
    "content of another kind": mets('(TYPE="Databases".*?)SIARD_(lobs|2.2)', r"\g<1>SIARD_2.1"),
    "a dump": mets('(TYPE="Databases".*?)SIARD_(lobs|2.2)', r"\g<1>SIARD_dump"),
    "no agent": mets("<mets:agent.*?</mets:agent>", ""),
    "what is not valid": mets("<mets:fileSec", "<any/><mets:fileSec"),
    "what is not well-formed": mets("<mets:fileSec", "<any><mets:fileSec"),
    "a document type": mets("<mets:mets ", "<!DOCTYPE mets><mets:mets "),
    "PREMIS of another kind": mets('MDTYPE="PREMIS"', 'MDTYPE="DC"'),
    "PREMIS twice": mets(r"(<mets:digiprovMD )(ID=.)(.*?</mets:digiprovMD>)", r"\1\2\3\1\2x\3"),
    "an MD5 in PREMIS": premis("(<premis:messageDigest>)[0-9a-f]{2}", r"\g<1>00"),
    "a SHA-256 in PREMIS": premis(
        "(SHA-256</premis:messageDigestAlgorithm>\\s*<premis:messageDigest>).", r"\g<1>-"
    ),
    "a size in PREMIS": premis("<premis:size>", "<premis:size>1"),
    "no size in PREMIS": premis("<premis:size>.*?</premis:size>", ""),
    "no digests in PREMIS": premis("<premis:fixity>.*?</premis:fixity>", ""),
    "a digest that nothing else states": premis("MD5", "SHA-1"),
    "a digest that nobody knows": premis("MD5", "none"),
    "a location in PREMIS": premis("data/N_lobs", "data/N_LOBS"),
    "a location of another LOB": premis("r3[.]", "r4."),
    "no location in PREMIS": premis("<premis:storage>.*?</premis:storage>", ""),
    "an identifier in PREMIS": premis("s0.t0.c2.r3", "s0.t0.c2.r4"),
    "an object less": premis('<premis:object xsi:type="premis:file">.*?</premis:object>', ""),
    "objects in another order": premis(
        '(<premis:object xsi:type="premis:file">.*?</premis:object>)(.*?</premis:object>)', r"\2\1"
    ),
    "PREMIS that is not well-formed": premis("</premis:premis>", ""),
    "PREMIS of the child on a LOB": sealed(premis_of_the_child_on_a_lob),
    "PREMIS named by two": sealed(premis_named_by_two),
    "a LOB that the child lists": listed(LOBS[2], f"{REP}/data/N_lobs/s0_t0_c2/seg_1/t0_c2_r3.bin", "again"),
    "documentation with the ID of a LOB": listed(b"more", "documentation/more.txt", "s0.t0.c2.r1"),
    "documentation": listed(b"more", "documentation/more.txt", "more"),
    "LOBs in another form": renamed("seg_1", "segment1"),
    "LOBs in another folder": renamed("N_lobs", "n_lobs"),
    "LOBs elsewhere than cells say": renamed("seg_1", "seg_7", cells=False),
    "another representation": renamed("rep1", "rep2", cells=False),
    "lines out of order": rewrite("manifest-md5.txt", reversed),
    "a line twice": rewrite("manifest-md5.txt", lambda lines: (*lines, lines[5])),
    "a lost line": rewrite(
        "manifest-sha256.txt", lambda lines: (line for line in lines if "t0_c2_r3" not in line)
    ),
    "a wrong digest in a manifest": rewrite(
        "manifest-md5.txt",
        lambda lines: ("0" * 32 + line[32:] if "c2_r3" in line else line for line in lines),
    ),
    "a wrong digest of a METS": rewrite(
        "manifest-sha256.txt",
        lambda lines: ("0" * 64 + line[64:] if f"{REP}/METS" in line else line for line in lines),
    ),
    "digests in capital letters": rewrite(
        "manifest-md5.txt", lambda lines: (line[:32].upper() + line[32:] for line in lines)
    ),
    "no manifest": lambda package: (package / "manifest-md5.txt").unlink(),
    "no manifests": without_manifests,
    "the archive's size in METS": of_archive(
        "METS.xml", r'( SIZE=")([^>]*>\s*<[^>]*N[.]siard)', r"\g<1>1\g<2>"
    ),
    "the archive's digest in METS": of_archive(
        "METS.xml", r'( CHECKSUM=").([^>]*>\s*<[^>]*N[.]siard)', r"\g<1>-\g<2>"
    ),
    "the archive twice in METS": of_archive(
        "METS.xml", r'(<mets:file ID="ID)([^>]*>\s*<[^>]*N[.]siard"/>\s*</mets:file>)', r"\1\2\1_\2"
    ),
    "the archive's digest in PREMIS": of_archive(
        PREMIS, "(SIARD</premis:objectIdentifierValue>.*?<premis:messageDigest>)[0-9a-f]", r"\g<1>-"
    ),
    "the archive not in a manifest": rewrite(
        "manifest-md5.txt", lambda lines: (line for line in lines if "N.siard" not in line)
    ),
    "another digest of the archive in a manifest": rewrite(
        "manifest-sha256.txt",
        lambda lines: ("0" * 64 + line[64:] if "N.siard" in line else line for line in lines),
    ),
    "an archive that METS does not list": write("data/more.siard"),
    "an archive with a name that another has": sealed(
        lambda package: (top(package) / "data/n.siard").write_bytes(b"PK")
    ),
}
AGREED = {
    "nothing",
    "documentation",
    "no size in PREMIS",
    "an identifier in PREMIS",
    "an object less",
    "objects in another order",
}


@pytest.mark.parametrize(
    ("name", "level"), spread(product(CHANGES, [Level.FULL, Level.STRUCTURE, Level.FIXITY]), 2)
)
def test_all_is_told_that_is_told_of_each_file_by_itself(
    package: Path, name: str, level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    CHANGES[name](package)
    assert_told_alike(package, level, monkeypatch)


@pytest.mark.parametrize("name", ["a LOB's bytes", "IDs exchanged", "a lost line", "no archive"])
def test_all_is_told_while_processes_read(package: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    CHANGES[name](package)
    monkeypatch.setattr(processes, "useful", lambda jobs, **_: jobs)
    assert_told_alike(package, Level.FULL, monkeypatch, jobs=2, alone={})


@pytest.mark.parametrize("name", spread(CHANGES, 2))
def test_all_is_told_where_two_share_a_look(
    made: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Path(shutil.copytree(made / MERGED, tmp_path / MERGED))
    CHANGES[name](package)
    given: list[object] = []

    def begin(self: Workers, work: Any, tasks: Iterable[Any], moved: Any, **_: object) -> Any:
        """Do in this process what several are asked for."""
        given.extend(tasks := list(tasks))
        return Underway(self, None, work, iter(tasks), moved)

    monkeypatch.setattr(processes, "useful", lambda *_args, **_: 2)
    monkeypatch.setattr(Workers, "begin", begin)
    assert_told_alike(package, Level.STRUCTURE, monkeypatch)
    shares = [(each.of_folder, each.of_statements) for each in given if isinstance(each, SegmentLook)]
    assert shares in ([(False, True), (True, False)], [])
    assert shares or name not in AGREED


@pytest.mark.parametrize("profile", Profile)
def test_a_profile_is_held_against_representations_that_agree(
    package: Path, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_told_alike(package, Level.STRUCTURE, monkeypatch, profile=profile)


@pytest.mark.parametrize("level", [Level.STRUCTURE, Level.FIXITY, Level.FULL])
@pytest.mark.parametrize("name", sorted(AGREED))
def test_where_all_agrees_that_is_all_there_is_to_a_check(
    package: Path, name: str, level: Level, agreed: list[bool]
) -> None:
    CHANGES[name](package)
    list(check(package, level))
    assert agreed == [True]


@pytest.mark.parametrize("lines", [b"0" * 32 + b"  N_lobs/none.bin\n", b"no digest\n"])
@pytest.mark.parametrize("level", [Level.STRUCTURE, Level.FIXITY, Level.FULL])
def test_a_list_of_lobs_beside_their_archive_is_read(
    made: Path, tmp_path: Path, lines: bytes, level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Path(shutil.copytree(made / MERGED, tmp_path / MERGED))
    (top(package) / "data/manifest.txt").write_bytes(lines)
    entry = (
        f'<mets:file ID="list" MIMETYPE="text/plain" SIZE="{len(lines)}" CREATED="2021-01-01T00:00:00Z" '
        f'CHECKSUM="{hashlib.sha256(lines).hexdigest()}" CHECKSUMTYPE="SHA-256"><mets:FLocat LOCTYPE="URL" '
        'xlink:type="simple" xlink:href="data/manifest.txt"/></mets:file></mets:fileGrp>'
    )
    mets = top(package) / "METS.xml"
    mets.write_text(mets.read_text("utf-8").replace("</mets:fileGrp>", entry, 1), "utf-8")
    seal(package)
    assert ("F023" if b"none" in lines else "F027") in {each.code for each in check(package, level)}
    assert_told_alike(package, level, monkeypatch)


def test_processes_look_at_representations(package: Path, agreed: list[bool]) -> None:
    assert list(check(package, jobs=2)) == []
    assert agreed == [True]
