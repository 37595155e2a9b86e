"""``check --ledger``: which files were verified when, which are due, and a check that goes on."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from metspack import CheckOptions, check, clock
from metspack.checking.files import fixity
from metspack.errors import ConfigError, Interrupted, SourceError, TargetError
from metspack.files import journal, reading
from metspack.files.writing import RunJournal
from tests import siards
from tests.cli.conftest import Commands
from tests.cli.test_json import schema
from tests.kept import copied

pytestmark = pytest.mark.usefixtures("one_clock")

FORMS = (
    ((), "full"),
    (("--dialect", "csip", "--pack", "tar"), "full"),
    (("--split", "fill", "--max-bytes", "7"), "fixity"),
)
LOBS = tuple(f"content {number}".encode() for number in range(8))


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Days that have passed for the clock."""
    passed = {"days": 0}
    true = clock.ago

    def ago(seconds: int) -> str:
        moment = datetime.fromisoformat(true(seconds)) + timedelta(days=passed["days"])
        return clock.xs_datetime(moment)

    monkeypatch.setattr(clock, "ago", ago)
    return passed


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return siards.siard(tmp_path / "Small.siard", *LOBS)


def built(metspack: Commands, source: Path, target: Path, *form: str) -> Path:
    """Return a package of the archive in this form, which is built once."""
    limits = () if "--max-bytes" in form else ("--max-files", "3")
    words = ("-q", *limits, *form)

    def make(out: Path) -> None:
        done = metspack("build", source, "-o", out, *words)
        assert done.code == 0, done
        assert not done.err or "--max-bytes" in form, done  # which warns that 7 bytes are few

    return copied((LOBS, words), target, make)


@pytest.fixture
def out(metspack: Commands, source: Path, tmp_path: Path) -> Path:
    return built(metspack, source, tmp_path / "out")


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "out.ledger"


def figures(metspack: Commands, package: Path, ledger: Path, *options: str, code: int = 0) -> tuple[int, int]:
    """Return how many files a check read and took from the ledger."""
    done = metspack("check", package, "--ledger", ledger, "--json", *options)
    assert done.code == code, done
    report = json.loads(done.out)
    schema("check-report").validate(report)
    found = report["ledger"]
    assert (found["oldest"] is None) is (found["taken"] == 0)
    return found["read"], found["taken"]


def events(ledger: Path) -> list[dict[str, Any]]:
    found = [journal.unsealed(line) for line in ledger.read_bytes().splitlines(keepends=True)]
    assert None not in found
    return [each for each in found if each is not None]


def lob(package: Path, number: int = 0) -> Path:
    return next(path for path in package.rglob("*") if path.is_file() and path.read_bytes() == LOBS[number])


def damage(path: Path) -> None:
    """Change a byte, and neither size nor time."""
    status = path.stat()
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.slow
@pytest.mark.parametrize(("form", "level"), FORMS)
def test_what_is_not_due_is_not_read(
    metspack: Commands, source: Path, tmp_path: Path, form: tuple[str, ...], level: str
) -> None:
    package, ledger = built(metspack, source, tmp_path / "out", *form), tmp_path / "out.ledger"
    plain = json.loads(metspack("check", package, "--level", level, "--json").out)
    read, taken = figures(metspack, package, ledger, "--level", level)
    assert (read > len(LOBS), taken) == (True, 0)
    assert figures(metspack, package, ledger, "--level", level) == (read, 0), "all is verified anew"
    assert figures(metspack, package, ledger, "--level", level, "--older-than", "90d") == (0, read)
    again = json.loads(
        metspack("check", package, "--level", level, "--json", "--ledger", ledger, "--older-than", "2w").out
    )
    assert again["findings"] == plain["findings"]
    assert {**again["counts"], "bytes": 0} == {**plain["counts"], "bytes": 0}


def test_what_is_due_is_read(metspack: Commands, out: Path, ledger: Path, later: dict[str, int]) -> None:
    read, _ = figures(metspack, out, ledger)
    later["days"] = 89
    assert figures(metspack, out, ledger, "--older-than", "90d") == (0, read)
    assert figures(metspack, out, ledger, "--older-than", "2136h") == (read, 0), "89 days"
    later["days"] = 100
    assert figures(metspack, out, ledger, "--older-than", "12w") == (0, read)
    later["days"] = 179
    assert figures(metspack, out, ledger, "--older-than", "90d") == (read, 0)
    later["days"] = 0
    assert figures(metspack, out, ledger, "--older-than", "90d") == (read, 0), "times to come prove nothing"


def test_the_oldest_file_is_stated(
    metspack: Commands, out: Path, ledger: Path, later: dict[str, int], tmp_path: Path
) -> None:
    figures(metspack, out, ledger)
    again = lob(out)
    files = [each for each in events(ledger) if each["event"] == "file"]
    first = min(each["time"] for each in files if each["path"] != str(again.relative_to(out)))
    later["days"] = 10
    os.utime(again)
    reports = [word for form in ("html", "txt", "jsonl") for word in ("--report", tmp_path / f"r.{form}")]
    printed = metspack.fine("check", out, "--ledger", ledger, "--older-than", "90d", *reports)
    words = f"1 file read, 12 taken from the ledger, the oldest verified {first}"
    assert f"; {words}; level full" in printed
    assert words in (tmp_path / "r.txt").read_text()
    assert words in (tmp_path / "r.html").read_text()
    last = json.loads((tmp_path / "r.jsonl").read_text().splitlines()[-1])
    assert last["ledger"] == {"read": 1, "taken": 12, "oldest": first}


def test_damage_that_keeps_size_and_time_is_found_when_it_is_due(
    metspack: Commands, out: Path, ledger: Path, later: dict[str, int]
) -> None:
    read, _ = figures(metspack, out, ledger)
    damage(lob(out))
    assert figures(metspack, out, ledger, "--older-than", "90d") == (0, read)
    later["days"] = 91
    done = metspack("check", out, "--ledger", ledger, "--older-than", "90d")
    assert done.code == 1
    assert "F003" in done.out
    assert figures(metspack, out, ledger, "--older-than", "90d", code=1) == (1, read - 1), "not forgotten"


def test_files_that_changed_are_read_again(metspack: Commands, out: Path, ledger: Path) -> None:
    read, _ = figures(metspack, out, ledger)
    due = ("--older-than", "90d")
    os.utime(lob(out, 0))
    assert figures(metspack, out, ledger, *due) == (1, read - 1), "another time"
    assert figures(metspack, out, ledger, *due) == (0, read)
    other = lob(out, 1)
    shutil.copy2(other, ledger.with_name("copy"))
    ledger.with_name("copy").replace(other)
    assert figures(metspack, out, ledger, *due) == (1, read - 1), "another inode"
    lob(out, 2).write_bytes(b"other")
    assert figures(metspack, out, ledger, *due, code=1) == (1, read - 1), "another size"


def test_a_file_with_another_digest_is_read_again(metspack: Commands, out: Path, ledger: Path) -> None:
    read, _ = figures(metspack, out, ledger)
    manifest = out / "manifest-md5.txt"
    lines = manifest.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.endswith(f"{lob(out).name}\n"))
    lines[at] = f"{'0' * 32}{lines[at][32:]}"
    manifest.write_text("".join(lines))
    done = metspack("check", out, "--ledger", ledger, "--older-than", "90d", "--json")
    report = json.loads(done.out)
    assert report["ledger"]["read"] == 1
    assert "Z015" in {each["code"] for each in report["findings"]} or done.code == 1
    assert report["ledger"]["taken"] == read - 1


@pytest.mark.parametrize("damaged", [False, True])
def test_a_stopped_check_resumes(
    metspack: Commands, out: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch, damaged: bool
) -> None:
    monkeypatch.setattr(fixity, "_FILES_AT_ONCE", 4)
    calls, true = [0], reading.hash_runs

    def stopping(*given: Any) -> Any:
        calls[0] += 1
        if calls[0] == 2:  # the four METS were read before, then four files
            raise Interrupted
        return true(*given)

    monkeypatch.setattr(reading, "hash_runs", stopping)
    done = metspack("check", out, "--ledger", ledger, "-j", "1", "--json")
    assert done.code == 130
    first = json.loads(done.out)
    assert (first["is_complete"], first["ledger"]["read"]) == (False, 8)
    if damaged:  # the last line was cut off
        with ledger.open("r+b") as file:
            file.truncate(ledger.stat().st_size - 9)
    kept = 7 if damaged else 8
    monkeypatch.undo()
    assert figures(metspack, out, ledger, "-j", "1") == (13 - kept, kept)
    assert figures(metspack, out, ledger) == (13, 0), "that one came to its end"


def test_a_mets_that_changes_while_it_is_checked_is_not_kept_as_verified(
    metspack: Commands, out: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child, true = out / "Small_lobseg_1" / "mets.xml", fixity.Fixity.of_files

    def changed(*given: Any, **options: Any) -> Any:
        child.write_bytes(child.read_bytes().replace(b'CREATEDATE="2016', b'CREATEDATE="2017'))
        return true(*given, **options)

    monkeypatch.setattr(fixity.Fixity, "of_files", changed)
    first = metspack("check", out, "--ledger", ledger, "-j", "1", "--summary")
    monkeypatch.undo()
    second = metspack("check", out, "--ledger", ledger, "--older-than", "90d", "--summary")
    assert [each.code for each in (first, second)] == [1, 1], first.out + second.out


def test_what_is_no_longer_there_goes(metspack: Commands, out: Path, ledger: Path) -> None:
    figures(metspack, out, ledger)
    assert len(events(ledger)) == 15
    gone = lob(out)
    path = os.fsdecode(gone.relative_to(out))
    gone.unlink()
    figures(metspack, out, ledger, "--older-than", "90d", code=1)
    assert path not in {each.get("path") for each in events(ledger)}
    assert len(events(ledger)) == 14
    assert sorted(path.name for path in ledger.parent.glob("*ledger*")) == ["out.ledger"]


def test_a_damaged_ledger_is_refused(metspack: Commands, out: Path, ledger: Path) -> None:
    figures(metspack, out, ledger)
    whole = ledger.read_bytes()
    for at in range(20, len(whole) - 60, 397):
        bad = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        ledger.write_bytes(bad)
        done = metspack("check", out, "--ledger", ledger)
        assert done.code == 3, at
        assert f"line {whole.count(10, 0, at) + 1}" in done.err
        assert "Name a new file" in done.err
        assert ledger.read_bytes() == bad


def test_another_packages_ledger(metspack: Commands, out: Path, ledger: Path, tmp_path: Path) -> None:
    figures(metspack, out, ledger)
    before = ledger.read_bytes()
    shutil.copytree(out, tmp_path / "copy")
    metspack("build", tmp_path / "Small.siard", "-o", tmp_path / "other", "--id", "urn:x:1", "-q")
    for other, what in (("copy", "path"), ("other", "OBJID")):
        done = metspack("check", tmp_path / other, "--ledger", ledger)
        assert done.code == 2
        assert f"was made for the package with the {what} " in done.err
        assert "Name a new file" in done.err
    assert ledger.read_bytes() == before


def test_a_check_without_the_first_mets_keeps_the_ledger(metspack: Commands, out: Path, ledger: Path) -> None:
    hidden = out.with_name("mets.xml")
    for is_begun in (False, True):
        (out / "mets.xml").rename(hidden)
        assert metspack("check", out, "--ledger", ledger).code == 1
        assert bool(events(ledger)[0]["objid"]) is is_begun
        hidden.rename(out / "mets.xml")
        figures(metspack, out, ledger)
        assert events(ledger)[0]["objid"]


def test_ledgers_of_another_form_are_refused(metspack: Commands, out: Path, ledger: Path) -> None:
    figures(metspack, out, ledger)
    head, *rest = events(ledger)
    ledger.write_text("".join(f"{journal.sealed(each)}\n" for each in ({**head, "form": 2}, *rest)))
    done = metspack("check", out, "--ledger", ledger)
    assert (done.code, "is of form 2, expected 1" in done.err) == (2, True)
    for text in (
        "notes",
        "notes\n",
        "notes\nof\nmine\n",
        "{}\n",
        "{}",
        '{"event": "ledger", "form": 1}\n{}\n',
    ):
        ledger.write_text(text)
        done = metspack("check", out, "--ledger", ledger)
        assert done.code in {2, 3}, text
        assert "Name a new file" in done.err
        assert ledger.read_text() == text


def test_one_that_was_only_begun_is_continued(metspack: Commands, out: Path, ledger: Path) -> None:
    for text in ("", '{"event": "ledg', '{"event": "ledger", "form": 1'):
        ledger.write_text(text)
        assert figures(metspack, out, ledger) == (13, 0)


def test_places_and_uses_refused(metspack: Commands, out: Path, ledger: Path, tmp_path: Path) -> None:
    inside = metspack("check", out, "--ledger", out / "ledger")
    assert (inside.code, "would lie in the package" in inside.err) == (2, True)
    assert not (out / "ledger").exists()
    shutil.copytree(out, tmp_path / "copy")
    several = metspack("check", out, tmp_path / "copy", "--ledger", ledger)
    assert (several.code, "there are 2" in several.err) == (2, True)
    assert metspack("check", out, "--ledger", tmp_path).code == 2
    assert metspack("check", out, "--ledger", tmp_path / "none" / "ledger").code == 4
    held = RunJournal(ledger)
    in_use = metspack("check", out, "--ledger", ledger)
    held.close()
    assert (in_use.code, "is in use" in in_use.err) == (4, True)


def test_from_python(out: Path, ledger: Path) -> None:
    report = check(out, CheckOptions(ledger=ledger))
    assert not ledger.exists(), "nothing is read before it is asked for"
    assert report.ok
    assert report.to_json()["ledger"] == {"read": 13, "taken": 0, "oldest": None}
    again = check(out, CheckOptions(ledger=str(ledger), older_than="90d"))
    assert again.ok
    assert again.summary.ledger is not None
    assert (again.summary.ledger.read, again.summary.ledger.taken) == (0, 13)
    with pytest.raises(ConfigError, match="requires --ledger"):
        check(out, CheckOptions(older_than="90d"))
    ledger.write_bytes(ledger.read_bytes()[30:])
    with pytest.raises(ConfigError, match="not a ledger"):
        list(check(out, CheckOptions(ledger=ledger)))


def test_damaged_files_are_read_again_despite_an_earlier_success(
    metspack: Commands, out: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check that found damage and was stopped has said so in the ledger."""
    figures(metspack, out, ledger)
    damage(lob(out))
    monkeypatch.setattr("metspack.reporting.store.Ledger.end", lambda _: None)
    assert metspack("check", out, "--ledger", ledger).code == 1
    monkeypatch.undo()
    done = metspack("check", out, "--ledger", ledger, "--older-than", "90d")
    assert done.code == 1
    assert "1 file read" in done.out


def test_a_ledger_with_a_size_that_none_has_is_refused(metspack: Commands, out: Path, ledger: Path) -> None:
    figures(metspack, out, ledger)
    head, first, *rest = events(ledger)
    ledger.write_text(
        "".join(f"{journal.sealed(each)}\n" for each in (head, {**first, "size": 10**40}, *rest))
    )
    done = metspack("check", out, "--ledger", ledger)
    assert done.code == 3
    assert f"{ledger} line 2 is damaged" in done.err


def test_an_unreadable_ledger_is_named(out: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pread

    def refused(descriptor: int, *words: int) -> bytes:
        if os.readlink(f"/proc/self/fd/{descriptor}") == str(ledger):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))  # names no file: it has a number
        return real(descriptor, *words)

    monkeypatch.setattr(os, "pread", refused)
    with pytest.raises((TargetError, SourceError), match=re.escape(str(ledger))):
        check(out, CheckOptions(ledger=ledger)).to_json()
