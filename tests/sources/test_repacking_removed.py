from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.containers.zipreader import ZipContainer
from metspack.errors import TargetError
from metspack.files import tempdb
from metspack.model import LobRun, RunShared
from metspack.siard.entries import FolderEntries, WrappedTree
from metspack.sources.repacking import RemovedEntries
from tests.laws import law
from tests.siard.zips import Entry, forged


def test_departures_are_names_and_tell_what_is_new() -> None:
    with closing(RemovedEntries()) as removed:
        assert removed.add("a")
        assert not removed.add("a")
        assert "a" in removed
        assert "b" not in removed


def test_what_is_kept_after_all_does_not_leave() -> None:
    with closing(RemovedEntries()) as removed:
        removed.add("a")
        removed.keep("a")
        removed.keep("never")
        assert "a" not in removed
        assert removed.add("a")


NAMES = ["a/", "a/b/", "a/b/c", "a/b/d", "a/e/", "a/f", "a0/", "ab", "g/", "g/h/", "g/h/i/", "g/h/i/k"]


@pytest.mark.parametrize("root", ["", "archive/"])
def test_a_folder_departs_when_all_in_it_does(tmp_path: Path, root: str) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(forged(*(Entry(name=root + name) for name in NAMES)))
    with ZipContainer.opened(path) as container, closing(RemovedEntries()) as removed:
        for name in ("a/b/c", "a/b/d", "g/h/i/k"):
            removed.add(name)
        removed.add_emptied(WrappedTree(container, root) if root else container)
        assert {name for name in NAMES if name in removed} == {
            "a/b/",
            "a/b/c",
            "a/b/d",
            "g/",
            "g/h/",
            "g/h/i/",
            "g/h/i/k",
        }


def test_folders_of_an_unpacked_archive_depart_too(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            (tmp_path / name).mkdir(exist_ok=True)
        else:
            (tmp_path / name).write_bytes(b"")
    with FolderEntries(tmp_path) as tree, closing(RemovedEntries()) as removed:
        removed.add("g/h/i/k")
        removed.add("a/b/c")
        removed.add_emptied(tree)
        assert {name for name in tree.names() if name in removed} == {
            "a/b/c",
            "g/",
            "g/h/",
            "g/h/i/",
            "g/h/i/k",
        }


@given(st.sets(st.sampled_from([name for name in NAMES if not name.endswith("/")])))
def test_what_is_left_empty_is_what_no_longer_holds_a_name(gone: set[str]) -> None:
    class Names:
        def names(self, prefix: str = "") -> list[str]:
            return [name for name in NAMES if name.startswith(prefix)]

    with closing(RemovedEntries()) as removed:
        for name in gone:
            removed.add(name)
        removed.add_emptied(Names())  # type: ignore[arg-type]
        left = [name for name in NAMES if name not in removed]
        for name in set(NAMES) - set(left):
            assert name in gone or not any(each.startswith(name) for each in left)
        for folder in (name for name in left if name.endswith("/")):
            below = [each for each in NAMES if each.startswith(folder) and each != folder]
            assert not below or any(each.startswith(folder) and each != folder for each in left)


LOBS = [f"content/lob1/record{number}.bin" for number in range(12)]
OTHERS = ["content/", "content/lob1/", "content/table.xml", "header/", "header/a.bin", "header/b"]
ENTRIES = [*OTHERS[:2], *LOBS[:7], *OTHERS[2:4], *LOBS[7:], *OTHERS[4:]]
MAY_LEAVE = st.sampled_from([*LOBS, "header/a.bin"])


def as_run(container: ZipContainer, names: list[str]) -> LobRun:
    found = container.columns(names)
    assert found is not None
    shared = RunShared(schema=0, table=0, cell="c1", extension="bin", media_type="", folders=None)
    return LobRun(
        shared=shared, rows=range(len(names)), files=names, sizes=found[0], extents=found[1], entries=names
    )


@law(60)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("run"), st.lists(MAY_LEAVE, min_size=1, max_size=8)),
            st.tuples(st.just("run"), st.integers(0, 11).map(lambda first: LOBS[first : first + 5])),
            st.tuples(st.just("name"), st.lists(MAY_LEAVE, min_size=1, max_size=2)),
            st.tuples(st.just("keep"), st.lists(MAY_LEAVE, min_size=1, max_size=2)),
        ),
        max_size=8,
    ),
    st.sampled_from(["", "archive/"]),
)
def test_lobs_leave_as_stretches_of_a_zip_file_as_by_their_names(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[str, list[str]]], root: str
) -> None:
    path = tmp_path_factory.mktemp("removed") / "a.zip"
    path.write_bytes(forged(*(Entry(name=root + name) for name in ["", *ENTRIES] if root + name)))
    with (
        ZipContainer.opened(path) as container,
        closing(RemovedEntries(container, root)) as removed,
        closing(RemovedEntries()) as named,
    ):
        tree = WrappedTree(container, root) if root else container
        for kind, names in events:
            if kind == "run":
                removed.add_lobs(as_run(container, [root + name for name in names]))
                named.add_all(names)
            elif kind == "name":
                for each in (removed, named):
                    each.add_all(names)
            else:
                for name in names:
                    removed.keep(name)
                    named.keep(name)
            assert [name in removed for name in LOBS] == [name in named for name in LOBS]
        removed.add_emptied(tree)
        named.add_emptied(tree)
        staying = [name for name in ENTRIES if name not in named]
        assert [name for name in ENTRIES if name not in removed] == staying
        offsets = {name: extent.offset for name in ENTRIES if (extent := container.extent(root + name))}
        assert removed.staying(offsets) == staying
        gaps = list(removed.gaps())
        assert gaps == sorted(gaps)
        within = {name for some in container.entries_within(gaps) for name, _ in some}
        assert within >= {root + name for name in staying}


def test_a_temporary_disk_that_is_full_is_the_targets_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempdb, "_SETTINGS", (*tempdb._SETTINGS, "PRAGMA max_page_count = 10"))
    with closing(RemovedEntries()) as removed:
        added = (removed.add(f"content/schema0/table0/lob1/r{number}.bin") for number in range(10_000))
        with pytest.raises(TargetError, match="cannot keep the names of an archive's entries") as caught:
            list(added)
    assert "SQLITE_TMPDIR" in caught.value.hint
