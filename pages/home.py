"""Home: what to do next, and how the workspace stands."""

from annotator.services import overview
from annotator.ui import blocks, calibration, home, shell

session = shell.require("look around")

with shell.errors():
    found = overview.home(session.workspace, session.who)
    blocks.title("Home")
    home.standing(session)
    home.next_step(session, found)
    home.progress(session, found)
    calibration.own(session)
    home.coverage(found)
    home.workspace(found)
