"""``build --cluster``: real schedulers and workers, and what may become of them; the bytes stay the same."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metspack import BuildOptions, Limits
from metspack.building import build
from metspack.errors import ConfigError, SourceError, TargetError
from metspack.files import journal
from metspack.files.mirrors import StorePath
from tests.cluster.hosts import Hosts, ended, metspack, wait_for
from tests.conftest import CHECKOUT
from tests.laws import seed
from tests.siards import siard
from tests.stages import RecordedStages
from tests.tables import tabled
from tests.trees import names, tree

pytestmark = pytest.mark.slow

OPTIONS = BuildOptions(created="2026-05-01T12:00:00Z", limits=Limits(files=4))
LIMIT = ("--max-files", "2")


def recorded(out: Path) -> list[dict[str, Any]]:
    """Return the segments that the journal beside a target records."""
    path = journal.journal_of(journal.partial_of(out))
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return []
    try:
        events = journal.run_events(descriptor).events
    finally:
        os.close(descriptor)
    return [each for each in events if each["event"] == journal.SEGMENT]


@contextmanager
def ending(command: Any) -> Iterator[None]:
    """Let no command outlive a test that fails."""
    try:
        yield
    finally:
        if command.poll() is None:
            command.kill()
            command.communicate()


@pytest.mark.parametrize(
    "changed",
    [
        {"dialect": "csip", "pack": "zip"},
        {"layout": "siard22", "add_digests": True, "limits": Limits(files=12, bytes=20_000)},
    ],
    ids=" ".join,
)
def test_the_bytes_are_those_of_one_machine(
    changed: dict[str, Any], hosts: Hosts, northwind_full: Path, tmp_path: Path
) -> None:
    options = replace(OPTIONS, **changed)
    one = build.build(northwind_full, tmp_path / "one", options)
    many = build.build(northwind_full, tmp_path / "many", replace(options, cluster=hosts.address))
    assert tree(tmp_path / "many") == tree(tmp_path / "one")
    assert names(tmp_path) == {"one", "many"}
    assert (many.warnings, many.seal) == (one.warnings, one.seal)


def test_a_source_is_found_by_a_relative_path(
    hosts: Hosts, northwind_full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile(northwind_full) as archive:
        archive.extractall("Source.siard")
    build.build(Path("Source.siard"), Path("one"), OPTIONS)
    build.build(Path("Source.siard"), Path("many"), replace(OPTIONS, cluster=hosts.address))
    assert tree(tmp_path / "many") == tree(tmp_path / "one")


def test_progress_tells_all_bytes_once(hosts: Hosts, northwind_full: Path, tmp_path: Path) -> None:
    progress = RecordedStages()
    build.build(northwind_full, tmp_path / "out", replace(OPTIONS, cluster=hosts.address), progress)
    assert progress.stages["Placing"] == (222_707, 222_707)


def test_an_error_names_the_worker(hosts: Hosts, tmp_path: Path) -> None:
    source = siard(tmp_path / "Small.siard", *(b"content %d" % number for number in range(9)))
    data = source.read_bytes()
    source.write_bytes(data.replace(b"content 7", b"c0ntent 7", 1))
    with pytest.raises(SourceError, match=r"record7.*\(worker w[01]\)$"):
        build.build(source, tmp_path / "out", replace(OPTIONS, cluster=hosts.address))
    assert names(tmp_path) == {"Small.siard"}


def test_one_worker_on_this_machine_and_words_of_no_dask(northwind: Path, tmp_path: Path) -> None:
    limits = ("--max-files", "4", "--max-bytes", "45000")
    assert ended(metspack("build", northwind, "-o", tmp_path / "one", *limits))[0] == 0
    (tmp_path / "here").mkdir()
    out = tmp_path / "here" / "one"
    code, printed, errors = ended(metspack("build", northwind, "-o", out, *limits, "--cluster", "local:1"))
    assert (code, errors) == (0, "")
    assert printed.splitlines()[0].startswith(f"{out}: parent IP ")
    assert len(printed.splitlines()) == 6
    assert tree(out) == tree(tmp_path / "one")


def test_two_of_four_workers_killed_at_random(northwind_full: Path, tmp_path: Path) -> None:
    assert ended(metspack("build", northwind_full, "-o", tmp_path / "one", *LIMIT))[0] == 0
    out = tmp_path / "out"
    chance = random.Random(seed())  # noqa: S311 -- moments, not secrets
    with Hosts(tmp_path / "hosts", 4, slow=0.25) as hosts:
        command = metspack("build", northwind_full, "-o", out, *LIMIT, "--cluster", hosts.address)
        with ending(command):
            wait_for(lambda: bool(hosts.attempts()) or command.poll() is not None)
            for worker in chance.sample(hosts.workers, 2):
                time.sleep(chance.uniform(0, 0.6))
                worker.send_signal(signal.SIGKILL)
            code, _, errors = ended(command)
        assert code == 0, errors
        attempts = hosts.attempts()
        # What a killed worker had at hand: the task that it was at, and one whose result was not fetched yet.
        assert len(attempts) - len(set(attempts)) <= 4
    assert tree(out) == tree(tmp_path / "one")
    assert names(tmp_path) == {"hosts", "one", "out"}


def test_a_worker_that_was_taken_for_dead_continues_and_changes_nothing(
    northwind_full: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out" / "one"
    out.parent.mkdir()
    assert ended(metspack("build", northwind_full, "-o", tmp_path / "one", "--max-files", "4"))[0] == 0
    with Hosts(tmp_path / "hosts", 2, slow=0.5) as hosts:
        words = ("--max-files", "4", "--cluster", hosts.address)
        command = metspack("build", northwind_full, "-o", out, *words)
        with ending(command):
            wait_for(lambda: bool(hosts.attempts("w0")))
            hosts.workers[0].send_signal(signal.SIGSTOP)
            wait_for(lambda: len(hosts.attempts()) > len(set(hosts.attempts())) or command.poll() is not None)
            hosts.workers[0].send_signal(signal.SIGCONT)  # two attempts at one task are under way now
            code, _, errors = ended(command)
        attempts = hosts.attempts()
        assert (code, len(attempts) > len(set(attempts))) == (0, True), errors
        time.sleep(1)  # the slow one may still write: there is nothing that it could write to
        assert names(out.parent) == {"one"}
    assert tree(out) == tree(tmp_path / "one")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_build_that_is_stopped_resumes_and_does_nothing_twice(
    how: signal.Signals, northwind_full: Path, tmp_path: Path
) -> None:
    gold = tmp_path / "gold"
    assert ended(metspack("build", northwind_full, "-o", gold, *LIMIT))[0] == 0
    out = tmp_path / "out" / "gold"
    out.parent.mkdir()
    with Hosts(tmp_path / "hosts", 2, slow=0.3) as hosts:
        words = ("build", northwind_full, "-o", out, *LIMIT, "--cluster", hosts.address)
        command = metspack(*words)
        with ending(command):
            wait_for(lambda: len(recorded(out)) >= 4 or command.poll() is not None)
            command.send_signal(how)
            code, _, errors = ended(command)
        done = {str(each["number"]) for each in recorded(out)}
        assert all(each["worker"] in {"w0", "w1"} for each in recorded(out))
        if how == signal.SIGINT:
            assert (code, "keeps what is done" in errors) == (130, True), errors
            assert not [each for each in os.listdir(f"{out}.partial/work") if each.startswith("attempts")]
        code, _, errors = ended(metspack(*words))
        assert code == 0, errors
        attempts = hosts.attempts()
        assert {each: attempts.count(each) for each in done} == dict.fromkeys(done, 1)
        assert len(attempts) - len(set(attempts)) <= 2
        time.sleep(0.5)
        assert names(out.parent) == {"gold"}
    assert tree(out) == tree(gold)


def test_a_build_of_one_machine_resumes_on_a_cluster(
    hosts: Hosts, northwind_full: Path, tmp_path: Path
) -> None:
    """Some segments that share a LOB are done, and others follow them."""
    from tests.killing import stop_after  # noqa: PLC0415 -- it changes os in a process of its own

    options = replace(OPTIONS, limits=Limits(files=12, bytes=20_000), add_digests=True, layout="siard22")
    build.build(northwind_full, tmp_path / "one", options)
    out = tmp_path / "out"
    stop_after(2, lambda: build.build(northwind_full, out, options))
    assert len(recorded(out)) == 2
    build.build(northwind_full, out, replace(options, cluster=hosts.address))
    assert tree(out) == tree(tmp_path / "one")


def test_a_scheduler_that_is_gone_is_reported_and_the_same_command_resumes(
    northwind_full: Path, tmp_path: Path
) -> None:
    gold = tmp_path / "gold"
    assert ended(metspack("build", northwind_full, "-o", gold, *LIMIT))[0] == 0
    out = tmp_path / "out" / "gold"
    out.parent.mkdir()
    with Hosts(tmp_path / "hosts", 2, slow=0.3) as hosts:
        words = ("build", northwind_full, "-o", out, *LIMIT, "--cluster")
        command = metspack(*words, hosts.address)
        with ending(command):
            wait_for(lambda: len(recorded(out)) >= 3 or command.poll() is not None)
            hosts.scheduler.send_signal(signal.SIGKILL)
            code, printed, errors = ended(command)
        assert (code, printed) == (4, "")
        assert errors.startswith(f"error: the Dask scheduler at {hosts.address} no longer answers\nhint: ")
        assert "run the same command again" in errors
        assert "keeps what is done" in errors
    done = len(recorded(out))
    with Hosts(tmp_path / "again", 1) as hosts:
        code, _, errors = ended(metspack(*words, hosts.address))
        assert code == 0, errors
        assert len(hosts.attempts()) == 23 - done
    assert tree(out) == tree(gold)


@tabled
def test_workers_of_no_use_are_refused(
    terms: dict[str, Any], words: str, northwind: Path, tmp_path: Path
) -> None:
    with (
        Hosts(tmp_path / "hosts", 1, **terms) as hosts,
        pytest.raises(TargetError, match="cannot be used") as raised,
    ):
        build.build(northwind, tmp_path / "out", replace(OPTIONS, cluster=hosts.address))
    assert words in raised.value.message
    assert "under the same paths" in raised.value.hint
    # The plan is kept; what is wrong with versions and threads is told before it is made.
    assert names(tmp_path) == {"hosts", *(["out.partial"] if "blind" in terms else [])}
    if "blind" in terms:
        assert not [each for each in os.listdir(tmp_path / "out.partial/work") if "attempts" in each]


def test_a_cluster_without_workers_is_refused(northwind: Path, tmp_path: Path) -> None:
    with Hosts(tmp_path / "hosts", 0) as hosts, pytest.raises(TargetError, match="has no workers") as raised:
        build.build(northwind, tmp_path / "out", replace(OPTIONS, cluster=hosts.address))
    assert f"dask worker {hosts.address} --nthreads 1" in raised.value.hint


def test_a_worker_that_dies_at_the_first_question_is_not_missed(northwind: Path, tmp_path: Path) -> None:
    with Hosts(tmp_path / "hosts", 2, dying="w0") as hosts:
        build.build(northwind, tmp_path / "out", replace(OPTIONS, cluster=hosts.address))
        assert [each.poll() for each in hosts.workers] == [1, None]
    build.build(northwind, tmp_path / "alone", OPTIONS)
    assert tree(tmp_path / "out") == tree(tmp_path / "alone")


@pytest.mark.parametrize("address", ["", "local:0", "http://here:1", "tcp://here"])
def test_another_address_than_that_of_a_cluster_is_refused(
    address: str, northwind: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="is not tcp://HOST:PORT or local:N") as raised:
        build.build(northwind, tmp_path / "out", replace(OPTIONS, cluster=address))
    assert "local:4" in raised.value.hint
    assert names(tmp_path) == set()


def test_without_dask_the_option_is_refused(
    northwind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigError, match="is not installed") as raised:
        build.build(northwind, tmp_path / "out", replace(OPTIONS, cluster="local:2"))
    assert "metspack[cluster]" in raised.value.hint


def test_what_is_in_a_store_is_no_work_for_a_cluster(northwind: Path) -> None:
    options = replace(OPTIONS, cluster="local:2")
    with pytest.raises(ConfigError, match=r"--cluster cannot be combined with s3://archive/Northwind"):
        build.build(northwind, StorePath("s3://archive/Northwind"), options)


@pytest.mark.parametrize("command", ["build", "check"])
def test_nothing_of_dask_is_loaded_without_the_option(command: str, northwind: Path, tmp_path: Path) -> None:
    text = (
        "import sys; from metspack.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "assert not {'dask', 'distributed', 'tornado'} & set(sys.modules)"
    )
    source = northwind if command == "build" else CHECKOUT / "samples" / "northwind" / "golden" / "Northwind"
    words = [command, str(source), *(["-o", str(tmp_path / "out")] if command == "build" else []), "-q"]
    subprocess.run([sys.executable, "-c", text, *words], check=True)
