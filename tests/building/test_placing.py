"""Copying LOBs to their place: slices of the plan, digests and lengths, lines of the manifests."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack import processes
from metspack.building import placing
from metspack.building.placing import Placing
from metspack.containers.ipwriter import Folder
from metspack.digests import MANIFEST_ALGORITHMS, Hashers
from metspack.errors import SourceError
from metspack.files import threads
from metspack.layouts import lobseg
from metspack.mets.filetable import PlacedRun, Placements
from metspack.model import LobRun
from metspack.planning import slices
from metspack.sources.archive import Archive
from metspack.sources.lobstream import LobReader, OpenSources
from metspack.sources.opening import LooseLobs
from tests import siards
from tests.conftest import CHECKOUT
from tests.laws import law
from tests.planning.lobruns import apart, lobs_of
from tests.trees import put, tree


def singles(run: PlacedRun) -> list[PlacedRun]:
    return [run[number : number + 1] for number in range(len(run))]


def place(
    source: Archive | LooseLobs, segment: Path, *, together: bool, **options: Any
) -> tuple[list[PlacedRun], list[int]]:
    """Place all LOBs of a source, those that are alike together or all one by one."""
    amounts: list[int] = []
    with source, OpenSources(source.byte_sources()) as shelf:
        placing = Placing(shelf, lobseg.LAYOUT, moved=amounts.append, ended=ended, joined=fail, **options)
        planned = segment.with_suffix(".jsonl")
        with slices.Slice(planned) as written:
            for run in source.lob_runs() if together else apart(lobs_of(source)):
                written.add(run)
        with Folder(segment) as folder:
            found = [each for run in placing.place(slices.runs(planned), folder) for each in singles(run)]
    return found, amounts


def place_all(
    source: Path, segment: Path, checksum: str = "MD5", *, together: bool = True
) -> tuple[list[PlacedRun], list[int]]:
    """Place the LOBs of an archive."""
    return place(Archive(source), segment, together=together, checksum=checksum)


@pytest.mark.parametrize(
    ("sample", "checksum"),
    [("Northwind.siard", "MD5"), ("Northwind-full.siard", "SHA-256"), ("Northwind.siard", "SHA-512")],
)
def test_together_and_singly_lobs_are_placed_equally(sample: str, checksum: str, tmp_path: Path) -> None:
    source = CHECKOUT / "samples" / "northwind" / sample
    together, moved = place_all(source, tmp_path / "together", checksum)
    singly, others = place_all(source, tmp_path / "alone", checksum, together=False)
    assert together == singly
    assert sum(moved) == sum(others) == sum(sum(each.size) for each in singly)
    assert tree(tmp_path / "together") == tree(tmp_path / "alone")


def place_files(source: Path, segment: Path, *, links: bool, together: bool = True) -> list[PlacedRun]:
    """Place the LOBs of a folder, by copying or by hard links."""
    return place(LooseLobs(source), segment, together=together, checksum="MD5", links=links)[0]


def lob_folder(root: Path, contents: Sequence[bytes]) -> Path:
    return put(root, {f"{COLUMN}/record{number}.bin": data for number, data in enumerate(contents)})


COLUMN = "content/schema0/table0/lob1"


@pytest.mark.slow
@law(20)
@given(st.lists(st.binary(max_size=20) | st.just(b"12" * (1 << 20)), max_size=6))
def test_linked_and_copied_lobs_are_placed_equally(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes]
) -> None:
    root = tmp_path_factory.mktemp("links")
    source = lob_folder(root / "source", [b"first", *contents])
    copied = place_files(source, root / "copied", links=False)
    linked = place_files(source, root / "linked", links=True)
    singly = place_files(source, root / "alone", links=True, together=False)
    assert copied == linked == singly
    assert tree(root / "copied") == tree(root / "linked") == tree(root / "alone")
    for path in (source / COLUMN).iterdir():
        assert path.stat().st_nlink == 3
        assert all(path.samefile(root / name / COLUMN / path.name) for name in ("linked", "alone"))


@pytest.mark.parametrize(
    ("change", "size"),
    [("other", 3), ("other", 2 << 20), ("rewritten", 3), ("gone", 2 << 20), ("link", 3), ("folder", 2 << 20)],
)
def test_a_file_that_is_not_the_one_that_was_found_is_not_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, size: int
) -> None:
    source = lob_folder(tmp_path / "source", [b"a" * size, b"b" * size])
    file = source / COLUMN / "record1.bin"
    runs = slices.runs

    def changed(place: Path) -> Iterator[LobRun]:
        if change == "rewritten":
            os.utime(file, ns=(0, 0))
        elif change == "folder":
            file.parent.rename(tmp_path / "away")
        else:
            file.rename(tmp_path / "away")
        if change == "other":
            file.write_bytes(b"c" * size)
        elif change == "link":
            file.symlink_to(tmp_path / "away")
        yield from runs(place)

    monkeypatch.setattr(slices, "runs", changed)
    with pytest.raises(SourceError, match=r"record[01]\.bin'? (was changed since|cannot be read)"):
        place_files(source, tmp_path / "segment", links=True)
    assert not (tmp_path / "segment" / COLUMN / "record1.bin").exists()


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("size", [3, 2 << 20])
def test_swapped_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, *, together: bool) -> None:
    source = lob_folder(tmp_path / "source", [b"a" * size])
    other = tmp_path / "other"
    other.write_bytes(b"b" * size)
    link = os.link
    monkeypatch.setattr(
        os, "link", lambda _file, name, *, dst_dir_fd, **_: link(other, name, dst_dir_fd=dst_dir_fd)
    )
    with pytest.raises(SourceError, match=r"record0\.bin' was changed while it was read"):
        place_files(source, tmp_path / "segment", links=True, together=together)
    assert not list((tmp_path / "segment").rglob("record*"))


def ended(reader: LobReader) -> None:
    assert reader.hashers.size == reader.lob.size


def fail(reader: LobReader) -> None:
    raise AssertionError(f"{reader.lob.place.id} was not split")


def test_lobs_are_copied_and_hashed_in_one_pass(tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "a.siard", b"one", b"", b"three" * 500_000)
    found, amounts = place_all(source, tmp_path / "segment", "SHA-1")
    column = "content/schema0/table0/lob2"
    assert [(*each.id, *each.path, *each.size) for each in found] == [
        ("s0.t0.c2.r1", f"{column}/record0.bin", 3),
        ("s0.t0.c2.r2", f"{column}/record1.bin", 0),
        ("s0.t0.c2.r3", f"{column}/record2.bin", 2_500_000),
    ]
    assert [*found[0].md5] == [siards.md5(b"one")]
    assert [*found[0].sha256] == ["7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"]
    assert [*found[0].checksum] == ["fe05bcdcdc4928012781a5f1a2a77cbb5398e106"]
    assert sum(amounts) == 2_500_003
    files = {name: data for name, data in tree(tmp_path / "segment").items() if not name.endswith("/")}
    assert files == {
        f"{column}/record0.bin": b"one",
        f"{column}/record1.bin": b"",
        f"{column}/record2.bin": b"three" * 500_000,
    }


@pytest.mark.parametrize(("cores", "size"), [(1, 17), (3, 15), (3, 16), (3, 3_000_000)])
def test_a_large_lob_is_placed_and_a_wrong_one_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int, size: int
) -> None:
    monkeypatch.setattr(processes, "cores", lambda: cores)
    monkeypatch.setattr(threads, "LARGE", 16)
    data = bytes(range(5)) * (size // 5) + bytes(size % 5)
    source = siards.siard(tmp_path / "a.siard", data)
    (found,), amounts = place_all(source, tmp_path / "right", together=False)
    assert ([*found.size], [*found.md5], sum(amounts)) == ([size], [siards.md5(data)], size)
    assert (tmp_path / "right" / found.path[0]).read_bytes() == data
    wrong = siards.Lob(data=data, attributes=f'digestType="MD5" digest="{"0" * 32}"')
    other = siards.packed(tmp_path / "b.siard", siards.parts([wrong]))
    with pytest.raises(SourceError, match="but its cell says 0000"):
        place_all(other, tmp_path / "wrong", together=False)
    assert not [each for each in (tmp_path / "wrong").rglob("*") if each.is_file()]


def placed_file(path: str) -> PlacedRun:
    return PlacedRun(
        id=[path],
        path=[path],
        size=[1],
        media_type=["a/b"],
        checksum=["c"],
        md5=[siards.md5(path.encode())],
        sha256=["5" * 64],
    )


PATHS = st.lists(
    st.lists(st.text("aZ0./é🍏-_ ", min_size=1, max_size=4), min_size=1, max_size=3).map("/".join),
    unique=True,
    max_size=12,
)


@given(PATHS, PATHS, st.sampled_from([1, 5, 10_000]))
def test_manifest_lines_are_sorted_by_the_bytes_of_the_path(
    tmp_path_factory: pytest.TempPathFactory, paths: list[str], others: list[str], held: int
) -> None:
    work = tmp_path_factory.mktemp("work")
    beside = {"seg/mets.xml": hashed(b"<mets/>")} | {f"ip/{path}": hashed(b"") for path in others}
    paths = [path for path in paths if path != "mets.xml"]
    with closing(Placements(held)) as placements:
        for path in paths:
            placements.add(placed_file(path))
        assert [path for run in placements.runs() for path in run.path] == paths
        assert [path for run in placements.runs() for path in run.path] == paths  # as often as asked for
        placing.write_manifest_fragments(placements, "seg/", work, 3, beside)
    for algorithm in MANIFEST_ALGORITHMS:
        lines = placing.fragment(work, 3, algorithm).read_bytes().decode().splitlines()
        assert [line.partition("  ")[2] for line in lines] == sorted(
            (*(f"seg/{path}" for path in paths), *beside), key=str.encode
        )
    assert f"{siards.md5(b'<mets/>')}  seg/mets.xml\n" in placing.fragment(work, 3, "MD5").read_text(
        encoding="utf-8"
    )


def hashed(data: bytes) -> Hashers:
    hashers = Hashers(MANIFEST_ALGORITHMS)
    hashers.update(data)
    return hashers
