"""The first start: no workspace yet. Offers the demo with one click, or says how to begin with one's own chunks."""

from __future__ import annotations

import streamlit as st

from annotator.errors import AnnotatorError
from annotator.services import workspace as workspaces
from annotator.services.workspace import Workspace
from annotator.ui import text

__all__ = ["show"]


def show(workspace: Workspace, *, offered: bool) -> None:
    """Offer to make the workspace that is missing; where people sign in, that is for whoever runs the server."""
    _, middle, _ = st.columns([1, 2, 1])
    with middle:
        st.title("Annotator")
        st.write(
            "Golden sets for search and RAG: write questions, find the chunks that answer them, grade them, and freeze "
            "the result as the ruler every retrieval change is measured by."
        )
        if not offered:
            text.box("There is no workspace yet. Whoever runs the server makes one: python -m annotator init")
            return
        demo = st.button("Start with the demo", type="primary", key="start_demo")
        own = st.button("Start empty, with my own chunk table", key="start_empty")
        st.caption(
            "The demo is a small invented company: its documents, questions, labels of three people and three sample "
            "runs. Nothing that exists is ever overwritten."
        )
        if demo or own:
            try:
                with st.spinner("Preparing the workspace…"):
                    workspaces.init(workspace.home, demo=demo)
            except AnnotatorError as error:
                text.problem(error)
                return
            st.rerun()
