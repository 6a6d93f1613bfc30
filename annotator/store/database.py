"""Opens the workspace database: one connection per operation, WAL, writers one after the other.

Owns connections, transactions, the schema check and the cross-process lock. What the tables mean is left to the
modules beside it. Two threads never share a connection: shared ones lose rows. The one that a server keeps is lent to
whoever has the turn to write.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from annotator.errors import Conflict, NotFound, StoreError
from annotator.store.turn import turn

__all__ = ["BUSY_SECONDS", "Hold", "Workspace", "now", "stamp"]

BUSY_SECONDS = 30.0
"""How long a writer waits for its turn before it gives up."""


def now() -> str:
    """Return the present moment in UTC as ISO 8601 with milliseconds, e.g. `2026-03-01T09:30:00.125Z`."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def stamp() -> str:
    """Return the present moment in UTC as the beginning of a file's name, e.g. `2026-03-01T093000125Z`."""
    return now().replace(":", "").replace(".", "")


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
    def staged(self) -> Path:
        """What a sync puts aside; there is such a file while one runs, and after one was killed."""
        return self.home / ".sync-staging.db"

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
        """Check that the workspace is there, and bring its schema up to date (with a backup first).

        What a killed sync left to do is done.
        """
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
        if self.staged.exists():
            from annotator.store.sync import finish_killed

            finish_killed(self)

    def connect(self, *, shared: bool = False) -> sqlite3.Connection:
        """Open a connection in autocommit mode. The caller closes it, and sees to it that one thread at a time has it.

        `shared` lets it be another thread than the one that opened it.
        """
        try:
            connection = sqlite3.connect(
                self.database, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=not shared
            )
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous=NORMAL")  # WAL itself is set once, when the database is made
            connection.execute("PRAGMA foreign_keys=ON")
        except sqlite3.Error as error:
            refused = isinstance(error, sqlite3.OperationalError)  # by the system, as against a damaged file
            hint = "The workspace folder must be writable and its disk not full, also for reading." if refused else ""
            raise StoreError(f"The workspace database {self.database} cannot be opened: {error}.", hint=hint) from error
        return connection

    def hold(self) -> Hold:
        """Keep the workspace open, as a server does for as long as it runs; until then each save opens it anew.

        That costs more than half of a save, and closing the last connection a checkpoint besides.
        """
        return Hold(self)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees one unmoving state of the database."""
        with closing(self.connect()) as connection, _store_errors():
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Give a connection inside one write transaction: committed at the end, rolled back on any error."""
        with self._writer() as connection, _store_errors():
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:  # a full disk has SQLite roll back by itself
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Be the one who writes; `write` sees to it by itself. Raises StoreError when the turn does not come."""
        with turn(self.home / ".write.lock", BUSY_SECONDS):
            yield

    @contextmanager
    def _writer(self) -> Iterator[sqlite3.Connection]:
        """Give a connection in a write transaction, which is not ended here."""
        if hold := _held.get(self.database):
            with self.turn(), hold.lent() as connection:
                yield connection
        else:
            with closing(self.connect()) as connection, self.turn(), _store_errors():
                connection.execute("BEGIN IMMEDIATE")
                yield connection

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


class Hold:
    """A workspace kept open by a server: one connection, lent to the thread that has the turn to write."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._file: tuple[int, int] | None = None
        self._connection = self._opened()
        _held[workspace.database] = self

    def close(self) -> None:
        """Let go of the workspace. Raises StoreError when somebody writes for too long."""
        with self._workspace.turn():
            if _held.get(self._workspace.database) is self:
                del _held[self._workspace.database]
            self._connection.close()

    @contextmanager
    def lent(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection in a write transaction to the one who has the turn."""
        if self._file != self._file_there():  # replaced from outside
            self._renew()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error:
            self._renew()
            with _store_errors():
                self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            self._renew()  # whatever failed may have left something of itself behind
            raise

    def _renew(self) -> None:
        former, self._connection = self._connection, self._opened()
        former.close()

    def _opened(self) -> sqlite3.Connection:
        connection = self._workspace.connect(shared=True)
        self._file = self._file_there()
        return connection

    def _file_there(self) -> tuple[int, int] | None:
        try:
            found = self._workspace.database.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino


_held: Final[dict[Path, Hold]] = {}


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
