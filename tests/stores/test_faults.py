"""Stores that refuse, err or are away: errors have a remedy, and no package is half published."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import metspack
from metspack import BuildOptions, Limits
from metspack.errors import ConfigError, MetspackError, SourceError, StoreError
from metspack.files import mirrors
from metspack.stores import client
from metspack.stores.urls import StoreUrl
from tests.stores.conftest import BUCKET, S3, SECRET
from tests.tables import tabled
from tests.trees import tree

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_clock")]


OPTIONS = BuildOptions(limits=Limits(files=2, bytes=1_000_000))


@pytest.fixture
def package(s3: S3, northwind: Path, tmp_path: Path) -> Path:
    """A package on disk, and the same in the store."""
    metspack.build(northwind, tmp_path / "package", OPTIONS)
    s3.put_folder(tmp_path / "package", "package")
    return tmp_path / "package"


def fresh_environment(s3: S3) -> dict[str, str]:
    """Return the environment of a program that starts without this process's listings."""
    own = {name: value for name, value in os.environ.items() if name != "METSPACK_MIRROR"}
    return {**own, **s3.environment()}


def run(s3: S3, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    found = subprocess.run(
        [sys.executable, "-m", "metspack", *arguments],
        env={**fresh_environment(s3), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert SECRET not in found.stdout + found.stderr
    assert "metspack-stores" not in found.stdout + found.stderr
    return found


@tabled
def test_urls_that_are_none_are_refused(url: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        StoreUrl.of(url)
    with pytest.raises(ConfigError, match=message):
        metspack.check(url)


def test_a_key_is_taken_as_it_is() -> None:
    found = StoreUrl.of("S3://My-bucket.1/a%20b/c d+e?f#g/")
    assert (found.scheme, found.bucket, found.key) == ("s3", "My-bucket.1", "a%20b/c d+e?f#g")
    assert str(found) == "s3://My-bucket.1/a%20b/c d+e?f#g"


def test_without_the_library_a_url_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    client.store.cache_clear()
    with pytest.raises(ConfigError, match="obstore, which speaks to stores, is not installed") as refused:
        list(metspack.check("s3://bucket/package"))
    assert refused.value.hint == "pip install 'metspack[cloud]'"
    mirrors.forget_all()


@pytest.mark.usefixtures("s3")
def test_a_bucket_that_is_not_there(northwind: Path, tmp_path: Path) -> None:
    for call in (
        lambda: list(metspack.check("s3://no-such-bucket/package")),
        lambda: metspack.build("s3://no-such-bucket/Northwind.siard", tmp_path / "built", OPTIONS),
        lambda: metspack.build(northwind, "s3://no-such-bucket/package", OPTIONS),
    ):
        with pytest.raises(StoreError, match="s3://no-such-bucket: there is no such bucket"):
            call()
    assert not (tmp_path / "built").exists()


def test_a_package_or_source_that_is_not_there(s3: S3) -> None:
    for call in (
        lambda: list(metspack.check(f"{s3.url}/package")),
        lambda: list(metspack.restore_dry_run(f"{s3.url}/package")),
        lambda: metspack.inspect(f"{s3.url}/Northwind.siard"),
    ):
        with pytest.raises(SourceError, match=r"does not exist|was not found|cannot be opened: No such"):
            call()


def test_wrong_credentials_are_reported_and_shown_nowhere(s3: S3, northwind: Path) -> None:
    s3.loopback.err(deny=True)
    found = run(s3, "check", f"{s3.url}/package")
    assert found.returncode == 4
    assert "the store refuses: 403 InvalidAccessKeyId" in found.stderr
    assert "hint: The credentials are wrong, have run out, or do not allow this" in found.stderr
    found = run(s3, "build", str(northwind), "-o", f"{s3.url}/package", "--json")
    assert found.returncode == 4
    assert "the store refuses: 403" in found.stdout


def test_an_endpoint_that_nobody_answers_at(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_RETRIES", 1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StoreError, match="cannot be reached or gives no answer"):
        list(metspack.check(f"{s3.url}/package"))


def test_a_store_that_is_overloaded_now_and_then_is_retried(s3: S3, northwind: Path, tmp_path: Path) -> None:
    metspack.build(northwind, tmp_path / "package", OPTIONS)
    s3.loopback.err(unavailable_every=3)
    metspack.build(northwind, f"{s3.url}/package", OPTIONS)
    assert metspack.check(f"{s3.url}/package").ok
    s3.loopback.err()
    files = {path: data for path, data in tree(tmp_path / "package").items() if not path.endswith("/")}
    assert s3.objects("package") == files


def test_retries_have_a_limit(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_RETRIES", 2)
    s3.loopback.err(unavailable_every=1)
    with pytest.raises(StoreError, match=r"503 SlowDown, also after 2 retries") as refused:
        list(metspack.check(f"{s3.url}/package"))
    assert "--io-jobs" in refused.value.hint
    assert len(s3.loopback.requests()) == 3


@pytest.mark.usefixtures("package")
def test_bodies_that_are_cut_short_are_requested_again(s3: S3) -> None:
    s3.loopback.err(cut_every=4)
    assert metspack.restore_dry_run(f"{s3.url}/package").ok
    assert list(metspack.check(f"{s3.url}/package")) == []


def test_bodies_always_cut(s3: S3, northwind: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(client, "_RETRIES", 1)
    s3.put("Northwind.siard", northwind.read_bytes())
    s3.loopback.err(cut_every=1)
    with pytest.raises(StoreError, match=r"Northwind\.siard"):
        metspack.build(f"{s3.url}/Northwind.siard", tmp_path / "built", OPTIONS)
    assert not (tmp_path / "built").exists()


@pytest.mark.usefixtures("package")
def test_an_object_that_is_there_and_not_listed_is_missing(s3: S3) -> None:
    s3.loopback.err(hide="record0.bin")
    assert not metspack.check(f"{s3.url}/package").ok


def test_a_lob_that_is_replaced_while_others_are_read(s3: S3, northwind: Path, tmp_path: Path) -> None:
    metspack.build(northwind, tmp_path / "package", OPTIONS)
    folder = next((tmp_path / "package").glob("*_lobseg_0")) / "content"
    s3.put_folder(folder, "loose/content")
    source = mirrors.path_of(f"{s3.url}/loose")
    assert source is not None
    lob = sorted(path.relative_to(folder) for path in folder.rglob("record*.*"))[1]
    assert (source / "content" / lob).stat().st_size  # it was listed
    s3.put(f"loose/content/{lob}", b"another")
    with pytest.raises(MetspackError, match="was replaced while it was read"):
        metspack.build(source, tmp_path / "built", OPTIONS)
    assert not (tmp_path / "built").exists()


def test_reports_name_the_store_and_no_temporary_folder(s3: S3, northwind: Path, tmp_path: Path) -> None:
    metspack.build(northwind, tmp_path / "package", OPTIONS)
    lob = next((tmp_path / "package").rglob("record1.*"))
    lob.write_bytes(b"")
    next((tmp_path / "package").glob("*_lobseg_3")).rename(tmp_path / "moved")
    s3.put_folder(tmp_path / "package", "package")
    s3.put_folder(tmp_path / "moved", "else/where")
    forms = ("html", "json", "jsonl", "txt", "xml")
    reports = [each for form in forms for each in ("--report", str(tmp_path / f"report.{form}"))]
    found = run(s3, "check", f"{s3.url}/package", "--root", f"{s3.url}/else", *reports)
    assert found.returncode == 1, found.stderr
    for form in forms:
        text = (tmp_path / f"report.{form}").read_text()
        assert "metspack-stores" not in text, form
        assert SECRET not in text
    assert f"{s3.url}/package" in (tmp_path / "report.txt").read_text()
    for command in (("links",), ("list",), ("restore", "--dry-run")):
        run(s3, *command, f"{s3.url}/package", "--json")


@pytest.mark.parametrize("keys", [("a", "a/b"), ("a/b", "a/b/c")])
def test_an_object_that_is_a_folder_as_well_is_refused(s3: S3, keys: tuple[str, str]) -> None:
    for key in (*keys, "mets.xml"):
        s3.put(f"package/{key}", b"x")
    with pytest.raises(
        SourceError,
        match=r"is both an object and the folder of others|is where a folder for its key would be",
    ):
        list(metspack.check(f"{s3.url}/package"))


def test_a_build_that_is_killed_resumes(s3: S3, northwind: Path, tmp_path: Path) -> None:
    metspack.build(northwind, tmp_path / "package", OPTIONS)
    s3.put("Northwind.siard", northwind.read_bytes())
    command = ["build", f"{s3.url}/Northwind.siard", "-o", f"{s3.url}/package", "--max-files", "2"]
    s3.loopback.err(waits_from_put=9)
    process = subprocess.Popen(
        [sys.executable, "-m", "metspack", *command, "-j", "2"],
        env=fresh_environment(s3),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(600):
        if len(s3.objects("package")) >= 7:
            break
        assert process.poll() is None
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    s3.loopback.err()
    found = run(s3, "check", f"{s3.url}/package")
    assert found.returncode == 6, found.stderr
    assert "is not finished" in found.stderr
    found = run(s3, *command)
    assert found.returncode == 0, found.stderr
    files = {path: data for path, data in tree(tmp_path / "package").items() if not path.endswith("/")}
    found_there = s3.objects("package")
    assert found_there.keys() == files.keys()
    assert run(s3, "check", f"{s3.url}/package").returncode == 0
    assert not list((tmp_path / "tmp").glob("metspack-build-*"))


def test_processes_of_a_command_read_the_store_each(s3: S3, package: Path, tmp_path: Path) -> None:
    url = f"{s3.url}/package"
    found = run(s3, "check", url, "-j", "2", "--io-jobs", "3", "--log", str(tmp_path / "log"))
    assert (found.returncode, found.stderr) == (0, "")
    assert SECRET not in (tmp_path / "log").read_text()
    assert run(s3, "restore", url, "-o", str(tmp_path / "restored"), "-j", "2").returncode == 0
    metspack.restore(package, tmp_path / "near")
    assert tree(tmp_path / "restored") == tree(tmp_path / "near")
    folder = next(package.glob("*_lobseg_0")) / "content"
    s3.put_folder(folder, "loose/content")
    found = run(s3, "build", f"{s3.url}/loose", "-o", str(tmp_path / "built"), "-j", "2", "--max-files", "3")
    assert found.returncode == 0, found.stderr
    assert run(s3, "check", f"s3://{BUCKET}/{s3.prefix}/package", "--json").returncode == 0


def test_an_object_of_a_listing_without_etags_is_recognised_by_size_and_time() -> None:
    when = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
    facts = {"path": "a", "size": 3, "last_modified": when, "version": None}
    listed = client.StoredObject.of({**facts, "e_tag": None})
    tagged = client.StoredObject.of({**facts, "e_tag": "one", "last_modified": when.replace(microsecond=0)})
    assert listed.is_now(tagged)
    assert not tagged.is_now(client.StoredObject.of({**facts, "e_tag": "two"}))
    assert not listed.is_now(client.StoredObject.of({**facts, "e_tag": "one", "size": 4}))
    later = when.replace(second=6)
    assert not listed.is_now(client.StoredObject.of({**facts, "e_tag": "one", "last_modified": later}))


@pytest.mark.usefixtures("package")
def test_a_check_without_credentials_is_an_error(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    real, requested = client.ObStore.read, list[str]()

    def read(self: client.ObStore, found: client.StoredObject, start: int, stop: int) -> bytes:
        requested.append(found.key)
        if len(requested) > 12:
            s3.loopback.err(deny=True)
        return real(self, found, start, stop)

    monkeypatch.setattr(client.ObStore, "read", read)
    with pytest.raises(StoreError, match="the store refuses: 403"):
        list(metspack.check(f"{s3.url}/package"))
    assert len(requested) > 12


@pytest.mark.parametrize("name", ["mets.xml", "content/schema0/table2/lob4/record0.bin"])
@pytest.mark.usefixtures("package")
def test_an_object_that_is_replaced_while_a_package_is_checked_ends_the_check(s3: S3, name: str) -> None:
    stored = mirrors.path_of(f"{s3.url}/package")
    assert stored is not None
    found = next(stored.glob("*_lobseg_0")) / name
    assert found.exists()
    s3.put(f"package/{found.parts[-1 - name.count('/') - 1]}/{name}", b"<mets/>")
    with pytest.raises(SourceError, match="was replaced while it was read"):
        list(metspack.check(stored))
