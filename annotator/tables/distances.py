"""How far vectors are from each other, worked out here for stores whose files hold vectors and nobody to ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["DISTANCES", "distances"]

DISTANCES: Final = ("Cosine", "Dot", "Euclid", "Manhattan")
"""By the names Qdrant has for them."""


def distances(own: Sequence[float], vectors: Sequence[Sequence[float]], kind: str) -> list[float]:
    """Return for each vector how far it is from `own`, less being nearer: one of DISTANCES, of vectors of one length.

    Likenesses (Cosine, Dot) are negated, so that all four sort the same way.
    """
    import numpy as np

    one, all_ = np.asarray(own, float), np.asarray(vectors, float)
    if kind == "Euclid":
        found = np.linalg.norm(all_ - one, axis=1)
    elif kind == "Manhattan":
        found = np.abs(all_ - one).sum(axis=1)
    elif kind == "Dot":
        found = -(all_ @ one)
    else:
        lengths = np.linalg.norm(all_, axis=1) * np.linalg.norm(one)
        found = -(all_ @ one) / np.where(lengths > 0, lengths, 1.0)
    return [float(each) for each in found]
