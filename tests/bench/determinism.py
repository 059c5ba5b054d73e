"""What `backend.deterministic` changes and costs: the same requests answered in both modes.

Run by `make bench`; `python -m tests.bench.determinism 2` takes two tasks instead of twelve. A population and the
unperturbed agent work on toolbox tasks in the default mode; every batch of requests they made is then answered once
more in the other mode. Both backends are fresh but for one warm-up episode.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence

from esagent.cli.environment import prepare

prepare()

from esagent.agents.registry import make_agent
from esagent.backends.hf.backend import HFBackend
from esagent.backends.registry import make_backend
from esagent.config.compose import compose
from esagent.config.schema import PromptStyle
from esagent.core.episode import Completion, Request
from esagent.core.population import Perturbation
from esagent.rollout import rollout
from esagent.tasks.registry import make_family
from tests.bench.sharing import population

TASKS = 12


class Recorder:
    """Passes requests on to a backend and keeps what was asked and answered, and how long that took."""

    def __init__(self, backend: HFBackend) -> None:
        self.backend = backend
        self.together = backend.together
        self.batches: list[tuple[Sequence[Request], Sequence[Perturbation], list[Completion]]] = []
        self.seconds = 0.0

    def generate(self, requests: Sequence[Request], members: Sequence[Perturbation]) -> list[Completion]:
        """Answer and remember."""
        start = time.perf_counter()
        answers = self.backend.generate(requests, members)
        self.seconds += time.perf_counter() - start
        self.batches.append((requests, members, answers))
        return answers


def main(count: int) -> None:
    """Print one JSON object: how many completions and tokens differ, and how much longer the exact mode takes.

    count: tasks that the population works on.
    """
    config = compose([])
    agent, family = make_agent(config.agent, PromptStyle.raw), make_family(config.task)
    warm, *tasks = family.tasks("train", 7, count + 1)
    first, second = (
        Recorder(make_backend(compose([f"backend.deterministic={mode}"]), agent.modules)) for mode in ("false", "true")
    )
    for recorder in (first, second):
        rollout(agent, family, recorder.backend, (), [warm])
    for members in ((), population(config, agent.modules)):
        rollout(agent, family, first, members, tasks)
    for requests, members, _ in first.batches:
        second.generate(requests, members)

    completions = tokens = other_completions = other_tokens = 0
    for (_, _, some), (_, _, others) in zip(first.batches, second.batches, strict=True):
        for one, other in zip(some, others, strict=True):
            if one.shared:
                continue
            left, right = (second.backend._encode(completion.text) for completion in (one, other))
            longest = max(len(left), len(right))
            completions += 1
            tokens += longest
            other_completions += left != right
            other_tokens += longest - sum(a == b for a, b in zip(left, right, strict=False))
    print(
        json.dumps(
            {
                "completions": completions,
                "completions that differ": round(other_completions / completions, 4),
                "tokens": tokens,
                "tokens that differ": round(other_tokens / tokens, 4),
                "seconds": [round(first.seconds, 1), round(second.seconds, 1)],
                "times as long": round(second.seconds / first.seconds, 2),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TASKS)
