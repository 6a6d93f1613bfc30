"""Annotate: one question, its candidates, the reading pane and one key per grade."""

import streamlit as st

from annotator.ui import annotate, question, shell

session = shell.require("grade chunks")

with shell.errors():
    desk = question.opened(session)
    if desk is not None:
        with st.container(key="desk", gap="small"):
            question.header(session, desk)
            annotate.bench(session, desk)
