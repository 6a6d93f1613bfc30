"""`evaluate`: score runs against a gold set. Needs no workspace unless the gold set is named by its number."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from annotator.errors import InputError, NotFound, StoreError, one_line

if TYPE_CHECKING:
    from annotator.gold.goldset import GoldSet
    from annotator.metrics.report import Report
    from annotator.model import Chunk, GoldLabel, Run

__all__ = ["command"]

LEVELS = ("chunk", "document", "span")
FORMATS = ("text", "json", "markdown", "junit")


@click.command(
    epilog="Example: python -m annotator evaluate --gold gold/policies-v3 --run run.trec -k 5 -k 10 --format json"
)
@click.option(
    "--gold",
    required=True,
    help="Release folder or zip, gold.jsonl, YAML, qrels, TSV, JSON, or a version by number or tag.",
)
@click.option("--run", "runs", multiple=True, required=True, help="TREC, JSON, JSONL trace or table; - is stdin.")
@click.option("--baseline", metavar="FILE", help="A run to compare every other run with, on the same gold set.")
@click.option("-k", "cuts", multiple=True, type=click.IntRange(min=1), default=(5, 10), show_default=True)
@click.option("--threshold", type=click.IntRange(min=1), default=1, show_default=True, help="Relevant from this grade.")
@click.option("--level", type=click.Choice(LEVELS), default="chunk", show_default=True, help="What is to be found.")
@click.option(
    "--chunks",
    metavar="FILE",
    help="The run's chunks (JSONL or table): texts for span (of the workspace, where it is named), documents.",
)
@click.option("--by", multiple=True, metavar="FACET", help="Figures for each value of this facet as well.")
@click.option("--per-query", is_flag=True, help="Figures of every query as well (JSON).")
@click.option("--gate", metavar="FILE", help="Rules (YAML) that decide: exit code 1 when one blocks.")
@click.option("--strict", is_flag=True, help="A gate that only warns is exit code 1 too.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("-o", "--output", metavar="FILE", help="Write to a file instead of standard output.")
@click.pass_context
def command(
    ctx: click.Context,
    gold: str,
    runs: Sequence[str],
    baseline: str | None,
    cuts: Sequence[int],
    threshold: int,
    level: str,
    chunks: str | None,
    by: Sequence[str],
    per_query: bool,
    gate: str | None,
    strict: bool,
    form: str,
    as_json: bool,
    output: str | None,
) -> None:
    """Score runs against a gold set: measures at every cut-off, with what was judged and what is missing."""
    # one short job whose values all live to its end: looking for cycles only costs time
    gc.disable()
    from annotator.gold.chunkfile import read_chunks
    from annotator.gold.goldset import GoldSet
    from annotator.gold.textfile import name_of
    from annotator.metrics.evaluation import Evaluation, evaluate
    from annotator.metrics.gate import read_gate
    from annotator.metrics.report import report
    from annotator.metrics.runcontent import Kept
    from annotator.metrics.runs import Run

    if [gold, *runs, baseline, gate, chunks].count("-") > 1:
        raise InputError("Standard input is asked for more than once.", hint="It can be read once: name files.")
    if form == "junit" and gate is None:
        raise InputError("JUnit has one test case per gate rule.", hint="Give a gate with --gate FILE.")
    rules = read_gate(gate) if gate else ()
    version = _version(gold)
    gold_set = GoldSet.load(_release(version) if version else gold)

    table = read_chunks(chunks) if chunks else None
    drifted = _drifted(gold_set, table if level != "span" else None, bool(version))

    # documents and quotes are looked for in the whole list
    kept = Kept(max(cuts), gold_set.grades) if level == "chunk" else None

    def scored(path: str) -> Evaluation:
        run = Run.load(path, kept=kept)
        # a workspace that was named has the texts of the live table
        of_workspace = level == "span" and table is None and (version or ctx.obj)
        texts = _texts(run) if of_workspace else table
        evaluation = evaluate(gold_set, run, k=cuts, threshold=threshold, by=by, level=level, chunks=texts)
        if not gold_set.judged_queries:
            raise InputError(
                f"Every query of {name_of(gold)} is marked unanswerable: nothing to score.",
                hint="Measures need at least one query with a judged chunk.",
            )
        if not evaluation.counts["answered"]:
            raise InputError(
                f"{name_of(path)} shares no query with {name_of(gold)}: nothing to score.",
                hint="Are the query ids written alike?",
            )
        return evaluation

    before = scored(baseline) if baseline else None
    evaluations = [scored(path) for path in runs]
    if len({evaluation.run.name for evaluation in evaluations}) < len(evaluations):
        # two files of one name in two folders: only the path tells them apart
        evaluations = [
            replace(evaluation, run=replace(evaluation.run, name=path))
            for evaluation, path in zip(evaluations, runs, strict=True)
        ]
    _KEPT.extend((before, *evaluations))
    result = report(evaluations, baseline=before, gate=rules, drifted=drifted)
    warned = dict.fromkeys(warning for run in result.runs for warning in run.evaluation.warnings)
    for warning in warned:
        click.echo(f"Warning: {one_line(warning)}", err=True)
    _write(_printed(result, "json" if as_json else form, per_query), output)
    verdict = result.verdict.verdict if result.verdict else "release"
    ctx.exit(1 if verdict == "block" or (strict and verdict == "warn") else 0)


_KEPT: list[object] = []
"""Holds what was read until the process ends: taking a million values apart one by one costs a tenth of the time."""


def _printed(result: Report, form: str, per_query: bool) -> str:
    if form == "json":
        from annotator.metrics.report import as_json

        return as_json(result, per_query=per_query)
    from annotator.metrics.rendering import as_junit, as_markdown, as_text

    if form == "junit" and result.verdict is not None:
        return as_junit(result, result.verdict)
    return as_markdown(result) if form == "markdown" else as_text(result)


def _version(gold: str) -> str:
    """Return the number of the version that is meant; "" for a file or folder."""
    if gold == "-" or os.path.exists(gold):
        return ""
    if gold.isdecimal():
        return gold
    from annotator.cli import chosen_workspace

    workspace = chosen_workspace()
    if not workspace.exists:
        return ""
    from annotator.services.gold import tags

    return str(tags(workspace).get(gold, ""))


def _release(version: str) -> str:
    """Find the release folder of a version number in the workspace's `releases/`, or have it written again."""
    from annotator.cli import chosen_workspace

    workspace = chosen_workspace()
    folder = os.fspath(workspace.releases)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    found = [name for name in names if name.removesuffix(".zip").endswith(f"-v{version}")]
    folders = [name for name in found if not name.endswith(".zip")] or found
    if len(folders) == 1:
        return os.path.join(folder, folders[0])
    if folders:
        raise NotFound(f"Version {version} is not one but {', '.join(folders)}.", hint="Name one by its path.")
    if workspace.exists:  # the folder was lost, or a release was killed at its last step: the database has it all
        from annotator.services import gold

        return os.fspath(gold.ensure_folder(workspace, gold.version(workspace, version).version))
    raise NotFound(f"There is no version {version} in {folder}.", hint=f"There are {', '.join(names) or 'none'}.")


def _texts(run: Run) -> dict[str, Chunk]:
    """The run's chunks as the workspace has them."""
    from annotator.cli import chosen_workspace
    from annotator.services.preview import texts

    workspace = chosen_workspace()
    workspace.open()
    return texts(workspace, list(dict.fromkeys(one for answer in run.queries.values() for one in answer.chunk_ids)))


def _drifted(gold: GoldSet, table: Mapping[str, Chunk] | None, numbered: bool) -> frozenset[str]:
    """Warn of judged chunks that are other ones now, as far as can be known here, and return their ids.

    A file of chunks may hold but those retrieved, so nothing counts as gone there; the workspace knows all of them.
    """
    changed: set[str] = set()
    if table is not None:
        labels = [label for query_id in gold.grades for label in gold.labels(query_id) if label.sha256]
        changed = {one.chunk_id for one in labels if one.chunk_id in table and _other_text(table[one.chunk_id], one)}
    elif numbered:
        from annotator.cli import chosen_workspace
        from annotator.services.drift import against

        workspace = chosen_workspace()
        if workspace.exists:  # a folder of releases will do to be scored against
            try:
                changed = {one.judged.chunk_id for one in against(workspace, gold)}
            except StoreError as error:  # as on a disk that may only be read: the verdict needs the release alone
                click.echo(f"Warning: drift was not looked for. {error}", err=True)
    if changed:
        named = one_line(", ".join(sorted(changed)[:3])) + (" …" if len(changed) > 3 else "")
        click.echo(
            f"Warning: {len(changed)} judged chunks changed or vanished since they were judged ({named}): the labels "
            "may no longer fit. `drift` says more.",
            err=True,
        )
    return frozenset(changed)


def _other_text(chunk: Chunk, label: GoldLabel) -> bool:
    return bool(chunk.text) and chunk.sha256 != label.sha256


def _write(text: str, output: str | None) -> None:
    """Write to standard output, or whole to a file: a reader never sees half of it."""
    if output is None or output == "-":
        sys.stdout.write(text)
        return
    from pathlib import Path

    from annotator.gold.archive import write_file

    # as on standard output: what is no character, as from a file name in another encoding, is shown as its escape
    write_file(Path(output).absolute(), text.encode("utf-8", "backslashreplace"))
