"""Answers of an engine in a process of its own, as JSON: `python -m tests.engine.apart NAME`."""

from __future__ import annotations

import json
import sys

from esagent.core.episode import Request
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation, Update, UpdateTerm
from tests.engine.pool import fresh
from tests.helpers.vector import MODULES


def requests(member: int) -> list[Request]:
    return [
        Request(module, f"Task {i}", member=member, max_new_tokens=6, stop=()) for module in MODULES for i in (1, 2)
    ]


def answers(backend: object) -> list[str]:
    """Of a member, and of the centre after an update."""
    names = [block.name for block in backend.blocks()]  # type: ignore[attr-defined]
    member = Perturbation(direction_seed(1, 0, 0), 1, dict.fromkeys(names, 0.3))
    found = [c.text for c in backend.generate(requests(0), (member,))]  # type: ignore[attr-defined]
    terms = (UpdateTerm(5, dict.fromkeys(names, 1.0)),)
    backend.apply(Update(0, terms, dict.fromkeys(names, 0.3)))  # type: ignore[attr-defined]
    return found + [c.text for c in backend.generate(requests(-1), ())]  # type: ignore[attr-defined]


if __name__ == "__main__":
    print(json.dumps(answers(fresh(sys.argv[1], separate_process=True))))
