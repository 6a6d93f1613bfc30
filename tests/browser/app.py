"""A real server and a real browser for tests and benchmarks."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
)


def chromium_path() -> str | None:
    """Return the browser on this machine, or None."""
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return next((path for path in found if path), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a headless Chromium."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium_path(), args=list(CHROMIUM_FLAGS))
        yield started
        started.close()


class App:
    """A Streamlit server over a script of the project; `stop` or `kill` ends it. `settings` are Streamlit's options."""

    def __init__(
        self, home: Path | None = None, script: str = "streamlit_app.py", port: int = 0, settings: Sequence[str] = ()
    ) -> None:
        self.port = port or free_port()
        self.settings = settings
        self.environment = {**os.environ, **({"ANNOTATOR_HOME": str(home)} if home else {})}
        self.script = script
        self.process: subprocess.Popen[bytes]
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = ("--server.port", str(self.port), "--server.headless", "true", "--server.address", "127.0.0.1")
        command = [sys.executable, "-m", "streamlit", "run", self.script, *options, "--server.fileWatcherType", "none"]
        command += self.settings
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until = time.monotonic() + 90
        while time.monotonic() < until and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=5):
                    return
            except OSError:
                time.sleep(0.1)
        self.kill()
        raise RuntimeError("the server did not start")

    def kill(self) -> None:
        """End the server at once, without a chance to tidy up."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """End the server."""
        self.process.terminate()
        self.process.wait(timeout=60)


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def open_page(started: Browser, url: str, who: str = "", size: tuple[int, int] = (1440, 900), **options: Any) -> Page:
    """Open an address in a fresh profile, as this person where one is given."""
    context = started.new_context(viewport={"width": size[0], "height": size[1]}, **options)
    if who:
        context.add_cookies([{"name": "annotator_person", "value": who.replace(" ", "%20"), "url": url}])
    page = context.new_page()
    page.set_default_timeout(30_000)
    page.goto(url)
    return page


def idle(page: Page) -> None:
    """Wait until no script of the page runs: before that a field may be put anew under somebody's typing."""
    page.locator("[data-testid='stApp'][data-test-script-state='notRunning']").wait_for()


# Finds elements inside shadow roots, where the grading component lives.
DEEP = """
window.deep = (selector, root = document) => {
  const found = root.querySelector(selector);
  if (found) return found;
  for (const node of root.querySelectorAll('*')) {
    if (node.shadowRoot) { const inner = deep(selector, node.shadowRoot); if (inner) return inner; }
  }
  return null;
};
"""
