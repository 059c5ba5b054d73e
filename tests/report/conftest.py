import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from esagent.config.schema import Config
from esagent.eval import Options, evaluate_run
from esagent.runs.directory import RunDirectory
from esagent.train import train
from tests.helpers.vector import vector_config, vector_parts

SUMMARY: dict[str, Any] = {
    "run": "runs/my study/20261130-124500-s0",
    "seconds": 245.3,
    "pool": {
        "base": 0.31,
        "trained": 0.55,
        "gain": 0.24,
        "gain_interval": [0.17, 0.31],
        "n": 64,
        "signals": {"planner": {"base": 0.4, "trained": 0.65}},
    },
    "heldout": {"base": 0.25, "trained": 0.2, "gain": -0.05, "gain_interval": [-0.11, 0.01], "n": 128},
    "selected_step": 12,
    "steps": 16,
    "tokens": {"prompt": 1_234_567, "completion": 9_876},
    "budget": {"kind": "tokens", "limit": 1.3e6, "spent": 1_244_443.0, "unspent": 55_557.0, "uncounted": 90_000.0},
    "ledger": {
        "training": {
            "episodes": 9216,
            "prompt_tokens": 1_234_567,
            "completion_tokens": 9_876,
            "shared_tokens": 1_000_000,
            "flops": 3.54e13,
            "seconds": 190.2,
            "model_flops": {"processed": 3.3e14, "es": 2.2e14, "grpo": 8.8e14},
        },
        "evaluation": {"episodes": 300, "prompt_tokens": 40_000, "completion_tokens": 2_000, "seconds": 20.0},
    },
    "tokens_per_second": 843.2,
    "peak_memory_bytes": 2**31,
    "decoding": "free text",
    "model": "smollm2-135m",
    "seed": 0,
}


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """A run directory with the files reports read; rewards differ from task to task."""
    rng = np.random.default_rng(0)
    base = rng.random(32)
    rows: list[dict[str, Any]] = []
    for split, steps in (("pool", (0, 2, 4)), ("validation", (0, 4)), ("heldout", (0, 4))):
        for step in steps:
            rewards = np.clip(base + 0.1 * step, 0, 1)
            tasks = [f"{split}-{i}" for i in range(32)]
            row = {"kind": "evaluation", "step": step, "split": split, "mean": rewards.mean()}
            rows.append(row | {"rewards": rewards.tolist(), "tasks": tasks})
    rows += [{"kind": "step", "step": step, "reward_mean": 0.3 + step / 10, "reward_std": 0.05} for step in range(4)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY))
    return tmp_path


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run made by the program itself, finished and evaluated, in the world without a language model."""
    folder = tmp_path_factory.mktemp("world") / "runs"
    config = vector_config(folder)
    run = RunDirectory(Path(train(config, build=vector_parts)["run"]))

    def build(config: Config) -> Any:
        parts = vector_parts(config)
        return parts.agent, parts.backend, parts.facts

    evaluate_run(run, config, config, Options("heldout", k=2), plain=True, build=build)
    return folder


@pytest.fixture
def runs(world: Path, tmp_path: Path) -> Path:
    """A copy of `world` to spoil."""
    return Path(shutil.copytree(world, tmp_path / "runs"))


@pytest.fixture
def run(runs: Path) -> Path:
    """The run in it."""
    (found,) = (runs / "vector").iterdir()
    return found
