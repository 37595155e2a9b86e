"""Archives in every form that a package may have them: whole, in parts, unpacked, packed with the rest."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.checking import options as checking_options
from metspack.files import byteranges, tempdb
from metspack.limits import Budgets
from tests.findings import codes
from tests.packages import forge, steps
from tests.packages.forge import LOBS, md5

NAME = "Northwind.siard"
LEVELS = [Level.STRUCTURE, Level.FIXITY, Level.FULL]
INSIDE = "content/schema0/table2/lob4/record0.bin"


def listing(package: Path, paths: list[str]) -> None:
    """Let the parent's METS list files as its archive, and seal it."""
    text = (package / "mets.xml").read_text()
    start = text.index('<mets:file ID="ID_NORTHWIND.SIARD"')
    end = text.index("</mets:fileGrp>", start)
    entries = "".join(
        f'<mets:file ID="A{number}" SIZE="0" CHECKSUM="" CHECKSUMTYPE="MD5"><mets:FLocat LOCTYPE="URL" '
        f'xlink:href="{path}"/></mets:file>'
        for number, path in enumerate(paths)
    )
    pointers = "".join(f'<mets:fptr FILEID="A{number}"/>' for number in range(len(paths)))
    text = text[:start] + entries + text[end:]
    (package / "mets.xml").write_text(text.replace('<mets:fptr FILEID="ID_NORTHWIND.SIARD"/>', pointers))
    forge.seal(package)


def cut(package: Path, count: int = 3) -> list[str]:
    """Cut the archive into parts, as SIARD 2.2 names them."""
    data = (package / NAME).read_bytes()
    size = -(-len(data) // count)
    names = [f"{NAME}_part{number + 1:03d}" for number in range(count)]
    for number, name in enumerate(names):
        (package / name).write_bytes(data[number * size : (number + 1) * size])
    (package / NAME).unlink()
    return names


def unpack(package: Path, folder: str = NAME) -> list[str]:
    data = (package / NAME).read_bytes()
    (package / NAME).unlink()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            path = package / folder / name
            if name.endswith("/"):
                path.mkdir(parents=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(name))
        return [f"{folder}/{name}" for name in archive.namelist() if not name.endswith("/")]


def archive(package: Path, *table: tuple[str, str], **options: object) -> None:
    steps._archive(package / NAME, table=table, **options)  # type: ignore[arg-type]


# --- in parts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "count"), list(zip(LEVELS, (1, 3, 12), strict=True)))
def test_an_archive_in_parts_is_read_as_one(package: Path, level: Level, count: int) -> None:
    listing(package, cut(package, count))
    run = check(package, level)
    assert codes(run) == []


def test_the_cells_of_an_archive_in_parts_are_compared(package: Path) -> None:
    archive(package, (f'digest="{md5(LOBS[0].data)}"', f'digest="{"0" * 32}"'))
    listing(package, cut(package))
    (found,) = list(check(package))
    assert (found.code, found.place) == ("Z015", "s0.t2.c4.r1")
    assert codes(check(package, Level.STRUCTURE)) == ["Z014"]


def test_the_message_digest_is_over_all_parts(package: Path) -> None:
    archive(package, digest="0" * 32)
    listing(package, cut(package, 5))
    run = check(package)
    (found,) = list(run)
    assert (found.code, found.path) == ("Z020", NAME)
    whole = forge.forge(package.with_name("whole"))
    archive(whole, digest="0" * 32)
    forge.seal(whole)
    assert [each.message for each in check(whole)] == [found.message]
    once = check(package, Level.FIXITY)
    list(once)
    # Each part is read once; the entries are inflated as well.
    assert once.summary.bytes < run.summary.bytes < once.summary.bytes + 10_000


def test_a_changed_entry_in_a_part_is_found(package: Path) -> None:
    names = cut(package)
    data = bytearray((package / names[0]).read_bytes())
    data[90] ^= 1
    (package / names[0]).write_bytes(data)
    listing(package, names)
    found = codes(check(package))
    assert "Z002" in found or "Z001" in found
    assert "Z020" in found


def test_parts_that_are_not_all_listed(package: Path) -> None:
    names = cut(package)
    (package / names[1]).unlink()
    listing(package, [names[0], names[2]])
    (found,) = [each for each in check(package) if each.code == "Z001"]
    assert found.path == NAME
    assert "part 003 is listed where 002 is expected" in found.message


def test_a_part_that_is_listed_and_gone_is_reported_once(package: Path) -> None:
    names = cut(package)
    listing(package, names)
    (package / names[1]).unlink()
    forge.write_manifests(package)
    assert codes(check(package)) == ["F001"]


# --- unpacked -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "folder"), [(Level.STRUCTURE, NAME), (Level.FULL, "archive"), (Level.FULL, "deep/in/archive")]
)
def test_an_unpacked_archive_is_read_like_one(package: Path, level: Level, folder: str) -> None:
    if "/" in folder:
        archive(package, database="../../")
    listing(package, unpack(package, folder))
    assert codes(check(package, level)) == (["Z024"] if level is Level.FULL else [])


def inside(package: Path, digest: str | None = None, length: int | None = None) -> None:
    """Put a LOB into the archive, whose only cell names it."""
    data = b"inside"
    row = (
        f'<row><c4 file="{INSIDE}" length="{len(data) if length is None else length}" digestType="MD5" '
        f'digest="{md5(data) if digest is None else digest}"/></row>'
    )
    xml = f'<table xmlns="http://www.bar.admin.ch/xmlns/siard/2/table.xsd">{row}</table>'
    metadata = forge.metadata("0" * 32, column="").decode().replace("<rows>4</rows>", "<rows>1</rows>")
    archive(package, xml=xml, entries={INSIDE: "inside"}, metadata=metadata)


def test_lobs_inside_an_unpacked_archive_are_files_like_others(package: Path) -> None:
    inside(package)
    listing(package, unpack(package))
    # The child METS still lists the LOBs that the other cells named.
    assert set(codes(check(package))) == {"Z017", "Z022", "Z024"}
    assert set(codes(check(package, Level.STRUCTURE))) == {"Z017", "Z022"}


def test_a_changed_lob_inside_an_unpacked_archive_is_found(package: Path) -> None:
    inside(package, digest="0" * 32)
    listing(package, unpack(package))
    (found,) = [each for each in check(package) if each.code == "Z015"]
    assert found.place == "s0.t2.c4.r1"
    assert f"{NAME}/{INSIDE}" in found.message


def test_a_lost_lob_of_an_unpacked_archive_is_found(package: Path) -> None:
    inside(package)
    names = unpack(package)
    (package / NAME / INSIDE).unlink()
    listing(package, [each for each in names if not each.endswith(INSIDE)])
    assert "Z011" in codes(check(package, Level.STRUCTURE))


def test_the_empty_folder_that_says_the_version_is_no_fault(package: Path) -> None:
    names = unpack(package)
    (package / NAME / "header/siardversion/2.2").mkdir(parents=True, exist_ok=True)
    (package / NAME / "header/empty").mkdir()
    listing(package, names)
    assert [each.path for each in check(package) if each.code == "P010"] == [f"{NAME}/header/empty"]


# --- packed -------------------------------------------------------------------------------------------


def stored(folder: Path, target: Path, *, deflated: tuple[str, ...] = ()) -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as packed:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                method = zipfile.ZIP_DEFLATED if path.name in deflated else zipfile.ZIP_STORED
                packed.write(path, path.relative_to(folder).as_posix(), compress_type=method)
    return target


def test_an_archive_stored_in_a_zip_is_read_where_it_is(package: Path, tmp_path: Path) -> None:
    target = stored(package, tmp_path / "package.zip")
    for level in LEVELS:
        assert codes(check(target, level)) == []
    archive(package, digest="0" * 32)
    forge.seal(package)
    assert codes(check(stored(package, target))) == ["Z020"]


@pytest.mark.parametrize("level", LEVELS)
def test_an_archive_that_is_compressed_once_more_is_inflated_at_the_level_full(
    package: Path, tmp_path: Path, level: Level
) -> None:
    target = stored(package, tmp_path / "package.zip", deflated=(NAME,))
    found = list(check(target, level))
    assert [each.code for each in found] == (["Z023"] if level is Level.STRUCTURE else [])
    assert all(each.path == NAME and str(target) in each.message for each in found)
    archive(package, (f'digest="{md5(LOBS[0].data)}"', f'digest="{"0" * 32}"'))
    forge.seal(package)
    target = stored(package, target, deflated=(NAME,))
    assert codes(check(target, level)) == {Level.FULL: ["Z015"], Level.STRUCTURE: ["Z023"]}.get(level, [])


def test_an_archive_in_parts_that_are_compressed_is_inflated_as_one(package: Path, tmp_path: Path) -> None:
    names = cut(package)
    listing(package, names)
    for deflated in (names, names[1:]):
        assert codes(check(stored(package, tmp_path / "package.zip", deflated=tuple(deflated)))) == []


def test_an_archive_over_the_budget_is_not_inflated(package: Path, tmp_path: Path) -> None:
    size = (package / NAME).stat().st_size
    target = stored(package, tmp_path / "package.zip", deflated=(NAME,))
    assert codes(check(target, budgets=Budgets(inflated=size))) == []
    (found,) = check(target, budgets=Budgets(inflated=size - 1))
    assert found.code == "Z023"
    assert f"it has {size:,} bytes, more than {size - 1:,}" in found.message


def test_an_archive_for_which_the_temporary_disk_has_no_room_is_reported(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tempdb.create

    def create(*statements: str, schema: str = "", **named: int) -> sqlite3.Connection:
        if schema == byteranges._BLOCKS:
            filling = "INSERT INTO block VALUES (-1, zeroblob(4000))", "PRAGMA max_page_count = 2"
            statements = (*filling, *statements)
        return real(*statements, schema=schema, **named)

    target = stored(package, tmp_path / "package.zip", deflated=(NAME,))
    monkeypatch.setattr(tempdb, "create", create)
    (found,) = check(target)
    assert found.code == "Z023"
    assert "disk is full" in found.message


def test_a_damaged_archive_that_is_compressed_once_more_is_reported_as_damage(
    package: Path, tmp_path: Path
) -> None:
    target = stored(package, tmp_path / "package.zip", deflated=(NAME,))
    with zipfile.ZipFile(target) as packed:
        entry = packed.getinfo(NAME)
    data = bytearray(target.read_bytes())
    data[entry.header_offset + 30 + len(NAME) + entry.compress_size // 2] ^= 0xFF
    target.write_bytes(data)
    found = codes(check(target))
    assert "Z001" in found
    assert "Z023" not in found


# --- samples ------------------------------------------------------------------------------------------


def test_of_a_sample_an_archive_in_parts_goes_with_its_first_part(package: Path) -> None:
    archive(package, digest="0" * 32)
    names = cut(package)
    listing(package, names)
    others = [f"Northwind_lobseg_{lob.segment}/{lob.path}" for lob in LOBS]
    seen = set()
    for seed in range(8):
        sample = checking_options.parsed("1", seed)
        is_first = min(names + others, key=lambda each: sample.key(each.encode())) == names[0]
        assert codes(check(package, sample=sample)) == (["Z020"] if is_first else [])
        seen.add(is_first)
    assert seen == {True, False}
