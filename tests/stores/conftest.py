"""A real S3 server on loopback: started when the first test asks for it, stopped with the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from metspack.files import mirrors
from metspack.stores import client
from tests.loopback import needs_loopback

SERVER = Path(__file__).with_name("server.py")
BUCKET = "archive"
ENVIRONMENT = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION")
SECRET = "s3cr3t-of-the-tests"  # noqa: S105 -- no test may find it in what is printed or written


class Loopback:
    """The server, with the faults of a proxy in front of it."""

    def __init__(self, folder: Path, ports: list[int]) -> None:
        self.folder = folder
        self.direct, self.proxied = (f"http://127.0.0.1:{port}" for port in ports)

    def err(self, **faults: object) -> None:
        """Let the proxy make a fault from now on; without arguments it works again."""
        (self.folder / "faults.json").write_text(json.dumps(faults))

    @cached_property
    def bucket(self) -> Any:
        """The bucket as the client's library has it, past the proxy: one client for all tests."""
        from obstore.store import from_url  # noqa: PLC0415 -- where it is installed

        return from_url(f"s3://{BUCKET}", endpoint=self.direct, client_options={"allow_http": True})

    def requests(self) -> list[str]:
        """Return the requests that came to the proxy since the last call."""
        log = self.folder / "requests"
        found = log.read_text().splitlines() if log.exists() else []
        log.write_text("")
        return found


@pytest.fixture(scope="session")
def loopback(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    for name in ("obstore", "moto"):
        if find_spec(name) is None:  # to import moto would open sockets
            pytest.skip(f"{name} cannot be installed here: uv sync installs it")
    needs_loopback()
    folder = tmp_path_factory.mktemp("store")
    # It is no part of what is tested: it may listen, which the watch over tests allows to nobody.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, str(SERVER), str(folder)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**environment, "AWS_ACCESS_KEY_ID": "server", "AWS_SECRET_ACCESS_KEY": "server"},
        )
        try:
            for _ in range(600):
                if (folder / "ports").exists():
                    break
                assert server.poll() is None, (folder / "log").read_text()
                time.sleep(0.1)
            yield Loopback(folder, [int(each) for each in (folder / "ports").read_text().split()])
        finally:
            server.kill()
            server.communicate()


@pytest.fixture
def s3(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[S3]:
    """A prefix of the bucket for one test, reached through the proxy."""
    loopback.err()
    found = S3(loopback, request.node.name.replace("[", "-").replace("]", ""))
    for name, value in found.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    found.forget()
    loopback.requests()
    yield found
    loopback.err()
    found.forget()


class S3:
    """Objects below one prefix of the bucket."""

    def __init__(self, loopback: Loopback, prefix: str) -> None:
        self.loopback = loopback
        self.prefix = prefix
        self.url = f"s3://{BUCKET}/{prefix}"

    def environment(self) -> Mapping[str, str]:
        """Return what a program needs to reach the store."""
        return {
            "AWS_ENDPOINT_URL": self.loopback.proxied,
            "AWS_ACCESS_KEY_ID": "tester",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }

    def forget(self) -> None:
        """Forget all that this process knows of the store."""
        mirrors.forget_all()
        client.store.cache_clear()

    def store(self) -> Any:
        """Return the bucket as the client's library has it, past the proxy."""
        return self.loopback.bucket

    def put(self, key: str, data: bytes) -> None:
        """Put an object, past the proxy."""
        import obstore  # noqa: PLC0415 -- where it is installed

        obstore.put(self.store(), f"{self.prefix}/{key}", data)

    def put_folder(self, folder: Path, below: str) -> None:
        """Put all files of a folder."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{below}/{path.relative_to(folder)}", path.read_bytes())

    def objects(self, below: str = "") -> dict[str, bytes]:
        """Return all objects below the prefix, by their keys below it."""
        import obstore  # noqa: PLC0415 -- where it is installed

        prefix = f"{self.prefix}/{below}".rstrip("/")
        found = [each["path"] for batch in obstore.list(self.store(), prefix=prefix) for each in batch]
        return {key[len(prefix) + 1 :]: obstore.get(self.store(), key).bytes().to_bytes() for key in found}
