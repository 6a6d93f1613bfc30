"""Identifiers: names such as `REF-2024/07`, `policy-v4#refunds`, `4.2.1`, found whole and by their parts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from annotator.search import spelling
from annotator.search.analysis import STOP_WORDS, spaced_words, words

__all__ = ["codes", "id_words", "identifiers", "located_identifiers", "squeeze", "telling_parts"]

_NAMING = re.compile(r"[\d#_:@+\\~=]")
_TOKEN = re.compile(r"\S+")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F-]{16,}")
_SHORTEST_TELLING = 3


def identifiers(text: str) -> list[str]:
    """Return the folded identifiers of a text: word characters joined by connectors, `ref-2024/07`, `4.2.1`."""
    # Between spaces, whatever is but letters and digits and one last sign holds none: that is nearly everything.
    text = " ".join([token for token in spelling.plain(text).split() if not token[:-1].isalnum()])
    if text.isascii():
        return spelling.ASCII_IDENTIFIER.findall(text.lower())
    return [spelling.fold_identifier(found) for found in spelling.identifier().findall(text)]


def located_identifiers(text: str) -> Iterator[tuple[int, int, str]]:
    """Give (start, end, folded identifier) in order, in code points."""
    for token in _TOKEN.finditer(text):
        if not token[0][:-1].isalnum():
            for match in spelling.identifier().finditer(token[0]):
                yield token.start() + match.start(), token.start() + match.end(), spelling.fold_identifier(match[0])


def squeeze(identifier: str) -> str:
    """Return a folded identifier without its connectors: `E-4107` and `E4107` are the same.

    "" unless it has both letters and digits: `4.2.1` is not 421.
    """
    squeezed = "".join(character for character in identifier if character.isalnum())
    return "" if squeezed.isalpha() or squeezed.isdigit() else squeezed


def id_words(*ids: str) -> str:
    """Return the words of chunk and document ids, spaced, leaving out ids that are mere hexadecimal digits."""
    return " ".join(spaced_words(one) for one in ids if not _HEXADECIMAL.fullmatch(one))


def codes(word: str) -> list[str]:
    """Return the folded identifiers in a typed word that name one thing, not mere compounds such as `high-speed`.

    They have a digit, a connector that prose does not use, or are in capitals.
    """
    return [identifier for identifier in identifiers(word) if word.isupper() or _NAMING.search(identifier)]


def telling_parts(word: str) -> list[str]:
    """Return the folded words of a typed word that are looked for by themselves.

    Of a code these are its longer parts: `4`, `2` and `1` say nothing without each other.
    """
    parts = words(word)
    if codes(word):
        return [part for part in parts if len(part) >= _SHORTEST_TELLING and part not in STOP_WORDS]
    return [part for part in parts if part not in STOP_WORDS] or parts
