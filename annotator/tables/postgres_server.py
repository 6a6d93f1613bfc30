"""The way to a PostgreSQL database: its address, short read-only transactions, failures a person can act on.

Nothing here outlives a transaction but the connection itself, so that a pooler may give every transaction another one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from annotator.errors import InputError

if TYPE_CHECKING:
    import psycopg

__all__ = ["Server", "SlowAnswer", "is_lost", "parse", "transaction"]

_SETTINGS: Final[Mapping[str, str]] = {
    "application_name": "annotator",
    "client_encoding": "utf8",
    "connect_timeout": "10",
    # Notice a connection that went silent within about a minute instead of waiting for hours.
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
_SECRET_LENGTH: Final = 5
_LOST: Final = frozenset(
    (
        *("57P01", "57P02", "57P03", "57P05"),  # the server shuts down, starts up, or ends idle sessions
        *("25P03", "25P04"),  # a transaction sat idle or ran for too long
        *("40001", "40P01"),  # a replica cancelled the page because of its own replay; a deadlock
    )
)


class SlowAnswer(InputError):
    """The server did not answer within the time given."""


@dataclass(frozen=True, slots=True)
class Server:
    """One database. `options` are connection parameters, a password among them, and so are never shown.

    `filled` are values of environment variables with what stands for them in the address, and in a message.
    """

    database: str
    options: Mapping[str, str] = field(repr=False)
    filled: Mapping[str, str] = field(default_factory=dict, repr=False)

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Connect. Raises psycopg's errors as they are: `failures` turns them into words."""
        import psycopg
        from psycopg.types.json import set_json_loads

        settings: dict[str, Any] = {**_SETTINGS, **self.options}
        # A pooler hands prepared statements of one client to another, which fails; so none are made.
        connection = psycopg.connect("", autocommit=True, prepare_threshold=None, **settings)
        set_json_loads(_decode, connection)
        return connection

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Turn psycopg's errors into an InputError that names the database and never holds the password."""
        import psycopg

        try:
            yield
        except psycopg.errors.InsufficientPrivilege as error:
            hint = "Grant it SELECT on the table and USAGE on its schema."
            raise self._refusal("may not be read by this role", error, hint) from error
        except psycopg.errors.QueryCanceled as error:
            hint = "Is the server busy, or is a view slow? An index or a materialized view helps."
            refusal = self._refusal("did not answer in time", error, hint)
            raise SlowAnswer(refusal.message, hint=hint) from error
        except psycopg.OperationalError as error:
            hint = "Check host, port, user and the password's variable, and that the server accepts connections."
            raise self._refusal("cannot be reached", error, hint) from error
        except (psycopg.Error, UnicodeDecodeError) as error:
            raise self._refusal("cannot be read", error, "Has the table changed? Connect it again.") from error

    def _refusal(self, what: str, error: Exception, hint: str) -> InputError:
        said = "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
        if secret := self.options.get("password"):
            said = said.replace(secret, "…")
        for value, written in self.filled.items():
            said = said.replace(value, written)
        return InputError(
            f"The PostgreSQL database {self.database} {what}: {said}{'' if said.endswith(('.', '?')) else '.'}",
            hint=hint,
        )


def parse(url: str, fill: Callable[[str], str]) -> Server:
    """Take a `postgresql://` address apart; `fill` puts the environment's values into each part.

    The parts are filled one by one, so that a password may hold any character. Raises InputError when the driver is
    missing or the address is none.
    """
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise InputError(
            "Reading from PostgreSQL needs psycopg.", hint='Install it: pip install "psycopg[binary]".'
        ) from error
    rest = url.partition("://")[2]  # as others write it: postgresql+psycopg://
    try:
        written = {name: str(value) for name, value in conninfo_to_dict(f"postgresql://{rest}").items()}
    except psycopg.Error:
        # The driver repeats the address, so neither its words nor the error itself are passed on.
        raise InputError(
            "The address of the PostgreSQL database cannot be read.",
            hint="It looks like postgresql://reader:${DB_PASSWORD}@host:5432/database?sslmode=verify-full.",
        ) from None
    options = {name: fill(value) for name, value in written.items()}
    # A few letters that came from a variable may stand anywhere in a message, and are no secret.
    filled = {
        value: written[name]
        for name, value in options.items()
        if value != written[name] and len(value) >= _SECRET_LENGTH
    }
    return Server(written.get("dbname") or written.get("user") or "postgres", options, filled)


@contextmanager
def transaction(connection: psycopg.Connection[Any], seconds: float) -> Iterator[None]:
    """Open a read-only transaction whose statements may take so many seconds each; left by an error, it is dropped."""
    # SET LOCAL ends with the transaction: nothing leaks to the next client of a pooler. Times as text are the same
    # whatever the time zone of whoever syncs.
    connection.execute(
        f"BEGIN TRANSACTION READ ONLY; SET LOCAL statement_timeout = '{seconds * 1000:.0f}ms'; "
        "SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO'"
    )
    try:
        yield
    except BaseException:
        connection.close()
        raise
    connection.execute("COMMIT")


def is_lost(error: psycopg.OperationalError, connection: psycopg.Connection[Any] | None) -> bool:
    """Say whether another connection may do better: this one was lost, or the server asks to come again."""
    return connection is None or error.sqlstate is None or error.sqlstate in _LOST or error.sqlstate[:2] == "08"


def _decode(raw: str | bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        try:  # a lone surrogate, for one
            return json.loads(raw)
        except (ValueError, RecursionError):
            return raw if isinstance(raw, str) else raw.decode("utf-8", "replace")
