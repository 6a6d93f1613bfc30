"""Asking the team's own retriever one question: a Python callable or an HTTP endpoint, within a time and a size.

What it answers is read as a line of a JSONL trace is, by the same rules, so whatever it returns is either a usable
answer or a message. Which retriever may be asked at all is decided in `retriever.py`.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from annotator.errors import InputError, shorten
from annotator.metrics.runfiles import read_run
from annotator.model import RunQuery

__all__ = ["SECONDS", "Endpoint", "Function", "NoAnswer", "Retriever", "ask"]

SECONDS: Final = 10.0
"""How long a retriever may take for one question."""
LARGEST_ANSWER: Final = 8 * 2**20
_PIECE: Final = 2**16


class NoAnswer(InputError):
    """The retriever could not be asked, failed, or answered what cannot be used."""


class _TooLate(Exception):
    """The time is up."""


class Retriever(Protocol):
    """Something that returns ranked chunk ids for a question."""

    @property
    def name(self) -> str:
        """What it is called in files and on the screen; without anything secret."""

    def __call__(self, query_id: str, question: str, k: int, seconds: float) -> object:
        """Return what it answers, as JSON values. Raises NoAnswer; may take as long as it likes."""


def ask(retriever: Retriever, query_id: str, question: str, k: int, *, seconds: float = SECONDS) -> RunQuery:
    """Return the first k chunks the retriever finds, with its trace, `latency_ms` and, when it was late, `timed_out`.

    Raises NoAnswer for everything else that goes wrong.
    """
    started = time.perf_counter()
    try:
        raw = _within(seconds, lambda: retriever(query_id, question, k, seconds))
    except _TooLate:
        return RunQuery(query_id, trace={"latency_ms": _since(started), "timed_out": True})
    took = _since(started)
    answer = _read(raw, query_id)
    trace = dict(answer.trace)
    if "latency_ms" in trace:
        trace["own_latency_ms"] = trace["latency_ms"]
    trace["latency_ms"] = took
    scores = answer.scores[:k] if answer.scores is not None else None
    return replace(answer, chunk_ids=answer.chunk_ids[:k], scores=scores, trace=trace)


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


def _within(seconds: float, call: Callable[[], object]) -> object:
    """Call in a thread of its own, which is left to itself when the time is up: nothing else can end foreign code."""
    box: SimpleQueue[tuple[object, BaseException | None]] = SimpleQueue()

    def work() -> None:
        try:
            box.put((call(), None))
        except BaseException as error:  # noqa: BLE001 - handed to the one who waits
            box.put((None, error))

    Thread(target=work, daemon=True, name="retriever").start()
    try:
        value, error = box.get(timeout=seconds)
    except Empty:
        raise _TooLate from None
    if error is None:
        return value
    if isinstance(error, NoAnswer | _TooLate):
        raise error
    raise NoAnswer(
        f"The retriever failed: {type(error).__name__}: {shorten(str(error), 200)}.",
        hint="Mend it; Annotator passes on what it said.",
    ) from error


def _read(raw: object, query_id: str) -> RunQuery:
    """Read an answer: the results alone, or an object with `results` and whatever the trace says besides."""
    row = dict(raw) if isinstance(raw, Mapping) else {"results": raw}
    if not isinstance(row.get("results"), list | tuple):
        raise NoAnswer(
            f'The retriever answered {shorten(raw)}, not a list of chunk ids, best first, or {{"results": [...]}}.'
        )
    row.pop("run", None)
    try:
        line = json.dumps({**row, "query_id": query_id}, default=_plain)
        return read_run(line, "The answer").queries[query_id]
    except InputError as error:
        faults = "; ".join(
            one.message + (f" (found {shorten(one.value)})" if one.value else "") for one in error.problems[:3]
        )
        raise NoAnswer(
            f"The retriever's answer cannot be used: {faults or error.message}.", hint="It takes the form of a trace."
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise NoAnswer(
            f"The retriever's answer is not JSON: {shorten(str(error), 200)}.",
            hint="Chunk ids are text, scores are numbers.",
        ) from error


def _plain(value: Any) -> object:
    """Turn a number of numpy, torch and the like into one of Python."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"it holds a {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class Function:
    """A Python function that takes (question, k) and returns ids, best first, or an object as in a trace.

    It may yield them as well; of those only k are taken.
    """

    name: str
    function: Callable[[str, int], object]

    def __call__(self, query_id: str, question: str, k: int, seconds: float) -> object:  # noqa: ARG002
        found = self.function(question, k)
        if isinstance(found, Coroutine):
            found.close()
            raise NoAnswer(f"{self.name} is an async function.", hint="Name one that calls it with asyncio.run.")
        return list(islice(found, k)) if isinstance(found, Iterator) else found


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An HTTP address that takes `{"query_id", "question", "k"}` by POST and answers with JSON.

    Asked at this very address: redirects are not followed and no proxy of the environment is used.
    """

    url: str
    token: str = ""

    @property
    def name(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"

    def __call__(self, query_id: str, question: str, k: int, seconds: float) -> object:
        until = time.monotonic() + seconds
        parts = urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=max(0.05, seconds))
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "annotator"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        body = json.dumps({"query_id": query_id, "question": question, "k": k}).encode()
        try:
            connection.request("POST", target, body, headers)
            with connection.getresponse() as response:
                return self._taken(response, until)
        except TimeoutError as error:
            raise _TooLate from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            said = (error.strerror if isinstance(error, OSError) else "") or str(error)
            raise NoAnswer(
                f"The retriever at {self.name} cannot be reached: {shorten(said or type(error).__name__, 200)}.",
                hint="Is it running, and is the address right?",
            ) from error
        finally:
            connection.close()

    def _taken(self, response: http.client.HTTPResponse, until: float) -> object:
        if 300 <= response.status < 400:
            raise NoAnswer(
                f"The retriever at {self.name} answered with a redirect, which is not followed.",
                hint="Give the address it leads to, if that host may be asked.",
            )
        if response.status != 200:
            raise NoAnswer(
                f"The retriever at {self.name} answered with status {response.status}.",
                hint="It wants ANNOTATOR_RETRIEVER_TOKEN." if response.status in (401, 403) else "See its own log.",
            )
        pieces: list[bytes] = []
        left = LARGEST_ANSWER
        while piece := response.read1(min(_PIECE, left + 1)):
            pieces.append(piece)
            left -= len(piece)
            if left < 0:
                raise NoAnswer(
                    f"The retriever at {self.name} answered with more than {LARGEST_ANSWER // 2**20} MB.",
                    hint="It is asked for k chunks; their texts are not needed.",
                )
            if time.monotonic() > until:
                raise _TooLate
        try:
            return json.loads(b"".join(pieces), parse_constant=_refused)
        except (ValueError, RecursionError) as error:
            raise NoAnswer(f"The retriever at {self.name} did not answer with JSON: {shorten(str(error))}.") from error


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
