"""What a file of gold says, collected judgment by judgment together with every fault, whatever form it has."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final

from annotator.errors import InputError, Problem, as_written
from annotator.model import GRADES, GoldQuery, id_fault

__all__ = ["FOREIGN_GRADES", "OWN_GRADES", "GoldContent", "JsonObject", "load_json", "looks_like_json"]

FOREIGN_GRADES: Final = (-10, 100)
"""Accepted grades of judgments made elsewhere; negative means judged and not relevant."""
OWN_GRADES: Final = (min(GRADES), max(GRADES))

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,9}(\.0*)?", re.ASCII)


class JsonObject(list[tuple[str, object]]):
    """A JSON object as its pairs, so that a repeated key is seen and not lost."""


def looks_like_json(text: str) -> bool:
    """Say whether text starts as a JSON object; an id of a column form may start with a brace as well."""
    return text.startswith("{") and text[1:50].lstrip()[:1] in ('"', "}", "")


def load_json(text: str, file: str, line: int = 1) -> object:
    """Decode JSON, objects as JsonObject. Raises InputError naming the line, counted from `line`."""
    try:
        return json.loads(text, object_pairs_hook=JsonObject)
    except json.JSONDecodeError as error:
        problem = Problem(f"not JSON: {error.msg}", file=file, line=line + error.lineno - 1)
    except (ValueError, RecursionError) as error:
        problem = Problem(f"not JSON that can be read: {error}", file=file, line=line)
    raise InputError(f"{file} cannot be read.", problems=[problem])


@dataclass(slots=True)
class GoldContent:
    """What a file of gold says, filled judgment by judgment; `refuse_faults` decides in the end."""

    file: str
    grade_range: tuple[int, int] = FOREIGN_GRADES
    grades: dict[str, dict[str, int]] = field(default_factory=dict)
    details: dict[str, GoldQuery] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    repeats: int = 0
    first_lines: dict[tuple[str, str], int | None] = field(default_factory=dict)

    def fault(self, message: str, line: int | None, field: str = "", value: object = "", mend: str = "") -> None:
        """Note a fault of the file."""
        self.problems.append(Problem(message, self.file, line, field, as_written(value), mend))

    def id_is_sound(self, value: object, line: int | None, field: str) -> bool:
        """Say whether the value can be an id, and note the fault when not."""
        fault = id_fault(value)
        if fault:
            self.fault(fault, line, field, value, "Quote it: ids are text." if isinstance(value, int | float) else "")
        return not fault

    def add(self, query_id: object, chunk_id: object, grade: object, line: int | None = None) -> int | None:
        """Take one judgment and return its grade, or note what is wrong with it. Identical repeats count once."""
        number = self._grade(query_id, chunk_id, grade, line)
        sound = self.id_is_sound(query_id, line, "query_id") & self.id_is_sound(chunk_id, line, "chunk_id")
        if number is None or not sound:
            return None
        query, chunk = str(query_id), str(chunk_id)
        known = self.grades.setdefault(query, {})
        if chunk not in known:
            known[chunk] = number
            self.first_lines[query, chunk] = line
        elif known[chunk] == number:
            self.repeats += 1
        else:
            first = self.first_lines[query, chunk]
            message = f"conflicting judgments for ({query}, {chunk}): {known[chunk]} and {number}"
            self.fault(
                message, line, "grade", mend=f"The first is in line {first}; keep one." if first else "Keep one."
            )
        return number

    def _grade(self, query_id: object, chunk_id: object, value: object, line: int | None) -> int | None:
        low, high = self.grade_range
        whole = isinstance(value, int) and not isinstance(value, bool)
        whole |= isinstance(value, float) and value.is_integer()
        whole |= isinstance(value, str) and _WHOLE.fullmatch(value.strip()) is not None
        mend = f"Write {low} to {high}."
        if not whole:
            message = f"grade of ({query_id}, {chunk_id}) is not a whole number"
            self.fault(message, line, "grade", value, mend)
            return None
        number = value if isinstance(value, int) else int(float(str(value)))
        if low <= number <= high:
            return number
        self.fault(f"grade of ({query_id}, {chunk_id}) is outside {low} to {high}", line, "grade", value, mend)
        return None

    def finish(self) -> GoldContent:
        """Return the content, or raise InputError with every fault found."""
        if self.problems:
            raise InputError(f"{self.file} cannot be used as gold.", problems=self.problems)
        if self.repeats:
            self.warnings.append(f"{self.repeats} judgments are repeated word for word; each counts once.")
        unjudged = sorted(
            query_id
            for query_id in self.details.keys() | self.grades.keys()
            if not self.grades.get(query_id) and not (query_id in self.details and self.details[query_id].unanswerable)
        )
        if unjudged:
            named = ", ".join(unjudged[:10]) + (" …" if len(unjudged) > 10 else "")
            self.warnings.append(f"{len(unjudged)} queries have no judgments and are left out: {named}.")
        self.grades = {query_id: grades for query_id, grades in self.grades.items() if grades}
        return self
