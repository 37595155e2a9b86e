"""``--trust-checksums``: digests of LOBs that are taken as lists and cells have them, and those compared."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.building import manifests
from metspack.building.manifests import ChecksumLists
from metspack.digests import Hashers
from metspack.errors import ConfigError
from metspack.files import reading
from tests import segmented_folders, siards
from tests.cli.commands.test_build_links import archive_with_lobs_beside
from tests.cli.conftest import Commands
from tests.laws import spread
from tests.trees import tree

TRUST = "--trust-checksums"
COLUMN = "content/schema0/table0/lob1"
LARGE = b"larger than is read at once" * 50_000
CONTENTS = (b"one", b"two", b"", LARGE, b"three" * 9)


@pytest.fixture(autouse=True)
def _one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1456185600")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    column = tmp_path / "lobs" / COLUMN
    column.mkdir(parents=True)
    for number, data in enumerate(CONTENTS):
        (column / f"record{number}.bin").write_bytes(data)
    return tmp_path / "lobs"


def listed(
    path: Path, root: Path, algorithm: str, *, form: str = "{value}  {name}\n", wrong: str = ""
) -> Path:
    """Write a list of the checksums of all files below a folder; that of one may be ``wrong``."""
    lines = []
    for each in sorted(root.rglob("*")):
        if each.is_file():
            value = hashlib.new(algorithm, each.read_bytes(), usedforsecurity=False).hexdigest()
            value = "0" * len(value) if each.name == wrong else value
            lines.append(form.format(value=value, name=each.relative_to(path.parent)))
    path.write_text("".join(lines), encoding="utf-8")
    return path


def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the bytes that are read of small files, and the digests that large ones are given."""
    found: list[int] = []
    readv = os.readv

    def counted(descriptor: int, buffers: list[memoryview]) -> int:
        found.append(descriptor)
        return readv(descriptor, buffers)

    monkeypatch.setattr(os, "readv", counted)
    return found


@pytest.mark.parametrize(
    ("checksum", "lists", "mode"),
    spread(
        product(
            ["MD5", "SHA-512"],
            [("md5",), ("sha256",), ("md5", "sha256"), ("sha512",)],
            [(), ("--link-mode", "hardlink")],
        ),
        3,
    ),
)
def test_the_package_is_the_same_as_one_whose_checksums_were_computed(
    metspack: Commands,
    folder: Path,
    tmp_path: Path,
    *,
    lists: tuple[str, ...],
    mode: tuple[str, ...],
    checksum: str,
) -> None:
    given = ("--checksum", checksum, "-j", "1", "--max-files", "2")
    assert metspack("build", folder, "-o", tmp_path / "computed", *given).code == 0
    names = [listed(tmp_path / f"{each}.txt", folder, each) for each in lists]
    trusts = [word for name in names for word in (TRUST, name)]
    for share in ("0%", "100%"):
        out = tmp_path / f"trusted {share}"
        outcome = metspack(
            "build", folder, "-o", out, *given, *mode, *trusts, "--spot-check", share, "--json"
        )
        assert outcome.code == 0, outcome
        assert tree(out) == tree(tmp_path / "computed")
        needed = {"MD5": 2, "SHA-512": 3}[checksum]
        taken = len({*lists} & {"md5", "sha256", *(["sha512"] if checksum == "SHA-512" else [])})
        assert json.loads(outcome.out)["trusted_checksums"] == {
            "taken": taken * len(CONTENTS),
            "computed": (needed - taken) * len(CONTENTS),
            "compared": len(CONTENTS) if share == "100%" and taken else 0,
            "without": 0 if taken else len(CONTENTS),
        }


def test_what_is_linked_and_known_is_not_read(
    metspack: Commands, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusts = [word for each in ("md5", "sha256") for word in (TRUST, listed(tmp_path / each, folder, each))]
    read = computed(monkeypatch)
    blocks: list[int] = []
    chunks = reading.chunks

    def watched(descriptor: int, *given: int, **named: int) -> object:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(".bin"):
            blocks.append(descriptor)
        return chunks(descriptor, *given, **named)

    monkeypatch.setattr(reading, "chunks", watched)
    linked = ("--link-mode", "hardlink", "--spot-check", "0%", "-j", "1")
    assert metspack("build", folder, "-o", tmp_path / "out", *trusts, *linked).code == 0
    assert (read, blocks) == ([], [])


@pytest.mark.parametrize("mode", [(), ("--link-mode", "hardlink")])
@pytest.mark.parametrize("wrong", ["record1.bin", "record3.bin"])
def test_a_checksum_that_is_wrong_is_found_when_its_lob_is_compared(
    metspack: Commands, folder: Path, tmp_path: Path, wrong: str, mode: tuple[str, ...]
) -> None:
    name = listed(tmp_path / "list", folder, "md5", wrong=wrong)
    given = (*mode, TRUST, str(name), "-j", "1")
    outcome = metspack("build", folder, "-o", tmp_path / "out", *given, "--spot-check", "100%")
    assert outcome.code == 3
    assert f"{wrong}') has the MD5 " in outcome.err
    assert f"but the checksum to be trusted is {'0' * 32}" in outcome.err
    assert not list(tmp_path.glob("out*"))
    assert metspack("build", folder, "-o", tmp_path / "out", *given, "--spot-check", "0%").code == 0
    assert metspack("check", tmp_path / "out").code == 1  # which is why it is never the default


def test_files_of_the_lists_that_are_not_there_and_lobs_without_a_checksum_are_told(
    metspack: Commands, folder: Path, tmp_path: Path
) -> None:
    name = listed(tmp_path / "list", folder, "sha256")
    lines = name.read_text(encoding="utf-8").splitlines(keepends=True)
    name.write_text("".join(lines[1:]) + lines[-1].replace("record4", "record9"), encoding="utf-8")
    outcome = metspack("build", folder, "-o", tmp_path / "out", TRUST, name, "-j", "1")
    said = outcome.err.splitlines()
    totals = f"4 checksums of LOBs taken from {name}, 6 computed; 1 LOB read and compared with what was taken"
    assert f"warning: {totals}" in said
    assert "warning: 1 LOB without a checksum to be trusted, the first s0.t0.c1.r1: computed" in said
    assert any("1 file in the lists that is no LOB of the source, the first" in each for each in said)


@pytest.mark.parametrize(
    "form",
    [
        "{value} *{name}\n",
        "{value} {name}\n",
        "{value}\t{name}\r\n",
        "MD5 ({name}) = {value}\n",
        "{value}  ./{name}\n\n",
    ],
)
def test_lists_are_read_in_every_form(metspack: Commands, folder: Path, tmp_path: Path, form: str) -> None:
    name = listed(tmp_path / "list", folder, "md5", form=form)
    outcome = metspack("build", folder, "-o", tmp_path / "out", TRUST, name, "--json", "-j", "1")
    assert json.loads(outcome.out)["trusted_checksums"]["without"] == 0


def test_what_md5sum_writes_of_strange_names_is_read(tmp_path: Path) -> None:
    for name in ("back\\slash", "line\nfeed"):
        (tmp_path / name).write_bytes(b"strange")
        written = subprocess.run(["md5sum", "--", name], cwd=tmp_path, capture_output=True, check=True)
        (tmp_path / "sums").write_bytes(written.stdout)
        with ChecksumLists([tmp_path / "sums"]) as lists:
            assert lists.unused() == (1, str(tmp_path / name))
            found = lists.of([os.fsencode(tmp_path / "other"), os.fsencode(tmp_path / name)])
            assert found == [(1, "MD5", siards.md5(b"strange"))]
            assert lists.unused() == (0, "")


NAMES = st.text("aZ./ \\\\%*é\r", min_size=1, max_size=5)


@given(st.lists(st.tuples(st.sampled_from("0a"), NAMES), max_size=4), st.sampled_from([32, 64]))
def test_lines_read_together_or_one_by_one_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, str]], digits: int
) -> None:
    path = tmp_path_factory.mktemp("lists") / "sums"
    path.write_bytes("".join(f"{digit * digits}  {name}\n" for digit, name in lines).encode())

    def found() -> object:
        try:
            with ChecksumLists([path]) as lists:
                return list(lists._database.execute("SELECT * FROM listed"))
        except ConfigError as error:
            return error.message

    together = found()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(manifests, "_plain_lines", lambda _block: None)
        assert found() == together


def test_a_bags_manifest_is_read(metspack: Commands, tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    (bag / "data").mkdir(parents=True)
    (bag / "data" / "50%.bin").write_bytes(b"half")
    (bag / "bagit.txt").write_text("BagIt-Version: 1.0\n", encoding="utf-8")
    value = hashlib.sha256(b"half").hexdigest()
    (bag / "manifest-sha256.txt").write_text(f"{value} data/50%25.bin\n", encoding="utf-8")
    listing = tmp_path / "list.csv"
    listing.write_text("schema,table,column,row,path\n0,0,1,1,data/50%.bin\n", encoding="utf-8")
    given = ("--base", bag, "-o", tmp_path / "out", TRUST, bag / "manifest-sha256.txt")
    outcome = metspack("build", listing, *given, "--json")
    assert json.loads(outcome.out)["trusted_checksums"]["taken"] == 1


def test_a_package_is_converted_by_its_own_manifests_and_mets(
    metspack: Commands, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    metspack("build", folder, "-o", out)
    metspack("convert", out, "-o", tmp_path / "computed", "--layout", "siard22")
    mets = next(out.glob("*/mets.xml"))
    for number, names in enumerate([(mets,), (out / "manifest-md5.txt", out / "manifest-sha256.txt")]):
        trusts = [word for name in names for word in (TRUST, str(name))]
        new = tmp_path / f"new{number}"
        outcome = metspack("convert", out, "-o", new, "--layout", "siard22", *trusts, "--json")
        assert json.loads(outcome.out)["trusted_checksums"]["taken"] == len(names) * len(CONTENTS), outcome
        assert tree(new) == tree(tmp_path / "computed")


def test_digests_in_cells_are_taken(metspack: Commands, northwind: Path, tmp_path: Path) -> None:
    assert metspack("build", northwind, "-o", tmp_path / "computed", "-j", "1").code == 0
    given = ("--spot-check", "50%", "--json", "-j", "1")
    outcome = metspack("build", northwind, "-o", tmp_path / "out", TRUST, "siard", *given)
    assert json.loads(outcome.out)["trusted_checksums"] == {
        "taken": 8,
        "computed": 8,
        "compared": 4,
        "without": 0,
    }
    assert tree(tmp_path / "out") == tree(tmp_path / "computed")


@pytest.mark.parametrize("size", [3, len(LARGE)])
def test_a_wrong_digest_in_a_cell_is_found_when_it_is_compared(
    metspack: Commands, tmp_path: Path, size: int
) -> None:
    source = archive_with_lobs_beside(tmp_path / "source", (LARGE[:size],), wrong=0)
    outcome = metspack("build", source, "-o", tmp_path / "out", TRUST, "siard", "--spot-check", "100%")
    assert (outcome.code, "LOB s0.t0.c2.r1" in outcome.err) == (3, True), outcome


def test_a_list_that_contradicts_a_cell_is_refused(metspack: Commands, tmp_path: Path) -> None:
    source = archive_with_lobs_beside(tmp_path / "source", (b"one", b"two"))
    name = listed(tmp_path / "list", source.parent, "md5", wrong="lob1.bin")
    outcome = metspack("build", source, "-o", tmp_path / "out", TRUST, name)
    assert outcome.code == 3
    assert outcome.err.startswith("error: LOB s0.t0.c2.r2 ('lob1.bin') has the MD5 ")
    assert f"in its cell, but {'0' * 32} in the list" in outcome.err


def test_a_share_in_a_file_waits_for_checksums_to_be_trusted(
    metspack: Commands, northwind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METSPACK_SPOT_CHECK", "100%")
    assert metspack("build", northwind, "-o", tmp_path / "computed", "-q").code == 0
    outcome = metspack("build", northwind, "-o", tmp_path / "out", TRUST, "siard", "--json")
    assert json.loads(outcome.out)["trusted_checksums"]["compared"] == 8


def test_parts_are_computed(metspack: Commands, northwind: Path, tmp_path: Path) -> None:
    source = segmented_folders.dbptk_22(tmp_path / "x", segmented_folders.pictures(northwind))
    plain = metspack("convert", source, "-o", tmp_path / "computed", "--json", "--max-bytes", "10000")
    assert plain.code == 0, plain
    outcome = metspack(
        "convert", source, "-o", tmp_path / "out", "--json", "--max-bytes", "10000", TRUST, "siard"
    )
    said = json.loads(outcome.out)["trusted_checksums"]
    assert said["without"] > 0
    assert tree(tmp_path / "out") == tree(tmp_path / "computed")


def test_premis_says_whose_digests_were_taken(metspack: Commands, northwind: Path, tmp_path: Path) -> None:
    csip = ("--dialect", "csip", "--id", "A-1")
    out = tmp_path / "out"
    assert metspack("build", northwind, "-o", out, *csip, TRUST, "siard", "--spot-check", "2%").code == 0
    said = [path.read_text(encoding="utf-8") for path in out.rglob("premis.xml")]
    words = "taken from the cells of the archive; of the LOBs that have one there 2% were read and compared."
    assert any(words in each for each in said)
    assert not any("digests of all files of the representation" in each for each in said)
    assert metspack("check", out).code == 0


def test_the_choice_of_what_is_compared_depends_on_the_content_alone(
    metspack: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    column = tmp_path / "lobs" / COLUMN
    column.mkdir(parents=True)
    for number in range(150):
        (column / f"record{number}.bin").write_bytes(b"%d" % number)
    trusts = [
        word
        for each in ("md5", "sha256")
        for word in (TRUST, listed(tmp_path / each, tmp_path / "lobs", each))
    ]
    read = computed(monkeypatch)
    numbers = set()
    for place, jobs in (("one", "1"), ("two", "2")):
        given = (
            "-o",
            tmp_path / place,
            "-j",
            jobs,
            "--link-mode",
            "hardlink",
            "--spot-check",
            "3%",
            "--json",
        )
        outcome = metspack("build", tmp_path / "lobs", *given, *trusts)
        numbers.add(json.loads(outcome.out)["trusted_checksums"]["compared"])
    assert numbers == {5}  # 4.5, rounded up
    assert len(read) >= 5


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"abc  file\n", "line 1 is not a checksum and a path: 'abc  file'"),
        (b"\n" + b"0" * 32 + b"\n", "line 2 is not a checksum and a path"),
        (b"SHA256 (file) = " + b"0" * 32 + b"\n", "line 1 is not a checksum and a path"),
        (b"x" * 70_000, "line 1 is not a checksum and a path"),
        (b"<mets", "cannot be read"),
        (b"<other/>", "cannot be read"),
        (b"0" * 32 + b"  a\n" + b"1" * 32 + b"  ./a\n", "the lists have two MD5 checksums of"),
    ],
)
def test_a_list_that_is_none_is_refused(
    metspack: Commands, folder: Path, tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "list").write_bytes(content)
    outcome = metspack("build", folder, "-o", tmp_path / "out", TRUST, tmp_path / "list")
    assert (outcome.code, words in outcome.err, "\nhint: " in outcome.err) == (2, True, True), outcome
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((TRUST, "siard"), "--trust-checksums siard requires a SIARD archive"),
        ((TRUST, "nowhere"), "--trust-checksums nowhere is not a file"),
        (("--spot-check", "1%"), "--spot-check requires --trust-checksums"),
        ((TRUST, __file__, "--spot-check", "1"), "--spot-check '1' is not a percentage"),
        ((TRUST, __file__, "--spot-check", "101%"), "--spot-check '101%' is not a percentage"),
    ],
)
def test_options_that_make_no_sense_are_refused_at_once(
    metspack: Commands, folder: Path, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    outcome = metspack("build", folder, "-o", tmp_path / "out", *options)
    assert (outcome.code, words in outcome.err) == (2, True), outcome


def test_known_digests_are_not_computed() -> None:
    hashers = Hashers(("MD5", "SHA-256"), {"MD5": "given"})
    hashers.update(b"one")
    assert hashers.computes
    assert hashers.copy().digest("MD5").value == hashers.digest("MD5").value == "given"
    assert hashers.digest("SHA-256").value == hashlib.sha256(b"one").hexdigest()
    assert not Hashers(("MD5",), {"MD5": "given"}).computes


def test_a_list_may_not_be_readable(
    metspack: Commands, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = listed(tmp_path / "list", folder, "md5")
    opened = reading.opened

    def refuse(path: Path, *names: object) -> int:
        if path == name:
            raise PermissionError(13, "Permission denied")
        return opened(path, *names)  # type: ignore[arg-type]

    monkeypatch.setattr(reading, "opened", refuse)
    outcome = metspack("build", folder, "-o", tmp_path / "out", TRUST, name)
    assert (outcome.code, "cannot be read: Permission denied" in outcome.err) == (2, True)


def test_a_sum_of_a_lob_in_a_zip_file_is_of_the_cell_alone(metspack: Commands, tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "a.siard", b"one", LARGE)
    outcome = metspack(
        "build", source, "-o", tmp_path / "out", TRUST, listed(tmp_path / "l", tmp_path, "md5"), "--json"
    )
    assert json.loads(outcome.out)["trusted_checksums"] == {
        "taken": 0,
        "computed": 4,
        "compared": 0,
        "without": 2,
    }
