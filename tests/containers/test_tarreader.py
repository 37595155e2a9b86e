"""The directory of tar files, against those that Python's own tarfile writes."""

import io
import os
import shutil
import subprocess
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from metspack.containers.tarreader import Tar
from metspack.containers.zipreader import contents
from metspack.errors import SourceError
from metspack.files.byteranges import FileBelow
from metspack.limits import Budgets
from tests.laws import law

FORMS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
Members = dict[str, bytes | None]


def written(path: Path, members: Members, form: int) -> Path:
    with tarfile.open(path, "w", format=form) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            if data is None:
                info.type = tarfile.DIRTYPE
            info.size = len(data or b"")
            archive.addfile(info, io.BytesIO(data or b""))
    return path


def opened(path: Path, budgets: Budgets | None = None) -> Tar:
    return Tar(FileBelow(root=path, segments=()), budgets or Budgets())


def data_of(tar: Tar, name: str) -> bytes:
    extent = tar.extent(name)
    assert extent is not None
    return b"".join(contents(tar.medium, extent, what=tar.what))


def read(path: Path) -> Members:
    with opened(path) as tar:
        return {
            os.fsdecode(each.name).rstrip("/"): None
            if each.kind == "d"
            else data_of(tar, os.fsdecode(each.name))
            for each in tar.members()
        }


NAMES = st.lists(st.text("abü ._-", min_size=1, max_size=30), min_size=1, max_size=6).map("/".join)


@pytest.mark.parametrize("form", FORMS)
@law(20, HealthCheck.function_scoped_fixture)
@given(members=st.dictionaries(NAMES, st.binary(max_size=1500), max_size=5))
def test_what_tarfile_writes_is_read(tmp_path: Path, form: int, members: dict[str, bytes]) -> None:
    expected: Members = {}
    for name, data in members.items():
        names = [each for each in name.split("/") if each != "."]
        if names and ".." not in names:
            expected.setdefault("/".join(names), data)
    fine = {name: data for name, data in expected.items() if len(name.encode()) < 90 or form != FORMS[0]}
    assert read(written(tmp_path / "x.tar", fine, form)) == fine


@pytest.mark.parametrize("form", FORMS)
def test_folders_come_before_what_they_hold_and_dots_are_nothing(tmp_path: Path, form: int) -> None:
    members: Members = {".": None, "./a": None, "./a-b": b"2", "./a/x": b"1", "./a/y": b""}
    path = written(tmp_path / "x.tar", members, form)
    with opened(path) as tar:
        assert [(each.name, each.kind) for each in tar.members()] == [
            (b"a-b", "f"),
            (b"a/", "d"),
            (b"a/x", "f"),
            (b"a/y", "f"),
        ]
        assert tar.extent("a/z") is None
        assert data_of(tar, "a/x") == b"1"


def test_links_and_devices_are_reported_and_not_followed(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w", format=tarfile.GNU_FORMAT) as archive:
        for name, kind in (("l", tarfile.SYMTYPE), ("h", tarfile.LNKTYPE), ("p", tarfile.FIFOTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "long" * 40
            archive.addfile(info)
    with opened(tmp_path / "x.tar") as tar:
        assert [(each.name, each.kind) for each in tar.members()] == [(b"h", "l"), (b"l", "l"), (b"p", "s")]


def test_a_global_header_is_passed_over(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w", format=tarfile.PAX_FORMAT, pax_headers={"a": "b"}) as archive:
        archive.addfile(tarfile.TarInfo("f"))
    assert read(tmp_path / "x.tar") == {"f": b""}


def test_sizes_beyond_octal_digits(tmp_path: Path) -> None:
    info = tarfile.TarInfo("big")
    info.size = 9 << 30
    header = info.tobuf(tarfile.GNU_FORMAT)
    with (tmp_path / "x.tar").open("wb") as file:
        file.write(header)
        file.truncate(len(header) + info.size + 1024)
    with opened(tmp_path / "x.tar") as tar:
        assert [each.size for each in tar.members()] == [9 << 30]
    info.pax_headers = {}
    header = info.tobuf(tarfile.PAX_FORMAT)
    with (tmp_path / "x.tar").open("wb") as file:
        file.write(header)
        file.truncate(len(header) + info.size)
    with opened(tmp_path / "x.tar") as tar:
        assert [each.size for each in tar.members()] == [9 << 30]


def sealed(block: bytes) -> bytes:
    """Put the right checksum into a header."""
    block = block[:148] + b" " * 8 + block[156:]
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def header(name: bytes = b"f", size: bytes = b"00000000000\0", kind: bytes = b"0") -> bytes:
    block = name.ljust(100, b"\0") + b"0000644\0" * 3 + size + b"0" * 12 + b" " * 8 + kind
    return sealed(block.ljust(512, b"\0"))


def pax(text: bytes, kind: bytes = b"x") -> bytes:
    return header(b"x", b"%011o\0" % len(text), kind) + text.ljust(512, b"\0")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"x" * 512, "no header at byte 0"),
        (header()[:300], "no header at byte 0"),
        (header() + header(b"g")[:148] + b"0" * 364, "no header at byte 512"),
        (header(size=b"zzzzzzzzzzz\0"), "without a size"),
        (header(size=b"00000002000\0"), "is cut off"),
        (header(size=b"\x80" + b"\xff" * 11), "is cut off"),
        (header(b"a") * 2, "'a' twice"),
        (header(b"../a"), "outside its folder"),
        (header(b"/a"), "outside its folder"),
        (pax(b"12 path=a\0b\n") + header(), "outside its folder"),
        (pax(b"99 path=x\n") + header(), "damaged extended header"),
        (pax(b"path=x\n") + header(), "damaged extended header"),
        (pax(b"11 size=-1\n") + header(), "has a member of b'-1' bytes"),
        (pax(b"22 GNU.sparse.major=1\n") + header(), "has a sparse member, whose bytes are not all there"),
        (header(kind=b"S"), "has a sparse member, whose bytes are not all there"),
        (header(kind=b"M"), "begins with the rest of a member: it is one of several volumes"),
        (pax(b"23 GNU.volume.offset=9\n", b"g") + header(), "it is one of several volumes"),
        (header(b"x", b"%011o\0" % (2 << 20), b"x"), "more than 1,048,576"),
        (header(b"x", b"00000000777\0", b"L"), "cut off within"),
    ],
)
def test_what_is_damaged_or_misleading_is_refused(tmp_path: Path, data: bytes, problem: str) -> None:
    (tmp_path / "x.tar").write_bytes(data)
    with pytest.raises(SourceError, match=problem) as caught:
        opened(tmp_path / "x.tar")
    assert caught.value.hint
    assert str(tmp_path) in caught.value.message


def is_gnu_tar() -> bool:
    if shutil.which("tar") is None:
        return False
    return b"GNU tar" in subprocess.run(["tar", "--version"], check=False, capture_output=True).stdout


LISTED = b"Yfile\0Nother\0\0"
KINDS: dict[str, tuple[bytes, Members]] = {
    "a volume label": (header(b"Backup of May", kind=b"V"), {}),
    "a label in pax form": (pax(b"29 GNU.volume.label=Backup A\n", b"g"), {}),
    "a folder with its dump list": (
        header(b"d/", b"%011o\0" % len(LISTED), b"D") + LISTED.ljust(512, b"\0"), {"d": None},
    ),
    "a folder": (header(b"d/", kind=b"5"), {"d": None}),
    "a folder without its slash": (header(b"d", kind=b"5"), {"d": None}),
    "a folder of before ustar": (header(b"d/", kind=b"\0"), {"d": None}),
    "a file of before ustar": (header(b"a", kind=b"\0"), {"a": b""}),
    "a contiguous file": (header(b"a", kind=b"7"), {"a": b""}),
    "a kind that POSIX leaves to vendors": (header(b"a", kind=b"Z"), {"a": b""}),
    "an extended header of Solaris": (pax(b"10 path=a\n", b"X") + header(b"b"), {"a": b""}),
    "an ACL of Solaris": (header(b"f", b"%011o\0" % 5, b"A") + b"user:".ljust(512, b"\0"), {}),
    "a long name of GNU": (
        header(b"x", b"%011o\0" % 3, b"L") + b"abc".ljust(512, b"\0") + header(), {"abc": b""},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", KINDS)
def test_members_are_what_the_programs_that_write_them_mean(tmp_path: Path, case: str) -> None:
    data, members = KINDS[case]
    (tmp_path / "x.tar").write_bytes(data + header(b"f", b"%011o\0" % 2) + b"ff".ljust(2048, b"\0"))
    assert read(tmp_path / "x.tar") == {**members, "f": b"ff"}


GNU = pytest.mark.skipif(not is_gnu_tar(), reason="GNU tar is not installed")


@GNU
@pytest.mark.parametrize("form", ["gnu", "posix", "ustar", "v7", "oldgnu"])
def test_what_gnu_tar_writes_is_read(tmp_path: Path, form: str) -> None:
    (tmp_path / "files" / "d\u00f6").mkdir(parents=True)
    (tmp_path / "files" / "d\u00f6" / "x").write_bytes(b"x" * 700)
    options = [f"--format={form}", "-C", str(tmp_path / "files"), "-cf", str(tmp_path / "x.tar")]
    if form not in {"v7", "ustar"}:
        options += ["-V", "A label", "--listed-incremental=" + str(tmp_path / "snapshot")]
    subprocess.run(["tar", *options, "."], check=True)
    assert read(tmp_path / "x.tar") == {"d\u00f6": None, "d\u00f6/x": b"x" * 700}


@GNU
@pytest.mark.parametrize("form", ["gnu", "posix"])
def test_what_gnu_tar_writes_in_part_is_refused(tmp_path: Path, form: str) -> None:
    with (tmp_path / "holes").open("wb") as file:
        file.truncate(1 << 20)
        file.seek(1 << 19)
        file.write(b"x")
    common = ["tar", f"--format={form}", "-C", str(tmp_path)]
    subprocess.run([*common, "-S", "-cf", str(tmp_path / "s.tar"), "holes"], check=True)
    with pytest.raises(SourceError, match="has a sparse member, whose bytes are not all there"):
        opened(tmp_path / "s.tar")
    (tmp_path / "large").write_bytes(bytes(60_000))
    volumes = [str(tmp_path / name) for name in ("one.tar", "two.tar")]
    several = ["-cM", "-L", "40", *(word for each in volumes for word in ("-f", each))]
    subprocess.run([*common, *several, "large"], check=True)
    with pytest.raises(SourceError, match="is cut off"):
        opened(Path(volumes[0]))
    with pytest.raises(SourceError, match="it is one of several volumes"):
        opened(Path(volumes[1]))


def test_a_folder_may_be_there_twice(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(header(b"a", kind=b"5") * 2)
    assert read(tmp_path / "x.tar") == {"a": None}


def test_a_budget_of_members(tmp_path: Path) -> None:
    written(tmp_path / "x.tar", {"a": b"", "b": b""}, FORMS[0])
    with pytest.raises(SourceError, match="more than 1 members"):
        opened(tmp_path / "x.tar", Budgets(entries=1))


def test_a_file_cut_off_while_it_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "x.tar", {"a": b"x" * 2000}, FORMS[0])
    with opened(path) as tar:
        with path.open("r+b") as file:
            file.truncate(1000)
        with pytest.raises(
            SourceError, match="ends at byte 1,000; expected an entry's data up to byte 2,512"
        ):
            data_of(tar, "a")


@law(80, HealthCheck.function_scoped_fixture)
@example(at=2057, byte=1, cut=3073)
@given(at=st.integers(0, 3071), byte=st.integers(0, 255), cut=st.integers(0, 10240))
def test_no_damage_makes_anything_else_happen(tmp_path: Path, at: int, byte: int, cut: int) -> None:
    path = written(tmp_path / "x.tar", {"a": b"1" * 600, "ü" * 60: b"2"}, tarfile.PAX_FORMAT)
    data = bytearray(path.read_bytes())
    data[at] = byte
    path.write_bytes(bytes(data[:cut]))
    with suppress(SourceError):
        read(path)


def test_a_tar_ends_with_a_block_of_zeros_and_has_nothing_behind(tmp_path: Path) -> None:
    path = written(tmp_path / "x.tar", {"a": b"1" * 600, "b": b"2"}, tarfile.USTAR_FORMAT)
    data = path.read_bytes()
    end = 512 + 1024 + 512 + 512

    def stray(data: bytes) -> str:
        path.write_bytes(data)
        with opened(path) as tar:
            assert [each.name for each in tar.members()] == [b"a", b"b"]
            return tar.stray()

    assert stray(data) == ""
    assert stray(data[: end + 1024]) == ""
    assert stray(data[: end + 512]) == ""  # a lone zero block, which nothing writes before the last member
    for cut in (end, end - 511, end + 511):
        assert stray(data[:cut]).startswith(
            f"has no end at byte {min(cut, end):,} (expected blocks of zeros)"
        )
    assert f"from byte {len(data):,} on, after its end at byte {end:,}" in stray(data + data)
    assert "has 1 bytes from byte" in stray(data[: end + 700] + b"\1")


def test_a_tar_whose_end_is_a_hole_is_not_read_through(tmp_path: Path) -> None:
    path = written(tmp_path / "x.tar", {"a": b"1"}, tarfile.USTAR_FORMAT)
    with path.open("r+b") as file:
        file.truncate(5 << 30)
    with opened(path) as tar:
        assert tar.stray().startswith("has more than 4,294,967,296 bytes from byte 1,024 on")
