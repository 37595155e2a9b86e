"""Findings in representations that are read as a whole, however small they are."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

from metspack.building.build import BuildOptions, build
from metspack.building.options import PackageOptions
from metspack.checking import Level, check, looks, reconciliation, segmentreader
from metspack.limits import Limits
from metspack.merging.merge import merge_ips
from metspack.mets.dialects.interface import Software
from tests import siards
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
    """A package of a parent, four children and seven LOBs, and the same merged; read-only."""
    folder = tmp_path_factory.mktemp("csip")
    software = Software(name="metspack", version="metspack 0")
    options = BuildOptions(
        dialect="csip", limits=Limits(files=2), created="2021-01-01T00:00:00Z", software=software
    )
    build(siards.siard(folder / "N.siard", *LOBS), folder / PARTED, options)
    merged = PackageOptions(dialect="csip", created=options.created, software=software)
    merge_ips([folder / PARTED], folder / MERGED, merged)
    return folder


@pytest.fixture(autouse=True)
def _small_packages_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "FEW", 0)
    monkeypatch.setattr(segmentreader, "_HELD_AT_ONCE", 1)
    monkeypatch.setattr(reconciliation, "FILES_OF_A_PART", 1)


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


def seal(package: Path) -> None:
    """Write sizes and digests of METS, archives and PREMIS, and the manifests, from the files."""
    own = top(package).parents[1] if list(package.rglob("N.siard")) else package
    documents = sorted(package.rglob("METS.xml"), key=lambda path: (-len(path.parts), path.parent == own))
    for mets in documents:

        def entry(found: re.Match[str], folder: Path = mets.parent) -> str:
            path = folder / unquote(found[2] or found[7])
            if not path.is_file():
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


def rewrite(manifest: str, part: str, change: Callable[[str], str]) -> Change:
    """Change the lines of a manifest that have some words."""

    def changed(package: Path) -> None:
        path = package / manifest
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(change(line) if part in line else line for line in lines))

    return changed


def listed(data: bytes, href: str, identifier: str, *, folder: Path | None = None) -> Change:
    """Let a child's METS, or that in another folder, list a file."""

    def change(package: Path) -> None:
        own = folder or reps(package)[1].parents[1]
        (own / href).parent.mkdir(parents=True, exist_ok=True)
        (own / href).write_bytes(data)
        entry = (
            f'<mets:file ID="{identifier}" MIMETYPE="text/plain" SIZE="{len(data)}" '
            f'CREATED="2021-01-01T00:00:00Z" CHECKSUM="{hashlib.sha256(data).hexdigest()}" '
            f'CHECKSUMTYPE="SHA-256"><mets:FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{href}"/>'
            "</mets:file></mets:fileGrp>"
        )
        path = own / "METS.xml"
        path.write_text(path.read_text("utf-8").replace("</mets:fileGrp>", entry, 1), "utf-8")
        seal(package)

    return change


def premis_of_the_child_on_a_lob(package: Path) -> None:
    """Add a wrong digest of a LOB to the PREMIS of a child's METS."""
    rep = reps(package)[1]
    objects = re.findall("<premis:object .*?</premis:object>", (rep / PREMIS).read_text("utf-8"), re.DOTALL)
    wrong = re.sub("(<premis:messageDigest>)[0-9a-f]", r"\g<1>0", objects[1].replace("data/", f"{REP}/data/"))
    forge.edit(rep.parents[1] / PREMIS, "</premis:object>", f"</premis:object>{wrong}")


REP, PREMIS = "representations/rep1", "metadata/preservation/premis.xml"
FIRST_FILE = r'(<mets:file ID="s0[^>]*?)'
CHANGES: dict[str, tuple[Change, str]] = {
    "nothing": (lambda _package: None, ""),
    "documentation": (listed(b"more", "documentation/more.txt", "more"), ""),
    "an object less": (premis('<premis:object xsi:type="premis:file">.*?</premis:object>', ""), ""),
    "objects in another order": (
        premis('(<premis:object xsi:type="premis:file">.*?</premis:object>)(.*?</premis:object>)', r"\2\1"),
        "",
    ),
    "a LOB's bytes": (
        lambda package: lobs(package)[3].write_bytes(LOBS[3].replace("€".encode(), b"eur")),
        "F003",
    ),
    "an unlisted file": (write("data/N_lobs/more.bin"), "F010"),
    "a TYPE and a LOB's bytes": (
        lambda each: (mets("Databases", "Mixed")(each), lobs(each)[3].write_bytes(LOBS[3][::-1])),
        "F003 M030",
    ),
    "a digest in METS": (mets(FIRST_FILE + r'CHECKSUM="[0-9a-f]', r'\g<1>CHECKSUM="0'), "F003 M042"),
    "an ID twice": (mets(r'ID="(s0.t0.c2.r)3"(.*?)ID="s0.t0.c2.r4"', r'ID="\g<1>3"\g<2>ID="\g<1>3"'), "M004"),
    "an ID that another child has": (mets(r'ID="s0.t0.c2.r3"', 'ID="s0.t0.c2.r1"'), "Z037"),
    "IDs exchanged": (
        mets(r'ID="(s0.t0.c2.r)3"(.*?)ID="s0.t0.c2.r4"', r'ID="\g<1>4"\g<2>ID="\g<1>3"'),
        "Z022",
    ),
    "a pointer to one file": (mets("<mets:fptr [^>]*>", '<mets:fptr FILEID="s0.t0.c2.r3"/>'), "M006"),
    "a SHA-256 in PREMIS": (
        premis("(SHA-256</premis:messageDigestAlgorithm>\\s*<premis:messageDigest>).", r"\g<1>-"),
        "M042",
    ),
    "a location of another LOB": (premis("r3[.]", "r4."), "M042"),
    "PREMIS of the child on a LOB": (sealed(premis_of_the_child_on_a_lob), "M042"),
    "a lost line": (rewrite("manifest-sha256.txt", "t0_c2_r3", lambda _: ""), "F024"),
    "a wrong digest in a manifest": (
        rewrite("manifest-md5.txt", "c2_r3", lambda line: "0" * 32 + line[32:]),
        "F026 M042",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_has_its_codes(made: Path, tmp_path: Path, name: str) -> None:
    package = Path(shutil.copytree(made / PARTED, tmp_path / PARTED))
    change, codes = CHANGES[name]
    change(package)
    assert {each.code for each in check(package)} == set(codes.split())


@pytest.mark.parametrize("kind", [PARTED, MERGED])
def test_a_package_without_findings_is_looked_at_in_one_go(made: Path, kind: str, agreed: list[bool]) -> None:
    assert list(check(made / kind)) == []
    assert list(check(made / kind, Level.STRUCTURE, jobs=2)) == []
    assert agreed == [True, True]


@pytest.mark.parametrize(
    ("lines", "code"), [(b"0" * 32 + b"  N_lobs/none.bin\n", "F023"), (b"no digest\n", "F027")]
)
def test_a_list_of_lobs_beside_their_archive_is_read(
    made: Path, tmp_path: Path, lines: bytes, code: str
) -> None:
    package = Path(shutil.copytree(made / MERGED, tmp_path / MERGED))
    listed(lines, "data/manifest.txt", "list", folder=top(package))(package)
    assert code in {each.code for each in check(package, Level.STRUCTURE)}
