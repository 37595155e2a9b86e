"""Packages damaged at random are repaired from copies; nothing else is touched, or believed unproven."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import metspack
from metspack import BuildOptions, ConfigError, Limits, Repaired, SourceNotFoundError, TargetUnfinishedError
from metspack.errors import Interrupted
from metspack.files import journal, writing
from tests.conftest import CHECKOUT

LOB = "Northwind_lobseg_0/content/schema0/table2/lob4/record0.bin"
MANIFESTS = ("manifest-md5.txt", "manifest-sha256.txt")


def tree(folder: Path) -> dict[str, bytes]:
    """Return all files by path; a link stands for what it says."""
    return {
        str(path.relative_to(folder)): os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or not path.is_dir()
    }


def errors(package: Path) -> list[str]:
    return [each.code for each in metspack.check(package) if each.severity.value == "error"]


OPTIONS = BuildOptions(limits=Limits(files=4, bytes=45_000), name="Northwind", jobs=1)
FORMS = {
    "recommendation": OPTIONS,
    "csip": replace(OPTIONS, dialect="csip"),
    "split": replace(OPTIONS, limits=Limits(bytes=9_000)),
    "packed": replace(OPTIONS, pack="zip"),
    "siard22": replace(OPTIONS, layout="siard22"),
}


def drawn(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 -- any damage will do


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("packages")
    source = CHECKOUT / "samples" / "northwind" / "Northwind.siard"
    for form, options in FORMS.items():
        metspack.build(source, home / form, options)
    return {form: home / form for form in FORMS}


def copies_of(package: Path, home: Path, count: int = 3) -> list[Path]:
    found = [home / name for name in ("out", "one", "two")[:count]]
    for each in found:
        shutil.copytree(package, each)
    return found


def flip(draw: random.Random, file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    file.write_bytes(data)


def delete(_draw: random.Random, file: Path) -> None:
    file.unlink()


def truncate(draw: random.Random, file: Path) -> None:
    os.truncate(file, draw.randrange(file.stat().st_size))


def extend(draw: random.Random, file: Path) -> None:
    file.write_bytes(file.read_bytes() + draw.randbytes(draw.randrange(1, 99)))


def overwrite(draw: random.Random, file: Path) -> None:
    """Put another file of the package there."""
    files = [each for each in sorted(file.parent.rglob("*")) if each.is_file() and each != file]
    file.write_bytes(draw.choice(files).read_bytes() if files else b"")


def repeat(draw: random.Random, file: Path) -> None:
    """Write a stretch of it again elsewhere in it."""
    data = file.read_bytes()
    start, at = draw.randrange(len(data)), draw.randrange(len(data))
    file.write_bytes(data[:at] + data[start : start + 40] + data[at:])


KINDS: Sequence[Callable[[random.Random, Path], None]] = (flip, delete, truncate, extend, overwrite, repeat)


def swap(draw: random.Random, folder: Path) -> None:
    """Exchange two files, if both are there still."""
    one, other = draw.sample([each for each in sorted(folder.rglob("*")) if each.is_file()], 2)
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)


def damage(draw: random.Random, copies: Sequence[Path]) -> None:
    """Damage many files, each in all but one of the copies at most."""
    share = draw.choice((0.1, 0.4, 0.9))
    for name in tree(copies[0]):
        if draw.random() < share:
            for copy in draw.sample(copies, draw.randrange(1, len(copies))):
                before = (copy / name).read_bytes()
                draw.choice(KINDS)(draw, copy / name)
                if (copy / name).exists() and (copy / name).read_bytes() == before:
                    (copy / name).unlink()


@pytest.mark.parametrize("seed", range(20))
def test_damaged_in_up_to_all_but_one_of_three_copies_it_is_as_it_was(
    packages: dict[str, Path], tmp_path: Path, seed: int
) -> None:
    package = packages[[*FORMS][seed % len(FORMS)]]
    out, *others = copies_of(package, tmp_path)
    damage(drawn(seed), [out, *others])
    before = [tree(each) for each in others]
    found = metspack.repair(out, others)
    assert found.ok, found
    assert tree(out) == tree(package)
    assert errors(out) == []
    assert [tree(each) for each in others] == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one", "out", "two"]
    again = metspack.repair(out, others)
    assert again.ok
    assert not again.repaired


@pytest.mark.parametrize("seed", range(5))
def test_swapped_files_are_put_back(packages: dict[str, Path], tmp_path: Path, seed: int) -> None:
    out, one = copies_of(packages["recommendation"], tmp_path, 2)
    swap(drawn(seed), out)
    assert metspack.repair(out, one).ok
    assert tree(out) == tree(one)


def test_a_dry_run_says_the_same_and_changes_nothing(packages: dict[str, Path], tmp_path: Path) -> None:
    out, one, two = copies_of(packages["recommendation"], tmp_path)
    damage(drawn(7), [out, one, two])
    (out / LOB).unlink(missing_ok=True)
    before = tree(tmp_path)
    dry = metspack.repair(out, [one, two], dry_run=True)
    assert tree(tmp_path) == before
    assert not dry.ok
    assert dry.is_dry_run
    assert dry.errors is None
    found = metspack.repair(out, [one, two])
    assert found.repaired == dry.repaired
    assert {each.was for each in found.repaired} == {"missing", "damaged"}


@pytest.mark.parametrize("name", [LOB, "Northwind_lobseg_1/mets.xml", "mets.xml", "Northwind.siard"])
@pytest.mark.parametrize("kind", [flip, delete, truncate])
def test_damaged_in_the_same_place_everywhere_it_is_said_and_nothing_changed(
    packages: dict[str, Path],
    tmp_path: Path,
    name: str,
    kind: Callable[[random.Random, Path], None],
) -> None:
    copies = copies_of(packages["recommendation"], tmp_path)
    for each in copies:
        kind(drawn(1), each / name)
    before = tree(tmp_path)
    found = metspack.repair(copies[0], copies[1:])
    assert not found.ok
    assert not found.repaired
    assert name in [each.path for each in found.remaining]
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", MANIFESTS)
@pytest.mark.parametrize("seed", range(6))
def test_a_manifest_damaged_in_the_same_place_everywhere_is_said(
    packages: dict[str, Path], tmp_path: Path, name: str, seed: int
) -> None:
    copies = copies_of(packages["recommendation"], tmp_path)
    for each in copies:
        file = each / name
        lines = file.read_bytes().splitlines(keepends=True)
        at = seed % len(lines)
        digit = b"0" if lines[at][:1] != b"0" else b"1"
        lines[at] = digit + lines[at][1:]
        file.write_bytes(b"".join(lines))
    before = tree(tmp_path)
    found = metspack.repair(copies[0], copies[1:])
    assert not found.ok
    assert not found.repaired
    assert tree(tmp_path) == before
    assert name in [each.path for each in found.remaining]


def test_what_no_copy_has_is_listed_and_the_rest_repaired(packages: dict[str, Path], tmp_path: Path) -> None:
    out, one, two = copies_of(packages["recommendation"], tmp_path)
    lost = LOB.replace("record0", "record1")
    for each in (out, one, two):
        (each / lost).unlink()
    (out / LOB).write_bytes(b"x")
    (one / LOB).unlink()
    found = metspack.repair(out, [one, two])
    assert [(each.path, each.was, each.copy) for each in found.repaired] == [(LOB, "damaged", str(two))]
    assert [(each.path, each.was) for each in found.remaining] == [(lost, "missing")]
    assert not found.ok
    assert (out / LOB).read_bytes() == (two / LOB).read_bytes()


def without_lobs(package: Path) -> None:
    for path in sorted(package.rglob("record*")) + sorted(package.rglob("t*_r*.*")):
        path.unlink()


@pytest.mark.parametrize("form", ["recommendation", "csip", "split", "siard22"])
@pytest.mark.parametrize("source", ["siard", "folder", "restored", "zip", "tar.gz"])
def test_lobs_come_from_copies_of_every_kind(
    packages: dict[str, Path], northwind: Path, tmp_path: Path, form: str, source: str
) -> None:
    out = shutil.copytree(packages[form], tmp_path / "out")
    copy = tmp_path / "copy"
    if source == "siard":
        copy = northwind
    elif source == "folder":
        metspack.restore(packages[form], copy)
    elif source == "restored":
        copy = tmp_path / "copy.siard"
        metspack.restore_siard(packages[form], copy)
    else:
        kind = {"zip": "zip", "tar.gz": "gztar"}[source]
        copy = Path(shutil.make_archive(str(copy), kind, packages[form].parent, form))
    without_lobs(out)
    assert tree(out) != tree(packages[form])
    found = metspack.repair(out, [copy])
    assert found.ok, found
    assert {each.copy for each in found.repaired} == {str(copy)}
    assert tree(out) == tree(packages[form])


@pytest.mark.parametrize("kind", [flip, extend, truncate])
def test_with_every_file_damaged_in_two_of_three_copies_the_third_is_enough(
    packages: dict[str, Path], tmp_path: Path, kind: Callable[[random.Random, Path], None]
) -> None:
    out, one, two = copies_of(packages["recommendation"], tmp_path)
    for number, copy in enumerate((out, one)):
        for name in tree(two):
            kind(drawn(number), copy / name)
    found = metspack.repair(out, [one, two])
    assert found.ok, found
    assert tree(out) == tree(two)


def test_children_that_are_packed_in_the_copy_are_looked_into(
    packages: dict[str, Path], tmp_path: Path
) -> None:
    out = shutil.copytree(packages["recommendation"], tmp_path / "out")
    without_lobs(out)
    found = metspack.repair(out, packages["packed"])
    assert found.ok, found
    assert tree(out) == tree(packages["recommendation"])


def test_a_copy_of_another_package_is_not_believed(
    packages: dict[str, Path], northwind_full: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    metspack.build(northwind_full, other, OPTIONS)
    out = shutil.copytree(packages["recommendation"], tmp_path / "out")
    (out / "manifest-md5.txt").unlink()
    (out / "manifest-sha256.txt").unlink()
    (out / LOB).write_bytes(b"x")
    before = tree(out)
    found = metspack.repair(out, other)
    assert not found.ok
    assert not found.repaired
    assert tree(out) == before


def test_a_copy_from_before_something_was_added_takes_nothing_back(
    packages: dict[str, Path], northwind_full: Path, tmp_path: Path
) -> None:
    out, old = copies_of(packages["recommendation"], tmp_path, 2)
    metspack.add(out, northwind_full)
    right = tree(out)
    (out / LOB).unlink()
    assert metspack.repair(out, old).ok
    assert tree(out) == right
    flip(drawn(3), out / "manifest-md5.txt")
    before = tree(out)
    assert not metspack.repair(out, old).ok
    assert tree(out) == before


def rewritten(copy: Path, name: str, data: bytes) -> None:
    """Replace a file, and its digests in both manifests, as somebody would who hides it."""
    old = (copy / name).read_bytes()
    (copy / name).write_bytes(data)
    for manifest, function in zip(MANIFESTS, (hashlib.md5, hashlib.sha256), strict=True):
        text = (copy / manifest).read_text(encoding="utf-8")
        new = text.replace(function(old).hexdigest(), function(data).hexdigest())
        (copy / manifest).write_text(new, encoding="utf-8")


def test_a_hostile_copy_gives_nothing_that_the_package_does_not_prove(
    packages: dict[str, Path], tmp_path: Path
) -> None:
    out, one = copies_of(packages["recommendation"], tmp_path, 2)
    data = (one / LOB).read_bytes()
    secret = tmp_path / "secret"
    secret.write_bytes(data)
    (one / LOB).unlink()
    (one / LOB).symlink_to(secret)
    (out / LOB).unlink()
    found = metspack.repair(out, one)
    assert [each.path for each in found.remaining] == [LOB]
    shutil.copy(secret, out / LOB)
    (one / LOB).unlink()
    (one / LOB).write_bytes(data)
    before = tree(out)
    rewritten(one, LOB, b"forged")
    assert metspack.repair(out, one).ok
    assert tree(out) == before
    (out / MANIFESTS[0]).unlink()
    before = tree(out)
    metspack.repair(out, one)
    assert (out / LOB).read_bytes() == data
    assert {name: bytes_ for name, bytes_ in tree(out).items() if name != MANIFESTS[0]} == before
    evil = tmp_path / "evil.zip"
    with zipfile.ZipFile(evil, "w") as file:
        file.writestr("../../escaped", b"x")
        file.writestr("/mets.xml", b"<mets/>")
    (out / LOB).unlink()
    found = metspack.repair(out, evil)
    assert not found.ok
    assert not (tmp_path.parent / "escaped").exists()


def test_paths_that_lead_out_of_the_package_are_not_written(
    packages: dict[str, Path], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    out, one = copies_of(packages["recommendation"], home, 2)
    for each in (out, one):
        for manifest, function in zip(MANIFESTS, (hashlib.md5, hashlib.sha256), strict=True):
            with (each / manifest).open("a", encoding="utf-8") as file:
                file.write(f"{function(b'x').hexdigest()}  ../escaped\n")
    (home / "escaped").write_bytes(b"x")
    before = tree(home)
    metspack.repair(out, one)
    assert tree(home) == before


def test_a_link_in_place_of_a_file_is_replaced_and_not_followed(
    packages: dict[str, Path], tmp_path: Path
) -> None:
    out, one = copies_of(packages["recommendation"], tmp_path, 2)
    outside = tmp_path / "outside"
    outside.write_bytes(b"outside")
    (out / LOB).unlink()
    (out / LOB).symlink_to(outside)
    assert metspack.repair(out, one).ok
    assert tree(out) == tree(one)
    assert outside.read_bytes() == b"outside"


@pytest.mark.parametrize("call", ["open", "read"])
def test_a_copy_that_cannot_be_read_is_said_to_be_so(
    packages: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    out, one = (Path(shutil.copytree(packages["recommendation"], tmp_path / each)) for each in ("out", "one"))
    (out / LOB).unlink()
    inode, real = (one / LOB).stat().st_ino, os.fstat

    def failing(descriptor: int, *_: int) -> Any:
        if real(descriptor).st_ino == inode:
            raise OSError(errno.EIO, "Input/output error")
        return real(descriptor)

    def failing_to_read(descriptor: int, size: int, at: int) -> bytes:
        failing(descriptor)
        return pread(descriptor, size, at)

    pread = os.pread
    with monkeypatch.context() as broken:
        if call == "open":
            broken.setattr(os, "fstat", failing)
        else:
            broken.setattr(os, "pread", failing_to_read)
        done = metspack.repair(out, [one])
    assert [each.path for each in done.remaining] == [LOB]
    assert done.remaining[0].reason.endswith("has it, and it cannot be read: Input/output error")
    assert metspack.repair(out, [one]).ok


def test_what_is_in_the_way_is_said(packages: dict[str, Path], tmp_path: Path) -> None:
    out, one = copies_of(packages["recommendation"], tmp_path, 2)
    (out / LOB).unlink()
    (out / LOB).mkdir()
    shutil.rmtree(out / "Northwind_lobseg_2")
    (out / "Northwind_lobseg_2").write_bytes(b"")
    found = metspack.repair(out, one)
    assert not found.repaired
    reasons = {each.path: each.reason for each in found.remaining}
    assert reasons[LOB] == "a folder is in its place: move it away"
    assert reasons["Northwind_lobseg_2/mets.xml"].startswith("Northwind_lobseg_2 is in the way")


@pytest.mark.parametrize("as_file", [False, True])
def test_a_seal_decides(packages: dict[str, Path], tmp_path: Path, *, as_file: bool) -> None:
    out, one = copies_of(packages["recommendation"], tmp_path, 2)
    lines = [
        (name, hashlib.sha256((one / name).read_bytes()).hexdigest()) for name in (*MANIFESTS, "mets.xml")
    ]
    seal: str | Path = _value(lines)
    if as_file:
        text = f"seal: {seal}\n" + "".join(f"{digest}  {name}\n" for name, digest in lines)
        seal = tmp_path / "seal"
        seal.write_text(text, encoding="utf-8")
    rewritten(out, LOB, b"forged")
    assert metspack.repair(out, one).errors is not None
    found = metspack.repair(out, one, seal=seal)
    assert found.ok
    assert tree(out) == tree(one)
    rewritten(out, LOB, b"forged")
    rewritten(one, LOB, b"forged")
    before = tree(out)
    found = metspack.repair(out, one, seal=seal)
    assert not found.ok
    assert not found.repaired
    assert tree(out) == before


def _value(lines: Sequence[tuple[str, str]]) -> str:
    text = "".join(f"{digest}  {name}\n" for name, digest in lines)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def killed(out: Path, one: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """Repair, and yield what lies on disk after each step: what a kill at that moment would leave."""
    found: list[tuple[str, Path]] = []
    record, move, supersede = writing.Journal.record, writing.move, writing.supersede

    def keep(name: str) -> None:
        found.append((name, home / f"{len(found)}"))
        shutil.copytree(out.parent, found[-1][1])

    def recording(log: writing.Journal, **event: object) -> None:
        record(log, **event)
        keep(f"record {event['event']}")

    def moving(source: Path, target: Path) -> None:
        move(source, target)
        keep("move")

    def superseding(staged: Path, target: Path) -> None:
        supersede(staged, target)
        keep("supersede")

    with monkeypatch.context() as patched:
        patched.setattr(writing.Journal, "record", recording)
        patched.setattr(writing, "move", moving)
        patched.setattr(writing, "supersede", superseding)
        metspack.repair(out, one)
    yield from found


def test_killed_at_any_step_the_state_is_known_and_the_same_command_goes_on(
    packages: dict[str, Path], northwind_full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, right = tmp_path / "home", tree(packages["recommendation"])
    home.mkdir()
    out, one = copies_of(packages["recommendation"], home, 2)
    (out / LOB).write_bytes(b"x")
    (out / "mets.xml").unlink()
    shutil.rmtree(out / "Northwind_lobseg_1")
    (out / "manifest-md5.txt").write_bytes(b"")
    seen = []
    for name, state in killed(out, one, tmp_path, monkeypatch):
        begun = state / "out"
        found = journal.interrupted(begun)
        seen.append(name)
        if found is not None:
            assert errors(begun) == ["M018"], name
            assert metspack.status(begun).state == "stopped"
            assert metspack.status(begun).command == "repair"
            with pytest.raises(TargetUnfinishedError):
                metspack.repair(begun, one, dry_run=True)
            with pytest.raises(TargetUnfinishedError):
                metspack.add(begun, northwind_full)
        assert metspack.repair(begun, state / "one").ok
        assert tree(begun) == right, name
        assert sorted(each.name for each in state.iterdir()) == ["one", "out"]
    assert {"move", "supersede", "record putting", "record done"} <= set(seen)


def test_after_an_error_on_the_way_all_is_as_it_was(
    packages: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, one = copies_of(packages["recommendation"], tmp_path, 2)
    (out / LOB).write_bytes(b"x")
    flip(drawn(1), out / "mets.xml")
    before = tree(tmp_path)
    supersede = writing.supersede
    done = []

    def failing(staged: Path, target: Path) -> None:
        done.append(target)
        if len(done) == 2:
            raise KeyboardInterrupt
        supersede(staged, target)

    monkeypatch.setattr(writing, "supersede", failing)
    with pytest.raises(KeyboardInterrupt):
        metspack.repair(out, one)
    assert tree(tmp_path) == before


def test_without_manifests_the_mets_prove_the_rest(packages: dict[str, Path], tmp_path: Path) -> None:
    out, one = copies_of(packages["recommendation"], tmp_path, 2)
    for name in MANIFESTS:
        (out / name).unlink()
        (one / name).unlink()
    (out / LOB).write_bytes(b"x")
    (out / "Northwind_lobseg_1/mets.xml").unlink()
    right = tree(one)
    assert {each.path for each in metspack.repair(out, one).repaired} == {LOB, "Northwind_lobseg_1/mets.xml"}
    assert tree(out) == right


def test_a_copy_too_damaged_to_be_read_is_passed_over(packages: dict[str, Path], tmp_path: Path) -> None:
    out, one = copies_of(packages["recommendation"], tmp_path, 2)
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK")
    (out / LOB).unlink()
    found: Repaired = metspack.repair(out, [broken, one])
    assert found.ok
    assert [path for path, _ in found.unread] == [str(broken)]


def test_wrong_calls(packages: dict[str, Path], tmp_path: Path) -> None:
    (out,) = copies_of(packages["recommendation"], tmp_path, 1)
    text = tmp_path / "text.txt"
    text.write_bytes(b"x")
    for copies in ([], [out], [out / "mets.xml"], [text]):
        with pytest.raises(ConfigError):
            metspack.repair(out, copies)
    with pytest.raises(ConfigError):
        metspack.repair(text, [out])
    with pytest.raises(ConfigError):
        metspack.repair(out, [out], seal="nothing")
    for package, copy in ((out, tmp_path / "none"), (tmp_path / "none", out)):
        with pytest.raises(SourceNotFoundError):
            metspack.repair(package, [copy])


def test_an_interruption_while_a_file_is_closed_is_not_lost(
    packages: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Python closes by itself, as what is left to the end of a generator, swallows an interruption."""
    out, one = copies_of(packages["recommendation"], tmp_path, 2)
    (out / LOB).unlink()
    close = os.close
    closed: list[str] = []

    def interrupted(descriptor: int) -> None:
        name = os.readlink(f"/proc/self/fd/{descriptor}")
        close(descriptor)
        if name.startswith(str(tmp_path)):
            closed.append(name)
            if len(closed) == at:
                raise Interrupted(2)

    for at in range(1, 200):
        closed.clear()
        with monkeypatch.context() as patched:
            patched.setattr(os, "close", interrupted)
            try:
                metspack.repair(out, [one], dry_run=True)
            except Interrupted:
                continue
        assert len(closed) < at, f"lost while {closed[at - 1]} was closed"
        break
    assert at > 20
