"""Nearest points by the vectors of a Qdrant collection, asked of the server in the way its version knows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from annotator.tables.http import Missing

__all__ = ["nearest_to"]

_LEAST_SECONDS: Final = 0.1
_BARE: Final[Mapping[str, Any]] = {"with_payload": False, "with_vector": False}

Ask = Callable[[str, object, float], Any]
"""Sends a body to a path of the collection, allows so many seconds, and returns the result."""


def nearest_to(ask: Ask, point: int | str, k: int, seconds: float) -> list[str]:
    """Return the ids of the k points nearest to one, nearest first, perhaps with its own; none without a vector.

    Of several named vectors a dense one is compared, the first by name. Raises InputError as `ask` does.
    """
    end = time.monotonic() + seconds

    def asked(path: str, body: Mapping[str, Any]) -> Any:
        return ask(path, body, max(_LEAST_SECONDS, end - time.monotonic()))

    own = asked("/points", {"ids": [point], "with_payload": False, "with_vector": True})
    name, vector = _chosen(own[0].get("vector")) if own else ("", None)
    if not vector:
        return []
    body = {"query": own[0]["id"], "limit": k, **_BARE, **({"using": name} if name else {})}
    try:
        found = asked("/points/query", body)["points"]
    except Missing:  # versions before 1.10
        given = {"name": name, "vector": vector} if name else vector
        found = asked("/points/search", {"vector": given, "limit": k, **_BARE})
    return [str(each["id"]) for each in found]


def _chosen(vectors: Any) -> tuple[str, Any]:
    """Choose one of a point's vectors: its name, "" where vectors have none, and its value."""
    if not isinstance(vectors, dict):
        return "", vectors
    names = sorted(vectors, key=lambda name: (not isinstance(vectors[name], list), name))
    return (names[0], vectors[names[0]]) if names else ("", None)
