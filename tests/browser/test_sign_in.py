"""Signing in for real: a provider, a proxy, and everything that must not let anybody in."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

from annotator.cli import main
from annotator.model import Person
from annotator.services import team
from annotator.services.team import Identity
from annotator.services.workspace import Workspace, init
from tests.browser.app import App, free_port, idle, open_page
from tests.browser.provider import provider, secrets_file, sign_in, sign_out
from tests.browser.proxy import proxy

pytestmark = pytest.mark.browser

PAGES = ("", "annotate", "review", "settings")
PEOPLE = {
    "one": {"name": "Ana Kovač", "email": "ana@example.org"},
    "two": {"name": "Ana Kovač", "email": "other@example.org"},
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A demo workspace from before sign-in; its Ana Kovač has labels, its admin is Boss."""
    return init(tmp_path_factory.mktemp("signing-in") / "workspace", who="Boss", demo=True)


class SigningIn(NamedTuple):
    """The app with OpenID Connect, the provider's address, and the secret the app signs its cookies with."""

    url: str
    provider: str
    secret: str


@pytest.fixture(scope="module")
def signing_in(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SigningIn]:
    port = free_port()
    with provider(PEOPLE) as address:
        file = secrets_file(tmp_path_factory.mktemp("secrets") / "secrets.toml", address, port)
        app = App(workspace.home, port=port, settings=("--secrets.files", str(file)))
        try:
            yield SigningIn(app.url, address, tomllib.loads(file.read_text("utf-8"))["auth"]["cookie_secret"])
        finally:
            app.stop()


def opened(chromium: Browser, url: str, who: str = "") -> Page:
    page = open_page(chromium, url, who)
    # the provider's pages ask for a style sheet of somebody else's
    page.route(lambda address: "127.0.0.1" not in address, lambda route: route.abort())
    return page


def signed_in_as(page: Page, name: str) -> None:
    expect(page.get_by_text(f"Signed in as {name}", exact=True)).to_be_visible()
    idle(page)


def test_a_person_signs_in_works_and_signs_out_and_a_namesake_is_somebody_else(
    signing_in: SigningIn, workspace: Workspace, chromium: Browser
) -> None:
    url, address, _ = signing_in
    # The first visit of the server's life is a deep link, and it comes back to it; a namesake's labels stay theirs.
    page = opened(chromium, f"{url}/settings?from=mail")
    sign_in(page, "one")
    signed_in_as(page, "Ana Kovač 2")
    expect(page).to_have_url(f"{url}/settings?from=mail")
    page.get_by_role("radio", name="People").click()
    expect(page.get_by_text("other@example.org")).to_have_count(0)
    expect(page.get_by_role("cell", name="ana@example.org")).to_be_visible()
    expect(page.get_by_role("button", name="Deactivate")).to_have_count(0)
    page.goto(f"{url}/annotate")
    expect(page.get_by_role("alert")).to_contain_text("you are here as reader")
    expect(page.get_by_role("alert")).to_contain_text("people role 'Ana Kovač 2' admin")
    expect(page.get_by_role("link", name="Annotate")).to_have_count(0)

    # A command makes the first admin; it counts at once.
    arguments = ["--home", str(workspace.home), "--who", "operator", "people"]
    assert main([*arguments, "role", "Ana Kovač 2", "admin"]) == 0
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("radio", name="People").click()
    expect(page.get_by_role("button", name="Deactivate")).to_be_disabled()
    page.get_by_role("link", name="Annotate").click()
    page.get_by_role("button", name="answers").first.wait_for()
    idle(page)
    page.keyboard.press("3")
    expect(page.get_by_text("Saved")).to_be_visible()
    with workspace.read() as connection:
        rows = connection.execute("SELECT annotator FROM judgments WHERE origin = 'annotate' ORDER BY judgment_id DESC")
        assert rows.fetchone()[0] == "Ana Kovač 2"

    # Another subject with the same name, in the same browser.
    sign_out(page)
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    sign_in(page, "two")
    signed_in_as(page, "Ana Kovač 3")
    assert team.signed_in(workspace, Identity(f"{address}#one")) == Person("Ana Kovač 2", "admin")
    assert team.signed_in(workspace, Identity(f"{address}#two")) == Person("Ana Kovač 3", "reader")

    # Who is deactivated is out at once, with the page still open.
    assert main([*arguments, "deactivate", "Ana Kovač 3"]) == 0
    page.get_by_role("link", name="Queries").click()
    expect(page.get_by_role("alert")).to_contain_text("Ana Kovač 3 no longer works here")
    expect(page.get_by_role("alert")).to_contain_text("Ask Ana Kovač 2")
    expect(page.get_by_role("link", name="Home")).to_have_count(0)


def test_nothing_but_a_sign_in_opens_a_page(signing_in: SigningIn, workspace: Workspace, chromium: Browser) -> None:
    url, address, secret = signing_in
    claims = {"iss": address, "sub": "boss", "name": "Boss", "origin": url, "is_logged_in": True}

    def signed(with_secret: str) -> Page:
        cookie = create_signed_value(with_secret, "_streamlit_user", json.dumps(claims)).decode()
        page = opened(chromium, url, who="Boss")  # with the cookie of picked names
        page.context.set_extra_http_headers({"X-Forwarded-User": "Boss", "X-Remote-User": "Boss"})
        page.context.add_cookies([{"name": "_streamlit_user", "value": cookie, "url": url}])
        return page

    page = signed("0" * 64)
    for name in PAGES:
        page.goto(f"{url}/{name}?who=Boss")
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        expect(page.get_by_text("Boss")).to_have_count(0)
        expect(page.get_by_test_id("stPageLink")).to_have_count(0)
    assert team.signed_in(workspace, Identity(f"{address}#boss")) is None
    # The same cookie, signed by the app itself, would do: it is the signature that counts.
    page = signed(secret)
    page.goto(url)
    signed_in_as(page, "Boss 2")
    expect(page.get_by_test_id("stPageLink")).to_have_count(6)


def test_a_proxy_says_who_is_there_and_nobody_else_does(
    workspace: Workspace, chromium: Browser, tmp_path: Path
) -> None:
    secret = token_hex(32)
    (tmp_path / "secrets.toml").write_text(f'[proxy]\nsecret = "{secret}"\n', "utf-8")
    said = {"X-Forwarded-User": "boss", "X-Name": "", "X-Proxy-Secret": "x" * 64}
    mapping = '{"X-Forwarded-User": "subject", "X-Name": "name", "X-Proxy-Secret": "secret"}'
    settings = ("--server.trustedUserHeaders", mapping, "--secrets.files", str(tmp_path / "secrets.toml"))
    app = App(workspace.home, settings=settings)
    try:
        with proxy(app.port, lambda: said) as address:
            # Whoever reaches the app can send the header, but not the secret.
            page = opened(chromium, address, who="Boss")
            expect(page.get_by_role("alert")).to_contain_text("did not come through the proxy")
            expect(page.get_by_test_id("stPageLink")).to_have_count(0)
            said |= {"X-Forwarded-User": "", "X-Proxy-Secret": secret}
            page.goto(f"{address}/settings")
            expect(page.get_by_role("alert")).to_contain_text("Nobody is signed in")
            expect(page.get_by_test_id("stPageLink")).to_have_count(0)
            said |= {"X-Forwarded-User": "u-17", "X-Name": "Zoë Ağaoğlu"}
            page.goto(f"{address}/queries")
            signed_in_as(page, "Zoë Ağaoğlu")
            expect(page.get_by_role("button", name="Sign out")).to_have_count(0)
            expect(page.get_by_role("button", name="Change")).to_have_count(0)
            assert team.signed_in(workspace, Identity("proxy#u-17")) == Person("Zoë Ağaoğlu", "reader")
            # A proxy that adds its header to the visitor's leaves open whose counts: Streamlit takes the first.
            said["X-Forwarded-User"] = "boss\r\nX-Forwarded-User: u-17"
            page.goto(f"{address}/settings")
            expect(page.get_by_role("alert")).to_contain_text("The header X-Forwarded-User came twice")
            assert team.signed_in(workspace, Identity("proxy#boss")) is None
    finally:
        app.stop()


def test_picked_names_are_for_this_computer_only(workspace: Workspace, chromium: Browser) -> None:
    app = App(workspace.home)
    try:
        with proxy(app.port, lambda: {"X-Forwarded-For": "203.0.113.7"}) as address:
            page = opened(chromium, f"{address}/settings", who="Boss")
            expect(page.get_by_role("alert")).to_contain_text("only this computer may reach the app")
            expect(page.get_by_test_id("stPageLink")).to_have_count(0)
        page = opened(chromium, f"{app.url}/settings", who="Boss")
        expect(page.get_by_text("Working as Boss")).to_be_visible()
    finally:
        app.stop()
