"""Who may import whom, read from the syntax trees: the rooms of the package and the direction between them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

BASE = {"errors", "model"}
MAY_IMPORT = {
    "errors": set[str](),
    "model": set[str](),
    "tables": BASE,
    "store": BASE,
    "search": BASE | {"store"},
    "review": BASE,
    "gold": BASE | {"review"},
    "metrics": BASE | {"gold"},
    "services": BASE | {"tables", "store", "search", "review", "gold", "metrics"},
    "ui": BASE | {"services"},
    "cli": {"errors", "services", "metrics", "gold"},
    "__main__": {"cli"},
    "__init__": {"gold", "metrics"},
}
PAGES_MAY_IMPORT = {"ui", "services", "model"}
STANDARD_ONLY = {"errors", "model"}
ONLY_WITH_SCREEN = {"ui"}
METRICS_NEVER = {"numpy", "pandas", "streamlit", "sqlite3"}
EVALUATE_NEVER = {"streamlit", "pandas", "numpy", "sqlite_utils"}
NO_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
PAGE_LINES = 110


def modules() -> list[Path]:
    return sorted((ROOT / "annotator").rglob("*.py"))


def pages() -> list[Path]:
    return [ROOT / "streamlit_app.py", *sorted((ROOT / "pages").glob("*.py"))]


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def room(path: Path) -> str:
    return path.relative_to(ROOT / "annotator").parts[0].removesuffix(".py")


def imports(path: Path, *, everywhere: bool = True) -> Iterator[str]:
    """Yield the full names imported; not those for the type checker only, nor (unless everywhere) in functions."""
    yield from _imports(ast.parse(path.read_text("utf-8")).body, everywhere)


def _imports(body: list[ast.stmt], everywhere: bool) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the package in full"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        elif everywhere or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "orelse", "finalbody", "handlers"):
                for inner in getattr(node, field, []):
                    yield from _imports(inner.body if isinstance(inner, ast.ExceptHandler) else [inner], everywhere)


def rooms_used(path: Path) -> set[str]:
    found = set()
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "annotator" and len(parts) > 1:
            found.add(parts[1])
    return found


def programs_used(path: Path, *, everywhere: bool = True) -> set[str]:
    return {name.split(".")[0] for name in imports(path, everywhere=everywhere)}


@pytest.mark.parametrize("path", modules(), ids=shown)
def test_a_room_imports_only_the_rooms_before_it(path: Path) -> None:
    allowed = MAY_IMPORT[room(path)] | {room(path)}
    assert rooms_used(path) <= allowed, f"{shown(path)} may import {sorted(allowed)}"


@pytest.mark.parametrize("path", [path for path in modules() if room(path) not in ONLY_WITH_SCREEN], ids=shown)
def test_only_the_screen_knows_streamlit(path: Path) -> None:
    assert not programs_used(path) & {"streamlit", "altair"}


@pytest.mark.parametrize("path", [path for path in modules() if room(path) in STANDARD_ONLY], ids=shown)
def test_the_base_needs_the_standard_library_only(path: Path) -> None:
    import sys

    assert programs_used(path) <= sys.stdlib_module_names


@pytest.mark.parametrize("path", [path for path in modules() if room(path) == "metrics"], ids=shown)
def test_metrics_need_no_store_and_no_frames(path: Path) -> None:
    assert not programs_used(path) & METRICS_NEVER


@pytest.mark.parametrize("path", modules(), ids=shown)
def test_slow_libraries_are_imported_inside_functions(path: Path) -> None:
    assert not programs_used(path, everywhere=False) & {
        "sqlite_utils",
        "pandas",
        "numpy",
        "pyarrow",
        "psycopg",
        "duckdb",
        "lancedb",
    }


@pytest.mark.parametrize("path", [path for path in modules() if room(path) != "store"], ids=shown)
def test_the_sql_of_the_workspace_lives_in_the_store(path: Path) -> None:
    if room(path) == "tables":  # reads live tables, not the workspace
        return
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    said = [
        ast.unparse(call.args[0]).strip("'\"")
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("execute", "executemany") and call.args
    ]
    # these steer a transaction or the file; they know nothing of the tables
    assert [one for one in said if not one.startswith(("SAVEPOINT", "ROLLBACK TO", "RELEASE", "PRAGMA"))] == []


@pytest.mark.parametrize("path", [*modules(), *pages()], ids=shown)
def test_no_room_for_what_has_no_name(path: Path) -> None:
    assert not {part.removesuffix(".py") for part in path.relative_to(ROOT).parts} & NO_NAMES


@pytest.mark.parametrize("path", pages(), ids=shown)
def test_pages_are_thin(path: Path) -> None:
    assert rooms_used(path) <= PAGES_MAY_IMPORT
    assert len(path.read_text("utf-8").splitlines()) <= PAGE_LINES


@pytest.mark.parametrize("path", [*modules(), *pages()], ids=shown)
def test_a_module_opens_by_saying_what_it_owns(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), f"{shown(path)} does not say what it is for"
