"""Calibration in the world without a language model and on a tiny one: the target is met, nothing else is touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from esagent.assemble import Parts, assemble
from esagent.calibration.calibrate import TOGETHER, calibrate
from esagent.calibration.search import TOLERANCE
from esagent.config.schema import AllocationConfig, Config, Per
from esagent.core.episode import UNPERTURBED, Completion, Request
from esagent.core.noise import key
from esagent.core.population import Perturbation
from esagent.errors import RunError
from esagent.plan import plan
from tests.helpers.tiny import make_tiny_folder
from tests.helpers.vector import MODULES, VectorBackend, vector_config, vector_parts
from tests.runs.tiny_run import tiny_config


def config_of(folder: Path, **sigma: Any) -> Config:
    config = vector_config(folder)
    config.sigma = replace(config.sigma, start=1.0, end=1.0, auto=True, **{"tasks": 24, "probes": 8, **sigma})
    return config


def share_changed(parts: Parts, sigma: dict[str, float], directions: int = 80) -> float:
    """Of the pool's words that the agent really asks: measured with directions of its own, one request at a time."""
    backend = parts.backend
    asked = [Request(module, f"{module}: {task.prompt}") for module in sigma for task in parts.pools.pool]
    found = backend.generate([Request("finder", f"finder: {task.prompt}") for task in parts.pools.pool], ())
    known = {answer.text for answer in found}
    asked = [r for r in asked if r.module == "finder" or r.prompt.split()[-1] in known]
    centre = [c.text for c in backend.generate(asked, ())]
    changed = []
    for i in range(directions):
        member = Perturbation(key("test of calibration", i), 1, sigma)
        answers = backend.generate([replace(request, member=0) for request in asked], (member,))
        changed.append(np.mean([c.text != text for c, text in zip(answers, centre, strict=True)]))
    return float(np.mean(changed))


@pytest.mark.parametrize("target", [0.1, 0.2, 0.3])
def test_every_block_changes_the_share_that_was_asked_for(tmp_path: Path, target: float) -> None:
    parts = vector_parts(config_of(tmp_path, target=target))
    found = calibrate(parts, config_of(tmp_path, target=target))
    assert [choice["name"] for choice in found["found"]] == list(found["sigma"]) == list(MODULES)
    for choice in found["found"]:
        assert abs(choice["changed"] - target) <= TOLERANCE
        assert choice["sigma"] == found["sigma"][choice["name"]]
        assert choice["why"] == "changes the wanted share"
        assert choice["reward"] >= 0.5 * found["base_reward"]
        # 8 directions and their mirrors stand for all: within what so few can miss by
        assert share_changed(parts, {choice["name"]: choice["sigma"]}) == pytest.approx(target, abs=0.09)
    assert found["sigma"]["finder"] != found["sigma"]["writer"]


def test_the_same_again_and_other_directions_with_another_seed(tmp_path: Path) -> None:
    def found(seed: int) -> dict[str, Any]:
        config = replace(config_of(tmp_path, tasks=8, probes=2), seed=seed)
        made = calibrate(vector_parts(config), config)
        return {name: made[name] for name in ("sigma", "found", "trials", "tasks", "base_reward", "episodes")}

    assert found(1) == found(1)
    assert found(1)["sigma"] != found(2)["sigma"]


def test_the_state_is_left_as_it_was_and_the_cost_is_told(tmp_path: Path) -> None:
    parts = vector_parts(config_of(tmp_path))
    before = parts.backend.digest()
    found = calibrate(parts, config_of(tmp_path))
    assert parts.backend.digest() == before
    assert found["cost"] == parts.backend.cost()
    members = 1 + 2 * 2 * 8
    assert found["episodes"] == 24 + 24 * members


class Spy(VectorBackend):
    """Remembers every prompt and every seed that it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.prompts: set[str] = set()
        self.seeds: set[int] = set()

    def generate(self, requests: Sequence[Request], members: Sequence[Perturbation]) -> list[Completion]:
        self.prompts |= {request.prompt for request in requests}
        self.seeds |= {member.seed for member in members}
        return super().generate(requests, members)


def test_no_validation_or_heldout_task_is_asked_and_no_direction_of_training_is_used(tmp_path: Path) -> None:
    config = config_of(tmp_path, tasks=8, probes=2)
    parts = replace(vector_parts(config), backend=Spy())
    tried: list[str] = []
    env = parts.family.env
    parts.family.env = lambda task: (tried.append(task.id), env(task))[1]  # type: ignore[method-assign]
    found = calibrate(parts, config)
    pool = {task.prompt for task in parts.pools.pool}
    others = {task.prompt for split in (parts.pools.validation, parts.pools.heldout) for task in split}
    asked = {prompt.split()[-1] for prompt in parts.backend.prompts}  # type: ignore[attr-defined]
    assert asked <= pool
    assert not asked & others
    assert set(tried) == set(found["tasks"])
    assert len(found["tasks"]) == 8
    from esagent.core.noise import direction_seed

    steps = {direction_seed(config.seed, step, i) for step in range(8) for i in range(16)}
    assert not parts.backend.seeds & steps  # type: ignore[attr-defined]


def test_one_factor_for_all_keeps_the_ratios_between_blocks(tmp_path: Path) -> None:
    config = config_of(tmp_path, per=Per.all, modules={"finder": 0.5})
    found = calibrate(vector_parts(config), config)
    (choice,) = found["found"]
    assert choice["name"] == TOGETHER
    assert abs(choice["changed"] - 0.3) <= TOLERANCE
    assert found["sigma"] == {"finder": 0.5 * choice["sigma"], "writer": choice["sigma"]}


def test_factors_of_modules_cancel_where_every_block_is_found_by_itself(tmp_path: Path) -> None:
    small = {"tasks": 8, "probes": 2}
    plain, scaled = config_of(tmp_path, **small), config_of(tmp_path, modules={"finder": 0.1}, **small)
    assert calibrate(vector_parts(plain), plain)["sigma"] == calibrate(vector_parts(scaled), scaled)["sigma"]


def test_blocks_that_are_perturbed_at_once_get_one_more_factor(tmp_path: Path) -> None:
    config = replace(config_of(tmp_path), allocation=AllocationConfig("joint"))
    found = calibrate(vector_parts(config), config)
    *alone, together = found["found"]
    assert together["name"] == TOGETHER
    assert abs(together["changed"] - 0.3) <= TOLERANCE
    assert found["sigma"] == {choice["name"]: choice["sigma"] * together["sigma"] for choice in alone}
    # each module is asked what the centre was asked, so what another one does changes nothing
    assert together["sigma"] == pytest.approx(1.0, abs=0.3)


class Fragile(VectorBackend):
    """Answers nothing right, or with logits that are not finite, once a module is perturbed by more than `limit`."""

    limit, reason = 0.3, "stop"

    def _answer(self, request: Request, members: Sequence[Perturbation]) -> Completion:
        member = None if request.member == UNPERTURBED else members[request.member]
        if member is not None and member.sigma.get(request.module, 0.0) > self.limit:
            return Completion("?" if request.module == "finder" else "junk", self.reason)  # type: ignore[arg-type]
        return super()._answer(request, members)


@pytest.mark.parametrize(
    ("reason", "says"), [("stop", ("members earn", "writer is right in 0.00")), ("nonfinite", ("not finite",) * 2)]
)
def test_outputs_that_are_not_valid_bound_sigma_and_it_says_so(
    tmp_path: Path, reason: str, says: tuple[str, str]
) -> None:
    config = config_of(tmp_path, target=0.9, tasks=8, probes=2)
    backend = Fragile()
    backend.reason = reason
    found = calibrate(replace(vector_parts(config), backend=backend), config)
    for choice, why in zip(found["found"], says, strict=True):
        assert Fragile.limit / 2**0.5 < choice["sigma"] <= Fragile.limit
        assert choice["why"].startswith("the largest with valid outputs")
        assert why in choice["why"]
        assert choice["changed"] <= 0.5
    assert any(trial["valid"] is False for trial in found["trials"])


def test_where_nothing_is_valid_it_is_refused_in_one_line(tmp_path: Path) -> None:
    config = config_of(tmp_path, tasks=8, probes=2)
    backend = Fragile()
    backend.limit, backend.reason = 0.0, "nonfinite"
    with pytest.raises(RunError, match=r"no sigma .* valid outputs for finder .*sigma=constant") as told:
        calibrate(replace(vector_parts(config), backend=backend), config)
    assert "\n" not in str(told.value)


def test_a_target_beyond_reach_is_told(tmp_path: Path) -> None:
    """However far a member goes, with its mirror it changes half of the answers at most."""
    config = config_of(tmp_path, target=0.8, keep=0.0, tasks=8, probes=2)
    found = calibrate(vector_parts(config), config)
    for choice in found["found"]:
        assert choice["changed"] <= 0.5
        assert "no sigma up to" in choice["why"]


class Lost(VectorBackend):
    """The finder knows no word, so the writer is never asked."""

    def _answer(self, request: Request, members: Sequence[Perturbation]) -> Completion:
        centre = request.member == UNPERTURBED or not members[request.member].sigma
        return Completion("?") if centre else super()._answer(request, members)


def test_a_module_that_is_never_asked_gets_what_the_others_have(tmp_path: Path) -> None:
    config = config_of(tmp_path, tasks=8, probes=2)
    found = calibrate(replace(vector_parts(config), backend=Lost()), config)
    assert found["sigma"]["writer"] == pytest.approx(found["sigma"]["finder"])
    assert "asks nothing of it" in found["found"][1]["why"]


@pytest.mark.parametrize("allocation", ["uniform", "joint"])
def test_a_tiny_model_reaches_the_target(tmp_path: Path, allocation: str) -> None:
    model = make_tiny_folder(tmp_path / "model")
    config = tiny_config(
        model, tmp_path / "runs", "sigma=auto", "sigma.target=0.4", f"allocation={allocation}", "sigma.tasks=6"
    )
    parts = assemble(config)
    found = calibrate(parts, config)
    blocks = [block.name for block in parts.backend.blocks()]
    assert list(found["sigma"]) == blocks == ["planner", "selector", "caller", "synthesizer"]
    planned = plan(replace(config, agent=replace(config.agent, max_turns=1))).calibration  # four calls, as here
    assert planned is not None
    assert found["episodes"] == planned.episodes
    assert found["cost"].requests == pytest.approx(planned.requests, rel=0.25)
    for choice in found["found"]:
        assert choice["changed"] is None or abs(choice["changed"] - 0.4) <= 0.1, choice
    again = calibrate(assemble(config), config)
    assert again["sigma"] == found["sigma"]
