"""LOBs read over their parts: as files to seek in, as streams, as ranges; and parts that are not right."""

from __future__ import annotations

import hashlib
import io
import os
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import SourceError
from metspack.packages.package import Package
from metspack.restoring.joining import JoinedLob, extract, open_lob
from metspack.sizes import parsed_range
from tests.laws import law
from tests.packages import forge
from tests.restoring import splitting
from tests.restoring.splitting import LOBS, SPLIT, Lob, mets

WHOLE = LOBS[1].data


def part(root: Path, number: int) -> Path:
    return root / f"Northwind_lobseg_{number}" / LOBS[1].path(number)


def all_of(root: Path, lob: str = SPLIT, *ranges: str, verify: bool = True) -> bytes:
    with Package(root) as package:
        return b"".join(extract(package, lob, [parsed_range(each) for each in ranges], verify=verify))


def damaged(root: Path, number: int) -> None:
    """Change a byte of a part; its size stays."""
    path = part(root, number)
    path.write_bytes(b"#" + path.read_bytes()[1:])


def test_the_file_seeks_as_files_do(root: Path) -> None:
    with Package(root) as package, open_lob(package, SPLIT) as file:
        oracle = io.BytesIO(WHOLE)
        assert file.readable()
        assert file.seekable()
        assert not file.writable()
        for position, whence in ((-5, os.SEEK_END), (3, os.SEEK_SET), (7, os.SEEK_CUR), (99, os.SEEK_SET)):
            assert file.seek(position, whence) == oracle.seek(position, whence)
            assert file.tell() == oracle.tell()
            assert file.read(20) == oracle.read(20)
        with pytest.raises(ValueError, match="the position -1 lies before the start"):
            file.raw.seek(-1, os.SEEK_SET)
        with pytest.raises(ValueError, match="whence is 0, 1 or 2"):
            file.raw.seek(0, 9)
    with pytest.raises(ValueError, match="is closed"):
        file.raw.tell()
    file.raw.close()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd" if Path("/proc/self/fd").is_dir() else "/dev/fd"))


def test_at_most_one_part_is_open(root: Path) -> None:
    with Package(root) as package:
        lob, files = package.lob(SPLIT), package.index.files
    before = descriptors()
    with JoinedLob(files, lob) as file:
        assert descriptors() == before
        for position in (0, 17, 40, 2, 40):
            file.seek(position)
            assert file.read(1) == WHOLE[position : position + 1]
            assert descriptors() == before + 1
        assert file.name == SPLIT
    assert descriptors() == before


def test_only_the_parts_that_are_touched_are_read(root: Path) -> None:
    part(root, 0).unlink()
    part(root, 2).unlink()
    assert all_of(root, SPLIT, "16-36") == LOBS[1].pieces[1]
    with pytest.raises(
        SourceError, match=r"its part .*p0, .*record1\.bin\.0, cannot be opened: No such file"
    ):
        all_of(root, SPLIT, "15-16")


def test_a_touched_part_is_verified_whole_before_a_byte_of_it_is_given(root: Path) -> None:
    damaged(root, 1)
    assert all_of(root, SPLIT, "0-15") == WHOLE[:16]
    expected = forge.md5(LOBS[1].pieces[1])
    with pytest.raises(
        SourceError, match=rf"its part .*p1, .*\.1, \(.*line \d+\) has the MD5 .*, but METS says {expected}"
    ):
        all_of(root, SPLIT, "20-20")
    assert all_of(root, SPLIT, "20-20", verify=False) == WHOLE[20:21]
    with Package(root) as package:
        blocks = extract(package, SPLIT, [parsed_range("10-20")])
        assert next(blocks) == WHOLE[10:16]
        with pytest.raises(SourceError):
            next(blocks)


def test_a_part_that_changes_is_verified_again(root: Path) -> None:
    with Package(root) as package, JoinedLob(package.index.files, package.lob(SPLIT)) as file:
        for position in (0, 20, 0, 40, 20):
            file.seek(position)
            file.read(1)
        damaged(root, 0)
        file.seek(0)
        for _ in range(2):  # what failed is not remembered as verified
            with pytest.raises(SourceError, match="has the MD5"):
                file.read(1)


@pytest.mark.parametrize("verify", [True, False])
def test_a_part_of_another_size_is_reported_before_it_is_read(root: Path, *, verify: bool) -> None:
    part(root, 1).write_bytes(LOBS[1].pieces[1] + b"!")
    for ranges in ((), ("20-20",)):
        with pytest.raises(
            SourceError, match=r"p1, .* has 22 bytes; expected 21 \(.*lobseg_1/mets\.xml line"
        ):
            all_of(root, SPLIT, *ranges, verify=verify)


def test_a_link_or_a_pipe_in_place_of_a_part_is_not_read(root: Path) -> None:
    part(root, 0).rename(root / "elsewhere")
    part(root, 0).symlink_to(root / "elsewhere")
    with pytest.raises(SourceError, match="cannot be opened"):
        all_of(root)
    part(root, 0).unlink()
    os.mkfifo(part(root, 0))
    with pytest.raises(SourceError, match="not a regular file"):
        all_of(root)


def test_a_wrong_part_is_reported_after_its_last_block(root: Path) -> None:
    damaged(root, 1)
    with Package(root) as package:
        blocks = extract(package, SPLIT)
        assert next(blocks) == LOBS[1].pieces[0]
        assert next(blocks)[1:] == LOBS[1].pieces[1][1:]
        with pytest.raises(
            SourceError,
            match=r"its part .*\.p1, .*lobseg_1/mets\.xml line \d+\) has the MD5 .*, but METS says",
        ):
            next(blocks)
    assert len(all_of(root, verify=False)) == len(WHOLE)


def test_a_length_in_characters_or_utf16_units_is_right(tmp_path: Path) -> None:
    data = "größer 🦆".encode()
    lob = Lob(1, splitting.cut(data, 3), extension="txt")
    root = splitting.forged(tmp_path / "package", [lob])
    cells = forge.table([forge.Lob(0, 1, data, "txt")], splitting.NAME).decode()
    for length, right in ((8, True), (9, True), (len(data), True), (10, False)):
        changed = cells.replace(f'length="{len(data)}"', f'length="{length}"').encode()
        (root / "Northwind.siard").write_bytes(forge.siard(changed))
        if right:
            assert all_of(root, lob.id) == data
        else:
            with pytest.raises(SourceError, match="has 13 bytes, 8 characters, 9 UTF-16 units, but"):
                all_of(root, lob.id)


def test_an_unreadable_archive_is_reported_before_any_byte(root: Path) -> None:
    (root / "Northwind.siard").unlink()
    with Package(root) as package:
        with pytest.raises(SourceError, match=r"Northwind\.siard cannot be opened: No such file"):
            next(extract(package, SPLIT))
        assert next(extract(package, SPLIT, verify=False)) == LOBS[1].pieces[0]
    text = (root / "mets.xml").read_text()
    (root / "mets.xml").write_text(text.replace("Northwind.siard", "Northwind.zip"))
    assert all_of(root) == WHOLE


def test_a_digest_of_an_unknown_algorithm_cannot_be_verified(root: Path) -> None:
    splitting.edit(root / mets(1), 'CHECKSUMTYPE="MD5"', 'CHECKSUMTYPE="TIGER"')
    with Package(root) as package:
        with pytest.raises(SourceError, match=r"cannot be verified.* 'TIGER'") as caught:
            next(extract(package, SPLIT))
        assert "--no-verify" in caught.value.hint
    with pytest.raises(SourceError, match="cannot be verified: its CHECKSUMTYPE is 'TIGER'"):
        all_of(root, SPLIT, "20-20")
    assert all_of(root, verify=False) == WHOLE
    splitting.edit(
        root / "mets.xml", f'SIZE="46" CHECKSUM="{forge.md5(WHOLE)}" CHECKSUMTYPE="MD5"', 'SIZE="46"'
    )
    splitting.edit(root / mets(1), ' CHECKSUMTYPE="TIGER"', "")
    text = (root / mets(1)).read_text()
    (root / mets(1)).write_text(re.sub(' CHECKSUM="[^"]*"', "", text))
    splitting.agreed(root)
    assert all_of(root) == WHOLE  # the cell proves it
    with pytest.warns(UserWarning, match="gives no digest of .*bin.1: its bytes could not be verified"):
        assert all_of(root, SPLIT, "20-20") == WHOLE[20:21]
    with Package(root) as package, pytest.warns(UserWarning, match=r"gives no digest of .*bin\.1"):
        open_lob(package, SPLIT).close()
    table = forge.table([forge.Lob(lob.segment, lob.row, lob.data) for lob in LOBS], splitting.NAME)
    bare = re.sub(rb' digestType="MD5" digest="[^"]*"', b"", table)
    (root / "Northwind.siard").write_bytes(forge.siard(bare))
    with pytest.warns(UserWarning, match="neither METS nor its cell gives a digest of it"):
        assert all_of(root) == WHOLE


def test_an_unsupported_digest_of_the_whole_is_reported(root: Path) -> None:
    splitting.edit(root / "mets.xml", f'{forge.md5(WHOLE)}" CHECKSUMTYPE="MD5"', 'ab" CHECKSUMTYPE="HAVAL"')
    with pytest.raises(SourceError, match=r"the whole cannot be verified.*HAVAL' \(mets.xml line \d+\)"):
        all_of(root)


def test_a_part_that_is_cut_while_it_is_read_is_reported(root: Path) -> None:
    with Package(root) as package:
        blocks = extract(package, SPLIT, verify=False)
        assert next(blocks)
        lob, files = package.lob(SPLIT), package.index.files
    with JoinedLob(files, lob, verify=False) as file:
        assert file.read(4) == WHOLE[:4]
        os.truncate(part(root, 0), 3)
        with pytest.raises(SourceError, match="was cut while it was read"):
            file.read(4)


@pytest.mark.parametrize("ranges", [(), ("0-",), ("0-", "0-")])
def test_the_file_of_an_empty_lob_must_be_there(ranges: tuple[str, ...], tmp_path: Path) -> None:
    root = splitting.forged(tmp_path / "package", [Lob(1, (b"",))])
    assert all_of(root, "s0.t2.c4.r1", *ranges) == b""
    (root / "Northwind_lobseg_0" / Lob(1, (b"",)).path(0)).unlink()
    for verify in (True, False):
        with pytest.raises(SourceError, match=r"record0\.bin cannot be opened: No such file"):
            all_of(root, "s0.t2.c4.r1", *ranges, verify=verify)
    with (
        Package(root) as package,
        open_lob(package, "s0.t2.c4.r1") as file,
        pytest.raises(SourceError, match="No such file"),
    ):
        file.read()


@law(15)
@given(st.binary(max_size=300), st.lists(st.integers(0, 300), min_size=1, max_size=12), st.data())
def test_any_split_and_any_range_equal_slicing(data: bytes, cuts: list[int], draw: st.DataObject) -> None:
    lob = Lob(1, splitting.cut(data, *(min(each, len(data)) for each in cuts)))
    with tempfile.TemporaryDirectory() as folder:
        root = splitting.forged(Path(folder) / "package", [lob])
        with Package(root) as package:
            assert b"".join(extract(package, lob.id)) == data
            verify = draw.draw(st.booleans())
            with open_lob(package, lob.id, verify=verify) as file:
                assert hashlib.md5(file.read(), usedforsecurity=False).hexdigest() == forge.md5(data)
                for _ in range(3):
                    start, length = draw.draw(st.integers(0, 310)), draw.draw(st.integers(0, 310))
                    file.seek(start)
                    assert file.read(length) == data[start : start + length]
            if data:
                first = draw.draw(st.integers(0, len(data) - 1))
                last = draw.draw(st.integers(first, len(data) - 1))
                ranges = [parsed_range(f"{first}-{last}"), parsed_range(f"-{last + 1}")]
                found = b"".join(extract(package, lob.id, ranges, verify=verify))
                assert found == data[first : last + 1] + data[-last - 1 :]
