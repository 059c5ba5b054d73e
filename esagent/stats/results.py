"""What a run directory says about its run: settings, how far it is, and its value of a metric. Nothing else is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import yaml

from esagent.config.export import to_dict
from esagent.config.files import is_file, is_folder
from esagent.config.nearest import suggest
from esagent.config.schema import Config
from esagent.core.ledger import cost_of
from esagent.errors import ConfigError
from esagent.runs.atomic import reporting
from esagent.runs.directory import RunDirectory
from esagent.runs.find import find_run
from esagent.runs.jsonio import parse
from esagent.runs.metrics import read_rows
from esagent.runs.trust import doubts
from esagent.stats.arms import episodes_per_step, flatten, training_budget
from esagent.stats.auc import auc


@dataclass(frozen=True)
class Result:
    """A run directory: `config` is flat and complete, `summary` None until the run is finished."""

    path: Path
    config: Mapping[str, Any]
    summary: Mapping[str, Any] | None

    @property
    def seed(self) -> int:
        """Training seed."""
        return int(self.config["seed"])

    @property
    def unit(self) -> str:
        """What its training budget is counted in: episodes, tokens, flops or seconds."""
        return training_budget(self.config)[0]

    @property
    def budget(self) -> float:
        """Its training budget, in that unit."""
        return training_budget(self.config)[1]

    @property
    def spent_share(self) -> float | None:
        """Share of the budget that the steps that count have spent; None when the summary does not say."""
        budget = (self.summary or {}).get("budget")
        return float(budget["spent"]) / float(budget["limit"]) if budget and budget["limit"] else None


@dataclass(frozen=True)
class Measure:
    """A metric of the trained agent, and the same of the base agent."""

    value: float
    base: float

    @property
    def gain(self) -> float:
        """How much training added."""
        return self.value - self.base


def find_results(texts: Sequence[str], runs_dir: str | Path = "runs") -> list[Result]:
    """The runs that `texts` name: run directories, folders of them, names under `runs_dir`, or run ids; each once.

    Raises ConfigError with one line per text that names no run.
    """
    found: dict[Path, Result] = {}
    problems: list[str] = []
    for text in texts:
        try:
            paths = _paths(text, Path(runs_dir))
            found |= {path.resolve(): read_result(path) for path in paths if path.resolve() not in found}
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(*problems)
    return list(found.values())


def read_result(path: Path) -> Result:
    """The run at `path`. Raises ConfigError, a line for each file, when it does not hold what the run wrote."""
    summary = path / "summary.json"
    with reporting("read", path):
        try:
            config: Any = yaml.safe_load((path / "config.yaml").read_text())
            result: Any = parse(summary.read_bytes()) if summary.exists() else None
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise ConfigError(f"run {path} is damaged: {' '.join(str(error).split())}") from error
    if not isinstance(config, Mapping) or not isinstance(result, Mapping | None):
        raise ConfigError(f"run {path} is damaged: config.yaml or summary.json does not hold what it should")
    problems = [f"run {path}: {name} {text}" for name, text in doubts(RunDirectory(path))]
    if problems:
        raise ConfigError(*problems)
    flat = flatten(to_dict(Config())) | flatten(config)  # a run of an earlier version lacks later settings
    return Result(path, flat, result)


def measure(result: Result, metric: str, budget: float) -> Measure:
    """The metric of a finished run, and of its base agent.

    auc: area under the pool curve of the unperturbed agent over the first `budget` of training, in the run's unit,
    divided by it; for what a run left of its budget its last value holds. final: mean reward on the pool after the last
    step. heldout: mean reward of the chosen state on held-out tasks. Raises ConfigError when the run does not hold it.
    """
    if metric == "heldout":
        part = (result.summary or {}).get("heldout")
        if not part:
            raise ConfigError(f"{result.path}: has no held-out result (task.heldout={result.config['task.heldout']})")
        return Measure(float(part["trained"]), float(part["base"]))
    rows = read_rows(result.path / "metrics.jsonl")
    curve = _pool_curve(result, rows)
    base, final = curve[min(curve)], curve[max(curve)]
    if metric == "final":
        return Measure(final, base)
    if budget <= 0:
        raise ConfigError(f"{result.path}: trained for no step, so it has no learning curve; use --metric final")
    steps = sorted(curve)
    spent = _spent(result, rows, steps[-1])
    return Measure(auc([spent[s] for s in steps], [curve[s] for s in steps], budget), base)


def _pool_curve(result: Result, rows: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    """{updates done: mean pool reward}, with both ends. Of rows written twice the later one counts."""
    pool = [row for row in rows if row.get("split") == "pool"]
    last = (result.summary or {}).get("steps", result.config["budget.steps"])
    curve = {int(row["step"]): float(row["mean"]) for row in pool if row.get("mean") is not None}
    missing = {0, int(last)} - curve.keys()
    if missing:
        raise ConfigError(f"{result.path}: metrics.jsonl has no evaluation of the pool after step {min(missing)}")
    return curve


def _spent(result: Result, rows: Sequence[Mapping[str, Any]], steps: int) -> list[float]:
    """What had been spent after 0, 1, ... `steps` updates, in the unit of the budget."""
    if result.config["budget.steps"] is not None:
        return [float(step * episodes_per_step(result.config)) for step in range(steps + 1)]
    costs = {int(row["step"]): cost_of(row, result.unit) for row in rows if row["kind"] == "step"}
    missing = set(range(steps)) - costs.keys()
    if missing:
        raise ConfigError(f"{result.path}: metrics.jsonl has no row of step {min(missing)}")
    return list(accumulate((costs[step] for step in range(steps)), initial=0.0))


def _paths(text: str, runs_dir: Path) -> list[Path]:
    if is_file(Path(text) / "config.yaml"):
        return [Path(text)]
    for folder in filter(is_folder, (Path(text), runs_dir / text)):
        below = [config.parent for pattern in ("*/config.yaml", "*/*/config.yaml") for config in folder.glob(pattern)]
        if below:
            return sorted(below)
    if is_folder(text):
        raise ConfigError(f"{text}: holds no run (a folder with config.yaml)")
    names = sorted({config.parent.parent.name for config in runs_dir.glob("*/*/config.yaml")})
    if not names:
        raise ConfigError(f"{text}: no such run, and {runs_dir} holds none")
    try:
        return [find_run(text, runs_dir).path]
    except ConfigError as error:
        raise ConfigError(f"{text}: no such folder or run; {suggest(text, names)}") from error
