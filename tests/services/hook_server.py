"""A retriever over HTTP, on this machine, that answers as a test wants it to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Reply = tuple[int, bytes, dict[str, str]]


def as_json(value: object, status: int = 200) -> Reply:
    return status, json.dumps(value).encode(), {"Content-Type": "application/json"}


@contextmanager
def serving(reply: Callable[[dict[str, Any]], Reply], seen: list[dict[str, Any]] | None = None) -> Iterator[str]:
    """Serve at the address given; `reply` takes what was asked, `seen` collects it with the path and the token."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if seen is not None:
                seen.append({**asked, "path": self.path, "token": self.headers.get("Authorization", "")})
            status, body, headers = reply(asked)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Whoever asked has hung up; that is what some tests are about."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/retrieve"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
