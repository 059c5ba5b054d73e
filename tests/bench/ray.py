"""Two workers on two cores against one worker on one core, one thread each, on the embedded model.

    python -m tests.bench.ray               the default job's space, members in one batch
    python -m tests.bench.ray core full     cores at all positions; the whole model, one member after the other

Each pool is fresh, its workers are pinned to a core each, and one population on other tasks goes before the one that is
timed. A step is the population's episodes and the update; bytes are those of the timed step. On a machine that does
other work too, "processor seconds" (this process's and the busiest worker's) say what an idle one would show.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import psutil

from esagent.cli.environment import prepare

prepare()

from esagent.agents.registry import make_agent
from esagent.backends.ray.backend import RayBackend
from esagent.backends.registry import make_backend
from esagent.config.compose import compose
from esagent.config.schema import PromptStyle
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.rollout import rollout
from esagent.tasks.registry import make_family

SPACES = {
    "bias": [],
    "core": ["space=core", "space.positions=all", "sigma.start=0.1"],
    "full": ["space=full", "sigma.start=0.001"],
}
DIRECTIONS = {"bias": 8, "core": 4, "full": 3}
TASKS = 12


def measure(space: str, workers: int) -> dict[str, float]:
    """Seconds and messages of one step."""
    config = compose([*SPACES[space], "backend=ray", f"backend.workers={workers}", "backend.threads=1"])
    agent, family = make_agent(config.agent, PromptStyle.raw), make_family(config.task)
    backend = make_backend(config, agent.modules)
    assert isinstance(backend, RayBackend)
    for core, handle in zip(sorted(os.sched_getaffinity(0)), backend.pool.workers, strict=False):
        if handle.ready:
            psutil.Process(handle.ready.pid).cpu_affinity([core])
    tasks = family.tasks("train", 7, 2 * TASKS)
    try:
        for step in range(2):
            backend.mark()
            start, before = time.perf_counter(), processor_seconds(backend)
            members = population(space, [block.name for block in backend.blocks()], config.sigma.start, step)
            rollout(agent, family, backend, members, tasks[step * TASKS : (step + 1) * TASKS])
            backend.apply(update(members, step))
            seconds = time.perf_counter() - start
            busy = [after - spent for after, spent in zip(processor_seconds(backend), before, strict=True)]
        said = backend.report()
    finally:
        backend.close()
    return {
        "seconds": round(seconds, 2),
        "processor seconds": round(busy[0] + max(busy[1:]), 2),
        "message bytes of a worker": said["message_bytes"],
        "text bytes": said["text_bytes"],
        "calls": said["calls"],
    }


def processor_seconds(backend: RayBackend) -> list[float]:
    """That this process and each worker have had so far: they do not hang on what else the machine does."""
    pids = [os.getpid(), *(handle.ready.pid for handle in backend.pool.workers if handle.ready)]
    return [sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids]


def population(space: str, blocks: list[str], sigma: float, step: int) -> list[Perturbation]:
    """Antithetic pairs; each perturbs one block in turn."""
    return [
        Perturbation(direction_seed(7, step, pair), sign, {blocks[pair % len(blocks)]: sigma})
        for pair in range(DIRECTIONS[space])
        for sign in (1, -1)
    ]


def update(members: list[Perturbation], step: int) -> Update:
    """A small step along every direction."""
    terms = tuple(UpdateTerm(member.seed, dict.fromkeys(member.sigma, 1.0)) for member in members[::2])
    return Update(step, terms, {name: 1e-3 * value for m in members for name, value in m.sigma.items()})


def main() -> None:
    """Print one JSON object: by space, both pools and the ratio of their times."""
    out: dict[str, dict[str, Any]] = {}
    for space in sys.argv[1:] or ["bias"]:
        one, two = measure(space, 1), measure(space, 2)
        ratios = {kind: round(one[kind] / two[kind], 2) for kind in ("seconds", "processor seconds")}
        out[space] = {"one worker": one, "two workers": two, "times as fast": ratios}
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
