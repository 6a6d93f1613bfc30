"""The way to a table behind a JSON API over HTTP: one request at a time, failures a person can act on.

Credentials come from the environment and go into a header; no message ever holds them.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import msgspec

from annotator.errors import InputError

__all__ = ["Missing", "Refused", "Service", "open_service", "segment"]

_MOST_BYTES: Final = 512 << 20
_PIECE: Final = 1 << 20
_TLS: Final = frozenset(("1", "true", "yes", "on"))


class Missing(InputError):
    """The server answers, and has no such thing."""


class Refused(InputError):
    """The server answers, and does not take the request as it is."""


@dataclass(frozen=True, slots=True)
class Service:
    """One server and the path the address named. `headers` hold credentials and so are never shown."""

    kind: str
    host: str
    port: int
    secure: bool
    path: str
    headers: Mapping[str, str] = field(repr=False)
    verified: bool = True

    @property
    def where(self) -> str:
        """Name the server in a message."""
        return f"{self.host}:{self.port}"

    def ask(self, method: str, path: str, body: object = None, *, seconds: float) -> Any:
        """Send a request and return the decoded answer.

        Raises Missing for a 404, InputError when the server cannot be reached, refuses, or answers something else.
        """
        until = time.monotonic() + seconds
        sent = None if body is None else json.dumps(body, ensure_ascii=True).encode()
        try:
            with closing(self._connection(seconds)) as connection:
                connection.request(method, path, sent, {"Content-Type": "application/json", **self.headers})
                response = connection.getresponse()
                raw = _taken(response, until)
        except TimeoutError as error:
            raise self._refusal("did not answer in time", f"{seconds:g} s", "Is it busy? Try again.") from error
        except (OSError, http.client.HTTPException, ssl.SSLError) as error:
            said = str(error) or type(error).__name__
            raise self._refusal("cannot be reached", said, "Check host and port, and that it runs.") from error
        except ValueError:  # a character that no header or host may have; the error itself repeats the header
            hint = "Look for stray characters in the host and in the variables with the key or the password."
            raise self._refusal("cannot be asked", "its address or key cannot be sent", hint) from None
        if response.status == 404:
            raise Missing(f"The {self.kind} server {self.where} has no {path.partition('?')[0]}.")
        if response.status in (401, 403):
            hint = "Name a user who may read it: put the password or key into an environment variable of the address."
            raise self._refusal("does not let this user read", f"status {response.status}", hint)
        if not 200 <= response.status < 300:
            refusal = self._refusal("refused the request", f"status {response.status}, {_reason(raw)}", "")
            raise Refused(refusal.message) if response.status < 500 and response.status != 429 else refusal
        try:
            return msgspec.json.decode(raw)
        except (msgspec.MsgspecError, UnicodeError) as error:
            hint = f"Is this address really {self.kind}'s?"
            raise self._refusal("answered something that is no JSON", f"{len(raw)} bytes", hint) from error

    def _connection(self, seconds: float) -> http.client.HTTPConnection:
        if not self.secure:
            return http.client.HTTPConnection(self.host, self.port, timeout=seconds)
        context = ssl.create_default_context()
        if not self.verified:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection(self.host, self.port, timeout=seconds, context=context)

    def _refusal(self, what: str, said: str, hint: str) -> InputError:
        for header in self.headers.values():
            said = said.replace(header.rpartition(" ")[2], "…")
        return InputError(f"The {self.kind} server {self.where} {what}: {said}.", hint=hint)


def open_service(url: str, fill: Callable[[str], str], kind: str, port: int, key_header: str) -> Service:
    """Take an address apart; `fill` puts the environment's values into the parts that may hold secrets.

    `?tls=true` asks for HTTPS, `?api_key=` goes into `key_header`, a user and password into basic authentication.
    Raises InputError for an address that is none.
    """
    try:
        parts = urlsplit(url)
        given_port = parts.port
    except ValueError:
        raise InputError(
            f"The address of the {kind} server cannot be read.", hint=_LOOKS.format(kind.lower())
        ) from None
    options = dict(parse_qsl(parts.query))
    unknown = sorted(set(options) - {"tls", "api_key", "verify"})
    if not parts.hostname or unknown:
        what = f"The address has {unknown[0]!r} behind the ?, which means nothing." if unknown else "It names no host."
        raise InputError(what, hint=_LOOKS.format(kind.lower()))
    headers = {}
    if parts.username:
        pair = f"{fill(unquote(parts.username))}:{fill(unquote(parts.password or ''))}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    if key := fill(options.get("api_key", "")):
        name, _, scheme = key_header.partition(" ")
        headers[name] = f"{scheme} {key}".strip()
    secure = options.get("tls", "").lower() in _TLS or parts.scheme.endswith(("s", "+https"))
    path = unquote(parts.path.strip("/"))
    verified = options.get("verify", "true").lower() in _TLS
    return Service(kind, parts.hostname, given_port or port, secure, path, headers, verified)


def segment(name: str) -> str:
    """Write a name as one part of a path."""
    return quote(name, safe="")


_LOOKS: Final = "It looks like {0}://reader:${{PASSWORD}}@host:port/name?tls=true, or with ?api_key=${{KEY}}."


def _taken(response: http.client.HTTPResponse, until: float) -> bytes:
    """Read an answer to its end. Raises TimeoutError when it trickles beyond its time."""
    pieces: list[bytes] = []
    left = _MOST_BYTES
    while left > 0 and (piece := response.read1(min(_PIECE, left))):
        pieces.append(piece)
        left -= len(piece)
        if time.monotonic() > until:
            raise TimeoutError
    return b"".join(pieces)


def _reason(raw: bytes) -> str:
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeError):
        return raw[:200].decode("utf-8", "replace")
    for key in ("error", "status"):
        inner = found.get(key) if isinstance(found, dict) else None
        if isinstance(inner, dict):
            return str(inner.get("reason") or inner.get("error") or inner)[:300]
    return str(found)[:300]
