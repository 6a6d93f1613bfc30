"""Gold sets: what is in the way of the next version, freezing it, taking versions out, and what changed between two."""

import streamlit as st

from annotator.services import gold
from annotator.ui import blocks, gold_sets, shell, versions

session = shell.require("look around")

with shell.errors():
    blocks.title("Gold sets")
    with st.spinner("Going through the labels of all questions…"):
        found = gold.readiness(session.workspace, session.who)
    known = gold.versions(session.workspace)
    gold_sets.readiness(session, found)
    if session.may("release versions"):
        gold_sets.freeze(session, found, known)
    versions.listing(session, known)
    versions.changes(session, known)
