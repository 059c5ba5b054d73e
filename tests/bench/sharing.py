"""What each kind of sharing saves: the same population on the same tasks, with one switch off at a time.

Run by `make bench`. All figures come from one process, one after another, after a warm-up; quote the ratios.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from esagent.cli.environment import prepare

prepare()

from esagent.agents.registry import make_agent
from esagent.backends.registry import make_backend
from esagent.config.compose import compose
from esagent.config.schema import Config, PromptStyle
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation
from esagent.rollout import rollout
from esagent.tasks.registry import make_family

SWITCHES = ("nothing off", "backend.share_prefix", "backend.share_requests", "backend.share_trunk", "backend.draft")
MEMBERS_PER_MODULE = 4
TASKS = 8


def population(config: Config, modules: Sequence[str]) -> list[Perturbation]:
    """Antithetic pairs that perturb one module each, with the job's own sigma."""
    return [
        Perturbation(
            direction_seed(7, 0, 100 * at + pair), sign, {module: config.sigma.start * config.sigma.modules[module]}
        )
        for at, module in enumerate(modules)
        for pair in range(MEMBERS_PER_MODULE // 2)
        for sign in (1, -1)
    ]


def measure(overrides: list[str]) -> tuple[float, float]:
    """(seconds, FLOPs) of one population, the backend fresh but for one warm-up episode of another task."""
    config = compose(overrides)
    agent = make_agent(config.agent, PromptStyle.raw)
    family = make_family(config.task)
    backend = make_backend(config, agent.modules)
    warm, *tasks = family.tasks("train", 7, TASKS + 1)
    rollout(agent, family, backend, (), [warm])
    members = population(config, agent.modules)
    before, start = backend.cost().flops, time.perf_counter()
    rollout(agent, family, backend, members, tasks)
    return time.perf_counter() - start, backend.cost().flops - before


def main() -> None:
    """Print one JSON object: per positions and switch, seconds, TFLOP and the ratio to nothing switched off."""
    out: dict[str, dict[str, dict[str, float]]] = {}
    for positions in ("answer", "all"):
        rows = {}
        for switch in (*SWITCHES, "all off"):
            off = SWITCHES[1:] if switch == "all off" else () if switch == SWITCHES[0] else (switch,)
            seconds, flops = measure([f"space.positions={positions}", *(f"{name}=false" for name in off)])
            rows[switch] = {"seconds": round(seconds, 2), "tflop": round(flops / 1e12, 3)}
        for row in rows.values():
            row["times as long"] = round(row["seconds"] / rows[SWITCHES[0]]["seconds"], 2)
        out[positions] = rows
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
