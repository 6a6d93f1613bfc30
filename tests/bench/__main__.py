"""`python -m tests.bench NAME`: run one benchmark of this folder; prints one JSON line per figure."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path


def main() -> int:
    """Run the named benchmark, or say which there are."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_"))
    if len(sys.argv) != 2 or sys.argv[1] not in names:
        print(f"Name one benchmark: {', '.join(names)}.", file=sys.stderr)
        return 2
    for figure in import_module(f"tests.bench.{sys.argv[1]}").run():
        print(json.dumps(figure), flush=True)
    return 0


sys.exit(main())
