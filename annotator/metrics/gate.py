"""The gate: rules from a YAML file that decide whether a run may ship, slice by slice.

Whatever a rule names and nobody knows is an error; a slice that is too small warns and never passes in silence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf, isfinite
from typing import Any, Final

from annotator.errors import InputError, Problem
from annotator.gold.textfile import name_of, read_text
from annotator.metrics.compare import FEWEST_FOR_5_PERCENT, p_words, randomisation_p
from annotator.metrics.evaluation import Evaluation, mean
from annotator.metrics.measures import parse
from annotator.metrics.operations import latencies, operation, operation_names
from annotator.metrics.runcontent import NUMBER

__all__ = ["Check", "QueryFigure", "Rule", "Verdict", "judge", "parse_gate", "read_gate"]

LIMITS: Final = ("min", "max", "max_drop", "max_increase")
AGAINST_BASELINE: Final = ("max_drop", "max_increase")
KEYS: Final = {"measure", "where", "severity", "min_queries", *LIMITS}
_COUNT: Final = re.compile("0*[1-9][0-9]{0,17}", re.ASCII)
ROUNDING: Final = 1e-12
"""Means of equal values may differ in the last bits; that is neither a drop nor an increase."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the gate file. `kind` is which of the four limits it sets."""

    measure: str
    kind: str
    limit: float
    severity: str
    where: Mapping[str, str] = field(default_factory=dict)
    min_queries: int = 1
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.measure} {self.kind} {self.limit:g}"

    @property
    def scope(self) -> str:
        """The slice it speaks of, in words."""
        return ", ".join(f"{facet}={value}" for facet, value in self.where.items()) or "all queries"


@dataclass(frozen=True, slots=True)
class QueryFigure:
    """The figure of a single query, and the baseline's where the rule compares."""

    query_id: str
    now: float
    before: float | None


@dataclass(frozen=True, slots=True)
class Check:
    """What a rule says of a run. `value` is the figure that met the limit: itself, its drop or its increase.

    `queries` are those that moved a figure beyond its limit, the worst first; empty for a rule that was kept.
    """

    rule: Rule
    run: str
    value: float | None
    n: int
    outcome: str
    reason: str
    queries: tuple[QueryFigure, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """All checks, and `release`, `warn` or `block`: the worst of them."""

    verdict: str
    checks: tuple[Check, ...]


def read_gate(path: str) -> tuple[Rule, ...]:
    """Read a gate file. Raises InputError naming every unknown key, severity and misplaced value."""
    return parse_gate(read_text(path), name_of(path))


def parse_gate(text: str, path: str) -> tuple[Rule, ...]:
    """Read the text of a gate file; `path` is its name in messages. Raises InputError as `read_gate` does."""
    import yaml

    problems: list[Problem] = []
    try:
        root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise InputError(f"{path} is no gate.", problems=[Problem(f"not YAML: {error.problem}", path, line)]) from None
    except yaml.YAMLError as error:
        raise InputError(f"{path} is no gate: {' '.join(str(error).split())}.") from None
    fields = root.value if isinstance(root, yaml.MappingNode) else []
    if [key.value for key, _ in fields] != ["rules"] or not isinstance(fields[0][1], yaml.SequenceNode):
        raise InputError(f"{path} is no gate.", hint="It has one key, rules, with a list of rules.")
    rules = [_rule(node, path, problems) for node in fields[0][1].value]
    if not rules:
        raise InputError(f"{path} has no rules.", hint="A gate without rules would let everything through.")
    if problems:
        raise InputError(f"{path} cannot be used as a gate.", problems=problems)
    return tuple(rule for rule in rules if rule)


def _rule(node: Any, path: str, problems: list[Problem]) -> Rule | None:
    import yaml

    before = len(problems)
    line = node.start_mark.line + 1

    def fault(message: str, field: str = "", value: str = "", mend: str = "") -> None:
        problems.append(Problem(message, path, line, field, value, mend))

    if not isinstance(node, yaml.MappingNode):
        fault("not a rule: an object with measure and a limit is expected")
        return None
    given = {_key(key): value for key, value in node.value}
    for twice in _repeated(node):
        fault("a key is given twice", twice)
    for unknown in sorted(given.keys() - KEYS):
        fault("unknown key", unknown, mend=f"There are {', '.join(sorted(KEYS))}.")
    texts = {key: value.value if isinstance(value, yaml.ScalarNode) else "" for key, value in given.items()}
    kinds = [kind for kind in LIMITS if kind in given]
    if len(kinds) != 1:
        fault("a rule has one limit", mend=f"Give one of {', '.join(LIMITS)}.")
    measure = texts.get("measure", "")
    if not measure:
        fault("a rule has a measure", "measure")
    if texts.get("severity", "block") not in ("block", "warn"):
        fault("neither block nor warn", "severity", texts["severity"])
    limit = _number(texts.get(kinds[0], "")) if kinds else None
    if kinds and limit is None:
        fault("not a number", kinds[0], texts[kinds[0]])
    at_least = texts.get("min_queries", "1")
    if _COUNT.fullmatch(at_least) is None:
        fault("not a whole number from 1", "min_queries", at_least)
    where = given.get("where")
    scalars = [(key.value, value.value) for key, value in where.value] if isinstance(where, yaml.MappingNode) else []
    if where is not None and not (scalars and all(isinstance(value, str) for pair in scalars for value in pair)):
        fault("not an object of facets and values", "where")
    elif where is not None:
        for facet in _repeated(where):
            fault("the facet is given twice", "where", facet, "A rule asks for one value of each facet.")
    if len(problems) > before or limit is None:
        return None
    return Rule(measure, kinds[0], limit, texts.get("severity", "block"), dict(scalars), int(at_least), path, line)


def _key(node: Any) -> str:
    return node.value if isinstance(node.value, str) else "(not text)"


def _repeated(mapping: Any) -> list[str]:
    return [name for name, count in Counter(_key(key) for key, _ in mapping.value).items() if count > 1]


def _number(text: str) -> float | None:
    number = float(text) if NUMBER.fullmatch(text) else inf
    return number if isfinite(number) else None


def judge(rules: Sequence[Rule], evaluations: Iterable[Evaluation], baseline: Evaluation | None = None) -> Verdict:
    """Check every rule against every run.

    Raises InputError when a rule names a measure, facet or value that there is not, or needs a baseline that is not
    given.
    """
    scored = tuple(evaluations)
    problems = [problem for rule in rules for problem in _mismatches(rule, scored[0], baseline)]
    if problems:
        raise InputError("The gate does not fit this evaluation.", problems=problems)
    checks = tuple(_check(rule, evaluation, baseline) for evaluation in scored for rule in rules)
    outcomes = {check.outcome for check in checks}
    worst = "block" if "block" in outcomes else "warn" if outcomes & {"warn", "too_small"} else "release"
    return Verdict(worst, checks)


def _mismatches(rule: Rule, evaluation: Evaluation, baseline: Evaluation | None) -> Iterable[Problem]:
    gold = evaluation.gold
    fault = partial(Problem, file=rule.file, line=rule.line)
    if rule.measure not in evaluation.measures and rule.measure not in operation_names(evaluation.k):
        yield fault(_unknown_measure(rule.measure, evaluation), field="measure", value=rule.measure)
    for facet, value in rule.where.items():
        if facet not in gold.facets:
            mend = f"There are {', '.join(gold.facets)}." if gold.facets else "This gold set has none."
            yield fault("no query has this facet", field="where", value=facet, mend=mend)
            continue
        values = sorted({gold.facet_value(query_id, facet) for query_id in gold.details} - {""})
        if value not in values:
            mend = f"There are {', '.join(values)}."
            yield fault(f"no query has this value of {facet}", field="where", value=value, mend=mend)
    if rule.kind in AGAINST_BASELINE and baseline is None:
        yield fault(f"{rule.kind} needs a baseline", field=rule.kind, mend="Give one with --baseline.")


def _unknown_measure(name: str, evaluation: Evaluation) -> str:
    try:
        cut = parse(name).k
    except InputError as error:
        return f"{error} Figures of operation are {', '.join(operation_names(evaluation.k))}".rstrip(".")
    return f"this evaluation has no cut-off {cut}; add -k {cut}"


def _check(rule: Rule, evaluation: Evaluation, baseline: Evaluation | None) -> Check:
    query_ids = [
        query_id
        for query_id in evaluation.per_query
        if all(evaluation.gold.facet_value(query_id, facet) == value for facet, value in rule.where.items())
    ]
    n = _measured(rule, evaluation, query_ids)
    now = _figure(rule, evaluation, query_ids)
    before = _figure(rule, baseline, query_ids) if baseline is not None else None
    if n < rule.min_queries or now is None:
        counted = f"{n} {'query' if n == 1 else 'queries'} with a figure"
        reason = f"{counted}, fewer than {rule.min_queries}: nothing can be said"
        return Check(rule, evaluation.run.name, None, n, "too_small", reason)
    if rule.kind in AGAINST_BASELINE and before is None:
        return Check(rule, evaluation.run.name, None, n, "too_small", "the baseline has no such figure")
    if rule.kind in AGAINST_BASELINE and before is not None:
        moved = before - now if rule.kind == "max_drop" else now - before
        way = "fell" if now < before else "rose"
        said = f"{way} from {before:.4f} to {now:.4f}{_significance(rule, evaluation, baseline, query_ids)}"
        said = said if now != before else f"unchanged at {now:.4f}"
        value, kept = moved, moved <= rule.limit + ROUNDING
    else:
        value, said = now, f"is {now:.4f}"
        kept = now >= rule.limit - ROUNDING if rule.kind == "min" else now <= rule.limit + ROUNDING
    reason = f"{said}; {rule.kind} is {rule.limit:g}"
    if kept:
        return Check(rule, evaluation.run.name, value, n, "pass", reason)
    to_blame = _beyond(rule, evaluation, baseline if rule.kind in AGAINST_BASELINE else None, query_ids)
    return Check(rule, evaluation.run.name, value, n, rule.severity, reason, to_blame)


def _beyond(
    rule: Rule, evaluation: Evaluation, baseline: Evaluation | None, query_ids: Sequence[str]
) -> tuple[QueryFigure, ...]:
    """The queries that are worse than the limit, or than the baseline, the worst first."""
    found: list[tuple[float, QueryFigure]] = []
    for query_id in query_ids:
        now = _figure(rule, evaluation, [query_id])
        before = _figure(rule, baseline, [query_id]) if baseline is not None else None
        if now is None or (baseline is not None and before is None):
            continue
        excess = now - (rule.limit if before is None else before)
        excess = -excess if rule.kind in ("min", "max_drop") else excess
        if excess > ROUNDING:
            found.append((-excess, QueryFigure(query_id, now, before)))
    return tuple(figure for _, figure in sorted(found, key=lambda one: (one[0], one[1].query_id)))


def _measured(rule: Rule, evaluation: Evaluation, query_ids: Sequence[str]) -> int:
    """How many queries of the scope the figure is made of."""
    return len(latencies(evaluation, query_ids)) if rule.measure.startswith("latency_") else len(query_ids)


def _figure(rule: Rule, evaluation: Evaluation, query_ids: Sequence[str]) -> float | None:
    if not query_ids:
        return None
    if rule.measure in evaluation.measures:
        return mean(evaluation.per_query[query_id][rule.measure] for query_id in query_ids)
    return operation(rule.measure, evaluation, query_ids)


def _significance(rule: Rule, evaluation: Evaluation, baseline: Evaluation | None, query_ids: Sequence[str]) -> str:
    """The p-value of a change, so that nobody takes chance for a trend; the limit decides all the same."""
    if baseline is None or rule.measure not in evaluation.measures:
        return ""
    moved = [
        evaluation.per_query[query_id][rule.measure] - baseline.per_query[query_id][rule.measure]
        for query_id in query_ids
    ]
    few = ", too few for any p < 0.05" if len(moved) < FEWEST_FOR_5_PERCENT else ""
    return f" ({p_words(randomisation_p(moved))}, n = {len(moved)}{few})"
