"""Programs of this machine reach each other unless the interface of 127.0.0.1 is down."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import pytest

_TRIAL = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname(), timeout=10).close()
"""


@cache
def _is_up() -> bool:
    # By a process of its own: the watch over tests allows none of theirs a socket.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    tried = subprocess.run(
        [sys.executable, "-c", _TRIAL], env=environment, stderr=subprocess.DEVNULL, check=False
    )
    return tried.returncode == 0


def needs_loopback() -> None:
    """Skip a test where no interface is up."""
    if not _is_up():
        pytest.skip("no network interface is up, not even that of 127.0.0.1")
