"""A LOB read once: given out in portions, hashed as it goes by, proven at its end."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import SourceError
from metspack.files.reading import Stamp, opening
from metspack.model import Digest, FileExtent, LobCell, LobPlace, LobRef, Proofs
from metspack.sources.lobstream import PART_DIGEST, ByteSources, LobReader, OpenSources
from tests.siards import md5

PLACE = LobPlace(schema=0, table=0, cell="c1", row=1)


def lob(folder: Path, *parts: bytes, length: int | None = None, digest: str | None = None) -> LobRef:
    """Return a LOB whose parts lie in files of a folder."""
    extents = []
    for number, part in enumerate(parts):
        (folder / f"p{number}").write_bytes(part)
        with opening(folder / f"p{number}") as descriptor:
            stamp = Stamp.of(descriptor)
        extents.append(
            FileExtent(
                root=0,
                path=(f"p{number}",),
                size=stamp.size,
                modified=stamp.modified,
                inode=stamp.inode,
                device=stamp.device,
            )
        )
    stated = None if digest is None else Digest(algorithm="MD5", value=digest)
    return LobRef(
        cell=LobCell(place=PLACE, file="p", length=length, digest=stated),
        size=sum(map(len, parts)),
        extension="bin",
        media_type="a/b",
        extents=tuple(extents),
    )


def passed(folder: Path, given: LobRef, accepted: frozenset[str] = frozenset()) -> LobReader:
    with OpenSources(ByteSources(archives=(), roots=(folder,))) as shelf:
        reader = LobReader(given, shelf, ("MD5",), accepted)
        for _ in reader.portion():
            pass
        reader.end()
    return reader


@given(
    parts=st.lists(st.binary(max_size=30), min_size=1, max_size=4),
    sizes=st.lists(st.integers(0, 20), max_size=6),
)
def test_portions(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], sizes: list[int]) -> None:
    folder = tmp_path_factory.mktemp("lob")
    whole = b"".join(parts)
    with OpenSources(ByteSources(archives=(), roots=(folder,))) as shelf:
        reader = LobReader(lob(folder, *parts, digest=md5(whole)), shelf, ("SHA-1",))
        at = 0
        for size in sizes:
            assert b"".join(reader.portion(size)) == whole[at : at + size]
            at = min(at + size, len(whole))
            assert reader.hashers.digest("MD5").value == md5(whole[:at])
        assert b"".join(reader.portion()) == whole[at:]
        reader.end()
    assert reader.hashers.size == len(whole)


def test_a_digest_of_only_the_last_part_is_recognised(tmp_path: Path) -> None:
    given = lob(tmp_path, b"one", b"two", b"three", digest=md5(b"three"))
    with pytest.raises(SourceError) as refused:
        passed(tmp_path, given)
    assert refused.value.message == (
        f"LOB s0.t0.c1.r1 ('p0', 'p1', 'p2') was split into 3 parts, and the MD5 {md5(b'three')} of its cell "
        f"is that of the last part alone; the whole has {md5(b'onetwothree')}"
    )
    assert f"--accept {PART_DIGEST}" in refused.value.hint
    reader = passed(tmp_path, given, frozenset({PART_DIGEST}))
    assert reader.is_part_digest
    assert reader.hashers.digest("MD5").value == md5(b"onetwothree")


def test_another_digest_is_not_accepted_for_that(tmp_path: Path) -> None:
    given = lob(tmp_path, b"one", b"two", b"three", b"four", digest=md5(b"two"))
    with pytest.raises(SourceError, match=r"\('p0', 'p1', 'p2', 4 parts in all\) has the MD5 [0-9a-f]+, but"):
        passed(tmp_path, given, frozenset({PART_DIGEST}))
    whole = lob(tmp_path, b"one", digest=md5(b"two"))
    with pytest.raises(SourceError, match="has the MD5"):
        passed(tmp_path, whole, frozenset({PART_DIGEST}))


@pytest.mark.parametrize(
    ("length", "unit"), [(None, None), (7, "bytes"), (4, "characters"), (5, "UTF-16 units")]
)
def test_the_unit_of_the_length_is_reported(tmp_path: Path, length: int | None, unit: str | None) -> None:
    assert passed(tmp_path, lob(tmp_path, "aa\N{DUCK}b".encode(), length=length)).unit == unit


def test_a_length_in_no_unit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"has 5 bytes, 4 characters, 4 UTF-16 units, but its cell says"):
        passed(tmp_path, lob(tmp_path, "häh?".encode(), length=3))


def test_a_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    given = lob(tmp_path, b"one", b"two")
    (tmp_path / "p1").write_bytes(b"tw")
    with pytest.raises(SourceError, match="'p1' was changed since it was found"):
        passed(tmp_path, given)


def test_what_was_not_taken_whole_is_not_proven(tmp_path: Path) -> None:
    with OpenSources(ByteSources(archives=(), roots=(tmp_path,))) as shelf:
        reader = LobReader(lob(tmp_path, b"one"), shelf, ())
        with pytest.raises(AssertionError, match="not taken whole"):
            reader.end()


def of(data: bytes) -> Digest:
    return Digest(algorithm="MD5", value=md5(data))


def test_what_mets_says_is_proven_too(tmp_path: Path) -> None:
    given = lob(tmp_path, b"one", b"two")
    sha = Digest(algorithm="SHA-256", value=hashlib.sha256(b"onetwo").hexdigest())
    for proofs in (
        Proofs(),
        Proofs(whole=of(b"onetwo")),
        Proofs(extents=(of(b"one"), of(b"two"))),
        Proofs(whole=sha, extents=(None, of(b"two"))),
    ):
        passed(tmp_path, replace(given, proofs=proofs))


@pytest.mark.parametrize(
    ("proofs", "words"),
    [
        (Proofs(whole=of(b"other")), r"\('p0', 'p1'\) has the MD5 [0-9a-f]{32}, but METS says "),
        (Proofs(extents=(of(b"other"), None)), r"\('p0'\) has the MD5 "),
        (Proofs(extents=(None, of(b"other"))), r"\('p1'\) has the MD5 "),
    ],
)
def test_what_is_not_as_mets_says_is_refused(tmp_path: Path, proofs: Proofs, words: str) -> None:
    given = replace(lob(tmp_path, b"one", b"two"), proofs=proofs)
    with pytest.raises(SourceError, match=words) as refused:
        passed(tmp_path, given)
    assert md5(b"other") in refused.value.message
