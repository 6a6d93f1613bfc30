"""Home: what to do next, and how the workspace stands."""

from annotator.services import overview
from annotator.ui import blocks, home, shell

session = shell.require("look around")

with shell.errors():
    found = overview.home(session.workspace, session.who)
    blocks.title("Home")
    home.next_step(session, found)
    home.progress(found)
    home.coverage(found)
    home.workspace(found)
