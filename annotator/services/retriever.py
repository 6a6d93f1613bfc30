"""Which retriever may be asked: the hook into the team's own, and who may set it.

A Python callable runs as this process, so it is named where the process is started (environment or command line) and
never read from the workspace. An address may be set on the screen by an admin, but is asked only when the environment
lists its host: whoever can change the workspace cannot make the server call what its owner did not allow.
"""

from __future__ import annotations

import importlib
import os
import re
from typing import Final
from urllib.parse import urlsplit

from annotator.errors import InputError, shorten
from annotator.model import RunQuery
from annotator.services.asking import Endpoint, Function, Retriever, ask
from annotator.services.permission import require
from annotator.store import events, settings
from annotator.store.database import Workspace

__all__ = [
    "HOOK",
    "HOSTS",
    "TOKEN",
    "endpoint",
    "find",
    "fixed",
    "hosts",
    "retriever",
    "set_endpoint",
    "try_out",
]

HOOK: Final = "ANNOTATOR_RETRIEVER"
"""Names the hook for a whole process: `module:function` or an address. What is set on the screen gives way to it."""
HOSTS: Final = "ANNOTATOR_RETRIEVER_HOSTS"
"""Lists the hosts that may be asked, apart by commas: `search.example.org, localhost:8000`."""
TOKEN: Final = "ANNOTATOR_RETRIEVER_TOKEN"
"""Sent to the endpoint as a bearer token where it is set; it is never stored."""

_CALLABLE: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_PORTS: Final = {"http": 80, "https": 443}
_SETTING: Final = "retriever"
_TRIED: Final = 5


def fixed() -> str:
    """Return the hook that was set where the process was started, "" when none was."""
    return os.environ.get(HOOK, "").strip()


def hosts() -> tuple[str, ...]:
    """Return the hosts that may be asked."""
    return tuple(one.strip().lower() for one in os.environ.get(HOSTS, "").split(",") if one.strip())


def endpoint(workspace: Workspace) -> str:
    """Return the address set on the screen, "" when none is."""
    with workspace.read() as connection:
        return str(settings.get(connection, _SETTING, ""))


def find(workspace: Workspace) -> Retriever | None:
    """Return the retriever in force: that of the process before that of the workspace; None when there is none.

    Raises InputError when it may not be asked or cannot be loaded.
    """
    if named := fixed():
        return retriever(named)
    address = endpoint(workspace)
    return _at(address) if address else None


def retriever(hook: str) -> Retriever:
    """Return the retriever named `module:function` or by its address. Raises InputError.

    Only for hooks that come from whoever runs the process: a module is imported.
    """
    if "://" in hook:
        return _at(hook)
    if not _CALLABLE.fullmatch(hook):
        raise InputError(
            f"{shorten(hook)} names no retriever.",
            hint="Write module:function, as in mysearch.hook:retrieve, or an address that begins with https://.",
        )
    module, _, path = hook.partition(":")
    try:
        found: object = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (Exception, SystemExit) as error:  # importing runs the team's own code, which may do anything
        raise InputError(
            f"The retriever {hook} cannot be loaded: {type(error).__name__}: {shorten(str(error), 200)}.",
            hint="The module must be importable from here: set PYTHONPATH to its folder.",
        ) from error
    if not callable(found):
        raise InputError(f"{hook} is a {type(found).__name__}, not a function.")
    return Function(hook, found)


def set_endpoint(workspace: Workspace, who: str, url: str) -> None:
    """Set the address of the retriever; "" takes it away. Raises Forbidden for anybody but an admin, InputError for
    an address that may not be asked."""
    url = url.strip()
    if url:
        if "://" not in url:
            raise InputError(
                f"{shorten(url)} is no address.",
                hint=f"It begins with https://. A Python function is named where Annotator is started: {HOOK}.",
            )
        _at(url)
    with workspace.write() as connection:
        require(connection, who, "change the retriever")
        old = str(settings.get(connection, _SETTING, ""))
        if old != url:
            settings.put(connection, _SETTING, url)
            events.record(connection, who, "retriever changed", "setting:retriever", old=old, new=url)


def try_out(workspace: Workspace, who: str, question: str) -> RunQuery:
    """Ask the retriever in force one question. Raises Forbidden for anybody but an admin, InputError."""
    with workspace.read() as connection:
        require(connection, who, "change the retriever")
    found = find(workspace)
    if found is None:
        raise InputError("No retriever is set.")
    return ask(found, "trial", question, _TRIED)


def _at(url: str) -> Endpoint:
    """Check an address against the hosts that may be asked."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"{shorten(url)} is no address: {error}.") from error
    if parts.scheme not in _PORTS or not parts.hostname or not url.isascii() or not url.isprintable() or " " in url:
        raise InputError(f"{shorten(url)} is no address.", hint="It begins with https:// or http:// and names a host.")
    if parts.username is not None or parts.password is not None:
        raise InputError(
            "The address holds a name or a password.", hint=f"Set the environment variable {TOKEN} instead."
        )
    allowed = hosts()
    usual = port is None or port == _PORTS[parts.scheme]
    names = {f"{parts.hostname}:{port or _PORTS[parts.scheme]}", *([parts.hostname] if usual else [])}
    if names.isdisjoint(allowed):
        wanted = parts.hostname if usual else f"{parts.hostname}:{port}"
        raise InputError(
            f"The host {wanted} is not one that may be asked.",
            hint=f"Whoever runs Annotator allows it in the environment: {HOSTS}={','.join((*allowed, wanted))}",
        )
    token = os.environ.get(TOKEN, "").strip()
    if not (token.isascii() and token.isprintable()):
        raise InputError(f"The value of {TOKEN} holds characters that cannot be sent.", hint="Set it anew.")
    return Endpoint(url, token)
