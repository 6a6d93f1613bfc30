"""The rows of a judgment file as they were meant: who gave which grade to what, with every fault of the file noted."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from annotator.gold.tablefile import trec_rows
from annotator.model import Evidence, id_fault
from annotator.services.importing.files import ImportFile, flag_of, text_fault
from annotator.services.importing.rows import Row

__all__ = ["COLUMNS", "CONFLICTS", "Reading", "Said", "bare_rows"]

CONFLICTS: Final = ("refuse", "highest", "lowest", "last")
"""What counts when one person gave one pair two grades in one file."""

COLUMNS: Final = {
    **dict.fromkeys(("query_id", "query-id", "qid"), "query_id"),
    **dict.fromkeys(("chunk_id", "corpus-id", "corpus_id"), "chunk_id"),
    **dict.fromkeys(("grade", "relevance", "score", "label", "source_label"), "grade"),
    **{
        name: name
        for name in (
            "annotator",
            "reason",
            "evidence",
            "judged_at",
            "stale",
            "cannot_judge",
            "sha256",
            "seconds",
            "gold",
            "kind",
            "reviewer",
            "decided_at",
        )
    },
}
_OF_A_QUERY: Final = frozenset(("question", "notes", "slice", "unanswerable", "doc_id", "settled_by"))
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,9}(\.0*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Said:
    """A judgment as the file has it, or a reviewer's decision. None for reason or evidence: the file has none."""

    line: int
    query_id: str
    chunk_id: str
    annotator: str
    grade: int | None
    stale: bool
    reason: str | None
    quotes: tuple[Evidence, ...] | None
    sha256: str
    judged_at: str
    seconds: float | None
    decision: bool = False
    sound: bool = True
    """False when the row has a fault: its ids are still looked up, so that all faults are told at once."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.query_id, self.chunk_id, self.annotator

    @property
    def rank(self) -> int:
        """Order of the grades; cannot judge is below irrelevant, and stale below that."""
        return -2 if self.grade is None else self.grade - self.stale


def bare_rows(file: ImportFile, grades: Mapping[str, int | None]) -> list[Row]:
    """TREC judgments (query, 0, chunk, grade), or three columns with the grade second or third."""
    found = list(trec_rows(file.text))
    three = [columns for _, columns in found if len(columns) == 3]

    def are_grades(place: int) -> bool:
        return all(columns[place] in grades or columns[place] in "0123" for columns in three)

    decided = are_grades(1) != are_grades(2)
    # of two columns that might be the grade, it is the one with fewer different values
    grade_second = bool(three) and (are_grades(1) if decided else _different(three, 1) < _different(three, 2))
    rows = []
    for line, columns in found:
        if len(columns) == 4:
            query_id, _, chunk_id, grade = columns
        elif len(columns) == 3:
            query_id, chunk_id, grade = (columns[0], columns[2], columns[1]) if grade_second else columns
        else:
            mend = "Write query, 0, chunk, grade; or a table with a header: query_id, chunk_id, grade."
            file.fault(line, f"{len(columns)} columns instead of 4", value=" ".join(columns), mend=mend)
            continue
        rows.append(Row(line, {"query_id": query_id, "chunk_id": chunk_id, "grade": grade}))
    return rows


def _different(rows: Sequence[Sequence[str]], place: int) -> int:
    return len({row[place] for row in rows})


class Reading:
    """Turns rows into judgments, noting every fault in the file."""

    def __init__(self, file: ImportFile, annotator: str, grades: Mapping[str, int | None]) -> None:
        self.file = file
        self.annotator = annotator
        self.grades = grades
        self.foreign: Counter[str] = Counter()
        self.unmapped: Counter[str] = Counter()
        self.left_out: set[str] = set()
        self.repeats = 0
        self.decided = 0

    def said(self, row: Row) -> list[Said]:
        """Return the judgments of the row; none when it does not say about what. A gold row has many."""
        labels = row.values.get("gold")
        if labels is None:
            one = self._one(row.line, row.values)
            return [one] if one else []
        if not isinstance(labels, list):
            self._fault(row.line, row.values, "gold", "not a list of labels")
            return []
        found = []
        for label in labels:
            line = getattr(label, "line", row.line)
            if not isinstance(label, Mapping):
                self.file.fault(line, "not a label: an object with chunk_id and relevance", "gold", label)
                continue
            values = {COLUMNS.get(str(name), str(name)): value for name, value in label.items()}
            one = self._one(line, {**values, "query_id": row.values.get("query_id")})
            found += [one] if one else []
        return found

    def fold(self, said: Sequence[Said], conflicts: str) -> list[Said]:
        """Take repeats once; of two grades by one person for one pair take the one that counts, or note the fault.

        Decisions are all kept, in their order: the last one of a pair is in force.
        """
        kept: dict[tuple[str, str, str], Said] = {}
        for one in (one for one in said if one.sound and not one.decision):
            first = kept.setdefault(one.key, one)
            if first is one:
                continue
            if first.rank == one.rank:
                self.repeats += 1
                kept[one.key] = replace(first, reason=one.reason or first.reason, quotes=one.quotes or first.quotes)
            elif conflicts == "refuse":
                self.file.fault(
                    one.line,
                    f"line {first.line} has grade {_word(first)} for the same question, chunk and person, "
                    f"this line {_word(one)}",
                    "grade",
                    mend="Keep one, or say whether the highest, lowest or last counts (--conflicts).",
                )
            else:
                self.decided += 1
                better = one.rank > first.rank if conflicts == "highest" else one.rank < first.rank
                if conflicts == "last" or better:
                    kept[one.key] = one
        return [*kept.values(), *(one for one in said if one.decision or not one.sound)]

    def warnings(self) -> list[str]:
        """Say what the reader of the report should know."""
        said = []
        if self.grades and self.unmapped:
            kept = ", ".join(f"{grade} ({number})" for grade, number in sorted(self.unmapped.items()))
            said.append(f"Grades without a mapping were taken as they are: {kept}.")
        if self.decided:
            said.append(f"{self.decided} times one person gave one pair two grades; one was taken as told.")
        if self.left_out:
            said.append(f"Not part of a judgment and left out: {', '.join(sorted(self.left_out))}.")
        return said

    def grades_hint(self) -> str:
        """List the grades that are no grades here, with how to map them."""
        if not self.foreign:
            return ""
        found = ", ".join(f"{grade!r} ({number})" for grade, number in sorted(self.foreign.items())[:20])
        example = " ".join(
            f"--map-grade {json.dumps(f'{grade}=N', ensure_ascii=False)}" for grade in sorted(self.foreign)[:3]
        )
        return f"Grades here are 0 to 3; the file also has {found}. Map each: {example} …"

    def _one(self, line: int, values: Mapping[str, object]) -> Said | None:
        before = len(self.file.problems)
        for name in ("query_id", "chunk_id"):
            fault = id_fault(values.get(name)) if name in values else f"there is no {name}"
            if fault:
                mend = f"Say which field it is: --column NAME={name}." if name not in values else ""
                mend = "Write it in quotes: ids are text." if isinstance(values.get(name), int | float) else mend
                self._fault(line, values, name, fault, mend)
        nameless = len(self.file.problems) > before
        kind = values.get("kind") or ("adjudication" if values.get("reviewer") else "judgment")
        if kind not in ("judgment", "adjudication"):
            self._fault(line, values, "kind", "neither judgment nor adjudication")
        decision = kind == "adjudication"
        annotator = self._annotator(line, values, "reviewer" if decision else "annotator")
        stale = self._flag(line, values, "stale")
        reason = self._reason(line, values)
        grade = self._grade(line, values)
        if decision and grade is None:
            self._fault(line, values, "grade", "a decision has a grade", "Write 0 to 3.")
        if stale and grade != 0 and len(self.file.problems) == before:
            self._fault(line, values, "stale", "a stale chunk has grade 0", "Write grade 0, or take stale away.")
        said = Said(
            line,
            str(values.get("query_id")),
            str(values.get("chunk_id")),
            annotator,
            grade,
            stale,
            reason,
            self._quotes(line, values),
            str(values.get("sha256") or ""),
            self._moment(line, values, "decided_at" if decision else "judged_at"),
            self._seconds(line, values),
            decision,
        )
        self.left_out.update(values.keys() - COLUMNS.keys() - _OF_A_QUERY)
        return None if nameless else replace(said, sound=len(self.file.problems) == before)

    def _annotator(self, line: int, values: Mapping[str, object], role: str) -> str:
        name = values.get(role) or (self.annotator if role == "annotator" else "")
        if not name:
            mend = "Name them: --annotator NAME." if role == "annotator" else ""
            self._fault(line, values, role, f"nobody is named as the {role}", mend)
        elif fault := id_fault(name):
            self._fault(line, values, role, fault.replace("id", "name", 1))
        return str(name)

    def _grade(self, line: int, values: Mapping[str, object]) -> int | None:
        """Read the grade, mapped if told so; None is cannot judge."""
        if self._flag(line, values, "cannot_judge"):
            if values.get("grade") not in (None, ""):
                self._fault(line, values, "grade", "cannot_judge stands beside a grade", "Keep one of the two.")
            return None
        value = values.get("grade")
        if value is None and values.get("kind") == "judgment" and "grade" in values:
            return None  # as a release writes it; elsewhere null may as well mean that nobody judged
        written = str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
        if written in self.grades:
            return self.grades[written]
        if not written:
            mend = "Write 0 to 3, or set cannot_judge to true."
            self._fault(line, values, "grade", "there is no grade" if value in (None, "") else "not a grade", mend)
            return 0
        number = int(float(written)) if _WHOLE.fullmatch(written) else -1
        if 0 <= number <= 3:
            self.unmapped[written] += 1
            return number
        self.foreign[written] += 1
        self._fault(line, values, "grade", "not a grade from 0 to 3", "Say which of them it is.")
        return 0

    def _reason(self, line: int, values: Mapping[str, object]) -> str | None:
        value = values.get("reason")
        if value is None:
            return None
        if fault := text_fault(value):
            self._fault(line, values, "reason", fault)
        return str(value).strip()

    def _quotes(self, line: int, values: Mapping[str, object]) -> tuple[Evidence, ...] | None:
        """Read evidence: a list of quotes or of objects with quote, start and end; in a cell JSON or one quote."""
        value = values.get("evidence")
        if value is None:
            return None
        if isinstance(value, str):
            try:
                value = json.loads(value) if value.lstrip().startswith("[") else [value] if value.strip() else []
            except ValueError:
                value = [value]
        found = []
        for item in value if isinstance(value, list) else [value]:
            span = {"quote": item} if isinstance(item, str) else item
            try:
                one = Evidence(span["quote"], int(span.get("start", -1)), int(span.get("end", -1)))  # type: ignore[index,union-attr]
            except (KeyError, TypeError, ValueError, AttributeError):
                self._fault(line, values, "evidence", "not a quote with start and end")
                return None
            if fault := text_fault(one.quote) or ("" if one.quote.strip() else "an empty quote"):
                self._fault(line, values, "evidence", fault)
            found.append(one)
        return tuple(found)

    def _moment(self, line: int, values: Mapping[str, object], name: str) -> str:
        value = values.get(name)
        if value in (None, ""):
            return ""
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            self._fault(line, values, name, "not a moment", "Write it as 2026-03-01T09:30:00Z.")
            return ""
        moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _seconds(self, line: int, values: Mapping[str, object]) -> float | None:
        value = values.get("seconds")
        if value in (None, ""):
            return None
        try:
            seconds = float(str(value))
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds < 1e9:
            self._fault(line, values, "seconds", "not a number of seconds")
        return seconds

    def _flag(self, line: int, values: Mapping[str, object], name: str) -> bool:
        flag = flag_of(values.get(name))
        if flag is None:
            self._fault(line, values, name, "neither true nor false")
        return bool(flag)

    def _fault(self, line: int, values: Mapping[str, object], name: str, message: str, mend: str = "") -> None:
        self.file.fault(line, message, name, "" if values.get(name) is None else values[name], mend)


def _word(one: Said) -> str:
    return "cannot judge" if one.grade is None else f"{one.grade}{' (stale)' if one.stale else ''}"
