"""The app's entry script."""

from annotator.ui import shell

shell.run()
