"""A live table too large to mirror: searched where it is, and what was looked at remembered in the workspace.

The workspace's copy then holds what somebody was shown, and all else goes on from there as with a whole copy: grading,
evidence, drift, versions. Every function here does nothing, or is not called, for a table that is mirrored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from sqlite3 import Connection
from threading import Lock
from typing import Final

import msgspec

from annotator.errors import InputError, Problem
from annotator.model import Chunk, id_fault
from annotator.search import analysis, identifiers
from annotator.search.fuzzy import allowed_edits, meant_in
from annotator.search.highlight import matcher
from annotator.search.identity import likeness
from annotator.search.query import Typed, parse
from annotator.search.rescoring import rescored
from annotator.search.run import SearchHit, SearchResult
from annotator.services.connected import connected
from annotator.store import corpus, remembered, settings
from annotator.store import sync as mirror
from annotator.store.database import Workspace
from annotator.store.sync import SyncResult, few_valued
from annotator.tables import Asked, Reading, Searchable, SourceRow, searchable

__all__ = [
    "Sample",
    "about",
    "forget",
    "is_on",
    "is_on_in",
    "keep",
    "knows_document",
    "look_at_documents",
    "look_up",
    "ranked",
    "refresh",
    "sample",
    "search",
]

SAMPLE: Final = "table.sample"
"""Setting that holds what a first look at a table searched in place showed: its size, the keys of its metadata."""

_KEPT_SECONDS: Final = 300.0
_FETCH_SECONDS: Final = 10.0
_REFRESH_SECONDS: Final = 60.0
_FETCHED: Final = 1_000
_SAMPLED: Final = 2_000
_MOST_DOCUMENTS: Final = 20
_MOST_MISTYPED: Final = 5
_MOST_MEANT: Final = 8
_MOST_NEAR: Final = 20
_RANKED_AGAIN: Final = 100


@dataclass(frozen=True, slots=True)
class _Opened:
    reading: Reading
    table: Searchable
    until: float


@dataclass(frozen=True, slots=True)
class Sample:
    """What the first rows of a table show: how many there are about, what can be filtered by."""

    about: int | None
    keys: tuple[str, ...]
    values: Mapping[str, Sequence[str]]


_opened: dict[str, _Opened] = {}
_opening: Final = Lock()


def forget() -> None:
    """Let go of the tables opened in this process."""
    with _opening:
        while _opened:
            _opened.popitem()[1].table.close()


def is_on(workspace: Workspace) -> bool:
    """Say whether the connected table is searched in place."""
    with workspace.read() as connection:
        return is_on_in(connection)


def is_on_in(connection: Connection) -> bool:
    """Say the same of an open connection."""
    return bool((settings.get(connection, "table") or {}).get("in_place"))


def knows_document(connection: Connection, doc_id: str) -> bool:
    """Say whether all chunks of the document were looked at, so that their places in it are known."""
    return remembered.is_whole(connection, doc_id)


def search(
    workspace: Workspace,
    text: str,
    *,
    mode: str = "words",
    limit: int = 10,
    offset: int = 0,
    doc_id: str = "",
    where: Mapping[str, str] | None = None,
) -> SearchResult:
    """Find chunks of the live table, as `search.search` does in the index, and remember those of this page.

    Raises InputError, with what to do, when the table's server does not answer.
    """
    started = time.perf_counter()
    live = _open(workspace)
    typed = _understood(workspace, text, doc_id, where or {})
    if mode == "id" and (typed.doc_id, typed.where) != (doc_id, tuple((where or {}).items())):
        typed = _as_id(workspace, text) or typed
    try:
        total, found, more, read = _found(live, typed, mode, max(1, limit), max(0, offset))
    except InputError:
        _let_go(live)  # a table that was changed is found as it is now when somebody searches again
        raise
    known = {row[1]: row for row in reversed(read)}
    rows = [known[one] for one, _ in found if one in known]
    rows += _fetch(live, [one for one, _ in found if one not in known])
    remembered.remember(workspace, rows)
    with workspace.read() as connection:
        chunks = corpus.chunks(connection, [row[1] for row in rows])
    marking = matcher(typed, mode)
    hits = []
    for chunk_id, score in found:
        if (chunk := chunks.get(chunk_id)) is not None:
            snippet, spans = marking.snippet(chunk.text)
            hits.append(SearchHit(chunk_id, chunk.doc_id, chunk.title, score, snippet, spans))
    advised = "" if hits else _advice(typed, mode, total)
    return SearchResult(total, tuple(hits), time.perf_counter() - started, advised, more)


def ranked(workspace: Workspace, text: str, mode: str, depth: int) -> list[tuple[str, float]]:
    """Return (chunk id, score) of the best so many for a question, without looking at the chunks."""
    return _found(_open(workspace), parse(text), mode, depth, 0)[1]


def look_up(workspace: Workspace, ids: Iterable[str]) -> None:
    """Remember the chunks with these ids that were not looked at before; ids the live table has not are left out."""
    if not is_on(workspace):
        return
    with workspace.read() as connection:
        wanted = remembered.missing(connection, ids)
    if wanted:
        live = _open(workspace)
        for some in _batches(wanted):
            remembered.remember(workspace, _fetch(live, some))


def look_at_documents(workspace: Workspace, doc_ids: Iterable[str]) -> None:
    """Remember all chunks of these documents, of so many as can be waited for, where that was not done before."""
    if not is_on(workspace):
        return
    with workspace.read() as connection:
        wanted = [one for one in dict.fromkeys(doc_ids) if one and not remembered.is_whole(connection, one)]
    if wanted:
        live = _open(workspace)
        for doc_id in wanted[:_MOST_DOCUMENTS]:
            rows = _document(live, doc_id)
            if rows:
                remembered.remember(workspace, rows, whole=doc_id)


def refresh(
    workspace: Workspace,
    who: str,
    source: str,
    progress: Callable[[int, int | None], None] | None = None,
    *,
    allow_empty: bool = False,
) -> SyncResult:
    """Read again what was looked at, chunk by chunk and document by document: a sync of the part that matters.

    Raises InputError with the faults of what was read, when reading fails, or when the table lost all its rows (unless
    `allow_empty`); then nothing is written.
    """
    live = _open(workspace, anew=True)
    with mirror.staging(workspace, "first") as staging:
        with workspace.read() as connection:
            ids, documents = remembered.ids(connection), remembered.whole_documents(connection)
        seen: set[str] = set()
        problems: list[Problem] = []
        for some in _batches(ids):
            found = live.reading.fetch(some, _REFRESH_SECONDS)
            problems += found.problems
            seen.update(row[1] for row in found.rows)
            staging.add(_firsts(found.rows))
            if progress:
                progress(min(len(ids), len(seen)), len(ids))
        for doc_id in documents:
            rows = [row for row in _document(live, doc_id) if row[1] not in seen]
            seen.update(row[1] for row in rows)
            if rows:
                staging.add(_firsts(rows))
        if problems:
            hint = "Mend the rows and sync again; nothing was written."
            raise InputError("Some of the chunks that were looked at have faults.", problems=problems, hint=hint)
        if not (seen or allow_empty or any(batch.rows for batch in islice(live.reading.batches(), 1))):
            staging.refuse_empty(live.reading.name)
        result = staging.apply(source, who)
    looked = sample(live.reading, live.table)
    with workspace.write() as connection:
        keep(connection, looked)
    return result


def sample(reading: Reading, table: Searchable) -> Sample:
    """Look at the first rows for what can be filtered by, and ask how many there are about."""
    rows = islice((row for batch in reading.batches() for row in batch.rows), _SAMPLED)
    written = [row[6] for row in rows]
    values = few_valued(written)
    return Sample(table.about(), tuple(_keys(written)), values)


def _keys(written: Iterable[str]) -> list[str]:
    return sorted({key for one in set(written) for key in msgspec.json.decode(one)})


def keep(connection: Connection, looked: Sample) -> None:
    """Keep what a look at the table showed, for the filters and the figures on the screen."""
    settings.put(connection, SAMPLE, {"about": looked.about, "keys": list(looked.keys)})
    settings.put(connection, corpus.METADATA_VALUES, {key: list(some) for key, some in looked.values.items()})


def about(connection: Connection) -> int | None:
    """Return roughly how many chunks the live table had when it was last looked at."""
    found: int | None = settings.get(connection, SAMPLE, {}).get("about")
    return found


def _open(workspace: Workspace, *, anew: bool = False) -> _Opened:
    """Open the connected table, or take it as it was opened a short while ago: opening asks the server for a lot."""
    with workspace.read() as connection:
        key = f"{workspace.home}\n{settings.get(connection, 'table')}"
    with _opening:
        known = _opened.get(key)
    if known is not None and not anew and time.monotonic() < known.until:
        return known
    table, columns, _ = connected(workspace)
    reading = Reading(table, columns)
    live = _Opened(reading, searchable(table, reading), time.monotonic() + _KEPT_SECONDS)
    with _opening:
        before = _opened.pop(key, None)
        _opened[key] = live
    if before is not None:
        before.table.close()
    return live


def _let_go(live: _Opened) -> None:
    with _opening:
        for key in [key for key, known in _opened.items() if known is live]:
            _opened.pop(key).table.close()


def _understood(workspace: Workspace, text: str, doc_id: str, where: Mapping[str, str]) -> Typed:
    with workspace.read() as connection:
        keys: Sequence[str] = settings.get(connection, SAMPLE, {}).get("keys", ())
    typed = parse(text, frozenset(keys))
    return replace(typed, doc_id=doc_id or typed.doc_id, where=(*typed.where, *where.items()))


def _as_id(workspace: Workspace, text: str) -> Typed | None:
    """Take a text that looks like a filter as the id it is, where a chunk has it: doc:12#3."""
    wanted = text.strip()
    if id_fault(wanted):
        return None
    look_up(workspace, [wanted])
    with workspace.read() as connection:
        return Typed(wanted) if corpus.chunks(connection, [wanted]) else None


def _found(
    live: _Opened, typed: Typed, mode: str, limit: int, offset: int
) -> tuple[int, list[tuple[str, float]], bool, list[SourceRow]]:
    """Return the number found, a page of (chunk id, score), whether there are more, and what was read on the way.

    Where the table ranks roughly, the best of what it found are read and ranked again.
    """
    by_id = mode == "id"
    if typed.is_empty and not (by_id and typed.text):
        return 0, [], False, []
    forgiving = mode == "fuzzy"
    words = dict.fromkeys(typed.words)
    asked = Asked(
        text=typed.text,
        words=tuple(_spellings(live.table, words)) if forgiving else tuple(((word, 1.0),) for word in words),
        phrases=typed.phrases,
        without=typed.without,
        doc_id=typed.doc_id,
        where=typed.where,
        by_id=by_id,
        forgiving=forgiving,
        limit=limit,
        offset=offset,
    )
    if live.table.rough and asked.words and not by_id and offset < _RANKED_AGAIN:
        found = live.table.search(replace(asked, limit=_RANKED_AGAIN, offset=0))
        rows = _fetch(live, [one for one, _ in found.ids]) if found.rarity else []
        best = list(dict(found.ids).items())
        if rows:
            first = {row[1]: row for row in reversed(rows)}
            chunks = [_chunk(first[one]) for one, _ in best if one in first]
            best = rescored(chunks, asked.words, dict(found.rarity))
        page = best[offset : offset + limit]
        if found.total > _RANKED_AGAIN and offset + limit > _RANKED_AGAIN:
            rest = replace(asked, limit=offset + limit - _RANKED_AGAIN, offset=_RANKED_AGAIN)
            page += _below(best, live.table.search(rest).ids)
        return found.total, page, found.more, rows
    found = live.table.search(asked)
    ids = list(dict(found.ids).items())
    total = found.total
    if found.near and total < _MOST_NEAR:
        near = likeness(typed.text, (one for one in found.near if one not in dict(ids)))
        ids += near[max(0, offset - total) :][: limit - len(ids)]
        total += len(near)
    return total, ids, found.more, []


def _below(best: Sequence[tuple[str, float]], rest: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return what follows in the table's own order, with scores below those that were ranked again."""
    last, first = (best[-1][1] if best else 0.0), max((score for _, score in rest), default=0.0)
    share = min(1.0, last / first) if first > 0 else 0.0
    return [(one, round(score * share, 4)) for one, score in rest]


def _chunk(row: SourceRow) -> Chunk:
    return Chunk(row[1], row[2], row[3], row[4], row[5])


def _spellings(table: Searchable, words: Iterable[str]) -> Iterator[tuple[tuple[str, float], ...]]:
    """Give each word with what it may have meant; a table that forgives slips by itself needs no such list."""
    asked = 0
    for word in words:
        parts = identifiers.telling_parts(word)
        part = parts[0] if len(parts) == 1 else ""
        if table.forgives or asked >= _MOST_MISTYPED or not allowed_edits(part):
            yield ((word, 1.0),)
            continue
        asked += 1
        found = meant_in(table.texts_beginning(part[: len(part) // 2]), part)
        if len(found) == 1:  # the slip is in the first half
            found = meant_in(table.texts_beginning(part[:2]), part)
        yield ((word, 1.0), *found[1:_MOST_MEANT])


def _fetch(live: _Opened, ids: Sequence[str]) -> list[SourceRow]:
    """Read these chunks; rows with faults are left out here and named by the next sync."""
    return live.reading.fetch(ids, _FETCH_SECONDS).rows if ids else []


def _document(live: _Opened, doc_id: str) -> list[SourceRow]:
    found = live.reading.read(live.table.document(doc_id, live.reading.asked))
    return [row for row in found.rows if row[3] == doc_id]


def _firsts(rows: Iterable[SourceRow]) -> list[SourceRow]:
    """Keep of rows with one id the first: which of them counts is the live table's fault, not the sync's."""
    found: dict[str, SourceRow] = {}
    for row in rows:
        found.setdefault(row[1], row)
    return list(found.values())


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + _FETCHED] for start in range(0, len(ids), _FETCHED))


def _advice(typed: Typed, mode: str, total: int) -> str:
    if total:
        return "There are no more chunks on this page; go back to the first."
    if mode == "id":
        return "No id is like this one. Check it, or search by words of the text instead."
    if typed.is_empty:
        return "Type words you expect in the answer, an identifier, or an exact phrase in quotation marks."
    if typed.doc_id or typed.where:
        return "Nothing was found there. Take the filters away; ids and values match exactly, capitals included."
    if typed.phrases:
        return "No chunk has exactly that. Take the quotation marks away, or use fewer words."
    if all(set(analysis.words(word)) <= analysis.STOP_WORDS for word in typed.words):
        return "These words stand nearly everywhere, so nothing is looked up by them. Add one that tells more."
    if mode == "words":
        return "No chunk of the live table has these words. Try others, or switch to typo-tolerant search."
    return "No chunk of the live table has these words. Try others for the same thing, or the language of the texts."
