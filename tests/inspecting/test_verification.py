from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from metspack.inspecting.inspection import inspect
from metspack.inspecting.inspection import verify_lobs as read
from metspack.inspecting.verification import Fault, Verdict, Verification, verdict_on
from metspack.progress import Progress, Silent
from metspack.sources import opening
from metspack.sources.archive import Archive
from metspack.sources.lobstream import PART_DIGEST, OpenSources
from tests.laws import spread
from tests.planning.lobruns import lobs_of
from tests.shared_data import shared
from tests.siard.convention_archives import PACKED, SAMPLES, Row, Sample
from tests.siard.forging import Table, column, siard

PARTS = {"lobs/seg_1/r.bin_part001": b"first", "lobs/seg_2/r.bin_part002": b"last"}


def md5(data: bytes) -> str:
    return f"digestType='MD5' digest='{hashlib.md5(data, usedforsecurity=False).hexdigest()}'"


def archive(path: Path, sql: str = "CLOB", **lobs: tuple[bytes, str]) -> Path:
    """Write an archive with one LOB for each name: its bytes and what its cell says of them."""
    rows = tuple(f"<c1 file='content/{name}' {attributes}/>" for name, (_data, attributes) in lobs.items())
    table = Table(columns=(column(sql=sql),), rows=rows)
    return siard(path / "s.siard", tables=[table], lobs={f"content/{k}": v[0] for k, v in lobs.items()})


def split(folder: Path, digest: str | None) -> Path:
    """Write an archive with a LOB in two parts beside it."""
    row = Row(file="seg_1/r.bin", data=b"firstlast", digest=digest)
    return Sample(letter="C", column="./lobs/", rows=(row,), outside=PARTS).build(folder)


def verified(
    path: Path, *accepted: str, progress: Progress | None = None
) -> tuple[list[Verdict], Verification]:
    """Read every LOB of a source that is found, as ``inspect --verify`` does."""
    faults, counts = [], Verification()
    with opening.opened(path) as source:
        found = inspect(source)
        for own, more in read(source, found, frozenset(accepted), 1, progress or Silent()):
            faults += more
            counts.add(own)
    return faults, counts


def test_what_proves_each_lob_is_counted(tmp_path: Path) -> None:
    text = "é😀".encode()
    path = archive(
        tmp_path,
        a=(b"abc", f"length='3' {md5(b'abc')}"),
        b=(text, f"length='2' {md5(text)}"),
        c=(text, "length='3'"),
        d=(b"abc", "length='3' messageDigest='SHA1A9993E364706816ABA3E25717850C26C9CD0D89D'"),
        e=(b"nothing", ""),
    )
    faults, counts = verified(path)
    assert faults == []
    assert (counts.lobs, counts.bytes, counts.failed) == (5, 3 + 6 + 6 + 3 + 7, 0)
    assert dict(counts.algorithms) == {"MD5": 2, "SHA-1": 1}
    assert dict(counts.units) == {"bytes": 2, "characters": 1, "UTF-16 units": 1}
    assert (counts.undigested, counts.unmeasured, counts.part_digests) == (2, 1, 0)


def test_faults_are_distinguished_and_the_rest_is_read(tmp_path: Path) -> None:
    path = archive(
        tmp_path,
        a=(b"abc", f"length='3' {md5(b'other')}"),
        b=("ééé".encode(), "length='4'"),
        c=(b"fine", f"length='4' {md5(b'fine')}"),
    )
    faults, counts = verified(path)
    assert [(each.lob, each.fault) for each in faults] == [
        ("s0.t0.c1.r1", Fault.DIGEST),
        ("s0.t0.c1.r2", Fault.LENGTH),
    ]
    assert "has the MD5 900150983cd24fb0d6963f7d28e17f72, but its cell says" in faults[0].message
    assert "has 6 bytes, 3 characters, 3 UTF-16 units, but its cell says length 4" in faults[1].message
    assert (counts.lobs, counts.failed, dict(counts.algorithms)) == (3, 2, {"MD5": 1})


def test_a_digest_that_is_only_the_last_parts_is_named(tmp_path: Path) -> None:
    path = split(tmp_path, hashlib.md5(b"last", usedforsecurity=False).hexdigest())
    (fault,), counts = verified(path)
    assert (fault.fault, counts.failed) == (Fault.PART_DIGEST, 1)
    assert "is that of the last part alone" in fault.message
    assert verified(path, PART_DIGEST)[0] == []
    accepted = verified(path, PART_DIGEST)[1]
    assert (accepted.part_digests, accepted.failed, dict(accepted.algorithms)) == (1, 0, {})


@pytest.mark.parametrize("name", spread(sorted({**SAMPLES, **PACKED}), 3))
def test_lobs_are_proven_wherever_they_lie(name: str, tmp_path: Path) -> None:
    faults, counts = verified({**SAMPLES, **PACKED}[name].build(tmp_path))
    assert (faults, counts.lobs, dict(counts.algorithms)) == ([], 2, {"MD5": 2})


def test_a_file_changed_since_it_was_found_is_unreadable(tmp_path: Path) -> None:
    path = SAMPLES["C-outside"].build(tmp_path)
    with Archive(path) as source, OpenSources(source.byte_sources()) as sources:
        lob = next(lobs_of(source))
        (tmp_path / "Northwind_lobs" / "s0_t2_c1" / "seg_0" / "t2_c1_r1.bin").write_bytes(b"other")
        verdict = verdict_on(lob, sources, frozenset(), lambda _: None)
    assert verdict.fault is Fault.UNREADABLE
    assert "was changed since it was found" in verdict.message


def test_an_archive_changed_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    path = archive(tmp_path, a=(b"x", ""))
    with Archive(path) as source:
        contents = read(source, inspect(source), frozenset(), 1, Silent())
        with path.open("ab") as file:
            file.write(b"more")
        (failed,) = next(contents)[1]
    assert (failed.fault, "was changed while it was read" in failed.message) == (Fault.UNREADABLE, True)


def test_every_lob_of_a_real_archive_is_proven() -> None:
    faults, counts = verified(shared("data", "siard", "sample-datalink-2.2.siard"))
    assert (faults, counts.algorithms["MD5"], counts.unmeasured) == ([], 25, 0)
