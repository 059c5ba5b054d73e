"""Episodes per second of a population of 16 on vLLM: in one batch, one member at a time, and on backend hf.

    batch     members are LoRA slots, all of them in one batch
    reload    the same members one after the other, each one's whole weights handed to vLLM's own reload_weights
    hf        one batch of backend hf

A process each, one after the other, fp32, the embedded model; the members are cores, a module each. The first episode
warms up. Run by `make bench-engine`.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from esagent.cli.environment import prepare

prepare()

import torch
from torch import Tensor

from esagent.agents.registry import make_agent
from esagent.backends.registry import make_backend
from esagent.config.compose import compose
from esagent.config.schema import PromptStyle
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation
from esagent.rollout import rollout
from esagent.spaces.registry import make_space
from esagent.tasks.registry import make_family

MEMBERS = 16
TASKS = 3
SIGMA = 0.3
CORES = ["space=core", "space.layers=18-29", "space.sites=[down_proj]", "space.positions=all", "model.dtype=float32"]
VLLM = ["backend=vllm", "backend.engine.kv_cache_gb=1", "backend.engine.max_model_len=1024"]
KINDS = {"batch": [*CORES, *VLLM], "reload": ["model.dtype=float32", "space.positions=all", *VLLM], "hf": CORES}
"""Settings. An engine that is reloaded needs no slots: it is started for vectors, of which it gets none."""


def population(modules: Sequence[str]) -> list[Perturbation]:
    """Mirrored pairs, each of which perturbs one module."""
    owners = itertools.cycle(modules)
    return [
        Perturbation(direction_seed(7, 0, pair), sign, {module: SIGMA})
        for pair, module in zip(range(MEMBERS // 2), owners, strict=False)
        for sign in (1, -1)
    ]


def weights(model: Any, space: Any, module: str, member: Perturbation) -> Iterator[tuple[str, Tensor]]:
    """All weights of the model by their Hugging Face names, those of `module` under a member."""
    changes, _ = space.dense(space.parameters.values(module, member))
    for name, tensor in model.state_dict().items():
        change = changes.get(name.removesuffix(".weight"))
        yield name, tensor if change is None else tensor + change


def reload(llm: Any, items: list[tuple[str, Tensor]]) -> None:
    """Through vLLM's own path, which wants every weight."""
    llm.collective_rpc(lambda worker: worker.model_runner.reload_weights(weights_iterator=iter(items)))
    llm.reset_prefix_cache()


def child(kind: str) -> dict[str, float]:
    """Seconds of the population's episodes, and how many there were."""
    config = compose(KINDS[kind])
    agent = make_agent(config.agent, PromptStyle.raw)
    family = make_family(config.task)
    backend = make_backend(config, agent.modules)
    warm, *tasks = family.tasks("train", 7, TASKS + 1)
    rollout(agent, family, backend, (), [warm])
    members = population(agent.modules)
    start = time.perf_counter()
    if kind == "reload":
        # A member's other modules run under the base weights: without a batch that tells them apart, they take turns
        # too. Only its own module's weights are loaded here, which spares this way half of the reloads that it needs.
        model, llm = backend._network.model, backend._vllm._llm  # type: ignore[attr-defined]
        space = make_space(compose(CORES).space, model, agent.modules)
        for member in members:
            (module,) = member.sigma
            reload(llm, list(weights(model, space, module, member)))
            rollout(agent, family, backend, (), tasks)
    else:
        rollout(agent, family, backend, members, tasks)
    return {"seconds": time.perf_counter() - start, "episodes": MEMBERS * TASKS, "threads": torch.get_num_threads()}


def main() -> None:
    """Print one JSON object."""
    found = {}
    for kind in KINDS:
        command = [sys.executable, "-m", "tests.bench.vllm", kind]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        found[kind] = json.loads(done.strip().splitlines()[-1])
    rates = {kind: row["episodes"] / row["seconds"] for kind, row in found.items()}
    out = {
        kind: {
            "episodes/s": round(rates[kind], 3),
            "times reload": round(rates[kind] / rates["reload"], 2),
            "threads": row["threads"],
        }
        for kind, row in found.items()
    }
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(child(sys.argv[1])))
    else:
        main()
