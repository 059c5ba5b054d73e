"""The bottleneck that an intervention finds is the one that the formulas know, and so is what it gains."""

from __future__ import annotations

import numpy as np
import pytest

from esagent.assemble import load_agent
from esagent.config.compose import compose
from esagent.core.chain import expected_reward, gains
from esagent.intervention import intervene
from esagent.tasks.registry import make_family


@pytest.mark.parametrize(("weak", "graded"), [("caller", 0.5), ("planner", 1.0), ("synthesizer", 0.0)])
def test_gold_behaviour_gains_what_the_formula_says(weak: str, graded: float) -> None:
    starts = {"planner": 0.8, "selector": 0.9, "caller": 0.7, "synthesizer": 0.85} | {weak: 0.4}
    settings = [f"task.chain.start.{name}={start}" for name, start in starts.items()]
    config = compose(["task=synthetic", f"task.chain.graded={graded}", *settings])
    agent, backend, _ = load_agent(config)
    family = make_family(config.task)
    found = intervene(agent, family, backend, family.tasks("validation", 0, 600))
    skills = np.array([starts[name] for name in agent.modules])
    expected = dict(zip(agent.modules, gains(skills, graded), strict=True))
    assert found.base == pytest.approx(float(expected_reward(skills, graded)), abs=4 * 0.5 / 600**0.5)
    for name, (mean, low, high) in found.gains.items():
        assert mean == pytest.approx(expected[name], abs=2 * (high - low))  # about 4 standard errors
    assert found.bottleneck == weak == max(expected, key=lambda name: expected[name])
