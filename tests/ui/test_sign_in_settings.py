"""Which way of saying who one is is in force, what is refused, and that no page opens without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit import config
from streamlit.runtime.secrets import secrets_singleton
from streamlit.testing.v1 import AppTest

from annotator.errors import Forbidden, InputError
from annotator.model import Person
from annotator.services import team
from annotator.services.team import Identity
from annotator.services.workspace import project_root
from annotator.store.database import Workspace
from annotator.ui import sign_in
from annotator.ui.sign_in import Way, way

PAGES = ("home", "annotate", "queries", "review", "gold_sets", "metrics", "chunks", "settings")
SECRET = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
GOOD = {
    "redirect_uri": "https://annotator.example.org/oauth2callback",
    "cookie_secret": SECRET,
    "client_id": "annotator",
    "client_secret": "s3cret-of-the-client",
    "server_metadata_url": "https://accounts.example.org/.well-known/openid-configuration",
}
PROVIDER = {key: GOOD[key] for key in ("client_id", "client_secret", "server_metadata_url")}
APP = {key: GOOD[key] for key in ("redirect_uri", "cookie_secret")}

Configure = Callable[..., None]


@pytest.fixture
def configured(tmp_path: Path) -> Iterator[Configure]:
    """Set Streamlit's options and secrets for one test."""
    before = {
        name: config.get_option(name) for name in ("server.address", "server.trustedUserHeaders", "secrets.files")
    }

    def configure(
        secrets: str = "", address: str | None = "127.0.0.1", headers: Mapping[str, str] | None = None
    ) -> None:
        file = tmp_path / "secrets.toml"
        if secrets:
            file.write_text(secrets, "utf-8")
        config.set_option("secrets.files", [str(file)])
        config.set_option("server.address", address)
        config.set_option("server.trustedUserHeaders", headers or {})
        secrets_singleton._reset()

    yield configure
    for name, value in before.items():
        config.set_option(name, value)
    secrets_singleton._reset()


def toml(auth: Mapping[str, Any]) -> str:
    sections = {name: part for name, part in auth.items() if isinstance(part, dict)}
    lines = ["[auth]", *(f'{name} = "{value}"' for name, value in auth.items() if name not in sections)]
    for section, part in sections.items():
        lines += [f"[auth.{section}]", *(f'{name} = "{value}"' for name, value in part.items())]
    return "\n".join(lines) + "\n"


def faults(configured: Configure, auth: Mapping[str, Any]) -> list[str]:
    configured(toml(auth))
    with pytest.raises(InputError) as refused:
        way()
    kept = [str(auth.get(key, "")) for key in ("cookie_secret", "client_secret")]
    assert not any(len(value) > 8 and value in str(refused.value) for value in kept)  # everybody sees the message
    return [fault.field for fault in refused.value.problems]


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1", "127.0.1.7"])
def test_without_any_setting_names_are_picked_on_this_computer(configured: Configure, address: str) -> None:
    configured(address=address)
    assert way() == Way("local")


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.7", "annotator.example.org", "", None])
def test_names_are_picked_nowhere_else(configured: Configure, address: str | None) -> None:
    configured(address=address)
    with pytest.raises(Forbidden, match=f"the server listens on {address or 'every address'}") as refused:
        way()
    assert "python -m annotator serve" in refused.value.hint


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "annotator.example.org"},
        {"Host": "localhost:8501", "Origin": "https://annotator.example.org"},
        {"Host": "127.0.0.1:8501", "X-Forwarded-For": "192.0.2.1"},
        {"Host": "127.0.0.1:8501", "Forwarded": "for=192.0.2.1"},
        {"Host": "127.0.0.1:8501", "Via": "1.1 proxy"},
    ],
)
def test_a_visit_from_elsewhere_picks_no_name(
    configured: Configure, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    configured()
    monkeypatch.setattr(type(st.context), "headers", headers)
    with pytest.raises(Forbidden, match="only this computer may reach the app"):
        way()


@pytest.mark.parametrize("host", ["localhost:8501", "127.0.0.1:8501", "[::1]:8501"])
def test_a_visit_from_here_picks_one(configured: Configure, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    configured()
    monkeypatch.setattr(type(st.context), "headers", {"Host": host, "Origin": f"http://{host}"})
    assert way() == Way("local")


def test_auth_in_the_secrets_turns_openid_connect_on_at_any_address(configured: Configure) -> None:
    configured(toml(GOOD), address="0.0.0.0")
    assert way() == Way("oidc", ("default",))
    configured(toml({**APP, "google": PROVIDER, "okta": PROVIDER}))
    assert way() == Way("oidc", ("google", "okta"))


@pytest.mark.parametrize("key", GOOD)
@pytest.mark.parametrize("value", ["", " ", "<from your provider>", "xxx", "XXXXXXXX"])
def test_what_is_missing_or_still_an_example_is_refused(configured: Configure, key: str, value: str) -> None:
    assert faults(configured, {**GOOD, key: value}) == [f"auth.{key}"]


@pytest.mark.parametrize("value", ["short", "a" * 64, "0123456789" * 2, "secretsecretsecretsecretsecretsecret"])
def test_a_secret_that_can_be_guessed_is_refused(configured: Configure, value: str) -> None:
    assert faults(configured, {**GOOD, "cookie_secret": value}) == ["auth.cookie_secret"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("redirect_uri", "http://annotator.example.org/oauth2callback"),
        ("redirect_uri", "https://annotator.example.org/"),
        ("redirect_uri", "annotator.example.org/oauth2callback"),
        ("server_metadata_url", "http://accounts.example.org/.well-known/openid-configuration"),
    ],
)
def test_an_address_that_can_be_listened_to_is_refused(configured: Configure, key: str, value: str) -> None:
    assert faults(configured, {**GOOD, key: value}) == [f"auth.{key}"]


def test_all_that_is_missing_is_told_at_once(configured: Configure) -> None:
    configured("[auth]\n")
    with pytest.raises(InputError) as refused:
        way()
    assert [fault.field for fault in refused.value.problems] == [f"auth.{key}" for key in GOOD]
    assert faults(configured, {**APP, "my_idp": PROVIDER}) == ["auth.my_idp"]


def test_the_example_of_the_guide_is_refused_as_it_stands(configured: Configure) -> None:
    guide = (project_root() / "docs" / "sign-in.md").read_text("utf-8")
    example = guide.split("```toml\n[auth]")[1].split("```")[0]
    configured("[auth]" + example)
    with pytest.raises(InputError) as refused:
        way()
    assert {fault.field for fault in refused.value.problems} == {f"auth.{key}" for key in GOOD}


@pytest.mark.parametrize("broken", ["[auth\n", "auth = 1\n", "[auth]\ncookie_secret = \xff\n"])
def test_a_broken_secrets_file_does_not_turn_sign_in_off(configured: Configure, broken: str, tmp_path: Path) -> None:
    configured(broken)
    with pytest.raises(InputError, match="nobody can sign in"):
        way()


def test_secrets_that_say_nothing_of_sign_in_leave_it_off(configured: Configure) -> None:
    configured('other = "x"\n')
    assert way() == Way("local")


def test_without_its_package_sign_in_says_what_to_install(
    configured: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(toml(GOOD))
    monkeypatch.setattr(sign_in, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install -r requirements-oidc\.txt"):
        way()
    assert (project_root() / "requirements-oidc.txt").is_file()


PROXY = {"X-User": "subject", "X-Secret": "secret"}


def test_a_proxy_is_believed_when_it_can_prove_itself(configured: Configure) -> None:
    configured(f'[proxy]\nsecret = "{SECRET}"\n', headers=PROXY)
    assert way() == Way("proxy")
    assert sign_in.proxy_secret() == SECRET


@pytest.mark.parametrize("secret", ["", "short", "a" * 64, "<made by: python -c 'import secrets'>"])
def test_a_proxy_without_a_secret_is_not_believed(configured: Configure, secret: str) -> None:
    configured(f'[proxy]\nsecret = "{secret}"\n', headers=PROXY)
    with pytest.raises(InputError, match="no secret by which to know it") as refused:
        way()
    assert [fault.field for fault in refused.value.problems] == ["proxy.secret"]


def test_half_a_proxy_and_two_ways_at_once_are_refused(configured: Configure) -> None:
    configured(headers=PROXY)
    with pytest.raises(InputError, match="no secret by which to know it"):
        way()
    configured(f'[proxy]\nsecret = "{SECRET}"\n', headers={"X-User": "email"})
    with pytest.raises(InputError, match="no header for the subject and the secret"):
        way()
    configured(toml(GOOD), headers=PROXY)
    with pytest.raises(InputError, match="Two ways of sign-in"):
        way()


# On the screen


def visited(page: str, user: Mapping[str, object], who: str = "") -> AppTest:
    app = AppTest.from_file(str(project_root() / "streamlit_app.py"), default_timeout=30)
    app.user = dict(user)
    if who:
        app.session_state["who"] = who
    app.run()
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    return app


def told(app: AppTest) -> str:
    return "\n".join(element.value for element in app.html)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_asks_to_sign_in_and_a_picked_name_counts_for_nothing(
    page: str, configured: Configure, demo: Workspace
) -> None:
    configured(toml(GOOD))
    app = visited(page, {"is_logged_in": False, "iss": "https://idp.example", "sub": "1"}, who="Ana")
    assert [button.label for button in app.button] == ["Sign in"]
    assert not app.get("page_link")
    assert "Ana" not in told(app)


def test_a_sign_in_without_a_subject_is_nobody(configured: Configure, demo: Workspace) -> None:
    configured(toml(GOOD))
    for claims in ({"sub": "1"}, {"iss": "https://idp.example"}, {"iss": "https://idp.example", "sub": ""}):
        app = visited("home", {"is_logged_in": True, "name": "Ana", **claims})
        assert "says nothing by which to know you again" in told(app)
        assert not app.get("page_link")


def test_who_signed_in_is_known_by_issuer_and_subject(configured: Configure, demo: Workspace) -> None:
    configured(toml(GOOD))
    app = visited("home", {"is_logged_in": True, "iss": "https://idp.example", "sub": "1", "name": "Ana"})
    assert "Signed in as Ana 2" in told(app)
    assert "You are here as reader" in told(app)
    assert team.signed_in(demo, Identity("https://idp.example#1")) == Person("Ana 2", "reader")
    app = visited("home", {"is_logged_in": True, "iss": "https://other.example", "sub": "1", "name": "Ana"})
    assert "Signed in as Ana 3" in told(app)
    team.link(demo, "operator", "Ana", "https://idp.example#1")
    app = visited("home", {"is_logged_in": True, "iss": "https://idp.example", "sub": "1", "name": "Zoe"})
    assert "Signed in as Ana" in told(app)
    assert "Signed in as Ana 2" not in told(app)


def test_where_people_sign_in_nobody_makes_a_workspace_from_the_screen(
    configured: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(toml(GOOD))
    monkeypatch.setenv("ANNOTATOR_HOME", str(tmp_path / "none"))
    app = visited("home", {})
    assert not app.button
    assert "python -m annotator init" in told(app)
