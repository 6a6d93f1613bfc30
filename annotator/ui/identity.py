"""Who is in front of the screen: proven by a sign-in, or a name picked where that is enough (see `sign_in.py`).

A proven person is found by the subject of the sign-in alone. A picked name is remembered in the browser by a cookie,
which counts for nothing where people sign in.
"""

from __future__ import annotations

from hmac import compare_digest
from urllib.parse import unquote

import streamlit as st

from annotator.errors import Forbidden
from annotator.model import Person
from annotator.services import team
from annotator.services.team import Identity
from annotator.services.workspace import Workspace
from annotator.ui import text
from annotator.ui.sign_in import DEFAULT, Way, proxy_secret, way

__all__ = ["ask", "chosen", "switcher"]

_COOKIE = "annotator_person"

_remember = st.components.v2.component(
    "annotator.remember",
    js=f"""export default ({{ data }}) => {{
      const age = data.name ? 31536000 : 0;
      document.cookie = `{_COOKIE}=${{encodeURIComponent(data.name)}}; path=/; SameSite=Strict; max-age=${{age}}`;
    }}""",
)

# A provider sends people back to the first page: what they wanted to open is kept in their window meanwhile.
_come_back = st.components.v2.component(
    "annotator.come_back",
    js="""export default ({ data }) => {
      const here = location.pathname + location.search;
      if (data.keep) { sessionStorage.setItem('annotator.wanted', here); return; }
      const wanted = sessionStorage.getItem('annotator.wanted');
      sessionStorage.removeItem('annotator.wanted');
      if (wanted && wanted !== here) location.replace(location.origin + wanted);
    }""",
)


def chosen(workspace: Workspace) -> Person | None:
    """Return the person in front of the screen, or None when nobody has signed in or picked a name yet.

    Raises Forbidden for somebody who no longer works here, and InputError where sign-in is not set up safely.
    """
    here = way()
    if not here.proven:
        return _picked(workspace)
    identity = _proven(here)
    if identity is None:
        return None
    person = team.signed_in(workspace, identity) or team.arrive(workspace, identity)
    if not person.active:
        raise Forbidden(
            f"{person.name} no longer works here.", hint=team.whom_to_ask(workspace, person.name, signing_in=True)
        )
    return person


def ask(workspace: Workspace) -> None:
    """Ask who is there: with a button to sign in, or by name."""
    here = way()
    _, middle, _ = st.columns([1, 2, 1])
    with middle:
        if here.kind == "local":
            _picker(workspace)
        elif here.kind == "oidc":
            _sign_in_page(here)
        else:
            st.title("Annotator")
            text.problem(
                Forbidden(
                    "Nobody is signed in.", hint="The proxy in front of this app says who you are; it said nothing."
                )
            )


def switcher(person: Person) -> None:
    """Show in the sidebar who is working, and let somebody else take over."""
    here = way()
    if here.kind == "local":
        _remember(data={"name": person.name}, key="remember", height=1)
    elif here.kind == "oidc":
        _come_back(data={"keep": False}, key="come_back", height=1)
    with st.sidebar:
        st.html('<div class="an-who"></div>')
        text.line([f"{'Signed in' if here.proven else 'Working'} as {person.name}"])
        if here.kind == "oidc":
            if st.button("Sign out", key="sign_out", type="tertiary"):
                st.logout()
        elif here.kind == "local" and st.button("Change", key="change_person", type="tertiary"):
            st.session_state["who"] = ""
            st.session_state.pop("workbench.answers", None)
            st.rerun()


def _picked(workspace: Workspace) -> Person | None:
    if "who" not in st.session_state:
        st.session_state["who"] = unquote(st.context.cookies.get(_COOKIE, ""))
    name = st.session_state["who"]
    person = team.find(workspace, name) if name else None
    return person if person is not None and person.active else None


def _picker(workspace: Workspace) -> None:
    """Ask for a name: one of the workspace's people, or a new one."""
    st.title("Who is working?")
    st.write("Your labels are kept under your name. This is not a sign-in: anyone at this computer can pick any name.")
    everybody = team.everyone(workspace)
    if not any(person.role == "admin" and person.active for person in everybody):
        st.write("This workspace has no admin yet. The first new name becomes one and may change the settings.")
    names = [person.name for person in everybody if person.active]
    new = "Someone new…"
    name = new
    if names:
        name = st.selectbox("Your name", [*names, new], index=None, placeholder="Choose your name", key="picked") or ""
    if name == new:
        name = st.text_input("Your name as it should stand beside your labels", key="new_name", max_chars=80).strip()
    if st.button("Start", type="primary", disabled=not name, key="start"):
        st.session_state["who"] = team.join(workspace, str(name)).name
        st.rerun()


def _sign_in_page(here: Way) -> None:
    st.title("Annotator")
    st.write("Sign in to go on. Your labels are kept under your name.")
    for provider in here.providers:
        words = "Sign in" if provider == DEFAULT else f"Sign in with {provider}"
        if st.button(words, type="primary", key=f"sign_in:{provider}", icon=":material/login:"):
            st.login(None if provider == DEFAULT else provider)
    st.caption("New here? You can look around at once; an admin gives you your role.")
    _come_back(data={"keep": True}, key="keep", height=1)


def _proven(here: Way) -> Identity | None:
    """Return who the provider or the proxy vouches for, None when for nobody."""
    claims = {key: value for key, value in st.user.to_dict().items() if isinstance(value, str)}
    if here.kind == "oidc":
        if not st.user.get("is_logged_in"):
            return None
        if not claims.get("iss") or not claims.get("sub"):
            raise Forbidden(
                "Your sign-in says nothing by which to know you again.", hint="Ask whoever runs the server."
            )
        subject = f"{claims['iss']}#{claims['sub']}"
    else:
        claims = {key: _as_sent(value) for key, value in claims.items()}
        _refuse_other_than_proxy(claims.get("secret", ""))
        if not claims.get("subject", "").strip():
            return None
        subject = f"proxy#{claims['subject'].strip()}"
    name = claims.get("name") or claims.get("preferred_username") or ""
    return Identity(subject, name, claims.get("email", ""))


def _refuse_other_than_proxy(secret: str) -> None:
    """Refuse who does not know the proxy's secret, and a header that came twice.

    A proxy that adds its own header to the visitor's leaves open which one counts.
    """
    if not compare_digest(secret.encode(), proxy_secret().encode()):
        raise Forbidden("This visit did not come through the proxy that signs people in.", hint="Open its address.")
    for header in st.get_option("server.trustedUserHeaders"):
        if len(st.context.headers.get_all(header)) > 1:
            raise Forbidden(
                f"The header {header} came twice, so nobody is signed in.",
                hint="The proxy has to replace what visitors send under this name, not to add to it.",
            )


def _as_sent(value: str) -> str:
    """Return a header's value as the proxy wrote it: names are UTF-8, headers arrive as Latin-1."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value
