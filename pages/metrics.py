"""Metrics: stored runs scored against a gold set, by slice and by question."""

import streamlit as st

from annotator.services import preview
from annotator.ui import metrics, ranking, shell, text

session = shell.require("reader")

with shell.errors():
    stored = preview.stored_runs(session.workspace)
    metrics.header(session, stored)
    if not stored:
        text.box("A run is what a retriever answered: a ranked list of chunk ids per question. Import one to score it.")
        st.stop()
    against, run, k = metrics.choose(session, stored)
    found = preview.score(session.workspace, against, run)
    metrics.tiles(found, k)
    view, measure = metrics.views(k)
    if view == "By slice":
        metrics.by_slice(found, measure, k)
    elif view == "Runs side by side":
        metrics.side_by_side(session, against, stored, k)
    else:
        chosen = metrics.by_question(found, measure, k)
        if chosen:
            ranking.show(session, found, chosen, k)
