"""Connecting the chunk table: an address, what is recognised behind it, which column holds what, then the sync."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from annotator.services import chunk_table, chunks, settings
from annotator.services.chunk_table import Preview
from annotator.ui import blocks, syncing, text
from annotator.ui.blocks import Pair
from annotator.ui.shell import Session

__all__ = ["show"]

_FIELDS = {
    "chunk_id": "Chunk id",
    "text": "Text",
    "doc_id": "Document",
    "title": "Title",
    "position": "Place in the document",
}
_NONE = "(none)"
_LIVE = "Search it in place"
_WAYS = {
    "Read it into the workspace": "Best up to some million chunks: found fastest, and its server is left alone.",
    _LIVE: "For tables too large for that: its own server searches, and only what people were shown is kept here.",
}
_LOOKED = "connection.url"
_PLACES = (
    ("PostgreSQL, also tables of LangChain, LlamaIndex, Haystack", "postgresql://reader:${DB_PASSWORD}@host/database"),
    ("SQLite, sqlite-vec", "sqlite:////folder/handbook.db"),
    ("A file: JSON Lines, CSV, TSV, Parquet, DuckDB", "/folder/chunks.jsonl"),
    ("A folder: Chroma, LanceDB, Qdrant (local), Parquet files", "/folder/chroma"),
    ("OpenSearch, Elasticsearch", "opensearch://reader:${PASSWORD}@host:9200/index?tls=true"),
    ("Qdrant server", "qdrant://host:6333/collection?tls=true&api_key=${KEY}"),
)


def show(session: Session) -> None:
    """Show what is connected, and let an admin connect another table after a look at it."""
    state = chunks.state(session.workspace)
    left, right = st.columns([0.7, 0.3], vertical_alignment="top")
    with left:
        blocks.heading("Chunk table", "" if state.url else "none is connected yet")
        if state.url:
            _connected(session, state)
    with right:
        if state.url:
            syncing.button(session, primary=state.last is None)
    syncing.outcome()
    if session.may("connect a chunk table"):
        _choose(session, again=bool(state.url))


def _connected(session: Session, state: chunks.TableState) -> None:
    columns = settings.table_columns(session.workspace)
    mapped = [f"{label.lower()}: {columns[field]}" for field, label in _FIELDS.items() if columns.get(field)]
    held = syncing.size(state)
    synced = f"{held}, {blocks.moment(state.last.finished_at)}" if state.last else "never"
    if state.in_place and not state.last:
        synced = f"not needed before work begins; {held}"
    blocks.pairs(
        [
            Pair("Address", state.url),
            Pair("Table", state.table),
            Pair("Columns", ", ".join(mapped)),
            Pair("Last sync", synced),
        ]
    )


def _choose(session: Session, *, again: bool) -> None:
    blocks.heading("Connect another table" if again else "Connect a table")
    box, button = st.columns([0.8, 0.2], vertical_alignment="bottom")
    with box:
        url = st.text_input(
            "Address",
            key="connection.address",
            placeholder=_PLACES[0][1],
        ).strip()
    with button:
        seen = bool(url) and st.session_state.get(_LOOKED) == url
        st.button(
            "Look at it", type="primary" if url and not seen else "secondary", key="connection.look", width="stretch",
            disabled=not url, on_click=_look_at,
        )  # fmt: skip
    if seen:
        _look(session, url)
    elif not url:
        blocks.table(("Where the chunks are", "Address"), _PLACES)
        text.line(
            [
                "The table is only ever read.",
                "Paths, and variables such as ${DB_PASSWORD}, are those of the machine this app runs on.",
            ]
        )


def _look_at() -> None:
    st.session_state[_LOOKED] = st.session_state["connection.address"].strip()


def _look(session: Session, url: str) -> None:
    names = chunk_table.tables(url)
    table = ""
    if len(names) > 1:
        table = st.selectbox("Table or collection", names, key=f"connection.table:{url}") or ""
    guessed = chunk_table.preview(url, table)
    chosen = _mapping(guessed, f"{url}\n{table}")
    changed = {field: name for field, name in chosen.items() if name != getattr(guessed.mapping, field)}
    seen = chunk_table.preview(url, table, chosen) if changed else guessed
    _sample(seen)
    if seen.missing:
        missing = " and ".join(_FIELDS[field].lower() for field in seen.missing)
        text.box(f"Choose the column that holds the {missing}.", "warn")
    in_place = _in_place(seen, f"{url}\n{table}")
    refused = in_place and seen.offer is not None and not seen.offer.possible
    label = "Connect" if in_place else "Connect and sync"
    if st.button(label, type="primary", key="connection.save", disabled=bool(seen.missing) or refused):
        chunk_table.connect(session.workspace, session.who, url, table, chosen, search_in_place=in_place)
        st.session_state.pop(_LOOKED, None)
        if not in_place:
            syncing.run(session)
        st.rerun()


def _in_place(seen: Preview, mark: str) -> bool:
    """Let a table that can be searched where it is be connected that way; say what is missing where it cannot."""
    if seen.offer is None:
        return False
    chosen = st.radio(
        "How it is searched",
        list(_WAYS),
        captions=list(_WAYS.values()),
        key=f"connection.way:{mark}",
    )
    if chosen != _LIVE:
        return False
    if seen.offer.possible:
        text.line([f"By {seen.offer.said}.", *seen.offer.notes])
    else:
        text.box(seen.offer.said, "warn")
    return True


def _mapping(guessed: Preview, mark: str) -> Mapping[str, str]:
    """Let every field be given another column than the guessed one."""
    counted = f"{blocks.count(guessed.count, 'row')}" if guessed.count is not None else "rows are counted while reading"
    text.line(
        [f"Recognised: {guessed.kind}", guessed.name, counted, blocks.count(len(guessed.columns), "column")],
        quiet=False,
    )
    names = [_NONE, *(column.name for column in guessed.columns)]
    chosen = {}
    for place, (field, label) in zip(st.columns(len(_FIELDS)), _FIELDS.items(), strict=True):
        with place:
            found = getattr(guessed.mapping, field)
            name = st.selectbox(
                label, names, index=names.index(found) if found in names else 0, key=f"connection.{field}:{mark}"
            )
            chosen[field] = "" if name == _NONE else name
    return chosen


def _sample(seen: Preview) -> None:
    if seen.problems:
        text.box("\n".join(str(problem) for problem in seen.problems[:5]), "warn")
    if seen.chunks:
        blocks.heading("The first chunks as they would be read")
        st.dataframe(
            {
                "Chunk id": [one.chunk_id for one in seen.chunks],
                "Document": [one.doc_id for one in seen.chunks],
                "Title": [one.title for one in seen.chunks],
                "Place": [one.position for one in seen.chunks],
                "Text": [one.text[:400] for one in seen.chunks],
                "Metadata": [
                    ", ".join(f"{key}: {value}" for key, value in one.metadata.items()) for one in seen.chunks
                ],
            },
            hide_index=True,
            column_config={
                "Title": st.column_config.TextColumn(width=200),
                "Text": st.column_config.TextColumn(width="large"),
            },
        )
    elif seen.rows:
        blocks.heading("The first rows as they are")
        st.dataframe([{name: str(value)[:400] for name, value in row.items()} for row in seen.rows], hide_index=True)
