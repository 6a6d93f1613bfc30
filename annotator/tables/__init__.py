"""Live chunk tables, read only: one small module per kind behind one protocol."""
