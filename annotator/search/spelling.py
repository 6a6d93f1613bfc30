"""What counts as the same letter: case, accents, compatible forms, punctuation, and which scripts have no spaces.

Owns the patterns of words, runs and identifiers. What is made of them is left to `analysis` and `identifiers`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

__all__ = ["ASCII_IDENTIFIER", "ASCII_WORD", "fold", "fold_identifier", "identifier", "plain", "run", "word"]

# Scripts written without spaces between words, or (Hangul) with endings grown onto them: matched by bigrams.
_SPACELESS = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff"  # Burmese
    "\u1780-\u17d3\u17d7-\u17dd"  # Khmer, but for its punctuation and digits
    "\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff\u3130-\u318f\uac00-\ud7a3\uffa0-\uffdc"  # Hangul
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b"  # Han marks that stand for characters
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)
# Marks over and under letters that people leave out or add: accents, Arabic and Hebrew vowel signs, nukta.
_DROPPED = (*range(0x300, 0x370), *range(0x591, 0x5C8), *range(0x64B, 0x660), 0x670, 0x93C, 0x640)
_INVISIBLE = (0xAD, 0x200C, 0x200D, 0x2060, 0xFEFF)
_ALIKE = {
    **dict.fromkeys((*_DROPPED, *_INVISIBLE)),
    **{ord(letter): plain for letter, plain in zip("ıøđðłħŧىةک", "ioddlhtيهك", strict=True)},
    ord("æ"): "ae",
    ord("œ"): "oe",
    ord("þ"): "th",
    0x2044: "/",
}

_TYPOGRAPHY = (*zip("’‘“”–—…\u00a0", "''\"\"--. ", strict=True),)
_DASHES = dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-")
_CONNECTORS = r"\-/#._:@+\\~&=\u2010-\u2015\u2212"

ASCII_WORD = re.compile(r"[a-z0-9]+")
ASCII_IDENTIFIER = re.compile(r"(?<![a-z0-9])[a-z0-9]++(?:[\-/#._:@+\\~&=]{1,3}[a-z0-9]++)++")
"""For lower-case ASCII text, which most texts are."""


def fold(word: str) -> str:
    """Write a word the one way all its spellings share: no capitals, no accents, compatible forms as plain ones."""
    if word.isascii():
        return word.lower()
    plain = unicodedata.normalize("NFKD", word).casefold().translate(_ALIKE)
    return unicodedata.normalize("NFC", plain)


def fold_identifier(identifier: str) -> str:
    """Write an identifier the one way all its spellings share; every dash is a hyphen."""
    return fold(identifier.translate(_DASHES))


def plain(text: str) -> str:
    """Write the usual typographic punctuation in ASCII, place for place: many texts are pure ASCII then."""
    if not text.isascii():
        for fine, ascii_one in _TYPOGRAPHY:
            text = text.replace(fine, ascii_one)
    return text


@cache
def word() -> re.Pattern[str]:
    """Return the pattern of a word of a script with spaces."""
    return re.compile(f"[{_word_characters()}]+")


@cache
def run() -> re.Pattern[str]:
    """Return the pattern of a run of a script without spaces."""
    return re.compile(f"[{_SPACELESS}]+")


@cache
def identifier() -> re.Pattern[str]:
    """Return the pattern of word characters joined by connectors; the look-behind keeps long words linear."""
    part = f"[{_word_characters()}{_SPACELESS}]"
    return re.compile(f"(?<!{part}){part}++(?:[{_CONNECTORS}]{{1,3}}{part}++)++")


@cache
def _word_characters() -> str:
    """Return the inside of a character class: letters, marks and numbers that are not of a spaceless script."""
    spaceless = re.compile(f"[{_SPACELESS}]")
    wanted = [
        code
        for code in (*range(0x20000), *range(0xE0100, 0xE01F0))
        if (unicodedata.category(chr(code))[0] in "LMN" or code in _INVISIBLE) and not spaceless.match(chr(code))
    ]
    ranges: list[list[int]] = []
    for code in wanted:
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
