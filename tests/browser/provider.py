"""A real OpenID Connect provider on this machine, for tests of signing in; it takes anybody's word for who they are."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.app import free_port


@contextmanager
def provider(people: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """Start a provider that knows these people (subject → claims) and yield its address."""
    port = free_port()
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port)]
    for subject, claims in people.items():
        command += ["--user-claims", json.dumps({"sub": subject, **claims})]
    process = subprocess.Popen(command, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                with urllib.request.urlopen(f"{address}/.well-known/openid-configuration", timeout=1):
                    break
            except OSError:
                time.sleep(0.1)
        else:
            raise RuntimeError("the provider did not start")
        yield address
    finally:
        process.terminate()
        process.wait(timeout=60)


def secrets_file(path: Path, provider: str, port: int) -> Path:
    """Write Streamlit's secrets for an app at this port that signs people in at the provider."""
    path.write_text(
        f"""[auth]
redirect_uri = "http://127.0.0.1:{port}/oauth2callback"
cookie_secret = "{secrets.token_hex(32)}"
client_id = "annotator"
client_secret = "{secrets.token_hex(16)}"
server_metadata_url = "{provider}/.well-known/openid-configuration"
""",
        "utf-8",
    )
    return path


def sign_in(page: Page, subject: str) -> None:
    """Go from the app's sign-in page to the provider, say who is there, and come back."""
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name=subject, exact=True).first.click()


def sign_out(page: Page) -> None:
    """Sign out of the app, and of the provider, which asks."""
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="End session").click()
