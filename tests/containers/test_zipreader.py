import errno
import gzip
import io
import os
import random
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from metspack.containers import zipdirectory, zipreader
from metspack.containers.zipreader import ZipContainer, contents, small_contents, span
from metspack.errors import SourceError, TargetError
from metspack.files import tempdb
from metspack.limits import Budgets
from metspack.model import SMALL, ZipExtent
from tests.laws import law
from tests.planning.lobruns import run_of
from tests.siard.zips import MAX32, Entry, central_header, deflated, forged, local_header, zip64_extra
from tests.tables import read_table

Written = Callable[[bytes], Path]
TEXT = b"Sturdy boots keep the rain out. " * 40
COLUMNS = ("name", "offset", "limit", "compressed", "crc", "method", "flags")


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(data: bytes) -> Path:
        path = tmp_path / "a.siard"
        path.write_bytes(data)
        return path

    return write


def refused(path: Path, budgets: Budgets = Budgets()) -> SourceError:  # noqa: B008 - frozen
    """Return the error with which an archive is refused, when opened or when all of it is read."""
    with pytest.raises(SourceError) as caught, ZipContainer.opened(path, budgets) as archive:
        everything(archive)
    assert caught.value.message.startswith(str(path))
    assert caught.value.hint
    return caught.value


def quickly(archive: ZipContainer, extents: Sequence[ZipExtent]) -> list[bytes | None]:
    """Return the bytes of small entries as those of LOBs that go together."""
    columns = [[getattr(each, name) for each in extents] for name in COLUMNS]
    sizes = [each.size for each in extents]
    run = run_of(range(len(extents)), sizes, extents=columns)
    return [None if data is None else bytes(data) for data in small_contents(archive.medium, run)]


def everything(archive: ZipContainer) -> dict[str, bytes]:
    """Return the bytes of all entries; those of small ones are the same one by one and together."""
    extents = [each.extent for each in archive.records()]
    small = [each for each in extents if each.size <= SMALL]
    together = dict(zip(small, quickly(archive, small), strict=True))
    found: dict[str, bytes] = {}
    for extent in extents:
        try:
            found[extent.name] = b"".join(archive.contents(extent))
        except SourceError:
            assert together.get(extent) is None
            raise
        assert together.get(extent) in {None, found[extent.name]}
    return found


# What is taken


def test_an_archive_without_entries_is_empty(written: Written) -> None:
    with ZipContainer.opened(written(forged(comment=b"nothing"))) as archive:
        assert (len(archive), archive.comment, archive.zip64) == (0, b"nothing", False)
        assert not list(archive.records())
        assert not list(archive.names())
        assert archive.extent("x") is None


def test_names_are_exact_sorted_and_in_their_own_encoding(written: Written) -> None:
    entries = [
        Entry(name="header/"),
        Entry(name="b/Ä.txt", flags=0x800, data=b"1"),
        Entry(name="b/ü.txt".encode("cp437"), data=b"2"),
        Entry(name="b/U.txt", data=b"3"),
        Entry(name="b/u.txt", data=b"4"),
        Entry(name="b/.hidden", data=b"5"),
        Entry(name="c d:e", data=b"6", central={"made": 0x0014, "attributes": 0xA0000000}),
        Entry(name="bc", data=b"7", local={"extra": struct.pack("<HHI", 9, 4, 5)}),
    ]
    with ZipContainer.opened(written(forged(*entries))) as archive:
        assert [*archive.names()] == [
            "b/.hidden",
            "b/U.txt",
            "b/u.txt",
            "b/Ä.txt",
            "b/ü.txt",
            "bc",
            "c d:e",
            "header/",
        ]
        assert [*archive.names("b/")] == ["b/.hidden", "b/U.txt", "b/u.txt", "b/Ä.txt", "b/ü.txt"]
        assert [*archive.names("x")] == []
        assert archive.extent("b/Ü.txt") is None
        assert archive.extent("\ud800") is None
        assert b"".join(everything(archive).values()) == b"1234567"
        assert [each.extent.name for each in archive.records() if each.is_directory] == ["header/"]


def test_a_directory_listed_in_another_order_is_read_in_physical_order(written: Written) -> None:
    entries = [Entry(name=f"e{number}", data=bytes([number])) for number in range(100)]
    order = random.Random(4).sample(range(100), 100)  # noqa: S311
    data = forged(*entries, order=order)
    with ZipContainer.opened(written(data)) as archive:
        records = list(archive.records())
        assert [each.extent.name for each in records] == [f"e{number}" for number in range(100)]
        assert all(each.raw[46:] == each.extent.name.encode() for each in records)
        limits = [each.extent.limit for each in records]
        assert limits == [*(each.extent.offset for each in records[1:]), data.index(b"PK\x01\x02")]
        assert archive.extent("e5") == records[5].extent
        assert everything(archive)["e99"] == b"c"


def test_entries_beyond_4_gib_are_found(tmp_path: Path) -> None:
    path, far = tmp_path / "large.zip", (1 << 32) + 35
    first = Entry(name="hole")
    last = Entry(name="far", data=b"found", central={"offset": MAX32, "extra": zip64_extra(far)})
    directory = central_header(first, 0) + central_header(last, 0)
    start = far + len(local_header(last)) + 5
    tail = forged(
        zip64=True,
        end64={"here": 2, "entries": 2, "length": len(directory), "start": start},
        locator={"position": start + len(directory)},
    )
    with open(path, "wb") as file:
        file.write(local_header(first))
        file.seek(far)
        file.write(local_header(last) + b"found" + directory + tail)
    with ZipContainer.opened(path) as archive:
        extent = archive.extent("far")
        assert extent is not None
        assert (extent.offset, extent.limit) == (far, start)
        assert b"".join(archive.contents(extent)) == b"found"
        assert [each.extent.limit for each in archive.records()] == [far, start]


@pytest.mark.slow
def test_more_than_65535_entries_need_zip64(tmp_path: Path) -> None:
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(66_000):
            archive.writestr(f"content/schema0/table{number % 7}/lob/record{number}.bin", b"")
    with ZipContainer.opened(path) as many:
        assert (len(many), many.zip64) == (66_000, True)
        assert sum(1 for _ in many.records()) == sum(1 for _ in many.names()) == 66_000
        raw = path.read_bytes()
        end = raw.index(b"PK\x06\x06")
        assert b"".join(each.raw for each in many.records()) == raw[raw.index(b"PK\x01\x02") : end]
        found = many.extent("content/schema0/table5/lob/record65987.bin")
        assert found is not None
        assert not b"".join(many.contents(found))


CENTRAL_ZIP64 = {
    "size": ({"size": MAX32}, "s"),
    "compressed": ({"compressed": MAX32}, "c"),
    "offset": ({"offset": MAX32}, "o"),
    "sizes": ({"size": MAX32, "compressed": MAX32}, "sc"),
    "size and offset": ({"size": MAX32, "offset": MAX32}, "so"),
    "compressed and offset": ({"compressed": MAX32, "offset": MAX32}, "co"),
    "three": ({"size": MAX32, "compressed": MAX32, "offset": MAX32}, "sco"),
    "four": ({"size": MAX32, "compressed": MAX32, "offset": MAX32, "disk": 0xFFFF}, "scod"),
    "disk": ({"disk": 0xFFFF}, "d"),
    "all, though one was needed": ({"size": MAX32}, "sco"),
    "both sizes, though one was needed": ({"size": MAX32}, "sc"),
    "all four, though one was needed": ({"offset": MAX32}, "scod"),
}


@pytest.mark.parametrize("case", CENTRAL_ZIP64)
def test_zip64_fields_of_the_central_directory_in_every_subset(written: Written, case: str) -> None:
    short, held = CENTRAL_ZIP64[case]
    first = Entry(name="first", data=b"1")
    values = {"s": len(TEXT), "c": len(deflated(TEXT)), "o": len(local_header(first)) + 1}
    data = b"".join(struct.pack("<Q", values[each]) if each != "d" else bytes(4) for each in held)
    extra = struct.pack("<HHB", 0x7777, 1, 0) + struct.pack("<HH", 1, len(data)) + data
    second = Entry(name="second", data=TEXT, method=8, central={"needed": 45, "extra": extra, **short})
    with ZipContainer.opened(written(forged(first, second, zip64=True))) as archive:
        assert archive.zip64
        assert everything(archive) == {"first": b"1", "second": TEXT}


DESCRIPTORS = {
    "signature, 4-byte sizes": "<4sIII",
    "signature, 8-byte sizes": "<4sIQQ",
    "4-byte sizes": "<III",
    "8-byte sizes": "<IQQ",
}
UNKNOWN: dict[str, dict[str, Any]] = {
    "zeros": {"crc": 0, "compressed": 0, "size": 0},
    "compressed size zero": {"crc": 0, "compressed": 0},
    "all known": {},
    "zip64 zeros": {"crc": 0, "compressed": MAX32, "size": MAX32, "extra": zip64_extra(0, 0)},
    "zip64 maxima": {"crc": 0, "compressed": MAX32, "size": MAX32, "extra": zip64_extra(MAX32, MAX32)},
    "maxima": {"crc": 0, "compressed": MAX32, "size": MAX32},
    "half a zip64 field": {"crc": 0, "compressed": MAX32, "size": MAX32, "extra": zip64_extra(0)},
}


def described(form: str, *values: int) -> bytes:
    return struct.pack(form, *([b"PK\x07\x08"] if "s" in form else []), *values)


@pytest.mark.parametrize(("method", "data"), [(0, TEXT), (8, TEXT), (8, b"")])
@pytest.mark.parametrize(
    ("local", "form"), [*product([*UNKNOWN][:3], DESCRIPTORS), *zip([*UNKNOWN][3:], DESCRIPTORS, strict=True)]
)
def test_every_data_descriptor(written: Written, form: str, local: str, method: int, data: bytes) -> None:
    size = len(deflated(data) if method else data)
    descriptor = described(DESCRIPTORS[form], zlib.crc32(data), size, len(data))
    entry = Entry(name="e", data=data, method=method, flags=8, descriptor=descriptor, local=UNKNOWN[local])
    with ZipContainer.opened(written(forged(entry, Entry(name="f", data=b"f")))) as archive:
        assert everything(archive) == {"e": data, "f": b"f"}
        extent = archive.extent("e")
        assert extent is not None
        place = span(archive.medium, extent, what="it")
        assert place.stop - place.end_of_data == len(descriptor)
        assert place.stop == extent.limit


def test_sizes_unknown_in_zip64_form_may_lack_the_flag(written: Written) -> None:
    descriptor = described("<4sIQQ", zlib.crc32(TEXT), len(deflated(TEXT)), len(TEXT))
    entry = Entry(name="e", data=TEXT, method=8, descriptor=descriptor, local=UNKNOWN["zip64 zeros"])
    with ZipContainer.opened(written(forged(entry))) as archive:
        assert everything(archive) == {"e": TEXT}


def test_a_descriptor_may_be_missing_when_nothing_is_unknown_and_nothing_follows(written: Written) -> None:
    with ZipContainer.opened(written(forged(Entry(name="e/", flags=8), Entry(name="f")))) as archive:
        assert everything(archive) == {"e/": b"", "f": b""}


def test_local_zip64_sizes_that_are_stated_are_compared(written: Written) -> None:
    local = {"compressed": MAX32, "size": MAX32, "extra": zip64_extra(len(TEXT), len(TEXT))}
    with ZipContainer.opened(written(forged(Entry(name="e", data=TEXT, local=local)))) as archive:
        assert everything(archive) == {"e": TEXT}
    local = {"compressed": len(TEXT), "size": MAX32, "extra": zip64_extra(len(TEXT), 0)}
    with ZipContainer.opened(written(forged(Entry(name="e", data=TEXT, local=local)))) as archive:
        assert everything(archive) == {"e": TEXT}


def test_large_entries_come_in_blocks_that_stay_small(written: Written) -> None:
    noise = random.Random(1).randbytes(3_000_000)  # noqa: S311
    zeros = bytes(5_000_000)
    descriptor = described("<4sIII", zlib.crc32(noise), len(noise), len(noise))
    path = written(
        forged(
            Entry(name="noise", data=noise, flags=8, descriptor=descriptor),
            Entry(name="zeros", data=zeros, method=8),
            Entry(name="deflated", data=noise, method=8),
        )
    )
    with ZipContainer.opened(path, Budgets(ratio=1032)) as archive:
        for name, expected in (("noise", noise), ("zeros", zeros), ("deflated", noise)):
            extent = archive.extent(name)
            assert extent is not None
            blocks = list(contents(archive.medium, extent, what="it"))
            assert b"".join(blocks) == expected
            assert max(map(len, blocks)) <= 1 << 20


@pytest.mark.parametrize("method", [0, 8])
def test_small_entries_are_read_together(written: Written, method: int) -> None:
    noise = random.Random(1).randbytes(700_000)  # noqa: S311
    descriptor = described("<4sIII", zlib.crc32(TEXT), len(TEXT), len(TEXT))
    datas = [TEXT, b"", noise, TEXT[:-1], noise[::-1], TEXT]
    entries = [Entry(name=f"{number}.bin", data=data, method=method) for number, data in enumerate(datas)]
    entries.append(Entry(name="between", data=bytes(2_000_000)))
    entries.append(Entry(name="last.bin", data=TEXT, flags=8, descriptor=descriptor))
    with ZipContainer.opened(written(forged(*entries)), Budgets(ratio=1032)) as archive:
        extents = [extent for each in archive.records() if (extent := each.extent).size <= SMALL]
        assert quickly(archive, extents) == [*datas, TEXT]
        assert quickly(archive, extents[::-1]) == [TEXT, *datas[::-1]]
        assert quickly(archive, [extents[3]] * 2) == [TEXT[:-1]] * 2
        path = archive.path
        assert quickly(archive, [replace(extents[0], crc=1), replace(extents[0], method=9)]) == [None] * 2
    with ZipContainer.opened(path, Budgets(ratio=1032)) as archive:
        with path.open("r+b") as file:
            file.truncate(100)
        assert quickly(archive, extents[1:]) == [None] * (len(extents) - 1)


# What is no zip


def tar_bytes() -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    return held.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        *((head.encode("latin-1"), words) for head, words in read_table(__file__, "no_zip")),
        (gzip.compress(b"x", mtime=0), "gzip data"),
        (tar_bytes(), "a tar archive"),
        ("<?xml".encode("utf-16"), "an XML document"),
        (bytes(3000), "nothing but zero bytes so far"),
        (b"7z\xbc\xaf\x27\x1c\0\4" + bytes(60), "a 7z archive"),
        ("Grüße, ".encode() * 200, "text"),
    ],
)
def test_what_is_no_zip_is_named(written: Written, data: bytes, words: str) -> None:
    error = refused(written(data))
    assert error.message.endswith(f"is not a zip file but {words}")
    assert "G_4.1-1" in error.hint


def test_an_empty_file_a_missing_one_and_a_folder_are_refused(written: Written, tmp_path: Path) -> None:
    assert "is empty; expected a zip file" in refused(written(b"")).message
    assert "cannot be opened: No such file or directory" in refused(tmp_path / "none.siard").message
    assert "cannot be opened: Is a directory" in refused(tmp_path).message


# What is damaged or misleading: the frame


def header(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a header from a table, a ZIP64 extra field by its values."""
    found = {name: latin(value) for name, value in fields.items() if name != "zip64"}
    return found | ({"extra": zip64_extra(*fields["zip64"])} if "zip64" in fields else {})


def latin(value: Any) -> Any:
    return value.encode("latin-1") if isinstance(value, str) else value


def made(name: str = "", raw_name: str = "", **fields: Any) -> Entry:
    """Return an entry from a table."""
    values: dict[str, Any] = {
        key: header(each) if isinstance(each, dict) else latin(each) for key, each in fields.items()
    }
    return Entry(name=latin(raw_name) or name, **values)


def forged_cases(table: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the name of each case of a table, the words of its refusal, and how it is forged."""
    for name, case in read_table(__file__, table).items():
        if "entries" in case:
            case["entries"] = [made(**each) for each in case["entries"]]
        yield name, case.pop("words"), case


TWO = (Entry(name="a", data=b"aaaa"), Entry(name="b", data=b"bb"))
GOOD = forged(*TWO)


def test_every_cut_off_archive_is_refused(written: Written) -> None:
    data = forged(*TWO, comment=b"a comment")
    for length in range(4, len(data)):
        message = refused(written(data[:length])).message
        assert "is cut off" in message, length
    assert "is cut off in its comment: it has" in refused(written(data[:-1])).message


def changed(data: bytes, position: int, new: bytes) -> bytes:
    return data[:position] + new + data[position + len(new) :]


def frame(entries: Sequence[Entry] = TWO, before: str = "", after: str = "", **named: Any) -> bytes:
    return before.encode() + forged(*entries, **named) + after.encode()


FRAMES = {name: (frame(**case), words) for name, words, case in forged_cases("frames")} | {
    "another file's end in a cut off archive": (
        forged(TWO[0])[:-22] + forged(TWO[1])[-22:] + b"more",
        "is cut off: it begins as a zip file",
    ),
    "no directory": (
        changed(GOOD, GOOD.index(b"PK\x01\x02"), b"PK\x01\x03"),
        "byte 68: expected a central directory record with signature 0x02014b50; found 0x03014b50",
    ),
    "a record that is not whole": (
        forged(Entry(name="a", central={"comment": b"c" * 9}))[:-31]
        + forged(Entry(name="a"), end={"length": 47})[-22:],
        "byte 31: the last record of the central directory is not whole; expected it to end at byte 78",
    ),
    "the first of several disks": (b"PK\x07\x08" + GOOD[:-9], "is the first of several disks of a zip file"),
}


@pytest.mark.parametrize("case", FRAMES)
def test_frames_that_lie_are_refused(written: Written, case: str) -> None:
    data, words = FRAMES[case]
    assert words in refused(written(data)).message


def test_a_zip64_end_record_may_stand_beside_a_full_short_one(written: Written) -> None:
    short = {"here": 2, "entries": 2, "length": 94, "start": 68}
    with ZipContainer.opened(written(forged(*TWO, zip64=True, end=short))) as archive:
        assert archive.zip64
        assert everything(archive) == {"a": b"aaaa", "b": b"bb"}


def test_more_entries_than_the_budget_are_refused(written: Written) -> None:
    assert "has 2 entries; expected at most 1" in refused(written(GOOD), Budgets(entries=1)).message


# What is damaged or misleading: the entries


def entries_of(table: str) -> Mapping[str, tuple[Sequence[Entry], str]]:
    return {name: (case["entries"], words) for name, words, case in forged_cases(table)}


ENTRIES = {
    **entries_of("entries"),
    "a long name": (
        (Entry(name="../" + "x" * 500),),
        f"entry {'../' + 'x' * 117!r}... (503 characters): its name holds",
    ),
    "overlap with the directory": (
        (Entry(name="e", method=8, data=b"x", central={"compressed": 99}),),
        "entry 'e': overlaps the central directory",
    ),
}
INFLATED = {
    "a damaged stream": (b"\xff" * 9, "does not inflate: its stream is damaged"),
    "a stream cut off": (
        deflated(TEXT)[:5],
        "does not inflate: its 5 bytes end in the middle of the deflate stream",
    ),
    "bytes behind": (
        deflated(TEXT) + b"abc",
        "has 3 bytes after the end of its deflate stream; expected none",
    ),
    "blocks behind": (
        deflated(TEXT) + bytes(3 << 20),
        "has 3,145,728 bytes after the end of its deflate stream",
    ),
    "a byte more": (deflated(TEXT + b"x"), "inflates to more than the 1,280 bytes expected"),
    "a byte less": (deflated(TEXT[:-1]), "inflates to 1,279 bytes; expected 1,280"),
    "blocks more": (deflated(bytes(1 << 24)), "inflates to more than the 1,280 bytes expected"),
}
WRONG = described("<4sIII", 1, 4, 4)
STREAMED = Entry(name="e", data=b"data", flags=8, local={"crc": 0, "size": 0})
CONTENTS = {
    **entries_of("contents"),
    **{
        f"descriptor {number}": (
            (replace(STREAMED, descriptor=descriptor), Entry(name="f")),
            "entry 'e': its data descriptor at byte 35 is missing or wrong; expected CRC-32 adf3f363",
        )
        for number, descriptor in enumerate((b"", WRONG, WRONG[:7], bytes(20)))
    },
    **{
        name: ((Entry(name="e", method=8, data=TEXT, payload=payload),), f"entry 'e': {words}")
        for name, (payload, words) in INFLATED.items()
    },
    "empty directory with deflate data": (
        (Entry(name="e/", method=8, payload=deflated(b"x")),),
        "inflates to more than the 0 bytes expected",
    ),
}


@pytest.mark.parametrize("case", ENTRIES)
def test_bad_entries_are_refused(written: Written, case: str) -> None:
    entries, words = ENTRIES[case]
    path = written(forged(*entries))
    with pytest.raises(SourceError):
        ZipContainer.opened(path).close()
    assert words in refused(path).message


@pytest.mark.parametrize("case", CONTENTS)
def test_other_contents_are_refused(written: Written, case: str) -> None:
    entries, words = CONTENTS[case]
    path = written(forged(*entries))
    ZipContainer.opened(path).close()
    assert words in refused(path).message


def test_encryption_and_methods_are_refused_with_the_clause(written: Written) -> None:
    assert "G_4.1-3" in refused(written(forged(Entry(name="e", flags=1)))).hint
    assert "G_4.1-2" in refused(written(forged(Entry(name="e", method=12)))).hint


def test_a_local_header_that_reaches_into_other_data_is_refused(written: Written) -> None:
    data = forged(Entry(name="e", data=b"data"), Entry(name="f"))
    longer = changed(data, 28, struct.pack("<H", 2))  # two bytes more of extra field
    assert "its data ends at byte 37; expected at most 35" in refused(written(longer)).message
    longest = changed(data, 28, struct.pack("<H", 60_000))
    assert "its local header takes 60,031 bytes; expected at most 35" in refused(written(longest)).message


# What happens while reading


@pytest.mark.parametrize("number", [0, 1])
def test_bytes_behind_an_entry_that_are_none_of_its_are_reported(written: Written, number: int) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in ("a", "b"):
            archive.writestr(name, TEXT)
    data = made.getvalue()
    with ZipContainer.opened(written(data)) as whole:
        assert whole.stray() == ""
        first, second = (each.extent for each in whole.records())
    at = (first, second)[number].limit
    start = int.from_bytes(data[-6:-2], "little")
    moved = data[:at] + b"junk" + data[at:-6] + (start + 4).to_bytes(4, "little") + data[-2:]
    if number == 0:
        place = moved.rindex(second.offset.to_bytes(4, "little") + b"b")
        moved = moved[:place] + (second.offset + 4).to_bytes(4, "little") + moved[place + 4 :]
    with ZipContainer.opened(written(moved)) as gapped:
        assert f"has 4 bytes from byte {at:,} on, after the entry '{'ab'[number]}'" in gapped.stray()


def test_a_file_that_changes_is_noticed(written: Written) -> None:
    path = written(forged(Entry(name="e", data=bytes(3_000_000))))
    with ZipContainer.opened(path) as archive:
        archive.check_unchanged()
        extent = archive.extent("e")
        assert extent is not None
        os.truncate(path, 2_000_000)
        with pytest.raises(SourceError, match="was changed while it was read"):
            archive.check_unchanged()
        with pytest.raises(
            SourceError, match="ends at byte 2,000,000; expected an entry's data up to byte 3,000,031"
        ):
            list(archive.contents(extent))
        with pytest.raises(SourceError, match="expected 47 bytes from byte 3,000,031 on; found 0"):
            list(archive.records())
        os.truncate(path, 5)
        with pytest.raises(SourceError, match="expected 512 bytes from byte 0 on; found 5"):
            list(archive.contents(extent))


def test_a_directory_record_that_changes_is_noticed(written: Written) -> None:
    path = written(GOOD)
    with ZipContainer.opened(path) as archive:
        path.write_bytes(changed(GOOD, 68 + 28, b"\xff\xff"))
        with pytest.raises(SourceError, match="byte 68: a central directory record is no longer whole"):
            list(archive.records())


@pytest.mark.parametrize("number", [1, 2])
def test_a_failing_disk_is_reported(written: Written, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    path = written(forged(Entry(name="e", data=bytes(3_000_000))))
    pread, calls = os.pread, iter(range(1, 100))

    def failing(descriptor: int, length: int, offset: int) -> bytes:
        if next(calls) == number:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return pread(descriptor, length, offset)

    with ZipContainer.opened(path) as archive:
        extent = archive.extent("e")
        assert extent is not None
        monkeypatch.setattr(os, "pread", failing)
        with pytest.raises(SourceError, match=r"cannot be read at byte [\d,]+: Input/output error") as caught:
            list(archive.contents(extent))
        assert "copy the file to another disk" in caught.value.hint
    calls = iter([1])
    with pytest.raises(SourceError, match="cannot be read at byte"):
        failing_open(path, monkeypatch)


def failing_open(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_descriptor: int, _length: int, _offset: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pread", failing)
    ZipContainer.opened(path)


def test_a_full_temporary_disk_is_reported(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    limited = (*tempdb._SETTINGS, "PRAGMA max_page_count = 2")
    monkeypatch.setattr(tempdb, "_SETTINGS", limited)
    path = written(forged(*(Entry(name=f"e{number:05}") for number in range(2000))))
    with pytest.raises(TargetError, match=r"cannot keep the index of .*: database or disk is full") as caught:
        ZipContainer.opened(path)
    assert "SQLITE_TMPDIR" in caught.value.hint


def test_opening_leaves_no_descriptor_behind(written: Written) -> None:
    def descriptors() -> int:
        return len(os.listdir("/dev/fd"))

    before = descriptors()
    for data in (GOOD[:-1], GOOD, forged(TWO[0], TWO[0]), forged(Entry(name="../x"))):
        path = written(data)
        with suppress(SourceError):
            ZipContainer.opened(path).close()
    assert descriptors() == before


class Held:
    """An inflater that hands out a byte at a time and keeps the rest, as zlib may."""

    def __init__(self, wbits: int) -> None:
        self._inner = zlib.decompressobj(wbits)
        self._held = b""
        self.unconsumed_tail = self.unused_data = b""

    @property
    def eof(self) -> bool:
        return self._inner.eof and not self._held

    def decompress(self, data: bytes, limit: int) -> bytes:
        self._held += self._inner.decompress(data)
        out, self._held = self._held[:limit], self._held[limit:]
        return out


def test_output_held_by_the_inflater_is_read(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    class Module:
        decompressobj = Held
        error = zlib.error
        crc32 = staticmethod(zlib.crc32)

    monkeypatch.setattr(zipreader, "inflating", Module)
    data = bytes(3_000_000)
    with ZipContainer.opened(written(forged(Entry(name="e", method=8, data=data)))) as archive:
        assert everything(archive) == {"e": data}


# Laws

SEGMENT = st.text(
    st.characters(codec="utf-8", exclude_characters="/\\\0:", exclude_categories=["Cs"]),
    min_size=1,
    max_size=8,
).filter(lambda text: text not in {".", ".."})
NAME = st.lists(SEGMENT, min_size=1, max_size=4).map("/".join)
CONTENT = st.one_of(st.binary(max_size=300), st.integers(0, 30_000).map(bytes))


@pytest.mark.slow
@law(100, HealthCheck.function_scoped_fixture)
@given(
    st.dictionaries(NAME, st.tuples(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]), CONTENT)),
    st.binary(max_size=30).filter(lambda comment: b"PK" not in comment),
    st.booleans(),
)
def test_what_the_standard_library_writes_is_read_back(
    tmp_path: Path, held: dict[str, tuple[int, bytes]], comment: bytes, streamed: bool
) -> None:
    path = tmp_path / "law.zip"
    with open(path, "wb") as file, zipfile.ZipFile(Unseekable(file) if streamed else file, "w") as archive:
        archive.comment = comment
        for name, (method, data) in held.items():
            archive.writestr(name, data, compress_type=method)
    with ZipContainer.opened(path, Budgets(ratio=1100)) as read:
        assert read.comment == comment
        assert everything(read) == {name: data for name, (_, data) in held.items()}
        assert list(read.names()) == sorted(held)


class Unseekable(io.RawIOBase):
    """A file that only goes forward, so that zipfile writes data descriptors."""

    def __init__(self, file: io.BufferedWriter) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        return self._file.write(data)


LAW = forged(
    Entry(name="a/", central={"attributes": 0o040755 << 16}),
    Entry(name="a/x", data=TEXT, method=8, central={"comment": b"note"}),
    Entry(
        name="a/ä",
        data=b"stored",
        flags=0x808,
        local=UNKNOWN["zip64 zeros"],
        descriptor=described("<4sIQQ", zlib.crc32(b"stored"), 6, 6),
    ),
    Entry(name="b", data=TEXT[:90], method=8, central={"size": MAX32, "extra": zip64_extra(90)}),
    comment=b"the end",
    zip64=True,
)
LAW_CONTENTS = {"a/": b"", "a/x": TEXT, "a/ä": b"stored", "b": TEXT[:90]}


@pytest.mark.slow
def test_every_byte_changed_is_an_error_or_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "law.zip"
    path.write_bytes(LAW)
    with ZipContainer.opened(path) as archive:
        assert everything(archive) == LAW_CONTENTS
    errors = 0
    for position in range(len(LAW)):
        for bits in (0x01, 0x02, 0x08, 0x20, 0x80, 0xFF):
            path.write_bytes(changed(LAW, position, bytes([LAW[position] ^ bits])))
            try:
                with ZipContainer.opened(path) as archive:
                    assert everything(archive) == LAW_CONTENTS, (position, bits)
            except SourceError:
                errors += 1
    assert errors > 3 * len(LAW)


@law(80, HealthCheck.function_scoped_fixture)
@given(
    st.lists(
        st.tuples(st.integers(0, len(LAW)), st.integers(0, 9), st.binary(max_size=9)), min_size=1, max_size=5
    )
)
@example([(0, 0, b"PK")])
def test_no_damage_makes_any_other_exception(tmp_path: Path, cuts: list[tuple[int, int, bytes]]) -> None:
    data = LAW
    for start, length, new in cuts:
        data = data[:start] + new + data[start + length :]
    path = tmp_path / "law.zip"
    path.write_bytes(data)
    with suppress(SourceError), ZipContainer.opened(path) as archive:
        everything(archive)


UNIFORM = [Entry(name=f"a/b/r{row:02}.bin", data=b"%d" % row, method=0) for row in range(40)]


@pytest.mark.parametrize(
    ("unusual", "lie"),
    [(None, {}), (0, {"offset": 7}), (20, {"extra": zip64_extra(1 << 40)}), (20, {"extra": b"\0" * 12})],
)
def test_offsets_in_zip64_form_are_read_as_the_general_form_is(
    written: Written, monkeypatch: pytest.MonkeyPatch, unusual: int | None, lie: dict[str, Any]
) -> None:
    entries, offset = [], 0
    for row, each in enumerate(UNIFORM):
        far = {"offset": MAX32, "extra": zip64_extra(offset)}
        entries.append(replace(each, central=far | (lie if unusual in {None, row} else {})))
        offset += len(local_header(each)) + len(each.data)
    path = written(forged(*entries))

    def seen() -> object:
        try:
            with ZipContainer.opened(path) as archive:
                return archive.zip64, list(archive.records())
        except SourceError as error:
            return error.message, error.hint

    usual = seen()
    monkeypatch.setattr(zipdirectory.CentralRecords, "_far", lambda *_: MAX32)
    assert seen() == usual


def test_entries_are_looked_up_in_any_order(written: Written) -> None:
    names = [str(each.name) for each in UNIFORM]
    with ZipContainer.opened(written(forged(*UNIFORM))) as archive:
        extents = {each.extent.name: each.extent for each in archive.records()}
        for some in (names, names[5:30], names[30:], names[::-1], names[:20] + names[21:], names[:1] * 2):
            found = archive.columns(some)
            assert found is not None
            assert found[0] == [extents[name].size for name in some]
            assert found[1] == [[getattr(extents[name], each) for name in some] for each in COLUMNS]
        for some in ([*names, "a/b/r40.bin"], ["none", *names], [*names[:30], "none"], ["\ud800"]):
            assert archive.columns(some) is None
