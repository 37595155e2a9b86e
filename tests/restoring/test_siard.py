"""An archive is restored by runs of LOBs as with each LOB by itself; of damage both ways tell the same."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.errors import SourceError
from metspack.mets.dialects.interface import Software
from metspack.model import LobRun
from metspack.planning import slices
from metspack.planning.slices import Entry
from metspack.restoring import siard
from metspack.restoring.files import Restored, RestoreOptions
from metspack.restoring.siard import Into, restore_archive
from metspack.siard.edits import NewCells
from metspack.sources import rewriting
from tests import siards
from tests.laws import law
from tests.packages.forge import md5
from tests.trees import names, tree

OPTIONS = BuildOptions(
    created="2020-01-01T00:00:00Z", software=Software(name="metspack", version="metspack 0")
)
FOLDER = "content/schema0/table0/lob2"
Runs = Callable[[Path], Iterator[LobRun | Entry]]


def as_they_are(runs: Runs) -> Runs:
    return runs


def restored(
    package: Path,
    target: Path,
    *,
    together: bool,
    into: Into = Into.INSIDE,
    damaged: Callable[[Runs], Runs] = as_they_are,
) -> Restored:
    """Restore an archive, its LOBs together or one by one; ``damaged`` gives the LOBs to be read."""

    def alone(place: Path) -> Iterator[LobRun | Entry]:
        for each in found(place):
            yield from ((lob, None) for lob in each.lobs()) if isinstance(each, LobRun) else (each,)

    with pytest.MonkeyPatch.context() as patch:
        found = damaged(slices.runs)
        patch.setattr(rewriting, "_AT_ONCE", 30)
        patch.setattr(slices, "runs", found if together else alone)
        if not together:
            patch.setattr(siard, "NewCells", lambda one, **_: NewCells(one=one))
        return restore_archive(package, target, into)


# --- the same either way ------------------------------------------------------------------------------


def plain(data: bytes) -> siards.Lob:
    return siards.Lob(data=data)


def called(data: bytes) -> siards.Lob:
    """Return a LOB with a name of its own, and of some extension."""
    extension = ("txt", "BIN", "1", "jpeg")[len(data) % 4]
    return siards.Lob(data=data, file=f"{FOLDER}/x{md5(data)}.{extension}")


def undigested(data: bytes) -> siards.Lob:
    return siards.Lob(data=data, attributes="")


def otherwise(data: bytes) -> siards.Lob:
    digest = hashlib.sha256(data).hexdigest()
    return siards.Lob(data=data, attributes=f'length="{len(data)}" digestType="SHA-256" digest="{digest}"')


def text(data: bytes) -> siards.Lob:
    """Return a LOB whose length is given in characters."""
    words = f"{data.hex()}äöü".encode()
    said = f'length="{len(words) - 3}" digestType="MD5" digest="{md5(words)}"'
    return siards.Lob(data=words, attributes=said)


SHARED = siards.Lob(data=b"one for many", file=f"{FOLDER}/shared.bin")
LOBS = st.builds(
    lambda kind, data: kind(data),
    st.sampled_from([plain, plain, plain, called, undigested, otherwise, text]),
    st.binary(max_size=20),
)
SOME = st.lists(LOBS, min_size=1, max_size=12)
ALIKE = st.lists(st.builds(plain, st.binary(min_size=5, max_size=20)), min_size=6, max_size=20)
COLUMNS = ALIKE | SOME | SOME.map(lambda some: [*some, SHARED, *some, SHARED])


@pytest.mark.slow
@law(25)
@given(
    COLUMNS,
    st.sampled_from(
        [("2.1", zipfile.ZIP_STORED), ("2.2", zipfile.ZIP_STORED), ("2.2", zipfile.ZIP_DEFLATED)]
    ),
    st.booleans(),
    st.sampled_from(Into),
)
def test_together_or_one_by_one_lobs_come_back_alike(
    tmp_path_factory: pytest.TempPathFactory,
    given: list[siards.Lob],
    form: tuple[str, int],
    stays: bool,
    into: Into,
) -> None:
    version, method = form
    root = tmp_path_factory.mktemp("alike")
    parts = siards.parts(given, version=version)
    others = {f"{FOLDER}/record1.bin_": b"an orphan"} if stays else {}
    source = siards.packed(root / "Small.siard", others | parts, method=method)
    build.build(source, root / "package", OPTIONS)
    folder = into is Into.FOLDER
    found = []
    for together in (True, False):
        target = root / f"{together}" / ("back" if folder else "Back.siard")
        target.parent.mkdir()
        result = restored(root / "package", target, together=together, into=into)
        content = tree(target) if folder else {"": target.read_bytes()}
        found.append((replace(result, target=root), content))
    assert found[0] == found[1]
    if not folder:
        assert found[0][0].sha256 == hashlib.sha256(found[0][1][""]).hexdigest()


@pytest.mark.slow
def test_an_archive_is_the_same_whoever_wrote_its_lobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewriting, "_AT_ONCE", 2_000)
    lobs = [contents(number) if number % 700 else SHARED for number in range(2_800)]
    given = [each if isinstance(each, siards.Lob) else plain(each) for each in lobs]
    siards.packed(tmp_path / "Small.siard", siards.parts(given), method=zipfile.ZIP_DEFLATED)
    build.build(tmp_path / "Small.siard", tmp_path / "package", OPTIONS)
    for jobs in (1, 2):
        result = restore_archive(
            tmp_path / "package", tmp_path / f"{jobs}.siard", options=RestoreOptions(jobs=jobs)
        )
        assert result.lobs == len({each.file for each in given if each.file}) + 2_796
    assert (tmp_path / "1.siard").read_bytes() == (tmp_path / "2.siard").read_bytes()
    for number in (2_500, 1_200):
        (file,) = (tmp_path / "package").rglob(f"record{number}.bin")
        file.write_bytes(file.read_bytes()[::-1])
    before = names(tmp_path)
    said = []
    for jobs in (1, 2):
        with pytest.raises(SourceError, match=r"record1200\.bin.* but METS says") as refusal:
            restore_archive(
                tmp_path / "package", tmp_path / "damaged.siard", options=RestoreOptions(jobs=jobs)
            )
        said.append((refusal.value.message, refusal.value.hint))
    assert said[0] == said[1]
    assert names(tmp_path) == before


# --- what is damaged ----------------------------------------------------------------------------------


def contents(number: int) -> bytes:
    return b"LOB %d" % number


MIDDLE = 4
"""The LOB that is damaged, and those before and after it are in the same run."""


def kept_time(file: Path, data: bytes) -> None:
    before = file.stat().st_mtime_ns
    file.write_bytes(data)
    os.utime(file, ns=(before, before))


def linked(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "changed": lambda file: file.write_bytes(b"lob 4"),
    "changed in secret": lambda file: kept_time(file, b"lob 4"),
    "shorter": lambda file: kept_time(file, b"LOB"),
    "longer": lambda file: kept_time(file, b"LOB 4 and more"),
    "empty": lambda file: kept_time(file, b""),
    "gone": lambda file: file.unlink(),
    "link": linked,
}


def package(root: Path, length: str | None = None) -> Path:
    """Build a package of ten LOBs; return the folder."""
    given = [siards.Lob(data=contents(number)) for number in range(10)]
    if length is not None:
        given[MIDDLE] = siards.Lob(data=contents(MIDDLE), attributes=f'length="{length}"')
    source = siards.packed(root / "Small.siard", siards.parts(given))
    build.build(source, root / "package", OPTIONS)
    source.unlink()
    return root / "package"


def refusals(root: Path, damaged: Callable[[Runs], Runs] = as_they_are) -> tuple[str, str]:
    """Return what either way says of a damaged package, of which it leaves nothing."""
    said = []
    for together in (True, False):
        with pytest.raises(SourceError) as refusal:
            restored(root, root.with_name("Back.siard"), together=together, damaged=damaged)
        said.append(" ".join((refusal.value.message, *refusal.value.details, refusal.value.hint)))
        assert names(root.parent) == {root.name}
    return said[0], said[1]


@pytest.mark.parametrize("damage", ["changed", "shorter", "gone"])
def test_a_damaged_file_is_told_the_same(damage: str, tmp_path: Path) -> None:
    root = package(tmp_path)
    (file,) = root.rglob(f"record{MIDDLE}.bin")
    DAMAGES[damage](file)
    together, alone = refusals(root)
    assert together == alone
    assert f"record{MIDDLE}.bin" in together


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_damaged_meanwhile_is_told_the_same(damage: str, tmp_path: Path) -> None:
    """The LOBs were found; one is damaged before the first is read."""
    said = []
    for together in (True, False):
        folder = tmp_path / str(together)
        folder.mkdir()
        root = package(folder)

        def damaged(runs: Runs, root: Path = root) -> Runs:
            def found(place: Path) -> Iterator[LobRun | Entry]:
                (file,) = root.rglob(f"record{MIDDLE}.bin")
                DAMAGES[damage](file)
                yield from runs(place)

            return found

        with pytest.raises(SourceError) as refusal:
            restored(root, folder / "Back.siard", together=together, damaged=damaged)
        said.append((refusal.value.message, refusal.value.hint))
        assert names(folder) == {"package"}
    assert said[0] == said[1]
    assert f"record{MIDDLE}.bin" in said[0][0]


@pytest.mark.parametrize(
    ("column", "algorithm", "words"),
    [
        ("digests", "MD5", "but its cell says 00"),
        ("proofs", "SHA-256", "but METS says 00"),
    ],
)
def test_a_wrong_digest_is_told_the_same(column: str, algorithm: str, words: str, tmp_path: Path) -> None:
    def damaged(runs: Runs) -> Runs:
        def found(place: Path) -> Iterator[LobRun | Entry]:
            for run in runs(place):
                assert isinstance(run, LobRun)
                name = algorithm.lower().replace("-", "")
                values = [hashlib.new(name, contents(row - 1)).hexdigest() for row in run.rows]
                values[MIDDLE] = "00" * (len(values[0]) // 2)
                named: dict[str, Any] = {column[:-1]: algorithm}
                stated: dict[str, Any] = {column: values}
                yield replace(run, shared=replace(run.shared, **named), **stated)

        return found

    together, alone = refusals(package(tmp_path), damaged)
    assert together == alone
    assert f"LOB s0.t0.c2.r{MIDDLE + 1} " in together
    assert words in together


@pytest.mark.parametrize("length", ["6", "0"])
def test_a_wrong_length_in_a_cell_is_told_the_same(length: str, tmp_path: Path) -> None:
    root = package(tmp_path, "5")
    archive = root / "Small.siard"
    with zipfile.ZipFile(archive) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    before = archive.read_bytes()
    parts[siards.TABLE] = parts[siards.TABLE].replace(b' length="5"/', f' length="{length}"/'.encode())
    siards.packed(archive, parts)
    mets = (root / "mets.xml").read_text()
    assert md5(before) in mets
    mets = mets.replace(md5(before), md5(archive.read_bytes()))
    (root / "mets.xml").write_text(mets.replace(f'SIZE="{len(before)}"', f'SIZE="{archive.stat().st_size}"'))
    together, alone = refusals(root)
    assert together == alone
    assert "row 5" in together
