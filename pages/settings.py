"""Settings: the chunk table, the rubric, facets and targets, people, candidate pools, and about this workspace."""

import streamlit as st

from annotator.ui import blocks, connection, pools, settings, shell

session = shell.require("look around")

with shell.errors():
    blocks.title("Settings")
    parts = {
        "Chunk table": connection.show,
        "Rubric": settings.rubric,
        "Facets": settings.kinds,
        "People": settings.people,
        "Pool": pools.show,
        "About": settings.about,
    }
    part = st.segmented_control(
        "Part", list(parts), default="Chunk table", required=True, key="settings.part", label_visibility="collapsed"
    )
    settings.said()
    parts[part](session)
