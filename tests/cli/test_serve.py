"""`serve`: the process becomes the app, for this computer only, on the workspace named."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from annotator.cli import main
from annotator.services.workspace import project_root


def test_the_app_is_started_for_this_computer_on_the_named_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda program, arguments: started.append(arguments))
    monkeypatch.setenv("ANNOTATOR_HOME", "")
    monkeypatch.chdir(tmp_path)
    assert main(["--home", "here", "serve", "--port", "8600"]) == 0
    (arguments,) = started
    assert arguments[:5] == [sys.executable, "-m", "streamlit", "run", str(project_root() / "streamlit_app.py")]
    assert arguments[arguments.index("--server.address") + 1] == "127.0.0.1"
    assert arguments[arguments.index("--server.port") + 1] == "8600"
    assert os.environ["ANNOTATOR_HOME"] == str(tmp_path / "here")
    assert Path.cwd() == project_root()


def test_a_port_that_is_none_is_refused() -> None:
    assert main(["serve", "--port", "99999"]) == 2
