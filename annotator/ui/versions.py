"""The frozen versions on the Gold sets page: the list, taking one out, its tags, and what changed between two."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from annotator.errors import InputError
from annotator.model import GRADES
from annotator.services import difference, gold
from annotator.services.difference import Change, Diff
from annotator.services.gold import Version
from annotator.services.workspace import Workspace
from annotator.ui import blocks, text
from annotator.ui.shell import Session

__all__ = ["changes", "listing"]

_SHOWN = 200
_SHOWN_CHANGES = 50
_LONGEST = 160
_LEVELS = {"chunk": "chunks", "document": "documents", "span": "quoted passages"}
_USUAL_TAGS = ("ci", "prod")
_COLUMNS = ("Question", "Chunk", "What", "Before", "After", "Reason")
_GOES_WITHOUT_SAYING = {"", "–", "grade"}
"""A column of nothing else is left out."""
_KINDS = {"regraded": "Regraded", "reworded": "Reworded", "removed": "Removed", "added": "Added"}


def listing(session: Session, known: Sequence[Version]) -> None:
    """List the versions, and show one with its downloads, its tags and the command that scores a run against it."""
    blocks.heading("Versions", blocks.count(len(known), "version") if known else "none yet")
    if not known:
        text.line(["A version is a numbered snapshot of the settled labels. Runs are scored against it."])
        return
    tags = gold.tags(session.workspace)
    blocks.table(
        ("Version", "Tags", "Frozen", "By", "Questions", "Labels", "Relevant", "Digest", "Note"),
        [
            (
                one.folder, ", ".join(_tags_of(tags, one)), blocks.moment(one.created_at), one.created_by,
                f"{_count(one, 'queries'):,}", f"{_count(one, 'judged_pairs'):,}", f"{_count(one, 'relevant'):,}",
                one.digest[:12], one.note,
            )
            for one in known[:_SHOWN]
        ],
        figures=(4, 5, 6),
    )  # fmt: skip
    folders = {one.folder: one for one in known}
    left, right = st.columns([0.4, 0.6], gap="large")
    with left:
        chosen = folders[st.selectbox("Take out a version", list(folders), key="version")]
        _facts(chosen)
        if session.may("tag versions"):
            _move_tag(session, chosen, tags)
    with right:
        _download(session, chosen)
        st.html('<div class="an-line an-quiet">Score a run against it in continuous integration</div>')
        st.code(_snippet(chosen), language=None, wrap_lines=True)


def _facts(chosen: Version) -> None:
    left_out = chosen.manifest.get("left_out") or []
    blocks.pairs(
        [
            blocks.Pair("Digest", chosen.digest),
            blocks.Pair("Annotators", f"{_count(chosen, 'annotators'):,}"),
            blocks.Pair("Judgments", f"{_count(chosen, 'judgments'):,}"),
            blocks.Pair("Left out", ", ".join(left_out) if left_out else "nothing"),
        ]
    )


def _move_tag(session: Session, chosen: Version, tags: Mapping[str, int]) -> None:
    """Offer to let a tag stand for this version: a movable name for something that never changes."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        name = st.selectbox(
            "Tag", [*dict.fromkeys((*_USUAL_TAGS, *tags))], key="tag.name", accept_new_options=True,
            help="A movable name for a version, for scripts that want the one in use",
        )  # fmt: skip
        here = bool(name) and tags.get(name) == chosen.version
        if st.button("It stands here" if here else "Move it here", key="tag.move", disabled=not name or here):
            gold.tag(session.workspace, session.who, name, chosen.version)
            st.rerun()


def _download(session: Session, chosen: Version) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        form = st.selectbox("Format", list(gold.FORMATS), format_func=_title, key="download.format")
        levels = gold.FORMATS[form].levels
        level = "chunk"
        if len(levels) > 1:
            level = st.selectbox("To find", levels, format_func=_LEVELS.__getitem__, key="download.level")
        # the one format that cannot hold everything: known before anybody presses
        refused = _refused(session.workspace, chosen.digest, chosen.version, level) if form == "trec" else None
        st.download_button(
            "Download",
            data=partial(_content, session, chosen.version, form, level),
            file_name=gold.download_name(chosen.folder, form),
            on_click="ignore",
            key=f"download:{chosen.version}:{form}:{level}",
            icon=":material/download:",
            disabled=refused is not None,
        )
    if refused:
        text.problem(refused, key="download.refused")


@st.cache_data(show_spinner=False, max_entries=20)
def _refused(_workspace: Workspace, digest: str, number: int, level: str) -> InputError | None:  # noqa: ARG001
    """Return why the version cannot be written as TREC; worked out once, as a version with a digest never changes."""
    try:
        gold.download(_workspace, number, "trec", level)
    except InputError as error:
        return error
    return None


def _title(form: str) -> str:
    return gold.FORMATS[form].title


def _content(session: Session, number: int, form: str, level: str) -> bytes:
    return gold.download(session.workspace, number, form, level)[1]


def _snippet(chosen: Version) -> str:
    zip_name = f"{chosen.folder}.zip"
    return (
        f"# {chosen.folder}, digest {chosen.digest[:12]}: keep the downloaded zip beside your code\n"
        f"python -m annotator verify {zip_name}\n"
        f"python -m annotator evaluate --gold {zip_name} --run run.jsonl --baseline live.jsonl -k 5 -k 10 \\\n"
        f"  --gate gate.yaml --format json -o evaluation.json\n"
        f"# exit code 0 ships, 1 blocks; gate.yaml holds your rules, live.jsonl the run of the retriever in use"
    )


def changes(session: Session, known: Sequence[Version]) -> None:
    """Show what changed between two versions, the newest and its parent to begin with."""
    if len(known) < 2:
        return
    blocks.heading("What changed", "between two versions")
    folders = {one.folder: one for one in known}
    names = list(folders)
    left, right, rest = st.columns([0.22, 0.22, 0.56], vertical_alignment="bottom")
    after = right.selectbox("To", names, key="diff.after")
    parent = next((name for name in names if folders[name].version == folders[after].parent), names[-1])
    before = left.selectbox("From", names, index=names.index(parent), key=f"diff.before:{after}")
    found = difference.between_versions(session.workspace, folders[before].version, folders[after].version)
    if not found.changes:
        text.box("No label and no question differs between the two.", "info")
        return
    with rest, st.container(horizontal=True, horizontal_alignment="right"):
        st.download_button(
            "All changes (JSON)", partial(_as_json, found), f"{before}-to-{after}.json", on_click="ignore",
            key="diff.download", icon=":material/download:",
        )  # fmt: skip
    for kind, title in _KINDS.items():
        _kind(found, kind, title)


def _kind(found: Diff, kind: str, title: str) -> None:
    queries, labels = found.of(kind, labels=False), found.of(kind, labels=True)
    if not queries and not labels:
        return
    counted = [blocks.count(len(queries), "question") if queries else "", blocks.count(len(labels), "label")]
    blocks.heading(title, " · ".join(one for one in counted if one and not one.startswith("0 ")))
    rows = sorted((*queries, *labels), key=lambda one: (one.query_id, one.chunk_id))
    cells = [_row(found, one) for one in rows[:_SHOWN_CHANGES]]
    told = [place for place in range(len(_COLUMNS)) if {row[place] for row in cells} - _GOES_WITHOUT_SAYING]
    blocks.table([_COLUMNS[place] for place in told], [[row[place] for place in told] for row in cells])
    if len(rows) > _SHOWN_CHANGES:
        text.line([f"… and {len(rows) - _SHOWN_CHANGES:,} more, in the file of all changes"])


def _row(found: Diff, one: Change) -> tuple[str, ...]:
    asked = found.after.details.get(one.query_id) or found.before.details.get(one.query_id)
    question = f"{one.query_id}: {asked.question}" if asked and asked.question else one.query_id
    reason = "" if one.field == "reason" else one.reason
    what = "grade" if one.field == "relevance" else one.field
    came_or_went = not one.chunk_id and one.kind in ("added", "removed")  # the question stands in the row already
    values = ("", "") if came_or_went else (_shown(one, one.before), _shown(one, one.after))
    return tuple(map(_short, (question, one.chunk_id, what, *values, reason)))


def _shown(one: Change, value: str) -> str:
    return f"{value}\u00a0{GRADES[int(value)]}" if value and one.chunk_id and one.field == "relevance" else value or "–"


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…"


def _as_json(found: Diff) -> bytes:
    return json.dumps(difference.as_json(found), ensure_ascii=False, indent=2).encode()


def _tags_of(tags: Mapping[str, int], version: Version) -> list[str]:
    return [name for name, number in tags.items() if number == version.version]


def _count(version: Version, name: str) -> int:
    return int(version.manifest["counts"].get(name, 0))
