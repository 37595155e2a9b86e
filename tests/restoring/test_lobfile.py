"""LOBs inside the archive as seekable files, and LOBs listed under another cell's id."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import SourceError
from metspack.packages.cells import found_in, opened_archive
from metspack.packages.package import Package
from metspack.restoring.joining import ArchivedLob, extract, find_listed_id, find_lob, open_lob
from metspack.sizes import parsed_range
from tests.laws import law
from tests.packages import forge
from tests.restoring import splitting
from tests.restoring.splitting import LOBS, SPLIT

LOB = "s0.t2.c4.r1"
ENTRY = "content/schema0/table2/lob4/record0.txt"
DATA = b"".join(b"%07d " % number for number in range(400_000))  # more than one block


def archived(root: Path, data: bytes, *, digest: str | None = None, names: str = ENTRY) -> Path:
    """Write a package whose one LOB is in its archive."""
    splitting.forged(root, ())
    stated = f'digestType="MD5" digest="{forge.md5(data) if digest is None else digest}"'
    row = f'<row><c1>1</c1><c4 file="{names}" length="{len(data)}" {stated}/></row></table>'
    table = forge.table((), splitting.NAME).decode().replace("</table>", row)
    archive = forge.siard(table.encode(), entries=[(ENTRY, data)], column="")
    (root / "Northwind.siard").write_bytes(archive)
    return root


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return archived(tmp_path_factory.mktemp("archived") / "package", DATA)


@pytest.fixture
def lob(root: Path) -> Iterator[ArchivedLob]:
    with Package(root) as package:
        it = find_lob(package, LOB)
    assert isinstance(it, ArchivedLob)
    with it:
        yield it


def test_it_is_a_read_only_file(lob: ArchivedLob) -> None:
    assert (lob.name, lob.size) == (LOB, len(DATA))
    assert (lob.readable(), lob.seekable(), lob.writable()) == (True, True, False)
    assert lob.tell() == 0
    assert lob.readall() == DATA
    assert (lob.tell(), lob.read(1)) == (len(DATA), b"")
    assert lob.seek(-8, io.SEEK_END) == len(DATA) - 8
    assert lob.read(100) == DATA[-8:]
    assert lob.seek(len(DATA) + 5) == len(DATA) + 5
    assert lob.read(1) == b""
    assert lob.seek(-6, io.SEEK_CUR) == len(DATA) - 1
    assert lob.read(0) == b""
    with pytest.raises(ValueError, match="the position -1 lies before the start"):
        lob.seek(-1)
    with pytest.raises(ValueError, match="whence is 0, 1 or 2, not 3"):
        lob.seek(0, 3)
    lob.close()
    lob.close()
    for use in (lob.tell, lob.read, lambda: lob.seek(0)):
        with pytest.raises(ValueError, match=r"closed"):
            use()


@law(25)
@given(st.lists(st.tuples(st.integers(0, len(DATA)), st.integers(0, 2_000_000)), max_size=6), st.booleans())
def test_any_reads_are_slices(root: Path, places: list[tuple[int, int]], verify: bool) -> None:
    with Package(root) as package:
        file = open_lob(package, LOB, verify=verify)
    with file:
        for start, length in places:
            file.seek(start)
            assert file.read(length) == DATA[start : start + length]


def test_an_empty_one_is_empty(tmp_path: Path) -> None:
    with Package(archived(tmp_path / "package", b"")) as package:
        for ranges in ((), [parsed_range("0-")]):
            assert b"".join(extract(package, LOB, ranges)) == b""
        with open_lob(package, LOB) as file:
            assert file.read() == b""


def test_a_wrongly_empty_lob_is_reported(tmp_path: Path) -> None:
    root = archived(tmp_path / "package", b"", digest=forge.md5(b"x"))
    with Package(root) as package:
        for ranges in ((), [parsed_range("0-")]):
            with pytest.raises(SourceError, match=r"has the MD5 .*, but its cell says"):
                list(extract(package, LOB, ranges))


def test_nothing_unproven_is_given_by_a_file(tmp_path: Path) -> None:
    root = archived(tmp_path / "package", b"data", digest="0" * 32)
    with Package(root) as package:
        with (
            open_lob(package, LOB) as file,
            pytest.raises(SourceError, match=r"has the MD5 .*, but its cell says"),
        ):
            file.read(1)
        with open_lob(package, LOB, verify=False) as file:
            assert file.read() == b"data"
        with pytest.raises(SourceError, match="but its cell says"):
            list(extract(package, LOB))
        assert list(extract(package, LOB, verify=False)) == [b"data"]


def test_an_archive_that_changes_after_the_proof_is_reported(tmp_path: Path) -> None:
    root = archived(tmp_path / "package", DATA)
    with Package(root) as package, open_lob(package, LOB) as file:
        assert file.read(4) == DATA[:4]
        with (root / "Northwind.siard").open("ab") as siard:
            siard.write(b"more")
        file.seek(2_000_000)
        with pytest.raises(SourceError, match="changed"):
            file.read(1)


def test_a_damaged_entry_is_reported(tmp_path: Path) -> None:
    root = archived(tmp_path / "package", DATA[:80])
    path = root / "Northwind.siard"
    with zipfile.ZipFile(path) as container:
        at = container.getinfo(ENTRY).header_offset + 30 + len(ENTRY)
    data = bytearray(path.read_bytes())
    data[at + 5] ^= 0xFF
    path.write_bytes(data)
    with (
        Package(root) as package,
        open_lob(package, LOB, verify=False) as file,
        pytest.raises(SourceError, match=r"inflate|CRC-32"),
    ):
        file.read()


@pytest.mark.parametrize(
    ("change", "stated"),
    [
        (Path.exists, None),
        (
            lambda root: (root / "Northwind.siard").unlink(),
            "no METS lists LOB .*, and its cell cannot be resolved: Northwind",
        ),
        (
            lambda root: archived(root, b"x", names="gone/record0.txt"),
            r"and its cell cannot be resolved: .*LOB not found",
        ),
    ],
)
def test_meanings_of_cells(tmp_path: Path, change: Callable[[Path], object], stated: str | None) -> None:
    root = archived(tmp_path / "package", b"data")
    change(root)
    with Package(root) as package:
        if stated is None:
            assert find_listed_id(package, LOB) is None
            assert find_listed_id(package, "s0.t2.c4.r2") == "s0.t2.c4.r2"
            assert find_listed_id(package, "no place") == "no place"
            with opened_archive(package, ("Northwind.siard",)) as archive:
                assert found_in(archive, "no place") is None
            return
        for function in (find_lob, find_listed_id):
            with pytest.raises(SourceError, match=stated) as caught:
                function(package, LOB)
            assert caught.value.hint


def test_a_split_lob_is_found_under_another_cells_id(tmp_path: Path) -> None:
    root = splitting.forged(tmp_path / "package")
    cells = [forge.Lob(lob.segment, lob.row, lob.data, lob.extension) for lob in LOBS]
    table = forge.table(cells, splitting.NAME).decode()
    row = next(line for line in table.splitlines() if line.startswith("<row><c1>2"))
    table = table.replace("</table>", row.replace("<c1>2", "<c1>9") * 7 + "</table>")
    (root / "Northwind.siard").write_bytes(forge.siard(table.encode()))
    with Package(root) as package:
        assert find_listed_id(package, "s0.t2.c4.r9") == SPLIT
        assert b"".join(extract(package, "s0.t2.c4.r9")) == LOBS[1].data
        with open_lob(package, "s0.t2.c4.r10") as file:
            assert file.read() == LOBS[1].data
