"""The retriever of docs/retriever.md works as it stands there: as a function, over HTTP, and in a pool."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from annotator.services import retriever
from tests.browser.app import free_port
from tests.test_documentation import ROOT, as_shown, reader, shell

GUIDE = (ROOT / "docs" / "retriever.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def test_the_retriever_of_the_guide_answers_every_question(tmp_path: Path) -> None:
    folder = reader(tmp_path)
    search, server = blocks("python")
    (folder / "team_search.py").write_text(search, "utf-8")
    (walk,) = blocks("console")
    for part in re.split(r"^\$ ", walk, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        printed = shell(folder, command)
        assert as_shown(printed, shown), f"$ {command}\n{printed}"
    by_function = [json.loads(line) for line in (folder / "words.jsonl").read_text("utf-8").splitlines()[1:]]
    assert any(row["filtered_out"] for row in by_function)

    port = str(free_port())
    (folder / "server.py").write_text(server.replace("8000", port), "utf-8")
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    serving = subprocess.Popen([sys.executable, "server.py"], cwd=folder, env=environment, stderr=subprocess.DEVNULL)
    try:
        until_it_listens(port)
        (commands,) = re.findall(r"```\n(export .*?)```", GUIDE, re.DOTALL)
        printed = shell(folder, commands.replace("8000", port).replace("--depth 20", "--depth 20 --gold 1"))
    finally:
        serving.terminate()
        serving.wait(timeout=10)
    assert "20 of 20 questions answered" in printed
    served = {
        row["query_id"]: row for row in map(json.loads, (folder / "served.jsonl").read_text("utf-8").splitlines()[1:])
    }
    for row in by_function:
        if row["query_id"] in served:
            assert served[row["query_id"]]["results"] == row["results"]


def until_it_listens(port: str) -> None:
    for _ in range(200):
        try:
            asked = json.dumps({"question": "?", "k": 1}).encode()
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", data=asked, timeout=5):
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the server of the guide does not answer")


@pytest.mark.parametrize("name", [retriever.HOOK, retriever.HOSTS, retriever.TOKEN])
def test_every_variable_of_the_environment_is_in_the_guide(name: str) -> None:
    assert f"`{name}`" in GUIDE
