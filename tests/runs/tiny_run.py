"""The quickstart on a tiny model: the real loop, agent, tools and `hf` backend in fp32, a run of a second or two."""

from __future__ import annotations

import os
from pathlib import Path

from esagent.config.compose import compose
from esagent.config.schema import Config
from esagent.core.episode import Score, Task, Trajectory
from esagent.runs.directory import RunDirectory
from esagent.runs.find import list_runs
from esagent.tasks.toolbox.family import ToolboxFamily
from esagent.train import resume, train


class Letters(ToolboxFamily):
    """Toolbox tasks that a model without knowledge earns by degrees: by the share of vowels in what a module wrote."""

    name = "letters"

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        texts: dict[str, str] = {}
        for turn in trajectory.turns:
            texts[turn.module] = texts.get(turn.module, "") + turn.completion.text
        signals = {module: sum(c in "aeiouAEIOU" for c in text) / max(1, len(text)) for module, text in texts.items()}
        return Score(sum(signals.values()) / 4, signals)


def tiny_config(model: Path, runs_dir: Path, *overrides: str) -> Config:
    """The quickstart's composition over the tiny model in the folder `model`, smaller in every number."""
    modular = ["agent.constrained=true", "agent.options={max_new_tokens:{planner:6,selector:6,caller:8,synthesizer:6}}"]
    sizes = ["task.pool=6", "task.validation=4", "task.heldout=4", "algorithm.directions=4", "budget.tasks_per_step=3"]
    return compose(
        [
            "experiment=quickstart",
            f"model={model}",
            "model.dtype=float32",
            "backend.threads=1",
            "space.layers=2-3",
            *(modular if "agent=react" not in overrides else []),
            "task.target=tests.runs.tiny_run:Letters",
            *sizes,
            "budget.evaluate_every=2",
            "budget.snapshot_every=1",
            "budget.select=validation",
            f"runs_dir={runs_dir}",
            *overrides,
        ]
    )


def go_on(config: Config) -> RunDirectory:
    """Start `config`, or resume what there is of it, to the end. The log of all attempts is beside the runs."""
    log = os.open(f"{config.runs_dir}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 2)
    runs = list_runs(config.runs_dir)
    if runs:
        resume(runs[-1].path, json_mode=True)
    else:
        train(config, json_mode=True)
    (run,) = list_runs(config.runs_dir)
    return run
