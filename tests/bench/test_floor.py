from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.data import COLUMN, make_folder, make_stored
from bench.floor import LOT, Lob, lots
from bench.store import CHECKOUT

LOBS, SIZE, LIMIT = 25, 300, 10


def floor(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CHECKOUT / "bench" / "floor.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def made(path: Path) -> Path:
    if path.suffix:
        make_stored(path, LOBS, SIZE)
    else:
        make_folder(path, LOBS, SIZE)
    return path


@pytest.fixture
def package(tmp_path: Path) -> Path:
    out = tmp_path / "out"
    done = floor("build", made(tmp_path / "lobs"), out, "--max-files", str(LIMIT))
    assert not done.returncode, done.stderr
    return out


def test_the_segments_keep_the_limit_and_the_order_and_are_in_the_manifests(package: Path) -> None:
    for tool in ("md5", "sha256"):
        manifest = f"manifest-{tool}.txt"
        done = subprocess.run(
            [f"{tool}sum", "-c", "--quiet", manifest], cwd=package, capture_output=True, check=False
        )
        assert not done.returncode, done.stdout
        assert len((package / manifest).read_text().splitlines()) == LOBS + 3
    held = [sorted(each.name for each in (package / f"lobs_lobseg_{n}" / COLUMN).iterdir()) for n in range(3)]
    rows = [range(10), range(10, 20), range(20, 25)]
    assert held == [sorted(f"record{row}.bin" for row in each) for each in rows]


@pytest.mark.slow
def test_a_package_is_checked_with_the_schema_and_a_changed_byte_is_found(package: Path) -> None:
    done = floor("check", package, "-j", "2", "--schema", CHECKOUT / "schemas" / "mets.xsd")
    assert done.stdout == f"{LOBS + 3}\n", done.stderr
    lob = package / "lobs_lobseg_1" / COLUMN / "record14.bin"
    lob.write_bytes(b"x" + lob.read_bytes()[1:])
    assert "record14.bin is not as it was" in floor("check", package).stderr


def test_the_archive_names_the_segments(tmp_path: Path) -> None:
    out = tmp_path / "out"
    floor("build", made(tmp_path / "lobs.siard"), out, "--max-files", str(LIMIT))
    shown = subprocess.run(["unzip", "-p", out / "lobs.siard"], capture_output=True, check=True).stdout
    assert f'file="lobs_lobseg_2/{COLUMN}/record24.bin"'.encode() in shown


def test_large_files_are_copied_and_hashed(tmp_path: Path) -> None:
    again = ("--again",)
    source, out = tmp_path / "lobs", tmp_path / "out"
    make_folder(source, 2, 3_000_000)
    done = floor("copy", source, out, *again)
    for line in done.stdout.splitlines():
        name, *digests = line.split()
        assert (out / name).read_bytes() == (source / name).read_bytes()
        for tool, digest in zip(("md5sum", "sha256sum", "md5sum"), digests, strict=False):
            printed = subprocess.run([tool, out / name], capture_output=True, text=True, check=True).stdout
            assert printed.startswith(digest)
        assert len(digests) == 2 + len(again)


def test_lots_end_where_a_segment_is_full() -> None:
    lobs = [Lob(str(number), 1) for number in range(2 * LOT)]
    divided = list(lots([("a", lobs[:10]), ("b", lobs)], LOT + 20))
    assert [(lot.segment, lot.folder, len(lot.lobs)) for lot in divided] == [
        (0, "a", 10),
        (0, "b", LOT),
        (0, "b", 10),
        (1, "b", LOT - 10),
    ]
