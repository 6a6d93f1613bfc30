"""Settings: chunk table, rubric, facets and targets, people, sharing and settling, candidate pools, about."""

import streamlit as st

from annotator.ui import blocks, connection, pools, settings, settling, shell

session = shell.require("look around")

with shell.errors():
    blocks.title("Settings")
    parts = {
        "Chunk table": connection.show,
        "Rubric": settings.rubric,
        "Facets": settings.kinds,
        "People": settings.people,
        "Labelling": settling.show,
        "Pool": pools.show,
        "About": settings.about,
    }
    part = st.segmented_control(
        "Part", list(parts), default="Chunk table", required=True, key="settings.part", label_visibility="collapsed"
    )
    settings.said()
    parts[part](session)
