"""Labels by the thousand: the lookups and writes of one import, in statements over sets instead of one by one.

The rules are those of `judgments.py`: append only, one current judgment per query, chunk and annotator, the text that
was judged kept under its hash.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from annotator.model import Chunk, Judgment
from annotator.store.database import now
from annotator.store.judgments import evidence_json

__all__ = ["append_all", "keep_texts", "known_operations", "known_texts", "query_ids", "standing", "text_hashes"]

_AMONG = "IN (SELECT value FROM json_each(?))"


def query_ids(connection: sqlite3.Connection) -> list[str]:
    """Return the ids of all queries."""
    return [row[0] for row in connection.execute("SELECT query_id FROM queries ORDER BY row")]


def text_hashes(connection: sqlite3.Connection, chunk_ids: Iterable[str]) -> dict[str, str]:
    """Return chunk id → hash of its present text; ids that are not in the table are left out."""
    sql = f"SELECT chunk_id, sha256 FROM chunks WHERE chunk_id {_AMONG}"
    return {row[0]: row[1] for row in _over(connection, sql, chunk_ids)}


def known_texts(connection: sqlite3.Connection, chunk_ids: Iterable[str]) -> set[tuple[str, str]]:
    """Return the (chunk id, hash) of every text of these chunks that was kept from an earlier judgment."""
    sql = f"SELECT chunk_id, sha256 FROM judged_chunks WHERE chunk_id {_AMONG}"
    return {(row[0], row[1]) for row in _over(connection, sql, chunk_ids)}


def known_operations(connection: sqlite3.Connection, operation_ids: Iterable[str]) -> set[str]:
    """Return those of the operations, of judgments or decisions, that were recorded before."""
    ids = list(operation_ids)
    return {
        row[0]
        for table in ("judgments", "adjudications")
        for row in _over(connection, f"SELECT operation_id FROM {table} WHERE operation_id {_AMONG}", ids)
    }


def keep_texts(connection: sqlite3.Connection, chunks: Iterable[Chunk]) -> None:
    """Keep chunks as they were judged elsewhere, under the hash of their text."""
    moment = now()
    for one in chunks:
        sha256 = one.sha256
        connection.execute("INSERT OR IGNORE INTO judged_texts VALUES (?, ?)", (sha256, one.text))
        connection.execute(
            "INSERT OR IGNORE INTO judged_chunks VALUES (?, ?, ?, ?, ?, ?, ?)",
            (one.chunk_id, sha256, one.doc_id, one.title, one.position, _json(one.metadata), moment),
        )


def standing(
    connection: sqlite3.Connection, query_ids: Iterable[str]
) -> dict[tuple[str, str, str], tuple[int | None, bool, str, str]]:
    """Return (query, chunk, annotator) → (grade, stale, reason, evidence JSON) in force, for these queries."""
    sql = (
        "SELECT c.query_id, c.chunk_id, c.annotator, grade, stale, reason, evidence"
        f" FROM current_judgments c JOIN judgments USING (judgment_id) WHERE c.query_id {_AMONG}"
    )
    return {
        (row[0], row[1], row[2]): (row[3], bool(row[4]), row[5], row[6]) for row in _over(connection, sql, query_ids)
    }


def append_all(connection: sqlite3.Connection, new: Sequence[Judgment]) -> None:
    """Record judgments whose operations are new and whose texts are live or kept, and make them the current ones."""
    moment = now()
    texts = dict.fromkeys((one.chunk_id, one.sha256) for one in new)
    connection.executemany(
        "INSERT OR IGNORE INTO judged_texts SELECT sha256, text FROM chunks WHERE chunk_id = ? AND sha256 = ?", texts
    )
    connection.executemany(
        "INSERT OR IGNORE INTO judged_chunks SELECT chunk_id, sha256, doc_id, title, position, metadata, ?"
        " FROM chunks WHERE chunk_id = ? AND sha256 = ?",
        ((moment, *text) for text in texts),
    )
    connection.executemany(
        "INSERT INTO judgments (operation_id, query_id, chunk_id, annotator, grade, stale, reason, evidence, sha256,"
        " judged_at, seconds, origin, replaces) VALUES (:operation_id, :query_id, :chunk_id, :annotator, :grade,"
        " :stale, :reason, :evidence, :sha256, :judged_at, :seconds, :origin, (SELECT judgment_id FROM"
        " current_judgments WHERE query_id = :query_id AND chunk_id = :chunk_id AND annotator = :annotator))",
        (
            {
                "operation_id": one.operation_id,
                "query_id": one.query_id,
                "chunk_id": one.chunk_id,
                "annotator": one.annotator,
                "grade": one.grade,
                "stale": int(one.stale),
                "reason": one.reason,
                "evidence": evidence_json(one.evidence) if one.evidence else "[]",
                "sha256": one.sha256,
                "judged_at": one.judged_at or moment,
                "seconds": one.seconds,
                "origin": one.origin,
            }
            for one in new
        ),
    )
    if connection.execute("SELECT 1 FROM drafts LIMIT 1").fetchone():
        connection.executemany(
            "DELETE FROM drafts WHERE query_id = ? AND chunk_id = ? AND annotator = ?",
            ((one.query_id, one.chunk_id, one.annotator) for one in new),
        )


def _json(metadata: Mapping[str, object]) -> str:
    return json.dumps(dict(metadata), ensure_ascii=False)


def _over(connection: sqlite3.Connection, sql: str, values: Iterable[str]) -> sqlite3.Cursor:
    """Run the statement on these values, however many."""
    return connection.execute(sql, (json.dumps(list(values)),))
