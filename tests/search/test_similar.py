"""Near-duplicates of a chunk by its text: told apart from what merely shares words, in every script."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from annotator.model import Chunk
from annotator.search import index
from annotator.search.similar import near_duplicates
from annotator.store import corpus
from annotator.store.database import Workspace
from annotator.store.sync import staging

REFUND = "Refunds requested later than thirty days after purchase need the approval of the VP Finance in writing."
OTHER = {
    f"other{at}": f"Section {at} is about travel, hotels and trains in the second class of region {at}."
    for at in range(30)
}
TEXTS = {
    "refund": REFUND,
    "copy": REFUND,
    "spaced": REFUND.upper().replace(" ", "  "),
    "edited": REFUND.replace("thirty", "sixty"),
    "half": REFUND[:50] + " Everything else is decided by the desk on the day of travel, as is the custom here.",
    "zh": "超过三十天的退款申请必须由财务副总裁书面批准。",
    "zh2": "超过六十天的退款申请必须由财务副总裁书面批准。",
    "empty": "",
    **OTHER,
}


def _made(folder: Path, texts: Mapping[str, str]) -> Workspace:
    workspace = Workspace(folder / "similar")
    workspace.create()
    with staging(workspace, "refuse") as staged:
        staged.add(
            [
                (at, one, text, "", "", None, "{}", f"{one} {text}".encode())
                for at, (one, text) in enumerate(texts.items())
            ]
        )
        staged.apply("test", "test")
    index.refresh(workspace)
    return workspace


def _found(workspace: Workspace, chunk_id: str, limit: int = 20) -> dict[str, int]:
    with workspace.read() as connection:
        chunk = corpus.chunk(connection, chunk_id)
        found = near_duplicates(index.current(workspace), connection, chunk, limit)
    return {one: round(share) for one, share in found}


def test_copies_come_first_then_edited_ones_and_no_others(tmp_path: Path) -> None:
    workspace = _made(tmp_path, TEXTS)
    # 16 words of which one differs: 2 * 15 / 32 = 94 %
    assert _found(workspace, "refund") == {"copy": 100, "spaced": 100, "edited": 94}
    assert list(_found(workspace, "refund")) == ["copy", "spaced", "edited"]
    assert _found(workspace, "refund", limit=1) == {"copy": 100}
    assert _found(workspace, "half") == {}


def test_texts_without_spaces_are_compared_too(tmp_path: Path) -> None:
    assert list(_found(_made(tmp_path, TEXTS), "zh")) == ["zh2"]


def test_a_text_without_words_is_like_nothing(tmp_path: Path) -> None:
    assert _found(_made(tmp_path, TEXTS), "empty") == {}


def test_a_chunk_the_index_does_not_know_is_compared_all_the_same(tmp_path: Path) -> None:
    workspace = _made(tmp_path, TEXTS)
    with workspace.read() as connection:
        found = near_duplicates(index.current(workspace), connection, Chunk("new", REFUND))
    assert [one for one, _ in found] == ["copy", "refund", "spaced", "edited"]


def test_a_text_of_common_words_only_is_found_among_many(tmp_path: Path) -> None:
    same = {f"same{at:03}": "The terms are the terms of the contract." for at in range(120)}
    found = _found(_made(tmp_path, {**TEXTS, **same}), "same000")
    assert len(found) == 20
    assert set(found) <= set(same)
    assert set(found.values()) == {100}
