"""A store on loopback, as a program: moto's S3 server, and before it a proxy that errs when it is told to.

``python server.py FOLDER`` writes ``FOLDER/ports`` (server, proxy) once both listen. ``FOLDER/faults.json``
tells what the proxy does wrong from then on; ``FOLDER/requests`` gets a line for each request it was sent.
"""

from __future__ import annotations

import http.client
import json
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


def _faults() -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((FOLDER / "faults.json").read_text())
    except FileNotFoundError:
        return {}
    return found


class Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    port = 0

    def handle_all(self) -> None:
        global _count  # noqa: PLW0603
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with _lock:
            _count += 1
            number = _count
            with (FOLDER / "requests").open("a") as log:
                log.write(f"{self.command} {self.path} {self.headers.get('Range', '')}\n")
        faults = _faults()
        if (every := faults.get("unavailable_every")) and number % every == 0:
            self._refuse(503, "SlowDown")
            return
        after = faults.get("expires_after")
        if after is not None and number > after:
            self._refuse(400, "ExpiredToken")
            return
        if faults.get("deny"):
            self._refuse(403, "InvalidAccessKeyId")
            return
        upstream = http.client.HTTPConnection("127.0.0.1", self.port)
        upstream.request(self.command, self.path, body, dict(self.headers))
        answer = upstream.getresponse()
        data = answer.read()
        hidden = faults.get("hide")
        if hidden and "list-type" in self.path:
            start = data.find(b"<Contents>")
            kept = [each for each in data[start:].split(b"<Contents>") if hidden.encode() not in each]
            tail = data[data.rfind(b"</Contents>") + len(b"</Contents>") :]
            whole = b"<Contents>".join(kept)
            data = data[:start] + whole + (tail if not whole.endswith(tail) else b"")
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _SKIPPED:
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(data))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        cut = faults.get("cut_every")
        is_cut = cut and self.command == "GET" and "list-type" not in self.path and number % cut == 0
        if self.command != "HEAD":
            self.wfile.write(data[: len(data) // 2] if is_cut else data)
        if is_cut:
            self.close_connection = True
        upstream.close()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_all  # noqa: N815

    def _refuse(self, status: int, code: str) -> None:
        data = f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
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
