"""vLLM and backend hf on the embedded model in fp32: the same log-probabilities, the same greedy episodes."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from esagent.agents.registry import make_agent
from esagent.backends.registry import make_backend
from esagent.config.compose import compose
from esagent.config.schema import PromptStyle
from esagent.core.episode import UNPERTURBED, Request
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.rollout import rollout
from esagent.tasks.registry import make_family

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

VLLM = ["backend=vllm", "backend.engine.kv_cache_gb=0.5", "backend.engine.max_model_len=1024"]
SPACES = {
    "cores": (["space=core", "space.layers=last:3", "space.sites=[q_proj,o_proj,gate_proj,down_proj]"], 0.5),
    "cores-everywhere": (["space=core", "space.layers=last:2", "space.positions=all"], 0.5),
    "low-rank": (["space=lowrank", "space.rank=1", "space.vectors=none", "space.include=[_proj]"], 0.002),
    "full": (["space=full"], 0.002),
}


def pair(overrides: list[str], agent: str = "modular") -> tuple[Any, Any, Any]:
    """(vllm, hf, agent) of one composition."""
    common = [f"agent={agent}", "model.dtype=float32", *overrides]
    config = compose([*common, *VLLM])
    made = make_agent(config.agent, PromptStyle.raw)
    return make_backend(config, made.modules), make_backend(compose(common), made.modules), made


def questions(members: int) -> tuple[list[Request], list[str]]:
    prefix = "Q: what is 1 + 2?\nA: 3\n\nQ: what day comes after Monday?\nA: Tuesday\n"
    asked = [
        Request(module, f"\nQ: what is {i} + {i + 3}?\nA:", prefix, member)
        for module in ("selector", "caller")
        for member in range(UNPERTURBED, members)
        for i in (2, 5)
    ]
    return asked, [f" {2 * len(request.module)} and a few words\n" for request in asked]


@pytest.mark.parametrize("name", SPACES)
def test_log_probabilities_agree_within_1e_4(name: str, record_property: Any) -> None:
    """Base, members, and the base again after an update."""
    overrides, sigma = SPACES[name]
    vllm, hf, _ = pair(overrides)
    blocks = [block.name for block in hf.blocks()]
    members = [Perturbation(direction_seed(1, 0, 0), sign, dict.fromkeys(blocks, sigma)) for sign in (1, -1)]
    asked, texts = questions(len(members))
    expected = hf.score(asked, texts, members)
    assert max(expected) - min(expected) > 0.05
    away = max(abs(a - b) for a, b in zip(vllm.score(asked, texts, members), expected, strict=True))
    update = Update(0, (UpdateTerm(7, dict.fromkeys(blocks, 1.0)),), dict.fromkeys(blocks, sigma))
    assert vllm.apply(update).digest == hf.apply(update).digest
    centre, answers = questions(0)
    after = [abs(a - b) for a, b in zip(vllm.score(centre, answers, ()), hf.score(centre, answers, ()), strict=True)]
    record_property("largest difference", max(away, *after))
    print(f"{name}: {away:.1e} for members, {max(after):.1e} after an update")
    assert max(away, *after) <= 1e-4
    vllm._vllm._llm.llm_engine.engine_core.shutdown()
    del vllm, hf
    gc.collect()


def test_greedy_episodes_of_the_quickstart_are_the_same() -> None:
    vllm, hf, agent = pair(["experiment=quickstart"])
    config = compose(["experiment=quickstart"])
    family = make_family(config.task)
    tasks = family.tasks("train", 0, 4)
    members = [
        Perturbation(direction_seed(0, 0, i), sign, {module: config.sigma.start * config.sigma.modules[module]})
        for i, module in enumerate(("selector", "caller"))
        for sign in (1, -1)
    ]
    for population in ((), members):
        found, expected = (rollout(agent, family, backend, population, tasks) for backend in (vllm, hf))
        for mine, theirs in zip(found, expected, strict=True):
            assert mine.trajectory.answer == theirs.trajectory.answer
            assert [t.completion.text for t in mine.trajectory.turns] == [
                t.completion.text for t in theirs.trajectory.turns
            ]
            assert mine.score == theirs.score
