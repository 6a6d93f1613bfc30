"""A list to choose one row of, told by id: Streamlit remembers the place of a choice, which means nothing once the
rows are others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from zlib import crc32

import streamlit as st

__all__ = ["key", "one"]

_ROW = 35
"""Pixels of a row, as Streamlit draws them."""


def one(
    name: str,
    ids: Sequence[str],
    columns: Mapping[str, Sequence[object]],
    *,
    height: int,
    config: Mapping[str, Any] | None = None,
    required: bool = True,
    on_choice: Callable[[], None] | None = None,
) -> str:
    """Show the columns, at most `height` pixels high, and return the id of the chosen row; `ids` names the rows.

    With `required` the first row is chosen until somebody chooses another, else "" says that none is. Nothing may
    be chosen of no rows.
    """
    # The container is for style.css, which takes the list's toolbar away: it would cover the filters above.
    with st.container(key=f"choice-{name.replace('.', '-')}"):
        event: Any = st.dataframe(
            dict(columns),
            key=key(name, ids),
            on_select=on_choice or "rerun",
            selection_mode="single-row-required" if required else "single-row",
            hide_index=True,
            height=min(height, _ROW * (len(ids) + 1) + 2),
            column_config=dict(config or {}),
        )
    rows = event["selection"]["rows"]
    if not rows:
        return ids[0] if required else ""
    return ids[int(rows[0])]


def key(name: str, ids: Sequence[str]) -> str:
    """Return the key under which the choice among exactly these rows is remembered."""
    listed = "\n".join(ids).encode("utf-8", "surrogatepass")
    return f"{name}:{crc32(listed)}"
