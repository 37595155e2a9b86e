"""Files opened while an archive is read: only below the granted roots, and only in one place."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle, product
from pathlib import Path

import pytest

import metspack
from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.errors import MetspackError, SourceError
from metspack.limits import Limits
from metspack.mets.dialects.interface import Software
from metspack.sources.archive import Archive, Grants
from tests.laws import spread
from tests.planning.lobruns import lobs_of
from tests.siard.convention_archives import SAMPLES, Sample
from tests.siard.forging import Table, column, siard
from tests.tables import read_table
from tests.watching import suite_watch

PACKAGE = str(Path(metspack.__file__).parent)
SECRET = b"nobody gave leave to read this"


@pytest.fixture
def opens(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The real paths that metspack's code opens, with the modules that open them."""
    found: list[tuple[str, str]] = []
    monkeypatch.setattr(os, "open", suite_watch.noting(found))
    return found


@pytest.fixture(scope="module")
def watching() -> Iterator[list[list[str]]]:
    """The lists to which opens that were not asked for through ``os.open`` are added."""
    lists: list[list[str]] = []

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        # os.open has no mode, open() of a path has one; open() of a descriptor opens nothing.
        if not lists or event != "open" or not isinstance(arguments[0], str | bytes) or not arguments[1]:
            return
        caller = sys._getframe(1).f_code.co_filename
        if caller.startswith(PACKAGE):
            for each in lists:
                each.append(f"{caller}: {arguments[0]!r}")

    sys.addaudithook(hook)  # it stays for the life of the process, and is called at each open: one is enough
    yield lists
    lists.clear()


@pytest.fixture
def opened_otherwise(watching: list[list[str]]) -> Iterator[list[str]]:
    """Opens, by any means of Python, that were not asked for through ``os.open``."""
    found: list[str] = []
    watching.append(found)
    yield found
    watching.remove(found)


def resolved(path: Path, grants: Grants) -> None:
    with suppress(MetspackError), Archive(path, grants=grants) as archive:
        list(lobs_of(archive))


ESCAPES = read_table(__file__, "escapes")


FOLDERS = ((None, None), (None, "./"), ("./", "lobs/"), ("../", "../"), (None, "../.."))


@pytest.mark.parametrize(
    ("file", "folders"),
    [*zip(ESCAPES, cycle(FOLDERS), strict=False), *product(["../secret", "link"], FOLDERS)],
)
def test_nothing_outside_the_granted_roots_is_opened(
    tmp_path: Path,
    file: str,
    folders: tuple[str | None, str | None],
    opens: list[tuple[str, str]],
    opened_otherwise: list[str],
) -> None:
    outside, root, granted = tmp_path / "outside", tmp_path / "outside" / "root", tmp_path / "granted"
    for folder in (root / "lobs", granted):
        folder.mkdir(parents=True)
    (outside / "secret").write_bytes(SECRET)
    (tmp_path / "secret").write_bytes(SECRET)
    for link in (root / "link", granted / "link"):
        link.symlink_to(outside / "secret")
    (root / "linked").symlink_to(outside, target_is_directory=True)
    cell = file.replace("{outside}", str(outside).strip("/"))
    table = Table(columns=(column("D", lob_folder=folders[1]),), rows=(f"<c1 file='{cell}'/>",))
    source = siard(root / "A.siard", tables=[table], lob_folder=folders[0])
    opens.clear()
    resolved(source, Grants(lob_roots=(granted,), drives={"D:": granted}))
    options = BuildOptions(
        created="2020-01-01T00:00:00Z", software=Software(name="m", version="m"), limits=Limits()
    )
    with suppress(MetspackError):
        build.build(source, tmp_path / "out", options)
    assert opens
    for path, module in opens:
        where = (
            (tmp_path / "out.partial", tmp_path / "out") if module == "files/writing.py" else (root, granted)
        )
        # The way to what is written begins at the folder that the target is in.
        is_staged = Path(path) == tmp_path or Path(path).is_relative_to(tmp_path / "out.partial")
        staged = module == "files/reading.py" and is_staged
        assert module in {"files/reading.py", "files/writing.py"}, path
        assert staged or any(Path(path).is_relative_to(each) for each in where), (path, module)
    assert not opened_otherwise


@pytest.mark.parametrize("sample", spread(SAMPLES.values(), 3))
def test_every_convention_stays_below_the_granted_roots(
    tmp_path: Path, sample: Sample, opens: list[tuple[str, str]], opened_otherwise: list[str]
) -> None:
    folder = tmp_path / "root"
    folder.mkdir()
    source = sample.build(folder)
    opens.clear()
    resolved(source, Grants())
    assert opens
    assert all(Path(path).is_relative_to(folder) and module == "files/reading.py" for path, module in opens)
    assert not opened_otherwise


PARTS = ("x.siard_part001", "x.siard_part002", "x.siard_part003")


def cut(folder: Path) -> None:
    """Put a .siard in three parts into a folder."""
    table = Table(rows=("<c1 file='content/schema0/table0/lob1/record0.bin'/>",))
    whole = siard(
        folder / "x.siard", tables=[table], lobs={"content/schema0/table0/lob1/record0.bin": SECRET}
    )
    data = whole.read_bytes()
    whole.unlink()
    third = len(data) // 3
    for number, name in enumerate(PARTS):
        end = len(data) if number == 2 else third * (number + 1)
        (folder / name).write_bytes(data[third * number : end])


@pytest.mark.parametrize(
    ("link", "named"),
    [(PARTS[0], PARTS[0]), (PARTS[0], "x.siard"), (PARTS[1], PARTS[0]), (PARTS[2], PARTS[1])],
)
def test_of_the_parts_of_an_archive_only_the_one_named_may_be_a_link(
    tmp_path: Path, link: str, named: str, opens: list[tuple[str, str]]
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    cut(root)
    (root / link).rename(outside / link)
    (root / link).symlink_to(outside / link)
    if named == link:
        with Archive(root / named) as archive:
            assert [each.size for each in lobs_of(archive)] == [len(SECRET)]
        return
    with pytest.raises(SourceError, match=f"{link} is a symbolic link") as caught:
        Archive(root / named)
    assert caught.value.hint
    assert not [path for path, _module in opens if Path(path).is_relative_to(outside)]


def test_parts_are_opened_through_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut(tmp_path)
    (tmp_path / PARTS[1]).rename(tmp_path / "elsewhere")
    (tmp_path / PARTS[1]).symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(Path, "is_symlink", lambda _path: False)  # as if it became one after the look
    with pytest.raises(SourceError, match="cannot be opened"):
        Archive(tmp_path / PARTS[0])


def test_a_mapping_beside_the_archive_that_is_a_link_is_not_opened(
    tmp_path: Path, opens: list[tuple[str, str]], opened_otherwise: list[str]
) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "root" / "mapping.txt").symlink_to(tmp_path / "secret")
    source = siard(tmp_path / "root" / "A.siard", tables=[Table(rows=("<c1 file='r.bin'/>",))])
    opens.clear()
    with Archive(source) as archive, pytest.raises(SourceError) as caught:
        list(lobs_of(archive))
    assert SECRET.decode() not in f"{caught.value.message} {caught.value.hint}"
    assert "mapping.txt beside the archive was not read: it is a symbolic link" in caught.value.hint
    assert all(Path(path).is_relative_to(tmp_path / "root") for path, _module in opens)
    assert not opened_otherwise
