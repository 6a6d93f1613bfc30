"""`python -m annotator`: the command line."""

import sys

from annotator.cli import main

sys.exit(main())
