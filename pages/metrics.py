"""Metrics: stored runs scored against a gold set, compared, diagnosed and judged by the gate."""

import streamlit as st

from annotator.services import preview
from annotator.ui import comparison, diagnosis, gate, metrics, ranking, run_overview, shell

session = shell.require("look around")

with shell.errors():
    stored = preview.stored_runs(session.workspace)
    metrics.header(session, stored)
    if not stored:
        st.stop()
    chosen = metrics.choose(session, stored)
    found = preview.score(session.workspace, chosen.against, chosen.run)
    metrics.nothing_scored(found)
    view = metrics.view()
    if view == "Overview":
        run_overview.overview(session, chosen, found)
    elif view == "By question":
        query_id = metrics.by_question(chosen, found)
        if query_id:
            wrong = diagnosis.of_question(session, chosen, query_id)
            ranking.show(session, found, query_id, chosen.k, wrong=wrong)
    elif view == "By slice":
        metrics.by_slice(chosen, found)
    elif view == "Compare":
        comparison.show(session, chosen, found)
    elif view == "Diagnosis":
        diagnosis.show(session, chosen)
    elif view == "Holes":
        diagnosis.holes(session, chosen, stored)
    elif view == "Gate":
        gate.show(session, chosen)
    else:
        metrics.all_runs(session, chosen, stored)
