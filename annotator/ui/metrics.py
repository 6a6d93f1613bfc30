"""The Metrics page's parts: what is scored against what, slices, questions, all runs, and the import.

The overview is `run_overview.py`, two runs compared are `comparison.py`, what went wrong is `diagnosis.py` and the
gate is `gate.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from annotator.services import preview
from annotator.services.importing import ImportReport, import_run
from annotator.services.preview import MEASURES, Evaluation, RunInfo, Yardstick
from annotator.ui import blocks, charts, choice, importing, text
from annotator.ui.charts import Point
from annotator.ui.shell import Session

__all__ = [
    "SHOWN",
    "VIEWS",
    "Chosen",
    "all_runs",
    "by_question",
    "by_slice",
    "choose",
    "header",
    "judged_share",
    "nothing_scored",
    "question",
    "slice_label",
    "view",
]

VIEWS = ("Overview", "By question", "By slice", "Compare", "Diagnosis", "Holes", "Gate", "All runs")
SHOWN = ("nDCG", "R", "AP", "RR", "P", "Success")
"""The measures shown, those to look at first in front."""
_HEIGHT = 300
_MOST_RUNS = 12
_IMPORT = "metrics.import"
_KINDS = ["trec", "run", "txt", "json", "jsonl", "csv", "tsv", "gz"]
_ALONG = {
    "run": "run", "index_version": "index version", "embedding_model": "embedding model", "reranker": "reranker",
    "route": "route",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the page is about: a run, perhaps another one as baseline, the gold set, and the cut-off."""

    against: Yardstick
    run: RunInfo
    baseline: RunInfo | None
    measure: str
    """The name of the measure looked at, without its cut-off."""
    k: int

    @property
    def key(self) -> str:
        """Canonical name of the measure: `nDCG@10`."""
        return f"{self.measure}@{self.k}"

    @property
    def words(self) -> str:
        """Name of the measure for people: `Recall@10`."""
        return f"{MEASURES[self.measure].words}@{self.k}"

    @property
    def cuts(self) -> tuple[int, ...]:
        """The cut-offs up to the chosen one: the deepest is where a failure is diagnosed."""
        return tuple(cut for cut in preview.CUTS if cut <= self.k)


def choose(session: Session, stored: Sequence[RunInfo]) -> Chosen:
    """Ask what is scored, against which labels and which other run, by which measure and at which cut-off."""
    against = preview.yardsticks(session.workspace, session.who)
    if not against:
        text.box("Figures come with the first version: until then they would show you what others said.")
        st.stop()
    gold_box, run_box, other_box, measure_box, cut_box = st.columns(
        [0.25, 0.22, 0.22, 0.17, 0.14], vertical_alignment="bottom", gap="small"
    )
    newest = max(against)
    with gold_box:
        version = st.selectbox(
            "Gold set", list(against), index=list(against).index(newest), format_func=lambda one: against[one],
            key="metrics.gold",
        )  # fmt: skip
    named = {one.name: one for one in stored}
    with run_box:
        name = st.selectbox("Run", list(named), key="metrics.run")
    with other_box:
        # the oldest run is the likeliest to be the one that is live
        others = [other for other in reversed(named) if other != name]
        other = st.selectbox(
            "Baseline", ["", *others], index=1 if others else 0, format_func=lambda one: one or "none",
            key=f"metrics.baseline:{name}", help="The run to compare with, usually that of the retriever in use",
        )  # fmt: skip
    with measure_box:
        measure = st.selectbox("Measure", SHOWN, format_func=lambda one: MEASURES[one].words, key="metrics.by")
    with cut_box:
        cut = st.segmented_control(
            "First k", preview.CUTS, default=preview.CUTS[-1], required=True, key="metrics.k",
            help="How many chunks of each list count: best the number that reaches the prompt",
        )  # fmt: skip
    with st.spinner("Going through the labels of all questions…"):
        against_what = preview.yardstick(session.workspace, version, session.who)
    return Chosen(against_what, named[name], named.get(other), measure, cut)


def nothing_scored(found: Evaluation) -> None:
    """Say when every figure is 0 for another reason than the retriever's."""
    if not found.counts["judged"]:
        text.box("Every question of this gold set is marked unanswerable: there is nothing to average.", "warn")
    elif not found.counts["answered"]:
        text.box(
            f"{found.run.name} answers none of the questions of this gold set. Are the query ids written alike?", "warn"
        )


def view() -> str:
    """Ask what to look at."""
    return st.segmented_control(
        "View", VIEWS, default=VIEWS[0], required=True, key="metrics.view", label_visibility="collapsed"
    )


def by_slice(chosen: Chosen, found: Evaluation) -> None:
    """Show every slice, the weakest first."""
    if not found.slices:
        text.box("The questions of this gold set have no facets. Fill them in on the Queries page.")
        return
    key, k = chosen.key, chosen.k
    weak_first = sorted(found.slices, key=lambda one: (one.measures[key], one.facet, one.value))
    labels = [slice_label(one.facet, one.value) for one in weak_first]
    with st.container(key="slices"):
        left, right = st.columns([0.42, 0.58], gap="medium")
    with left:
        charts.bars(
            [
                {"name": label, "value": one.measures[key], "shown": f"{one.measures[key]:.3f}", "n": one.n}
                for label, one in zip(labels, weak_first, strict=True)
            ],
            chosen.words,
        )
    with right:
        blocks.table(
            ("Slice", "Questions", *(f"{MEASURES[one].words}@{k}" for one in SHOWN[:4]), f"Judged@{k}"),
            [
                (
                    label,
                    f"{one.n:,}",
                    *(f"{one.measures[f'{measure}@{k}']:.3f}" for measure in SHOWN[:4]),
                    judged_share(found, k, one.query_ids),
                )
                for label, one in zip(labels, weak_first, strict=True)
            ],
            figures=range(1, 7),
        )
    text.line(["A slice of fewer than three questions says next to nothing."])


def judged_share(found: Evaluation, k: int, query_ids: Sequence[str] | None = None) -> str:
    """Write how many of the chunks within k anybody judged: `134 of 180`."""
    judged, retrieved = preview.judged(found, k, query_ids)
    return f"{judged:,} of {retrieved:,}"


def slice_label(facet: str, value: str) -> str:
    """Write a slice for people."""
    return f"{facet}: {value or '(none)'}".replace("_", " ")


def by_question(chosen: Chosen, found: Evaluation) -> str:
    """Show every question, the weakest first; returns the chosen one."""
    key, k = chosen.key, chosen.k
    weak_first = sorted(found.per_query, key=lambda query_id: (found.per_query[query_id][key], query_id))[:200]
    if not weak_first:
        text.box("Every question of this gold set is unanswerable: there is nothing to average.")
        return ""
    judged = {query_id: found.ranked(query_id, k) for query_id in weak_first}
    return choice.one(
        "metrics.questions",
        weak_first,
        {
            "Id": weak_first,
            chosen.words: [found.per_query[query_id][key] for query_id in weak_first],
            "Judged": [f"{sum(one.grade is not None for one in judged[q])} of {len(judged[q])}" for q in weak_first],
            "Question": [question(found, query_id) for query_id in weak_first],
        },
        height=_HEIGHT,
        config={
            "Id": st.column_config.TextColumn(width=80),
            chosen.words: st.column_config.NumberColumn(width=95, format="%.3f"),
            "Judged": st.column_config.TextColumn(width=80),
        },
    )


def question(found: Evaluation, query_id: str) -> str:
    """Return the text of a question, "" where the gold set does not know it."""
    query = found.gold.details.get(query_id)
    return query.question if query else ""


def all_runs(session: Session, chosen: Chosen, stored: Sequence[RunInfo]) -> None:
    """Show the newest runs on the same gold set: their trend along what they say of themselves, and their figures."""
    k = chosen.k
    oldest_first = [
        (run, preview.score(session.workspace, chosen.against, run)) for run in reversed(stored[:_MOST_RUNS])
    ]
    along = st.segmented_control(
        "Along", list(_ALONG), default="run", required=True, key="metrics.along",
        format_func=lambda one: f"by {_ALONG[one]}", label_visibility="collapsed",
    )  # fmt: skip
    charts.trend(
        [
            Point(
                run.name,
                run.name if along == "run" else preview.marked(found, along) or "(not said)",
                found.measures[chosen.key],
                *found.bounds.get(chosen.key, (0.0, 0.0)),  # none where every question is unanswerable
            )
            for run, found in oldest_first
        ],
        "run, the oldest first" if along == "run" else _ALONG[along],
        chosen.words,
    )
    rows, said = [], []
    for run, found in reversed(oldest_first):
        figures = (f"{found.measures[f'{one}@{k}']:.3f}" for one in SHOWN)
        rows.append((run.name, *figures, judged_share(found, k), f"{found.counts['missing']:,}"))
        said.append((run.name, *(preview.marked(found, one) or "–" for one in preview.META)))
    head = ("Run", *(f"{MEASURES[one].words}@{k}" for one in SHOWN), f"Judged@{k}", "Missing")
    blocks.table(head, rows, figures=range(1, len(head)))
    if len(stored) > _MOST_RUNS:
        text.line([f"The newest {_MOST_RUNS} of {len(stored)} runs."])
    text.line(
        [
            "The light bar is the range left open by chunks nobody judged. "
            "Runs whose judged shares differ are hard to compare: the less judged one may only seem weaker."
        ]
    )
    blocks.heading("What the runs say of themselves")
    blocks.table(("Run", *(_ALONG[one].capitalize() for one in preview.META)), said)


def header(session: Session, stored: Sequence[RunInfo]) -> None:
    """Show how many runs there are, and the import of another when asked for or when there is none."""
    asked = bool(st.session_state.get(_IMPORT)) or not stored
    left, right = st.columns([0.7, 0.3], vertical_alignment="center")
    with left:
        blocks.title("Metrics", [blocks.count(len(stored), "run")])
    importing.said()
    if not stored:
        text.box("A run is what a retriever answered: a ranked list of chunk ids per question. Import one to score it.")
    if not session.may("import runs"):
        return
    with right, st.container(horizontal=True, horizontal_alignment="right"):
        if stored:
            st.button(
                "Close the import" if asked else "Import a run…",
                key="run.open",
                on_click=_set_import,
                args=(not asked,),
            )
    if asked:
        with st.container(border=True):
            _bring_in(session)


def _set_import(asked: bool) -> None:
    st.session_state[_IMPORT] = asked


def _bring_in(session: Session) -> None:
    text.line(["TREC, JSON, JSONL with trace, or CSV with query_id, chunk_id and score or rank; told by its content."])
    importing.file("run", _KINDS, "answer", partial(_ask_name, session), partly=False)


def _ask_name(session: Session, _: importing.Sent | None) -> importing.Importing | None:
    name = st.text_input(
        "Name of the run", key="import.run_name", max_chars=200, placeholder="e.g. hybrid-2026-03"
    ).strip()
    if not name:
        return None

    def import_whole(source: tuple[str, bytes], *, dry_run: bool, only_good: bool) -> ImportReport:  # noqa: ARG001
        return import_run(session.workspace, session.who, source, name=name, dry_run=dry_run)

    return import_whole
