"""A store on loopback, as a program: moto's S3 server, and before it a proxy that errs when it is told to.

``python server.py FOLDER`` writes ``FOLDER/ports`` (server, proxy) once both listen. ``FOLDER/faults.json``
tells what the proxy does wrong from then on; ``FOLDER/requests`` gets a line for each request it was sent.
"""

from __future__ import annotations

import http.client
import json
import logging
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from moto.server import ThreadedMotoServer

BUCKET = "archive"
FOLDER = Path(sys.argv[1])
_SKIPPED = {"transfer-encoding", "connection", "content-length", "date", "server"}
_lock = threading.Lock()
_count = 0
_puts: list[int] = []


def _faults() -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((FOLDER / "faults.json").read_text())
    except FileNotFoundError:
        return {}
    return found


def _without(listing: bytes, hidden: bytes) -> bytes:
    """Return a listing without the objects whose keys have something in them."""
    return re.sub(
        rb"<Contents>(?:(?!</Contents>).)*</Contents>",
        lambda each: b"" if hidden in each[0] else each[0],
        listing,
        flags=re.DOTALL,
    )


class Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    port = 0

    def handle_all(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        number, faults = self._note(), _faults()
        if (refusal := self._refusal(number, faults)) is not None:
            self._refuse(*refusal)
            return
        upstream = http.client.HTTPConnection("127.0.0.1", self.port)
        upstream.request(self.command, self.path, body, dict(self.headers))
        answer = upstream.getresponse()
        data = answer.read()
        is_list = "list-type" in self.path
        if is_list and "hide" in faults:
            data = _without(data, faults["hide"].encode())
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _SKIPPED:
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(data))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        cut = faults.get("cut_every")
        is_cut = cut is not None and self.command == "GET" and not is_list and number % cut == 0
        if self.command != "HEAD":
            self.wfile.write(data[: len(data) // 2] if is_cut else data)
        if is_cut:
            self.close_connection = True
        upstream.close()

    def _note(self) -> int:
        global _count  # noqa: PLW0603
        with _lock:
            _count += 1
            with (FOLDER / "requests").open("a") as log:
                log.write(f"{self.command} {self.path} {self.headers.get('Range', '')}\n")
            return _count

    def _refusal(self, number: int, faults: dict[str, Any]) -> tuple[int, str] | None:
        every, first = faults.get("unavailable_every"), faults.get("fails_from_put")
        if (waits := faults.get("waits_from_put")) is not None and self.command == "PUT" and number > waits:
            time.sleep(0.5)
        if every is not None and number % every == 0:
            return 503, "SlowDown"
        if faults.get("deny"):
            return 403, "InvalidAccessKeyId"
        with _lock:
            if first is None:
                _puts.clear()
            elif self.command == "PUT":
                _puts.append(number)
                if len(_puts) >= first:
                    return 400, "ExpiredToken"
        return None

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_all  # noqa: N815

    def _refuse(self, status: int, code: str) -> None:
        data = f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Drop the line."""


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # nobody reads a line for each request
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("PUT", f"/{BUCKET}")
    connection.getresponse().read()
    Proxy.port = port
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    (FOLDER / "ports.new").write_text(f"{port} {proxy.server_address[1]}")
    (FOLDER / "ports.new").rename(FOLDER / "ports")
    while sys.stdin.read(1):  # until the test that started it has ended
        time.sleep(0.1)


main()
