"""How people say who they are here: by picking a name, with OpenID Connect, or through a proxy that signed them in.

Owns the decision, which Streamlit's own settings make, and refuses what would let somebody in by mistake. Who then is
in front of the screen is `identity.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import streamlit as st
from streamlit.errors import StreamlitSecretNotFoundError

from annotator.errors import Forbidden, InputError, Problem

__all__ = ["DEFAULT", "Way", "proxy_secret", "way"]

DEFAULT: Final = "default"
"""Streamlit's name of the one provider whose settings stand in `[auth]` itself."""

_GUIDE: Final = "See docs/sign-in.md."
_SHORTEST_SECRET: Final = 32
_FEWEST_CHARACTERS: Final = 10
_GUESSED: Final = "whoever guesses it can be anybody here; it is missing, too short or an example"
_MAKE_ONE: Final = 'Make one: python -c "import secrets; print(secrets.token_hex(32))"'
_OF_A_PROVIDER: Final = ("client_id", "client_secret", "server_metadata_url")
_SAYS_FORWARDED: Final = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via")


@dataclass(frozen=True, slots=True)
class Way:
    """How people say who they are. `providers` are the names of the OpenID Connect providers, to choose from."""

    kind: Literal["local", "oidc", "proxy"]
    providers: tuple[str, ...] = ()

    @property
    def proven(self) -> bool:
        """Say whether somebody else vouches for the person; a picked name proves nothing."""
        return self.kind != "local"


def way() -> Way:
    """Return the way this server is set up for. Raises InputError or Forbidden where it would not be safe.

    `[auth]` in Streamlit's secrets turns OpenID Connect on, `server.trustedUserHeaders` the proxy; neither: names.
    """
    auth = _section("auth")
    headers: Mapping[str, str] = st.get_option("server.trustedUserHeaders") or {}
    if auth is not None and headers:
        raise InputError(
            "Two ways of sign-in are turned on at once, and one would overrule the other.",
            hint="Keep either [auth] in the secrets file or server.trustedUserHeaders. " + _GUIDE,
        )
    if auth is not None:
        return _with_providers(auth)
    return _behind_proxy(headers) if headers else _by_name()


def _loopback(host: str) -> bool:
    """Say whether only this computer answers to the name or address."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _by_name() -> Way:
    """Names without a password are for one computer: its own browsers, nothing passed on from elsewhere."""
    address = st.get_option("server.address") or "every address"
    headers = st.context.headers
    named = [urlsplit(headers.get("Origin", "")).hostname, urlsplit("//" + headers.get("Host", "")).hostname]
    elsewhere = [host for host in named if host and not _loopback(host)]
    if _loopback(address) and not elsewhere and not any(name in headers for name in _SAYS_FORWARDED):
        return Way("local")
    told = f"it came here as {elsewhere[0]}" if elsewhere else "a proxy passed it on"
    reached = f"the server listens on {address}" if not _loopback(address) else told
    raise Forbidden(
        f"Names are picked here without a password, so only this computer may reach the app, but {reached}.",
        hint=f"Start it with: python -m annotator serve, and open http://localhost:8501. Or turn sign-in on. {_GUIDE}",
    )


def _behind_proxy(headers: Mapping[str, str]) -> Way:
    """A header is believed whoever sends it: what tells the proxy from others is a secret it sends along."""
    missing = [name for name in ("subject", "secret") if name not in headers.values()]
    if missing:
        raise InputError(
            f"server.trustedUserHeaders names no header for the {' and the '.join(missing)}, so nobody can sign in.",
            hint=_GUIDE,
        )
    if not _strong(proxy_secret()):
        raise InputError(
            "The proxy has no secret by which to know it, so nobody can sign in.",
            problems=[_fault("proxy.secret", _GUESSED, _MAKE_ONE)],
            hint=_GUIDE,
        )
    return Way("proxy")


def proxy_secret() -> str:
    """Return what the proxy has to send along to be believed; "" where nothing is set."""
    return str((_section("proxy") or {}).get("secret", ""))


def _with_providers(auth: Mapping[str, Any]) -> Way:
    sections = {name: part for name, part in auth.items() if isinstance(part, Mapping) and name != "client_kwargs"}
    providers = sections if not any(key in auth for key in _OF_A_PROVIDER) and sections else {DEFAULT: auth}
    problems = [*_faults_of_app(auth), *(fault for name in providers for fault in _faults(name, providers[name]))]
    if problems:
        raise InputError("Sign-in is not set up completely, so nobody can sign in.", problems=problems, hint=_GUIDE)
    if find_spec("authlib") is None or find_spec("httpx") is None:
        raise InputError(
            "Sign-in needs a package that is not installed.", hint="Run: pip install -r requirements-oidc.txt"
        )
    return Way("oidc", tuple(providers))


def _faults_of_app(auth: Mapping[str, Any]) -> Iterator[Problem]:
    address = auth.get("redirect_uri")
    if _missing(address):
        yield _fault("auth.redirect_uri", "the address people come back to is missing")
    elif not _safe(str(address)) or not urlsplit(str(address)).path.endswith("/oauth2callback"):
        yield _fault("auth.redirect_uri", "it has to be the https:// address of this app, ending in /oauth2callback")
    if not _strong(auth.get("cookie_secret")):
        yield _fault("auth.cookie_secret", _GUESSED, _MAKE_ONE)


def _faults(name: str, provider: Mapping[str, Any]) -> Iterator[Problem]:
    section = "auth." if name == DEFAULT else f"auth.{name}."
    if "_" in name:
        yield _fault(section[:-1], "a provider's name has no underscore")
    for key in _OF_A_PROVIDER:
        value = provider.get(key)
        if _missing(value):
            yield _fault(section + key, "it is missing or still an example", "Your provider shows it.")
        elif key == "server_metadata_url" and not _safe(str(value)):
            yield _fault(section + key, "it has to be an https:// address")


def _fault(field: str, message: str, mend: str = "") -> Problem:
    """Values are left out: everybody who opens the app sees these."""
    return Problem(message, file="secrets.toml", field=field, mend=mend)


def _missing(value: object) -> bool:
    """Say whether there is nothing, or the placeholder of an example."""
    text = value.strip() if isinstance(value, str) else ""
    return not text or text.startswith("<") or text.lower().strip("x") == ""


def _strong(secret: object) -> bool:
    text = str(secret)
    return not _missing(secret) and len(text) >= _SHORTEST_SECRET and len(set(text)) >= _FEWEST_CHARACTERS


def _safe(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.hostname) and (
        parts.scheme == "https" or (parts.scheme == "http" and _loopback(parts.hostname or ""))
    )


def _section(name: str) -> Mapping[str, Any] | None:
    """Return a section of the secrets, None without it. A file that cannot be read must not turn sign-in off."""
    try:
        found = st.secrets.to_dict().get(name)
    except (StreamlitSecretNotFoundError, OSError, ValueError) as error:
        if any(Path(path).exists() for path in st.get_option("secrets.files")):
            raise InputError(
                "The secrets file cannot be read, so nobody can sign in.", hint="The server's log says where it breaks."
            ) from error
        return None
    if found is not None and not isinstance(found, Mapping):
        raise InputError(f"[{name}] in the secrets file is no section, so nobody can sign in.", hint=_GUIDE)
    return found
