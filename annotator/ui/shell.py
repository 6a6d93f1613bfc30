"""The frame of every page: navigation, the guard, the person, error messages, and the warm-up of the process.

`require` is called first by every page, because a page file can be reached by a deep link before the entry script
has ever run; it sends such a visit through the entry script and lets nobody past without a person and a workspace.
"""

from __future__ import annotations

import gc
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import streamlit as st

from annotator.errors import AnnotatorError, Forbidden
from annotator.model import Person
from annotator.services import permission, team
from annotator.services.permission import Action
from annotator.services.workspace import Workspace, find_workspace, project_root
from annotator.ui import identity, sign_in, text, welcome

__all__ = ["Session", "errors", "page", "pages", "require", "run"]

_PAGES: Final[Mapping[str, tuple[str, str, Action]]] = {
    # name: title, icon, what it is for; who may not do that is not offered the page
    "home": ("Home", ":material/home:", "look around"),
    "annotate": ("Annotate", ":material/edit_note:", "grade chunks"),
    "queries": ("Queries", ":material/quiz:", "look around"),
    "review": ("Review", ":material/rate_review:", "settle labels"),
    "gold_sets": ("Gold sets", ":material/verified:", "look around"),
    "metrics": ("Metrics", ":material/monitoring:", "look around"),
    "chunks": ("Chunks", ":material/description:", "look around"),
    "settings": ("Settings", ":material/settings:", "look around"),
}


@dataclass(frozen=True, slots=True)
class Session:
    """What a page works with: the workspace and the person in front of the screen.

    `signs_in` says whether the person is proven, not picked from the list of names.
    """

    workspace: Workspace
    person: Person
    signs_in: bool = False

    @property
    def who(self) -> str:
        return self.person.name

    def may(self, action: Action) -> bool:
        """Say whether the person may do this: what would be refused is not offered."""
        return permission.allows(self.person, action)

    def opens(self, page: str) -> bool:
        """Say whether the page opens for the person: no button leads to one that would not."""
        return self.may(_PAGES[page][2])


def pages() -> dict[str, st.Page]:
    """Return every page of the app by its name."""
    folder = project_root() / "pages"
    return {
        # The first page stands at `/` whatever its path is called; `home` is kept for `_known`.
        name: st.Page(
            folder / f"{name}.py",
            title=title,
            icon=icon,
            url_path="start" if name == "home" else name,
            default=name == "home",
        )
        for name, (title, icon, _) in _PAGES.items()
    }


def _known() -> list[st.Page]:
    """Return what an address may name: every page, and `home` as another name of the first, which stands at `/`."""
    return [*pages().values(), st.Page(_to_home, title="Home", url_path="home")]


def _to_home() -> None:
    st.switch_page(pages()["home"])


def page(name: str) -> str:
    """Return the path of a page for `st.switch_page` and `st.page_link`."""
    return f"pages/{name}.py"


def run() -> None:
    """Run the app: the entry script's whole content."""
    _configure()
    st.html(f"<style>{_style()}</style>")
    known = pages()
    chosen = st.navigation(_known(), position="hidden")
    st.session_state["shell.entered"] = True
    with st.sidebar:
        for name in _open_pages():
            st.page_link(known[name])
    chosen.run()
    warm_up()


def _configure() -> None:
    """Set the page up before any navigation: the icon of a page's own would be fetched from a font server."""
    st.set_page_config(page_title="Annotator", page_icon=str(Path(__file__).parent / "icon.png"), layout="wide")


def require(action: Action) -> Session:
    """Let the page go on only inside the app, with a workspace and a person who may do what the page is for."""
    if not st.session_state.get("shell.entered"):
        _configure()
        st.navigation(_known(), position="hidden")
        st.rerun()
    with errors():
        here = sign_in.way()
    workspace = find_workspace()
    if not workspace.exists:
        welcome.show(workspace, offered=not here.proven)
        st.stop()
    with errors():
        _open(str(workspace.home), workspace.database.stat().st_ino)
        person = identity.chosen(workspace)
    if person is None:
        with errors():
            identity.ask(workspace)
        st.stop()
    identity.switcher(person)
    if not permission.allows(person, action):
        roles = ", ".join(role for role in permission.ROLES if role in permission.MAY[action])
        text.problem(
            Forbidden(
                f"This page is for those who {action} ({roles}); you are here as {person.role}.",
                hint=team.whom_to_ask(workspace, person.name, signing_in=here.proven),
            )
        )
        st.stop()
    return Session(workspace, person, here.proven)


def _open_pages() -> list[str]:
    """Return the pages the person in front of the screen may open; what would be refused is not offered."""
    workspace = find_workspace()
    person = None
    if workspace.exists:
        with suppress(AnnotatorError):  # the page itself says what is wrong
            person = identity.chosen(workspace)
    return [name for name, (_, _, action) in _PAGES.items() if person and permission.allows(person, action)]


@contextmanager
def errors() -> Iterator[None]:
    """Show an error of ours as a message and stop the page; anything else as an apology, never a traceback."""
    try:
        yield
    except AnnotatorError as error:
        text.problem(error)
        st.stop()
    except Exception as error:
        if type(error).__module__.startswith("streamlit."):
            raise  # reruns and stops travel as exceptions
        traceback.print_exc()
        text.box(
            "Something went wrong here. Nothing you saved is lost. Reload the page; if it comes back, tell us.", "bad"
        )
        st.stop()


@st.cache_resource(show_spinner=False, max_entries=1, on_release=lambda hold: hold.close())
def _open(home: str, file: int) -> object:  # noqa: ARG001 - another file is another database
    """Check the workspace once a process (again when its database was replaced), and hold it open."""
    workspace = Workspace(Path(home))
    workspace.open()
    return workspace.hold()


@st.cache_resource(show_spinner=False)
def warm_up() -> bool:
    """Take everything loaded so far out of the garbage collector's sight: its full passes dominate a rerun."""
    gc.collect()
    gc.freeze()
    return True


@st.cache_resource(show_spinner=False)
def _style() -> str:
    return (Path(__file__).parent / "style.css").read_text("utf-8")
