from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotator.errors import InputError
from annotator.model import Chunk
from annotator.search.run import search
from annotator.store.database import Workspace
from tests.search.conftest import sync

Filled = Callable[..., Workspace]

POLICIES = (
    Chunk(
        "policy-v4#refunds/enterprise",
        "Refunds requested later than 30 days after purchase by enterprise customers need the approval of the VP "
        "Finance, see REF-2024/07.",
        "policy-v4",
        "Refund policy",
        0,
        {"version": "v4", "year": 2024, "tags": ["legal", "money"], "draft": False},
    ),
    Chunk(
        "policy-v3#refunds",
        "Refunds are approved by support. Error E-4107 is shown. Clause 4.2.1 applies.",
        "policy-v3",
        "Refund policy (old)",
        0,
        {"version": "v3"},
    ),
    Chunk("Vacation 7", "Holidays are counted in days; the manager approves them.", "Vacation", "Holidays"),
    Chunk("中文/1", "2020年疫苗接种计划在北京开始。水很重要。", "中文", "疫苗计划"),
    Chunk("th", "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย"),
    Chunk("fr", "L’élève naïf a mangé une pêche à Besançon"),
)


def found(workspace: Workspace, text: str, **options: object) -> list[str]:
    return [hit.chunk_id for hit in search(workspace, text, **options).hits]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    made = Workspace(tmp_path_factory.mktemp("search") / "home")
    made.create()
    sync(made, POLICIES)
    return made


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Who approves enterprise refunds after 30 days?", "policy-v4#refunds/enterprise"),
        ("REF-2024/07", "policy-v4#refunds/enterprise"),
        ("ref–2024/07?", "policy-v4#refunds/enterprise"),
        ("REF 2024 07", "policy-v4#refunds/enterprise"),
        ("E-4107", "policy-v3#refunds"),
        ("e4107", "policy-v3#refunds"),
        ("clause 4.2.1", "policy-v3#refunds"),
        ("4.2", "policy-v3#refunds"),
        ("policy-v4#refunds", "policy-v4#refunds/enterprise"),
        ("policy-v4#refunds/enterprise", "policy-v4#refunds/enterprise"),
        ("policy-v3", "policy-v3#refunds"),
        ("vacation 7", "Vacation 7"),
        ("eleve besancon", "fr"),
        ("ÉLÈVE", "fr"),
        ("疫苗", "中文/1"),
        ("什么时候开始接种疫苗？", "中文/1"),
        ("水", "中文/1"),
        ("เมืองหลวงของไทย", "th"),
        ("holiday", "Vacation 7"),
    ],
)
def test_what_is_meant_comes_first(policies: Workspace, text: str, first: str) -> None:
    assert found(policies, text)[0] == first


def test_phrases_hold_in_order_only(policies: Workspace) -> None:
    assert found(policies, '"approval of the VP"') == ["policy-v4#refunds/enterprise"]
    assert found(policies, '"VP approval"') == []
    assert found(policies, '"疫苗接种计划"') == ["中文/1"]
    assert found(policies, '"接种疫苗"') == []


def test_titles_do_not_run_into_texts(policies: Workspace) -> None:
    assert len(found(policies, '"refund policy"')) == 2
    assert found(policies, '"policy refunds"') == []


def test_words_left_out_are_out(policies: Workspace) -> None:
    assert found(policies, "refunds -support") == ["policy-v4#refunds/enterprise"]
    assert found(policies, 'refunds -"VP Finance"') == ["policy-v3#refunds"]
    assert found(policies, "refunds -E-4107") == ["policy-v4#refunds/enterprise"]


def test_filters_narrow_and_match_exactly(policies: Workspace) -> None:
    assert found(policies, "refunds version:v3") == ["policy-v3#refunds"]
    assert found(policies, "refunds", where={"version": "v4"}) == ["policy-v4#refunds/enterprise"]
    assert found(policies, "refunds", where={"year": "2024", "tags": "money", "draft": "false"}) == [
        "policy-v4#refunds/enterprise"
    ]
    assert found(policies, "refunds", doc_id="policy-v3") == ["policy-v3#refunds"]
    assert found(policies, "refunds doc:policy-v3") == ["policy-v3#refunds"]
    assert found(policies, "refunds doc:Policy-V3") == []
    assert found(policies, "doc:policy-v3") == ["policy-v3#refunds"]


def test_filters_add_nothing_to_the_score(policies: Workspace) -> None:
    plain = {hit.chunk_id: hit.score for hit in search(policies, "refunds").hits}
    narrowed = search(policies, "refunds", where={"version": "v4"}).hits[0]
    assert narrowed.score == pytest.approx(plain[narrowed.chunk_id])


def test_slips_are_forgiven_in_fuzzy_mode(policies: Workspace) -> None:
    assert search(policies, "refnds aproval").total == 0
    assert found(policies, "refnds", mode="fuzzy") == ["policy-v3#refunds", "policy-v4#refunds/enterprise"]
    assert found(policies, "aproval refnds", mode="fuzzy") == found(policies, "approval refunds")
    assert found(policies, "enterprize", mode="fuzzy") == ["policy-v4#refunds/enterprise"]
    assert found(policies, "E-4108", mode="fuzzy") == []


def test_right_words_rank_the_same_first_in_fuzzy_mode(policies: Workspace) -> None:
    assert found(policies, "manager holidays", mode="fuzzy")[0] == "Vacation 7"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("policy-v3#refunds", ["policy-v3#refunds", "policy-v4#refunds/enterprise"]),  # exact, then near
        ("POLICY-V", ["policy-v4#refunds/enterprise", "policy-v3#refunds"]),  # what begins so, in table order
        ("polcy-v3#refund", ["policy-v3#refunds"]),
        ("enterprise", ["policy-v4#refunds/enterprise"]),
        ("Vacation", ["Vacation 7"]),
        ("中文", ["中文/1"]),
        ("zzz", []),
    ],
)
def test_ids_are_found_exactly_by_beginning_and_nearly(policies: Workspace, text: str, expected: list[str]) -> None:
    assert found(policies, text, mode="id") == expected


def test_pages_of_ids_follow_each_other(policies: Workspace) -> None:
    whole = search(policies, "policy-v3#refunds", mode="id")
    pages = [search(policies, "policy-v3#refunds", mode="id", limit=1, offset=at) for at in range(3)]
    assert [hit.chunk_id for page in pages for hit in page.hits] == [hit.chunk_id for hit in whole.hits]
    assert {page.total for page in pages} == {whole.total}


def test_pages_follow_each_other(policies: Workspace) -> None:
    whole = found(policies, "refunds approves")
    assert [found(policies, "refunds approves", limit=1, offset=at) for at in range(4)] == [
        *([one] for one in whole),
        [],
    ]
    assert search(policies, "refunds approves", limit=1).total == len(whole) == 3


def test_a_hit_shows_where_it_matched(policies: Workspace) -> None:
    hit = search(policies, "vp").hits[0]
    assert (hit.doc_id, hit.title) == ("policy-v4", "Refund policy")
    assert [hit.snippet[start:end] for start, end in hit.spans] == ["VP"]


@pytest.mark.parametrize(
    ("text", "options", "advice"),
    [
        ("", {}, "Type words"),
        ("xyzzy", {}, "Try other words"),
        ("refnds", {}, "Did you mean “refunds”"),
        ('"approval VP"', {}, "Without the quotation marks 3 chunks match"),
        ("refunds -policy", {}, "Without the words left out by “-”, 2 chunks match"),
        ("refunds", {"where": {"version": "v9"}}, "There is nothing at all in version “v9”"),
        ("holidays", {"where": {"version": "v3"}}, "1 chunk elsewhere"),
        ("holidays doc:nope", {}, "There is nothing at all in the document “nope”"),
        ("zzz", {"mode": "id"}, "No id is like this one"),
        ("xyzzy", {"mode": "fuzzy"}, "Try other words"),
    ],
)
def test_finding_nothing_says_what_to_try(
    policies: Workspace, text: str, options: dict[str, object], advice: str
) -> None:
    result = search(policies, text, **options)  # type: ignore[arg-type]
    assert (result.total, result.hits) == (0, ())
    assert advice in result.advice


def test_an_empty_workspace_says_so(workspace: Workspace) -> None:
    assert "no chunks to search yet" in search(workspace, "anything").advice


def test_an_unknown_mode_is_refused(policies: Workspace) -> None:
    with pytest.raises(InputError, match="words, fuzzy, id"):
        search(policies, "x", mode="magic")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(st.text(), st.text(alphabet='"-:doc versin\x00\ud800水ไ#4.e')),
    st.sampled_from(["words", "fuzzy", "id"]),
    st.integers(-1, 20),
)
def test_no_text_fails(policies: Workspace, text: str, mode: str, offset: int) -> None:
    result = search(policies, text, mode=mode, offset=offset, doc_id=text[:1], where={text[1:2]: text})
    assert result.hits or result.advice or offset > 0
    result = search(policies, text, mode=mode)
    assert (not result.hits) == bool(result.advice)


@pytest.mark.parametrize("mode", ["words", "fuzzy", "id"])
@pytest.mark.parametrize(
    "text",
    ["word " * 20_000, "é" * 100_000, "日本" * 50_000, '"' * 100_000, "-a " * 30_000, "a:b#" * 25_000, "\x00" * 99],
)
def test_a_hundred_thousand_characters_are_no_trouble(policies: Workspace, text: str, mode: str) -> None:
    search(policies, text, mode=mode)


HOSTILE = ("007", "a b", "x/y#z?", "naïve", "🙂", "a\u202eb", "'; DROP", "*", "[", "(", "a" * 500, "AND", "id:1")


def test_strange_ids_are_found_by_their_id(filled: Filled) -> None:
    workspace = filled(*(Chunk(one, "the same text", one) for one in HOSTILE))
    for one in HOSTILE:
        assert found(workspace, one, mode="id")[0] == one
        assert one in found(workspace, "text", doc_id=one)


def test_a_text_of_a_megabyte_is_found_and_shown(filled: Filled) -> None:
    workspace = filled("needle " + "hay " * 250_000, "x" * 1_000_000, "水" * 300_000)
    assert found(workspace, "needle") == ["c0"]
    assert len(search(workspace, "needle").hits[0].snippet) < 300
    assert found(workspace, "水") == ["c2"]


def test_metadata_that_is_no_plain_value_does_not_stop_the_index(filled: Filled) -> None:
    workspace = filled(
        Chunk("a", "text", metadata={"nested": {"a": 1}, "none": None, "long": "x" * 100_000, "list": [1, "b", [2]]})
    )
    assert found(workspace, "text list:b") == ["a"]
    assert found(workspace, "text", where={"none": "null"}) == ["a"]


def test_the_workspace_folder_may_have_any_name(tmp_path: Path) -> None:
    made = Workspace(tmp_path / "ünï cödé")
    made.create()
    sync(made, [Chunk("a", "text")])
    assert found(made, "text") == ["a"]


@pytest.mark.parametrize("chunk_id", ["doc:12#3", "version:v4", "“quoted”", '"quoted"', "-minus", "a  b"])
def test_an_id_that_looks_like_something_else_is_found_by_id(filled: Filled, chunk_id: str) -> None:
    workspace = filled(*POLICIES, Chunk(chunk_id, "Some text.", "d"))
    assert found(workspace, chunk_id, mode="id")[0] == chunk_id
