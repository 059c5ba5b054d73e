"""The plan: counts by hand, and costs that move the way the settings do."""

from __future__ import annotations

import pytest

from esagent.config.compose import compose
from esagent.plan import describe, plan


def test_counts_of_a_small_job_by_hand() -> None:
    cost = plan(
        compose(
            [
                *("algorithm.directions=6", "budget.steps=5", "budget.tasks_per_step=3", "budget.evaluate_every=2"),
                *("task.pool=10", "task.validation=4", "task.heldout=7", "space.modules=[selector,caller]"),
                *("space.layers=18-29", "agent.max_turns=2", "budget.select=validation"),
            ]
        )
    )
    assert cost.blocks == ("selector", "caller")
    assert (cost.members, cost.directions) == (12, 3.0)
    assert cost.training_episodes == 5 * 12 * 3
    assert cost.evaluation_episodes == 4 * (10 + 4) + 2 * 7  # the states after 0, 2, 4 and 5 steps
    assert cost.requests == round((180 + 70) * (2 + 2 * 1.7))  # planner, selector and caller per call, synthesizer
    assert cost.searched_numbers == 2 * 12 * 576
    assert cost.memory_bytes["weights"] == 134_515_008 * 2
    assert cost.flops == pytest.approx(2 * 134_515_008 * cost.computed_tokens, rel=1e-4)


def test_core_searches_rank_squared_numbers_a_site() -> None:
    cost = plan(compose(["space=core", "space.rank=4", "space.layers=last:2", "space.sites=[o_proj,down_proj]"]))
    assert cost.searched_numbers == 4 * 2 * 2 * 16


def test_sharing_saves_and_joint_costs_more() -> None:
    off = ["backend.share_prefix=false", "backend.share_requests=false", "backend.share_trunk=false"]
    default, joint, alone = (plan(compose(args)).computed_tokens for args in ([], ["allocation=joint"], off))
    assert default < joint < alone
    assert alone == pytest.approx(plan(compose(off)).tokens, rel=1e-4)


def test_float32_doubles_the_weights() -> None:
    half, full = (plan(compose([f"model.dtype={dtype}"])).memory_bytes["weights"] for dtype in ("bfloat16", "float32"))
    assert half is not None
    assert full == 2 * half


def test_an_unknown_model_has_counts_but_no_sizes() -> None:
    config = compose(["model=Nobody/nothing-1b"])
    cost = plan(config)
    assert (cost.flops, cost.seconds, cost.searched_numbers) == (None, None, None)
    assert cost.training_episodes > 0
    assert "unknown" in describe(config, cost)
