import base64
import hashlib
import re
import struct
import zipfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from lxml import etree

from metspack.errors import SourceError, TargetError
from metspack.limits import Budgets
from metspack.model import FileExtent, LobCell, LobPlace, LobRef
from metspack.sources.archive import Archive
from metspack.sources.lobstream import ByteSources
from metspack.sources.repacking import RemovedEntries
from metspack.sources.rewriting import (
    AddedRun,
    Moved,
    Values,
    copy,
    rewrite,
)
from tests.planning.lobruns import apart, lobs_of
from tests.shared_data import ARCHIVES, shared
from tests.siard.forging import METADATA, NEW_MD5, OLD_MD5, Packing, Table, column, field, siard
from tests.siard.newcells import NewCell, cell_values
from tests.tables import read_table

LOB_1, LOB_2 = "content/schema0/table0/lob2/record0.bin", "content/schema0/table0/lob2/record1.bin"
LOBS = {LOB_1: b"first" * 99, LOB_2: b"second"}
ROWS = (f"<c1>1 &gt; 2</c1><c2 file='{LOB_1}' length=\"495\"/>", f"<c1>2</c1><c2\nfile = '{LOB_2}'>\n</c2>")
TABLE = Table(columns=(column("ID", "INTEGER"), column("DATA")), rows=ROWS)
EMPTY = Table(folder="table1", name="u", columns=(column("ID", "INTEGER"), column("D", lob_folder="x/")))
PARSER = etree.XMLParser(resolve_entities=False)


def new_value(cell: LobCell) -> NewCell:
    return NewCell(file=f"Pack_lobseg_0/{cell.place.id}.bin")


def valued(tables: Iterable[str]) -> Values:
    """Give the tables with these documents new values, leave all others."""
    paths = set(tables)
    return lambda table: cell_values(new_value) if table.path in paths else None


def moved_out(source: Path, budgets: Budgets | None = None, *, target: Path | None = None) -> Path:
    """Rewrite an archive so that all its LOBs leave it; return the new one."""
    target = target or source.with_name("target.siard")
    with Archive(source, budgets) as archive, closing(RemovedEntries()) as removed:
        columns: dict[str, dict[int, str]] = {}
        tables = {(each.schema, each.number): each.path for each in archive.metadata.tables}
        for lob in lobs_of(archive):
            for name in lob.entries:
                removed.add(name)
            path = tables[lob.place.schema, lob.place.table]
            columns.setdefault(path, {})[int(lob.place.cell.split(".")[0][1:])] = "./"
        hashers = rewrite(
            archive,
            Moved(entries=removed, columns=columns, database="./"),
            target,
            work=target.parent,
            values=valued(columns),
            algorithms=["MD5", "SHA-256"],
        )
    data = target.read_bytes()
    assert hashers.size == len(data)
    assert hashers.digest("SHA-256").value == hashlib.sha256(data).hexdigest()
    return target


def read(path: Path, name: str = METADATA) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(name)


def names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return [each.filename for each in sorted(archive.infolist(), key=lambda each: each.header_offset)]


# --- the law: nothing is another but what must be -----------------------------------------------------


def local(element: etree._Element) -> str:
    return etree.QName(element).localname


def without_locations(document: bytes) -> bytes:
    """Return metadata.xml without the parts that a move changes, and without white space."""
    root = etree.fromstring(document, PARSER)
    for each in list(root.iter(etree.Element)):
        above = each.getparent()
        of_column = above is not None and local(above) in {"column", "field"}
        if local(each) in {"lobFolder", "messageDigest"} or (local(each) == "folder" and of_column):
            above.remove(each)
    for each in root.iter():
        each.text = (each.text or "").strip() if isinstance(each.tag, str) else each.text
        each.tail = (each.tail or "").strip()
    return etree.tostring(root.getroottree(), method="c14n", with_comments=True)


def without_values(document: bytes) -> tuple[bytes, list[str]]:
    """Return a table's document without its ``file`` values, and those values."""
    root = etree.fromstring(document, PARSER)
    values = [str(each.attrib.pop("file")) for each in root.iter(etree.Element) if "file" in each.attrib]
    return etree.tostring(root.getroottree(), method="c14n", with_comments=True), values


def structures(path: Path) -> dict[str, tuple[bytes, bytes]]:
    """Return each entry's local structure and its central record, the offset left out."""
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        infos, at = archive.infolist(), archive.start_dir
    starts = sorted([each.header_offset for each in infos] + [archive.start_dir])
    found = {}
    for info in infos:
        length = 46 + sum(struct.unpack_from("<3H", data, at + 28))
        central = data[at : at + 42] + data[at + 46 : at + length]
        at += length
        stop = starts[starts.index(info.header_offset) + 1]
        found[info.filename] = (data[info.header_offset : stop], central)
    return found


def expect_the_law(source: Path, target: Path) -> None:
    before, after = structures(source), structures(target)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target) as new:
        assert new.testzip() is None
        lobs: set[str] = set()
        changed = {METADATA}
        for name in old.namelist():
            if not re.fullmatch(r"content/[^/]+/([^/]+)/\1\.xml", name):
                continue
            was, values = without_values(old.read(name))
            becomes, replaced = without_values(new.read(name))
            assert becomes == was
            assert len(replaced) == len(values)
            assert all(value.startswith("Pack_lobseg_0/s") for value in replaced)
            lobs |= {
                each
                for each in old.namelist()
                for value in values
                if each.endswith(f"/{value}") or each == value
            }
            if values:
                changed.add(name)
        folders = {name for name in old.namelist() if name.endswith("/")}
        stay = set(old.namelist()) - lobs
        emptied = {
            folder
            for folder in folders
            if any(lob.startswith(folder) for lob in lobs)
            and not any(name.startswith(folder) and not name.endswith("/") for name in stay)
        }
        assert set(new.namelist()) == stay - emptied
        assert without_locations(new.read(METADATA)) == without_locations(old.read(METADATA))
        assert new.comment == old.comment
    for name in after.keys() - changed:
        assert after[name] == before[name], name
    physical = names(target)
    first = next(at for at, name in enumerate(physical) if name.startswith("header/"))
    assert all(name.startswith("header/") for name in physical[first:])
    for part in (physical[:first], physical[first:]):
        assert part == [name for name in names(source) if name in part]


@pytest.mark.parametrize(
    ("version", "packing"),
    [
        ("1.0", Packing()),
        ("2.0", Packing()),
        ("2.1", Packing(method=zipfile.ZIP_DEFLATED)),
        ("2.2", Packing(method=zipfile.ZIP_DEFLATED)),
    ],
    ids=repr,
)
def test_every_version_fulfils_the_law(tmp_path: Path, version: str, packing: Packing) -> None:
    source = siard(
        tmp_path / "source.siard",
        version=version,
        tables=[TABLE, EMPTY],
        lobs=LOBS,
        folders=["content/", "content/schema0/", "content/schema0/table0/lob2/", "content/empty/", "header/"],
        digests=OLD_MD5 if version < "2.1" else NEW_MD5,
        packing=packing,
    )
    target = moved_out(source)
    expect_the_law(source, target)
    gone = set(names(source)) - set(names(target))
    assert gone == {*LOBS, "content/schema0/table0/lob2/"}
    assert read(target, TABLE.path) == TABLE.data.replace(
        LOB_1.encode(), b"Pack_lobseg_0/s0.t0.c2.r1.bin"
    ).replace(LOB_2.encode(), b"Pack_lobseg_0/s0.t0.c2.r2.bin")


@pytest.mark.parametrize(
    "packing",
    [
        Packing(streamed=True),
        Packing(streamed=True, zip64=True),
        Packing(streamed=True, method=zipfile.ZIP_DEFLATED),
        Packing(streamed=True, zip64=True, method=zipfile.ZIP_DEFLATED),
        Packing(zip64=True),
        Packing(header_first=True),
        Packing(comment=b"a comment"),
    ],
    ids=repr,
)
def test_every_way_of_packing_fulfils_the_law(tmp_path: Path, packing: Packing) -> None:
    source = siard(
        tmp_path / "source.siard", tables=[TABLE, EMPTY], lobs=LOBS, digests=NEW_MD5, packing=packing
    )
    target = moved_out(source)
    expect_the_law(source, target)
    assert digest_of(target, "md5") in read(target).decode()


@pytest.mark.parametrize(
    "parts", [each for each in ARCHIVES if "sakila" not in each[-1]], ids=lambda parts: parts[-1]
)
def test_real_archives_fulfil_the_law(tmp_path: Path, parts: tuple[str, ...]) -> None:
    original = shared("data", *parts)
    source = tmp_path / "source.siard"
    source.write_bytes(original.read_bytes())
    target = moved_out(source)
    expect_the_law(source, target)
    sealed_by = re.search(
        r"<messageDigest>(?:MD5|.*?<digest>)([0-9A-F]{32})", read(target).decode(), re.DOTALL
    )
    assert (sealed_by is None) is (b"<messageDigest>" not in read(source))
    assert sealed_by is None or sealed_by[1].lower() == digest_of(target, "md5")


# --- entries and folders ------------------------------------------------------------------------------


def test_a_lob_that_two_cells_name_leaves_once(tmp_path: Path) -> None:
    rows = (f"<c1 file='{LOB_1}'/>", f"<c1 file='{LOB_1}'/>")
    source = siard(tmp_path / "s.siard", tables=[Table(rows=rows)], lobs={LOB_1: b"x"})
    assert set(names(source)) - set(names(moved_out(source))) == {LOB_1}


def test_an_entry_no_cell_names_stays(tmp_path: Path) -> None:
    source = siard(tmp_path / "s.siard", tables=[TABLE], lobs={**LOBS, f"{LOB_1}.orphan": b"kept"})
    assert read(moved_out(source), f"{LOB_1}.orphan") == b"kept"


# --- messageDigest ------------------------------------------------------------------------------------


def digest_of(path: Path, algorithm: str) -> str:
    with zipfile.ZipFile(path) as archive:
        stop = min(each.header_offset for each in archive.infolist() if each.filename.startswith("header/"))
    return hashlib.new(algorithm, path.read_bytes()[:stop]).hexdigest()


def digests_in(version: str, digests: str, tmp_path: Path) -> tuple[str, Path]:
    """Rewrite an archive with these digests; return their text in it, and the new archive."""
    source = siard(tmp_path / "s.siard", version=version, tables=[TABLE], lobs=LOBS, digests=digests)
    target = moved_out(source)
    expect_the_law(source, target)
    text = read(target).decode()
    return text[text.index("</archivalDate>") + 17 : text.index("<!--")], target


@pytest.mark.parametrize(("version", "form"), read_table(__file__, "digests"))
def test_each_digest_is_made_anew_in_the_form_it_had(tmp_path: Path, version: str, form: str) -> None:
    found, target = digests_in(version, form, tmp_path)
    hashes = {name: digest_of(target, name) for name in ("md5", "sha1", "sha256")}
    hashes |= {name.upper(): value.upper() for name, value in hashes.items()}
    assert found == re.sub(r"\{(\w+)\}", lambda name: hashes[name[1]], form)


def test_a_digest_in_base64_stays_in_base64(tmp_path: Path) -> None:
    old = base64.b64encode(b"x" * 32).decode()
    found, target = digests_in("2.0", f"<messageDigest>SHA-256:{old}</messageDigest>", tmp_path)
    new = base64.b64encode(bytes.fromhex(digest_of(target, "sha256"))).decode()
    assert found == f"<messageDigest>SHA-256:{new}</messageDigest>"


# --- what cannot be done ------------------------------------------------------------------------------


def test_nesting_that_the_reader_allowed_is_allowed_again(tmp_path: Path) -> None:
    deep = field("f")
    for _ in range(50):
        deep = field("f", fields=deep)
    table = Table(columns=(column("ID"), column("DATA"), column("S", fields=deep)), rows=ROWS)
    source = siard(tmp_path / "s.siard", version="2.0", tables=[table], lobs=LOBS)
    with pytest.raises(SourceError, match="nested more than 100 deep") as caught:
        moved_out(source)
    assert "--budget depth=N" in caught.value.hint
    expect_the_law(source, moved_out(source, Budgets(depth=200)))


def test_a_target_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    source = siard(tmp_path / "s.siard", tables=[TABLE], lobs=LOBS)
    (tmp_path / "target.siard").write_bytes(b"mine")
    with pytest.raises(TargetError, match="File exists"):
        moved_out(source)
    assert (tmp_path / "target.siard").read_bytes() == b"mine"


def test_an_archive_from_which_nothing_moves_is_copied_whole(tmp_path: Path) -> None:
    source = siard(tmp_path / "s.siard", tables=[EMPTY], packing=Packing(comment=b"c"))
    with Archive(source) as archive:
        hashers = copy(archive, tmp_path / "copy", ["MD5"], work=tmp_path)
    assert (tmp_path / "copy").read_bytes() == source.read_bytes()
    assert hashers.digest("MD5").value == hashlib.md5(source.read_bytes(), usedforsecurity=False).hexdigest()


def test_the_source_is_left_as_it_was(tmp_path: Path) -> None:
    source = siard(tmp_path / "s.siard", tables=[TABLE], lobs=LOBS, digests=NEW_MD5)
    before, stamp = source.read_bytes(), source.stat().st_mtime_ns
    moved_out(source)
    assert (source.read_bytes(), source.stat().st_mtime_ns) == (before, stamp)


def test_a_table_in_another_encoding_is_spliced_in_it(tmp_path: Path) -> None:
    row = f'<row><c2 d="\u00e9\u3e00" file="{LOB_1}"/></row>'
    text = f'<?xml version="1.0" encoding="UTF-16"?><table>{row}</table>'
    table = Table(columns=TABLE.columns, document=text.encode("utf-16"))
    source = siard(tmp_path / "s.siard", tables=[table], lobs=LOBS)
    target = moved_out(source)
    assert read(target, table.path) == text.replace(LOB_1, "Pack_lobseg_0/s0.t0.c2.r1.bin").encode("utf-16")


# --- LOBs that come in --------------------------------------------------------------------------------


def added(folder: Path, name: str, data: bytes = b"new", method: int = 8) -> AddedRun:
    """Return a file with this content as an entry that is added by itself."""
    file = folder / f"added-{len(list(folder.iterdir()))}"
    file.write_bytes(data)
    found = file.stat()
    extent = FileExtent(
        root=0,
        path=(file.name,),
        size=len(data),
        modified=found.st_mtime_ns,
        inode=found.st_ino,
        device=found.st_dev,
    )
    cell = LobCell(place=LobPlace(schema=0, table=0, cell="c2", row=1), file=name)
    lob = LobRef(cell=cell, size=len(data), extension="bin", media_type="a/b", extents=(extent,))
    (run,) = apart([lob])
    return AddedRun(names=[name], run=run, sources=ByteSources(archives=(), roots=(folder,)), method=method)


def restored(package: Path, lobs: dict[str, bytes], *, method: int = 0) -> Path:
    """Rewrite an archive so that its LOBs are inside again, under the names they had."""
    target = package.with_name("restored.siard")
    inside = iter(lobs)

    def value(cell: LobCell) -> NewCell:
        del cell
        return NewCell(file=next(inside))

    with Archive(package) as archive, closing(RemovedEntries()) as none:
        rewrite(
            archive,
            Moved(entries=none, columns={}),
            target,
            work=package.parent,
            values=lambda table: cell_values(value) if table.path == TABLE.path else None,
            algorithms=(),
            added=[added(package.parent, name, data, method) for name, data in lobs.items()],
        )
    return target


def test_folders_come_in_where_the_archive_lists_folders(tmp_path: Path) -> None:
    deep = {"content/schema0/table0/lob2/a/b/r0": b"1", "content/schema0/table0/lob2/a/b/r1": b"2"}
    deep |= {"content/schema0/table0/lob2/r2": b"3", "content/schema0/table0/lob2/a/r3": b"4", "r4": b"5"}
    table = Table(columns=TABLE.columns, rows=tuple(f"<c2 file='{number}'/>" for number in deep))
    listing = siard(tmp_path / "a.siard", tables=[table], folders=["content/", "content/schema0/table0/"])
    without = siard(tmp_path / "b.siard", tables=[table], folders=["content/"])
    assert [name for name in names(restored(listing, deep)) if name.endswith("/")] == [
        "content/",
        "content/schema0/table0/",
        "content/schema0/",
        "content/schema0/table0/lob2/",
        "content/schema0/table0/lob2/a/",
        "content/schema0/table0/lob2/a/b/",
        "header/siardversion/2.2/",
    ]
    (tmp_path / "restored.siard").unlink()
    (tmp_path / "restored.siard.directory").unlink()
    assert [name for name in names(restored(without, deep)) if name.endswith("/")] == [
        "content/",
        "header/siardversion/2.2/",
    ]


@pytest.mark.parametrize("name", [LOB_1, TABLE.path, "again"])
def test_a_name_that_is_there_already_does_not_come_in(tmp_path: Path, name: str) -> None:
    source = siard(tmp_path / "s.siard", tables=[TABLE], lobs=LOBS)
    with pytest.raises(SourceError, match=re.escape(f"s.siard: a LOB is to become the entry {name!r}")):
        come_in(source, ["again", name])


@pytest.mark.parametrize("name", ["header/x", "content/", "../x", "/x", "a\\b", ""])
def test_a_name_that_is_none_is_a_fault_of_the_caller(tmp_path: Path, name: str) -> None:
    source = siard(tmp_path / "s.siard", tables=[TABLE], lobs=LOBS)
    with pytest.raises(ValueError, match="is not a name for an entry of the content"):
        come_in(source, [name])


def test_a_name_that_leaves_may_come_in_again(tmp_path: Path) -> None:
    source = siard(tmp_path / "s.siard", tables=[TABLE], lobs=LOBS)
    come_in(source, [LOB_1], leaving=[LOB_1])
    assert read(tmp_path / "t.siard", LOB_1) == b"new"


def come_in(source: Path, names: Iterable[str], leaving: Iterable[str] = ()) -> None:
    with Archive(source) as archive, closing(RemovedEntries()) as removed:
        for name in leaving:
            removed.add(name)
        rewrite(
            archive,
            Moved(entries=removed, columns={}),
            source.with_name("t.siard"),
            work=source.parent,
            values=lambda _table: None,
            algorithms=(),
            added=[added(source.parent, name) for name in names],
        )


# --- columns that stay --------------------------------------------------------------------------------


def staying(tmp_path: Path, version: str, rows: Iterable[str], *, named: bool = True) -> tuple[str, str]:
    """Rewrite an archive with one column inside; return metadata.xml and the table's document."""
    columns = (column("A", folder="lob1"), column("B", folder="lob2"), column("C", folder="lob3"))
    lobs = {f"content/schema0/table0/lob{number}/r": b"x" for number in (1, 2, 3)}
    source = siard(
        tmp_path / "s.siard", version=version, tables=[Table(columns=columns, rows=tuple(rows))], lobs=lobs
    )

    def value(cell: LobCell) -> NewCell | None:
        if cell.place.cell == "c1":
            return NewCell(file="Pack_lobseg_0/r")
        if cell.place.cell == "c2":
            return NewCell(file="content/schema0/table0/lob2/r") if named else None
        return None

    with Archive(source) as archive, closing(RemovedEntries()) as removed:
        removed.add("content/schema0/table0/lob1/r")
        rewrite(
            archive,
            Moved(entries=removed, columns={TABLE.path: {1: "../"}}),
            tmp_path / "t.siard",
            work=tmp_path,
            values=lambda _table: cell_values(value),
            algorithms=(),
        )
    return read(tmp_path / "t.siard").decode(), read(tmp_path / "t.siard", TABLE.path).decode()


FULL = tuple(f"<c{number} file='content/schema0/table0/lob{number}/r'/>" for number in (1, 2, 3))


@pytest.mark.parametrize("version", ["1.0", "2.2"])
def test_a_column_whose_cells_name_their_entries_in_full_has_no_folder(tmp_path: Path, version: str) -> None:
    rows = ("<c1 file='r'/><c2 file='r'/><c3 file='r'/>",)
    described, table = staying(tmp_path, version, rows)
    assert "<folder>lob1<" not in described
    assert "<folder>lob2<" not in described
    assert "<folder>lob3<" in described
    assert "<c2 file='content/schema0/table0/lob2/r'/><c3 file='r'/>" in table
    assert described.count("<lobFolder>../</lobFolder>") == 1


@pytest.mark.parametrize("version", ["1.0", "2.0", "2.1", "2.2"])
def test_full_names_beside_a_folder_are_the_rule_in_siard_1_only(tmp_path: Path, version: str) -> None:
    described, table = staying(tmp_path, version, ("".join(FULL),))
    assert ("<folder>lob2<" in described) is (version == "1.0")
    assert "".join(FULL[1:]) in table


def test_a_table_without_values_is_not_read_and_keeps_its_bytes(tmp_path: Path) -> None:
    broken = Table(folder="table1", name="u", document=b"<table><no xml")
    source = siard(tmp_path / "s.siard", tables=[TABLE, broken], lobs=LOBS)
    come_in(source, ["new"])
    assert structures(tmp_path / "t.siard")[broken.path] == structures(source)[broken.path]
