"""What a dense step needs beside plain inference: peak memory of the same batch with and without a search.

Two child processes run the same episodes with the same engine over the embedded model. One has a search space of
additive vectors, evaluates the unperturbed agent and is plain inference; the other searches the whole model, runs two
members and applies an update. The copy that the search keeps of the weights (the fp32 master, or the backup in the
model's own format) is stated and counted apart. Fails above LIMIT. Run by `make bench`.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys

from esagent.cli.environment import prepare

prepare()

from esagent.agents.registry import make_agent
from esagent.backends.registry import make_backend
from esagent.config.compose import compose
from esagent.config.schema import PromptStyle
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.rollout import rollout
from esagent.spaces.weights import Weights
from esagent.tasks.registry import make_family

LIMIT = 1.15
TASKS = 8
KINDS = {
    "inference": ("space=bias", "space.positions=all"),
    "master": ("space=full", "sigma.start=0.001"),
    "stochastic": ("space=full", "sigma.start=0.001", "space.precision=stochastic"),
}


def child(kind: str) -> dict[str, int]:
    """Bytes: `peak` resident memory of the process, and `copy`, what the search keeps of the weights."""
    config = compose([*KINDS[kind], "model.dtype=bfloat16"])
    agent = make_agent(config.agent, PromptStyle.raw)
    family = make_family(config.task)
    backend = make_backend(config, agent.modules)
    tasks = family.tasks("train", 7, TASKS)
    rollout(agent, family, backend, (), tasks)
    copy = 0
    parameters = backend.space.parameters  # type: ignore[attr-defined]
    if isinstance(parameters, Weights):
        seed = direction_seed(7, 0, 0)
        members = [Perturbation(seed, sign, {"whole": config.sigma.start}) for sign in (1, -1)]
        rollout(agent, family, backend, members, tasks)
        backend.apply(Update(0, (UpdateTerm(seed, {"whole": 1.0}),), {"whole": 1e-4}))
        rollout(agent, family, backend, (), tasks)
        copy = sum(centre.nbytes for centre in parameters.centre.values())
    unit = 1 if sys.platform == "darwin" else 1024
    return {"peak": unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "copy": copy}


def main() -> int:
    """Print one JSON object; returns 1 where a search needs more than LIMIT allows."""
    found = {}
    for kind in KINDS:
        command = [sys.executable, "-m", "tests.bench.memory", kind]
        found[kind] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    plain = found["inference"]["peak"]
    ratios = {kind: (row["peak"] - row["copy"]) / plain for kind, row in found.items()}
    out = {
        kind: {
            "peak MB": round(row["peak"] / 1e6),
            "of it the copy of the weights": round(row["copy"] / 1e6),
            "the rest, times plain inference": round(ratios[kind], 3),
        }
        for kind, row in found.items()
    }
    print(json.dumps(out, indent=1))
    return int(max(ratios.values()) > LIMIT)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(child(sys.argv[1])))
    else:
        sys.exit(main())
