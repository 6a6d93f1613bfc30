"""The workspace database. All SQL of the workspace lives in this room, one module per concern."""
