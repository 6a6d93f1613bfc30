"""The Settings page's parts: rubric, facets and their targets, people, and about this workspace.

The chunk table's connection is `connection.py`.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import streamlit as st

from annotator.errors import InputError, Problem
from annotator.services import facets, settings, team
from annotator.services.facets import FacetSchema
from annotator.services.team import Member
from annotator.ui import blocks, text
from annotator.ui.blocks import Pair
from annotator.ui.shell import Session

__all__ = ["about", "kinds", "people", "rubric", "said", "say"]

_SAID = "settings.said"
_ROLES = {
    "annotator": "annotator: grades chunks",
    "reviewer": "reviewer: also settles disputes",
    "admin": "admin: also changes these settings",
    "reader": "reader: looks, changes nothing",
}


def said() -> None:
    """Say what was just saved, once."""
    message = st.session_state.pop(_SAID, "")
    if message:
        text.box(message, "good")


def say(message: str) -> None:
    """Say on the next showing of the page that something was saved."""
    st.session_state[_SAID] = message
    st.rerun()


def rubric(session: Session) -> None:
    """Show the rubric, and let an admin write its next version."""
    kept = settings.rubric(session.workspace)
    which = f"version {kept.version}" if kept.version else "not written yet"
    blocks.heading("How to grade", which)
    if not session.may("change the rubric"):
        text.marked(kept.text)
        return
    text.line(["Everybody who grades can open it beside the question. Say what each grade means, with examples."])
    written = st.text_area(
        "Rubric", kept.text, height=520, key=f"rubric:{kept.version}", label_visibility="collapsed",
        max_chars=settings.LONGEST_RUBRIC,
    )  # fmt: skip
    if st.button(
        f"Save as version {kept.version + 1}", type="primary", key="rubric.save", disabled=written == kept.text
    ):
        new = settings.set_rubric(session.workspace, session.who, written, seen=kept.version)
        say(f"Saved: version {new.version} of the rubric is in force.")


def kinds(session: Session) -> None:
    """Show the facets and how many questions of each kind are wanted, and let an admin change them."""
    kept = facets.schema(session.workspace)
    blocks.heading("Facets", "what tells questions apart; each value is a slice of the metrics")
    rows = {
        "Facet": [facet for facet, values in kept.targets.items() for _ in values],
        "Value": [value for values in kept.targets.values() for value in values],
        "Wanted": [wanted for values in kept.targets.values() for wanted in values.values()],
    }
    if not session.may("change the facets"):
        text.line(kept.facets, quiet=False)
        blocks.table(list(rows), [[str(cell) for cell in row] for row in zip(*rows.values(), strict=True)], figures=[2])
        return
    mark = str(hash((kept.facets, str(kept.targets))))
    left, right = st.columns([0.34, 0.66], gap="large")
    with left:
        st.html('<div class="an-line">Facets, one a line</div>')
        names = st.text_area(
            "Facets", "\n".join(kept.facets), height=280, key=f"facets:{mark}", label_visibility="collapsed"
        )
    with right:
        st.html('<div class="an-line">Questions wanted of each kind</div>')
        edited: Any = st.data_editor(
            rows, num_rows="dynamic", hide_index=True, key=f"targets:{mark}", height=280,
            column_config={"Wanted": st.column_config.NumberColumn(min_value=0, max_value=10_000, step=1, width=90)},
        )  # fmt: skip
    if st.button("Save facets", type="primary", key="facets.save"):
        facets.set_schema(session.workspace, session.who, _schema(names, edited))
        say("Saved. Home shows what is missing.")


def _schema(names: str, edited: Mapping[str, Any]) -> FacetSchema:
    listed = tuple(name.strip() for name in names.splitlines() if name.strip())
    targets: dict[str, dict[str, int]] = {}
    problems = []
    for line, row in enumerate(zip(*(edited[name] for name in ("Facet", "Value", "Wanted")), strict=True), 1):
        facet, value, wanted = row
        if not facet and not value:
            continue
        if not facet or not value or wanted is None or wanted != wanted:
            problems.append(Problem("a row needs a facet, a value and a number", file="Questions wanted", line=line))
            continue
        targets.setdefault(str(facet).strip(), {})[str(value).strip()] = int(wanted)
    if problems:
        raise InputError("These targets cannot be saved.", problems=problems)
    return FacetSchema(listed, targets)


def people(session: Session) -> None:
    """List the people, and let an admin change their roles, take them out, let them back in, and add some."""
    everyone = team.members(session.workspace)
    signs_in = session.signs_in
    blocks.heading("People", blocks.count(len(everyone), "person", "people"))
    blocks.table(
        ("Name", "Role", "Signs in as", "") if signs_in else ("Name", "Role", ""),
        [_row(one, signs_in=signs_in) for one in everyone],
    )
    if not session.may("manage people"):
        return
    _change_person(session, everyone)
    if signs_in:
        text.line(["Who signs in for the first time appears here as a reader: give them the role they need."])
        return
    with st.form("person", clear_on_submit=True):
        name_box, role_box, button = st.columns([0.4, 0.38, 0.22], vertical_alignment="bottom")
        name = name_box.text_input(
            "Name", max_chars=80, placeholder="as it stands beside the labels", key="person.name"
        )
        role = role_box.selectbox("Role", list(_ROLES), format_func=lambda one: _ROLES[one], key="person.role")
        if button.form_submit_button("Add", type="primary", width="stretch"):
            added = team.add(session.workspace, session.who, name, role)
            say(f"{added.name} can now work here as {added.role}.")
    text.line(["Names are a convenience on one machine, not a sign-in: anybody at this computer can pick any of them."])


def _row(one: Member, *, signs_in: bool) -> tuple[str, ...]:
    emails = ", ".join(email or subject for subject, email in one.identities) or "nobody yet"
    standing = "" if one.person.active else "no longer works here"
    return (one.person.name, one.person.role, *((emails,) if signs_in else ()), standing)


def _change_person(session: Session, everyone: Sequence[Member]) -> None:
    """Another role for somebody, or an end or a new beginning of their work here."""
    named = {one.person.name: one.person for one in everyone}
    whom, role, save, leave = st.columns([0.34, 0.34, 0.13, 0.19], vertical_alignment="bottom")
    name = whom.selectbox("Change", list(named), index=None, placeholder="Choose a person", key="people.who")
    person = named.get(name or "")
    wanted = role.selectbox(
        "Role", list(_ROLES), index=list(_ROLES).index(person.role) if person else None, disabled=person is None,
        format_func=lambda one: _ROLES[one], key=f"people.role:{person}", placeholder="",
    )  # fmt: skip
    if save.button("Save", key="people.save", disabled=person is None or wanted == person.role, width="stretch"):
        changed = team.set_role(session.workspace, session.who, str(name), str(wanted))
        say(f"{changed.name} works here as {changed.role} from now on.")
    if person is None or person.active:
        if leave.button("Deactivate", key="people.deactivate", disabled=person is None, width="stretch"):
            team.deactivate(session.workspace, session.who, str(name))
            say(f"{name} no longer works here. Everything {name} did stays, under the same name.")
    elif leave.button("Reactivate", key="people.activate", width="stretch"):
        team.activate(session.workspace, session.who, person.name)
        say(f"{person.name} can work here again as {person.role}.")


def about(session: Session) -> None:
    """Show versions and places."""
    known = settings.about(session.workspace)
    blocks.heading("About this workspace")
    blocks.pairs(
        [
            Pair("Gold set", known.name),
            Pair("Workspace folder", known.home),
            Pair("Database", f"{known.size / 1e6:.1f} MB, schema {known.schema}"),
            Pair("Annotator", _installed("annotator") or "a checkout, not installed"),
            Pair("Streamlit", _installed("streamlit")),
            Pair("Python", platform.python_version()),
        ]
    )


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
