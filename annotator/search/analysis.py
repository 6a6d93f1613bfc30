"""What counts as the same word: folding of case and accents, words, stems, bigrams, identifiers.

The index is fed with these tokens, the query is cut into them and the marks in a text are found by them, so that
what is found and what is marked agree. Only the tokens' spelling is decided here, not their weight.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator
from functools import cache, lru_cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

__all__ = [
    "LONGEST_IDENTIFIER",
    "SEVERAL",
    "STOP_WORDS",
    "Word",
    "beginning_of",
    "beginnings",
    "bigrams",
    "bigrams_of",
    "codes",
    "fold",
    "fold_identifier",
    "id_words",
    "identifiers",
    "located_identifiers",
    "located_runs",
    "located_stems",
    "located_words",
    "plain",
    "spaced_words",
    "squeeze",
    "stem",
    "stem_analyzer",
    "words",
]

_QUESTION_WORDS = """a about am an and any are as at be been but by can could d did do does for from had has have how i
if in into is it its ll m may me my of on or our re s shall should so such t than that the their them then there these
they this those to us ve was we were what when where which who whom whose why will with would you your"""
STOP_WORDS = frozenset(_QUESTION_WORDS.split())
"""Words of a typed question that say nothing about the answer; looked for only when nothing else was typed."""

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
_REMEMBERED = 100_000

_DASHES = dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-")

_TOKEN = re.compile(r"\S+")
_NAMING = re.compile(r"[\d#_:@+\\~=]")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_CONNECTORS = r"\-/#._:@+\\~&=\u2010-\u2015\u2212"
_LONGEST_WORD = 100
LONGEST_IDENTIFIER = 600
_BEGINNING = 5
_HEXADECIMAL = re.compile(r"[0-9a-fA-F-]{16,}")


def fold(word: str) -> str:
    """Write a word the one way all its spellings share: no capitals, no accents, compatible forms as plain ones."""
    if word.isascii():
        return word.lower()
    plain = unicodedata.normalize("NFKD", word).casefold().translate(_ALIKE)
    return unicodedata.normalize("NFC", plain)


Word = tuple[int, int, str, str]
"""Start and end in code points, folded word, stem."""

SEVERAL = "\n"
"""Stands for the stems of a text without spaces that holds several words."""


class _Located(dict[str, tuple[Word, ...]]):
    """Texts without spaces to the words in them, remembered: most come again and again."""

    def __missing__(self, token: str) -> tuple[Word, ...]:
        found = tuple(
            (match.start(), match.end(), part, stem(part))
            for match in _word().finditer(token)
            for part in _parts(fold(match[0]))
        )
        if len(token) <= _LONGEST_WORD:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[token] = found
        return found


class _Stemmed(dict[str, str]):
    """Texts without spaces to the stem of the word in them; SEVERAL when it is not exactly one. Remembered."""

    def __missing__(self, token: str) -> str:
        found = _located[token]
        stemmed = found[0][3] if len(found) == 1 else SEVERAL if found else ""
        if len(token) <= _LONGEST_WORD:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[token] = stemmed
        return stemmed


class _Spaced(dict[str, str]):
    """Tokens between spaces to the folded words in them, with spaces between, remembered."""

    def __missing__(self, token: str) -> str:
        spaced = " ".join(part for word in _word().findall(token) for part in _parts(fold(word)))
        if len(token) <= _LONGEST_WORD:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[token] = spaced
        return spaced


def _parts(folded: str) -> list[str]:
    """Return the words a folded word consists of: nearly always itself, but `½` is `1` and `2`."""
    return [folded] if folded.isalnum() else _word().findall(folded)


_located = _Located()
_spaced = _Spaced()
_stemmed = _Stemmed()


@cache
def _word() -> re.Pattern[str]:
    return re.compile(f"[{_word_characters()}]+")


@cache
def _run() -> re.Pattern[str]:
    return re.compile(f"[{_SPACELESS}]+")


@cache
def _identifier() -> re.Pattern[str]:
    """Word characters joined by connectors, as in `REF-2024/07`; the look-behind keeps long words linear."""
    part = f"[{_word_characters()}{_SPACELESS}]"
    return re.compile(f"(?<!{part}){part}++(?:[{_CONNECTORS}]{{1,3}}{part}++)++")


_ASCII_IDENTIFIER = re.compile(r"(?<![a-z0-9])[a-z0-9]++(?:[\-/#._:@+\\~&=]{1,3}[a-z0-9]++)++")


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


def words(text: str) -> list[str]:
    """Return the folded words of a text in order; text of spaceless scripts is left to `bigrams`."""
    return spaced_words(text).split()


def spaced_words(text: str) -> str:
    """Return the folded words of a text with spaces between them."""
    text = plain(text)
    if text.isascii():
        return " ".join(_ASCII_WORD.findall(text.lower()))
    return " ".join(map(_spaced.__getitem__, text.split()))


def located_words(text: str) -> Iterator[tuple[int, Word]]:
    """Give (begin, word) in order: the word's start and end count from `begin`, all in code points."""
    located = _located
    for token in _TOKEN.finditer(text):
        if words := located[token[0]]:
            begin = token.start()
            for word in words:
                yield begin, word


def located_stems(text: str, wanted: Container[str]) -> Iterator[tuple[int, Word]]:
    """Give those of `located_words` whose stem is wanted; the quick way for long texts. `wanted` holds SEVERAL."""
    tokens = text.split()
    begin = before = 0
    for at in [at for at, stemmed in enumerate(map(_stemmed.__getitem__, tokens)) if stemmed in wanted]:
        rest = text[begin:].split(None, at - before)[-1]  # all that is left from this token on
        begin, before = len(text) - len(rest), at
        for word in _located[tokens[at]]:
            if word[3] in wanted:
                yield begin, word


def plain(text: str) -> str:
    """Write the usual typographic punctuation in ASCII, place for place: many texts are pure ASCII then."""
    if not text.isascii():
        for fine, ascii_one in _TYPOGRAPHY:
            text = text.replace(fine, ascii_one)
    return text


def bigrams(text: str) -> list[str]:
    """Return the bigrams of every run of a spaceless script, and each run's last character by itself.

    So every character begins a token, and one typed character finds all its places by prefix.
    """
    if text.isascii():
        return []
    found: list[str] = []
    for run in _run().findall(text):
        folded = fold(run)
        found += bigrams_of(folded)
        found += folded[-1:]
    return found


def bigrams_of(run: str) -> list[str]:
    """Return the overlapping pairs of characters of a folded run; none for a single character."""
    return [run[at : at + 2] for at in range(len(run) - 1)]


def located_runs(text: str) -> Iterator[tuple[int, str]]:
    """Give (start, run folded character by character) for every run of a spaceless script.

    A character of the folded run stands at the same place as in the text.
    """
    if text.isascii():
        return
    for match in _run().finditer(text):
        folded = fold(match[0])
        if len(folded) != len(match[0]):
            folded = "".join((fold(character) or " ")[0] for character in match[0])
        yield match.start(), folded


def identifiers(text: str) -> list[str]:
    """Return the folded identifiers of a text: word characters joined by connectors, `ref-2024/07`, `4.2.1`."""
    # Between spaces, whatever is but letters and digits and one last sign holds none: that is nearly everything.
    text = " ".join([token for token in plain(text).split() if not token[:-1].isalnum()])
    if text.isascii():
        return _ASCII_IDENTIFIER.findall(text.lower())
    return [fold_identifier(found) for found in _identifier().findall(text)]


def located_identifiers(text: str) -> Iterator[tuple[int, int, str]]:
    """Give (start, end, folded identifier) in order, in code points."""
    for token in _TOKEN.finditer(text):
        if not token[0][:-1].isalnum():
            for match in _identifier().finditer(token[0]):
                yield token.start() + match.start(), token.start() + match.end(), fold_identifier(match[0])


def fold_identifier(identifier: str) -> str:
    """Write an identifier the one way all its spellings share; every dash is a hyphen."""
    return fold(identifier.translate(_DASHES))


def squeeze(identifier: str) -> str:
    """Return a folded identifier without its connectors: `E-4107` and `E4107` are the same.

    "" unless it has both letters and digits: `4.2.1` is not 421.
    """
    squeezed = "".join(character for character in identifier if character.isalnum())
    return "" if squeezed.isalpha() or squeezed.isdigit() else squeezed


@cache
def stem_analyzer() -> TextAnalyzer:
    """Return the analyzer of the stemmed field: split at spaces, English stems."""
    return (
        TextAnalyzerBuilder(Tokenizer.whitespace())
        .filter(Filter.remove_long(_LONGEST_WORD))
        .filter(Filter.stemmer("english"))
        .build()
    )


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return the stem of a folded word as the index has it."""
    return next(iter(stem_analyzer().analyze(word)), word)


def beginnings(folded: Iterable[str]) -> list[str]:
    """Return the first letters of the longer folded words: what a word keeps under all endings, in any language."""
    return [word[:_BEGINNING] for word in folded if len(word) > _BEGINNING]


def beginning_of(word: str) -> str:
    """Return the first letters of a folded word, or "" when it has hardly more."""
    return word[:_BEGINNING] if len(word) > _BEGINNING else ""


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
        return [part for part in parts if len(part) > 2 and part not in STOP_WORDS]
    return [part for part in parts if part not in STOP_WORDS] or parts
