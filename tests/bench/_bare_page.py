"""The measure of the grading loop: a bare Streamlit page with an item and four shortcut buttons, nothing stored."""

import streamlit as st


def advance() -> None:
    """Go to the next item."""
    st.session_state.item = st.session_state.get("item", 0) + 1


st.text(f"Item {st.session_state.get('item', 0)}")
st.text("A text of a chunk's usual length. " * 18)
for column, key in zip(st.columns(4), "0123", strict=True):
    column.button(f"Grade {key}", shortcut=key, on_click=advance)
