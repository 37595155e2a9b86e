from __future__ import annotations

from pathlib import Path

import pytest

from metspack.errors import SourceError
from metspack.inspecting.inspection import Inspection, inspect
from metspack.sources import opening
from metspack.sources.archive import Grants
from tests import siards
from tests.inspecting import golden
from tests.inspecting.golden import LOBS, TABLES, written
from tests.laws import spread
from tests.siard.convention_archives import PACKED, SAMPLES, Sample
from tests.siard.forging import Table, column, field, siard


def inspection(path: Path, **grants: tuple[Path, ...]) -> Inspection:
    with opening.opened(path, None, Grants(**grants)) as source:  # type: ignore[arg-type]
        return inspect(source)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    written(tmp_path / "lobs" / "x", b"outside")
    return siard(tmp_path / "s.siard", tables=TABLES, lobs=LOBS)


@pytest.mark.parametrize("name", golden.SOURCES)
def test_an_inspection_is_as_it_is_kept(name: str, tmp_path: Path) -> None:
    kept = (golden.HERE / f"{name}.json").read_text(encoding="utf-8")
    assert golden.report(name, tmp_path) == kept, "if meant to, run `just record`"


def test_the_lobs_that_cannot_be_had_are_named(archive: Path) -> None:
    _photo, nested, outside = inspection(archive).columns
    assert [lob for lob, _error in nested.errors] == ["s0.t1.c3.u2.r2", "s0.t1.c3.u2.r3"]
    assert all(error.kind == "missing" for _lob, error in nested.errors)
    ((lob, refused),) = outside.errors
    assert lob == "s0.t1.c4.r2"
    assert "table s.people row 2, cell c4 (s0.t1.c4.r2), file '/y'" in refused.message


def test_no_more_errors_are_kept_than_are_read(tmp_path: Path) -> None:
    table = Table(rows=tuple(f"<c1 file='content/{n}'/>" for n in range(25)))
    (only,) = inspection(siard(tmp_path / "s.siard", tables=[table])).columns
    assert (only.losses["missing"], len(only.errors), only.errors[-1][0]) == (25, 20, "s0.t0.c1.r20")


def test_what_can_be_two_things_is_ambiguous(tmp_path: Path) -> None:
    columns = (column("F", lob_folder="a/"),)
    table = Table(columns=columns, rows=("<c1 file='x'/>",))
    path = siard(tmp_path / "s.siard", tables=[table], lobs={"a/x": b"one", "x": b"two"})
    (only,) = inspection(path).columns
    assert (only.losses["ambiguous"], only.lost, only.losses["missing"]) == (1, 1, 0)


@pytest.mark.parametrize("name", spread(sorted(SAMPLES), 2))
def test_the_convention_of_lobs_is_named(name: str, tmp_path: Path) -> None:
    sample = SAMPLES[name]
    found = inspection(sample.build(tmp_path))
    (only,) = found.columns
    letters = {each.letter: number for each, number in only.conventions.items()}
    assert sum(letters.values()) == only.lobs == 2
    assert sample.letter in letters
    assert bool(found.warnings) == (sample.letter not in {"C", "F"})


def test_a_convention_of_elements_of_an_array_is_named(tmp_path: Path) -> None:
    fields = field("A[1]") + field("A[2]")
    table = Table(
        columns=(column("A", fields=fields),), rows=("<c1><a1 file='../l/ 1'/><a2 file='../l/2'/></c1>",)
    )
    written(tmp_path / "l" / " 1")
    written(tmp_path / "l" / "2")
    by_convention, repaired = inspection(siard(tmp_path / "s.siard", tables=[table])).warnings
    assert by_convention.startswith("column s.t.A.A[] (s0.t0.c1.a): 2 LOBs located by convention A")
    assert repaired.startswith("column s.t.A.A[] (s0.t0.c1.a): 1 reference malformed")


def test_a_table_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    path = siard(tmp_path / "s.siard", tables=[Table(document=b"<table>")])
    with pytest.raises(SourceError, match="not well-formed"):
        inspection(path)


# --- Files that no cell names -----------------------------------------------------------------------------


def test_twenty_of_them_are_named_in_order(tmp_path: Path) -> None:
    lobs = {f"content/{n:02}": b"x" for n in range(30)}
    inside = inspection(siard(tmp_path / "s.siard", lobs=lobs)).unreferenced[0]
    assert (inside.files, inside.names) == (30, sorted(lobs)[:20])


def test_files_outside_that_no_cell_names_are_counted(archive: Path) -> None:
    folder = archive.parent
    written(folder / "lobs" / "deep" / "er" / "stray.bin", b"12345")
    written(folder / "lobs" / "a", b"1")
    for name in ("mets.xml", "METS.xml", "manifest-md5.txt", "manifest.txt"):
        written(folder / "lobs" / name)
    written(folder / "beside.bin")
    written(folder / "other" / "no folder of LOBs.bin")
    outside = inspection(archive).unreferenced[1]
    assert (outside.files, outside.bytes) == (2, 6)
    assert outside.names == [str(folder / "lobs" / "a"), str(folder / "lobs" / "deep" / "er" / "stray.bin")]


def test_more_than_twenty_files_outside_are_named_by_name(archive: Path) -> None:
    names = sorted(str(written(archive.parent / "lobs" / f"z{n:02}")) for n in range(25))
    outside = inspection(archive).unreferenced[1]
    assert (outside.files, outside.names) == (25, names[:20])


def test_a_lob_beside_the_archive_gives_no_folder_to_look_through(tmp_path: Path) -> None:
    table = Table(columns=(column("OUT", lob_folder="./"),), rows=("<c1 file='x'/>",))
    written(tmp_path / "x")
    written(tmp_path / "y")
    assert inspection(siard(tmp_path / "s.siard", tables=[table])).unreferenced[1].files == 0


def test_a_file_in_two_granted_folders_is_one(archive: Path) -> None:
    lobs = archive.parent / "lobs"
    written(lobs / "sub" / "x")
    table = Table(columns=(column("OUT", lob_folder="./none/"),), rows=("<c1 file='sub/x'/>",))
    path = siard(archive.parent / "t.siard", tables=[table, *TABLES])
    outside = inspection(path, lob_roots=(lobs,)).unreferenced[1]
    assert outside.files == 0


def test_the_archive_itself_is_not_a_stray_file(tmp_path: Path) -> None:
    table = Table(columns=(column("OUT", lob_folder="./"),), rows=("<c1 file='in/x'/>",))
    (tmp_path / "in").mkdir()
    written(tmp_path / "in" / "x")
    path = siard(tmp_path / "in" / "s.siard", tables=[table])
    found = inspection(path, lob_roots=(tmp_path,))
    assert (found.outside, found.unreferenced[1].files) == (1, 0)


@pytest.mark.parametrize("name", sorted(PACKED))
def test_packed_segments_are_named_by_the_cells_in_them(name: str, tmp_path: Path) -> None:
    sample: Sample = PACKED[name]
    found = inspection(sample.build(tmp_path))
    assert (found.outside, found.unreferenced[1].files, found.named_twice) == (2, 0, 0)


def test_an_unsearchable_folder_is_reported(archive: Path) -> None:
    (archive.parent / "lobs" / "link").symlink_to(archive)
    found = inspection(archive)
    (warning,) = found.warnings
    assert warning.startswith("not looked through for files that no cell names")
    assert "'link' is a symbolic link" in warning


def test_a_file_that_two_cells_name_is_reported(tmp_path: Path) -> None:
    table = Table(rows=("<c1 file='content/1'/>", "<c1 file='content/1'/>", "<c1 file='content/0'/>"))
    found = inspection(siard(tmp_path / "s.siard", tables=[table], lobs=LOBS))
    assert found.named_twice == 1
    assert found.warnings == ("1 file is named by more than one cell, such as 'content/1'",)


# --- Other sources ----------------------------------------------------------------------------------------


def test_names_are_kept_in_batches(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metspack.inspecting.unreferenced._AT_ONCE", 2)
    found = inspection(archive)
    assert ([each.files for each in found.unreferenced], found.named_twice) == ([0, 0], 0)


@pytest.mark.parametrize(
    ("kind", "data", "length", "lengths"),
    [
        ("CLOB", "é".encode(), 1, {"characters": 1}),
        ("CHARACTER LARGE OBJECT(9)", "é".encode(), 2, {"bytes": 1}),
        ("NCLOB", b"ascii", 5, {"bytes": 1}),
        ("XML", "é".encode(), 1, {"characters": 1}),
        ("BLOB", b"x", 1, {}),
        ("CLOB", b"", 0, {}),
        ("CLOB", b"x", None, {}),
    ],
)
def test_the_unit_of_the_lengths_of_texts_is_seen(
    kind: str, data: bytes, length: int | None, lengths: dict[str, int], tmp_path: Path
) -> None:
    attributes = "" if length is None else f'length="{length}"'
    parts = siards.parts([siards.Lob(data=data, attributes=attributes)], kind=kind)
    found = inspection(siards.packed(tmp_path / "N.siard", parts))
    assert found.lengths == found.columns[0].lengths == lengths
