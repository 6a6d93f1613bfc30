"""Annotator: golden sets for retrieval evaluation, labelled by people."""
