"""Numbered migrations of the workspace database, each preceded by a backup when there is something to lose.

Owns the tables, indexes and the triggers that keep history append-only. Applied through sqlite-utils' migration
sets: each migration and the record of it commit together or not at all.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from annotator.store.database import Workspace, stamp

if TYPE_CHECKING:
    from sqlite_utils import Database

__all__ = ["VERSION", "migrate"]

VERSION = 7

_START = (
    # The mirror of the live chunk table. row_hash covers every column, sha256 the text alone.
    """CREATE TABLE chunks (
        row INTEGER PRIMARY KEY, chunk_id TEXT NOT NULL UNIQUE, doc_id TEXT NOT NULL, title TEXT NOT NULL,
        position INTEGER, text TEXT NOT NULL, metadata TEXT NOT NULL, sha256 TEXT NOT NULL, row_hash BLOB NOT NULL,
        sync_id INTEGER NOT NULL)""",
    "CREATE INDEX chunks_by_document ON chunks (doc_id, position, row)",
    "CREATE INDEX chunks_by_sync ON chunks (sync_id)",
    "CREATE TABLE removed_chunks (chunk_id TEXT PRIMARY KEY, sync_id INTEGER NOT NULL) WITHOUT ROWID",
    """CREATE TABLE syncs (
        sync_id INTEGER PRIMARY KEY, started_at TEXT NOT NULL, finished_at TEXT, source TEXT NOT NULL,
        who TEXT NOT NULL,
        added INTEGER, changed INTEGER, removed INTEGER, unchanged INTEGER, total INTEGER, seconds REAL)""",
    # Every text anybody ever judged, as it was read.
    """CREATE TABLE judged_texts (
        sha256 TEXT PRIMARY KEY, text TEXT NOT NULL)""",
    """CREATE TABLE judged_chunks (
        chunk_id TEXT NOT NULL, sha256 TEXT NOT NULL REFERENCES judged_texts, doc_id TEXT NOT NULL, title TEXT NOT NULL,
        position INTEGER, metadata TEXT NOT NULL, seen_at TEXT NOT NULL, PRIMARY KEY (chunk_id, sha256))""",
    """CREATE TABLE queries (
        row INTEGER PRIMARY KEY, query_id TEXT NOT NULL UNIQUE, question TEXT NOT NULL, notes TEXT NOT NULL,
        facets TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ('draft', 'open', 'complete', 'retired')),
        unanswerable INTEGER NOT NULL CHECK (unanswerable IN (0, 1)), owner TEXT NOT NULL, revision INTEGER NOT NULL,
        created_at TEXT NOT NULL, changed_at TEXT NOT NULL)""",
    """CREATE TABLE judgments (
        judgment_id INTEGER PRIMARY KEY, operation_id TEXT NOT NULL UNIQUE,
        query_id TEXT NOT NULL REFERENCES queries (query_id), chunk_id TEXT NOT NULL, annotator TEXT NOT NULL,
        withdrawn INTEGER NOT NULL DEFAULT 0 CHECK (withdrawn IN (0, 1)),
        grade INTEGER CHECK (grade IS NULL OR (grade BETWEEN 0 AND 3 AND typeof(grade) = 'integer')),
        stale INTEGER NOT NULL CHECK (stale IN (0, 1)), reason TEXT NOT NULL, evidence TEXT NOT NULL,
        sha256 TEXT NOT NULL, judged_at TEXT NOT NULL, seconds REAL, origin TEXT NOT NULL,
        replaces INTEGER REFERENCES judgments, undoes INTEGER UNIQUE REFERENCES judgments,
        CHECK (stale = 0 OR grade = 0))""",
    "CREATE INDEX judgments_by_person ON judgments (annotator, judgment_id)",
    """CREATE TABLE current_judgments (
        query_id TEXT NOT NULL, chunk_id TEXT NOT NULL, annotator TEXT NOT NULL,
        judgment_id INTEGER NOT NULL REFERENCES judgments,
        PRIMARY KEY (query_id, chunk_id, annotator)) WITHOUT ROWID""",
    "CREATE INDEX current_by_chunk ON current_judgments (chunk_id)",
    """CREATE TRIGGER judgments_current AFTER INSERT ON judgments WHEN NEW.withdrawn = 0 BEGIN
        INSERT INTO current_judgments VALUES (NEW.query_id, NEW.chunk_id, NEW.annotator, NEW.judgment_id)
        ON CONFLICT DO UPDATE SET judgment_id = excluded.judgment_id; END""",
    """CREATE TRIGGER judgments_withdrawn AFTER INSERT ON judgments WHEN NEW.withdrawn = 1 BEGIN
        DELETE FROM current_judgments WHERE query_id = NEW.query_id AND chunk_id = NEW.chunk_id
        AND annotator = NEW.annotator; END""",
    """CREATE TABLE adjudications (
        adjudication_id INTEGER PRIMARY KEY, operation_id TEXT NOT NULL UNIQUE,
        query_id TEXT NOT NULL REFERENCES queries (query_id), chunk_id TEXT NOT NULL, reviewer TEXT NOT NULL,
        grade INTEGER NOT NULL CHECK (grade BETWEEN 0 AND 3), stale INTEGER NOT NULL CHECK (stale IN (0, 1)),
        reason TEXT NOT NULL, evidence TEXT NOT NULL, sha256 TEXT NOT NULL, decided_at TEXT NOT NULL,
        CHECK (stale = 0 OR grade = 0))""",
    "CREATE INDEX adjudications_by_pair ON adjudications (query_id, chunk_id, adjudication_id)",
    # Reasons and evidence still being written: kept at once, never part of the record.
    """CREATE TABLE drafts (
        query_id TEXT NOT NULL, chunk_id TEXT NOT NULL, annotator TEXT NOT NULL, reason TEXT NOT NULL,
        evidence TEXT NOT NULL, written_at TEXT NOT NULL, PRIMARY KEY (query_id, chunk_id, annotator)) WITHOUT ROWID""",
    """CREATE TABLE people (
        name TEXT PRIMARY KEY, role TEXT NOT NULL CHECK (role IN ('annotator', 'reviewer', 'admin', 'reader')),
        active INTEGER NOT NULL DEFAULT 1, added_at TEXT NOT NULL)""",
    """CREATE TABLE runs (
        run_id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, meta TEXT NOT NULL,
        added_at TEXT NOT NULL, added_by TEXT NOT NULL)""",
    """CREATE TABLE run_queries (
        run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, query_id TEXT NOT NULL, result TEXT NOT NULL,
        PRIMARY KEY (run_id, query_id)) WITHOUT ROWID""",
    """CREATE TABLE versions (
        version INTEGER PRIMARY KEY, name TEXT NOT NULL, parent INTEGER, note TEXT NOT NULL, created_at TEXT NOT NULL,
        created_by TEXT NOT NULL, digest TEXT NOT NULL, manifest TEXT NOT NULL)""",
    """CREATE TABLE version_files (
        version INTEGER NOT NULL REFERENCES versions DEFERRABLE INITIALLY DEFERRED, name TEXT NOT NULL,
        content BLOB NOT NULL, PRIMARY KEY (version, name)) WITHOUT ROWID""",
    # A version is sealed by its row, written last: nothing can be slipped in afterwards.
    """CREATE TRIGGER version_files_sealed BEFORE INSERT ON version_files
        WHEN EXISTS (SELECT 1 FROM versions WHERE version = NEW.version)
        BEGIN SELECT RAISE(ABORT, 'versions are frozen'); END""",
    "CREATE TABLE tags (tag TEXT PRIMARY KEY, version INTEGER NOT NULL REFERENCES versions)",
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE events (
        event_id INTEGER PRIMARY KEY, at TEXT NOT NULL, who TEXT NOT NULL, action TEXT NOT NULL, subject TEXT NOT NULL,
        old TEXT, new TEXT)""",
    "CREATE INDEX events_by_subject ON events (subject)",
)

_REVIEW = (
    # From here on the pair waits for a new judgment or decision: those up to the two numbers no longer settle it.
    """CREATE TABLE reopenings (
        reopening_id INTEGER PRIMARY KEY, operation_id TEXT NOT NULL UNIQUE,
        query_id TEXT NOT NULL REFERENCES queries (query_id), chunk_id TEXT NOT NULL, reviewer TEXT NOT NULL,
        reason TEXT NOT NULL, reopened_at TEXT NOT NULL, after_judgment INTEGER NOT NULL,
        after_adjudication INTEGER NOT NULL)""",
    "CREATE INDEX reopenings_by_pair ON reopenings (query_id, chunk_id, reopening_id)",
    """CREATE VIEW reopened AS SELECT r.* FROM reopenings r
        WHERE NOT EXISTS (SELECT 1 FROM reopenings later WHERE later.query_id = r.query_id
            AND later.chunk_id = r.chunk_id AND later.reopening_id > r.reopening_id)
        AND NOT EXISTS (SELECT 1 FROM adjudications a WHERE a.query_id = r.query_id AND a.chunk_id = r.chunk_id
            AND a.adjudication_id > r.after_adjudication)
        AND NOT EXISTS (SELECT 1 FROM current_judgments c JOIN judgments j USING (judgment_id)
            WHERE c.query_id = r.query_id AND c.chunk_id = r.chunk_id AND c.judgment_id > r.after_judgment
            AND j.undoes IS NULL)""",
    # The record of changes is read by time.
    "CREATE INDEX judgments_by_time ON judgments (judged_at)",
    "CREATE INDEX events_by_time ON events (at)",
    """CREATE TRIGGER syncs_no_delete BEFORE DELETE ON syncs
        BEGIN SELECT RAISE(ABORT, 'syncs are append-only'); END""",
    """CREATE TRIGGER syncs_no_update BEFORE UPDATE ON syncs WHEN OLD.finished_at IS NOT NULL
        BEGIN SELECT RAISE(ABORT, 'syncs are append-only'); END""",
    """CREATE TRIGGER syncs_no_replace BEFORE INSERT ON syncs
        WHEN EXISTS (SELECT 1 FROM syncs WHERE sync_id = NEW.sync_id)
        BEGIN SELECT RAISE(ABORT, 'syncs are append-only'); END""",
)

_DRIFT = (
    # A label whose text is gone from the table, taken out of force: dropped, or carried over to other chunks. What was
    # said about that text stays on record; decisions up to last_adjudication no longer count.
    """CREATE TABLE set_aside (
        aside_id INTEGER PRIMARY KEY, query_id TEXT NOT NULL REFERENCES queries (query_id), chunk_id TEXT NOT NULL,
        sha256 TEXT NOT NULL, action TEXT NOT NULL CHECK (action IN ('dropped', 'carried')), who TEXT NOT NULL,
        reason TEXT NOT NULL, at TEXT NOT NULL, last_adjudication INTEGER NOT NULL)""",
    "CREATE INDEX set_aside_by_pair ON set_aside (query_id, chunk_id, sha256)",
    """CREATE TRIGGER set_aside_current AFTER INSERT ON set_aside BEGIN
        DELETE FROM current_judgments WHERE query_id = NEW.query_id AND chunk_id = NEW.chunk_id AND judgment_id IN (
            SELECT judgment_id FROM judgments WHERE query_id = NEW.query_id AND chunk_id = NEW.chunk_id
            AND sha256 = NEW.sha256); END""",
    """CREATE TABLE carry_proposals (
        proposal_id INTEGER PRIMARY KEY, query_id TEXT NOT NULL REFERENCES queries (query_id), chunk_id TEXT NOT NULL,
        sha256 TEXT NOT NULL, to_chunk_id TEXT NOT NULL, to_sha256 TEXT NOT NULL,
        grade INTEGER NOT NULL CHECK (grade BETWEEN 0 AND 3), stale INTEGER NOT NULL, reason TEXT NOT NULL,
        evidence TEXT NOT NULL, from_grade INTEGER NOT NULL, from_evidence TEXT NOT NULL, score REAL NOT NULL,
        how TEXT NOT NULL, proposed_by TEXT NOT NULL, proposed_at TEXT NOT NULL,
        decision TEXT CHECK (decision IN ('accepted', 'refused')), decided_by TEXT, decided_at TEXT,
        UNIQUE (query_id, chunk_id, sha256, to_chunk_id, to_sha256))""",
)

_QUEUE = (
    # What a person said about a question as a whole. `returned`: it is theirs again, by a reviewer or by themselves.
    """CREATE TABLE steps (
        step_id INTEGER PRIMARY KEY, query_id TEXT NOT NULL REFERENCES queries (query_id), annotator TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('finished', 'skipped', 'returned')), reason TEXT NOT NULL,
        who TEXT NOT NULL, at TEXT NOT NULL, after_judgment INTEGER NOT NULL)""",
    "CREATE INDEX steps_by_person ON steps (query_id, annotator, step_id)",
    """CREATE TABLE current_steps (
        query_id TEXT NOT NULL, annotator TEXT NOT NULL, kind TEXT NOT NULL, step_id INTEGER NOT NULL REFERENCES steps,
        PRIMARY KEY (query_id, annotator)) WITHOUT ROWID""",
    "CREATE INDEX current_steps_by_person ON current_steps (annotator, kind)",
    """CREATE TRIGGER steps_current AFTER INSERT ON steps BEGIN
        INSERT INTO current_steps VALUES (NEW.query_id, NEW.annotator, NEW.kind, NEW.step_id)
        ON CONFLICT DO UPDATE SET kind = excluded.kind, step_id = excluded.step_id; END""",
    # The question a person works on; it keeps others away until `expires_at` and says where to go on after a break.
    """CREATE TABLE leases (
        annotator TEXT PRIMARY KEY, query_id TEXT NOT NULL REFERENCES queries (query_id), expires_at TEXT NOT NULL)
        WITHOUT ROWID""",
    "CREATE INDEX leases_by_query ON leases (query_id, expires_at)",
    # Either the query_id or facet and value are filled.
    """CREATE TABLE assignments (
        annotator TEXT NOT NULL, query_id TEXT NOT NULL, facet TEXT NOT NULL,
        value TEXT NOT NULL, PRIMARY KEY (annotator, query_id, facet, value)) WITHOUT ROWID""",
    "CREATE INDEX assignments_by_query ON assignments (query_id)",
    # What differs from the workspace's plan for a question: how many people, and whether everybody labels it.
    """CREATE TABLE plans (
        query_id TEXT PRIMARY KEY REFERENCES queries (query_id), overlap INTEGER CHECK (overlap BETWEEN 1 AND 100),
        calibration INTEGER NOT NULL CHECK (calibration IN (0, 1))) WITHOUT ROWID""",
    "CREATE INDEX queries_by_state ON queries (state, row)",
    # Whoever marked a question complete so far is who finished it.
    """INSERT INTO steps (query_id, annotator, kind, reason, who, at, after_judgment)
        SELECT q.query_id, e.who, 'finished', '', e.who, e.at, (SELECT COALESCE(MAX(judgment_id), 0) FROM judgments)
        FROM queries q JOIN events e ON e.event_id = (SELECT MAX(event_id) FROM events
            WHERE subject = 'query:' || q.query_id AND action = 'query changed'
            AND json_extract(new, '$.state') = 'complete' AND json_extract(old, '$.state') <> 'complete')
        WHERE q.state = 'complete' AND EXISTS (
            SELECT 1 FROM current_judgments c WHERE c.query_id = q.query_id AND c.annotator = e.who)""",
)

_POOLS = (
    # What was asked each time candidates were gathered: runs (JSON), built-in search and retriever ("" when not).
    """CREATE TABLE pool_builds (
        build_id INTEGER PRIMARY KEY, built_at TEXT NOT NULL, built_by TEXT NOT NULL, runs TEXT NOT NULL,
        search TEXT NOT NULL, retriever TEXT NOT NULL, depth INTEGER NOT NULL)""",
    # A candidate, where it came from (JSON: source to rank), and whether nobody had judged it then. What a later build
    # finds in the same places is not written again; the pool of a query is what all builds found.
    """CREATE TABLE pool_entries (
        query_id TEXT NOT NULL, chunk_id TEXT NOT NULL, origins TEXT NOT NULL,
        build_id INTEGER NOT NULL REFERENCES pool_builds, hole INTEGER NOT NULL CHECK (hole IN (0, 1)),
        PRIMARY KEY (query_id, chunk_id, origins)) WITHOUT ROWID""",
)

_SIGN_IN = (
    # Who is who at the provider of identities: bound to what never changes there, not to a name anybody may choose.
    """CREATE TABLE identities (
        subject TEXT PRIMARY KEY, name TEXT NOT NULL REFERENCES people (name), email TEXT NOT NULL,
        linked_at TEXT NOT NULL)""",
    "CREATE INDEX identities_by_name ON identities (name)",
    """CREATE TRIGGER people_no_delete BEFORE DELETE ON people
        BEGIN SELECT RAISE(ABORT, 'people are deactivated, never deleted'); END""",
)

_IN_PLACE = (
    # Of a table that is searched in place: the documents all chunks of which were read, so that places are known.
    "CREATE TABLE whole_documents (doc_id TEXT PRIMARY KEY) WITHOUT ROWID",
)

_APPEND_ONLY = ("judgments", "adjudications", "versions", "version_files", "events", "judged_texts", "judged_chunks")

# INSERT OR REPLACE removes a row without firing its DELETE trigger, so a taken key is refused before that.
_NEVER_REPLACED = {
    "judgments": "judgment_id = NEW.judgment_id OR operation_id = NEW.operation_id",
    "adjudications": "adjudication_id = NEW.adjudication_id OR operation_id = NEW.operation_id",
    "versions": "version = NEW.version",
    "events": "event_id = NEW.event_id",
}


def migrate(workspace: Workspace) -> None:
    """Bring the database to VERSION; safe when two processes start at once."""
    from sqlite_utils import Database

    with workspace.lock("migration"):
        with closing(workspace.connect()) as connection:
            found = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if 0 < found < VERSION:
                _back_up(workspace, connection, f"before-schema-{found + 1}")
        with workspace.turn(), closing(sqlite3.connect(workspace.database, timeout=30)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            _migrations().apply(Database(connection))


def _migrations() -> Any:
    from sqlite_utils import Migrations  # imported here only: it costs over half a second

    migrations = Migrations("annotator")

    @migrations()
    def m0001_start(db: Database) -> None:
        for statement in _START:
            db.execute(statement)
        for table in _APPEND_ONLY:
            _never_changed(db, table)
        for table, taken in _NEVER_REPLACED.items():
            _never_replaced(db, table, taken)
        db.execute("PRAGMA user_version = 1")

    @migrations()
    def m0002_review(db: Database) -> None:
        for statement in _REVIEW:
            db.execute(statement)
        _never_changed(db, "reopenings")
        _never_replaced(db, "reopenings", "reopening_id = NEW.reopening_id OR operation_id = NEW.operation_id")
        db.execute("PRAGMA user_version = 2")

    @migrations()
    def m0003_drift(db: Database) -> None:
        for statement in _DRIFT:
            db.execute(statement)
        _never_changed(db, "set_aside")
        _never_replaced(db, "set_aside", "aside_id = NEW.aside_id")
        db.execute("PRAGMA user_version = 3")

    @migrations()
    def m0004_queue(db: Database) -> None:
        for statement in _QUEUE:
            db.execute(statement)
        _never_changed(db, "steps")
        _never_replaced(db, "steps", "step_id = NEW.step_id")
        db.execute("PRAGMA user_version = 4")

    @migrations()
    def m0005_pools(db: Database) -> None:
        for statement in _POOLS:
            db.execute(statement)
        for table in ("pool_builds", "pool_entries"):
            _never_changed(db, table)
        _never_replaced(db, "pool_builds", "build_id = NEW.build_id")
        _never_replaced(
            db, "pool_entries", "query_id = NEW.query_id AND chunk_id = NEW.chunk_id AND origins = NEW.origins"
        )
        db.execute("PRAGMA user_version = 5")

    @migrations()
    def m0006_identity(db: Database) -> None:
        for statement in _SIGN_IN:
            db.execute(statement)
        db.execute("PRAGMA user_version = 6")

    @migrations()
    def m0007_inplace(db: Database) -> None:
        for statement in _IN_PLACE:
            db.execute(statement)
        db.execute("PRAGMA user_version = 7")

    return migrations


def _never_changed(db: Database, table: str) -> None:
    for verb in ("UPDATE", "DELETE"):
        db.execute(
            f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{table} are append-only'); END"
        )


def _never_replaced(db: Database, table: str, taken: str) -> None:
    db.execute(
        f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} "
        f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {taken}) "
        f"BEGIN SELECT RAISE(ABORT, '{table} are append-only'); END"
    )


def _back_up(workspace: Workspace, connection: sqlite3.Connection, label: str) -> None:
    workspace.backups.mkdir(exist_ok=True)
    with closing(sqlite3.connect(workspace.backups / f"{stamp()}-{label}.db")) as target:
        connection.backup(target)
