"""An archive is restored by runs of LOBs: the same for any jobs; damage leaves no file."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.errors import SourceError
from metspack.model import LobRun
from metspack.planning import slices
from metspack.restoring.files import RestoreOptions
from metspack.restoring.siard import Into, restore_archive
from metspack.sources import rewriting
from tests import siards
from tests.laws import law
from tests.packages.forge import md5
from tests.planning.lobruns import apart, one_by_one
from tests.trees import names, tree

OPTIONS = BuildOptions(created="2020-01-01T00:00:00Z")
FOLDER = "content/schema0/table0/lob2"


# --- the same either way ------------------------------------------------------------------------------


def restored(package: Path, target: Path, into: Into, *, together: bool) -> dict[str, bytes]:
    """Restore an archive, its LOBs together or one by one; return the files."""

    def singly(place: Path) -> Iterator[LobRun]:
        return apart(one_by_one(found(place)))

    with pytest.MonkeyPatch.context() as patch:
        found = slices.runs
        patch.setattr(rewriting, "_AT_ONCE", 30)
        if not together:
            patch.setattr(slices, "runs", singly)
        restore_archive(package, target, into)
    return tree(target) if into is Into.FOLDER else {"": target.read_bytes()}


def plain(data: bytes) -> siards.Lob:
    return siards.Lob(data=data)


def called(data: bytes) -> siards.Lob:
    """Return a LOB with a name of its own, and of some extension."""
    extension = ("txt", "BIN", "1", "jpeg")[len(data) % 4]
    return siards.Lob(data=data, file=f"{FOLDER}/x{md5(data)}.{extension}")


def undigested(data: bytes) -> siards.Lob:
    return siards.Lob(data=data, attributes="")


def text(data: bytes) -> siards.Lob:
    """Return a LOB whose length is given in characters."""
    words = f"{data.hex()}äöü".encode()
    stated = f'length="{len(words) - 3}" digestType="MD5" digest="{md5(words)}"'
    return siards.Lob(data=words, attributes=stated)


SHARED = siards.Lob(data=b"one for many", file=f"{FOLDER}/shared.bin")
LOBS = st.builds(
    lambda kind, data: kind(data),
    st.sampled_from([plain, plain, plain, called, undigested, text]),
    st.binary(max_size=20),
)
SOME = st.lists(LOBS, min_size=1, max_size=12)
FORMS = [("2.1", zipfile.ZIP_STORED), ("2.2", zipfile.ZIP_STORED), ("2.2", zipfile.ZIP_DEFLATED)]


@pytest.mark.slow
@law(20)
@given(
    SOME | SOME.map(lambda some: [*some, SHARED, *some, SHARED]),
    st.sampled_from(FORMS),
    st.sampled_from(Into),
)
def test_together_and_singly_lobs_are_restored_equally(
    tmp_path_factory: pytest.TempPathFactory, given: list[siards.Lob], form: tuple[str, int], into: Into
) -> None:
    version, method = form
    root = tmp_path_factory.mktemp("alike")
    source = siards.packed(root / "Small.siard", siards.parts(given, version=version), method=method)
    build.build(source, root / "package", OPTIONS)
    target = "back" if into is Into.FOLDER else "Back.siard"
    together = restored(root / "package", root / f"one-{target}", into, together=True)
    singly = restored(root / "package", root / f"other-{target}", into, together=False)
    assert together == singly


@pytest.mark.slow
def test_an_archive_is_the_same_for_any_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewriting, "_AT_ONCE", 2_000)
    given = [plain(contents(number)) if number % 700 else SHARED for number in range(2_800)]
    siards.packed(tmp_path / "Small.siard", siards.parts(given), method=zipfile.ZIP_DEFLATED)
    build.build(tmp_path / "Small.siard", tmp_path / "package", OPTIONS)
    for jobs in (1, 2):
        result = restore_archive(
            tmp_path / "package", tmp_path / f"{jobs}.siard", options=RestoreOptions(jobs=jobs)
        )
        assert result.lobs == 1 + 2_796
    assert (tmp_path / "1.siard").read_bytes() == (tmp_path / "2.siard").read_bytes()
    for number in (2_500, 1_200):
        (file,) = (tmp_path / "package").rglob(f"record{number}.bin")
        file.write_bytes(file.read_bytes()[::-1])
    before = names(tmp_path)
    stated = []
    for jobs in (1, 2):
        with pytest.raises(SourceError, match=r"record1200\.bin.* but METS says") as refusal:
            restore_archive(
                tmp_path / "package", tmp_path / "damaged.siard", options=RestoreOptions(jobs=jobs)
            )
        stated.append((refusal.value.message, refusal.value.hint))
    assert stated[0] == stated[1]
    assert names(tmp_path) == before


# --- what is damaged ----------------------------------------------------------------------------------


def contents(number: int) -> bytes:
    return b"LOB %d" % number


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


@pytest.mark.slow
@pytest.mark.parametrize("meanwhile", [False, True])
@pytest.mark.parametrize("damage", DAMAGES)
def test_of_a_file_that_is_damaged_in_a_run_nothing_is_restored(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, meanwhile: bool
) -> None:
    """Before those that are in the run with it are found, or before the first of them is read."""
    source = siards.siard(tmp_path / "Small.siard", *map(contents, range(10)))
    build.build(source, tmp_path / "package", OPTIONS)
    source.unlink()
    (file,) = (tmp_path / "package").rglob("record4.bin")
    runs = slices.runs

    def found(place: Path) -> Iterator[LobRun]:
        DAMAGES[damage](file)
        yield from runs(place)

    if meanwhile:
        monkeypatch.setattr(slices, "runs", found)
    else:
        DAMAGES[damage](file)
    with pytest.raises(SourceError, match=r"record4\.bin") as refusal:
        restore_archive(tmp_path / "package", tmp_path / "Back.siard")
    assert refusal.value.hint
    assert names(tmp_path) == {"package"}
