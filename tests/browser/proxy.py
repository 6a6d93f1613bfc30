"""A reverse proxy for tests: it replaces some headers of every request by its own, as one that signs people in does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from tests.browser.app import free_port


@contextmanager
def proxy(port: int, headers: Callable[[], Mapping[str, str]]) -> Iterator[str]:
    """Pass everything on to the port of this machine, with these headers; one request a connection."""
    listener = socket.create_server(("127.0.0.1", free_port()))

    def accept() -> None:
        with suppress(OSError):
            while True:
                visitor, _ = listener.accept()
                threading.Thread(target=_serve, args=(visitor, port, headers()), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


def _serve(visitor: socket.socket, port: int, headers: Mapping[str, str]) -> None:
    with suppress(OSError), visitor, socket.create_connection(("127.0.0.1", port)) as app:
        head = b""
        while b"\r\n\r\n" not in head:
            more = visitor.recv(65536)
            if not more:
                return
            head += more
        top, rest = head.split(b"\r\n\r\n", 1)
        app.sendall(_rewritten(top, headers) + rest)
        threading.Thread(target=_pump, args=(visitor, app), daemon=True).start()
        _pump(app, visitor)


def _rewritten(top: bytes, headers: Mapping[str, str]) -> bytes:
    request, *lines = top.split(b"\r\n")
    own = {name.lower().encode() for name in headers}
    upgrade = any(line.lower().startswith(b"upgrade:") for line in lines)
    kept = [line for line in lines if line.split(b":")[0].lower() not in own | (set() if upgrade else {b"connection"})]
    added = [f"{name}: {value}".encode() for name, value in headers.items() if value]
    return b"\r\n".join([request, *kept, *added, *([] if upgrade else [b"Connection: close"]), b"", b""])


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
