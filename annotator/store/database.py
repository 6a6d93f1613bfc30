"""Opens the workspace database: one connection per operation, WAL, writers queued by `BEGIN IMMEDIATE`.

Owns connections, transactions, the schema check and the cross-process lock. What the tables mean is left to the
modules beside it. A connection is never shared between threads or kept: shared ones lose rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from annotator.errors import Conflict, NotFound, StoreError

__all__ = ["BUSY_SECONDS", "Workspace", "now"]

BUSY_SECONDS = 30.0
"""How long a writer waits for its turn before it gives up."""


def now() -> str:
    """Return the present moment in UTC as ISO 8601 with milliseconds, e.g. `2026-03-01T09:30:00.125Z`."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace folder: `annotator.db`, `index/`, `releases/`, `backups/`."""

    home: Path

    @property
    def database(self) -> Path:
        return self.home / "annotator.db"

    @property
    def index(self) -> Path:
        return self.home / "index"

    @property
    def releases(self) -> Path:
        return self.home / "releases"

    @property
    def backups(self) -> Path:
        return self.home / "backups"

    @property
    def exists(self) -> bool:
        return self.database.is_file()

    def create(self) -> None:
        """Make an empty workspace. Raises Conflict when there is one already: nothing is ever overwritten."""
        from annotator.store.migrations import migrate

        if self.exists:
            raise Conflict(f"There is a workspace in {self.home} already.", hint="Choose another folder with --home.")
        try:
            self.home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"The workspace folder {self.home} cannot be made: {error.strerror}.") from error
        migrate(self)

    def open(self) -> None:
        """Check that the workspace is there and bring its schema up to date (with a backup first)."""
        from annotator.store.migrations import VERSION, migrate

        if not self.exists:
            raise NotFound(
                f"There is no workspace in {self.home}.",
                hint="Make one with `python -m annotator init` or `init --demo`.",
            )
        with self.read() as connection:
            found = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if found > VERSION:
            raise StoreError(
                f"The workspace in {self.home} was written by a newer Annotator (schema {found}, this one knows "
                f"{VERSION}).",
                hint="Update Annotator.",
            )
        if found < VERSION:
            migrate(self)

    def connect(self) -> sqlite3.Connection:
        """Open a connection in autocommit mode. The caller closes it."""
        try:
            connection = sqlite3.connect(self.database, timeout=BUSY_SECONDS, isolation_level=None)
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous=NORMAL")  # WAL itself is set once, when the database is made
            connection.execute("PRAGMA foreign_keys=ON")
        except sqlite3.Error as error:
            refused = isinstance(error, sqlite3.OperationalError)  # by the system, as against a damaged file
            hint = "The workspace folder must be writable and its disk not full, also for reading." if refused else ""
            raise StoreError(f"The workspace database {self.database} cannot be opened: {error}.", hint=hint) from error
        return connection

    def hold(self) -> sqlite3.Connection:
        """Open a connection that does nothing: while one is open, closing another does not fold the log back in.

        A server holds one for as long as it runs; without it each save pays for a checkpoint (about half the rate).
        """
        holder = sqlite3.connect(self.database, check_same_thread=False, isolation_level=None)
        holder.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        return holder

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees one unmoving state of the database."""
        with closing(self.connect()) as connection, _store_errors():
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Give a connection inside one write transaction: committed at the end, rolled back on any error."""
        with closing(self.connect()) as connection, _store_errors():
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:  # a full disk has SQLite roll back by itself
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def lock(self, name: str, *, seconds: float = BUSY_SECONDS) -> Iterator[None]:
        """Hold a named lock across processes; freed by the operating system when the holder dies.

        Raises Conflict when it is not free within `seconds`, StoreError when it cannot be taken at all.
        """
        try:
            holder = sqlite3.connect(self.home / f".{name}.lock", timeout=seconds, isolation_level=None)
        except sqlite3.OperationalError as error:
            raise StoreError(f"The folder {self.home} cannot be written to: {error}.") from error
        with closing(holder):
            try:
                holder.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname == "SQLITE_BUSY":
                    raise Conflict(
                        f"Another process is busy with the {name} of this workspace.", hint="Wait."
                    ) from error
                raise StoreError(f"The folder {self.home} cannot be written to: {error}.") from error
            yield


@contextmanager
def _store_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreError(f"The workspace database failed: {error}.", hint="Nothing was written. Try again.") from error
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.IntegrityError):
            raise
        raise StoreError(f"The workspace database failed: {error}.", hint="Run `python -m annotator check`.") from error
