"""Annotate: one question, its candidates, the reading pane and one key per grade."""

import streamlit as st

from annotator.errors import NotFound
from annotator.services import labelling
from annotator.ui import annotate, shell, text

session = shell.require("annotator")

with shell.errors():
    asked = st.session_state.get("annotate.query") or st.query_params.get("query", "")
    try:
        desk = labelling.desk(session.workspace, asked)
    except NotFound as error:
        text.problem(error)
        if st.button("Go to my next question", type="primary"):
            st.query_params.clear()
            st.rerun()
        st.stop()
    if desk is None:
        text.box("There is no question to work on yet. Write the first one on the Queries page.")
        st.page_link(shell.page("queries"), label="Go to Queries", icon=":material/quiz:")
        st.stop()
    st.query_params["query"] = desk.query.query_id
    st.session_state.pop("annotate.query", None)  # not before the address has it: a second click may end this run
    with st.container(key="desk", gap="small"):
        annotate.header(session, desk)
        annotate.bench(session, desk)
