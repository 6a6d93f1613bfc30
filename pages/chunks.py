"""Chunks: the workspace's copy of the chunk table, to read, search and keep fresh."""

from annotator.services import chunks as table
from annotator.ui import chunks, shell

session = shell.require("look around")

with shell.errors():
    chunks.header(session, table.state(session.workspace))
    chunks.body(session)
