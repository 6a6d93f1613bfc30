"""`python -m annotator`: the command line."""

import os
import sys

from annotator.cli import main

code = main()
# The process ends here, without taking its values apart one by one: after a large run that is a tenth of the time.
# Everything written is out by now, and nothing is left open.
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)
