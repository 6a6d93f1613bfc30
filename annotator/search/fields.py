"""The fields of the index: what of a chunk is findable, and by which analyzer."""

from __future__ import annotations

from collections.abc import Mapping

import tantivy

from annotator.model import Chunk
from annotator.search import analysis, identifiers, spelling
from annotator.store import corpus

__all__ = ["FORMAT", "fields_of", "prepare", "schema", "where_term"]

FORMAT = 1
"""Raised whenever fields or analysis change: an index of another format is built anew."""

_LONGEST_TOKEN = 600
_BETWEEN = " ¶ "
"""Stands between title and text, so that no phrase runs from one into the other."""


def schema() -> tantivy.Schema:
    """Return the fields: exact ids and metadata; stems, which rank; words and bigrams in order, for phrases."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("chunk_id", stored=True, tokenizer_name="raw", index_option="basic")
    for exact in ("doc_id", "id_key", "metadata", "metadata_key"):
        builder.add_text_field(exact, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("stems", tokenizer_name="stems", index_option="freq")
    builder.add_text_field("beginnings", tokenizer_name="spaced", index_option="freq")
    for in_order in ("words", "bigrams", "identifiers"):
        builder.add_text_field(in_order, tokenizer_name="spaced", index_option="position")
    return builder.build()


def prepare(index: tantivy.Index) -> tantivy.Index:
    """Register the analyzers, which an index does not keep, and stop it from watching the folder by itself."""
    spaced = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    index.register_tokenizer("spaced", spaced.filter(tantivy.Filter.remove_long(_LONGEST_TOKEN)).build())
    index.register_tokenizer("stems", analysis.stem_analyzer())
    index.config_reader("manual")
    return index


def fields_of(chunk: Chunk) -> dict[str, str | list[str]]:
    """Return what is indexed of a chunk: the title counts twice in the stems, ids are findable as words."""
    plain_title, plain_text = spelling.plain(chunk.title), spelling.plain(chunk.text)
    title, text = analysis.spaced_words(plain_title), analysis.spaced_words(plain_text)
    names = [*identifiers.identifiers(plain_title), *identifiers.identifiers(plain_text)]
    squeezed = filter(None, map(identifiers.squeeze, names))
    found: dict[str, str | list[str]] = {
        "chunk_id": chunk.chunk_id,
        "id_key": [spelling.fold(chunk.chunk_id)],
        "stems": f"{title} {title} {text}",
        "words": f"{title}{_BETWEEN}{text}",
        "identifiers": " ".join([*names, *squeezed, identifiers.id_words(chunk.chunk_id, chunk.doc_id)]),
    }
    if chunk.doc_id:
        found["doc_id"] = chunk.doc_id
        found["id_key"] = [spelling.fold(chunk.chunk_id), spelling.fold(chunk.doc_id)]
    if not (plain_text.isascii() and plain_title.isascii()):
        found["bigrams"] = " ".join([*analysis.bigrams(plain_title), *analysis.bigrams(plain_text)])
        found["beginnings"] = " ".join([*analysis.beginnings(title.split()), *analysis.beginnings(text.split())])
    if chunk.metadata:
        found["metadata"] = _metadata_terms(chunk.metadata)
        found["metadata_key"] = list(chunk.metadata)
    return found


def where_term(key: str, value: str) -> str:
    """Return the term that stands for one value of one metadata key."""
    return f"{key}\x1f{value}"


def _metadata_terms(metadata: Mapping[str, object]) -> list[str]:
    return [
        where_term(key, corpus.filter_value(one))
        for key, value in metadata.items()
        for one in (value if isinstance(value, list) else [value])
        if one is None or isinstance(one, str | int | float)
    ]
