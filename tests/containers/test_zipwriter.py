import hashlib
import io
import os
import shutil
import struct
import subprocess
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from metspack.containers import zipwriter
from metspack.containers.zipreader import CentralRecord, ZipContainer
from metspack.containers.zipwriter import GROWTH, ZipWriter, _Central, _ending, unwrapped, unwrapped_entry
from metspack.errors import TargetError
from tests.siard.zips import CENTRAL, Entry, central_header, forged, zip64_extra

MAX16, MAX32 = 0xFFFF, 0xFFFFFFFF
GIB = 1 << 30


def written(
    tmp_path: Path, *entries: Entry, new: dict[str, bytes] | None = None, comment: bytes = b""
) -> Path:
    """Write a zip anew, some of its entries with new contents."""
    source = tmp_path / "source.zip"
    source.write_bytes(forged(*entries))
    return rewritten(source, tmp_path / "target.zip", new or {}, comment)


def rewritten(source: Path, target: Path, new: Mapping[str, bytes], comment: bytes = b"") -> Path:
    """Write a zip file anew, some of its entries with new contents and the others as they are."""
    with ZipContainer.opened(source) as container:
        writer = ZipWriter(target, target.parent)
        for record in container.records():
            if record.extent.name in new:
                writer.write(record, (new[record.extent.name],))
            else:
                extent = record.extent
                writer.copy(record, (source.read_bytes()[extent.offset : extent.limit],))
        writer.finish(comment)
        writer.file.close()
    return target


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        found = {name: archive.read(name) for name in archive.namelist()}
    with ZipContainer.opened(path) as container:
        assert {r.extent.name: b"".join(container.contents(r.extent)) for r in container.records()} == found
    return found


def unzip_agrees(path: Path) -> None:
    """Have another program test an archive; without that program the rest of a test is skipped."""
    if shutil.which("unzip") is None:
        pytest.skip("needs unzip")
    words = {**os.environ, "LC_ALL": "C.UTF-8"}  # it compares names as its locale writes them
    done = subprocess.run(["unzip", "-tq", path], check=False, capture_output=True, text=True, env=words)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.parametrize("method", [0, 8])
def test_entries_are_copied_or_get_new_contents(tmp_path: Path, method: int) -> None:
    entries = [
        Entry(name="folder/"),
        Entry(name="a.xml", data=b"old" * 100, method=method),
        Entry(name="é", data=b"kept" * 100, method=method, flags=0x800),
    ]
    target = written(tmp_path, *entries, new={"a.xml": b"new" * 1000}, comment=b"mine")
    assert contents(target) == {"folder/": b"", "a.xml": b"new" * 1000, "é": b"kept" * 100}
    with zipfile.ZipFile(target) as archive:
        assert archive.comment == b"mine"
        assert [each.compress_type for each in archive.infolist()] == [0, method, method]
    assert (tmp_path / "target.zip.directory").exists()


@pytest.mark.parametrize("method", [0, 8])
def test_new_contents_may_be_empty_or_larger_than_a_block(tmp_path: Path, method: int) -> None:
    entries = [Entry(name="a", data=b"x", method=method), Entry(name="b", data=b"y", method=method)]
    new = {"a": b"", "b": bytes(range(256)) * 20_000}
    assert contents(written(tmp_path, *entries, new=new)) == new


def test_a_streamed_entry_with_new_contents_has_its_sizes_in_front(tmp_path: Path) -> None:
    descriptor = struct.pack("<4sLLL", b"PK\x07\x08", zlib.crc32(b"old"), 3, 3)
    entry = Entry(
        name="a", data=b"old", flags=8, local={"crc": 0, "compressed": 0, "size": 0}, descriptor=descriptor
    )
    target = written(tmp_path, entry, new={"a": b"newer"})
    assert contents(target) == {"a": b"newer"}
    assert struct.unpack_from("<4s5H3L", target.read_bytes())[2::4] == (0, zlib.crc32(b"newer"))
    with zipfile.ZipFile(target) as archive:
        assert archive.getinfo("a").flag_bits == 0


def test_everything_else_of_a_record_stays(tmp_path: Path) -> None:
    extra = b"\x99\x00\x02\x00ab"
    entry = Entry(
        name="a", data=b"old", central={"attributes": 0o100600 << 16, "extra": extra, "comment": b"c"}
    )
    with zipfile.ZipFile(written(tmp_path, entry, new={"a": b"new!"})) as archive:
        info = archive.getinfo("a")
    assert (info.external_attr, info.extra, info.comment) == (0o100600 << 16, extra, b"c")
    assert (info.create_system, info.create_version, info.extract_version) == (3, 20, 20)


def test_a_document_that_may_outgrow_four_gib_has_room_for_it(tmp_path: Path) -> None:
    # The room is chosen by the old size; short values may become long ones in every cell.
    source = tmp_path / "source.zip"
    source.write_bytes(forged(Entry(name="a", data=b"old")))
    with ZipContainer.opened(source) as container:
        (record,) = container.records()
    for size, large in ((MAX32 // GROWTH, False), (MAX32 // GROWTH + 1, True)):
        extent = replace(record.extent, size=size)
        target = tmp_path / f"target-{size}.zip"
        writer = ZipWriter(target, tmp_path)
        writer.write(CentralRecord(extent=extent, raw=record.raw, is_directory=False), (b"new",))
        writer.finish(b"")
        writer.file.close()
        assert contents(target) == {"a": b"new"}
        assert (struct.unpack_from("<4sH", target.read_bytes())[1] == 45) is large


def test_a_document_larger_than_its_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipwriter, "MAX32", 2_000)
    with pytest.raises(TargetError, match="'a' has grown to 4,000 bytes, expected fewer than"):
        written(tmp_path, Entry(name="a", data=b"old"), new={"a": b"x" * 4_000})


# --- entries under another name -----------------------------------------------------------------------


def test_an_entry_below_a_folder_loses_the_folders_name_and_nothing_else(tmp_path: Path) -> None:
    path = struct.pack("<HHBL", 0x7075, 5 + len(b"r\xc3\xb6/a"), 1, 7) + "rö/a".encode()
    other = b"\x99\x00\x02\x00ab"
    data = b"data" * 99
    descriptor = struct.pack("<4sLLL", b"PK\x07\x08", zlib.crc32(data), len(data), len(data))
    entries = [
        Entry(name="rö/", flags=0x800),
        Entry(
            name="rö/a",
            data=data,
            flags=0x808,
            descriptor=descriptor,
            local={"crc": 0, "compressed": 0, "size": 0, "extra": other + path},
            central={"extra": path + other, "comment": b"c", "attributes": 0o100600 << 16},
        ),
        Entry(name="rö/ä".encode("cp437"), data=data, method=8),
    ]
    source = tmp_path / "source.zip"
    source.write_bytes(forged(*entries))
    target = tmp_path / "target.zip"
    with ZipContainer.opened(source) as container:
        writer = ZipWriter(target, tmp_path)
        for record in list(container.records())[1:]:
            extent = record.extent
            raw = source.read_bytes()[extent.offset : extent.limit]
            writer.copy(unwrapped(record, "rö/"), unwrapped_entry([raw[:200], raw[200:]]))
        writer.finish(b"")
        writer.file.close()
    expected = forged(
        Entry(
            name="a",
            data=data,
            flags=0x808,
            descriptor=descriptor,
            local={"crc": 0, "compressed": 0, "size": 0, "extra": other},
            central={"extra": other, "comment": b"c", "attributes": 0o100600 << 16},
        ),
        Entry(name="ä".encode("cp437"), data=data, method=8),
    )
    assert target.read_bytes() == expected
    assert contents(target) == {"a": data, "ä": data}


def test_an_entry_elsewhere_is_not_unwrapped(tmp_path: Path) -> None:
    (tmp_path / "s.zip").write_bytes(forged(Entry(name="a/b")))
    with ZipContainer.opened(tmp_path / "s.zip") as container:
        (record,) = container.records()
    with pytest.raises(ValueError, match="'a/b' does not lie below 'b/'"):
        unwrapped(record, "b/")


# --- new entries --------------------------------------------------------------------------------------


def made(target: Path, *, most: int | None = None, data: bytes = b"some data") -> bytes:
    """Write a zip of new entries alone; return its bytes."""
    writer = ZipWriter(target, target.parent)
    writer.add_folder("ordner/")
    writer.add("stored", iter([data, data]), method=0, most=most)
    writer.add("größe.xml", [data], most=most)
    writer.add("empty", ())
    writer.finish(b"")
    writer.file.close()
    return target.read_bytes()


@pytest.mark.parametrize("limit", [MAX32, 100])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_runs_of_entries(method: int, limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipwriter, "MAX32", limit)  # offsets that need ZIP64 fields come soon
    files = {f"{name}{number}.bin": b"\x00" * number for number in range(9) for name in ("a", "b\xe4")}
    archives = []
    for number in range(2):
        writer = ZipWriter(tmp_path / f"{number}.zip", tmp_path)
        writer.add("first", (b"xyz",), method=method, most=3)
        if number:
            writer.add_run(list(files), files.values(), method=method)
        else:
            for name, data in files.items():
                writer.add(name, iter((data,)), method=method, most=len(data))
        writer.finish(b"")
        writer.file.close()
        archives.append((tmp_path / f"{number}.zip").read_bytes())
    assert archives[0] == archives[1]


def test_room_for_large_sizes_is_left_where_they_may_come(tmp_path: Path) -> None:
    def needed(data: bytes) -> list[int]:
        """Return the versions that the local headers ask for."""
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return [struct.unpack_from("<H", data, each.header_offset + 4)[0] for each in archive.infolist()]

    assert needed(made(tmp_path / "a", most=100)) == [20, 20, 20, 45]
    assert needed(made(tmp_path / "b")) == [20, 45, 45, 45]
    assert needed(made(tmp_path / "c", most=MAX32)) == [20, 45, 45, 45]


def test_data_that_does_not_deflate_needs_a_little_more_room(tmp_path: Path) -> None:
    data = b"".join(hashlib.sha512(bytes([high, low])).digest() for high in range(64) for low in range(256))
    deflater = zlib.compressobj(6, zlib.DEFLATED, -15)
    length = len(deflater.compress(data) + deflater.flush())
    assert len(data) < length < len(data) + (len(data) >> 10) + 64
    made(tmp_path / "a", most=len(data), data=data)


# --- records with forged numbers ----------------------------------------------------------------------


def record(offset: int = 0, **central: object) -> bytes:
    return central_header(Entry(name="a", data=b"abc", central={"comment": b"c", **central}), offset)


def fields(raw: bytes) -> dict[str, int]:
    values = struct.unpack_from(CENTRAL, raw)
    return {"needed": values[2], "compressed": values[8], "size": values[9], "offset": values[16]}


def extra_of(raw: bytes) -> bytes:
    name, extra = struct.unpack_from("<HH", raw, 28)
    return raw[46 + name : 46 + name + extra]


def test_a_copied_record_differs_only_in_offset() -> None:
    raw = record(5, extra=b"\x99\x00\x01\x00x")
    assert _Central(raw).relocated(77) == record(77, extra=b"\x99\x00\x01\x00x")
    assert _Central(raw).relocated(MAX32 - 1) == record(MAX32 - 1, extra=b"\x99\x00\x01\x00x")


@pytest.mark.parametrize("offset", [MAX32, MAX32 + 1, 5 * GIB])
def test_an_offset_beyond_four_gib_goes_into_a_zip64_field(offset: int) -> None:
    raw = _Central(record(5, extra=b"\x99\x00\x01\x00x")).relocated(offset)
    assert fields(raw) == {"needed": 45, "compressed": 3, "size": 3, "offset": MAX32}
    assert extra_of(raw) == zip64_extra(offset) + b"\x99\x00\x01\x00x"
    assert raw.endswith(b"c")


def test_large_sizes_of_a_copied_entry_stay() -> None:
    raw = record(5, size=MAX32, compressed=MAX32, extra=zip64_extra(6 * GIB, 5 * GIB), needed=45)
    assert _Central(raw).relocated(77) == record(
        77, size=MAX32, compressed=MAX32, extra=zip64_extra(6 * GIB, 5 * GIB), needed=45
    )
    moved = _Central(raw).relocated(8 * GIB)
    assert extra_of(moved) == zip64_extra(6 * GIB, 5 * GIB, 8 * GIB)


def test_sizes_and_offset_are_taken_from_one_zip64_field_in_their_order() -> None:
    raw = record(MAX32, size=MAX32, extra=zip64_extra(6 * GIB, 7 * GIB), needed=45)
    moved = _Central(raw).relocated(8 * GIB)
    assert fields(moved) == {"needed": 45, "compressed": 3, "size": MAX32, "offset": MAX32}
    assert extra_of(moved) == zip64_extra(6 * GIB, 8 * GIB)


def test_a_renewed_record_has_new_sums_and_no_descriptor() -> None:
    raw = _Central(record(5, flags=0x808)).renewed(offset=6, crc=7, compressed=8, size=9)
    assert fields(raw) == {"needed": 20, "compressed": 8, "size": 9, "offset": 6}
    assert struct.unpack_from(CENTRAL, raw)[3] == 0x800
    assert struct.unpack_from(CENTRAL, raw)[7] == 7
    large = _Central(record(5)).renewed(offset=5 * GIB, crc=7, compressed=MAX32, size=6 * GIB)
    assert extra_of(large) == zip64_extra(6 * GIB, MAX32, 5 * GIB)


def test_an_extra_field_that_is_none_is_kept_as_it_is() -> None:
    raw = _Central(record(5, extra=b"\x99\x00\x01\x00xyz")).relocated(5 * GIB)
    assert extra_of(raw) == zip64_extra(5 * GIB) + b"\x99\x00\x01\x00xyz"


def test_a_local_header_for_large_sizes_holds_them_in_a_zip64_field() -> None:
    header = _Central(record(5)).local_header(large=True, crc=1, compressed=5 * GIB, size=6 * GIB)
    needed, *_, compressed, size, name, extra = struct.unpack_from("<4s5H3L2H", header)[1:]
    assert (needed, compressed, size, name, extra) == (45, MAX32, MAX32, 1, 20)
    assert header.endswith(b"a" + zip64_extra(6 * GIB, 5 * GIB))


@pytest.mark.parametrize(
    ("entries", "start", "length"),
    [(MAX16, 10, 10), (1, MAX32, 10), (1, 10, MAX32), (10_000_000, 5 * GIB, GIB)],
)
def test_large_figures_stand_in_the_zip64_end_record(entries: int, start: int, length: int) -> None:
    end = _ending(entries, start, length, b"comment")
    kind, size, _, _, _, _, here, whole, wide_length, wide_start = struct.unpack_from("<4sQ2H2L4Q", end)
    assert (kind, size) == (b"PK\x06\x06", 44)
    assert (here, whole, wide_length, wide_start) == (entries, entries, length, start)
    assert struct.unpack_from("<4sLQL", end, 56) == (b"PK\x06\x07", 0, start + length, 1)
    assert struct.unpack_from("<4s4H2LH", end, 76) == (
        b"PK\x05\x06",
        0,
        0,
        min(entries, MAX16),
        min(entries, MAX16),
        min(length, MAX32),
        min(start, MAX32),
        7,
    )
    assert end.endswith(b"comment")
