"""The proof that all LOBs can be given back, and what it finds when they cannot; relations of parts."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.errors import SourceError, TargetError
from metspack.files import tempdb
from metspack.model import Budgets
from metspack.packages.cells import cell_of, opened_archive
from metspack.packages.package import Package
from metspack.packages.proofs import Evidence
from metspack.restoring.files import restore_files
from metspack.restoring.roundtrip import Roundtrip, Summary
from metspack.restoring.shards.writing import unrelated
from tests.conftest import CHECKOUT
from tests.packages import forge
from tests.restoring import damages, splitting
from tests.restoring.splitting import LOBS, SPLIT, mets

CELLS = [forge.Lob(lob.segment, lob.row, lob.data, lob.extension) for lob in LOBS]
TABLE = forge.table(CELLS, splitting.NAME).decode()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return splitting.forged(tmp_path / "package")


def messages(root: Path) -> list[str]:
    with Package(root) as package:
        return [each.message for each in Roundtrip(package)]


def related(root: Path) -> list[str]:
    with Package(root) as package:
        return [each.message for each in unrelated(package)]


def summary(
    *,
    lobs: int,
    size: int,
    split: int = 0,
    inside: int = 0,
    disagreements: int = 0,
    unproven: int = 0,
    **evidence: int,
) -> Summary:
    """Return a summary; evidence by name in small letters, 0 when not given."""
    return Summary(
        lobs=lobs,
        split=split,
        inside=inside,
        bytes=size,
        disagreements=disagreements,
        evidence={each: evidence.get(each.name.lower(), 0) for each in Evidence},
        unproven=unproven,
    )


class Watched:
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int | None]] = []
        self.bytes: Counter[str] = Counter()

    def stage(self, name: str, total: int | None) -> None:
        self.stages.append((name, total))

    def advance(self, amount: int) -> None:
        self.bytes[self.stages[-1][0]] += amount


@pytest.mark.parametrize(("name", "lobs", "size"), [("Northwind", 8, None), ("Northwind-full", 46, 222707)])
def test_the_golden_packages_are_proven(name: str, lobs: int, size: int | None) -> None:
    watched = Watched()
    with Package(CHECKOUT / "samples" / "northwind" / "golden" / name) as package:
        proof = Roundtrip(package, watched)
        assert list(proof) == []
        total = sum(lob.size for lob in package.lobs())
    assert proof.summary == summary(
        lobs=lobs, size=total, mets_digest=lobs, cell_digest=lobs, cell_length=lobs
    )
    assert size in {None, total}
    assert dict(watched.stages)["Joining LOBs"] == watched.bytes["Joining LOBs"] == total
    compared = "Comparing the archive with METS"
    assert dict(watched.stages)[compared] == watched.bytes[compared] > 0


def test_a_package_with_split_lobs_is_proven(root: Path) -> None:
    with Package(root) as package:
        proof = Roundtrip(package)
        assert list(proof) == []
    size = sum(len(lob.data) for lob in LOBS)
    assert proof.summary == summary(lobs=3, split=1, size=size, mets_digest=3, cell_digest=3, cell_length=3)


def with_table(
    root: Path, table: str, *, entries: dict[str, bytes] | None = None, column: str = "./"
) -> None:
    archive = forge.siard(table.encode(), entries=list((entries or {}).items()), column=column)
    (root / "Northwind.siard").write_bytes(archive)
    splitting.agreed(root)


def cells(old: str, new: str) -> Callable[[Path], None]:
    assert old in TABLE
    return lambda root: with_table(root, TABLE.replace(old, new))


def edited(where: str, old: str, new: str) -> Callable[[Path], None]:
    return lambda root: splitting.edit(root / where, old, new)


def damaged(root: Path) -> None:
    path = root / "Northwind_lobseg_1" / LOBS[1].path(1)
    path.write_bytes(b"#" + path.read_bytes()[1:])


def shorter(root: Path) -> None:
    (root / "Northwind_lobseg_0" / LOBS[0].path(0)).write_bytes(b"short")


ROW = re.search(r"<row><c1>3.*?</row>", TABLE)
assert ROW is not None
FURTHER = '<row><c1>4</c1><c4 file="{}" length="3" digestType="MD5" digest="{}"/></row></table>'


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            damaged,
            [
                r"LOB .*r2, .*p1: .*\.1 has another MD5 than .*_1/mets.xml line \d+ says: expected \w+; f",
                r"LOB .*r2: all its bytes have another MD5 than the whole \(mets.xml line \d+\) says",
                r"LOB .*r2: all its bytes have another MD5 than its cell .*r2 in the SIARD says",
            ],
        ),
        (shorter, [r"LOB .*r1: it cannot be restored: expected all its bytes; found .* has 5 bytes"]),
        (cells(forge.md5(LOBS[0].data), forge.md5(b"?")), [r"LOB .*r1: .*another MD5 than its cell"]),
        (cells('length="46"', 'length="47"'), [r"LOB .*r2: .*another length than its cell .* expected 47"]),
        (cells(ROW[0], ""), [r"LOB .*r3: a METS lists it: expected a cell that names it; found none"]),
        (
            cells("</table>", FURTHER.format("Northwind_lobseg_2/content/x.bin", "0" * 32)),
            [r"LOB .*r4: Northwind.siard has a cell of it: expected its bytes; found .*LOB not found"],
        ),
        (
            edited(mets(2), 'CHECKSUMTYPE="MD5"', 'CHECKSUMTYPE="TIGER"'),
            [r"LOB .*r2, .*p2: .* cannot be verified.* found TIGER"],
        ),
        (
            edited("mets.xml", 'ORDER="3"', 'ORDER="2"'),
            [r"LOB .*r2: it cannot be restored: .* found its parts .*p1 and .*p2 have the same ORDER 2"],
        ),
        (
            lambda root: (root / "Northwind.siard").unlink(),
            [r"^the package is incomplete: .*siard cannot be opened"],
        ),
        (lambda root: (root / "Northwind.siard").write_bytes(b"no zip"), ["^the package is incomplete"]),
        (
            edited("mets.xml", 'href="Northwind.siard"', 'href="Northwind.zip"'),
            [f"LOB {lob.id}: a METS lists it: .* found no archive in the package" for lob in LOBS],
        ),
        (
            lambda root: shutil.rmtree(root / "Northwind_lobseg_2"),
            [
                r"^the package is incomplete: .* found Northwind_lobseg_2/mets.xml cannot be read",
                r"LOB .*r2, .*p2: mets.xml line \d+ names it as a part: .* this ID in ID_.*; found none",
                r"LOB .*r2: it cannot be restored: .* part .*p2 is missing",
                r"LOB .*r3: Northwind.siard has a cell of it: .*record2\.bin.*LOB not found",
            ],
        ),
    ],
)
def test_what_disagrees_is_told_and_the_rest_is_proven(
    root: Path, change: Callable[[Path], object], said: list[str]
) -> None:
    change(root)
    found = messages(root)
    assert len(found) == len(said), found
    for message, expected in zip(found, said, strict=True):
        assert re.search(expected, message), message


def test_cells_of_any_number_and_without_digest_are_compared(tmp_path: Path) -> None:
    lobs = [splitting.Lob(row, (b"%d" % row,)) for row in range(1, 2_500)]
    root = splitting.forged(tmp_path / "many", lobs)
    table = forge.table([forge.Lob(0, lob.row, lob.data) for lob in lobs], splitting.NAME).decode()
    with_table(
        root, re.sub(' digestType="MD5" digest="[^"]*"', "", table).replace('length="2"', 'length="3"', 1)
    )
    (message,) = messages(root)
    assert message.startswith("LOB s0.t2.c4.r10: it has another length than its cell")
    assert message.endswith("expected 3; found 2 bytes, 2 characters, 2 UTF-16 units")


def test_a_lob_that_no_mets_lists_is_told(root: Path) -> None:
    (root / "x.bin").write_bytes(b"abc")
    with_table(root, TABLE.replace("</table>", FURTHER.format("x.bin", forge.md5(b"abc"))))
    (message,) = messages(root)
    assert message.endswith(
        "Northwind.siard has a cell of it: expected its bytes; found x.bin, which no METS lists"
    )


def test_ids_of_others_are_joined_by_the_files_they_name(root: Path) -> None:
    for number in range(3):
        text = (root / mets(number)).read_text().replace("s0.t2.c4.", "uuid-")
        (root / mets(number)).write_text(text)
    (root / "mets.xml").write_text((root / "mets.xml").read_text().replace("s0.t2.c4.", "uuid-"))
    splitting.agreed(root)
    with Package(root) as package:
        proof = Roundtrip(package)
        assert [each.message for each in proof] == []
        assert cell_of(package, "uuid-r1") is None
    assert proof.summary.lobs == 3
    with_table(root, TABLE.replace(forge.md5(LOBS[0].data), forge.md5(b"?")))
    with Package(root) as package:
        # The resolver finds no file with the cell's digest, or the proof tells that it is another.
        assert all("r1" in each.message for each in Roundtrip(package))


def test_lobs_inside_the_archive_are_read_there(root: Path) -> None:
    data = "drei, größer".encode()
    name = "content/schema0/table2/lob4/record0.txt"
    table = forge.table((), splitting.NAME).decode()
    row = '<row><c1>1</c1><c4 file="{}" length="{}" {}/></row></table>'
    digest = f'digestType="MD5" digest="{forge.md5(data)}"'
    shutil.rmtree(root)
    splitting.forged(root, ())

    def told(length: int | str, digest: str, *, size: int = 1) -> list[str]:
        with_table(
            root,
            table.replace("</table>", row.format(name, length, digest)),
            entries={name: data * size},
            column="",
        )
        return messages(root)

    assert told(len(data), digest) == []
    assert told(len(data.decode()), digest) == []
    assert told("", "") == []
    (wrong,) = told(len(data), digest.replace(forge.md5(data), forge.md5(b"?")))
    assert "the entry content/schema0/table2/lob4/record0.txt has another MD5 than its cell says" in wrong
    (wrong,) = told(len(data) - 1, "")
    assert "a cell of it: expected its bytes; found table dbo.Categories row 1" in wrong
    (wrong,) = told(len(data) - 1, digest)
    assert f"another length than its cell says: expected {len(data) - 1}; found {len(data)} bytes" in wrong
    with Package(root) as package:
        proof = Roundtrip(package)
        list(proof)
    assert proof.summary == summary(lobs=0, inside=1, size=len(data), disagreements=1, cell_digest=1, crc=1)


def packed(path: Path, root: Path, names: list[str]) -> None:
    with zipfile.ZipFile(path, "w") as container:
        for name in names:
            container.write(root / name, name)


def test_an_archive_in_pieces_is_read_as_one_and_each_proven(root: Path) -> None:
    names = damages.in_pieces(root)
    assert messages(root) == []
    with Package(root) as package:
        assert package.archives == (("Northwind.siard_part001",),)
        assert cell_of(package, SPLIT) is not None
    last = forge.md5((root / names[2]).read_bytes())
    forge.edit(root / "mets.xml", last, "0" * 32)
    expected = f"{names[2]} has another MD5 than METS says: expected {'0' * 32}; found {last}"
    assert messages(root) == [expected]


def test_an_unpacked_archive_is_read_and_so_are_lobs_in_it(root: Path) -> None:
    data = b"inside"
    name = "content/schema0/table2/lob4/record3.bin"
    row = FURTHER.format(name, forge.md5(data)).replace('length="3"', 'length="6"')
    with_table(root, TABLE.replace("</table>", row), entries={name: data})
    with zipfile.ZipFile(root / "Northwind.siard") as container:
        container.extractall(root / "unpacked")
        paths = [f"unpacked/{each}" for each in container.namelist() if not each.endswith("/")]
    (root / "Northwind.siard").unlink()
    (root / "unpacked").rename(root / "Northwind.siard")
    damages.listing(root, *(path.replace("unpacked", "Northwind.siard") for path in paths))
    with Package(root) as package:
        assert package.archives == (("Northwind.siard",),)
        proof = Roundtrip(package)
        assert [each.message for each in proof] == []
    assert proof.summary.inside == 1
    (root / "Northwind.siard" / name).write_bytes(b"damage")
    (message,) = messages(root)
    assert "record3.bin has another MD5 than its cell says" in message


def test_a_lob_in_a_packed_segment_that_no_mets_lists_is_told(root: Path) -> None:
    (root / "content").mkdir()
    (root / "content" / "x.bin").write_bytes(b"abc")
    packed(root / "Northwind_lobseg_9.zip", root, ["content/x.bin"])
    shutil.rmtree(root / "content")
    with_table(
        root, TABLE.replace("</table>", FURTHER.format("Northwind_lobseg_9/content/x.bin", forge.md5(b"abc")))
    )
    (message,) = messages(root)
    assert message.endswith("found Northwind_lobseg_9/content/x.bin, which no METS lists")


def test_a_damaged_entry_is_told(root: Path) -> None:
    shutil.rmtree(root)
    splitting.forged(root, ())
    name = "content/schema0/table2/lob4/record0.bin"
    row = f'<row><c1>1</c1><c4 file="{name}" length="4"/></row></table>'
    table = forge.table((), splitting.NAME).decode().replace("</table>", row)
    with_table(root, table, entries={name: b"abcd"}, column="")
    data = bytearray((root / "Northwind.siard").read_bytes())
    at = data.index(name.encode()) + len(name)
    data[at : at + 3] = b"\xff\xff\xff"
    (root / "Northwind.siard").write_bytes(data)
    splitting.agreed(root)
    (message,) = messages(root)
    assert message.startswith("LOB s0.t2.c4.r1: it cannot be restored")


def test_an_archive_that_is_not_what_mets_says_is_told(root: Path) -> None:
    forge.edit(root / "mets.xml", forge.md5((root / "Northwind.siard").read_bytes()), "0" * 32)
    (message,) = messages(root)
    assert message.startswith(f"Northwind.siard has another MD5 than METS says: expected {'0' * 32}; found ")
    forge.edit(root / "mets.xml", 'CHECKSUMTYPE="MD5"', 'CHECKSUMTYPE="TIGER"')
    assert messages(root) == []


@pytest.mark.parametrize(
    ("segment", "name", "data"),
    [
        (1, "record1.bin.01", LOBS[1].pieces[1]),
        (0, "record1.bin.1", LOBS[1].pieces[1]),
        (0, "record1.bin", LOBS[1].data),
    ],
    ids=["01 beside 1", "1 also in another segment", "whole beside the parts"],
)
def test_what_restoring_refuses_cannot_be_given_back(
    root: Path, tmp_path: Path, segment: int, name: str, data: bytes
) -> None:
    path = root / f"Northwind_lobseg_{segment}" / LOBS[1].path(0)
    path.with_name(name).write_bytes(data)
    with pytest.raises(SourceError, match=SPLIT):
        restore_files(root, tmp_path / "restored")
    (message,) = messages(root)
    assert message.startswith(f"LOB {SPLIT}: its cell in Northwind.siard means something else than METS")


def test_a_cell_that_names_the_file_of_another_lob_is_told(root: Path) -> None:
    one, other = CELLS[0], CELLS[2]
    cell = f"Northwind_lobseg_{one.segment}/{one.path}"
    changed = TABLE.replace(f"Northwind_lobseg_{other.segment}/{other.path}", cell)
    with_table(root, re.sub(' length="[0-9]*" digestType="MD5" digest="[^"]*"', "", changed))
    (message,) = messages(root)
    assert message.endswith(f"found {cell!r}, which METS lists as s0.t2.c4.r1, and s0.t2.c4.r3 elsewhere")


def test_parts_and_map_name_each_other(root: Path) -> None:
    assert related(root) == []
    splitting.edit(root / "mets.xml", f'CONTENTIDS="{SPLIT}.p1"', 'CONTENTIDS="gone"')
    first, second = related(root)
    assert re.match(r"LOB .*r2, gone: mets.xml line \d+ names it as a part: .* found none", first)
    assert re.match(rf"LOB .*r2, {SPLIT}.p1: .*_1/mets.xml line \d+ lists it as a part", second)
    assert "expected an mptr to ID_Northwind_lobseg_1_mets" in second


def test_a_part_in_another_child_than_the_map_says_is_told(root: Path) -> None:
    rest = f'_mets" LOCTYPE="OTHER" OTHERLOCTYPE="OBJID" CONTENTIDS="{SPLIT}'
    splitting.edit(root / "mets.xml", f"_lobseg_1{rest}", f"_lobseg_2{rest}")
    assert len(related(root)) == 2
    assert related(root)[0].endswith("in ID_Northwind_lobseg_2_mets; found it in ID_Northwind_lobseg_1_mets")


@pytest.mark.parametrize(
    ("siard", "said"),
    [
        (
            forge.siard(b"<table/>", with_metadata=False),
            "without header/metadata.xml, so it is not a SIARD archive",
        ),
        (
            forge.siard(b"<table/>", metadata_xml=b"<siardArchive"),
            r"metadata.xml line 1, column \d+: not well-formed",
        ),
        (forge.siard(None), "table dbo.Categories has no document content/schema0/table2/table2.xml"),
        (
            forge.siard(b"<table><row>"),
            r"Northwind\.siard: content/.*table2.xml line 1, column \d+: not well",
        ),
    ],
)
def test_an_archive_that_is_none_is_told(root: Path, siard: bytes, said: str) -> None:
    (root / "Northwind.siard").write_bytes(siard)
    with Package(root) as package, pytest.raises(SourceError, match=said):
        cell_of(package, SPLIT)
    assert any(re.search(said, message) for message in messages(root))


def test_metadata_over_budget_and_linked_archives_are_refused(root: Path) -> None:
    with Package(root) as package, pytest.raises(SourceError, match=r"bytes, expected at most 9"):
        opened_archive(package, ("Northwind.siard",), Budgets(metadata=9))
    (root / "Northwind.siard").rename(root / "elsewhere")
    (root / "Northwind.siard").symlink_to(root / "elsewhere")
    with Package(root) as package, pytest.raises(SourceError, match="cannot be opened"):
        opened_archive(package, ("Northwind.siard",))


def test_the_cell_of_a_lob_is_found_in_its_own_table(root: Path) -> None:
    with Package(root) as package:
        cell = cell_of(package, SPLIT)
        assert cell is not None
        assert cell.length == 46
        assert cell_of(package, "s0.t2.c5.r2") is None
        assert cell_of(package, "s0.t2.c4.r99") is None
        assert cell_of(package, "s9.t2.c4.r1") is None
        assert cell_of(package, "no place") is None


def test_a_full_temporary_disk_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tempdb.create

    def tiny() -> object:
        database = real()
        database.execute("PRAGMA max_page_count = 5")
        return database

    monkeypatch.setattr(tempdb, "create", tiny)
    with Package(root) as package, pytest.raises(TargetError, match="on disk"):
        package.objid  # noqa: B018
