"""Gold sets: what is in the way of the next version, freezing it, and taking versions out."""

from annotator.services import gold
from annotator.ui import blocks, gold_sets, shell

session = shell.require("reader")

with shell.errors():
    blocks.title("Gold sets")
    found = gold.readiness(session.workspace)
    known = gold.versions(session.workspace)
    gold_sets.readiness(found)
    if session.may("release versions"):
        gold_sets.freeze(session, found, known)
    gold_sets.versions(session, known)
