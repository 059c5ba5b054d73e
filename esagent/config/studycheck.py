"""From the plain data of a study file to a `Study`; every mistake is found and told at once."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

from esagent.config.nearest import suggest, suggest_path
from esagent.config.paths import free_prefix, schema_paths
from esagent.config.study import CLAIMS, FAMILY, METRICS, RULES, TESTS, WITH_MARGIN, Hypothesis, Study, dotted
from esagent.errors import ConfigError

_KEYS = ("name", "metric", "alpha", "margin", "seeds", "test", "baseline", "arms", "exclude", "hypotheses", "notes")
_NEEDED = ("name", "seeds", "baseline", "arms", "hypotheses")
_OWN = [item.name for item in fields(Hypothesis) if item.name != "id"] + ["notes"]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PLAIN_RULES = ("unfinished", "fork")


def parse_study(data: Any, path: str, sha256: str) -> Study:
    """Raises ConfigError, one line per mistake: where, the value, what would be valid."""
    if not isinstance(data, Mapping):
        raise ConfigError(f"is a {type(data).__name__}, not a mapping with {', '.join(_NEEDED)}")
    reader = _Reader()
    for key in data:
        reader.one_of(str(key), _KEYS, "")
    reader.problems += [f"{key}: is missing" for key in _NEEDED if key not in data]
    name = str(data.get("name", "study"))
    if not _NAME.fullmatch(name):
        reader.problems.append(f"name={name!r}: letters, digits, '.', '_' and '-', 100 at most")
    metric = reader.one_of(data.get("metric", "auc"), METRICS, "metric=")
    alpha = reader.number(data.get("alpha", 0.05), "alpha", 0.0, 0.5)
    margin = None if data.get("margin") is None else reader.number(data["margin"], "margin", 0.0, math.inf)
    arms = {str(label): reader.settings(label, own) for label, own in reader.mapping(data.get("arms"), "arms").items()}
    baseline = reader.one_of(data.get("baseline", ""), arms, "baseline=") if arms and "baseline" in data else ""
    study = Study(
        name=name,
        path=path,
        sha256=sha256,
        metric=metric,
        alpha=alpha,
        margin=margin,
        seeds=reader.seeds(data.get("seeds", [0])),
        test=reader.one_of(data.get("test", TESTS[0]), TESTS, "test="),
        baseline=baseline,
        arms=arms,
        exclude=reader.rules(data.get("exclude") or []),
        hypotheses=tuple(
            reader.hypothesis(str(id_), own, arms, (metric, margin, baseline))
            for id_, own in reader.mapping(data.get("hypotheses"), "hypotheses").items()
        ),
    )
    if reader.problems:
        raise ConfigError(*reader.problems)
    return study


class _Reader:
    """Reads values and gathers what is wrong with them; what it returns for a wrong one is of the right type."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def one_of(self, value: Any, choices: Collection[str], where: str) -> str:
        if str(value) not in choices:
            self.problems.append(f"{where}{value}: {suggest(str(value), list(choices))}")
        return str(value)

    def number(self, value: Any, where: str, above: float, below: float) -> float:
        good = isinstance(value, int | float) and not isinstance(value, bool) and above < value < below
        if not good:
            limits = f"between {above:g} and {below:g}" if math.isfinite(below) else f"above {above:g}"
            self.problems.append(f"{where}={value}: a number {limits}, as in {'0.05' if below < 1 else '0.02'}")
        return float(value) if good else 0.05

    def mapping(self, value: Any, where: str) -> Mapping[Any, Any]:
        if value is None:  # a key that is missing is told by itself
            return {}
        if not isinstance(value, Mapping) or not value:
            self.problems.append(f"{where}: at least one, as a mapping from its name")
            return {}
        return value

    def settings(self, label: Any, value: Any) -> dict[str, Any]:
        """{dotted setting: value} of an arm; nested mappings are taken as dots."""
        if not isinstance(value, Mapping):
            self.problems.append(f"arms.{label}: settings are needed, as in {{allocation.name: uniform}}")
            return {}
        flat = dotted(value)
        sections = {path.rpartition(".")[0] for path in schema_paths()}
        known = [path for path in schema_paths() if path not in sections]
        for path in flat:
            if path not in known and not free_prefix(path):
                self.problems.append(f"arms.{label}.{path}: is no setting; {suggest_path(path, known)}")
        return flat

    def seeds(self, value: Any) -> tuple[int, ...]:
        found = re.fullmatch(r"(\d+)-(\d+)", value) if isinstance(value, str) else None
        if found:
            value = list(range(int(found[1]), int(found[2]) + 1))
        whole = isinstance(value, list) and all(isinstance(seed, int) and not isinstance(seed, bool) for seed in value)
        if not whole or not value or len(set(value)) < len(value):
            self.problems.append(f"seeds={value}: whole numbers, each once, as in 0-19 or [0, 1, 2]")
            return (0,)
        return tuple(value)

    def rules(self, value: Any) -> dict[str, float]:
        found: dict[str, float] = {}
        for entry in value if isinstance(value, list) else [value]:
            rule, threshold = next(iter(entry.items())) if isinstance(entry, Mapping) and entry else (entry, None)
            if self.one_of(rule, RULES, "exclude.") not in RULES:
                continue
            if (threshold is None) != (rule in _PLAIN_RULES):
                needs = "takes no number" if rule in _PLAIN_RULES else "needs a number, as in {base_above: 0.9}"
                self.problems.append(f"exclude.{rule}: {needs}")
            elif threshold is not None:
                threshold = self.number(threshold, f"exclude.{rule}", 0.0, 1.0)
            found[str(rule)] = threshold or 0.0
        return found

    def hypothesis(
        self, id_: str, own: Any, arms: Mapping[str, Any], defaults: tuple[str, float | None, str]
    ) -> Hypothesis:
        where = f"hypotheses.{id_}"
        if not isinstance(own, Mapping):
            self.problems.append(f"{where}: needs claim and arms, as in {{claim: no_better, arms: [soft]}}")
            own = {"claim": CLAIMS[0], "arms": []}
        for key in own:
            self.one_of(key, _OWN, f"{where}.")
        metric, margin, baseline = defaults
        claim = self.one_of(own.get("claim", ""), CLAIMS, f"{where}.claim=")
        against = own.get("against", baseline)
        if against != baseline and arms:
            self.one_of(against, arms, f"{where}.against=")
        x = self.levels(own.get("x"), where) if claim == "linear" else {}
        named = list(x) if claim == "linear" else self.names(own.get("arms"), f"{where}.arms")
        for arm in named if arms else []:
            self.one_of(arm, arms, f"{where}.arms.")
        for key in ("x", "r_squared") if claim != "linear" else ("arms", "margin"):
            if key in own:
                self.problems.append(f"{where}.{key}: the claim {claim} takes none")
        if against in named and claim != "linear":
            self.problems.append(f"{where}.arms: {against} is what it is compared with")
        margin = margin if claim in WITH_MARGIN else 0.0
        if own.get("margin") is not None:
            margin = self.number(own["margin"], f"{where}.margin", 0.0, math.inf)
        elif margin is None:
            self.problems.append(f"{where}.margin: the claim {claim} needs one, here or for the whole study")
        return Hypothesis(
            id=id_,
            claim=claim,
            arms=tuple(named),
            against=str(against),
            metric=self.one_of(own.get("metric", metric), METRICS, f"{where}.metric="),
            margin=margin or 0.0,
            family=str(own.get("family", FAMILY)),
            x=x,
            r_squared=self.number(own["r_squared"], f"{where}.r_squared", 0.0, 1.0) if "r_squared" in own else 0.0,
        )

    def names(self, value: Any, where: str) -> list[str]:
        listed: Sequence[Any] = value if isinstance(value, list) else [value]
        if value is None or not listed or len({str(item) for item in listed}) < len(listed):
            self.problems.append(f"{where}={value}: names of arms, each once, as in [soft, argmax]")
            return []
        return [str(item) for item in listed]

    def levels(self, value: Any, where: str) -> dict[str, float]:
        """{arm: x} of a linear claim."""
        good = isinstance(value, Mapping) and all(isinstance(x, int | float) for x in value.values())
        if not good or len(set(value.values())) < 3:
            self.problems.append(
                f"{where}.x={value}: arms with three different numbers or more, as in {{starved: 0.2}}"
            )
            return {}
        return {str(arm): float(x) for arm, x in value.items()}
