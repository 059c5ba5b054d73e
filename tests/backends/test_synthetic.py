"""The synthetic backend: skills by formula, answers by difficulty, and runs over it that go on where they stopped."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from esagent.backends.registry import make_backend
from esagent.config.compose import compose
from esagent.core.chain import skill
from esagent.core.episode import Request
from esagent.core.noise import gaussian
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.fork import fork
from esagent.plan import describe, plan
from esagent.tasks.synthetic import RIGHT, difficulty
from esagent.train import train
from tests.synthetic.configs import short

CONFIG = compose(["task=synthetic", "task.chain.width.caller=2.0", "task.chain.ceiling=0.95", "space.modules=[caller]"])
MODULES = CONFIG.task.chain.modules


def backend():  # type: ignore[no-untyped-def]
    return make_backend(CONFIG, MODULES)


def asked(module: str, n: int = 2000, **how: float) -> list[Request]:
    return [Request(module, f"task {i}", seed=i, **how) for i in range(n)]  # type: ignore[arg-type]


@pytest.mark.parametrize("module", MODULES)
def test_the_share_of_right_answers_is_the_skill(module: str) -> None:
    right = [answer.text == RIGHT for answer in backend().generate(asked(module), ())]
    start = CONFIG.task.chain.start[module]
    assert backend().skill(module) == pytest.approx(start, abs=1e-6)
    assert right == [difficulty(f"task {i}", module) < start for i in range(2000)]
    assert np.mean(right) == pytest.approx(start, abs=4 * math.sqrt(start * (1 - start) / 2000))


def test_difficulties_are_uniform_and_each_modules_own() -> None:
    hard = np.array([[difficulty(f"task {i}", module) for module in MODULES] for i in range(2000)])
    assert hard.min() >= 0
    assert hard.max() < 1
    assert np.abs(hard.mean(axis=0) - 0.5).max() < 4 * math.sqrt(1 / 12 / 2000)
    assert np.abs(np.corrcoef(hard.T) - np.eye(len(MODULES))).max() < 4 / math.sqrt(2000)


def test_a_member_has_the_skill_of_where_it_lies() -> None:
    made = backend()
    (tensor,) = made.parameters.tensors
    distance = 2.0 * math.sqrt(2.0 * math.log(0.95 / 0.35))
    direction = -made._modules["caller"].optimum
    assert np.linalg.norm(direction) == pytest.approx(distance)
    noise = 0.3 * gaussian(11, tensor.name, 0, tensor.size).numpy()
    away = np.square(noise + direction).sum()
    assert made.skill("caller", Perturbation(11, 1, {"caller": 0.3})) == pytest.approx(float(skill(away, 0.95, 2.0)))
    assert made.skill("planner", Perturbation(11, 1, {"caller": 0.3})) == pytest.approx(0.9)


def test_at_the_optimum_a_module_reaches_its_ceiling() -> None:
    """Found by walking there along the noise of enough directions: least squares over their seeds."""
    made = backend()
    (tensor,) = made.parameters.tensors
    seeds = range(40)
    basis = np.stack([gaussian(seed, tensor.name, 0, tensor.size).numpy() for seed in seeds], axis=1)
    weights, *_ = np.linalg.lstsq(basis.astype(float), made._modules["caller"].optimum, rcond=None)
    terms = tuple(UpdateTerm(seed, {"caller": float(w)}) for seed, w in zip(seeds, weights, strict=True))
    made.apply(Update(0, terms, {"caller": 1.0}))
    assert made.skill("caller") == pytest.approx(0.95, abs=1e-5)


def test_sampling_follows_the_margin() -> None:
    """A cold sample is the greedy answer; a warm one is right as often as the logistic law says."""
    made, start = backend(), CONFIG.task.chain.start["caller"]
    greedy = [answer.text for answer in made.generate(asked("caller"), ())]
    cold = [answer.text for answer in made.generate(asked("caller", temperature=1e-9), ())]
    assert cold == greedy
    warm = np.mean([answer.text == RIGHT for answer in made.generate(asked("caller", temperature=0.5), ())])
    margins = np.array([start - difficulty(f"task {i}", "caller") for i in range(2000)])
    assert warm == pytest.approx(np.mean(1 / (1 + np.exp(-margins / 0.5))), abs=4 * 0.5 / math.sqrt(2000))


def test_a_run_that_is_gone_on_with_is_the_longer_run(tmp_path: Path) -> None:
    whole = train(short(f"runs_dir={tmp_path}", "allocation=soft"))
    part = train(short(f"runs_dir={tmp_path}", "allocation=soft", "budget.steps=3"))
    gone_on = fork(Path(part["run"]), overrides=["budget.steps=5"])
    assert part["digest"] != whole["digest"]
    assert gone_on["digest"] == whole["digest"]
    assert gone_on["pool"] == whole["pool"]


def test_what_it_will_cost_is_known() -> None:
    config = short()
    cost = plan(config)
    assert cost.searched_numbers == 4 * 12
    assert cost.training_episodes == 5 * 12 * 8
    assert cost.evaluation_episodes == 4 * 24 + 2 * 16
    assert cost.requests == 4 * (cost.training_episodes + cost.evaluation_episodes)
    assert cost.tokens == cost.computed_tokens == 2 * cost.requests
    assert cost.flops == 0.0
    assert "unknown number" not in describe(config, cost)
