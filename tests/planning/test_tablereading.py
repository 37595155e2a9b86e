"""Tables that workers read ahead: the plan and all that is said are those of one process."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack import BuildOptions, Limits, processes
from metspack.building import build
from metspack.containers.zipreader import ZipContainer
from metspack.errors import MetspackError, SourceError, TargetError
from metspack.files import tempdb
from metspack.model import Budgets
from metspack.planning import assignment, slices, tablereading
from metspack.planning.division import Division
from metspack.planning.sharedlobs import Sharing
from metspack.planning.tablereading import TableTask, shared_out
from metspack.processes import Underway, Workers
from metspack.sources.archive import Archive, LobsUnresolved, Tallies
from tests.killing import calls_of, killed
from tests.laws import law, spread
from tests.siard.forging import Table, column, siard
from tests.trees import names, tree

_ANY = 1, 0, 0, 2
_ROWS = 3


@dataclass
class Made:
    """A table, the entries that its cells name, and the files beside the archive."""

    table: Table
    entries: dict[str, bytes] = field(default_factory=dict)
    beside: dict[str, bytes] = field(default_factory=dict)


def _cell(file: str, data: bytes | None = None, value: str = "") -> str:
    said = ""
    if data is not None:
        digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
        said = f' length="{len(data)}" digestType="MD5" digest="{digest}"'
    return f'<c1 file="{file}"{said}>{value}</c1>'


def _lobs(folder: str, endings: Sequence[str] = ("bin",) * _ROWS) -> dict[str, bytes]:
    names_ = (f"content/schema0/{folder}/lob1/r{row}.{ending}" for row, ending in enumerate(endings))
    return {name: name.encode() for name in names_}


def _plain(folder: str, endings: Sequence[str] = ("bin",) * _ROWS, value: str = "") -> Made:
    entries = _lobs(folder, endings)
    rows = tuple(_cell(name, data, value) for name, data in entries.items())
    return Made(Table(folder=folder, name=folder, rows=rows), entries)


def _undescribed(folder: str) -> Made:
    entries = _lobs(folder)
    return Made(Table(folder=folder, name=folder, rows=tuple(map(_cell, entries))), entries)


def _without_rows(folder: str) -> Made:
    return Made(Table(folder=folder, name=folder))


def _inline(folder: str) -> Made:
    return Made(Table(folder=folder, name=folder, rows=("<c1>00</c1>", "", "<c1>FF</c1>")))


def _miscounted(folder: str) -> Made:
    made = _plain(folder)
    table = Table(folder=folder, name=folder, rows=made.table.rows[:1], document=made.table.data)
    return Made(table, made.entries)


def _shared(folder: str) -> Made:
    name, data = "content/shared.bin", b"shared"
    rows = (_cell(name, data), _cell(name, data), _cell(name))
    return Made(Table(folder=folder, name=folder, rows=rows), {name: data})


def _at_the_root(folder: str) -> Made:
    """By another convention, from the root of the archive."""
    entries = {f"lobs/{folder}/{row}.bin": b"at the root" for row in range(_ROWS)}
    return Made(Table(folder=folder, name=folder, rows=tuple(map(_cell, entries))), entries)


def _relative(folder: str) -> Made:
    entries = _lobs(folder)
    columns = (column(folder="lob1"),)
    rows = tuple(_cell(name.rpartition("/")[2]) for name in entries)
    return Made(Table(folder=folder, name=folder, columns=columns, rows=rows), entries)


def _at_last_relative(folder: str) -> Made:
    made = _plain(folder)
    rows = (*made.table.rows[:-1], _cell("r2.bin"))
    return Made(Table(folder=folder, name=folder, columns=(column(folder="lob1"),), rows=rows), made.entries)


def _outside(folder: str) -> Made:
    files = {f"outside/{folder}/{row}.bin": b"outside" for row in range(_ROWS)}
    columns = (column(lob_folder=f"../outside/{folder}/"),)
    rows = tuple(_cell(name.rpartition("/")[2], data) for name, data in files.items())
    return Made(Table(folder=folder, name=folder, columns=columns, rows=rows), beside=files)


def _missing(folder: str) -> Made:
    made = _plain(folder)
    rows = (*made.table.rows, _cell("content/nowhere.bin"), _cell("S:/nowhere/1.bin"))
    return Made(Table(folder=folder, name=folder, rows=rows), made.entries)


def _structure(folder: str) -> Made:
    return Made(Table(folder=folder, name=folder, rows=(_cell("header/metadata.xml"),)))


def _malformed(folder: str) -> Made:
    made = _plain(folder)
    document = made.table.data.replace(b"</table>", b"<row>")
    return Made(Table(folder=folder, name=folder, rows=made.table.rows, document=document), made.entries)


def _misplaced(folder: str) -> Made:
    """A cell that metadata.xml has no column for."""
    made = _plain(folder)
    rows = (made.table.rows[0], '<c2 file="content/shared.bin"/>')
    return Made(Table(folder=folder, name=folder, rows=rows), made.entries)


def _array(folder: str) -> Made:
    entries = _lobs(folder)
    one, *others = (_cell(name, data).replace("c1", "a1") for name, data in entries.items())
    cell = f"<c1>{one}{others[0].replace('a1', 'a2')}</c1>"
    rows = (cell, f"<c1>{others[1]}</c1>")
    return Made(Table(folder=folder, name=folder, rows=rows), entries)


KINDS: Mapping[str, Callable[[str], Made]] = {
    "plain": _plain,
    "undescribed": _undescribed,
    "of several kinds": partial(_plain, endings=("bin", "txt", "txt")),
    "with values as well": partial(_plain, value="00"),
    "without rows": _without_rows,
    "inline": _inline,
    "miscounted": _miscounted,
    "shared": _shared,
    "at the root": _at_the_root,
    "array": _array,
    "relative": _relative,
    "at last relative": _at_last_relative,
    "outside": _outside,
    "missing": _missing,
    "structure": _structure,
    "malformed": _malformed,
    "misplaced": _misplaced,
}
PLAIN = list(KINDS)[:10]


def archive_of(folder: Path, kinds: Sequence[str]) -> Path:
    """Write an archive of tables of some kinds, and the files beside it."""
    made = [KINDS[kind](f"table{number}") for number, kind in enumerate(kinds)]
    for each in made:
        for name, data in each.beside.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
    entries = {"content/shared.bin": b"shared"}
    for each in made:
        entries |= each.entries
    return siard(folder / "a.siard", version="2.1", tables=[each.table for each in made], lobs=entries)


class Counting:
    """An observer that counts."""

    def __init__(self) -> None:
        self.total: int | None = None
        self.done = 0

    def stage(self, _name: str, total: int | None) -> None:
        self.total, self.done = total, 0

    def advance(self, amount: int) -> None:
        assert amount >= 0
        self.done += amount


def planned(path: Path, jobs: int, budgets: Budgets | None = None) -> dict[str, Any]:
    """Return the plan of an archive, and all that is known of it afterwards."""
    progress, left, agreed = Counting(), list[str](), list[Any]()
    said: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, Archive(path, budgets) as archive, Sharing() as sharing:
        work = Path(folder)
        try:
            with tablereading.reading_beside(archive, work, jobs, progress.advance) as beside:
                lobs = assignment.moving_lobs(archive, frozenset(), progress, None, beside)
                division = Division(limits=Limits(files=4))
                course = assignment.assign(
                    lobs,
                    division,
                    work,
                    sharing=sharing,
                    departs=lambda each: left.extend(each.entries),
                    agreed=agreed.append,
                )
            said["course"] = course.document()
            assert progress.done == progress.total
        except MetspackError as error:
            details = list(error.details) if isinstance(error, LobsUnresolved) else []
            said["error"] = type(error), error.message, error.hint, details
        else:
            said["slices"] = {each.name: each.read_bytes() for each in work.iterdir()}
        assert all(each.startswith("slice-") for each in names(work))
        found = archive.findings() if "error" not in said else {}
        return {
            **said,
            "left": left,
            "agreed": agreed,
            "sharing": list(sharing.words()),
            "conventions": list(archive.conventions()),
            "tally": {key: list(each.conventions.items()) for key, each in archive.resolver.tally().items()},
            "findings": found,
            "miscounted": archive.miscounted,
        }


def begun_here(
    workers: Workers, work: Any, tasks: Any, moved: Any, *, is_growing: bool = False
) -> Underway[Any, Any]:
    """Begin work of several processes, and do it in this one."""
    assert is_growing
    assert workers.jobs > 0
    return Underway(workers, None, work, iter(tasks), moved)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small a table is, it is worth a worker; and for all but the first one there is time."""
    monkeypatch.setattr(tablereading, "_WORTH", _ANY)


@law(60)
@given(st.lists(st.sampled_from([*PLAIN, *KINDS]), min_size=1, max_size=6), st.integers(2, 9))
def test_the_plan_is_that_of_one_process(kinds: list[str], jobs: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as monkeypatch:
        path = archive_of(Path(folder), kinds)
        expected = planned(path, 1)
        monkeypatch.setattr(tablereading, "_WORTH", _ANY)
        monkeypatch.setattr(Workers, "begin", begun_here)
        assert planned(path, jobs) == expected


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "kinds",
    [
        ["plain", "shared", "of several kinds", "with values as well", "shared", "array", "miscounted"],
        ["plain", "outside", "plain", "at last relative", "at the root"],
        ["plain", "plain", "malformed", "plain"],
        ["plain", "missing", "plain", "missing", "structure"],
    ],
)
def test_workers_change_nothing(kinds: list[str], tmp_path: Path) -> None:
    path = archive_of(tmp_path, kinds)
    one, two, several = (planned(path, jobs) for jobs in (1, 2, 5))
    assert one == two == several


@pytest.mark.usefixtures("small")
def test_a_package_is_the_same_by_any_number_of_processes(tmp_path: Path) -> None:
    path = archive_of(tmp_path, ["plain", "shared", "of several kinds", "shared", "miscounted", "outside"])
    built = [build.build(path, tmp_path / f"{jobs}", _options(jobs)) for jobs in (1, 2, 3)]
    assert tree(tmp_path / "1") == tree(tmp_path / "2") == tree(tmp_path / "3")
    assert built[0].warnings == built[1].warnings == built[2].warnings


def _options(jobs: int) -> BuildOptions:
    return BuildOptions(created="2026-05-01T12:00:00Z", limits=Limits(files=4), jobs=jobs)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_reads_what_is_plain_and_leaves_the_rest(kind: str, tmp_path: Path) -> None:
    path = archive_of(tmp_path, ["plain", kind])
    with Archive(path) as archive:
        task = _task(archive, tmp_path)
        counts = tablereading.read_table(task, lambda _: None)
        if kind not in PLAIN:
            assert counts is None
            assert not task.runs.exists()
            return
        assert counts is not None
        tallies = Tallies()
        with Archive(path) as again:
            runs = [each for each in again.lob_runs(tallies) if each.place.table == 1]
        assert counts.lobs == sum(map(len, runs))  # type: ignore[arg-type]
        assert counts.tally == tallies.by_table[task.table]
        # All but the names of entries, which are those that cells have.
        assert [each.files for each in slices.runs(task.runs)] == [each.files for each in runs]  # type: ignore[union-attr]


def _task(archive: Archive, work: Path) -> TableTask:
    """Return the task to read the second table of an archive."""
    assert archive.container is not None
    (work / "tables").mkdir()
    archive.container.save_entries(work / "tables" / "entries.db")
    return TableTask(
        archive=archive.path,
        held=archive.container.medium.held,
        budgets=archive.budgets,
        entries=work / "tables" / "entries.db",
        table="content/schema0/table1/table1.xml",
        size=1,
        work=work,
        runs=work / "tables" / "1.jsonl",
    )


def test_an_archive_that_was_changed_is_left_to_who_plans(tmp_path: Path) -> None:
    path = archive_of(tmp_path, ["plain", "plain"])
    with Archive(path) as archive:
        task = _task(archive, tmp_path)
        os.utime(path, ns=(1, 1))
        assert tablereading.read_table(task, lambda _: None) is None
    assert names(tmp_path / "tables") == {"entries.db"}


def test_what_a_disk_refuses_is_left_to_who_plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive_of(tmp_path, ["plain", "plain"])
    with Archive(path) as archive:
        task = _task(archive, tmp_path)
        task.entries.write_bytes(b"SQLite format 3\0 not at all")
        assert tablereading.read_table(task, lambda _: None) is None
        task.entries.unlink()
        assert tablereading.read_table(task, lambda _: None) is None
        archive.container.save_entries(task.entries)  # type: ignore[union-attr]

        def full(*_: object) -> NoReturn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            assert tablereading.read_table(task, lambda _: None) is None
        assert names(tmp_path / "tables") == {"entries.db"}
        assert tablereading.read_table(task, lambda _: None) is not None


@pytest.mark.usefixtures("small")
def test_without_room_for_the_entries_no_worker_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive_of(tmp_path, ["plain"] * 3)
    expected = planned(path, 1)

    def full(container: ZipContainer, path: Path) -> NoReturn:
        path.write_bytes(b"begun")
        with tempdb.explained(f"the index of {container.path}"):
            raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(ZipContainer, "save_entries", full)
    monkeypatch.setattr(Workers, "begin", lambda *_, **__: pytest.fail("a worker was started"))
    assert planned(path, 2) == expected


@pytest.mark.parametrize(
    ("worth", "tables"),
    [((8 << 20, 0, 0, 2), 3), ((1, 100, 0, 2), 3), ((1, 0, 10_000, 2), 3), ((1, 0, 0, 5), 3), (_ANY, 1)],
)
def test_no_worker_is_started_for_what_is_small(
    worth: tuple[int, int, int, int], tables: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tablereading, "_WORTH", worth)
    monkeypatch.setattr(Workers, "begin", lambda *_, **__: pytest.fail("a worker was started"))
    planned(archive_of(tmp_path, ["plain"] * tables), 4)


@pytest.mark.usefixtures("small")
def test_an_archive_that_is_wrapped_or_unpacked_or_cut_is_read_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workers, "begin", lambda *_, **__: pytest.fail("a worker was started"))
    path = archive_of(tmp_path, ["plain"] * 3)
    planned(path, 1)
    parts = tmp_path / "b.siard_part001", tmp_path / "b.siard_part002"
    data = path.read_bytes()
    parts[0].write_bytes(data[:500])
    parts[1].write_bytes(data[500:])
    planned(parts[0], 4)
    with tablereading.reading_beside(object(), tmp_path, 4, print) as beside:  # type: ignore[arg-type]
        assert beside(object()) is None  # type: ignore[arg-type]


@pytest.mark.usefixtures("small")
def test_workers_do_not_run_ahead_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Besides the table whose LOBs are taken, two for each worker lie there."""
    path = archive_of(tmp_path, ["plain"] * 20)
    most, read = 0, list[str]()
    real = tablereading.read_table

    def counted(task: TableTask, moved: Any) -> Any:
        nonlocal most
        found = real(task, moved)
        read.append(task.table)
        most = max(most, len(names(task.runs.parent)) - 1)
        return found

    def ahead(workers: Workers, _work: Any, tasks: Any, moved: Any, *, is_growing: bool) -> Any:
        assert is_growing
        underway = Underway(workers, None, counted, iter(()), moved)
        results: list[Any] = []

        def look() -> None:
            results.extend(counted(task, moved) for task in tasks)

        def come() -> Iterator[Any]:
            while results:
                yield results.pop(0)

        monkeypatch.setattr(underway, "look", look, raising=False)
        monkeypatch.setattr(underway, "results", come, raising=False)
        return underway

    expected = planned(path, 1)
    monkeypatch.setattr(Workers, "begin", ahead)
    assert planned(path, 2) == expected
    assert len(read) > 10
    assert most == 2


@pytest.mark.usefixtures("small")
def test_a_worker_that_is_killed_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive_of(tmp_path, ["plain"] * 4)
    monkeypatch.setattr(tablereading, "read_table", _killed)
    with pytest.raises(TargetError, match="a worker process was killed"):
        build.build(path, tmp_path / "out", _options(2))
    assert names(tmp_path) == {"a.siard"}


def _killed(_task: TableTask, _moved: Any) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


@pytest.mark.usefixtures("small")
def test_other_work_goes_on_while_a_worker_is_waited_for(tmp_path: Path) -> None:
    looked: list[None] = []
    with (
        Archive(archive_of(tmp_path, ["plain", "plain"])) as archive,
        tablereading.reading_beside(
            archive, tmp_path, 2, lambda _: None, lambda: looked.append(None)
        ) as beside,
    ):
        assert beside(archive.tables[0]) is None
        begun = len(looked)
        found = beside(archive.tables[1])
        assert found is not None
        assert len(looked) > begun
        assert sum(map(len, found.runs)) == _ROWS
        assert names(tmp_path / "tables") == {"entries.db"}
    assert names(tmp_path) == {"a.siard"}


@pytest.mark.usefixtures("small")
def test_an_error_leaves_nothing_behind(tmp_path: Path) -> None:
    path = archive_of(tmp_path, ["plain", "plain", "plain", "malformed"])
    with pytest.raises(SourceError, match="table3"):
        build.build(path, tmp_path / "out", _options(2))
    assert names(tmp_path) == {"a.siard"}


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_run_that_is_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive_of(tmp_path, ["plain"] * 4)
    build.build(path, tmp_path / "gold", _options(1))
    expected = tree(tmp_path / "gold")
    monkeypatch.setattr(Workers, "begin", _begun_here_or_one)
    count = calls_of(lambda: build.build(path, tmp_path / "counted", _options(2)))
    left = set[str]()
    for at in spread(range(2, count), max(1, count // 25)):
        (folder := tmp_path / str(at)).mkdir()
        target = folder / "out"
        assert killed(partial(build.build, path, target, _options(2)), at)
        if target.exists():
            break
        work = folder / "out.partial" / "work"
        left |= {each.name for each in work.glob("*")}
        build.build(path, target, _options(2))
        assert tree(target) == expected, at
        assert names(folder) == {"out"}, at
    assert "tables" in left


def _begun_here_or_one(
    workers: Workers, work: Any, tasks: Any, moved: Any, *, is_growing: bool = False
) -> Underway[Any, Any]:
    assert is_growing == (work is tablereading.read_table)
    return Underway(workers, None, work, iter(tasks), moved)


def test_what_will_be_free_is_known(tmp_path: Path) -> None:
    assert tablereading.held_bytes(tmp_path) == 0
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "one").write_bytes(b"12345")
    (tmp_path / "tables" / "two").write_bytes(b"67")
    assert tablereading.held_bytes(tmp_path) == 7


@pytest.mark.parametrize(
    ("sizes", "workers", "expected"),
    [
        ((10, 10, 10, 10), 1, "-x-x"),
        ((10, 10, 10, 10), 2, "-xxx"),
        ((10, 10, 1, 10, 1), 2, "-x-x-"),
        ((10,), 4, "-"),
        ((30, 10, 10, 10), 1, "-xxx"),
        ((), 3, ""),
    ],
)
def test_the_planner_reads_itself_what_it_would_wait_for(
    sizes: tuple[int, ...], workers: int, expected: str
) -> None:
    assert "".join("-x"[each] for each in shared_out(sizes, 5, workers)) == expected


@given(st.lists(st.integers(0, 100), max_size=20), st.integers(1, 8))
def test_what_is_shared_out_is_large(sizes: list[int], workers: int) -> None:
    given_ = list(shared_out(sizes, 20, workers))
    assert len(given_) == len(sizes)
    assert all(size >= 20 for size, is_given in zip(sizes, given_, strict=True) if is_given)


def test_as_many_workers_as_half_of_the_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tablereading, "_WORTH", _ANY)
    asked: list[int] = []

    def noting(
        workers: Workers, work: Any, tasks: Any, moved: Any, *, is_growing: bool = False
    ) -> Underway[Any, Any]:
        asked.append(workers.jobs)
        return begun_here(workers, work, tasks, moved, is_growing=is_growing)

    monkeypatch.setattr(Workers, "begin", noting)
    monkeypatch.setattr(processes, "cores", lambda: 6)
    path = archive_of(tmp_path, ["plain"] * 9)
    for wanted in (1, 2, 3, 4, None):
        planned(path, wanted)  # type: ignore[arg-type]
    assert asked == [1, 1, 2, 3]
