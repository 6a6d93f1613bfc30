"""Turning pages of a long list that is read by key: the places visited are remembered, so that going back works."""

from __future__ import annotations

from typing import Generic, TypeVar

import streamlit as st

__all__ = ["Pages"]

T = TypeVar("T", int, str)


class Pages(Generic[T]):
    """The place in one list. `here` is what the page begins after; a new `subject` starts at `start` again."""

    def __init__(self, key: str, start: T, subject: str = "") -> None:
        self._key = f"pages:{key}"
        self._start: T = start
        kept = st.session_state.get(self._key)
        if kept is None or kept[0] != subject:
            kept = (subject, (start,))
            st.session_state[self._key] = kept
        self._subject: str = kept[0]
        self._visited: tuple[T, ...] = kept[1]

    @property
    def here(self) -> T:
        return self._visited[-1]

    @property
    def number(self) -> int:
        """Number of the page, counted from 1."""
        return len(self._visited)

    def buttons(self, following: T | None) -> None:
        """Show the way back and on; `following` is where the next page begins, None on the last one."""
        if self.number == 1 and following is None:
            return
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.button(
                "Previous",
                key=f"{self._key}:back",
                disabled=self.number == 1,
                on_click=self._go,
                args=(self._visited[:-1],),
            )
            more = self._visited if following is None else (*self._visited, following)
            st.button("Next", key=f"{self._key}:on", disabled=following is None, on_click=self._go, args=(more,))
            st.html(f'<div class="an-line an-quiet">Page {self.number}</div>')

    def _go(self, visited: tuple[T, ...]) -> None:
        st.session_state[self._key] = (self._subject, visited or (self._start,))
