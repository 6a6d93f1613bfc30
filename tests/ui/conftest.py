"""The app under test: a demo workspace of its own for every test, and a visit to one page of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from annotator.services import team
from annotator.services.workspace import init, project_root
from annotator.store.database import Workspace

Visit = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def _no_caches() -> Iterator[None]:
    """Caches are the process's: what one test put there must not reach the next."""
    yield
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture(scope="session")
def demo_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the demo, to be copied."""
    home = tmp_path_factory.mktemp("demo") / "workspace"
    init(home, who="Ana", demo=True)
    return home


@pytest.fixture
def demo(demo_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The demo workspace, where the app finds it."""
    home = tmp_path / "workspace"
    shutil.copytree(demo_template, home)
    return _found(home, monkeypatch)


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace with nothing in it but Ana, its admin."""
    init(tmp_path / "workspace", who="Ana")
    return _found(tmp_path / "workspace", monkeypatch)


def _found(home: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("ANNOTATOR_HOME", str(home))
    workspace = Workspace(home)
    if team.find(workspace, "Ana") is None:
        team.join(workspace, "Ana")
    return workspace


@pytest.fixture
def visit() -> Visit:
    """Open a page of the app as a person."""

    def go(page: str, who: str = "Ana") -> AppTest:
        app = AppTest.from_file(str(project_root() / "streamlit_app.py"), default_timeout=30)
        app.session_state["who"] = who
        app.run()
        return sound(app.switch_page(f"pages/{page}.py").run())

    return go


def sound(app: AppTest) -> AppTest:
    """Return the app when its last run ended without an exception."""
    assert not app.exception, [one.value for one in app.exception]
    return app


def shown(app: AppTest) -> str:
    """Return all HTML the page shows, one element a line."""
    return "\n".join(element.value for element in app.html)
