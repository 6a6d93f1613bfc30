"""The YAML form of a gold set: one document per query, as people write it by hand.

Written here and not by a library, so that the bytes are the same whatever version of it is installed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

__all__ = ["yaml_form"]

_ORDER: Final = ("query_id", "question", "notes", "slice", "unanswerable", "gold")
_LABEL_ORDER: Final = ("chunk_id", "relevance", "stale", "reason", "evidence", "doc_id", "settled_by", "sha256")
_PLAIN: Final = re.compile(r"[^\W\d_](?:[\w.,;'()/?!%+=&*-]|[ ](?=\S))*")
"""Text that needs no quotes: begins with a letter, holds nothing that means anything in YAML."""
_NOT_TEXT: Final = frozenset(("true", "false", "yes", "no", "on", "off", "y", "n", "null"))
_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""What JSON leaves as it is and YAML does not take, or takes for a line end."""


def yaml_form(queries: Iterable[Mapping[str, Any]]) -> bytes:
    """Write rows of `gold.jsonl`, one document each."""
    return "".join(line for row in queries for line in _document(row)).encode()


def _document(row: Mapping[str, Any]) -> Iterator[str]:
    yield "---\n"
    for name in _ORDER:
        if name == "gold":
            yield "gold:\n" if row["gold"] else "gold: []\n"
            for label in row["gold"]:
                yield from _label(label)
        elif name == "slice":
            if row["slice"]:
                yield "slice:\n"
                yield from (f"  {_scalar(facet)}: {_scalar(row['slice'][facet])}\n" for facet in sorted(row["slice"]))
        elif name in row:
            yield f"{name}: {_scalar(row[name])}\n"


def _label(label: Mapping[str, Any]) -> Iterator[str]:
    sign = "-"
    for name in _LABEL_ORDER:
        if name == "evidence" and name in label:
            yield "  evidence:\n"
            for span in label["evidence"]:
                yield f"  - quote: {_scalar(span['quote'])}\n    start: {span['start']}\n    end: {span['end']}\n"
        elif name in label:
            yield f"{sign} {name}: {_scalar(label[name])}\n"
        sign = " "


def _scalar(value: object) -> str:
    if isinstance(value, str):
        if len(value) < 100 and _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT:
            return value
        quoted = json.dumps(value, ensure_ascii=False)
        return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)
    return json.dumps(value)
