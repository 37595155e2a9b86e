"""The walk over a package: what it takes, and that it may end long after the METS documents are read."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.checking import Level, check, inventory
from metspack.checking.catalogue import are_usual, folded_name
from metspack.errors import TargetError
from metspack.files.walking import Lot
from metspack.model import Finding
from tests.findings import ordered
from tests.laws import law
from tests.packages import csip, forge
from tests.packages.spread import zipped


class Late:
    """A process that is ahead of nothing: it begins when it is waited for."""

    begun = 0
    ended = 0

    def __init__(self, work: Callable[..., Iterable[Lot]], *given: object) -> None:
        self._lots = work(*given)
        type(self).begun += 1

    def come(self) -> Iterator[Lot]:
        yield from ()

    def rest(self) -> Iterator[Lot]:
        yield from self._lots

    def close(self) -> None:
        type(self).ended += 1


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> type[Late]:
    """Have whatever lies below the package's own folder be found when it is asked for, and no sooner."""
    Late.begun = Late.ended = 0
    monkeypatch.setattr(inventory, "_LONG", -1)
    monkeypatch.setattr("metspack.processes.Ahead", Late)
    return Late


def found(package: Path, jobs: int, roots: Iterable[Path] = ()) -> list[Finding]:
    return ordered(check(package, Level.STRUCTURE, roots=list(roots), jobs=jobs))


def test_a_process_that_was_ended_is_no_fault_of_a_document(
    tmp_path: Path, late: type[Late], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(_: Late) -> Iterator[Lot]:
        raise TargetError("a worker process was killed")

    monkeypatch.setattr(late, "rest", ended)
    with pytest.raises(TargetError, match="worker process was killed"):
        found(forge.forge(tmp_path / "package"), 2)
    assert late.ended == 1


def test_a_process_beside_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = forge.forge(tmp_path / "package")
    (package / "odd").mkdir()
    (package / "odd" / "CON.bin").touch()
    (package / "odd" / "x").symlink_to("y")
    (package / "odd" / "mets.xml").write_bytes(b"<mets")
    (package / "nothing").mkdir()
    alone = ordered(check(package, Level.STRUCTURE))
    assert {each.path for each in alone} >= {"odd/mets.xml"}
    monkeypatch.setattr(inventory, "_LONG", -1)
    assert ordered(check(package, Level.STRUCTURE, jobs=2)) == alone


NAME = st.text(st.sampled_from("abxCO.N 1_-é/:"), min_size=1, max_size=5).filter(lambda each: "/" not in each)


@law(100)
@given(names=st.lists(st.one_of(NAME, st.sampled_from(["con", "lpt1.a", "b.", "nul", "aux.x"])), min_size=1))
def test_usual_names_are_those_that_nothing_is_to_be_said_of(names: list[str]) -> None:
    raw = [os.fsencode(each) for each in names]
    if are_usual(b"/".join(raw)):
        for name in raw:
            assert folded_name(name) == name
            assert not inventory._NOT_FOR_WINDOWS.fullmatch(name)


@pytest.mark.parametrize("name", ["record0.bin", "0", "a.b", "s0-t1_c2", ".x", "connect.bin"])
def test_names_as_archives_have_them_are_usual(name: str) -> None:
    assert are_usual(f"a/{name}/b".encode())


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_folder_that_has_lost_all_its_files_is_told_with_these(is_packed: bool, tmp_path: Path) -> None:
    root = csip.forge(tmp_path / "package")
    (root / "documentation" / "readme.txt").unlink()
    (root / "documentation" / "more").mkdir()
    if is_packed:
        root = zipped(root, tmp_path / "x.zip", inside="package")
    told = [(each.code, each.path) for each in check(root)]
    assert told == [("P010", "documentation/more"), ("F001", "documentation/readme.txt")]
