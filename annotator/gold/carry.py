"""Finds where the text behind a drifted label lies after the corpus was cut anew, and proposes labels there.

Finding and aligning the chunks is `alignment.py`'s. Proposals only: a person decides about each. Pure, and knows
nothing of workspaces.

The grade proposed follows from how much of what earned it the new chunk holds. For a relevant label that is its
evidence, or without any the whole text judged: all of it keeps the grade, half or more is one lower, less is two
lower, never under 1. An irrelevant label was given to every word of its text, so it is proposed, unchanged, only to
chunks that hold hardly anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from annotator.gold.alignment import RUN, Aligned, Text, gather, neighbours
from annotator.gold.words import Word, find_words
from annotator.model import Chunk, Evidence

__all__ = ["CarriedLabel", "How", "Proposal", "carry"]

How: TypeAlias = Literal["same text", "quote", "aligned", "part", "overlap"]
"""Whole text, whole evidence word for word, evidence nearly so, a piece of the evidence, shared text (no evidence)."""

WHOLE: Final = 0.95
"""Share from which on everything counts as held: a cut may go through a word at either end."""
LEAST_EVIDENCE: Final = 0.1
LEAST_OVERLAP: Final = 0.5
"""Of the shorter of the two texts, how much they have to share for a label without evidence."""
LEAST_COVERED: Final = 0.9
"""Of a new chunk, how much an irrelevant text has to cover for the new chunk to be irrelevant too."""
ALIGNED: Final = 90.0
"""Least rapidfuzz similarity (0-100) of a quote to a passage that stands for it."""

_EQUAL: Final = 0.95
"""Of the most that any place holds, how much makes another place as good."""


@dataclass(frozen=True, slots=True)
class CarriedLabel:
    """A label that lost its chunk, with the text that was judged."""

    query_id: str
    chunk_id: str
    sha256: str
    text: str
    grade: int
    evidence: tuple[Evidence, ...] = ()
    stale: bool = False
    reason: str = ""
    doc_id: str = ""
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A new chunk for a label. `score` (0-1): the share of the evidence, or without any of the text, found in it.

    `evidence` are the quotes, or their pieces, as the new chunk has them.
    """

    label: CarriedLabel
    chunk: Chunk
    grade: int
    score: float
    how: How
    evidence: tuple[Evidence, ...] = ()


def carry(
    labels: Iterable[CarriedLabel], chunks: Iterable[Chunk], progress: Callable[[int], None] | None = None
) -> Iterator[list[Proposal]]:
    """Yield for each label, in the order given, its proposals: best first, none where nothing fits.

    `progress` is told the number of chunks read so far, then goes on counting labels.
    """
    wanted = list(labels)
    texts: dict[tuple[str, str], Text] = {}
    for label in wanted:
        key = (label.chunk_id, label.sha256)
        texts.setdefault(key, Text(label.text, label.doc_id, label.position))
    read = gather(texts.values(), chunks, progress)
    for number, label in enumerate(wanted, 1):
        yield _proposals(label, texts[label.chunk_id, label.sha256])
        if progress:
            progress(read + number)


class _Offer(NamedTuple):
    """A proposal with the numbers of the judged words that count for it."""

    proposal: Proposal
    words: Set[int]


def _proposals(label: CarriedLabel, text: Text) -> list[Proposal]:
    spans = _spans(label, text.words) if label.grade else []
    needed = {number for _, words in spans for number in words} or set(range(len(text.words)))
    aligned = [one for one in text.aligned() if one.held]
    own = [one for one in aligned if one.chunk.doc_id == label.doc_id != ""]
    same = [one for one in own or aligned if one.chunk.sha256 == label.sha256]
    if same:
        best = min(same, key=lambda one: abs(one.met.offset - (text.offset or 0)))
        return [Proposal(label, best.chunk, label.grade, 1.0, "same text", label.evidence)]

    def offers(among: Sequence[Aligned]) -> list[_Offer]:
        return list(_by_evidence(label, spans, text.words, among) if spans else _by_overlap(label, among))

    # another document that says the same is not the source, as long as the source still says it
    for some in (own, aligned):
        found = _chosen(neighbours(some), needed, text.offset, offers)
        if found:
            return sorted(found, key=lambda one: -one.score)
    return []


def _chosen(
    places: list[list[Aligned]],
    needed: Set[int],
    offset: int | None,
    offers: Callable[[Sequence[Aligned]], list[_Offer]],
) -> list[Proposal]:
    """Take the place that has most of the judged text, of equals the one nearest to where it stood; then others as
    far as they hold what is still wanting."""
    left = [(len(set().union(*(one.held for one in place))), place[0].met.offset, place) for place in places]
    wanting = set(needed)
    found: list[Proposal] = []
    while left and len(wanting) >= LEAST_EVIDENCE * len(needed):
        most = max(covered for covered, _, _ in left)
        equal = [entry for entry in left if entry[0] >= _EQUAL * most]
        entry = equal[0] if offset is None else min(equal, key=lambda entry: abs(entry[1] - offset))
        left.remove(entry)
        offered = offers(entry[2])
        brought = set().union(*(one.words for one in offered))
        if len(brought & wanting) >= LEAST_EVIDENCE * len(needed):
            found += [one.proposal for one in offered]
            wanting -= brought
    return found


def _spans(label: CarriedLabel, words: Sequence[Word]) -> list[tuple[Evidence, range]]:
    """Return the label's quotes, each with the numbers of its words in the judged text."""
    found = []
    for span in label.evidence:
        start = span.start if label.text[max(span.start, 0) : span.end] == span.quote else label.text.find(span.quote)
        end = start + len(span.quote)
        inside = [number for number, word in enumerate(words) if start < word.end and word.start < end]
        if start >= 0 and inside:
            found.append((span, range(inside[0], inside[-1] + 1)))
    return found


def _by_evidence(
    label: CarriedLabel, spans: Sequence[tuple[Evidence, range]], judged: Sequence[Word], aligned: Sequence[Aligned]
) -> Iterator[_Offer]:
    total = sum(len(span.quote) for span, _ in spans)
    for one in aligned:
        held = [_held(one, span, words, judged) for span, words in spans]
        share = sum(part.share * len(span.quote) for part, (span, _) in zip(held, spans, strict=True)) / total
        if share >= LEAST_EVIDENCE:
            how: How = "part" if share < WHOLE else "quote" if all(part.exact for part in held) else "aligned"
            evidence = tuple(part.evidence for part in held if part.evidence is not None)
            proposal = Proposal(label, one.chunk, _lowered(label.grade, share), share, how, evidence)
            yield _Offer(proposal, set().union(*(part.words for part in held)))


class _Held(NamedTuple):
    """The share of a quote that a new chunk holds, the numbers of its words, and where."""

    share: float
    exact: bool = False
    words: Set[int] = frozenset()
    evidence: Evidence | None = None


def _held(one: Aligned, span: Evidence, words: range, judged: Sequence[Word]) -> _Held:
    there = [number for number in words if number in one.held]
    text = one.chunk.text
    share = 0.0
    if there:
        share = _letters(judged, there) / _letters(judged, words)
        start, end = one.words[one.held[there[0]]].start, one.words[one.held[there[-1]]].end
        piece = Evidence(text[start:end], start, end)
        if share >= WHOLE:
            quoted = find_words(text, span.quote, start)
            whole = Evidence(text[slice(*quoted)], *quoted) if quoted else piece
            return _Held(1.0, quoted is not None, frozenset(there), whole)
    from rapidfuzz import fuzz

    if len(words) >= RUN and len(span.quote) <= len(text) == len(text.casefold()):
        best = fuzz.partial_ratio_alignment(span.quote.casefold(), text.casefold(), score_cutoff=ALIGNED)
        if best is not None:
            passage = Evidence(text[best.dest_start : best.dest_end], best.dest_start, best.dest_end)
            return _Held(best.score / 100, False, frozenset(words), passage)
    return _Held(share, False, frozenset(there), piece) if there else _Held(0.0)


def _letters(words: Sequence[Word], numbers: Iterable[int]) -> int:
    return sum(words[number].end - words[number].start for number in numbers)


def _by_overlap(label: CarriedLabel, aligned: Sequence[Aligned]) -> Iterator[_Offer]:
    for one in aligned:
        score = max(one.of_text, one.of_chunk)
        if score >= LEAST_OVERLAP if label.grade else one.of_chunk >= LEAST_COVERED:
            grade = _lowered(label.grade, one.of_text) if label.grade else 0
            yield _Offer(Proposal(label, one.chunk, grade, score, "overlap"), one.held.keys())


def _lowered(grade: int, share: float) -> int:
    if share >= WHOLE:
        return grade
    return max(1, grade - 1 if share >= 0.5 else grade - 2)
