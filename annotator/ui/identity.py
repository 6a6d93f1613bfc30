"""Who is working: a name picked from the workspace's people. A convenience for one machine, clearly not security.

The choice is remembered in the browser by a cookie, so a reload or a deep link does not ask again.
"""

from __future__ import annotations

from urllib.parse import unquote

import streamlit as st

from annotator.errors import Conflict
from annotator.model import Person
from annotator.services import team
from annotator.services.workspace import Workspace
from annotator.ui import text

__all__ = ["chosen", "picker", "switcher"]

_COOKIE = "annotator_person"

_remember = st.components.v2.component(
    "annotator.remember",
    js=f"""export default ({{ data }}) => {{
      const age = data.name ? 31536000 : 0;
      document.cookie = `{_COOKIE}=${{encodeURIComponent(data.name)}}; path=/; SameSite=Strict; max-age=${{age}}`;
    }}""",
)


def chosen(workspace: Workspace) -> Person | None:
    """Return the person this browser works as, or None when nobody was picked yet."""
    if "who" not in st.session_state:
        st.session_state["who"] = unquote(st.context.cookies.get(_COOKIE, ""))
    name = st.session_state["who"]
    person = team.find(workspace, name) if name else None
    return person if person is not None and person.active else None


def picker(workspace: Workspace) -> None:
    """Ask for a name: one of the workspace's people, or a new one."""
    _, middle, _ = st.columns([1, 2, 1])
    with middle:
        st.title("Who is working?")
        st.write(
            "Your labels are kept under your name. This is not a sign-in: anyone at this computer can pick any name."
        )
        everybody = team.everyone(workspace)
        if not any(person.role == "admin" and person.active for person in everybody):
            st.write("This workspace has no admin yet. The first new name becomes one and may change the settings.")
        names = [person.name for person in everybody if person.active]
        new = "Someone new…"
        name = st.selectbox("Your name", [*names, new], index=None, placeholder="Choose your name", key="picked")
        if name == new:
            name = st.text_input(
                "Your name as it should stand beside your labels", key="new_name", max_chars=80
            ).strip()
        if st.button("Start", type="primary", disabled=not name, key="start"):
            person = team.join(workspace, str(name))
            if not person.active:
                raise Conflict(f"{person.name} no longer works here.", hint="Pick another name, or ask an admin.")
            st.session_state["who"] = person.name
            st.rerun()


def switcher(person: Person) -> None:
    """Show in the sidebar who is working, and let somebody else take over."""
    _remember(data={"name": person.name}, key="remember", height=1)
    with st.sidebar:
        st.html('<div class="an-who"></div>')
        text.line([f"Working as {person.name}"])
        if st.button("Change", key="change_person", type="tertiary"):
            st.session_state["who"] = ""
            st.session_state.pop("workbench.answers", None)
            st.rerun()
