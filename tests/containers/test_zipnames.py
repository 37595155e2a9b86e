"""Entries have the names that their writing programs meant, and keep their bytes."""

import os
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from metspack.containers.zipformat import BY_FIELD, encoded
from metspack.containers.zipreader import ZipContainer
from metspack.errors import SourceError
from tests.containers.test_zipreader import quickly, refused
from tests.containers.test_zipwriter import rewritten, unzip_agrees
from tests.siard.zips import Entry, forged, unicode_path
from tests.trees import put

DOS, UNIX, MACOS, NTFS = 20, 0x0314, 0x1315, 0x0A14
UTF8 = 0x800
WORD = "k\u00e5l \u00e9.bin"
IN_UTF8, IN_CP437, IN_CP1252 = WORD.encode(), WORD.encode("cp437"), WORD.encode("cp1252")
AS_CP437 = IN_UTF8.decode("cp437")
KANJI = "\u8868.bin"


def written(folder: Path, *entries: Entry) -> Path:
    """Write a container of such entries."""
    source = folder / "source.zip"
    source.write_bytes(forged(*entries))
    return source


def entry(name: bytes, made: int, flags: int = 0, field: bytes = b"", local: bytes | None = None) -> Entry:
    """Return an entry of a program, the upper byte of ``made``, with extra fields."""
    headers = {"made": made, "extra": field}
    return Entry(
        name=name,
        data=b"data of " + name,
        flags=flags,
        central=headers,
        local=headers if local is None else {"extra": local},
    )


FORMS: Mapping[str, tuple[Entry, str]] = {
    "UTF-8 with its flag": (entry(IN_UTF8, UNIX, UTF8), WORD),
    "UTF-8 without, by Unix": (entry(IN_UTF8, UNIX), WORD),
    "UTF-8 without, by macOS": (entry(IN_UTF8, MACOS), WORD),
    "UTF-8 without, by MS-DOS": (entry(IN_UTF8, DOS), AS_CP437),
    "UTF-8 without, by NTFS": (entry(IN_UTF8, NTFS), AS_CP437),
    "CP437, by MS-DOS": (entry(IN_CP437, DOS), WORD),
    "CP437, by Unix": (entry(IN_CP437, UNIX), WORD),
    "ASCII, by Unix": (entry(b"plain.bin", UNIX), "plain.bin"),
    "a folder in UTF-8, by Unix": (Entry(name="\u00e5/".encode()), "\u00e5/"),
    "UTF-8 and the field that repeats it": (entry(IN_UTF8, UNIX, field=unicode_path(IN_UTF8, WORD)), WORD),
    "CP1252 and the field": (entry(IN_CP1252, DOS, field=unicode_path(IN_CP1252, WORD)), WORD),
    "ASCII and the field": (entry(b"k_l _.bin", UNIX, field=unicode_path(b"k_l _.bin", WORD)), WORD),
    "the field behind others": (
        entry(b"k.bin", UNIX, field=b"UT\5\0\3abcd" + unicode_path(b"k.bin", WORD)), WORD,
    ),
    "the field in one header alone": (entry(IN_CP1252, DOS, 0, unicode_path(IN_CP1252, WORD), b""), WORD),
    "Shift JIS, where a byte is a backslash": (
        entry(KANJI.encode("shift_jis"), DOS, field=unicode_path(KANJI.encode("shift_jis"), KANJI)), KANJI,
    ),
    "a field for a name of before": (
        entry(IN_CP437, DOS, field=unicode_path(b"other.bin", "other")), WORD,
    ),
    "a field of a later version": (
        entry(IN_CP437, DOS, field=unicode_path(IN_CP437, "other", version=2)), WORD,
    ),
    "a field that is not UTF-8": (entry(IN_CP437, DOS, field=unicode_path(IN_CP437, b"\xff")), WORD),
    "a field cut short": (entry(IN_CP437, DOS, field=b"up\3\0\1ab"), WORD),
    "the flag, and the field that repeats it": (
        entry(IN_UTF8, UNIX, UTF8, unicode_path(IN_UTF8, WORD)), WORD,
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_name_is_what_its_writer_meant_and_its_bytes_are_kept(tmp_path: Path, form: str) -> None:
    made, name = FORMS[form]
    source = written(tmp_path, made)
    with ZipContainer.opened(source) as container:
        assert list(container.names()) == [name]
        (record,) = container.records()
        assert b"".join(container.contents(record.extent)) == made.data
        assert quickly(container, [record.extent]) == [made.data]
        raw = made.fields["name"]
        assert encoded(name, record.extent.flags) == (b"" if record.extent.flags & BY_FIELD else raw)
    for new in ({}, {name: made.data[:2]}):
        target = rewritten(source, tmp_path / f"{len(new)}.zip", new)
        with ZipContainer.opened(target) as container:
            (record,) = container.records()
            assert record.extent.name == name
            assert b"".join(container.contents(record.extent)) == new.get(name, made.data)
        whole = target.read_bytes()
        assert record.raw[46:].startswith(raw)
        assert whole[30:].startswith(raw)


@pytest.mark.parametrize("number", [1, 20, 200])
def test_fields_are_seen_in_runs_of_like_records(tmp_path: Path, number: int) -> None:
    raws = [b"a/up%05d" % each for each in range(number)]
    entries = (entry(raw, UNIX, field=unicode_path(raw, f"\u00e5/{raw.decode()}")) for raw in raws)
    with ZipContainer.opened(written(tmp_path, *entries)) as container:
        assert list(container.names()) == [f"\u00e5/{raw.decode()}" for raw in raws]


REFUSED = {
    "the field names another than the flag": (
        entry(IN_UTF8, UNIX, UTF8, unicode_path(IN_UTF8, "other")), "names 'other'"
    ),
    "the field leads out of the archive": (entry(b"x", UNIX, field=unicode_path(b"x", "../x")), "'..'"),
    "the field is empty": (entry(b"x", UNIX, field=unicode_path(b"x", "")), "has no name"),
    "the local header has another name": (
        Entry(name=b"x", central={"extra": unicode_path(b"x", WORD)}, local={"name": b"y"}),
        "has name b'y'; expected one of CRC-32 8cdc1683 as in",
    ),
    "the header leads out of the archive": (entry(b"../x", UNIX, field=unicode_path(b"../x", "x")), "'..'"),
    "the local header has the name of the field": (
        Entry(name=b"x", data=b"x", central={"extra": unicode_path(b"x", "y")}, local={"name": b"y"}),
        "has name b'y'; expected one of CRC-32 8cdc1683 as in",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_names_that_programs_read_in_two_ways_are_refused(tmp_path: Path, case: str) -> None:
    made, words = REFUSED[case]
    assert words in refused(written(tmp_path, made)).message


def test_two_entries_of_one_meant_name_are_refused(tmp_path: Path) -> None:
    source = written(tmp_path, entry(IN_UTF8, UNIX), entry(b"x", UNIX, field=unicode_path(b"x", WORD)))
    with pytest.raises(SourceError, match="more than once"):
        ZipContainer.opened(source)


def folder_of_files(folder: Path) -> list[str]:
    names = [WORD, "plain.txt", "\u00f8/" + "\u8868.txt", "e\u0301.txt"]
    put(folder, {name: name.encode() for name in names})
    return sorted(names)


WRITERS = {
    "zip": ["zip", "-qrD", "../out.zip", "."],
    "zip in the C locale": ["zip", "-qrD", "../out.zip", "."],
    "zip -UN=UTF8": ["zip", "-qrD", "-UN=UTF8", "../out.zip", "."],
    "jar": ["jar", "cfM", "../out.zip", "."],
    "bsdtar": ["bsdtar", "-a", "-cf", "../out.zip", "--strip-components", "1", "."],
    "7z": ["7z", "a", "-bso0", "../out.zip", "."],
}


@pytest.mark.parametrize("writer", WRITERS)
def test_what_programs_write_has_the_names_of_the_files(tmp_path: Path, writer: str) -> None:
    program, *arguments = WRITERS[writer]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    names = folder_of_files(tmp_path / "files")
    words = {**os.environ, "LC_ALL": "C" if "C locale" in writer else "C.UTF-8"}
    subprocess.run([program, *arguments], cwd=tmp_path / "files", check=True, env=words)
    for path in (tmp_path / "out.zip", rewritten(tmp_path / "out.zip", tmp_path / "again.zip", {})):
        with ZipContainer.opened(path) as container:
            found = [each for each in container.names() if not each.endswith("/")]
            assert [each.removeprefix("./") for each in found] == names
        unzip_agrees(path)


def test_what_zipfile_writes_has_its_names(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "out.zip", "w") as new:
        new.writestr(WORD, b"x")
    with ZipContainer.opened(tmp_path / "out.zip") as container:
        assert list(container.names()) == [WORD]
