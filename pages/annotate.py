"""Annotate: one question, its candidates, the reading pane and one key per grade."""

import streamlit as st

from annotator.ui import annotate, shell

session = shell.require("grade chunks")

with shell.errors():
    desk = annotate.opened(session)
    with st.container(key="desk", gap="small"):
        annotate.header(session, desk)
        annotate.bench(session, desk)
