"""Queries: the questions of the gold set, to find, write, change, retire and import."""

import streamlit as st

from annotator.services import questions
from annotator.ui import bring_in, queries, sharing, shell

session = shell.require("look around")

with shell.errors():
    rows = questions.rows(session.workspace, session.who)
    mode = queries.header(session, rows)
    left, right = st.columns([0.62, 0.38], gap="medium")
    with left:
        listed = queries.listing(session, rows)
    with right, shell.errors():
        if mode == "new":
            queries.write(session, rows)
        elif mode == "import":
            bring_in.show(session)
            queries.close()
        elif mode == "share":
            sharing.panel(session, listed.rows, listed.chosen, listed.one_slice)
            queries.close()
        else:
            queries.change(session, rows, listed.chosen)
