"""Archives below a folder of a zip file are moved to its root; entries depart."""

import hashlib
import zipfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.containers import zipformat
from metspack.containers.zipreader import ZipContainer
from metspack.errors import SourceError, TargetError
from metspack.files import tempdb
from metspack.model import LobRun, RunShared
from metspack.siard.entries import WrappedTree
from metspack.sources.archive import Archive
from metspack.sources.repacking import RemovedEntries, entries
from metspack.sources.rewriting import comparable, compared_digests, copy, sealed_size
from tests.containers.test_zipnames import FORMS as NAMES
from tests.containers.test_zipwriter import unzip_agrees
from tests.laws import by_turns, law
from tests.siard.forging import METADATA, NEW_MD5, OLD_MD5, Packing, siard
from tests.siard.zips import Entry, forged, unicode_path
from tests.sources.test_rewriting import LOBS, TABLE, digest_of, moved_out, names, read

FOLDERS = ("content/", "content/schema0/", "content/schema0/table0/lob2/", "content/empty/", "header/")


def unpacked(source: Path, folder: Path) -> Path:
    """Unpack a zip file into a new folder."""
    with zipfile.ZipFile(source) as archive:
        archive.extractall(folder)
    return folder


def wrapped(source: Path, target: Path, root: str = "my archiv\u00e9/") -> Path:
    """Zip an archive again with a folder around everything, and something beside it."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        new.writestr("__MACOSX/x", b"beside")
        new.writestr(root, b"")
        for info in old.infolist():
            inside = zipfile.ZipInfo(root + info.filename, info.date_time)
            inside.compress_type, inside.external_attr = info.compress_type, info.external_attr
            new.writestr(inside, old.read(info))
    return target


def sound(path: Path) -> dict[str, bytes]:
    """Return an archive's entries as three readers have them."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        found = {name: archive.read(name) for name in archive.namelist()}
    with ZipContainer.opened(path) as container:
        assert {
            each.extent.name: b"".join(container.contents(each.extent)) for each in container.records()
        } == (found)
    return found


def files(path: Path) -> dict[str, bytes]:
    """Return an archive's entries but for folders and metadata.xml."""
    return {name: data for name, data in sound(path).items() if not name.endswith("/") and name != METADATA}


@pytest.fixture(params=["2.2", "2.0", "1.0"])
def source(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return siard(
        tmp_path / "source.siard",
        version=request.param,
        tables=[TABLE],
        lobs={**LOBS, "content/sch\u00f6n": b"x" * 999},
        folders=FOLDERS,
        digests=NEW_MD5 if request.param == "2.2" else OLD_MD5,
        packing=Packing(method=zipfile.ZIP_DEFLATED),
    )


def in_form(form: str, source: Path) -> Path:
    folder = source.parent / "other"
    folder.mkdir()
    if form == "folder":
        return unpacked(source, folder / "archive")
    if form == "folder in a folder":
        unpacked(source, folder / "archive" / "inner")
        return folder / "archive"
    return wrapped(source, folder / "archive.siard")


FORMS = pytest.mark.parametrize("form", ["folder", "folder in a folder", "wrapped"])


@FORMS
def test_every_form_gives_the_archive_that_its_zip_gives(source: Path, form: str) -> None:
    expected = moved_out(source)
    target = moved_out(in_form(form, source), target=source.with_name("from-form.siard"))
    assert files(target) == files(expected)
    assert set(names(target)) - {"header/", "content/"} == set(names(expected)) - {
        "header/",
        "content/",
        *(["content/schema0/"] if form != "wrapped" else []),
    }
    with Archive(target) as mine, Archive(expected) as other:
        assert mine.metadata.tables == other.metadata.tables
        assert mine.metadata.lob_folder == "./"
        ((stated, found),), _ = compared_digests(mine, lambda _read: None)
        assert stated == found
    assert digest_of(target, "md5") in read(target).decode().lower()


@FORMS
def test_an_archive_from_which_nothing_moves_becomes_a_zip_file_at_its_root(source: Path, form: str) -> None:
    target = source.with_name("copy.siard")
    with Archive(in_form(form, source)) as archive:
        hashers = copy(archive, target, ["SHA-256"], work=source.parent)
    assert hashers.digest("SHA-256").value == hashlib.sha256(target.read_bytes()).hexdigest()
    assert files(target) == files(source)
    was, is_now = (
        read(each).decode().lower().replace(digest_of(each, "md5"), "") for each in (source, target)
    )
    assert is_now == was
    unzip_agrees(target)


@FORMS
def test_there_is_nothing_to_compare_a_digest_with(source: Path, form: str) -> None:
    read_bytes: list[int] = []
    with Archive(source) as archive:
        assert comparable(archive)
    with Archive(in_form(form, source)) as archive:
        assert not comparable(archive)
        assert sealed_size(archive) == 0
        found, whole = compared_digests(archive, read_bytes.append)
        assert found == ()
        is_file = archive.container is not None
        assert whole == (hashlib.sha256(archive.path.read_bytes()).hexdigest() if is_file else "")
        assert sum(read_bytes) == (archive.size if is_file else 0)


def test_a_wrapped_archives_entries_keep_their_compressed_bytes(source: Path) -> None:
    path = in_form("wrapped", source)
    target = source.with_name("copy.siard")
    with Archive(path) as archive:
        copy(archive, target, (), work=source.parent)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target) as new:
        below = [each for each in old.infolist() if each.filename.startswith("my archiv\u00e9/")][1:]
        assert [each.filename.partition("/")[2] for each in below] == new.namelist()
        for was, is_now in zip(below, new.infolist(), strict=True):
            if is_now.filename != METADATA:
                assert (was.compress_size, was.CRC, was.date_time, was.external_attr, was.compress_type) == (
                    is_now.compress_size,
                    is_now.CRC,
                    is_now.date_time,
                    is_now.external_attr,
                    is_now.compress_type,
                )


def test_an_unpacked_archive_is_packed_in_the_same_way_every_time(source: Path) -> None:
    first = in_form("folder", source)
    (source.parent / "again").mkdir()
    second = unpacked(source, source.parent / "again" / "archive")
    (second / "content" / "schema0" / "table0" / "table0.xsd").touch()
    targets = [source.with_name("first.siard"), source.with_name("second.siard")]
    for folder, target in zip((first, second), targets, strict=True):
        with Archive(folder) as archive:
            copy(archive, target, (), work=source.parent)
    assert targets[0].read_bytes() == targets[1].read_bytes()
    with zipfile.ZipFile(targets[0]) as made:
        infos = made.infolist()
        order = made.namelist()
        version = (
            made.read("header/metadata.xml").partition(b"Archive ")[2].partition(b'version="')[2][:3].decode()
        )
    header = order.index("header/")
    assert order[:header] == sorted(order[:header])
    assert order[header:] == sorted(order[header:])
    assert all(name.startswith("content/") for name in order[:header])
    # Of the folders: the two that the specification asks for, and the empty ones.
    assert [name for name in order if name.endswith("/")] == [
        "content/",
        "content/empty/",
        "header/",
        f"header/siardversion/{version}/",
    ]
    assert {each.date_time for each in infos} == {(1980, 1, 1, 0, 0, 0)}
    # SIARD 1.0 knows no compression.
    assert {each.compress_type for each in infos if not each.is_dir()} == {
        0 if b'version="1.0">' in read(source) else 8
    }


def test_a_folder_that_a_move_leaves_empty_is_not_packed(source: Path) -> None:
    folder = in_form("folder", source)
    assert (folder / "content" / "schema0" / "table0" / "lob2").is_dir()
    assert "content/schema0/table0/lob2/" not in names(moved_out(folder, target=source.with_name("t.siard")))


def test_a_folder_has_no_bytes(source: Path) -> None:
    with Archive(in_form("folder", source)) as archive, closing(RemovedEntries()) as none:
        found = {each.name: b"".join(each.contents()) for each in entries(archive, none, header=False)}
    assert found["content/empty/"] == b""
    assert found[TABLE.path] == TABLE.data


# --- a source that fails ------------------------------------------------------------------------------


def test_a_zip_file_that_was_cut_is_noticed_while_it_is_copied(tmp_path: Path) -> None:
    source = siard(tmp_path / "s.siard", tables=[TABLE], lobs=LOBS)
    with Archive(source) as archive:
        source.write_bytes(source.read_bytes()[:300])
        with pytest.raises(SourceError, match=r"s\.siard: ends at byte 300; expected [0-9,]+ bytes or more"):
            copy(archive, tmp_path / "copy", (), work=tmp_path)
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(("form", "root"), by_turns(NAMES, ["", "r/"]))
def test_names_keep_their_bytes_and_what_they_mean(tmp_path: Path, form: str, root: str) -> None:
    source = siard(tmp_path / "source.siard", tables=[TABLE], lobs=LOBS)
    with zipfile.ZipFile(source) as archive:
        own = [Entry(name=root + name, data=archive.read(name)) for name in archive.namelist()]
    (mine, name), folder = NAMES[form], f"{root}content/"
    raw = folder.encode() + mine.fields["name"]
    headers = [dict(mine.central), dict(mine.local)]
    for header in headers:
        if zipformat.unicode_path(mine.fields["name"], header.get("extra", b"")) is not None:
            header["extra"] = unicode_path(raw, folder + name)
    entry = replace(mine, name=raw, central=headers[0], local=headers[1])
    source.write_bytes(forged(*own, entry))
    target = source.with_name("copy.siard")
    with Archive(source) as archive:
        copy(archive, target, [], work=source.parent)
    with ZipContainer.opened(target) as container:
        (record,) = (each for each in container.records() if each.raw[46:].startswith(raw[len(root) :]))
        assert record.extent.name == f"content/{name}"
        assert b"".join(container.contents(record.extent)) == mine.data


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


LISTED = ["a/", "a/b/", "a/b/c", "a/b/d", "a/e/", "a/f", "a0/", "ab", "g/", "g/h/", "g/h/i/", "g/h/i/k"]


@given(st.sets(st.sampled_from([name for name in LISTED if not name.endswith("/")])))
def test_what_is_left_empty_is_what_no_longer_holds_a_name(gone: set[str]) -> None:
    class Names:
        def names(self, prefix: str = "") -> list[str]:
            return [name for name in LISTED if name.startswith(prefix)]

    with closing(RemovedEntries()) as removed:
        for name in gone:
            removed.add(name)
        removed.add_emptied(Names())  # type: ignore[arg-type]
        left = [name for name in LISTED if name not in removed]
        for name in set(LISTED) - set(left):
            assert name in gone or not any(each.startswith(name) for each in left)
        for folder in (name for name in left if name.endswith("/")):
            below = [each for each in LISTED if each.startswith(folder) and each != folder]
            assert not below or any(each.startswith(folder) and each != folder for each in left)


LEAVING = [f"content/lob1/record{number}.bin" for number in range(12)]
OTHERS = ["content/", "content/lob1/", "content/table.xml", "header/", "header/a.bin", "header/b"]
ENTRIES = [*OTHERS[:2], *LEAVING[:7], *OTHERS[2:4], *LEAVING[7:], *OTHERS[4:]]
MAY_LEAVE = st.sampled_from([*LEAVING, "header/a.bin"])


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
            st.tuples(st.just("run"), st.integers(0, 11).map(lambda first: LEAVING[first : first + 5])),
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
            assert [name in removed for name in LEAVING] == [name in named for name in LEAVING]
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
