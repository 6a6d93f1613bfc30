"""The retriever hook over a real HTTP server and as a function: every answer is used or told, none is believed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from annotator.errors import Forbidden, InputError
from annotator.model import Query
from annotator.services import asking, pools, retriever
from annotator.services.asking import Endpoint, Function, NoAnswer, ask
from annotator.services.pools import Build
from annotator.store import queries, settings
from annotator.store.database import Workspace
from tests.services.hook_server import Reply, as_json, serving


def answers(value: object) -> asking.Retriever:
    return Function("test:hook", lambda question, k: value)


def test_an_endpoint_is_asked_by_post_and_its_list_taken() -> None:
    seen: list[dict[str, object]] = []
    with serving(lambda asked: as_json(["a", "b", "c"]), seen) as url:
        found = ask(Endpoint(f"{url}?tenant=7", "secret"), "q 1", "Wer genehmigt „Erstattungen“?", 2)
        assert Endpoint(f"{url}?key=secret").name == url
    assert found.chunk_ids == ("a", "b")
    assert found.scores is None
    assert found.trace["latency_ms"] > 0  # type: ignore[operator]
    assert seen == [
        {
            "query_id": "q 1", "question": "Wer genehmigt „Erstattungen“?", "k": 2, "path": "/retrieve?tenant=7",
            "token": "Bearer secret",
        }
    ]  # fmt: skip


def test_a_trace_is_taken_whole_and_the_list_ordered_by_its_scores() -> None:
    row = {
        "results": [{"chunk_id": "low", "score": 1}, {"chunk_id": "high", "score": 2.5, "text": "not needed"}],
        "candidates": ["high", "low", "lower"],
        "filtered_out": [{"chunk_id": "old", "filter": "version"}, "plain"],
        "route": "faq", "filters": {"lang": "en"}, "rewritten_query": "refund", "latency_ms": 4, "query_id": "forged",
        "run": {"name": "forged"},
    }  # fmt: skip
    found = ask(answers(row), "q1", "?", 10)
    assert (found.query_id, found.chunk_ids, found.scores) == ("q1", ("high", "low"), (2.5, 1.0))
    assert found.candidates == ("high", "low", "lower")
    assert found.filtered_out == (("old", "version"), ("plain", ""))
    assert found.trace["route"] == "faq"
    assert found.trace["own_latency_ms"] == 4
    assert found.trace["latency_ms"] != 4
    assert "run" not in found.trace


class Number:
    """What numpy and torch return."""

    def item(self) -> float:
        return 0.5


def test_a_function_may_return_pairs_and_numbers_of_other_libraries() -> None:
    assert ask(answers([("a", Number()), ("b", 0.25)]), "q", "?", 5).scores == (0.5, 0.25)
    assert ask(answers(("a", "b")), "q", "?", 5).chunk_ids == ("a", "b")
    assert ask(answers([]), "q", "?", 5).chunk_ids == ()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "answered None"),
        ("refunds#1", "answered 'refunds#1'"),
        ({"hits": []}, "answered {'hits'"),
        ({"results": {"a": 1}}, "answered"),
        ([1, 2], "id is a number"),
        (["a", "a"], "duplicate chunk a"),
        (["a\nb"], "control character"),
        (["\ud800"], "surrogate"),
        ([""], "empty"),
        ([["a", float("nan")]], "nan|finite|number"),
        ([["a", "0,5"]], "not a number"),
        ([{"chunk_id": "a", "score": 1}, "b"], "give all or none"),
        ({"results": [], "route": "\ud800"}, "surrogate"),
        ({"results": [], "route": float("inf")}, "infinity|JSON"),
        ({"results": [], "latency_ms": "fast"}, "milliseconds"),
        ({"results": [], "candidates": "a"}, "not a list"),
        ({"results": [], "filters": {1, 2}}, "not JSON: 'it holds a set'"),
        ({"a": 0.5}, r"answered {'a': 0.5}, not a list of chunk ids"),
    ],
)
def test_an_answer_in_another_form_is_told(value: object, message: str) -> None:
    with pytest.raises(NoAnswer, match=f"(?i){message}"):
        ask(answers(value), "q1", "?", 5)


def test_a_function_may_yield_what_it_finds_without_end() -> None:
    def endless(question: str, k: int) -> Iterator[tuple[str, float]]:
        for number in count():
            yield f"c{number}", -float(number)

    found = ask(Function("m:f", endless), "q", "?", 3)
    assert (found.chunk_ids, found.scores) == (("c0", "c1", "c2"), (0.0, -1.0, -2.0))


def test_an_async_function_is_told_how_to_be_named() -> None:
    async def retrieve(question: str, k: int) -> list[str]:
        return ["a"]

    with pytest.raises(NoAnswer, match=r"m:f is an async function.*asyncio\.run"):
        ask(Function("m:f", retrieve), "q", "?", 3)


def nested() -> object:
    value: object = []
    for _ in range(100_000):
        value = [value]
    return {"results": [], "filters": value}


def test_an_answer_nested_beyond_reason_is_told() -> None:
    with pytest.raises(NoAnswer):
        ask(answers(nested()), "q1", "?", 5)


def test_what_a_function_raises_is_told_in_one_line() -> None:
    def fails(question: str, k: int) -> object:
        raise KeyError("index\n\x1b[31m gone")

    with pytest.raises(NoAnswer, match=r"The retriever failed: KeyError: .*gone") as told:
        ask(Function("m:f", fails), "q", "?", 5)
    assert str(told.value).isprintable()

    def leaves(question: str, k: int) -> object:
        raise SystemExit(3)

    with pytest.raises(NoAnswer, match="SystemExit"):
        ask(Function("m:f", leaves), "q", "?", 5)


def test_who_takes_too_long_is_late() -> None:
    given_up = threading.Event()

    def slow(question: str, k: int) -> object:
        given_up.wait(60)
        return ["a"]

    started = time.monotonic()
    found = ask(Function("m:f", slow), "q", "?", 5, seconds=0.1)
    assert time.monotonic() - started < 30  # and not until it answers
    given_up.set()
    assert (found.chunk_ids, found.trace["timed_out"]) == ((), True)


def test_an_endpoint_that_trickles_is_late() -> None:
    def slow(asked: dict[str, object]) -> Reply:
        time.sleep(0.5)
        return as_json(["a"])

    with serving(slow) as url:
        assert ask(Endpoint(url), "q", "?", 5, seconds=0.15).trace["timed_out"] is True


def refused(reply: Callable[[dict[str, object]], Reply]) -> str:
    with serving(reply) as url, pytest.raises(NoAnswer) as told:
        ask(Endpoint(url), "q", "?", 5)
    assert str(told.value).isprintable()
    return str(told.value)


def test_an_endpoint_that_fails_is_told_calmly() -> None:
    assert "status 500" in refused(lambda asked: as_json({"detail": "boom"}, 500))
    assert "not followed" in refused(lambda asked: (302, b"", {"Location": "http://169.254.169.254/latest"}))
    assert "not answer with JSON" in refused(lambda asked: (200, b"<html>\x1b[2J</html>", {}))
    assert "not answer with JSON" in refused(lambda asked: (200, b'["a", NaN]', {}))
    assert "not answer with JSON" in refused(lambda asked: (200, b"[" * 100_000, {}))
    assert "more than 8 MB" in refused(lambda asked: (200, b" " * (8 * 2**20 + 1), {}))
    with pytest.raises(NoAnswer, match="cannot be reached"):
        ask(Endpoint("http://127.0.0.1:9/"), "q", "?", 5)


# ---- which retriever may be asked ----------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (retriever.HOOK, retriever.HOSTS, retriever.TOKEN):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("allowed", "url", "may"),
    [
        ("", "http://localhost/", False),
        ("", "http://127.0.0.1:8000/", False),
        ("search.example.org", "https://search.example.org/x", True),
        ("search.example.org", "https://search.example.org:443/x", True),
        ("Search.Example.org, other", "https://SEARCH.example.org/x", True),
        ("search.example.org", "http://search.example.org:8080/", False),
        ("search.example.org:8080", "http://search.example.org:8080/", True),
        ("search.example.org", "https://search.example.org.evil.example/", False),
        ("search.example.org", "https://evil.example/?search.example.org", False),
        ("search.example.org", "https://search.example.org@evil.example/", False),
        ("search.example.org", "https://ana:secret@search.example.org/", False),
        ("search.example.org", "file://search.example.org/etc/passwd", False),
        ("search.example.org", "ftp://search.example.org/", False),
        ("search.example.org", "https://search.example.org\\@evil.example/", False),
        ("search.example.org", "https://search.example.org/a b", False),
        ("search.example.org", "https://search.example.org:99999/", False),
        ("localhost:8000", "http://[::1]:8000/", False),
    ],
)
def test_only_listed_hosts_are_asked(allowed: str, url: str, may: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(retriever.HOSTS, allowed)
    if may:
        assert retriever.retriever(url) == Endpoint(url)
        return
    with pytest.raises(InputError) as told:
        retriever.retriever(url)
    assert "secret" not in str(told.value)


def test_a_function_is_named_by_module_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "team_hook.py").write_text(
        "class Index:\n    def top(question, k):\n        return ['a', 'b'][:k]\nnumber = 3\n", "utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert ask(retriever.retriever("team_hook:Index.top"), "q", "?", 1).chunk_ids == ("a",)
    for hook, message in {
        "team_hook:number": "is a int, not a function",
        "team_hook:nothing": "cannot be loaded: AttributeError",
        "no_such_module:f": "PYTHONPATH",
        "team_hook": "module:function",
        "team_hook:f()": "module:function",
        "../team_hook:f": "module:function",
        "": "names no retriever",
    }.items():
        with pytest.raises(InputError, match=message):
            retriever.retriever(hook)


def test_a_module_that_ends_the_process_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_script.py").write_text("import sys\nsys.exit(1)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match="SystemExit"):
        retriever.retriever("a_script:retrieve")


@pytest.mark.parametrize(("token", "sent"), [("secret\n", "Bearer secret"), ("se\ncret", ""), ("sécret", "")])
def test_a_token_is_sent_or_refused_and_never_shown(token: str, sent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, object]] = []
    with serving(lambda asked: as_json(["a"]), seen) as url:
        monkeypatch.setenv(retriever.HOSTS, urlsplit(url).netloc)
        monkeypatch.setenv(retriever.TOKEN, token)
        if sent:
            ask(retriever.retriever(url), "q", "?", 1)
            assert seen[0]["token"] == sent
            return
        with pytest.raises(InputError, match=retriever.TOKEN) as told:
            ask(retriever.retriever(url), "q", "?", 1)
    assert "cret" not in str(told.value)


def test_an_admin_sets_an_address_and_never_a_function(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(retriever.HOSTS, "search.example.org")
    retriever.set_endpoint(workspace, "Ana", " https://search.example.org/r ")
    assert retriever.endpoint(workspace) == "https://search.example.org/r"
    for url in ("os:system", "https://evil.example/"):
        with pytest.raises(InputError):
            retriever.set_endpoint(workspace, "Ana", url)
    with pytest.raises(Forbidden):
        retriever.set_endpoint(workspace, "Ben", "")
    with pytest.raises(Forbidden):
        retriever.try_out(workspace, "Ben", "?")
    assert retriever.endpoint(workspace) == "https://search.example.org/r"


def test_what_the_workspace_names_is_checked_again_when_it_is_asked(workspace: Workspace) -> None:
    for slipped_in in ("os:system", "https://evil.example/", "file:///etc/passwd"):
        with workspace.write() as connection:
            settings.put(connection, "retriever", slipped_in)
        with pytest.raises(InputError):
            retriever.find(workspace)


def test_the_hook_of_the_process_goes_first(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    assert retriever.find(workspace) is None
    monkeypatch.setenv(retriever.HOSTS, "search.example.org")
    retriever.set_endpoint(workspace, "Ana", "https://search.example.org/r")
    monkeypatch.setenv(retriever.HOOK, "json:dumps")
    found = retriever.find(workspace)
    assert found is not None
    assert found.name == "json:dumps"


# ---- the retriever as a source of pools -----------------------------------------------------------------------------


def allowed(url: str, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(retriever.HOSTS, urlsplit(url).netloc)
    retriever.set_endpoint(workspace, "Ana", url)


def test_a_pool_takes_what_the_retriever_finds(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda asked: as_json(["errors#1", "travel#1", "<b>not ours</b>"])) as url:
        allowed(url, workspace, monkeypatch)
        built = pools.build(workspace, "Ana", Build((), "", "asked", 10))
    assert (built.questions, built.candidates) == (3, 6)
    assert built.told == ("Left out: 1 chunk ids that are not in the chunk table.",)
    assert set(pools.pool(workspace, "Ben", "q2").ids) == {"errors#1", "travel#1"}
    assert pools.origins(workspace, "Ana", "q2")[0].origins == {f"retriever {url}": 1}
    last = pools.last_build(workspace)
    assert last is not None
    assert last.retriever == url


def test_one_failure_is_told_and_the_pool_built_with_the_rest(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(lambda asked: as_json(["errors#1"] if asked["query_id"] != "q2" else {"oops": 1})) as url:
        allowed(url, workspace, monkeypatch)
        built = pools.build(workspace, "Ana", Build((), "words", "asked", 10))
    assert [one.partition(":")[0] for one in built.told] == ["q2"]
    assert "errors#1" in pools.pool(workspace, "Ana", "q1").ids


def test_a_retriever_that_is_away_is_not_asked_for_ever(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with workspace.write() as connection:
        for number in range(20):
            queries.add(connection, Query(f"t{number}", "Refund?"), "Ana")
    seen: list[dict[str, object]] = []
    with serving(lambda asked: as_json({"detail": "down"}, 503), seen) as url:
        allowed(url, workspace, monkeypatch)
        built = pools.build(workspace, "Ana", Build((), "words", "asked", 10))
    assert len(seen) == 3
    assert built.told[-1] == "After 3 questions in a row without an answer it was asked no more."
    assert built.candidates > 0
