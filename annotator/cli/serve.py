"""`serve`: start the app."""

from __future__ import annotations

import os
import sys

import click

from annotator.cli import chosen_workspace
from annotator.services.workspace import project_root

__all__ = ["command"]


@click.command(epilog="Example: python -m annotator serve --port 8600")
@click.option("--port", type=click.IntRange(1, 65535), default=8501, show_default=True, help="Where the browser goes.")
def command(port: int) -> None:
    """Start the app for browsers on this computer; Ctrl-C ends it."""
    root = project_root()
    os.environ["ANNOTATOR_HOME"] = str(chosen_workspace().home.absolute())
    os.chdir(root)  # where the app's settings are: .streamlit/config.toml
    app = [str(root / "streamlit_app.py"), "--server.port", str(port), "--server.address", "127.0.0.1"]
    sys.stdout.flush()
    # the process becomes the app: signals reach it, and its exit code is ours
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", "run", *app, "--server.headless", "true"])
