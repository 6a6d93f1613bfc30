"""Settings: the chunk table, the rubric, facets and targets, people, and about this workspace."""

import streamlit as st

from annotator.ui import blocks, connection, settings, shell

session = shell.require("look around")

with shell.errors():
    blocks.title("Settings")
    parts = {
        "Chunk table": connection.show,
        "Rubric": settings.rubric,
        "Facets": settings.kinds,
        "People": settings.people,
        "About": settings.about,
    }
    part = st.segmented_control(
        "Part", list(parts), default="Chunk table", required=True, key="settings.part", label_visibility="collapsed"
    )
    settings.said()
    parts[part](session)
