"""Settings, Pool: gathering candidates, setting the retriever's address, and trying it."""

from __future__ import annotations

import html
from urllib.parse import urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from annotator.services import pools, retriever
from annotator.store.database import Workspace
from tests.services.hook_server import as_json, serving
from tests.ui.conftest import Visit, shown, sound

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (retriever.HOOK, retriever.HOSTS, retriever.TOKEN):
        monkeypatch.delenv(name, raising=False)


def opened(visit: Visit) -> AppTest:
    return sound(visit("settings").segmented_control(key="settings.part").set_value("Pool").run())


def test_a_pool_is_built_and_its_size_told(demo: Workspace, visit: Visit) -> None:
    app = opened(visit)
    assert "none built yet" in shown(app)
    sound(app.button(key="pools.build").click().run())
    last = pools.last_build(demo)
    assert last is not None
    assert (set(last.runs), last.search, last.retriever, last.depth) == ({"bm25", "dense", "hybrid"}, "words", "", 20)
    assert "candidates for 6 open questions" in shown(app)
    assert "not judged by anybody yet" in shown(app)
    assert pools.pool(demo, "Ana", "KW-025").depth == 20


def test_without_a_source_the_page_says_what_is_missing(demo: Workspace, visit: Visit) -> None:
    app = opened(visit)
    app.multiselect[0].set_value([])
    next(one for one in app.selectbox if one.key and one.key.startswith("pools.search")).set_value("")
    sound(app.button(key="pools.build").click().run())
    assert "A pool needs a source." in shown(app)
    assert pools.last_build(demo) is None


def test_an_address_is_refused_until_its_host_is_allowed(
    demo: Workspace, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(lambda asked: as_json(["faq-billing#cancel", HOSTILE])) as url:
        app = opened(visit)
        app.text_input(key="retriever.url:").set_value(url)
        sound(app.run())
        sound(app.button(key="retriever.save").click().run())
        assert "is not one that may be asked" in shown(app)
        assert retriever.endpoint(demo) == ""
        monkeypatch.setenv(retriever.HOSTS, urlsplit(url).netloc)
        app = opened(visit)
        sound(app.text_input(key="retriever.url:").set_value(url).run())
        sound(app.button(key="retriever.save").click().run())
        assert retriever.endpoint(demo) == url
        sound(app.text_input(key="retriever.trial").set_value("Cancel?").run())
        sound(app.button(key="retriever.ask").click().run())
        assert "faq-billing#cancel" in shown(app)
        assert html.escape(HOSTILE) in shown(app)
        assert HOSTILE not in shown(app)
        app.checkbox[0].set_value(True)
        sound(app.button(key="pools.build").click().run())
        assert "Left out: 1 chunk ids that are not in the chunk table." in shown(app)
    sound(app.button(key="retriever.ask").click().run())
    assert "cannot be reached" in shown(app)


def test_a_hook_of_the_process_is_shown_and_not_changed_here(
    demo: Workspace, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(retriever.HOOK, "mysearch.hook:retrieve")
    app = opened(visit)
    assert "mysearch.hook:retrieve" in shown(app)
    assert not [one for one in app.button if one.key == "retriever.save"]
