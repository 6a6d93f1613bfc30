"""Finds where the text behind a drifted label lies after the corpus was cut anew, and proposes labels there.

The labels' texts are indexed by runs of words, the new chunks stream past once; the few that share runs with a text
are aligned with it word by word. Proposals only: a person decides about each. Pure, and knows nothing of workspaces.

The grade proposed follows from how much of what earned it the new chunk holds. For a relevant label that is its
evidence, or without any the whole text judged: all of it keeps the grade, half or more is one lower, less is two
lower, never under 1. An irrelevant label was given to every word of its text, so it is proposed, unchanged, only to
chunks that hold hardly anything else.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from annotator.gold.words import Word, find_words, words_of
from annotator.model import Chunk, Evidence

__all__ = ["CarriedLabel", "How", "Proposal", "carry"]

How: TypeAlias = Literal["same text", "quote", "aligned", "part", "overlap"]
"""Whole text, whole evidence word for word, evidence nearly so, a piece of the evidence, shared text (no evidence)."""

RUN: Final = 4
"""Words in a run: long enough to be rare, short enough to stand between two corrections."""
WHOLE: Final = 0.95
"""Share from which on everything counts as held: a cut may go through a word at either end."""
LEAST_EVIDENCE: Final = 0.1
LEAST_OVERLAP: Final = 0.5
"""Of the shorter of the two texts, how much they have to share for a label without evidence."""
LEAST_COVERED: Final = 0.9
"""Of a new chunk, how much an irrelevant text has to cover for the new chunk to be irrelevant too."""
ALIGNED: Final = 90.0
"""Least rapidfuzz similarity (0-100) of a quote to a passage that stands for it."""

_CANDIDATES: Final = 24
_COMMON: Final = 30
_KEPT_RUNS: Final = 12
_GAP: Final = 6
_EQUAL: Final = 0.95
_RAGGED: Final = 3


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
    texts = {label.sha256: _Text(label) for label in wanted}
    read = _gather(texts, chunks, progress)
    for number, label in enumerate(wanted, 1):
        yield _proposals(label, texts[label.sha256])
        if progress:
            progress(read + number)


class _Text:
    """A judged text: its words, its runs of words, and the new chunks that share most runs with it."""

    def __init__(self, label: CarriedLabel) -> None:
        self.doc_id = label.doc_id
        self.words = words_of(label.text)
        self.runs = _runs(self.words, RUN)
        # where in its document the text stood, in code points, taking the chunks before for as long as this one
        self.offset = None if label.position is None else label.position * len(label.text)
        self.nearest: list[tuple[int, int, _Met]] = []  # a heap of (weight, -number of the chunk, chunk)
        self._aligned: list[_Aligned] | None = None

    def meet(self, shared: int, met: _Met) -> None:
        """Keep the chunk when it is among the nearest so far; of equals one of the same document, then the first."""
        entry = (2 * shared + (met.chunk.doc_id == self.doc_id != ""), -met.number, met)
        if len(self.nearest) < _CANDIDATES:
            heapq.heappush(self.nearest, entry)
        elif entry[:2] > self.nearest[0][:2]:
            heapq.heapreplace(self.nearest, entry)

    def aligned(self) -> list[_Aligned]:
        """Align the nearest chunks, once for all labels on this text; in the order of the table."""
        if self._aligned is None:
            matcher: SequenceMatcher[Any] = SequenceMatcher(None, autojunk=False)
            matcher.set_seq2(self.runs)
            in_order = sorted(self.nearest, key=lambda entry: -entry[1])
            self._aligned = [_align(self, met, matcher) for _, _, met in in_order]
        return self._aligned


class _Met(NamedTuple):
    """A new chunk with its number in the table and the code points of its document that came before it."""

    number: int
    offset: int
    chunk: Chunk


def _runs(words: Sequence[Word], size: int) -> list[tuple[str, ...]]:
    plain = [word.plain for word in words]
    return list(zip(*(plain[start:] for start in range(min(size, len(plain)))), strict=False))


def _gather(texts: Mapping[str, _Text], chunks: Iterable[Chunk], progress: Callable[[int], None] | None) -> int:
    """Show every chunk to the texts it shares runs with, in one pass; returns how many chunks there are."""
    index = _index(texts.values())
    sizes = sorted({len(run) for run in index})  # texts shorter than a run are looked for as a whole
    lengths: Counter[str] = Counter()
    number = 0
    for number, chunk in enumerate(chunks, 1):
        met = _Met(number, lengths[chunk.doc_id], chunk)
        lengths[chunk.doc_id] += len(chunk.text)
        words = words_of(chunk.text)
        shared: Counter[int] = Counter()
        known: dict[int, _Text] = {}
        for size in sizes:
            for run in index.keys() & set(_runs(words, size)):
                for text in index[run]:
                    shared[id(text)] += 1
                    known[id(text)] = text
        for key, text in known.items():
            text.meet(shared[key], met)
        if progress and number % 500 == 0:
            progress(number)
    return number


def _index(texts: Iterable[_Text]) -> dict[tuple[str, ...], list[_Text]]:
    """Map runs to texts. What many texts share says little about any, so each goes by its rarer runs."""
    found: dict[tuple[str, ...], list[_Text]] = defaultdict(list)
    all_texts = list(texts)
    for text in all_texts:
        for run in dict.fromkeys(text.runs):
            found[run].append(text)
    index: dict[tuple[str, ...], list[_Text]] = defaultdict(list)
    for text in all_texts:
        runs = dict.fromkeys(text.runs)
        rare = [run for run in runs if len(found[run]) <= _COMMON]
        if len(rare) < _KEPT_RUNS:
            rare = sorted(runs, key=lambda run: len(found[run]))[:_KEPT_RUNS]
        for run in rare:
            index[run].append(text)
    return dict(index)


@dataclass(frozen=True, slots=True)
class _Aligned:
    """A new chunk beside a judged text: number of a judged word → number of the new word that stands for it."""

    met: _Met
    words: Sequence[Word]
    held: Mapping[int, int]
    of_text: float
    of_chunk: float
    seamless: bool
    """Whether what they share ends where one of them ends, as between two cuts of the same text."""

    @property
    def chunk(self) -> Chunk:
        return self.met.chunk

    def follows(self, other: _Aligned) -> bool:
        """Say whether it is the chunk after the other one in the same document."""
        if self.chunk.doc_id != other.chunk.doc_id:
            return False
        if self.chunk.position is not None and other.chunk.position is not None:
            return self.chunk.position - other.chunk.position == 1
        return self.met.number - other.met.number == 1

    def order(self) -> tuple[str, int, int]:
        """Sort key: the document, then the order in it."""
        position = self.chunk.position
        return (self.chunk.doc_id, -1 if position is None else position, self.met.number)


def _align(text: _Text, met: _Met, matcher: SequenceMatcher[Any]) -> _Aligned:
    words = words_of(met.chunk.text)
    size = min(RUN, len(text.words))
    matcher.set_seq1(_runs(words, size) if len(words) >= size else [])
    held: dict[int, int] = {}
    end = end_new = -_GAP - 1
    for new, old, length in matcher.get_matching_blocks()[:-1]:
        if old - end <= _GAP and new - end_new <= _GAP:
            # a correction between two stretches: its words are where the new ones are
            held |= {end + step: min(end_new + step, new) for step in range(old - end)}
        held |= {old + step: new + step for step in range(length + size - 1)}
        end, end_new = old + length + size - 1, new + length + size - 1
    if not held:
        return _Aligned(met, words, held, 0.0, 0.0, seamless=False)
    first, last = min(held), max(held)
    before, after = min(first, held[first]), min(len(text.words) - 1 - last, len(words) - 1 - held[last])
    of_text, of_chunk = len(held) / len(text.words), len(set(held.values())) / len(words)
    return _Aligned(met, words, held, of_text, of_chunk, seamless=max(before, after) <= _RAGGED)


class _Offer(NamedTuple):
    """A proposal with the numbers of the judged words that count for it."""

    proposal: Proposal
    words: Set[int]


def _proposals(label: CarriedLabel, text: _Text) -> list[Proposal]:
    spans = _spans(label, text.words) if label.grade else []
    needed = {number for _, words in spans for number in words} or set(range(len(text.words)))
    aligned = [one for one in text.aligned() if one.held]
    own = [one for one in aligned if one.chunk.doc_id == label.doc_id != ""]
    same = [one for one in own or aligned if one.chunk.sha256 == label.sha256]
    if same:
        best = min(same, key=lambda one: abs(one.met.offset - (text.offset or 0)))
        return [Proposal(label, best.chunk, label.grade, 1.0, "same text", label.evidence)]

    def offers(among: Sequence[_Aligned]) -> list[_Offer]:
        return list(_by_evidence(label, spans, text.words, among) if spans else _by_overlap(label, among))

    # another document that says the same is not the source, as long as the source still says it
    for some in (own, aligned):
        found = _chosen(_places(some), needed, text.offset, offers)
        if found:
            return sorted(found, key=lambda one: -one.score)
    return []


def _places(aligned: Sequence[_Aligned]) -> list[list[_Aligned]]:
    """Gather neighbouring chunks; each place is one copy of the judged text, or one piece of it."""
    places: list[list[_Aligned]] = []
    for one in sorted(aligned, key=_Aligned.order):
        if places and one.follows(places[-1][-1]):
            places[-1].append(one)
        else:
            places.append([one])
    return [_needed_members(place) for place in places]


def _needed_members(place: Sequence[_Aligned]) -> list[_Aligned]:
    """Drop the chunks that only repeat a phrase which the cut of the text beside them holds in its place."""
    kept: list[_Aligned] = []
    covered: set[int] = set()
    for one in sorted(place, key=lambda one: (not one.seamless, -len(one.held))):
        if one.seamless or len(one.held.keys() - covered) >= RUN:
            kept.append(one)
            covered |= one.held.keys()
    return kept


def _chosen(
    places: list[list[_Aligned]],
    needed: Set[int],
    offset: int | None,
    offers: Callable[[Sequence[_Aligned]], list[_Offer]],
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
    label: CarriedLabel, spans: Sequence[tuple[Evidence, range]], judged: Sequence[Word], aligned: Sequence[_Aligned]
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


def _held(one: _Aligned, span: Evidence, words: range, judged: Sequence[Word]) -> _Held:
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


def _by_overlap(label: CarriedLabel, aligned: Sequence[_Aligned]) -> Iterator[_Offer]:
    for one in aligned:
        score = max(one.of_text, one.of_chunk)
        if score >= LEAST_OVERLAP if label.grade else one.of_chunk >= LEAST_COVERED:
            grade = _lowered(label.grade, one.of_text) if label.grade else 0
            yield _Offer(Proposal(label, one.chunk, grade, score, "overlap"), one.held.keys())


def _lowered(grade: int, share: float) -> int:
    if share >= WHOLE:
        return grade
    return max(1, grade - 1 if share >= 0.5 else grade - 2)
