"""Takes the judgments of an opened file in, within the caller's transaction: held against the workspace, then recorded.

What the rows of the file say is `judgment_rows.py`.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

from annotator.errors import InputError, NotFound
from annotator.model import Adjudication, Chunk, Evidence, Judgment, Person
from annotator.services.evidence import find_quote
from annotator.services.importing.files import ImportFile
from annotator.services.importing.judgment_rows import COLUMNS, Reading, Said, bare_rows
from annotator.services.importing.report import SHOWN_LAST, SHOWN_ROWS, ImportReport
from annotator.services.importing.rows import read_rows
from annotator.services.permission import require
from annotator.store import corpus, decisions, events, imported, judged_texts, judgments, people

__all__ = ["NEEDED", "said_in", "take"]

NEEDED: Final = ("query_id", "chunk_id")
"""What a table of judgments must have; a grade may be missing where nobody could judge."""
_NAMES_WHO: Final = frozenset(("annotator", "reviewer", "gold"))
_NEAR_MATCHES_FOR: Final = 20
"""For how many unknown ids near ones are looked up; finding them takes a while each."""


def said_in(reading: Reading, columns: Mapping[str, str] = COLUMNS, conflicts: str = "refuse") -> list[Said]:
    """Return what an opened file says, each judgment once. Raises InputError for a file that does not say who judged.

    Faults of its rows are noted in the file.
    """
    file = reading.file
    rows = bare_rows(file, reading.grades) if file.form == "bare" else read_rows(file, columns, NEEDED)
    if rows and not reading.annotator and not any(_NAMES_WHO.intersection(row.values) for row in rows):
        raise InputError(f"{file.name} does not say who judged.", hint="Name them with --annotator NAME.")
    return reading.fold([one for row in rows for one in reading.said(row)], conflicts)


def take(
    connection: sqlite3.Connection,
    who: str,
    reading: Reading,
    said: Sequence[Said],
    *,
    dry_run: bool = False,
    only_good: bool = False,
    texts: Mapping[tuple[str, str], Chunk] | None = None,
) -> ImportReport:
    """Record what a file says within the caller's transaction; as `import_judgments`.

    `texts` are chunks as judged, by (chunk id, hash), that come along with the file.
    """
    file = reading.file
    if any(one.decision for one in said):
        require(connection, who, "settle labels")
    if any(one.annotator != who for one in said):
        require(connection, who, "import the judgments of others")
    require(connection, who, "grade chunks")
    found = _Checked(connection, file, said, texts or {})
    if not only_good:
        file.refuse_faults(hint=reading.grades_hint())
    if not dry_run:
        found.write(who)
    return ImportReport(
        added=len(found.added) + len(found.decisions),
        changed=len(found.changed),
        unchanged=found.unchanged + reading.repeats,
        skipped=found.skipped,
        warnings=tuple(reading.warnings() + found.warnings()),
        first_rows=tuple(_shown(one) for one in said[:SHOWN_ROWS]),
        last_rows=tuple(_shown(one) for one in said[SHOWN_ROWS:][-SHOWN_LAST:]),
        problems=tuple(file.problems),
        rest=file.refused(),
        dry_run=dry_run,
    )


class _Checked:
    """What a file says, sorted; rows that do not fit the workspace are noted as faults of the file."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        file: ImportFile,
        said: Sequence[Said],
        texts: Mapping[tuple[str, str], Chunk],
    ) -> None:
        self.connection = connection
        self.file = file
        self.texts = texts
        self.added: list[Judgment] = []
        self.changed: list[Judgment] = []
        self.decisions: list[Adjudication] = []
        self.unchanged = 0
        self.skipped = 0
        self.hashes = imported.text_hashes(connection, (one.chunk_id for one in said))
        self.kept = imported.known_texts(connection, (one.chunk_id for one in said if self._text(one) is None))
        known = self._known(said)
        standing = imported.standing(connection, (one.query_id for one in known))
        made = [(self._judgment(one), one) for one in known]
        operations = imported.known_operations(connection, (new.operation_id for new, _ in made if new))
        for new, one in made:
            if new is None:
                continue
            if one.decision:
                self._sort_in_decision(new, new.operation_id in operations)
            else:
                self._sort_in(new, one, standing.get(one.key), new.operation_id in operations)

    def write(self, who: str) -> None:
        """Record what is new, with the people it names."""
        new = self.added + self.changed
        for name in dict.fromkeys(one.annotator for one in new):
            people.add(self.connection, Person(name), who)
        for name in dict.fromkeys(one.reviewer for one in self.decisions):
            people.add(self.connection, Person(name, "reviewer"), who)
        needed = {(one.chunk_id, one.sha256) for one in new}
        needed.update((one.chunk_id, one.sha256) for one in self.decisions)
        imported.keep_texts(self.connection, (self.texts[key] for key in needed if key in self.texts))
        imported.append_all(self.connection, new)
        for decision in self.decisions:
            decisions.append(self.connection, decision)
        counts = {"added": len(self.added), "changed": len(self.changed), "decisions": len(self.decisions)}
        if any(counts.values()):
            events.record(self.connection, who, "judgments imported", f"file:{self.file.name}", new=counts)

    def warnings(self) -> list[str]:
        """Say what was left alone."""
        if not self.skipped:
            return []
        return [f"{self.skipped} rows were imported before and changed since; the later judgment stands."]

    def _sort_in(self, new: Judgment, one: Said, now: tuple[int | None, bool, str, str] | None, recorded: bool) -> None:
        if now is not None and now[:2] == (new.grade, new.stale):
            same_reason = one.reason is None or now[2] == new.reason
            if same_reason and (one.quotes is None or now[3] == judgments.evidence_json(new.evidence)):
                self.unchanged += 1
                return
        if recorded:
            self.skipped += 1
        elif now is None:
            self.added.append(new)
        else:
            self.changed.append(new)

    def _sort_in_decision(self, new: Judgment, recorded: bool) -> None:
        if recorded or any(one.operation_id == new.operation_id for one in self.decisions):
            self.unchanged += 1
            return
        self.decisions.append(
            Adjudication(
                query_id=new.query_id,
                chunk_id=new.chunk_id,
                reviewer=new.annotator,
                grade=new.grade or 0,
                stale=new.stale,
                reason=new.reason,
                evidence=new.evidence,
                sha256=new.sha256,
                decided_at=new.judged_at,
                operation_id=new.operation_id,
            )
        )

    def _text(self, one: Said) -> str | None:
        """Return the hash of the text that was judged if it is the chunk's present one, else None."""
        present = self.hashes.get(one.chunk_id)
        return present if not one.sha256 or one.sha256 == present else None

    def _known(self, said: Sequence[Said]) -> list[Said]:
        """Return the sound rows whose query and text are there, noting the others."""
        ids = imported.query_ids(self.connection)
        queries = frozenset(ids)
        found = []
        hints: dict[tuple[str, str], str] = {}
        for one in said:
            sound = one.sound
            if one.query_id not in queries:
                sound = False
                self._unknown(one, "query_id", one.query_id, "there is no such question", hints, ids)
            place = (one.chunk_id, one.sha256)
            if self._text(one) is None and place not in self.kept and place not in self.texts:
                sound = False
                if one.chunk_id in self.hashes:
                    message = "the chunk's text is not the one that was judged"
                    mend = "Judge it again, or leave sha256 out to take the grade over to the present text."
                    self.file.fault(one.line, message, "sha256", one.sha256, mend)
                else:
                    self._unknown(one, "chunk_id", one.chunk_id, "there is no such chunk", hints, ids)
            if sound:
                found.append(one)
        return found

    def _unknown(
        self,
        one: Said,
        name: str,
        value: str,
        message: str,
        hints: dict[tuple[str, str], str],
        query_ids: Sequence[str],
    ) -> None:
        if (name, value) not in hints:
            near = len(hints) < _NEAR_MATCHES_FOR
            find = _near_queries(query_ids, value) if name == "query_id" else _near_chunks(self.connection, value)
            hints[name, value] = find if near else ""
        self.file.fault(one.line, message, name, value, hints[name, value])

    def _judgment(self, one: Said) -> Judgment | None:
        sha256 = self._text(one) or one.sha256
        spans = self._located(one, sha256)
        if spans is None:
            return None
        content = [*one.key, one.grade, one.stale, one.reason or "", [[s.quote, s.start, s.end] for s in spans]]
        if one.decision:  # the same decision may be taken again later, after another one
            content += ["decision", one.judged_at]
        digest = hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()
        return Judgment(
            query_id=one.query_id,
            chunk_id=one.chunk_id,
            annotator=one.annotator,
            grade=one.grade,
            stale=one.stale,
            reason=one.reason or "",
            evidence=spans,
            sha256=sha256,
            judged_at=one.judged_at,
            operation_id=f"import-{digest[:40]}",
            seconds=one.seconds,
            origin="import",
        )

    def _located(self, one: Said, sha256: str) -> tuple[Evidence, ...] | None:
        """Find the quotes in the text that was judged; note a fault and return None when one is not there."""
        if not one.quotes:
            return ()
        text = self._judged_text(one.chunk_id, sha256)
        spans = {}
        for given in one.quotes:
            fits = given.start >= 0 and text[given.start : given.end] == given.quote
            span = given if fits else find_quote(text, given.quote)
            if span is None:
                mend = "Quote the chunk's own words."
                self.file.fault(one.line, "the quote is not in the chunk's text", "evidence", given.quote, mend)
                return None
            spans[span.start, span.end] = span
        return tuple(spans[place] for place in sorted(spans))

    def _judged_text(self, chunk_id: str, sha256: str) -> str:
        if (brought := self.texts.get((chunk_id, sha256))) is not None:
            return brought.text
        if self.hashes.get(chunk_id) == sha256:
            return corpus.chunks(self.connection, [chunk_id])[chunk_id].text
        return next(judged_texts.chunks(self.connection, [(chunk_id, sha256)]))[1].text


def _near_queries(ids: Sequence[str], value: str) -> str:
    from rapidfuzz import fuzz, process

    near = [match[0] for match in process.extract(value, ids, scorer=fuzz.ratio, limit=3, score_cutoff=60)]
    return f"Near: {', '.join(near)}." if near else "Import the questions first."


def _near_chunks(connection: sqlite3.Connection, value: str) -> str:
    try:
        corpus.chunk(connection, value)
    except NotFound as error:
        return error.hint
    return ""


def _shown(one: Said) -> Mapping[str, object]:
    return {
        "query_id": one.query_id,
        "chunk_id": one.chunk_id,
        "annotator": one.annotator,
        "grade": one.grade,
        "stale": one.stale,
        "reason": one.reason or "",
    }
