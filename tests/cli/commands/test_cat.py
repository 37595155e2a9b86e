"""``metspack cat``: LOBs and ranges of them, shard files, and what cannot be given."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from metspack import cli
from metspack.cli import console
from tests.cli.conftest import Outcome, Program
from tests.packages import forge
from tests.restoring import splitting
from tests.restoring.damages import DAMAGES
from tests.restoring.splitting import LOBS, SPLIT, Lob
from tests.tables import tabled

WHOLE = LOBS[1].data


class Cat:
    """Runs commands in this process, with the bytes that they print caught."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsysbinary

    def run(self, *arguments: str | Path) -> tuple[Outcome, bytes]:
        self._monkeypatch.setattr(sys, "argv", ["metspack", *map(str, arguments)])
        self._capsys.readouterr()
        code = cli._run()
        words = self._capsys.readouterr()
        return Outcome(code=code, out="", err=words.err.decode()), words.out

    def __call__(self, *arguments: str | Path) -> bytes:
        """Give what ``cat`` gives when all is well."""
        outcome, out = self.run("cat", *arguments)
        assert (outcome.code, outcome.err) == (0, "")
        return out

    def refused(self, *arguments: str | Path, code: int = 3) -> str:
        """Return the error of a ``cat`` without output."""
        outcome, out = self.run("cat", *arguments)
        assert (outcome.code, out) == (code, b""), outcome.err
        assert outcome.err.startswith("error: ")
        assert "\nhint: " in outcome.err
        return outcome.err


@pytest.fixture
def cat(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes], signals: None) -> Cat:
    del signals
    monkeypatch.setenv("NO_COLOR", "1")
    return Cat(monkeypatch, capsysbinary)


def test_a_split_lob_is_given_whole_and_nothing_else(cat: Cat, root: Path) -> None:
    assert cat(root, SPLIT) == WHOLE
    assert cat(root / "mets.xml", SPLIT, "--no-verify") == WHOLE
    for lob in LOBS:
        assert cat(root, lob.id) == lob.data


@pytest.mark.parametrize("verify", [(), ("--no-verify",)])
def test_ranges_are_slices(cat: Cat, root: Path, verify: tuple[str, ...]) -> None:
    assert cat(root, SPLIT, "--range", "3-20", *verify) == WHOLE[3:21]
    assert cat(root, SPLIT, "--range", "-9", "--range", "0-1", *verify) == WHOLE[-9:] + WHOLE[:2]


def test_unproven_bytes_are_given_with_a_warning(cat: Cat, root: Path) -> None:
    child = root / splitting.mets(1)
    stated = f'CHECKSUM="{forge.md5(LOBS[1].pieces[1])}" CHECKSUMTYPE="MD5"'
    splitting.edit(child, stated, "")
    outcome, out = cat.run("cat", root, SPLIT, "--range", "16-20")
    assert (outcome.code, out) == (0, WHOLE[16:21])
    part_name = f"Northwind_lobseg_1/{LOBS[1].path(1)}"
    assert outcome.err.startswith(
        f"warning: LOB {SPLIT}: METS gives no digest of {part_name}: its bytes could not be verified"
    )
    assert cat(root, SPLIT, "--range", "16-20", "--no-verify") == WHOLE[16:21]
    assert cat(root, SPLIT) == WHOLE  # the whole's digest proves it


@pytest.mark.parametrize("late", [False, True])
def test_a_damaged_lob_is_not_given_as_a_good_one(cat: Cat, root: Path, late: bool) -> None:
    damage = next(each for each in DAMAGES if each.late == late)
    damage.change(root)
    outcome, out = cat.run("cat", root, SPLIT)
    assert outcome.code == 3
    assert re.search(damage.message, outcome.err), outcome.err
    assert f"LOB {SPLIT}" in outcome.err
    assert "\nhint: " in outcome.err
    assert bool(out) == damage.late
    if damage.late:
        assert (
            f"  the output ends after {len(out):,} bytes; what was written is incomplete or wrong"
            in outcome.err
        )
    # The others are given all the same.
    assert cat(root, LOBS[0].id) == LOBS[0].data


@tabled
def test_a_missing_lob_is_named_with_the_likeliest(cat: Cat, root: Path, lob: str, words: str) -> None:
    assert words in cat.refused(root, lob)


def test_without_its_archive_a_lob_is_proven_by_mets_on_request(cat: Cat, root: Path) -> None:
    (root / "Northwind.siard").unlink()
    words = cat.refused(root, SPLIT)
    assert f"error: LOB {SPLIT} cannot be verified by its cell: Northwind.siard cannot be opened" in words
    assert "hint: --range 0- verifies it only by METS, and --no-verify writes it unverified." in words
    assert cat(root, SPLIT, "--range", "0-") == cat(root, SPLIT, "--no-verify") == WHOLE


# Shard files


@pytest.mark.parametrize("form", ["json", "doms"])
def test_what_shards_writes_is_given_back(cat: Cat, root: Path, tmp_path: Path, form: str) -> None:
    outcome, written = cat.run("shards", root, "--format", form)
    assert (outcome.code, outcome.err) == (0, "")
    path = tmp_path / "shards"
    path.write_bytes(written)
    for lob in LOBS:
        assert cat("--shard", path, "--root", root, "--lob", lob.id) == lob.data
    assert "has 3 shards: s0.t2.c4.r1, " in cat.refused("--shard", path, "--root", root)


# The output


def test_who_stops_reading_ends_it_without_a_word(tmp_path: Path, program: Program) -> None:
    film = tmp_path / "film"
    splitting.forged(film, [Lob(1, (bytes(3_000_000), bytes(3_000_000)))])
    with subprocess.Popen(
        [*program.command, "cat", film, "s0.t2.c4.r1"],
        env=program.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(10) == bytes(10)
        process.stdout.close()
        assert process.wait(60) == 141
        assert process.stderr.read() == b""
    assert signal.SIGPIPE  # 128 + its number, as a shell tells it


@tabled
def test_plain_text_is_distinguished_from_control_codes(data: bytes, is_plain: bool) -> None:
    assert console._is_plain(data) is is_plain


def test_a_terminal_gets_only_plain_text(tmp_path: Path, program: Program) -> None:
    root = splitting.forged(tmp_path / "package", [Lob(1, (b"\x1b[2J",))])
    ours, its = os.openpty()
    try:
        done = program.run(*program.command, "cat", root, "s0.t2.c4.r1", stdout=its)
        assert done.code == 2, done.err
        assert "error: this is not plain text, and stdout is a terminal" in done.err
    finally:
        os.close(its)
        os.close(ours)


def test_a_lob_by_its_table_column_and_key(cat: Cat, northwind: Path, tmp_path: Path) -> None:
    outcome, _ = cat.run("build", northwind, "-o", tmp_path / "out", "-q")
    assert outcome.code == 0
    picture = cat(tmp_path / "out", "s0.t2.c4.r7")
    place = ("--table", "dbo.Categories", "--column", "Picture", "--key", "7")
    assert cat(tmp_path / "out", *place) == picture
    assert cat(tmp_path / "out", "--table", "s0.t2", "--key", "7") == picture
    assert "has the key '99' (dbo.Categories by CategoryID)" in cat.refused(
        tmp_path / "out", *place[:-1], "99", code=2
    )
    assert "metspack list OUT shows" in cat.refused(tmp_path / "out", "--table", "Cats", code=2)
    assert "expected one LOB, found s0.t2.c4.r1 and s0.t2.c4.r2" in cat.refused(
        tmp_path / "out", "--table", "Categories", code=2
    )
    assert "expected one LOB, found none" in cat.refused(tmp_path / "out", "--table", "Orders", code=2)
    assert "the ID of a LOB, or its table" in cat.refused(tmp_path / "out", "s0.t2.c4.r7", *place, code=2)
