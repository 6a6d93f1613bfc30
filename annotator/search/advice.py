"""What to try when nothing was found, in the words of the person who searched."""

from __future__ import annotations

from dataclasses import replace

from annotator.search import identifiers
from annotator.search.clauses import query_of
from annotator.search.index import Reader, page
from annotator.search.query import Typed

__all__ = ["nothing_found"]

_MOST_SUGGESTED = 3


def nothing_found(reader: Reader, typed: Typed, mode: str) -> str:
    """Say why a search may have found nothing and what to do next. Always says something."""
    if reader.searcher.num_docs == 0:
        return "There are no chunks to search yet. Once the chunk table is connected and synced, they appear here."
    if typed.is_empty:
        return "Type words you expect in the answer, an identifier, or an exact phrase in quotation marks."
    narrowed = bool(typed.doc_id or typed.where)
    if narrowed and not _count(reader, Typed(doc_id=typed.doc_id, where=typed.where)):
        return f"There is nothing at all in {_narrowing(typed)}. Ids and values match exactly, capitals included."
    if narrowed and mode != "id" and (elsewhere := _count(reader, replace(typed, doc_id="", where=()))):
        return f"Nothing in {_narrowing(typed)}, but {_chunks(elsewhere)} elsewhere. Take the filter away to see them."
    if mode == "id":
        return "No id is like this one. Check it, or search by words of the text instead."
    if typed.without and (otherwise := _count(reader, replace(typed, without=()))):
        return (
            f"Without the words left out by “-”, {_chunks(otherwise)} match: all of them hold {_listed(typed.without)}."
        )
    if typed.phrases and (looser := _count(reader, _loosened(typed))):
        return f"No chunk has exactly {_listed(typed.phrases)}. Without the quotation marks {_chunks(looser)} match."
    if mode == "words" and (meant := _meant(reader, typed)):
        return f"No chunk has these words. Did you mean {_listed(meant)}? Or switch to typo-tolerant search."
    return "No chunk has these words. Try other words for the same thing, fewer of them, or the language of the texts."


def _count(reader: Reader, typed: Typed) -> int:
    query = query_of(reader, typed)
    return 0 if query is None else page(reader, query, 1, 0)[0]


def _loosened(typed: Typed) -> Typed:
    return replace(typed, words=(*typed.words, *" ".join(typed.phrases).split()), phrases=())


def _meant(reader: Reader, typed: Typed) -> tuple[str, ...]:
    """Return words of the corpus that resemble the typed ones."""
    meant = [
        word
        for typed_word in typed.words[:_MOST_SUGGESTED]
        for part in identifiers.telling_parts(typed_word)
        for word, _ in reader.vocabulary.meant(part)[:2]
        if word != part
    ]
    return tuple(dict.fromkeys(meant))[:_MOST_SUGGESTED]


def _narrowing(typed: Typed) -> str:
    parts = [f"the document “{typed.doc_id}”"] if typed.doc_id else []
    parts += [f"{key} “{value}”" for key, value in typed.where]
    return " with ".join(parts)


def _listed(words: tuple[str, ...]) -> str:
    return " or ".join(f"“{word}”" for word in words)


def _chunks(count: int) -> str:
    return "1 chunk" if count == 1 else f"{count:,} chunks"
