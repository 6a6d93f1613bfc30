"""How far the people of the workspace agree, overall, in twos and by slice."""

from __future__ import annotations

from annotator.review import agreement as measured
from annotator.review.agreement import Agreement, Confusion, Figures, PairAgreement, Slice
from annotator.store import judgments, queries
from annotator.store.database import Workspace

__all__ = ["Agreement", "Confusion", "Figures", "PairAgreement", "Slice", "agreement", "as_json", "state"]

_WORKING = ("draft", "open", "complete")


def agreement(workspace: Workspace) -> Agreement:
    """Return how far people agree, by the judgments in force about questions that are not retired.

    Decisions of reviewers play no part.
    """
    with workspace.read() as connection:
        facets = {one.query_id: one.facets for one in queries.all_queries(connection, states=_WORKING)}
        shared = measured.items(one for one in judgments.current(connection) if one.query_id in facets)
    return measured.agreement(shared, facets)


def state(workspace: Workspace) -> str:
    """Return a text that is another one when the agreement may have changed."""
    with workspace.read() as connection:
        return judgments.state(connection)


def as_json(found: Agreement) -> dict[str, object]:
    """Return the figures under the names that scripts rely on; what cannot be computed is null."""
    return {
        **_figures(found.overall),
        "pairs": [
            {
                "annotators": list(pair.annotators),
                "n": pair.n,
                "percent": pair.percent,
                "kappa": pair.kappa,
                "weighted_kappa": pair.weighted_kappa,
                "interval": pair.interval,
                "confusion": pair.confusion,
            }
            for pair in found.pairs
        ],
        "slices": [{"facet": one.facet, "value": one.value, **_figures(one.figures)} for one in found.slices],
    }


def _figures(found: Figures) -> dict[str, object]:
    return {
        "alpha": found.alpha,
        "interval": found.interval,
        "percent": found.percent,
        "items": found.items,
        "questions": found.questions,
    }
