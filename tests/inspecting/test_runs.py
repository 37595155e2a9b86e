"""Runs of LOBs are surveyed and verified as single LOBs are, in any number of processes."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from metspack.inspecting import survey
from metspack.inspecting.inspection import inspect
from metspack.inspecting.verification import Fault, Verdict, Verification, verify
from metspack.progress import Silent
from metspack.reporting import inspection as reporting_inspection
from metspack.sources import opening
from metspack.sources.archive import FoundLobs
from metspack.sources.opening import LooseLobs, Source
from tests.inspecting.test_verification import md5, split
from tests.laws import spread
from tests.planning.lobruns import apart, one_after_the_other, one_by_one
from tests.shared_data import shared
from tests.siard.convention_archives import PACKED, SAMPLES
from tests.siard.forging import Packing, Table, column, siard

Recorded = tuple[list[Verdict], Verification]
ROWS = 9


def lob(row: int) -> bytes:
    return b"LOB %d " % row * (row + 5)


def cell(file: str, data: bytes, *, digest: bytes | None = None, length: int | None = None) -> str:
    """Return a cell, with the digest of other bytes or another length where given."""
    length = len(data) if length is None else length
    return f"<c1 file='{file}' length='{length}' {md5(data if digest is None else digest)}/>"


def inside(path: Path, cells: dict[int, str] | None = None, *, method: int = 0, sql: str = "BLOB") -> Path:
    """Write an archive with LOBs inside; ``cells`` replaces those of some rows."""
    found = {row: cell(f"content/{row}.bin", lob(row)) for row in range(ROWS)} | (cells or {})
    table = Table(columns=(column(sql=sql),), rows=tuple(found.values()))
    lobs = {f"content/{row}.bin": lob(row) for row in range(ROWS)}
    return siard(path / "s.siard", tables=[table], lobs=lobs, packing=Packing(method=method))


def outside(path: Path) -> Path:
    """Write an archive with LOBs in a folder beside it."""
    (path / "lobs").mkdir()
    for row in range(ROWS):
        (path / "lobs" / f"{row}.bin").write_bytes(lob(row))
    rows = tuple(cell(f"{row}.bin", lob(row)) for row in range(ROWS))
    return siard(
        path / "s.siard", tables=[Table(columns=(column(lob_folder="./lobs/"),), rows=rows)], lob_folder="./"
    )


def loose(path: Path) -> Path:
    """Write a folder of LOBs without an archive."""
    folder = path / "loose" / "content" / "schema0" / "table2" / "lob4"
    folder.mkdir(parents=True)
    for row in range(ROWS):
        (folder / f"record{row}.bin").write_bytes(lob(row))
    return path / "loose"


def singly(patch: pytest.MonkeyPatch) -> None:
    """Let no LOBs go together."""
    together = LooseLobs.lob_runs
    one_after_the_other(patch)
    patch.setattr(LooseLobs, "lob_runs", lambda self, seen=None: apart(one_by_one(together(self, seen))))


def found_lobs(source: Source) -> list[FoundLobs]:
    return [found for _, _, batches in survey.by_table(source) for found in batches]


def verified(source: Source, lobs: list[FoundLobs], jobs: int = 1) -> Recorded:
    faults, counts = [], Verification()
    for own, more in verify(lobs, source.byte_sources, frozenset(), jobs=jobs, moved=lambda _: None):
        faults += more
        counts.add(own)
    return faults, counts


def both_ways(path: Path, damage: Callable[[], object] | None = None) -> Recorded:
    """Return what comes of verifying LOBs, damaged after they were found: the same together and apart."""
    with opening.opened(path) as source, pytest.MonkeyPatch.context() as patch:
        together = found_lobs(source)
        with patch.context() as patched:
            singly(patched)
            apart = found_lobs(source)
        if damage is not None:
            damage()
        found = verified(source, together)
        singly(patch)
        assert found == verified(source, apart)
    return found


def ids(found: Recorded) -> list[tuple[str, Fault | None]]:
    return [(each.lob, each.fault) for each in found[0]]


def document(path: Path) -> dict[str, Any]:
    """Return all that an inspection tells of a source."""
    with opening.opened(path) as source:
        summed = inspect(source)
        faults, counts = verified(source, found_lobs(source))
        facts = opening.source_facts(source, Silent())
        return reporting_inspection.document(source, summed, facts, counts, faults)


def sources(path: Path) -> Iterator[Path]:
    for name, sample in spread({**SAMPLES, **PACKED}.items(), 3):
        folder = path / name.replace(" ", "_")
        folder.mkdir()
        yield sample.build(folder)
    for make in (inside, outside, loose):
        folder = path / make.__name__
        folder.mkdir()
        yield make(folder)
    (path / "split").mkdir()
    yield split(path / "split", None)
    yield shared("data", "siard", "sql2008", "sql2008.siard")


def test_together_and_apart(tmp_path: Path, northwind_full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [northwind_full, *sources(tmp_path)]
    together = [document(each) for each in paths]
    singly(monkeypatch)
    assert together == [document(each) for each in paths]


# --- Faults in the middle of a run ------------------------------------------------------------------------


def test_a_wrong_digest_concerns_its_lob(tmp_path: Path) -> None:
    wrong = {4: cell("content/4.bin", lob(4), digest=b"other")}
    found = both_ways(inside(tmp_path, wrong, method=zipfile.ZIP_DEFLATED))
    assert ids(found) == [("s0.t0.c1.r5", Fault.DIGEST)]
    assert (found[1].lobs, dict(found[1].algorithms)) == (ROWS, {"MD5": ROWS - 1})


def test_a_wrong_length_concerns_its_lob(tmp_path: Path) -> None:
    found = both_ways(inside(tmp_path, {4: cell("content/4.bin", lob(4), length=3)}))
    assert ids(found) == [("s0.t0.c1.r5", Fault.LENGTH)]


def test_lengths_in_characters_are_counted(tmp_path: Path) -> None:
    text = "é😀".encode()
    cells = {4: cell("content/t.txt", text, length=2), 5: cell("content/t.txt", text, length=3)}
    found = {row: cell(f"content/{row}.bin", lob(row)) for row in range(ROWS)} | cells
    lobs = {f"content/{row}.bin": lob(row) for row in range(ROWS)} | {"content/t.txt": text}
    table = Table(columns=(column(sql="CLOB"),), rows=tuple(found.values()))
    faults, counts = both_ways(siard(tmp_path / "s.siard", tables=[table], lobs=lobs))
    assert faults == []
    assert dict(counts.units) == {"bytes": ROWS - 2, "characters": 1, "UTF-16 units": 1}


def test_two_cells_of_one_lob_are_two_lobs(tmp_path: Path) -> None:
    wrong = cell("content/3.bin", lob(3), digest=b"other")
    path = inside(tmp_path, {4: cell("content/3.bin", lob(3)), 5: wrong})
    assert ids(both_ways(path)) == [("s0.t0.c1.r6", Fault.DIGEST)]
    assert document(path)["named_twice"] == 1


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_changed_byte_inside_concerns_its_lob(tmp_path: Path, method: int) -> None:
    path = inside(tmp_path, method=method)
    with zipfile.ZipFile(path) as archive:
        entry = archive.getinfo("content/4.bin")
    data = bytearray(path.read_bytes())
    data[entry.header_offset + 30 + len(entry.filename) + 7] ^= 1
    path.write_bytes(data)
    found = both_ways(path)
    assert ids(found) == [("s0.t0.c1.r5", Fault.UNREADABLE)]
    assert found[1].faults == {Fault.UNREADABLE: 1}


def _change(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1] + b"!")


def _change_unseen(file: Path) -> None:
    before = file.stat()
    with file.open("r+b") as opened:
        opened.write(b"!")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _shorten(file: Path) -> None:
    os.truncate(file, 3)


def _link(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (_change, Fault.UNREADABLE),
        (_change_unseen, Fault.DIGEST),
        (_shorten, Fault.UNREADABLE),
        (Path.unlink, Fault.UNREADABLE),
        (_link, Fault.UNREADABLE),
    ],
)
def test_a_changed_file_concerns_its_lob(
    tmp_path: Path, damage: Callable[[Path], object], fault: Fault
) -> None:
    path = outside(tmp_path)
    found = both_ways(path, lambda: damage(tmp_path / "lobs" / "4.bin"))
    assert ids(found) == [("s0.t0.c1.r5", fault)]
    assert dict(found[1].algorithms) == {"MD5": ROWS - 1}


def test_a_missing_archive_concerns_each_lob(tmp_path: Path) -> None:
    path = inside(tmp_path)
    found = both_ways(path, lambda: path.rename(tmp_path / "gone"))
    assert [fault for _, fault in ids(found)] == [Fault.UNREADABLE] * ROWS
    assert "can no longer be opened" in found[0][0].message


# --- Processes and memory ---------------------------------------------------------------------------------


def test_several_processes_have_the_same_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = dict.fromkeys(range(1, 40, 4), b"x")
    rows = [cell(f"content/{n % ROWS}.bin", lob(n % ROWS), digest=wrong.get(n)) for n in range(40)]
    table = Table(rows=(*rows[:20], cell("content/0.bin", lob(0), length=3), *rows[20:]))
    lobs = {f"content/{row}.bin": lob(row) for row in range(ROWS)}
    path = siard(tmp_path / "s.siard", tables=[table], lobs=lobs)
    monkeypatch.setattr("metspack.inspecting.verification._LOBS_AT_ONCE", 3)
    monkeypatch.setattr("metspack.siard.tables.LONGEST", 2)
    with opening.opened(path) as source:
        faults, counts = verified(source, found_lobs(source), 2)
    assert [each.lob for each in faults] == [
        f"s0.t0.c1.r{row}" for row in sorted([21, *(n + 1 + (n >= 20) for n in wrong)])
    ]
    assert (counts.lobs, counts.failed) == (41, 11)
    assert (faults, counts) == both_ways(path)
