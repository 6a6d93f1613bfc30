"""`python -m annotator`: the command line."""

import os
import sys
from contextlib import suppress

if sys.getfilesystemencoding() != "utf-8":
    # arguments and file names are UTF-8 here, whatever the locale says: begin again and read them as such
    os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])

if getattr(sys.stdout, "write_through", False):
    # PYTHONUNBUFFERED, as in many containers: then what a disk takes only a part of would count as written
    sys.stdout = open(sys.stdout.fileno(), "w", closefd=False)  # noqa: SIM115 - open as long as the process lives

from annotator.cli import main

code = main()
# The process ends here, without taking its values apart one by one: after a large run that is a tenth of the time.
# Everything written is out by now, and nothing is left open.
with suppress(OSError):
    sys.stdout.flush()
    sys.stderr.flush()
os._exit(code)
