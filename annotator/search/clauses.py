"""What was typed as a query of the index: weighted terms, phrases, exclusions and filters.

Nothing a person types reaches a query parser: every clause is made of terms, so no text can fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tantivy import Occur, Query

from annotator.search import analysis, identifiers, spelling
from annotator.search.fields import where_term
from annotator.search.index import Reader
from annotator.search.query import Typed

__all__ = ["filters_of", "query_of"]

_MOST_POSTINGS = 3_000_000
_FEWEST_MEANINGS = 3
_MOST_MEANINGS = 200
_MOST_MISTYPED = 8
_IDENTIFIER_WEIGHT = 8.0
_ALIKE_WEIGHT = 4.0

# (field, term, weight): the spellings one typed word may have in the index.
Meaning = list[tuple[str, str, float]]
Clause = tuple[Occur, Query]


def query_of(reader: Reader, typed: Typed, *, forgiving: bool = False) -> Query | None:
    """Return the query for what was typed, None when there is nothing to look for.

    Words add to the score of whatever holds any of them; phrases and filters must hold, exclusions must not.
    `forgiving` takes mistyped words for those they resemble.
    """
    if typed.is_empty:
        return None
    words = [*_meanings(reader, typed, forgiving), *_sequences(reader, typed)]
    if typed.words and not (words or typed.phrases):
        return Query.empty_query()
    clauses: list[Clause] = [(Occur.Must, one) for one in filters_of(reader, typed)]
    clauses += [(Occur.Must, _exactly(reader, phrase)) for phrase in typed.phrases]
    if typed.phrases or not clauses:
        clauses += [(Occur.Should, one) for one in words]
    elif words:
        clauses.append((Occur.Must, _any(words)))
    return Query.boolean_query([*clauses, *((Occur.MustNot, _excluded(reader, one)) for one in typed.without)])


def filters_of(reader: Reader, typed: Typed) -> list[Query]:
    """Return the queries of the document and metadata filters; they add nothing to the score."""
    wanted = [("doc_id", typed.doc_id)] if typed.doc_id else []
    wanted += [("metadata", where_term(key, value)) for key, value in typed.where]
    return [Query.const_score_query(_term(reader, field, _encodable(value)), 0.0) for field, value in wanted]


def _meanings(reader: Reader, typed: Typed, forgiving: bool) -> Iterator[Query]:
    """Give a query for each typed word, leaving out what is nowhere and the commonest words of long questions.

    Common words say least and cost most: beyond a number of places to look at, only the rarest words are used.
    """
    known: dict[tuple[str, str], Meaning] = {}
    for meaning in _spellings(typed):
        known.setdefault(meaning[0][:2], meaning)
    counted = sorted(
        ((sum(reader.searcher.doc_freq(*one[:2]) for one in meaning), meaning) for meaning in known.values()),
        key=lambda pair: pair[0],
    )
    if forgiving:
        counted = _forgiven(reader, typed, counted)
    postings = used = 0
    for count, meaning in counted:
        postings += count
        if used >= _MOST_MEANINGS or (used >= _FEWEST_MEANINGS and postings > _MOST_POSTINGS):
            return
        if count:
            used += 1
            spelt = [_weighted(_term(reader, field, term), weight) for field, term, weight in meaning]
            yield spelt[0] if len(spelt) == 1 else Query.disjunction_max_query(spelt)


def _spellings(typed: Typed) -> Iterator[Meaning]:
    """Give the terms of each typed word; those that stand for the same thing together."""
    foreign = not spelling.plain(typed.text).isascii()
    yield [("id_key", spelling.fold(typed.text), _IDENTIFIER_WEIGHT)]
    for word in typed.words:
        codes = identifiers.codes(word)
        for identifier in codes:
            yield [("id_key", identifier, _IDENTIFIER_WEIGHT)]
            yield [("identifiers", identifier, _IDENTIFIER_WEIGHT)]
            if squeezed := identifiers.squeeze(identifier):
                yield [("identifiers", squeezed, _ALIKE_WEIGHT)]
                yield [("stems", analysis.stem(squeezed), _ALIKE_WEIGHT)]
        for part in identifiers.telling_parts(word):
            yield [("stems", analysis.stem(part), 1.0)]
            if not codes and identifiers.squeeze(part):
                yield [("identifiers", part, _ALIKE_WEIGHT)]
            if foreign and (beginning := analysis.beginning_of(part)):
                yield [("beginnings", beginning, 1.0)]
        for _, run in analysis.located_runs(word):
            for pair in analysis.bigrams_of(run):
                yield [("bigrams", pair, 1.0)]


def _forgiven(reader: Reader, typed: Typed, counted: list[tuple[int, Meaning]]) -> list[tuple[int, Meaning]]:
    """Add to the rarest words, which are the mistyped ones if any, what they may have meant."""
    parts = {analysis.stem(part): part for word in typed.words for part in identifiers.telling_parts(word)}
    mistyped = 0
    widened: list[tuple[int, Meaning]] = []
    for count, meaning in counted:
        field, stem, _ = meaning[0]
        if field == "stems" and stem in parts and mistyped < _MOST_MISTYPED:
            mistyped += 1
            meaning = _resembling(reader, parts[stem])
            count = sum(reader.searcher.doc_freq(*one[:2]) for one in meaning)
        widened.append((count, meaning))
    return sorted(widened, key=lambda pair: pair[0])


def _resembling(reader: Reader, typed: str) -> Meaning:
    stems: dict[str, float] = {}
    for word, likeness in reader.vocabulary.meant(typed):
        stems.setdefault(analysis.stem(word), likeness)
    return [("stems", stem, likeness) for stem, likeness in stems.items()]


def _sequences(reader: Reader, typed: Typed) -> Iterator[Query]:
    """Give queries for the parts of an identifier one after the other, and for characters typed singly."""
    runs = [run for word in typed.words for _, run in analysis.located_runs(word)]
    for word in typed.words:
        for identifier in identifiers.codes(word):
            parts = analysis.words(identifier)
            if len(parts) > 1:
                yield _weighted(_in_order(reader, "words", parts), _ALIKE_WEIGHT)
                yield _weighted(_in_order(reader, "identifiers", parts), _ALIKE_WEIGHT)
    if runs and max(map(len, runs)) == 1:
        yield from (_character(reader, run) for run in runs)


def _exactly(reader: Reader, phrase: str) -> Query:
    """Return a query that holds where the words of the phrase stand one after the other."""
    parts: list[Query] = []
    if words := analysis.words(phrase):
        parts.append(_any([_in_order(reader, "words", words), _in_order(reader, "identifiers", words)]))
    parts += _runs_in_order(reader, phrase)
    return parts[0] if len(parts) == 1 else Query.boolean_query([(Occur.Must, part) for part in parts])


def _excluded(reader: Reader, text: str) -> Query:
    words = analysis.words(text)
    if len(words) == 1 and not _runs_in_order(reader, text):
        return _term(reader, "stems", analysis.stem(words[0]))
    return _exactly(reader, text)


def _runs_in_order(reader: Reader, text: str) -> list[Query]:
    return [
        _in_order(reader, "bigrams", pairs) if (pairs := analysis.bigrams_of(run)) else _character(reader, run)
        for _, run in analysis.located_runs(text)
    ]


def _character(reader: Reader, character: str) -> Query:
    """Every character of a run begins a token, so one character is found by prefix."""
    return Query.fuzzy_term_query(reader.schema, "bigrams", character, distance=0, prefix=True)


def _in_order(reader: Reader, field: str, terms: list[str]) -> Query:
    if len(terms) == 1:
        return _term(reader, field, terms[0])
    return Query.phrase_query(reader.schema, field, list(terms))


def _any(queries: Iterable[Query]) -> Query:
    return Query.boolean_query([(Occur.Should, one) for one in queries])


def _weighted(query: Query, weight: float) -> Query:
    return query if weight == 1.0 else Query.boost_query(query, weight)


def _term(reader: Reader, field: str, term: str) -> Query:
    return Query.term_query(reader.schema, field, term, index_option="freq")


def _encodable(value: str) -> str:
    return value.encode("utf-8", "ignore").decode("utf-8")
