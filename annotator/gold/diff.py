"""What changed from one gold set to another: labels and queries added, removed, regraded and reworded, with reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotator.gold.goldset import GoldSet
from annotator.model import GoldLabel, GoldQuery

__all__ = ["Change", "Diff", "as_json", "diff"]


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. `kind`: added, removed, regraded or reworded; about the whole query when `chunk_id` is empty.

    `before` and `after` are what `field` was and is: a grade, the question, a reason … "" is nothing. `reason` is the
    one given for the label as it is now, or was when it is gone; `settled_by` says who or what settled it.
    """

    kind: str
    query_id: str
    chunk_id: str
    field: str
    before: str
    after: str
    reason: str = ""
    settled_by: str = ""


@dataclass(frozen=True, slots=True)
class Diff:
    """The changes by query and chunk, and the two gold sets they lie between."""

    before: GoldSet
    after: GoldSet
    changes: tuple[Change, ...]

    def of(self, kind: str, *, labels: bool) -> tuple[Change, ...]:
        """Return the changes of a kind, of labels or of queries."""
        return tuple(one for one in self.changes if one.kind == kind and bool(one.chunk_id) == labels)


def diff(before: GoldSet, after: GoldSet) -> Diff:
    """Compare two gold sets, label by label.

    A label is regraded when its grade or its stale flag is another; reworded when the grade stands and its reason,
    evidence or the chunk's text is another. A query is reworded when its question, notes or facets are, regraded when
    it is unanswerable in one of the two. The labels of a query that came or went are told one by one as well.
    """
    changes: list[Change] = []
    for query_id in sorted(_query_ids(before) | _query_ids(after)):
        old, new = _query(before, query_id), _query(after, query_id)
        changes += _of_query(query_id, old, new)
        changes += _of_labels(query_id, old, new, before.texts, after.texts)
    return Diff(before, after, tuple(changes))


def as_json(found: Diff) -> dict[str, Any]:
    """Return the document that `diff --json` prints."""
    document: dict[str, Any] = {"before": _named(found.before), "after": _named(found.after)}
    document["same"] = not found.changes
    for kind in ("added", "removed", "regraded", "reworded"):
        document[kind] = {
            "queries": [_row(one) for one in found.of(kind, labels=False)],
            "labels": [_row(one) for one in found.of(kind, labels=True)],
        }
    return document


def _named(gold: GoldSet) -> dict[str, object]:
    return {
        "name": gold.name,
        "version": gold.version,
        "digest": gold.digest,
        "queries": gold.size,
        "judged_pairs": gold.judged_pairs,
    }


def _row(one: Change) -> dict[str, object]:
    named = {"query_id": one.query_id, "chunk_id": one.chunk_id, "field": one.field}
    values: dict[str, object] = {"before": one.before or None, "after": one.after or None}
    if one.chunk_id and one.field == "relevance":
        values = {name: int(str(value)) if value else None for name, value in values.items()}
    why = {"reason": one.reason, "settled_by": one.settled_by}
    return {
        **{name: value for name, value in named.items() if value},
        **values,
        **{name: value for name, value in why.items() if value},
    }


def _query_ids(gold: GoldSet) -> set[str]:
    return gold.grades.keys() | set(gold.unanswerable)


def _query(gold: GoldSet, query_id: str) -> GoldQuery | None:
    if query_id not in gold.grades and not (query_id in gold.details and gold.details[query_id].unanswerable):
        return None
    return gold.details.get(query_id) or GoldQuery(query_id, gold=gold.labels(query_id))


def _of_query(query_id: str, old: GoldQuery | None, new: GoldQuery | None) -> Iterator[Change]:
    if old is None or new is None:
        there, kind = (old, "removed") if old is not None else (new, "added")
        question = there.question if there else ""
        yield Change(kind, query_id, "", "question", question if old else "", question if new else "")
        return
    if old.unanswerable != new.unanswerable:
        words = {True: "unanswerable", False: "answerable"}
        yield Change("regraded", query_id, "", "answerable", words[old.unanswerable], words[new.unanswerable])
    for name, was, is_now in (
        ("question", old.question, new.question),
        ("notes", old.notes, new.notes),
        *((facet, old.slice.get(facet, ""), new.slice.get(facet, "")) for facet in sorted({*old.slice, *new.slice})),
    ):
        if was != is_now:
            yield Change("reworded", query_id, "", name, was, is_now)


def _of_labels(
    query_id: str,
    old: GoldQuery | None,
    new: GoldQuery | None,
    old_texts: Mapping[str, str],
    new_texts: Mapping[str, str],
) -> Iterator[Change]:
    before = {label.chunk_id: label for label in old.gold} if old else {}
    after = {label.chunk_id: label for label in new.gold} if new else {}
    for chunk_id in sorted(before.keys() | after.keys()):
        was, is_now = before.get(chunk_id), after.get(chunk_id)
        now = is_now or was
        assert now is not None  # one of the two has it
        why = now.reason, now.settled_by
        if was is None or is_now is None:
            kind = "removed" if was else "added"
            yield Change(kind, query_id, chunk_id, "relevance", _grade(was), _grade(is_now), *why)
        elif was.relevance != is_now.relevance:
            yield Change("regraded", query_id, chunk_id, "relevance", _grade(was), _grade(is_now), *why)
        elif was.stale != is_now.stale:
            words = {True: "stale", False: "current"}
            yield Change("regraded", query_id, chunk_id, "stale", words[was.stale], words[is_now.stale], *why)
        else:
            texts = old_texts.get(chunk_id, was.sha256), new_texts.get(chunk_id, is_now.sha256)
            yield from _reworded(query_id, was, is_now, texts)


def _reworded(query_id: str, was: GoldLabel, is_now: GoldLabel, texts: tuple[str, str]) -> Iterator[Change]:
    pairs = [
        ("reason", was.reason, is_now.reason),
        ("evidence", _quotes(was), _quotes(is_now)),
    ]
    if was.sha256 and is_now.sha256 and was.sha256 != is_now.sha256:
        pairs.append(("text", *texts))
    for name, old, new in pairs:
        if old != new:
            yield Change("reworded", query_id, was.chunk_id, name, old, new, is_now.reason, is_now.settled_by)


def _grade(label: GoldLabel | None) -> str:
    return "" if label is None else str(label.relevance)


def _quotes(label: GoldLabel) -> str:
    return "\n".join(span.quote for span in label.evidence)
