"""Small real runs over tiny language models: everything as in a run of a user, but a second long."""

from __future__ import annotations

import json
from pathlib import Path

from esagent.config.names import MODULES
from esagent.config.schema import (
    AgentConfig,
    AlgorithmConfig,
    AllocationConfig,
    BackendConfig,
    BudgetConfig,
    Config,
    DType,
    ModelConfig,
    ScheduleConfig,
    Select,
    SigmaConfig,
    SpaceConfig,
    TaskConfig,
)
from esagent.runs.directory import RunDirectory
from esagent.train import train
from tests.helpers.guarded import UNLEARNED
from tests.helpers.tiny import make_tiny_folder


def share_of_vowels(answer: str, gold: str) -> float:
    """A scorer that even a random model can be trained on."""
    return sum(letter in "aeiou" for letter in answer) / max(1, len(answer))


def tiny_config(
    folder: Path, kind: str, space: SpaceConfig, agent: str = "modular", template: str | None = None
) -> Config:
    """A run in fp32 of two large steps on two questions; model and questions are made in `folder`."""
    model = make_tiny_folder(folder / "model", kind, chat_template=template)
    rows = [{"question": f"What is {i} + {i}?", "answer": str(2 * i)} for i in range(16)]
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Config(
        model=ModelConfig(name="tiny", source=str(model), dtype=DType.float32),
        backend=BackendConfig(threads=1),
        agent=AgentConfig(name=agent, max_turns=1, options={"max_new_tokens": dict.fromkeys(MODULES[agent], 16)}),
        task=TaskConfig(
            name="jsonl",
            path=str(folder / "questions.jsonl"),
            scorer="tests.helpers.trained:share_of_vowels",
            options={"tools": ["calculator"], "shares": [1.0, 0.0, 0.0]},
            pool=2,
            validation=0,
            heldout=0,
        ),
        algorithm=AlgorithmConfig(directions=4, step=ScheduleConfig(start=2.0)),
        allocation=AllocationConfig("joint"),
        sigma=SigmaConfig(start=0.5),
        space=space,
        budget=BudgetConfig(2, 2, evaluate_every=1, snapshot_every=1, select=Select.last),
        guards=UNLEARNED,  # the scorer is none that gold answers satisfy
        name="tiny",
        runs_dir=str(folder / "runs"),
    )


def tiny_run(
    folder: Path, kind: str, space: SpaceConfig, agent: str = "modular", template: str | None = None
) -> RunDirectory:
    """Train `tiny_config` and return its run."""
    config = tiny_config(folder, kind, space, agent, template)
    return RunDirectory(Path(train(config, json_mode=True)["run"]))
