"""Stand-ins for servers that cannot be had here: they answer over HTTP as OpenSearch, Elasticsearch, Qdrant document.

They know what the readers need and refuse everything else, with the status and the shape the real ones have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import hypot
from operator import mul
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from rapidfuzz.distance import OSA

WORD = re.compile(r"\w+")


class Refusal(Exception):
    def __init__(self, status: int, reason: str) -> None:
        self.status = status
        self.reason = reason


class Standin:
    """A server; `requests` holds (method, path, body, headers) of everything it was asked, `down` refuses to answer."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, Any, Mapping[str, str]]] = []
        self.header: tuple[str, str] | None = None
        self.failing = 0
        self.port = 0

    def answer(self, method: str, path: str, options: Mapping[str, str], body: Any) -> object:
        raise NotImplementedError

    def error(self, status: int, reason: str) -> object:
        raise NotImplementedError


@contextmanager
def serving(standin: Standin) -> Iterator[Standin]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def handle_any(self) -> None:
            parts = urlsplit(self.path)
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            try:
                body = json.loads(raw) if raw else None
                if body is not None and self.headers.get("Content-Type") != "application/json":
                    raise Refusal(406, "Content-Type header is not supported")
                standin.requests.append((self.command, self.path, body, dict(self.headers)))
                if standin.header and self.headers.get(standin.header[0]) != standin.header[1]:
                    raise Refusal(401, "missing authentication credentials")
                if standin.failing:
                    standin.failing -= 1
                    raise Refusal(503, "no shards are available")
                options = {name: values[0] for name, values in parse_qs(parts.query).items()}
                status, found = 200, standin.answer(self.command, unquote(parts.path), options, body)
            except json.JSONDecodeError:
                status, found = 400, standin.error(400, "the body is no JSON")
            except Refusal as refusal:
                status, found = refusal.status, standin.error(refusal.status, refusal.reason)
            sent = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_POST = do_PUT = do_DELETE = handle_any

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    standin.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield standin
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def known(body: Any, names: set[str]) -> None:
    if not isinstance(body, dict):
        raise Refusal(400, "request body is required")
    if unknown := sorted(set(body) - names):
        raise Refusal(400, f"unknown key [{unknown[0]}]")


class SearchServer(Standin):
    """Indexes by name: their mapping, and their documents by `_id`."""

    def __init__(self, kind: str, *, shard_doc: bool = True) -> None:
        super().__init__()
        self.kind = kind
        self.shard_doc = shard_doc
        self.indexes: dict[str, tuple[dict[str, Any], dict[str, dict[str, Any]]]] = {}
        self.points: dict[str, dict[str, dict[str, Any]]] = {}
        self.of_point: dict[str, str] = {}

    def error(self, status: int, reason: str) -> object:
        return {"error": {"root_cause": [], "type": "exception", "reason": reason}, "status": status}

    def answer(self, method: str, path: str, options: Mapping[str, str], body: Any) -> object:
        pit = "/_pit" if self.kind == "Elasticsearch" else "/_search/point_in_time"
        if (method, path) == ("GET", "/_cat/indices"):
            return [{"index": name} for name in [*self.indexes, ".internal"]]
        if method == "DELETE" and path == pit:
            ids = [body["id"]] if self.kind == "Elasticsearch" else body["pit_id"]
            return {"succeeded": all(self.points.pop(one, None) is not None for one in ids)}
        if (method, path) == ("POST", "/_search"):
            return self.search(None, body)
        match = re.fullmatch(r"/([^/]+)(/.*)", path)
        if not match or match[1] not in self.indexes:
            raise Refusal(404, f"no such index [{path}]")
        mapping, documents = self.indexes[match[1]]
        if (method, match[2]) == ("GET", "/_mapping"):
            return {match[1]: {"mappings": {"properties": mapping}}}
        if (method, match[2]) == ("GET", "/_count"):
            return {"count": len(documents), "_shards": {}}
        if (method, match[2]) == ("POST", pit) and "keep_alive" in options:
            name = f"point-{len(self.points)}-{match[1]}"
            self.points[name], self.of_point[name] = dict(documents), match[1]
            return {"id": name} if self.kind == "Elasticsearch" else {"pit_id": name, "creation_time": 1}
        if (method, match[2]) == ("POST", "/_search"):
            return self.search(match[1], body)
        raise Refusal(405 if match[2].startswith("/_") else 400, f"Incorrect HTTP method or path [{method} {path}]")

    def search(self, index: str | None, body: Any) -> object:
        known(body, {"query", "size", "from", "sort", "pit", "search_after", "track_total_hits", "_source"})
        pit = body.get("pit")
        if (pit is None) == (index is None):
            raise Refusal(400, "[indices] cannot be used with point in time")
        if pit and pit["id"] not in self.points:
            raise Refusal(404, "No search context found for id")
        first, size = body.get("from", 0), body.get("size", 10)
        if first + size > 10_000:
            raise Refusal(400, "Result window is too large, from + size must be less than or equal to: [10000]")
        mapping = self.indexes[index or self.of_point[pit["id"]]][0]
        documents = self.points[pit["id"]] if pit else self.indexes[index or ""][1]
        found = [(self.score(body["query"], mapping, key, source), key) for key, source in documents.items()]
        hits = [(score, key) for score, key in found if score is not None]
        order = list(documents)
        sort = next(iter(body["sort"][0])) if pit else "_score"
        if pit and sort == "_shard_doc" and not self.shard_doc:
            raise Refusal(400, "No mapping found for [_shard_doc] in order to sort on")
        places = {key: order.index(key) if sort == "_shard_doc" else key for _, key in hits}
        if pit:
            hits.sort(key=lambda hit: places[hit[1]])
            after = body.get("search_after")
            hits = [hit for hit in hits if after is None or places[hit[1]] > after[0]]
        else:
            hits.sort(key=lambda hit: -hit[0])
        excluded = set(body.get("_source", {}).get("excludes", ()))
        answered = [
            {
                "_index": index,
                "_id": key,
                "_score": score,
                "_source": {name: value for name, value in documents[key].items() if name not in excluded},
                **({"sort": [places[key]]} if pit else {}),
            }
            for score, key in hits[first : first + size]
        ]
        total = {"total": {"value": len(hits), "relation": "eq"}} if body.get("track_total_hits") is not False else {}
        return {
            "took": 1,
            "timed_out": False,
            "hits": {**total, "hits": answered},
            **({"pit_id": pit["id"]} if pit else {}),
        }

    def score(self, query: Any, mapping: Mapping[str, Any], key: str, source: Mapping[str, Any]) -> float | None:
        """Return how well a document fits, None when it does not."""
        if not isinstance(query, dict) or len(query) != 1:
            raise Refusal(400, "[bool] malformed query, expected one clause")
        ((kind, how),) = query.items()

        def of(inner: Any) -> float | None:
            return self.score(inner, mapping, key, source)

        if kind == "match_all":
            return 1.0
        if kind == "match_none":
            return None
        if kind == "ids":
            return 1.0 if key in how["values"] else None
        if kind == "terms":
            ((field, values),) = how.items()
            return 1.0 if set(map(str, exact(field, mapping, source))) & set(map(str, values)) else None
        if kind in ("term", "prefix"):
            ((field, inner),) = how.items()
            wanted = str(inner["value"])
            values = map(str, exact(field, mapping, source))
            return 1.0 if any(v == wanted or (kind == "prefix" and v.startswith(wanted)) for v in values) else None
        if kind == "constant_score":
            return None if of(how["filter"]) is None else float(how["boost"])
        if kind == "dis_max":
            return max((score for each in how["queries"] if (score := of(each)) is not None), default=None)
        if kind == "match_phrase":
            ((field, inner),) = how.items()
            return phrase(value_of(field, source), inner["query"])
        if kind == "multi_match":
            known(how, {"query", "fields", "type", "fuzziness", "prefix_length", "boost"})
            scores = []
            for field in how["fields"]:
                name, _, weight = field.partition("^")
                if mapping.get(name, {}).get("type") != "text":
                    raise Refusal(400, f"[multi_match] field [{name}] is no text")
                one = phrase if how["type"] == "phrase" else fuzzy if "fuzziness" in how else words
                if (score := one(value_of(name, source), how["query"])) is not None:
                    scores.append(score * float(weight or 1) * how.get("boost", 1))
            return max(scores, default=None)
        if kind == "bool":
            known(how, {"must", "should", "filter", "must_not", "minimum_should_match"})
            must = [of(each) for each in [*how.get("must", ()), *how.get("filter", ())]]
            should = [of(each) for each in how.get("should", ())]
            if any(score is None for score in must) or any(of(each) is not None for each in how.get("must_not", ())):
                return None
            needed = how.get("minimum_should_match", 0 if must else min(1, len(should)))
            met = [score for score in should if score is not None]
            if len(met) < needed:
                return None
            return sum(score or 0 for score in [of(each) for each in how.get("must", ())]) + sum(met)
        raise Refusal(400, f"unknown query [{kind}]")


def value_of(field: str, source: Mapping[str, Any]) -> Any:
    value: Any = source
    for name in field.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def exact(field: str, mapping: Mapping[str, Any], source: Mapping[str, Any]) -> list[Any]:
    """The values of a field as they stand; a keyword beside a text has the text's."""
    inner: Any = {"properties": mapping}
    name = field
    for part in field.split("."):
        if part in inner.get("properties", {}):
            inner = inner["properties"][part]
        elif part in inner.get("fields", {}):
            name, inner = field.rpartition(".")[0], inner["fields"][part]
        else:
            return []
    if inner.get("type") == "text":
        raise Refusal(400, f"term query on the text [{field}]")
    value = value_of(name, source)
    return value if isinstance(value, list) else [] if value is None else [value]


def tokens(text: Any) -> list[str]:
    return WORD.findall(str(text or "").lower())


def words(text: Any, query: str) -> float | None:
    there = tokens(text)
    met = [there.count(one) for one in set(tokens(query)) if one in there]
    return sum(met) / (1 + len(there) / 100) if met else None


def fuzzy(text: Any, query: str) -> float | None:
    allowed = {one: 0 if len(one) < 3 else 1 if len(one) < 6 else 2 for one in tokens(query)}
    there = tokens(text)
    met = [
        1.0 for one, most in allowed.items() if any(o[:1] == one[:1] and OSA.distance(o, one) <= most for o in there)
    ]
    return sum(met) or None


def phrase(text: Any, query: str) -> float | None:
    return 2.0 if f" {' '.join(tokens(query))} " in f" {' '.join(tokens(text))} " else None


class QdrantServer(Standin):
    """Collections by name: points by id, and which keys of the payload have a full-text index.

    `vectors` holds those of the points, by name where they have names; an `old` server knows no `/points/query`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.collections: dict[str, dict[Any, dict[str, Any]]] = {}
        self.indexed: dict[str, dict[str, str]] = {}
        self.vectors: dict[str, dict[Any, Any]] = {}
        self.old = False

    def error(self, status: int, reason: str) -> object:
        return {"status": {"error": reason}, "time": 0.0}

    def answer(self, method: str, path: str, options: Mapping[str, str], body: Any) -> object:
        return {"result": self.result(method, path, body), "status": "ok", "time": 0.001}

    def result(self, method: str, path: str, body: Any) -> object:
        if (method, path) == ("GET", "/collections"):
            return {"collections": [{"name": name} for name in self.collections]}
        match = re.fullmatch(r"/collections/([^/]+)(/.*)?", path)
        if not match or match[1] not in self.collections:
            raise Refusal(404, f"Not found: {path}")
        points = self.collections[match[1]]
        if (method, match[2]) == ("GET", None):
            schema = {key: {"data_type": kind, "points": 1} for key, kind in self.indexed[match[1]].items()}
            return {"status": "green", "points_count": len(points), "payload_schema": schema}
        if method != "POST":
            raise Refusal(405, "method not allowed")
        if match[2] == "/points/count":
            known(body, {"filter", "exact"})
            return {"count": sum(self.fits(body.get("filter"), match[1], payload) for payload in points.values())}
        if match[2] == "/points":
            known(body, {"ids", "with_payload", "with_vector"})
            for one in body["ids"]:
                if not (isinstance(one, int) and one >= 0) and not re.fullmatch(r"[0-9a-f-]{36}", str(one)):
                    raise Refusal(400, f"value {one} is not a valid point ID")
            found = [self.point(one, points[one]) for one in body["ids"] if one in points]
            if body.get("with_vector"):
                vectors = self.vectors.get(match[1], {})
                found = [{**each, "vector": vectors.get(each["id"], {})} for each in found]
            return found
        if match[2] == "/points/query" and not self.old:
            known(body, {"query", "using", "limit", "with_payload", "with_vector"})
            name, own = body.get("using", ""), body["query"]
            if own not in self.vectors[match[1]]:
                raise Refusal(404, f"Not found: No point with id {own} found")
            vector = self.vector(match[1], own, name)
            return {
                "points": [each for each in self.near(match[1], name, vector) if each["id"] != own][: body["limit"]]
            }
        if match[2] == "/points/search":
            known(body, {"vector", "limit", "with_payload", "with_vector"})
            given = body["vector"] if isinstance(body["vector"], dict) else {"name": "", "vector": body["vector"]}
            return self.near(match[1], given["name"], given["vector"])[: body["limit"]]
        if match[2] == "/points/scroll":
            known(body, {"filter", "limit", "offset", "with_payload", "with_vector"})
            if body.get("with_vector") is not False:
                raise Refusal(400, "the reader is to leave the vectors out")
            ids = sorted(points, key=str)
            ids = ids[ids.index(body["offset"]) :] if body.get("offset") is not None else ids
            ids = [one for one in ids if self.fits(body.get("filter"), match[1], points[one])]
            page, rest = ids[: body["limit"]], ids[body["limit"] :]
            return {
                "points": [self.point(one, points[one]) for one in page],
                "next_page_offset": rest[0] if rest else None,
            }
        raise Refusal(404, f"Not found: {path}")

    def point(self, key: Any, payload: Mapping[str, Any]) -> dict[str, Any]:
        return {"id": key, "payload": payload}

    def vector(self, collection: str, key: Any, name: str) -> list[float] | None:
        held = self.vectors[collection][key]
        if isinstance(held, dict) == (not name):
            raise Refusal(400, f"Wrong input: Not existing vector name error: {name}")
        return held.get(name) if isinstance(held, dict) else held

    def near(self, collection: str, name: str, own: Any) -> list[dict[str, Any]]:
        found = []
        for key in self.vectors[collection]:
            if vector := self.vector(collection, key, name):
                score = sum(map(mul, own, vector)) / (hypot(*own) * hypot(*vector))
                found.append({"id": key, "version": 0, "score": score})
        return sorted(found, key=lambda each: -each["score"])

    def fits(self, wanted: Any, collection: str, payload: Mapping[str, Any]) -> bool:
        if wanted is None:
            return True
        if "key" in wanted:
            known(wanted, {"key", "match"})
            known(wanted["match"], {"text", "value"})
            value = value_of(wanted["key"], payload)
            if "value" in wanted["match"]:
                return wanted["match"]["value"] in (value if isinstance(value, list) else [value])
            if self.indexed[collection].get(wanted["key"]) != "text":
                return wanted["match"]["text"] in str(value)
            return set(tokens(wanted["match"]["text"])) <= set(tokens(value))
        known(wanted, {"must", "should", "must_not"})

        def of(inner: Any) -> bool:
            return self.fits(inner, collection, payload)

        should = wanted.get("should")
        return (
            all(map(of, wanted.get("must", ())))
            and not any(map(of, wanted.get("must_not", ())))
            and (not should or any(map(of, should)))
        )
