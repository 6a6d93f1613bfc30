"""The keys of the grading loop: the one table that the component, its hints, the cheat sheet and the tests read."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from annotator.model import GRADES

__all__ = ["KEYS", "Key", "as_data"]


@dataclass(frozen=True, slots=True)
class Key:
    """One key: `press` as a browser names it, what it does, and the words for it."""

    press: str
    action: str
    label: str
    hint: str
    value: int | None = None


_MEANINGS = {
    0: "Does not help with the question",
    1: "Background, or only touches the question",
    2: "A condition, an exception or a part of the answer",
    3: "Answers the question directly",
}

KEYS: tuple[Key, ...] = (
    *(Key(str(grade), "grade", word, _MEANINGS[grade], grade) for grade, word in GRADES.items()),
    Key("x", "cannot", "cannot judge", "Needs a reason: press x, say why, then Ctrl+Enter"),
    Key("s", "stale", "stale", "Looks right but is an outdated version that must not be used: grade 0"),
    Key("u", "undo", "undo", "Take back your last label on this question"),
    Key("j", "down", "down", "Next chunk in the list"),
    Key("k", "up", "up", "Previous chunk in the list"),
    Key("n", "next", "next question", "Go to the next question"),
    Key("p", "previous", "previous question", "Go to the previous question"),
    Key("z", "skip", "skip question", "Leave the question to others, with a reason"),
    Key("/", "search", "search", "Go to the search box; Enter searches and comes back"),
    Key("d", "alike", "same for duplicates", "Give the near-duplicates of the chunk just graded the same label"),
    Key("e", "evidence", "evidence", "Keep the selected text as evidence; with nothing selected, paste a quote"),
    Key("r", "reason", "reason", "Write a reason"),
    Key("Ctrl+Enter", "save", "save reason", "Save the reason and go on"),
    Key("?", "help", "keys", "Show or hide this list"),
)


def as_data() -> list[dict[str, object]]:
    """Return the table as JSON values for the component."""
    return [asdict(key) for key in KEYS]
