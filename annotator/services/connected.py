"""The connected chunk table, opened as it was chosen."""

from __future__ import annotations

from typing import Any

from annotator.errors import NotFound
from annotator.services.project import project_root
from annotator.store import settings
from annotator.store.database import Workspace
from annotator.tables import Columns, Table, absolute, open_table

__all__ = ["connected"]


def connected(workspace: Workspace) -> tuple[Table, Columns, str]:
    """Open the connected table: itself, its mapping, its address. Raises NotFound when none is connected."""
    with workspace.read() as connection:
        chosen: dict[str, Any] | None = settings.get(connection, "table")
    if chosen is None:
        raise NotFound("No chunk table is connected.", hint="Connect one: python -m annotator connect URL.")
    columns = {**chosen["columns"], "metadata": tuple(chosen["columns"].get("metadata", ()))}
    # a relative address, as of the demo, is meant from the project on, so that a moved checkout still finds it
    url = absolute(chosen["url"], project_root())
    return open_table(url, chosen["table"]), Columns(**columns), chosen["url"]
