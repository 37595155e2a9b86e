"""Every statement about a file's bytes: by any algorithm, in any case, of parts and wholes, with a hint."""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.checking import Level, check, options, similarity
from metspack.checking.files import fixity
from metspack.files import reading
from metspack.model import Digest
from tests.findings import codes, ordered
from tests.laws import spread
from tests.packages import forge, steps
from tests.packages.forge import CHILD, FIRST, LOBS, SECOND, md5

HASHLIB = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}
LEVELS = [Level.FIXITY, Level.FULL]


def computed(algorithm: str, data: bytes) -> str:
    if algorithm in HASHLIB:
        return hashlib.new(HASHLIB[algorithm], data, usedforsecurity=False).hexdigest()
    return f"{(zlib.crc32 if algorithm == 'CRC32' else zlib.adler32)(data):08x}"


def stated_by_mets(package: Path, algorithm: str, digest: str) -> None:
    """Let the METS give the first LOB another kind of digest."""
    old = f'CHECKSUM="{md5(LOBS[0].data)}" CHECKSUMTYPE="MD5"'
    forge.edit(package / CHILD, old, f'CHECKSUM="{digest}" CHECKSUMTYPE="{algorithm}"')
    forge.seal(package)


# --- algorithms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", [*spread(HASHLIB, 2), "Adler-32", "CRC32"])
def test_every_algorithm_that_can_be_computed_is(package: Path, algorithm: str) -> None:
    stated_by_mets(package, algorithm, computed(algorithm, LOBS[0].data))
    assert codes(check(package)) == []
    (package / FIRST).write_bytes(LOBS[0].data.swapcase())
    (found,) = [each for each in check(package, Level.FIXITY) if each.code == "F003"]
    facts = dict(found.facts)
    assert facts["algorithm"] == algorithm
    assert facts["found"] == computed(algorithm, LOBS[0].data.swapcase())
    assert facts["expected"] == computed(algorithm, LOBS[0].data)


def test_what_cannot_be_computed_is_reported_and_the_rest_is_checked(package: Path) -> None:
    algorithm = "WHIRLPOOL"
    stated_by_mets(package, algorithm, "0" * 48)
    (package / SECOND).write_bytes(LOBS[1].data.swapcase())
    (reported, changed, *_) = sorted(check(package, Level.FIXITY), key=lambda each: each.code != "F007")
    assert (reported.code, reported.place, dict(reported.facts)["found"]) == (
        "F007",
        "s0.t2.c4.r1",
        algorithm,
    )
    assert (changed.code, changed.path) == ("F003", SECOND)
    assert not [each for each in check(package, Level.LINKS) if each.code == "M020"], "METS has the name"


# --- hints --------------------------------------------------------------------------------------------


def converted(data: bytes, end: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", end)


@pytest.mark.parametrize(
    ("end", "stated"),
    [(b"\r\n", "matches with LF line endings"), (b"\n", "matches with CRLF line endings")],
)
def test_converted_line_ends_are_reported(package: Path, end: bytes, stated: str) -> None:
    was = converted(b"line\r\n" * 9, b"\n" if end == b"\r\n" else b"\r\n")
    stated_by_mets(package, "SHA-256", hashlib.sha256(was).hexdigest())
    (package / FIRST).write_bytes(converted(was, end))
    found = {each.code: each.message for each in check(package, Level.FIXITY)}
    assert stated in found["F003"]
    assert "line ends" not in found["F002"]


def test_hints_are_not_given_without_end(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (FIRST, SECOND):
        forge.edit(package / CHILD, md5((package / path).read_bytes()), md5(b"a\nb"))
        (package / path).write_bytes(b"a\r\nb")
    forge.seal(package)

    def hints() -> int:
        return sum("line endings" in each.message for each in check(package, Level.FIXITY))

    assert hints() == 2
    monkeypatch.setattr(fixity, "_LIKENESSES", 1)
    assert hints() == 1
    monkeypatch.setattr(fixity, "_LIKENESS_OF", 3)
    assert hints() == 0


@given(st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b"text", b""]), max_size=30), st.integers(1, 7))
def test_line_ends_are_converted_as_if_all_bytes_came_at_once(pieces: list[bytes], size: int) -> None:
    data = b"".join(pieces)
    blocks = [data[start : start + size] for start in range(0, len(data), size)]
    for end, word in ((b"\n", "with LF line"), (b"\r\n", "with CRLF line")):
        expected = Digest(algorithm="CRC32", value=computed("CRC32", converted(data, end)))
        other = converted(data, b"\n" if end == b"\r\n" else b"\r\n")
        stated = similarity.line_end_likeness(blocks, expected)
        assert stated
        assert word in stated or other == converted(data, end)


def test_a_missing_file_is_renamed_only_once(package: Path) -> None:
    for name in ("one", "two"):
        (package / name).write_bytes(LOBS[0].data)
    (package / FIRST).unlink()
    found = codes(check(package, Level.FIXITY))
    assert (found.count("F014"), found.count("F010"), found.count("F001")) == (1, 1, 0)


def test_of_two_missing_files_with_the_same_bytes_each_is_found(package: Path) -> None:
    forge.edit(package / CHILD, f'SIZE="{len(LOBS[1].data)}"', "")
    forge.edit(package / CHILD, md5(LOBS[1].data), md5(LOBS[0].data))
    for name, path in (("one", FIRST), ("two", SECOND)):
        (package / path).unlink()
        (package / name).write_bytes(LOBS[0].data)
    forge.seal(package)
    found = [each for each in check(package, Level.FIXITY) if each.code == "F014"]
    assert {(each.path, dict(each.facts)["found"]) for each in found} == {(FIRST, "one"), (SECOND, "two")}


def test_an_unlisted_file_that_cannot_be_read_stays_unlisted(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / FIRST).rename(package / "elsewhere")
    original = reading._opened

    def refused(root: Path, segments: tuple[str, ...] = ()) -> int:
        if segments == ("elsewhere",):
            raise PermissionError(13, "Permission denied", "elsewhere")
        return original(root, segments)

    monkeypatch.setattr(reading, "_opened", refused)
    assert {"F001", "F010"} <= set(codes(check(package, Level.FIXITY)))


def test_swapped_files_are_reported_where_only_manifests_have_digests(package: Path) -> None:
    for lob in LOBS[:2]:
        forge.edit(package / CHILD, f' CHECKSUM="{md5(lob.data)}" CHECKSUMTYPE="MD5"', "")
    forge.seal(package)
    (package / FIRST).write_bytes(LOBS[1].data)
    (package / SECOND).write_bytes(LOBS[0].data)
    found = [each for each in check(package, Level.FIXITY) if each.code in {"F002", "F003", "F004", "F026"}]
    assert [(each.code, each.path, dict(each.facts)["other"]) for each in found] == [("F004", FIRST, SECOND)]


# --- LOBs in parts ------------------------------------------------------------------------------------

SIZES = (100, 100, 203)


def in_parts(package: Path, *, size: int | None = len(LOBS[0].data), digest: str = md5(LOBS[0].data)) -> None:
    """Split the first LOB; the parent's METS states the whole and the order of its parts."""
    forge.split(package, 1, SIZES)
    stated = "" if size is None else f' SIZE="{size}"'
    stated += f' CHECKSUM="{digest}" CHECKSUMTYPE="MD5"' if digest else ""
    whole = f'<mets:file ID="s0.t2.c4.r1"{stated}/>'
    group = f'<mets:fileGrp ID="ID_SPLIT_LOBS" USE="split LOB">{whole}</mets:fileGrp>'
    forge.edit(
        package / "mets.xml", "</mets:fileGrp></mets:fileSec>", f"{group}</mets:fileGrp></mets:fileSec>"
    )
    pointers = "".join(
        f'<mets:div><mets:mptr xlink:href="ID_Northwind_lobseg_0_mets" LOCTYPE="OTHER" OTHERLOCTYPE="OBJID" '
        f'CONTENTIDS="s0.t2.c4.r1.p{number}"/></mets:div>'
        for number in range(len(SIZES))
    )
    divs = f'<mets:div><mets:div><mets:fptr FILEID="s0.t2.c4.r1"/>{pointers}</mets:div></mets:div>'
    forge.edit(
        package / "mets.xml",
        '<mets:structMap LABEL="SIARD structmap"',
        f'<mets:structMap TYPE="SPLITLOB">{divs}</mets:structMap><mets:structMap LABEL="SIARD structmap"',
    )
    forge.seal(package)


def with_cells(package: Path, *replacements: tuple[str, str]) -> None:
    steps._archive(package / "Northwind.siard", table=replacements)
    forge.seal(package)


CELL_DIGEST = f' digestType="MD5" digest="{md5(LOBS[0].data)}"'


def swap_parts(package: Path) -> None:
    """Exchange the first two parts, which have one size, and what the child METS says of them."""
    one, two = (package / f"{FIRST}.{number}" for number in "01")
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    text = (package / CHILD).read_text()
    text = text.replace(md5(first), "@").replace(md5(second), md5(first)).replace("@", md5(second))
    (package / CHILD).write_text(text)
    forge.seal(package)


@pytest.mark.parametrize("level", LEVELS)
def test_parts_that_are_right_and_yet_not_the_whole(package: Path, level: Level) -> None:
    in_parts(package)
    swap_parts(package)
    found = [each for each in ordered(check(package, level)) if each.code == "S017"]
    assert [each.path for each in found] == ["Northwind.siard", "mets.xml"][
        -1 if level is Level.FIXITY else 0 :
    ]
    assert {each.place for each in found} == {"s0.t2.c4.r1"}
    facts = dict(found[0].facts)
    joined = b"".join((package / f"{FIRST}.{number}").read_bytes() for number in "01z")
    assert (facts["found"], facts["expected"], facts["count"]) == (md5(joined), md5(LOBS[0].data), "3")
    assert {each.code for each in check(package, level)} <= {"S010", "S017"}


def test_a_whole_without_statements_is_not_at_fault(package: Path) -> None:
    in_parts(package, size=None, digest="")
    with_cells(package, (CELL_DIGEST, ""), (f' length="{len(LOBS[0].data)}"', ""))
    swap_parts(package)
    assert {each.code for each in check(package)} == {"F005", "S010", "Z021"}


def test_a_text_in_parts_is_counted_in_characters(package: Path) -> None:
    forge.split(package, 1, SIZES)
    length = f'length="{len(LOBS[0].data)}"'
    with_cells(package, (length, 'length="300"'), (CELL_DIGEST, ""))
    assert codes(check(package)) == ["S010", "S011", "Z021", "S025"]
    assert "characters" in next(each.message for each in check(package) if each.code == "S011")
    assert codes(check(package, Level.STRUCTURE)) == ["S010", "Z021", "S025"], (
        "it could be, without its bytes"
    )


def test_a_part_that_cannot_be_read_leaves_the_whole_open(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_parts(package)
    swap_parts(package)
    original = reading._opened

    def refused(root: Path, segments: tuple[str, ...] = ()) -> int:
        if segments[-1:] == ("record0.bin.1",):
            raise OSError(5, "Input/output error", "record0.bin.1")
        return original(root, segments)

    monkeypatch.setattr(reading, "_opened", refused)
    found = [(each.code, each.path) for each in check(package, Level.FIXITY)]
    assert found == [("P007", f"{FIRST}.1")]


def test_of_a_sample_the_whole_goes_with_its_first_part(package: Path) -> None:
    in_parts(package)
    swap_parts(package)
    seen = set()
    for seed in range(12):
        sample = options.parsed("1", seed)
        names = [FIRST + ".0", FIRST + ".1", FIRST + ".z", SECOND, "Northwind.siard"]
        names += [f"Northwind_lobseg_1/{lob.path}" for lob in LOBS[2:]]
        is_first = min(names, key=lambda each: sample.key(each.encode())) == names[0]
        run = check(package, Level.FIXITY, sample=sample)
        assert ("S017" in codes(run)) is is_first
        assert run.summary.sampled == options.Sampled(files=7, hashed=3 if is_first else 1)
        seen.add(is_first)
    assert seen == {True, False}
