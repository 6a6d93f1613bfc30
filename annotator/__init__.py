"""Annotator: golden sets for retrieval evaluation, labelled by people.

`GoldSet`, `Run` and `evaluate` are for test suites that score a run; they are loaded when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from annotator.gold.goldset import GoldSet
    from annotator.metrics.evaluation import evaluate
    from annotator.metrics.runs import Run

__all__ = ["GoldSet", "Run", "evaluate"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = {"GoldSet": "gold.goldset", "Run": "metrics.runs", "evaluate": "metrics.evaluation"}[name]
    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
