import pickle
import re
import shlex
import time
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from metspack.errors import ConfigError, SourceError
from metspack.limits import Budgets
from metspack.locations.errors import LobsUnresolved, LobUnresolved
from metspack.model import LobRef
from metspack.siard.tables import Tally
from metspack.sources.archive import Archive, Grants, by_extension, extension_of
from tests.planning.lobruns import lobs_of, one_after_the_other
from tests.siard.forging import METADATA, Table, column, field, metadata, siard
from tests.tables import read_table, tabled
from tests.trees import put

FOLDER = "content/schema0/table0"
LOB = f"{FOLDER}/lob1/record0.bin"


def refusal(path: Path, budgets: Budgets | None = None) -> SourceError:
    """Return the error with which an archive is refused on opening or on reading its LOBs."""
    with pytest.raises(SourceError) as caught, Archive(path, budgets) as archive:
        list(lobs_of(archive))
    assert str(path) in caught.value.message
    assert caught.value.hint
    return caught.value


def lobs(path: Path) -> list[LobRef]:
    with Archive(path) as archive, pytest.MonkeyPatch.context() as patch:
        found = list(lobs_of(archive))
        one_after_the_other(patch)
        assert found == list(lobs_of(archive))
        return found


def zipped(path: Path, entries: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return path


# --- every LOB, in order ------------------------------------------------------------------------------


def test_lobs_come_in_the_order_of_tables_rows_and_cells(tmp_path: Path) -> None:
    names = [f"content/l{n}.bin" for n in range(5)]
    tables = [
        Table(
            folder="table7",
            columns=(column("A"), column("B", fields=field("x") + field("y"))),
            rows=(
                f"<c1 file='{names[4]}'/><c2><u1 file='{names[2]}' length='2'/><u2 file='{names[1]}'/></c2>",
                "",
                f"<c1 file='{names[3]}' digestType='MD5' digest='{'0' * 32}'/>",
            ),
        ),
        Table(folder="table2", name="u", columns=(column("A"), column("N", "INTEGER"))),
        Table(folder="table3", name="v", rows=(f"<c1 file='{names[0]}'/>", "<c1>0A</c1>")),
    ]
    data = {name: bytes(number) for number, name in enumerate(names)}
    path = siard(tmp_path / "s.siard", tables=tables, lobs=data)
    found = lobs(path)
    assert [(each.place.id, each.cell.file, each.size) for each in found] == [
        ("s0.t7.c1.r1", names[4], 4),
        ("s0.t7.c2.u1.r1", names[2], 2),
        ("s0.t7.c2.u2.r1", names[1], 1),
        ("s0.t7.c1.r3", names[3], 3),
        ("s0.t3.c1.r1", names[0], 0),
    ]
    with Archive(path) as archive:
        tallies = [Tally() for _ in archive.tables]
        for each, tally in zip(archive.tables, tallies, strict=True):
            assert all(archive.located(each, tally))
    assert [(each.rows, each.inline) for each in tallies] == [(3, 0), (0, 0), (2, 1)]


@pytest.mark.parametrize(("file", "extension"), read_table(__file__, "extensions"))
def test_an_extension_is_letters_and_digits(file: str, extension: str) -> None:
    assert extension_of(file) == extension


@pytest.mark.parametrize(
    "files",
    read_table(__file__, "lists"),
    ids=str,
)
def test_extensions_of_many_files_are_those_of_each(files: tuple[str, ...]) -> None:
    stretches = list(by_extension(files))
    assert [file for _, which in stretches for file in files[which]] == [*files]
    for extension, which in stretches:
        assert {extension_of(file) for file in files[which]} == {extension}


# --- what is no archive that can be read --------------------------------------------------------------


def test_no_such_file(tmp_path: Path) -> None:
    error = refusal(tmp_path / "none.siard")
    assert "No such file" in error.message


def test_a_folder(tmp_path: Path) -> None:
    assert (
        refusal(tmp_path).message == f"{tmp_path} is a folder, expected a .siard file or an unpacked archive"
    )
    assert refusal(tmp_path).hint == "It holds neither header/metadata.xml nor a .siard file."
    siard(tmp_path / "b.siard")
    siard(tmp_path / "a.siard")
    (tmp_path / "0.siard").mkdir()
    hint = refusal(tmp_path).hint
    assert hint.startswith(f"It holds a.siard, b.siard: name the file, {tmp_path / 'a.siard'}; or")


def test_a_folder_with_an_archive_in_capital_letters(tmp_path: Path) -> None:
    siard(tmp_path / "A.SIARD")
    assert refusal(tmp_path).hint.startswith(f"It holds A.SIARD: name the file, {tmp_path / 'A.SIARD'}; or")


def test_no_zip_file(tmp_path: Path) -> None:
    (tmp_path / "s.siard").write_bytes(b"<siardArchive/>" * 10)
    assert "zip" in refusal(tmp_path / "s.siard").message


def test_no_metadata(tmp_path: Path) -> None:
    error = refusal(zipped(tmp_path / "s.siard", {"content/schema0/table0/table0.xml": b"<table/>"}))
    assert error.message.endswith(
        "is a zip archive without header/metadata.xml, so it is not a SIARD archive"
    )
    assert "P_4.2-5" in error.hint


def test_metadata_in_two_folders_is_no_archive(tmp_path: Path) -> None:
    entries = {f"{name}/header/metadata.xml": b"<siardArchive/>" for name in ("one", "two")}
    assert "without header/metadata.xml" in refusal(zipped(tmp_path / "s.siard", entries)).message


@tabled
def test_metadata_that_cannot_be_read(tmp_path: Path, document: bytes, words: str) -> None:
    assert re.search(words, refusal(siard(tmp_path / "s.siard", document=document)).message)


def test_metadata_over_budget(tmp_path: Path) -> None:
    path = siard(tmp_path / "s.siard")
    size = len(metadata("2.2", []))
    with Archive(path, Budgets(metadata=size)):
        pass
    error = refusal(path, Budgets(metadata=size - 1))
    assert error.message == f"{path}: {METADATA} has {size:,} bytes, expected at most {size - 1:,}"
    assert error.hint.endswith("raise the budget: --budget metadata=BYTES.")


def test_a_table_without_its_document(tmp_path: Path) -> None:
    path = siard(tmp_path / "s.siard", document=metadata("2.2", [Table()]))
    with Archive(path) as archive:
        assert list(lobs_of(archive)) == []
        (sentence,) = archive.conventions()
        assert sentence.startswith(
            "table s.t has no document content/schema0/table0/table0.xml in the archive"
        )
        with pytest.raises(
            SourceError, match=r"table s\.t has no document content/schema0/table0/table0\.xml$"
        ):
            archive.check_complete(())
        archive.check_complete({"missing-table"})


def test_a_table_folder_in_another_letter_case_is_hinted_at(tmp_path: Path) -> None:
    path = siard(
        tmp_path / "s.siard",
        document=metadata("2.2", [Table()]),
        lobs={"content/Schema0/Table0/table0.xml": b"<table/>"},
    )
    with Archive(path) as archive, pytest.raises(SourceError) as refused:
        archive.check_complete(())
    assert refused.value.hint.startswith("'content/Schema0/Table0/table0.xml' differs only in letter case")
    assert "--accept" not in refused.value.hint


def test_a_table_document_that_is_damaged(tmp_path: Path) -> None:
    path = siard(tmp_path / "s.siard", tables=[Table(document=b"<table>")])
    with pytest.raises(
        SourceError, match=r"content/schema0/table0/table0.xml line 1, column 8: not well-formed"
    ):
        lobs(path)


ITSELF = "names a part of the archive itself, not a LOB"


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("record0.bin", "LOB not found. Tried: "),
        *(
            (file, "")
            for file in ("", "../../../etc/passwd", "http://example.org/x", "\\\\host\\share", "a%00b")
        ),
        *(
            (file, "")
            for file in (f"/{METADATA}", f"file:///{LOB}", "header/siardversion/2.2/", f"{FOLDER}/lob1/")
        ),
        *((file, ITSELF) for file in (METADATA, f"./{METADATA}", "../s.siard")),
        *((f"{FOLDER}/table0.{suffix}", ITSELF) for suffix in ("xml", "xsd")),
    ],
)
def test_a_cell_that_names_no_entry(tmp_path: Path, file: str, words: str) -> None:
    table = Table(rows=("<c1/>", f"<c1 file='{file}'/>"))
    path = siard(tmp_path / "s.siard", tables=[table], lobs={LOB: b"x"}, folders=[f"{FOLDER}/lob1/"])
    error = refusal(path)
    assert error.message.startswith(f"{path}: table s.t row 2, cell c1 (s0.t0.c1.r2), file {file!r}: {words}")
    assert "passwd: nothing" not in error.message
    assert words != ITSELF or error.message.endswith(words)
    assert {ITSELF: "would destroy the archive", "": ""}.get(words, "incomplete") in error.hint


@pytest.mark.slow
def test_any_number_is_named(tmp_path: Path) -> None:
    path = siard(tmp_path / "s.siard", tables=[Table(rows=("<c1 file='a'/>",) * 2_050)])
    error = refusal(path)
    assert error.message == f"{path}: 2,050 LOBs not found"
    assert len(error.details) == 2_050
    assert "Tried: " in error.details[0]
    assert error.details[-1] == "table s.t row 2,050, cell c1 (s0.t0.c1.r2050), file 'a': LOB not found"
    assert list(error.details)[1:3] == error.details[1:3]
    with pytest.raises(IndexError):
        error.details[2_050]
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 -- our own
    assert (again.message, again.hint) == (error.message, error.hint)
    assert again.details == tuple(error.details)


def test_a_lob_outside(tmp_path: Path) -> None:
    table = Table(columns=(column("D", lob_folder="../lobs/"),), rows=("<c1 file='record0.bin'/>",))
    path = siard(tmp_path / "s.siard", tables=[table])
    error = refusal(path)
    assert "LOB not found" in error.message
    assert "--lob-root DIR" in error.hint
    (tmp_path / "lobs").mkdir()
    (tmp_path / "lobs" / "record0.bin").write_bytes(b"outside")
    with Archive(path) as archive:
        (found,) = lobs_of(archive)
        (words,) = archive.conventions()
    assert (found.size, found.entries) == (7, ())
    assert words.endswith("instead of the DILCIS Board's rule (metspack explain P108)")


def test_a_lob_of_a_column_that_metadata_does_not_have(tmp_path: Path) -> None:
    path = siard(tmp_path / "s.siard", tables=[Table(rows=(f"<c5 file='{LOB}'/>",))], lobs={LOB: b""})
    assert "row 1 has a LOB in cell c5, but metadata.xml gives table s.t 1 columns" in refusal(path).message


# --- what is said of LOBs that cannot be had ----------------------------------------------------------


def test_a_granted_folder_that_is_none_is_a_wrong_option(tmp_path: Path) -> None:
    path = siard(tmp_path / "s.siard", tables=[Table()])
    nothing = tmp_path / "nothing"
    for grants in (Grants(lob_roots=(nothing,)), Grants(drives={"S:": nothing})):
        with pytest.raises(ConfigError, match="nothing is not a folder"):
            Archive(path, grants=grants)


def test_beside_a_link_to_the_archive_nothing_of_its_target_is_granted(tmp_path: Path) -> None:
    table = Table(columns=(column("D", lob_folder="lobs/"),), rows=("<c1 file='r.bin'/>",))
    (tmp_path / "store" / "lobs").mkdir(parents=True)
    (tmp_path / "store" / "lobs" / "r.bin").write_bytes(b"x")
    path = siard(tmp_path / "store" / "s.siard", tables=[table])
    assert [each.size for each in lobs(path)] == [1]
    link = tmp_path / "s.siard"
    link.symlink_to(path)
    error = refusal(link)
    assert f"{link} is a symbolic link" in error.hint
    assert f"not beside {path}" in error.hint
    with Archive(link, grants=Grants(lob_roots=(path.parent,))) as archive:
        assert len(list(lobs_of(archive))) == 1


# --- LOBs on a drive, or under an absolute path, that lie in a granted folder ------------------------------


def outside(
    root: Path,
    files: Iterable[str],
    cells: Iterable[str],
    *,
    database: str | None = None,
    own: str | None = None,
) -> Path:
    """Write an archive with these cells, and the files below its folder; return its path."""
    put(root, dict.fromkeys(files, b"x"))
    root.mkdir(exist_ok=True)
    rows = tuple(f"<c1 file='{each}' length='{1 + ('parts' in each)}'/>" for each in cells)
    table = Table(columns=(column("D", lob_folder=own),), rows=rows)
    return siard(root / "s.siard", tables=[table], lob_folder=database)


def advised(path: Path, *roots: Path) -> str:
    with (
        pytest.raises(LobsUnresolved) as caught,
        Archive(path, grants=Grants(lob_roots=roots)) as archive,
    ):
        list(lobs_of(archive))
    return caught.value.hint


def granted(hint: str, *roots: Path) -> Grants:
    """Return the grants of the options in a hint, parsed as by a shell and the command."""
    words = shlex.split(hint.rpartition(": add ")[2].removesuffix("."))
    options = list(zip(words[::2], words[1::2], strict=True))
    assert options
    drives = {
        text.partition("=")[0]: Path(text.partition("=")[2]) for kind, text in options if "drive" in kind
    }
    further = tuple(Path(text) for kind, text in options if kind == "--lob-root")
    return Grants(lob_roots=(*roots, *further), drives=drives)


@tabled
def test_the_option_that_makes_lobs_found_is_given_and_finds_them_all(  # noqa: PLR0917 -- by name
    tmp_path: Path, database: str, own: str, cells: Sequence[str], files: Sequence[str], option: str
) -> None:
    path = outside(tmp_path, files, cells, database=database or None, own=own or None)
    hint = advised(path)
    name, value = shlex.split(option)
    wanted = f"{name} {shlex.quote(value.format(root=tmp_path))}"
    assert hint == f"The LOB lies in a granted folder, elsewhere than the archive says: add {wanted}."
    with Archive(path, grants=granted(hint)) as archive:
        assert len(list(lobs_of(archive))) == len(cells)


@pytest.mark.parametrize("what", ["a link", "a link on the way", "another size", "outside"])
def test_what_is_no_lob_of_the_archive_is_not_advised(tmp_path: Path, what: str) -> None:
    path = outside(tmp_path / "package", [], ["D:/a/r.bin"])
    root, store = path.parent, tmp_path / "store"
    (store / "a").mkdir(parents=True)
    (store / "a" / "r.bin").write_bytes(b"x")
    if what == "a link":
        (root / "a").mkdir()
        (root / "a" / "r.bin").symlink_to(store / "a" / "r.bin")
    elif what == "a link on the way":
        (root / "a").symlink_to(store / "a")
    elif what == "another size":
        (root / "a").mkdir()
        (root / "a" / "r.bin").write_bytes(b"another")
    assert "add --" not in advised(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "cells",
    [
        ["D:/" + "a/" * 5_000 + "r.bin"],
        ["D:/" + "a" * 5_000],
        [f"{chr(65 + n % 26)}:/a/{n}/r.bin" for n in range(500)],
        [f"/a{n}/b/r.bin" for n in range(500)],
        [
            "D:/../../r.bin",
            "D:/%00/r.bin",
            "D:/a%2e%2e/%2e%2e/r.bin",
            "/../r.bin",
            "D:",
            "D:/",
            "//h/a/r.bin",
        ],
    ],
)
def test_hostile_paths_take_little_time(tmp_path: Path, cells: list[str]) -> None:
    path = outside(tmp_path, [f"f{n}/a/b/x.bin" for n in range(100)], cells)
    before = time.monotonic()
    assert "add --" not in advised(path)
    assert time.monotonic() - before < 20


@tabled
def test_what_became_of_a_lob_and_what_to_do(
    tmp_path: Path, database: str, folder: str, file: str, outcome: tuple[str, str]
) -> None:
    table = Table(columns=(column("D", lob_folder=folder or None),), rows=(f"<c1 file='{file}'/>",))
    path = siard(tmp_path / "s.siard", tables=[table], lob_folder=database or None)
    with Archive(path) as archive:
        (found,) = archive.located(archive.metadata.tables[0])
    ((_, error),) = found.lost
    kind, hint = outcome
    assert isinstance(error, LobUnresolved)
    assert (error.kind, hint in error.hint) == (kind, True), error.hint
