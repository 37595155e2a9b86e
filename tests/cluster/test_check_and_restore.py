"""``check`` and ``restore --cluster``: findings, reports and restored bytes are those of one machine."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metspack import BuildOptions, Limits, RestoreOptions
from metspack.building import build
from metspack.checking import Checking, looks, segments
from metspack.checking.files import fixity
from metspack.checking.options import CheckOptions
from metspack.errors import ConfigError, TargetError
from metspack.files.mirrors import StorePath
from metspack.model import Finding
from metspack.restoring import files, siard
from tests.cluster.hosts import Hosts, ended, metspack, wait_for
from tests.conftest import CHECKOUT
from tests.trees import names, tree

pytestmark = pytest.mark.slow

BUILD = BuildOptions(created="2026-05-01T12:00:00Z", limits=Limits(files=12, bytes=20_000))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("cluster") / "out"
    build.build(CHECKOUT / "samples" / "northwind" / "Northwind-full.siard", out, BUILD)
    return out


@pytest.fixture(autouse=True)
def _many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "FEW", 1)
    monkeypatch.setattr(segments, "_FILES_AT_ONCE", 2)
    monkeypatch.setattr(fixity, "_FILES_AT_ONCE", 2)
    monkeypatch.setattr(files, "_FILES_AT_ONCE", 4)


def checked(path: Path, cluster: str | None, **options: Any) -> tuple[list[Finding], Any, dict[str, int]]:
    """Return the findings of a check, its summary, and what each worker did."""
    shares: dict[str, int] = {}
    looking = CheckOptions(cluster=cluster, **options).looking()
    run = Checking(path, looking, credit=shares.update)
    return list(run), run.summary, shares


def damaged(package: Path, folder: Path) -> Path:
    """Return a copy of a package with a changed LOB and one that is missing."""
    copy = folder / "out"
    shutil.copytree(package, copy)
    first, second, *_ = sorted(copy.glob("*_lobseg_*/content/*/*/*/*"))
    first.write_bytes(bytes([first.read_bytes()[0] ^ 1]) + first.read_bytes()[1:])
    second.unlink()
    return copy


@pytest.mark.parametrize("is_whole", [True, False])
def test_findings_are_those_of_one_machine(
    is_whole: bool, package: Path, hosts: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = package if is_whole else damaged(package, tmp_path)
    monkeypatch.chdir(path.parent)
    one, counts, _ = checked(Path("out"), None)
    many, same, shares = checked(Path("out"), hosts.address)
    assert (many, same) == (one, counts)
    assert bool(one) is not is_whole
    assert {*shares} <= {"w0", "w1"}
    assert 0 < sum(shares.values()) <= counts.bytes


def test_what_a_worker_cannot_read_is_read_here(package: Path, hosts: Hosts, tmp_path: Path) -> None:
    """A worker that says that a disk is away is no witness against the package."""
    path = damaged(package, tmp_path)
    one, counts, _ = checked(path, None)
    with hosts.saying(unreadable=True):
        many, same, shares = checked(path, hosts.address)
    assert (many, same.errors, same.bytes) == (one, counts.errors, counts.bytes)
    assert not sum(shares.values())


def test_the_report_of_the_command_and_its_log(package: Path, tmp_path: Path) -> None:
    for name, more in (("one", ()), ("many", ("--cluster", "local:2", "--log", tmp_path / "log"))):
        report = tmp_path / f"{name}.json"
        assert ended(metspack("check", package, "--report", report, *more))[0] == 0
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "many.json").read_bytes()
    told = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    (workers,) = (each["bytes"] for each in told if each["event"] == "workers")
    assert {*workers} <= {"0", "1"}
    assert sum(workers.values()) > 0


def test_restored_bytes_are_those_of_one_machine(package: Path, hosts: Hosts, tmp_path: Path) -> None:
    options = RestoreOptions(only=("s0.t2",))
    one = files.restore_files(package, tmp_path / "one", options)
    many = files.restore_files(package, tmp_path / "many", replace(options, cluster=hosts.address))
    assert tree(tmp_path / "many") == tree(tmp_path / "one")
    assert replace(many, target=one.target) == one
    assert names(tmp_path) == {"one", "many"}


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Hosts]:
    """Two slow workers of which a test kills one."""
    with Hosts(tmp_path / "hosts", 2, slow=0.05) as found:
        yield found


def test_a_worker_that_is_killed_changes_nothing(pair: Hosts, package: Path, tmp_path: Path) -> None:
    def kill(worker: int, attempts: int) -> threading.Thread:
        def wait_and_kill() -> None:
            wait_for(lambda: len(pair.attempts()) >= attempts)
            pair.workers[worker].send_signal(signal.SIGKILL)

        thread = threading.Thread(target=wait_and_kill)
        thread.start()
        return thread

    files.restore_files(package, tmp_path / "one")
    killing = kill(0, 4)
    files.restore_files(package, tmp_path / "many", RestoreOptions(cluster=pair.address))
    killing.join()
    assert pair.workers[0].wait(10) == -signal.SIGKILL
    assert tree(tmp_path / "many") == tree(tmp_path / "one")
    assert names(tmp_path) == {"hosts", "one", "many"}
    pair.workers.append(pair.begin_worker("w2"))
    before = len(pair.attempts())
    killing = kill(1, before + 3)
    assert checked(package, pair.address)[:2] == checked(package, None)[:2]
    killing.join()
    assert pair.workers[1].wait(10) == -signal.SIGKILL


def test_a_scheduler_that_is_gone_is_told_and_the_same_command_goes_on(package: Path, tmp_path: Path) -> None:
    out = tmp_path / "lobs"
    with Hosts(tmp_path / "hosts", 1, slow=0.3) as hosts:

        def wait_and_kill() -> None:
            wait_for(lambda: len(hosts.attempts()) >= 4)
            hosts.scheduler.send_signal(signal.SIGKILL)

        killing = threading.Thread(target=wait_and_kill)
        killing.start()
        with pytest.raises(TargetError, match=r"scheduler at .* no longer answers") as raised:
            files.restore_files(package, out, RestoreOptions(cluster=hosts.address))
        killing.join()
    assert "run the same command again" in raised.value.hint
    assert names(tmp_path) == {"hosts", "lobs.partial"}
    files.restore_files(package, tmp_path / "one")
    files.restore_files(package, out)
    assert tree(out) == tree(tmp_path / "one")


def test_workers_that_do_not_see_the_package_are_refused(package: Path, hosts: Hosts, tmp_path: Path) -> None:
    with hosts.saying(blind=str(package)):
        with pytest.raises(TargetError, match=r"worker w[01] does not see ") as raised:
            checked(package, hosts.address)
        with pytest.raises(TargetError, match=r"worker w[01] does not see "):
            files.restore_files(package, tmp_path / "lobs", RestoreOptions(cluster=hosts.address))
    assert "under the same paths" in raised.value.hint
    assert not os.listdir(tmp_path)


def test_what_cannot_be_is_refused(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metspack.cluster._ANSWER", 0.5)
    nobody = "tcp://127.0.0.1:9"
    with pytest.raises(TargetError, match="no Dask scheduler answers at"):
        checked(package, nobody)
    with pytest.raises(TargetError, match="no Dask scheduler answers at"):
        files.restore_files(package, tmp_path / "lobs", RestoreOptions(cluster=nobody))
    with pytest.raises(ConfigError, match="--siard cannot be combined with --cluster"):
        siard.restore_archive(package, tmp_path / "a.siard", options=RestoreOptions(cluster=nobody))
    with pytest.raises(ConfigError, match="cannot be combined with s3://a/b"):
        checked(StorePath("s3://a/b"), nobody)
    with pytest.raises(ConfigError, match="cannot be combined with s3://a/b"):
        files.restore_files(StorePath("s3://a/b"), tmp_path / "lobs", RestoreOptions(cluster=nobody))
    assert not os.listdir(tmp_path)


def test_a_worker_that_stands_still_is_not_waited_for_without_end(
    pair: Hosts, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metspack.cluster._PATIENCE", 1.0)
    monkeypatch.setattr("metspack.cluster._ENDING", 0.5)
    pair.workers[0].send_signal(signal.SIGSTOP)
    with pytest.raises(TargetError, match=r"workers at .* do not all answer within 1 second") as raised:
        files.restore_files(package, tmp_path / "many", RestoreOptions(cluster=pair.address))
    assert "stands still" in raised.value.hint
    assert names(tmp_path) == {"hosts"}


def test_a_scheduler_that_stands_still_is_not_waited_for_without_end(
    pair: Hosts, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metspack.cluster._ENDING", 0.5)
    monkeypatch.setattr("metspack.cluster._LIST_EVERY", 0.1)

    def wait_and_stop() -> None:
        wait_for(lambda: len(pair.attempts()) >= 2)
        # Not sooner: a machine that is busy may take as long to answer the first question.
        monkeypatch.setattr("metspack.cluster._PATIENCE", 1.0)
        pair.scheduler.send_signal(signal.SIGSTOP)

    stopping = threading.Thread(target=wait_and_stop)
    stopping.start()
    with pytest.raises(TargetError, match=r"scheduler at .* no longer answers"):
        files.restore_files(package, tmp_path / "many", RestoreOptions(cluster=pair.address))
    stopping.join()
    assert names(tmp_path) <= {"hosts", "many.partial"}


def test_a_result_that_does_not_come_is_asked_for_again(
    pair: Hosts, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client  # noqa: PLC0415 -- where it is installed

    gather: Any = Client.gather
    asked = Counter[str]()

    def slow_at_first(client: Any, future: Any, **how: Any) -> Any:
        asked[future.key] += 1
        return gather(client, future, **how) if asked[future.key] > 1 else asyncio.sleep(60)

    monkeypatch.setattr(Client, "gather", slow_at_first)
    monkeypatch.setattr("metspack.cluster._PATIENCE", 1.0)
    files.restore_files(package, tmp_path / "many", RestoreOptions(cluster=pair.address))
    assert set(asked.values()) == {2}
    files.restore_files(package, tmp_path / "one")
    assert tree(tmp_path / "many") == tree(tmp_path / "one")
